"""Windows: their end, held records, counters."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_vectors import Draws
from rackwise.core.partitioner import (
    PartitionerConfig,
    PartitionLoad,
    TopicPartitioner,
    TopicView,
    UpstreamLoad,
    WindowLedger,
)

RACKS = {0: "a", 1: "b", 2: "a"}
VIEW = TopicView((0, 1, 2), RACKS)
NEAR = {"rack_aware": True, "rack": "a", "sticky_bytes": 100}


def partitioner_of(view=VIEW, *, on_window_end=None, **fields):
    config = PartitionerConfig(**(NEAR | fields))
    return TopicPartitioner(config, view, rng=Draws(), on_window_end=on_window_end)


class TestDrawTime:
    def test_a_load_that_is_set_between_two_windows_counts(self):
        partitioner = partitioner_of()
        assert (partitioner.peek(), partitioner.add(100)) == (0, True)
        assert partitioner.current is None
        partitioner.set_load(PartitionLoad({2: 7}))
        assert [partitioner.peek(), partitioner.draws] == [0, 2]

    def test_upstream_draws_when_the_window_ends(self):
        partitioner = partitioner_of(semantics="upstream")
        assert (partitioner.peek(), partitioner.add(100)) == (0, True)
        assert (partitioner.current, partitioner.draws) == (2, 2)
        partitioner.set_load(UpstreamLoad((0, 7), (0, 2), ("a", "a"), 2))
        assert partitioner.peek() == 2

    @pytest.mark.parametrize(
        ("semantics", "load"),
        [
            ("kip", PartitionLoad({2: 7})),
            ("upstream", UpstreamLoad((0, 7), (0, 2), ("a", "a"), 2)),
        ],
    )
    def test_the_callback_at_a_windows_end_may_return_a_load(self, semantics, load):
        ended = []
        partitioner = partitioner_of(
            semantics=semantics, on_window_end=lambda partition: ended.append(partition) or load
        )
        partitioner.defer(100, may_switch=True)
        assert partitioner.defer(100, may_switch=True) == 0
        assert ended == [0]

    def test_the_callback_may_return_none(self):
        partitioner = partitioner_of(on_window_end=lambda _partition: None)
        partitioner.set_load(PartitionLoad({2: 7}))
        partitioner.peek()
        partitioner.add(100)
        assert partitioner.peek() == 0

    def test_add_before_peek_draws_a_partition(self):
        partitioner = partitioner_of()
        assert not partitioner.add(0)
        assert (partitioner.draws, partitioner.counters().records) == (0, 0)
        assert not partitioner.add(7)
        assert (partitioner.draws, partitioner.counters().records) == (1, 1)

    def test_redraw_after_the_leader_changed(self):
        partitioner = partitioner_of()
        assert partitioner.redraw() == 0
        partitioner.set_view(TopicView((1, 1, 2), RACKS))
        assert partitioner.redraw() == 2
        assert partitioner.counters().windows == {"local": 1}
        assert partitioner.draws == 2


class TestUnusablePartition:
    @pytest.mark.parametrize(
        "change",
        [
            lambda partitioner: partitioner.set_view(TopicView((None, 1, 2), RACKS)),
            lambda partitioner: partitioner.set_load(PartitionLoad({0: 64})),
            lambda partitioner: partitioner.set_load(PartitionLoad({}, frozenset({0}))),
        ],
        ids=["no leader", "backlog", "excluded"],
    )
    def test_its_window_ends_at_the_next_peek(self, change):
        partitioner = partitioner_of()
        partitioner.peek()
        partitioner.add(40)
        change(partitioner)
        assert partitioner.current == 0
        assert partitioner.peek() == 2
        assert partitioner.counters().switches == {"unusable": 1}

    def test_the_partition_is_kept_if_no_other_is_usable(self):
        partitioner = partitioner_of(TopicView((0, None), RACKS))
        partitioner.peek()
        partitioner.set_load(PartitionLoad({0: 64}))
        assert (partitioner.peek(), partitioner.draws) == (0, 1)

    def test_a_topic_that_shrank_is_left(self):
        partitioner = partitioner_of(TopicView((None, None, 2), RACKS))
        assert partitioner.peek() == 2
        partitioner.set_view(TopicView((0,), RACKS))
        assert partitioner.peek() == 0

    def test_bytes_are_counted_for_the_leader_that_got_them(self):
        partitioner = partitioner_of()
        partitioner.peek()
        partitioner.add(40)
        partitioner.set_view(TopicView((1, 1, 2), RACKS))
        partitioner.peek()
        partitioner.add(30)
        counters = partitioner.counters()
        assert (counters.local_bytes, counters.cross_bytes) == (40, 30)


class TestAHeldRecord:
    """KAFKA-9965: the partition of a record that opens a batch is requested twice."""

    def test_a_held_record_may_end_the_window_before_twice_the_size(self):
        partitioner = partitioner_of()
        assert [partitioner.defer(100, may_switch=True), partitioner.defer(1)] == [0, 2]
        assert [partitioner.defer(198), partitioner.defer(1)] == [2, 2]

    def test_a_held_record_ends_the_window_at_twice_the_size(self):
        partitioner = partitioner_of()
        assert [partitioner.defer(200), partitioner.defer(1)] == [0, 2]
        assert partitioner.counters().switches == {"twice-size": 1}

    def test_a_held_record_is_dropped_once(self):
        partitioner = partitioner_of()
        partitioner.defer(10)
        partitioner.drop()
        partitioner.drop()
        assert (partitioner._held, partitioner.counters().records) == (0, 0)

    def test_a_held_record_counts_as_sent(self):
        partitioner = partitioner_of()
        partitioner.defer(10)
        assert partitioner.counters().local_bytes == 10

    def test_a_batch_without_held_record_counts_its_header(self):
        partitioner = partitioner_of()
        partitioner.new_batch()
        assert partitioner.counters().total_bytes == 0
        partitioner.defer(10)
        assert partitioner.counters().local_bytes == 71


class TestCounters:
    def test_counters_include_those_of_the_ledger(self):
        ledger = WindowLedger(100)
        ledger.done(ledger.end_window(0, 0, 0), 1, ok=True)
        ledger.done(ledger.end_window(0, 0, 0), 1, ok=False)
        ledger.open_window(0, 0, 0)
        ledger.excluded_nodes(101)
        partitioner = partitioner_of()
        partitioner.count_refused()
        partitioner.count_internal()
        counters = partitioner.counters(ledger)
        assert (counters.windows_acknowledged, counters.windows_failed, counters.exclusions) == (
            1,
            1,
            1,
        )
        assert (counters.readmissions, counters.probes, counters.refused_records) == (0, 0, 1)
        assert counters.fallbacks == {"internal": 1}

    def test_levels_are_counted(self):
        view = TopicView((0, 1, 2, None), {0: "/eu/a", 1: "/eu/b", 2: "/us/a"})
        config = PartitionerConfig(rack="/eu/a", rack_depth=1)
        partitioner = TopicPartitioner(config, view, rng=Random(1))
        for partition, size in enumerate((1, 10, 100, 1000)):
            partitioner.count_unsteered(partition, size)
        partitioner.count_unsteered(9, 10_000)
        counters = partitioner.counters()
        assert counters.bytes_by_common_levels == (100, 10, 1)
        assert (counters.local_bytes, counters.cross_bytes, counters.unknown_bytes) == (
            11,
            100,
            11_000,
        )
        assert (counters.records, counters.steered.records) == (5, 0)

    def test_counters_are_one_json_object(self):
        partitioner = partitioner_of()
        partitioner.peek()
        partitioner.add(250)
        partitioner.peek()
        part = {
            "records": 1,
            "total_bytes": 250,
            "local_bytes": 250,
            "cross_bytes": 0,
            "unknown_bytes": 0,
            "bytes_by_common_levels": [0, 250],
        }
        nothing = dict.fromkeys(part, 0) | {"bytes_by_common_levels": [0, 0]}
        numbers = (
            *("exclusions", "readmissions", "probes"),
            *("windows_acknowledged", "windows_failed", "refused_records"),
        )
        assert partitioner.counters().as_dict() == part | {
            "steered": part,
            "unsteered": nothing,
            "windows": {"local": 2},
            "switches": {"size": 1},
            "fallbacks": {},
        } | dict.fromkeys(numbers, 0)


@given(st.lists(st.sampled_from([60, 112, -1, -2]), max_size=60))
def test_hold_equals_defer_where_no_window_ends(steps):
    """A step is a size; -1: the client opens a batch; -2: a record that may switch."""
    quick, plain = (partitioner_of(sticky_bytes=300) for _ in range(2))
    for step in steps:
        if step == -1:
            quick.new_batch()
            plain.new_batch()
            continue
        size, may_switch = max(step, 90), step == -2
        held = -1 if may_switch else quick.hold(size)
        found = quick.defer(size, may_switch=may_switch) if held < 0 else held
        assert found == plain.defer(size, may_switch=may_switch)
        assert quick.counters() == plain.counters()


def test_add_many_equals_single_adds():
    at_once, singly = (partitioner_of(sticky_bytes=1000) for _ in range(2))
    for partitioner in (at_once, singly):
        partitioner.peek()
    at_once.add_many(360, 3)
    for size in (100, 120, 140):
        singly.add(size)
    assert at_once.counters() == singly.counters()
    assert at_once.add(640) is singly.add(640) is True
