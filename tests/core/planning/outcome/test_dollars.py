"""Dollars of copies and of steady replication, unknown values, and leaders before and after."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from planner_vectors import CENTS, VECTORS
from rackwise.core.errors import InvalidPrices
from rackwise.core.model import Ragged
from rackwise.core.planning.outcome.dollars import (
    copy_prices,
    copy_totals,
    steady_cost,
    steady_states,
)
from rackwise.core.policy import Policy, RackPolicy
from rackwise.core.traffic import usd_nano
from rackwise.core.view import View
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: None}
DAY = date(2026, 11, 21)
PRICES = CENTS
VECTOR = VECTORS["usd"]


def view_of(lists, *, sizes=None, rates=None, racks=RACKS, policy=None, **options):
    cluster = small_cluster(racks, lists, sizes=sizes, **options)
    table = cluster.partitions
    if rates is not None:
        table = replace(table, bytes_in_per_s=np.array(rates, dtype=np.int64))
    blind = policy or Policy(racks=RackPolicy(missing="unaware"))
    return View(replace(cluster, partitions=table), blind)


def vector_rows():
    """The moves of the vector as partitions led by broker 1 in /a, with the brokers they gain."""
    at = {"/a": 4, "/b": 2, "/c": 3}
    moves = VECTOR["moves"]
    lists = {f"t-{row}": [1] for row in range(len(moves))}
    sizes = {f"t-{row}": move["bytes"] for row, move in enumerate(moves)}
    added = Ragged.of([[at[rack] for rack in move["adding_racks"]] for move in moves])
    return view_of(lists, sizes=sizes), added


def test_moves_of_the_vector():
    view, added = vector_rows()
    found = copy_totals(view, np.arange(len(added)), added, copy_prices(view, PRICES))
    wanted = [move["usd_nano"] for move in VECTOR["moves"]]
    assert [None if nano < 0 else nano for nano in found.usd_nano.tolist()] == wanted
    known = found.usd_nano[found.usd_nano >= 0]
    assert known.sum() == VECTOR["total_usd_nano"]
    assert int((found.usd_nano < 0).sum()) == VECTOR["unknown_sizes"]
    assert found.cross_bytes.tolist() == [10 * 10**9, 0, 10 * 10**9, 26, -1]


def test_steady_cost_of_the_vector():
    case = VECTOR["steady"]
    view = view_of({"t-0": [1, 2, 3]}, rates=[case["bytes_in_per_s"]])
    found = steady_cost(view, view.placed, np.array([1]), copy_prices(view, PRICES))
    assert found.cross_bytes_per_s == case["cross_bytes_per_s"]
    assert found.usd_nano_per_day == case["usd_nano_per_day"]
    assert found.unknown_rates == 0


def test_without_prices_there_are_bytes_and_no_dollars():
    view, added = vector_rows()
    assert copy_prices(view, ()) is None
    found = copy_totals(view, np.arange(len(added)), added, None)
    assert found.usd_nano.tolist() == [-1] * 5
    assert found.cross_bytes.tolist() == [10 * 10**9, 0, 10 * 10**9, 26, -1]
    assert steady_cost(view, view.placed, np.array([1] * 5), None).usd_nano_per_day is None


def test_partition_without_new_replicas_costs_nothing():
    view = view_of({"t-0": [1]}, sizes={"t-0": None})
    for prices in (None, copy_prices(view, PRICES)):
        found = copy_totals(view, np.array([0]), Ragged.empty(1), prices)
        assert (found.cross_bytes.tolist(), found.usd_nano.tolist()) == ([0], [0])


def test_out_and_in_are_rounded_separately():
    prices = [replace(PRICES[0], gb_bytes=2**30)]
    view = view_of({"t-0": [1]}, sizes={"t-0": 10**9})
    found = copy_totals(view, np.array([0]), Ragged.of([[2]]), copy_prices(view, prices))
    assert found.usd_nano.tolist() == [2 * usd_nano(10**9, 10**7, 2**30)]


@pytest.mark.parametrize(("leader", "isr", "target"), [(5, [5], 2), (1, [1], 5), (None, [], 2)])
def test_a_rack_that_is_not_known_makes_dollars_unknown(leader, isr, target):
    view = view_of({"t-0": [1, 5]}, leaders={"t-0": leader}, isr={"t-0": isr})
    prices = copy_prices(view, PRICES)
    found = copy_totals(view, np.array([0]), Ragged.of([[target]]), prices)
    assert (found.cross_bytes.tolist(), found.usd_nano.tolist()) == ([-1], [-1])


def test_next_in_sync_replica_is_the_source_without_leader():
    view = view_of({"t-0": [1, 2]}, leaders={"t-0": None}, isr={"t-0": [2]}, sizes={"t-0": 5})
    found = copy_totals(view, np.array([0]), Ragged.of([[4, 3]]), copy_prices(view, PRICES))
    assert found.cross_bytes.tolist() == [10]


def test_level_without_price_is_rejected():
    view = view_of({"t-0": [1]})
    other = [replace(PRICES[0], level="region")]
    with pytest.raises(InvalidPrices, match="level zone"):
        copy_prices(view, other)


def test_dead_replicas_and_leaderless_partitions_copy_nothing():
    view = view_of({"t-0": [1, 2, 3], "t-1": [1, 2]}, rates=[10, 10], dead=[3])
    found = steady_cost(view, view.placed, np.array([1, -1]), None)
    assert (found.cross_bytes_per_s, found.unknown_rates) == (10, 0)


def test_rates_and_racks_that_are_not_known_are_counted_and_left_out():
    lists = {"t-0": [1, 2], "t-1": [1, 2], "t-2": [1, 2, 5], "t-3": [5, 1], "t-4": [1]}
    view = view_of(lists, rates=[10, -1, 10, 10, -1])
    found = steady_cost(view, view.placed, np.array([1, 1, 1, 5, 1]), copy_prices(view, PRICES))
    assert (found.cross_bytes_per_s, found.unknown_rates) == (10, 3)
    assert found.usd_nano_per_day == 2 * usd_nano(10 * 86_400, 10**7, 10**9)


def test_unmoved_partitions_keep_leaders_and_moved_ones_use_the_first():
    lists = {"t-0": [1, 4, 2], "t-1": [1, 4, 2], "t-2": [1, 2]}
    view = view_of(lists, rates=[10, 10, 10], leaders={"t-0": 2, "t-1": 2})
    after = Ragged.of([[1, 4, 2], [4, 1, 2], [1]])
    before, then = steady_states(view, after, None)
    assert before.cross_bytes_per_s == 20 + 20 + 10
    assert then.cross_bytes_per_s == 20 + 10 + 0


def test_empty_lists_copy_nothing():
    view = view_of({"t-0": [1, 2]}, rates=[10])
    assert steady_states(view, Ragged.empty(1), None)[1].cross_bytes_per_s == 0


def test_dollars_of_rates_whose_bytes_per_day_exceed_64_bits():
    view = view_of({"t-0": [1, 2], "t-1": [1, 2]}, rates=[2**62, 10])
    found = steady_cost(view, view.placed, np.array([1, 1]), copy_prices(view, PRICES))
    wanted = sum(2 * usd_nano(rate * 86_400, 10**7, 10**9) for rate in (2**62, 10))
    assert found.usd_nano_per_day == wanted


def test_sums_beyond_64_bits():
    rows = 12
    view = view_of({f"t-{row}": [1, 2] for row in range(rows)}, rates=[2**60] * rows)
    found = steady_cost(view, view.placed, np.array([1] * rows), None)
    assert found.cross_bytes_per_s == rows * 2**60
