"""The candidates of a window, the reason of a fallback, and the draw."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_vectors import Draws
from rackwise.core.errors import PartitionerConfigError, SplitError
from rackwise.core.partitioner import (
    Candidates,
    PartitionerConfig,
    PartitionLoad,
    TopicPartitioner,
    TopicView,
    UpstreamLoad,
)
from rackwise.core.partitioner.choice.kip1123 import weighted

RACKS = {0: "a", 1: "b", 2: "c", 3: "a", 4: None}
VIEW = TopicView((0, 1, 2, 3, 4, None), RACKS)
NEAR = {"rack_aware": True, "rack": "a"}


def partitioner_of(view=VIEW, load=None, draws=None, **fields):
    made = TopicPartitioner(PartitionerConfig(**fields), view, rng=Draws(draws))
    made.set_load(load)
    return made


def windows_of(partitioner, count, size=None):
    """The partitions of the next `count` windows."""
    found = []
    for _ in range(count):
        found.append(partitioner.peek())
        partitioner.add(size or partitioner._sticky_bytes)
    return found


class TestTiers:
    """KIP-1123: "Select the next partition from all partitions ... in the following cases"."""

    @pytest.mark.parametrize(
        ("fields", "view", "load", "wanted"),
        [
            (NEAR, VIEW, None, ("local", (0, 3), None)),
            ({"rack": "a"}, VIEW, None, ("all", (0, 1, 2, 3, 4), None)),
            (NEAR | {"rack": "A"}, VIEW, None, ("all", (0, 1, 2, 3, 4), "rack-unmatched")),
            (NEAR | {"rack": " "}, VIEW, None, ("all", (0, 1, 2, 3, 4), "blank-rack")),
            (NEAR, TopicView((1, 2), RACKS), None, ("all", (0, 1), "no-local-leader")),
            (NEAR, TopicView((None,), RACKS), None, ("no-leader", (0,), "no-leader")),
            ({}, TopicView((None, None), {}), None, ("no-leader", (0, 1), "no-leader")),
            (
                NEAR,
                VIEW,
                PartitionLoad({3: 64}, frozenset({0})),
                ("all", (1, 2, 4), "local-excluded"),
            ),
            (NEAR, VIEW, PartitionLoad({0: 64, 3: 70}), ("all", (1, 2, 4), "local-backlog")),
            (
                NEAR,
                VIEW,
                PartitionLoad({}, frozenset(range(5))),
                ("any-leader", (0, 1, 2, 3, 4), "local-excluded"),
            ),
            (
                {},
                VIEW,
                PartitionLoad({}, frozenset(range(5))),
                ("any-leader", (0, 1, 2, 3, 4), None),
            ),
        ],
    )
    def test_the_first_nonempty_tier_is_used(self, fields, view, load, wanted):
        assert partitioner_of(view, load, **fields).candidates() == Candidates(*wanted)

    def test_a_cap_of_0_is_no_cap(self):
        load = PartitionLoad({0: 10**6})
        assert partitioner_of(load=load, backlog_cap_windows=0, **NEAR).candidates().tier == "local"

    @pytest.mark.parametrize(
        ("rack", "leaders", "tier", "partitions"),
        [
            ("/eu/a/r7", {0: "/eu/a", 1: "/eu"}, "level-2", (0,)),
            ("/eu/a", {0: "/eu/a/r7", 1: "/eu/a/r8", 2: "/eu/b"}, "local", (0, 1)),
            ("/eu//a", {0: "/eu/a", 1: "/eu//a"}, "local", (1,)),
            ("/", {0: "/eu", 1: "/"}, "local", (1,)),
            ("\xa0", {0: " ", 1: "\xa0"}, "local", (1,)),
        ],
    )
    def test_racks_are_compared_level_by_level(self, rack, leaders, tier, partitions):
        view = TopicView(tuple(leaders), leaders)
        found = partitioner_of(view, rack_aware=True, rack=rack).candidates()
        assert (found.tier, found.partitions) == (tier, partitions)

    def test_the_zone_is_the_fallback_for_a_rack_without_leaders(self):
        view = TopicView((0, 1), {0: "/eu/a/r7", 1: "/us/a/r7"})
        found = partitioner_of(view, rack_aware=True, rack="/eu/a/r9").candidates()
        assert found == Candidates("level-2", (0,), "rack-unmatched")

    def test_fallbacks_are_counted_by_window(self):
        partitioner = partitioner_of(TopicView((1, 2), RACKS), sticky_bytes=1, **NEAR)
        windows_of(partitioner, 3)
        counters = partitioner.counters()
        assert (counters.windows, counters.fallbacks) == ({"all": 3}, {"no-local-leader": 3})


class TestUpstreamsCandidates:
    @pytest.mark.parametrize(
        ("fields", "view", "load", "wanted"),
        [
            (NEAR, VIEW, None, ("local", (0, 3), None)),
            ({}, VIEW, None, ("all", (0, 1, 2, 3, 4), None)),
            (NEAR | {"rack": "z"}, VIEW, None, ("all", (0, 1, 2, 3, 4), "rack-unmatched")),
            (NEAR, TopicView((1, 2), RACKS), None, ("all", (0, 1), "no-local-leader")),
            (NEAR, TopicView((None,), RACKS), None, ("no-leader", (0,), "no-leader")),
            (
                NEAR,
                VIEW,
                UpstreamLoad((1, 2), (0, 1), ("a", "b"), 2),
                ("local", (0,), None),
            ),
            (
                NEAR,
                VIEW,
                UpstreamLoad((1, 2, 3), (1, 2, 3), ("b", "c", "a"), 2),
                ("all", (1, 2), "local-excluded"),
            ),
            (
                NEAR | {"adaptive": False},
                VIEW,
                UpstreamLoad((1, 2), (0, 1), ("a", "b"), 2),
                ("local", (0, 3), None),
            ),
        ],
    )
    def test_candidates_are_those_of_the_load_table(self, fields, view, load, wanted):
        partitioner = partitioner_of(view, load, semantics="upstream", **fields)
        assert partitioner.candidates() == Candidates(*wanted)

    def test_shares_are_rejected(self):
        partitioner = partitioner_of(semantics="upstream")
        partitioner.set_split(None)
        with pytest.raises(
            PartitionerConfigError, match="expected kip because a split is set, got upstream"
        ) as raised:
            partitioner.set_split({"a": 1})
        assert raised.value.hint == "set rackwise.semantics to kip"


@pytest.mark.parametrize(
    ("semantics", "load", "text"),
    [
        ("kip", UpstreamLoad((), (), (), 0), "expected a PartitionLoad, got UpstreamLoad"),
        ("upstream", PartitionLoad({}), "expected an UpstreamLoad, got PartitionLoad"),
    ],
)
def test_the_load_of_the_other_semantics_is_rejected(semantics, load, text):
    with pytest.raises(TypeError, match=text):
        partitioner_of(load=load, semantics=semantics)


class TestShares:
    """Windows follow the shares of a split."""

    VIEW = TopicView((0, 1, 2), RACKS)

    def test_each_window_follows_the_schedule(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.set_split({"a": 11 / 15, "b": 0, "c": 4 / 15})
        assert windows_of(partitioner, 15) == [0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0]
        assert partitioner.counters().windows == {"split": 15}

    def test_a_phase_skips_windows(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.set_split({"a": 11 / 15, "b": 0, "c": 4 / 15}, phase=4)
        assert windows_of(partitioner, 3) == [0, 2, 0]

    def test_the_rack_that_got_the_window_is_charged(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.set_split({"a": 0.5, "c": 0.5})
        partitioner.set_load(PartitionLoad({}, frozenset({0})))
        assert windows_of(partitioner, 1) == [1]
        assert partitioner.candidates() == Candidates("all", (1, 2), "split-rack-unavailable")
        partitioner.set_load(None)
        assert windows_of(partitioner, 4) == [0, 2, 0, 2]
        assert partitioner.counters().fallbacks == {"split-rack-unavailable": 1}

    def test_a_window_from_before_the_split_is_not_charged(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.peek()
        partitioner.set_split({"a": 0.5, "c": 0.5})
        assert windows_of(partitioner, 3) == [0, 0, 2]

    def test_shares_end_when_they_are_removed(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.set_split({"c": 1})
        assert windows_of(partitioner, 1) == [2]
        partitioner.set_split(None)
        assert windows_of(partitioner, 2) == [0, 0]

    def test_a_stale_split_is_kept_and_counted(self):
        partitioner = partitioner_of(self.VIEW, **NEAR)
        partitioner.set_split({"c": 1}, stale=True)
        assert windows_of(partitioner, 2) == [2, 2]
        partitioner.set_split(None, stale=True)
        assert windows_of(partitioner, 1) == [0]
        assert partitioner.counters().fallbacks == {"stale-split": 3}

    @pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": -1, "b": 2}])
    def test_invalid_shares_are_rejected(self, shares):
        with pytest.raises(SplitError):
            partitioner_of(self.VIEW, **NEAR).set_split(shares)

    def test_weights_count_within_the_rack(self):
        partitioner = partitioner_of(TopicView((2, 2, 0), RACKS), **NEAR, sticky_bytes=1)
        partitioner.set_split({"c": 1})
        partitioner.set_load(PartitionLoad({0: 2, 2: 9}))
        assert Counter(windows_of(partitioner, 4)) == {0: 1, 1: 3}


class TestOneNumber:
    """`max_skew`: a part stays local, the rest goes by weight."""

    FIELDS = NEAR | {"max_skew": 1.5, "eps": 0.1}

    def test_a_fifth_stays_local_and_the_rest_is_even(self):
        partitioner = partitioner_of(TopicView((0, 1, 2), RACKS), **self.FIELDS)
        had = Counter(windows_of(partitioner, 15))
        assert had == {0: 7, 1: 4, 2: 4}

    def test_a_rack_with_more_leaders_gets_more(self):
        view = TopicView((0, 1, 1, 4), RACKS)
        had = Counter(windows_of(partitioner_of(view, **self.FIELDS), 20))
        assert had[0] == 8
        assert had[1] + had[2] == 8
        assert had[3] == 4

    def test_new_leaders_start_a_new_schedule(self):
        partitioner = partitioner_of(TopicView((0, 1, 2), RACKS), **self.FIELDS)
        schedule = partitioner._choice._schedule
        partitioner.set_view(TopicView((3, 1, 2), RACKS))
        assert partitioner._choice._schedule is schedule
        partitioner.set_view(TopicView((0, 1, 1), RACKS))
        assert partitioner._choice._schedule is not schedule

    def test_a_split_comes_first(self):
        partitioner = partitioner_of(TopicView((0, 1, 2), RACKS), **self.FIELDS)
        partitioner.set_split({"c": 1})
        partitioner.set_view(TopicView((0, 1, 2, 2), RACKS))
        assert set(windows_of(partitioner, 5)) <= {2, 3}
        partitioner.set_split(None)
        assert set(windows_of(partitioner, 9)) >= {0, 1}

    @pytest.mark.parametrize("change", [{"rack_aware": False}, {"rack": "z"}, {"rack": None}])
    def test_max_skew_needs_a_local_rack(self, change):
        partitioner = partitioner_of(VIEW, **(self.FIELDS | change))
        assert partitioner.candidates().tier == "all"


class TestWeights:
    """KIP-794: a partition with a smaller backlog is drawn more often."""

    @given(
        st.lists(st.integers(0, 60), min_size=1, max_size=50, unique=True).map(sorted),
        st.dictionaries(st.integers(0, 60), st.integers(0, 5), max_size=9),
        st.integers(0, 2**31 - 1),
    )
    def test_both_ways_to_draw_by_weight_agree(self, partitions, windows, number):
        behind = [windows.get(partition, 0) for partition in partitions]
        table = [
            partition
            for partition, size in zip(partitions, behind, strict=True)
            for _ in range(max(behind) + 1 - size)
        ]
        assert weighted(tuple(partitions), windows, number) == table[number % len(table)]

    def test_few_are_drawn_by_the_table_to_its_last_entry(self):
        windows = {1: 2, 7: 1}
        table = [p for p in range(10) for _ in range(3 - windows.get(p, 0))]
        drawn = [weighted(tuple(range(10)), windows, number) for number in range(len(table))]
        assert drawn == table

    def test_weights_are_ignored_without_adaptive(self):
        load = PartitionLoad({0: 5})
        partitioner = partitioner_of(load=load, adaptive=False, sticky_bytes=1, **NEAR)
        assert windows_of(partitioner, 4) == [0, 3, 0, 3]
