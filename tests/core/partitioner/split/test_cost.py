"""The cost of produced bytes that cross racks."""

import math

import pytest

from rack_splits import numbers, rates, split_vectors
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.cost import cross_cost, even_cross, produce_cost
from rackwise.core.partitioner.split.split import split_by_balance

MIB = 2**20


@pytest.mark.parametrize("case", split_vectors("cost"))
def test_vectors(case):
    found = even_cross(
        case["produce_mib_per_s"] * MIB,
        racks=case["racks"],
        replication_factor=case["replication_factor"],
        groups=case["groups"],
    )
    wanted = case["cross_mib_per_s"]
    assert found.produce == pytest.approx(wanted["produce"] * MIB)
    assert found.replicate == pytest.approx(wanted["replication"] * MIB)
    assert found.consume == pytest.approx(wanted["consume"] * MIB)
    cost = cross_cost(found.produce, usd_per_gib=case["price_usd_per_gib"])
    assert cost.usd_per_30d == pytest.approx(case["produce_usd_per_30d"])


def test_produce_cost_counts_bytes_that_leave_their_rack():
    given = rates("a 300 b 300", "c 50"), numbers("a 1 b 1 c 1")
    split = split_by_balance(*given, 0)
    found = produce_cost(split, given[0], usd_per_gib=0.02)
    assert found.bytes_per_s == pytest.approx(600 * (1 - split.local_share))
    assert found.usd_per_30d == pytest.approx(found.bytes_per_s * 2_592_000 / 2**30 * 0.02)


def test_produce_cost_at_other_rates_than_the_split():
    split = split_by_balance(rates("a 2"), numbers("a 1 b 1"), 0)
    assert produce_cost(split, rates("a 10 b 0"), usd_per_gib=0).bytes_per_s == 5
    with pytest.raises(SplitError) as raised:
        produce_cost(split, rates("b 1"), usd_per_gib=0)
    assert raised.value.message == "the split has no shares for rack b"
    assert raised.value.hint == "make the split from these rates"


@pytest.mark.parametrize("price", [-0.01, 1e308, math.nan, math.inf])
def test_an_invalid_price_is_rejected(price):
    with pytest.raises(SplitError) as raised:
        cross_cost(1, usd_per_gib=price)
    assert raised.value.message == (f"invalid price: expected 0 to 2^63 usd per GiB, got {price}")
