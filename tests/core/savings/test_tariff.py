"""Costs of columns are those of one number of bytes after another, to the nano-dollar."""

from __future__ import annotations

from datetime import date
from random import Random

import numpy as np
import pytest

from rackwise.core.racks import Rack, crossing_level
from rackwise.core.savings.tariff import (
    FREE,
    UNPRICED,
    Costs,
    CrossingCost,
    RatesOfRoutes,
    Tariff,
    greatest_cost,
)
from rackwise.core.savings.traffic.chunks import NO_RACK, TrafficNames
from rackwise.core.savings.traffic.columns import LIMIT
from rackwise.core.traffic import usd_nano
from small_fleets import CENT, DAY, GIB, price

RACKS = ("/eu/a", "/eu/b", "/us/a")
NAMES = TrafficNames(
    days=(DAY, date(2026, 11, 2)), kinds=("fetch", "produce"), topics=(), groups=(), racks=RACKS
)
PRICES = (
    price(nano_usd_per_gb_out=CENT + 1, nano_usd_per_gb_in=CENT // 3, valid_to=NAMES.days[1]),
    price(nano_usd_per_gb_out=7, gb_bytes=10**9, valid_from=NAMES.days[1]),
)


def codes(*values):
    return np.array(values, dtype=np.int32)


def rates(dtype=np.int64, prices=PRICES):
    return RatesOfRoutes(Tariff(prices, ("region", "zone"), RACKS), NAMES, dtype)


@pytest.mark.parametrize(("most", "dtype"), [(2**45, np.int64), (2**60, object), (2**90, object)])
def test_costs_equal_the_rule_of_the_bill(most, dtype):
    rng, made = Random(most), rates(dtype)
    rows = [
        (rng.randrange(2), rng.randrange(-1, 3), rng.randrange(-1, 3), rng.randint(0, most))
        for _ in range(500)
    ]
    day, sender, receiver, bytes_ = zip(*rows, strict=True)
    found = made.cost(
        made.of(codes(*day), 0, codes(*sender), codes(*receiver)), np.array(bytes_, dtype=dtype)
    )
    for number, (then, a, b, each) in enumerate(rows):
        ends = [None if end == NO_RACK else Rack(RACKS[end]) for end in (a, b)]
        level, row = crossing_level(*ends), PRICES[then]
        prices = (row.nano_usd_per_gb_out, row.nano_usd_per_gb_in)
        nano = sum(usd_nano(each, one, row.gb_bytes) for one in prices)
        wanted = {1: CrossingCost(each, each, 0), 2: CrossingCost(each, 0, nano)}
        assert found.one(number) == wanted.get(level, CrossingCost())
    assert found.whole == CrossingCost(*(sum(column.tolist()) for column in found))


def test_no_product_or_sum_is_above_the_greatest_cost():
    rng = Random(4)
    for _ in range(300):
        out, gb = rng.randint(0, 2 ** rng.randint(1, 62)), rng.randint(1, 2 ** rng.randint(1, 40))
        prices = [price(nano_usd_per_gb_out=out, nano_usd_per_gb_in=out // 3, gb_bytes=gb)]
        parts = [rng.randint(0, 2 ** rng.randint(1, 61)) for _ in range(5)]
        most = greatest_cost(prices, sum(parts))
        costs = [usd_nano(part, out, gb) + usd_nano(part, out // 3, gb) for part in parts]
        products = [2 * (part % gb) * out + gb for part in parts]
        assert max(*products, sum(costs), sum(parts)) <= most
    assert greatest_cost([], 2**61) >= LIMIT > greatest_cost([], 2**60)


def test_an_unknown_rack_has_the_highest_price():
    made = rates(prices=(*PRICES, price(level="region", nano_usd_per_gb_out=5 * CENT)))
    day, none, a = codes(0), codes(NO_RACK), codes(0)
    assert made.of(day, 0, none, a).tolist() == [FREE]
    high = made.highest(day, 0, none, a)
    assert made.cost(high, np.array([GIB])).nano.tolist() == [6 * CENT]
    unpriced = rates().highest(day, 0, a, none)
    assert unpriced.tolist() == [UNPRICED]
    assert made.of(codes(), 0, codes(), codes()).tolist() == []


def test_columns_of_costs():
    costs = Costs(*(np.array(column) for column in ([1, 0, 5], [0, 0, 0], [3, 0, -3])))
    assert costs.any().tolist() == [True, False, True]
    assert costs.by(codes(1, 1, 1), 2).one(1) == CrossingCost(6, 0, 0)
    assert costs.minus(costs).any().tolist() == [False] * 3
    chosen = costs.where(np.array([False, True, True]), Costs.zero(3, np.int64))
    assert [chosen.one(row) for row in range(2)] == [CrossingCost(), CrossingCost()]
    assert costs.joined(chosen, np.maximum).one(2) == CrossingCost(5, 0, -3)
    most = Costs.zero(2, np.int64)
    most.most_at(codes(0, 1, 1), [costs.rows(codes(0)), costs.rows(codes(1, 2))])
    assert [most.one(row) for row in range(2)] == [CrossingCost(1, 0, 3), CrossingCost(5, 0, 0)]
