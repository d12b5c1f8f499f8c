"""The change of the monthly bill: brute force over partitions, unknown values, the cap."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_vectors import CENTS
from rackwise.core.errors import PriceCapRefused
from rackwise.core.model import Configs, Ragged
from rackwise.core.planning.model import MonthlyChange, Move, Totals
from rackwise.core.planning.outcome.dollars import copy_prices
from rackwise.core.planning.outcome.monthly import (
    check_price_cap,
    lists_after,
    monthly_change,
)
from rackwise.core.policy import Policy, RackPolicy
from rackwise.core.traffic import usd_nano
from rackwise.core.view import View
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: None}
BLIND = Policy(racks=RackPolicy(missing="unaware"))
DAY_S, MONTH_DAYS = 86_400, 30
ONE_COPY = MONTH_DAYS * 2 * usd_nano(10**6 * DAY_S, 10**7, 10**9)
"""Nano-dollars per 30 days of one follower in another rack, at 1 MB/s."""
LEADER_ONLY = Configs(brokers={id_: {} for id_ in RACKS})
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


def view_of(lists, rates, *, configs=LEADER_ONLY, racks=RACKS, **options):
    cluster = small_cluster(racks, lists, configs=configs, **options)
    table = replace(cluster.partitions, bytes_in_per_s=np.array(rates, dtype=np.int64))
    return View(replace(cluster, partitions=table), BLIND)


def change_of(before, after, rate=10**6, *, prices=CENTS, **options):
    """The change of one partition."""
    view = view_of({"t-0": before}, [rate], **options)
    return monthly_change(view, Ragged.of([after]), copy_prices(view, prices))


@pytest.mark.parametrize(
    ("before", "after", "copies"),
    [
        ([1, 2, 9], [1, 2, 3], 1),  # 9 is not listed: it copies nothing
        ([1, 4, 2], [1, 3, 2], 1),  # a follower leaves the rack of the leader
        ([1, 3, 2], [1, 4, 2], -1),
        ([1, 2, 3], [1, 2], -1),
        ([1, 2], [1, 5], 0),
        ([1, 2, 4], [2, 1, 4], 1),  # only the leader moves, away from a follower
    ],
)
def test_each_follower_in_another_rack_is_a_copy(before, after, copies):
    found = change_of(before, after)
    assert found.replication_usd_nano == copies * ONE_COPY
    assert found.replication_cross_bytes == copies * 10**6 * DAY_S * MONTH_DAYS
    assert (found.replication_reason, found.unknown_rates) == (None, 0)


def test_a_partition_without_leader_copies_nothing_before():
    assert change_of([1, 2], [2, 3], leaders={"t-0": None}).replication_usd_nano == ONE_COPY


class TestUnknown:
    def test_a_rate_that_matters_makes_the_change_unknown(self):
        found = change_of([1, 4, 2], [1, 3, 2], rate=-1)
        assert found.replication_usd_nano is None
        assert found.replication_cross_bytes is None
        assert found.unknown_rates == 1
        assert found.replication_reason == (
            "the rate of 1 moved partition is not known (t-0); "
            "take the snapshot with rackwise snapshot --measure 60s, and plan again"
        )

    @pytest.mark.parametrize("after", [[1, 5], [4, 2], [2, 1]])
    @pytest.mark.parametrize("prices", [CENTS, ()])
    def test_a_rate_that_does_not_matter_leaves_a_known_zero(self, after, prices):
        found = change_of([1, 2], after, rate=-1, prices=prices)
        assert (found.replication_cross_bytes, found.unknown_rates) == (0, 0)
        assert found.replication_usd_nano == (0 if prices else None)

    def test_the_direction_of_a_link_has_its_own_price(self):
        racks = {1: "/e/a", 2: "/w/b"}
        prices = [
            replace(CENTS[0], level=level, region=region, nano_usd_per_gb_out=out)
            for level in ("region", "zone")
            for region, out in (("e", 1), ("w", 2))
        ]
        cluster = small_cluster(racks, {"t-0": [1, 2]})
        policy = Policy(racks=RackPolicy(levels=("region", "zone")))
        view = View(cluster, policy)
        found = monthly_change(view, Ragged.of([[2, 1]]), copy_prices(view, prices))
        assert (found.replication_usd_nano, found.unknown_rates) == (None, 1)

    def test_other_partitions_need_no_rate(self):
        view = view_of({"t-0": [1, 4], "t-1": [1, 2]}, [10**6, -1])
        found = monthly_change(view, Ragged.of([[1, 5], [1, 2]]), copy_prices(view, CENTS))
        assert found.replication_usd_nano == ONE_COPY

    def test_a_rack_that_is_not_known(self):
        found = change_of([1, 2], [1, 6])
        assert (found.replication_usd_nano, found.unknown_rates) == (None, 1)
        assert "a rack of 1 moved partition is not known (t-0); set broker.rack" in str(
            found.replication_reason
        )
        assert change_of([1, 2], [1, 6], rate=0).replication_usd_nano == 0

    def test_without_prices_bytes_are_known_and_dollars_are_not(self):
        found = change_of([1, 4], [1, 2], prices=())
        assert found.replication_cross_bytes == 10**6 * DAY_S * MONTH_DAYS
        assert found.replication_usd_nano is None
        assert found.replication_reason == "the plan has no prices; plan again with --provider"

    def test_long_lists_of_names_are_cut(self):
        lists = {f"t-{row}": [1, 4] for row in range(9)}
        view = view_of(lists, [-1] * 9)
        found = monthly_change(view, Ragged.of([[1, 2]] * 9), None)
        assert "the rate of 9 moved partitions is not known (t-0, t-1, t-2 and 6 more)" in str(
            found.replication_reason
        )


class TestReads:
    """KIP-392: consumers read from the leader, or from a replica in their own rack."""

    def test_the_same_leader_without_a_selector_reads_the_same(self):
        found = change_of([1, 2], [1, 3])
        assert (found.reads_usd_nano, found.reads_reason) == (0, None)

    @pytest.mark.parametrize(
        "configs",
        [Configs(), Configs(brokers={1: SELECTOR}), Configs(brokers={1: {}})],
        ids=["not-read", "selector", "some-not-read"],
    )
    def test_with_follower_fetching_the_racks_of_replicas_matter(self, configs):
        assert change_of([1, 2], [1, 3], configs=configs).reads_usd_nano is None
        assert change_of([1, 2], [1, 5], configs=configs).reads_usd_nano == 0
        assert change_of([1, 2], [4, 5], configs=configs).reads_usd_nano == 0

    def test_a_leader_in_another_rack_has_an_unknown_price_with_a_reason(self):
        found = change_of([1, 2], [2, 1])
        assert found.reads_usd_nano is None
        assert str(found.reads_reason).startswith(
            "consumers of 1 moved partition read from other racks"
        )


NAMES = ("t-0", "t-1", "t-2")


@given(
    lists=st.lists(
        st.tuples(*[st.permutations([1, 2, 3, 4, 5]) for _ in range(2)], st.integers(1, 4)),
        min_size=3,
        max_size=3,
    ),
    rates=st.lists(st.sampled_from([-1, 0, 3, 10**6, 2**62]), min_size=3, max_size=3),
    dead=st.sampled_from([(), (2,), (1, 3)]),
)
def test_the_change_is_the_sum_over_partitions(lists, rates, dead):
    before = {name: list(old[:size]) for name, (old, _, size) in zip(NAMES, lists, strict=True)}
    after = [list(new[:size]) for _, new, size in lists]
    view = view_of(before, rates, dead=dead)
    found = monthly_change(view, Ragged.of(after), copy_prices(view, CENTS))

    def copies(brokers):
        live = [id_ for id_ in brokers[1:] if id_ not in dead]
        return sum(RACKS[id_] != RACKS[brokers[0]] for id_ in live)

    total, unknown = 0, 0
    for old, new, rate in zip(before.values(), after, rates, strict=True):
        more = copies(new) - copies(old)
        unknown += rate < 0 and more != 0
        total += more * usd_nano(max(rate, 0) * DAY_S, 10**7, 10**9) * 2 * MONTH_DAYS
    assert found.unknown_rates == unknown
    assert found.replication_usd_nano == (None if unknown else total)
    moves = [
        Move(topic="t", partition=number, topic_id=None, before=old, after=tuple(new), bytes=None)
        for number, (old, new) in enumerate(zip(map(tuple, before.values()), after, strict=True))
        if old != tuple(new)
    ]
    assert lists_after(view, moves[::-1]).equal_rows(Ragged.of(after)).all()


def test_the_lists_after_moves_of_several_topics():
    before = {"a-0": [1], "b-0": [2], "b-7": [3], "d-1": [4]}
    view = view_of(before, [1] * 4)
    moves = [
        Move(topic=topic, partition=number, topic_id=None, before=(), after=after, bytes=None)
        for topic, number, after in (("d", 1, (5, 1)), ("b", 7, ()), ("a", 0, (2,)))
    ]
    assert lists_after(view, moves) == Ragged.of([[2], [2], [], [5, 1]])
    assert lists_after(view, []) == view.placed


class TestCap:
    @staticmethod
    def totals(**fields):
        return Totals(monthly=MonthlyChange(**fields))

    def test_a_change_up_to_the_cap_passes(self):
        for change in (-5, 0, 10):
            check_price_cap(self.totals(replication_usd_nano=change), 10)

    def test_a_greater_change_says_by_how_much(self):
        with pytest.raises(PriceCapRefused) as caught:
            check_price_cap(self.totals(replication_usd_nano=52 * 10**9), 50 * 10**9)
        assert caught.value.message == (
            "expected a plan that adds at most $50.00 per 30 days to replication, "
            "got a plan that adds $52.00, $2.00 above the cap"
        )
        assert caught.value.exit_code == 4

    @pytest.mark.parametrize(
        ("totals", "reason"),
        [(Totals(monthly=MonthlyChange(replication_reason="x; y")), "x; y"), (Totals(), "none")],
    )
    def test_an_unknown_change_is_not_below_any_cap(self, totals, reason):
        with pytest.raises(PriceCapRefused, match="not known: .*" + reason) as caught:
            check_price_cap(totals, 10**18)
        assert "--measure" in str(caught.value.hint)
