"""Views of topics, and loads of partitions."""

from __future__ import annotations

import pytest

from rackwise.core.errors import ViewError
from rackwise.core.partitioner import QueueEntry, TopicView, UpstreamLoad, upstream_load


def test_a_topic_without_partitions_is_rejected():
    with pytest.raises(
        ViewError, match="invalid view: expected at least 1 partition, got 0"
    ) as raised:
        TopicView((), {})
    assert (raised.value.wanted, raised.value.had) == (">= 1 partition", 0)
    assert raised.value.hint


@pytest.mark.parametrize(
    "arrays", [((1,), (0, 1), ("a", "b"), 1), ((1,), (0,), (None,), 2), ((1,), (0,), (None,), -1)]
)
def test_columns_of_different_lengths_are_rejected(arrays):
    with pytest.raises(
        ViewError, match="expected queue sizes, partition ids and leader racks of one length"
    ):
        UpstreamLoad(*arrays)


def test_a_leaders_rack_may_be_missing():
    view = TopicView((0, 1, 2, None), {0: "a", 1: ""})
    assert [view.leader_rack(p) for p in (0, 1, 2, 3, 4, -1)] == ["a", *[None] * 5]


def test_leaders_are_counted_by_rack():
    view = TopicView((1, 0, 1, 2, None), {0: "a", 1: "b", 2: None})
    assert list(view.leader_weights().items()) == [("a", 1), ("b", 2)]


class TestQueues:
    """`RecordAccumulator.partitionReady` of kafka-clients 4.4.0."""

    def test_no_weights_until_every_partition_had_a_record(self):
        assert upstream_load([QueueEntry(0, 0)], 2) is None

    def test_partitions_without_leader_are_excluded(self):
        entries = [QueueEntry(0, None), QueueEntry(1, 5, "b", 3), QueueEntry(2, 6, "a", 1)]
        assert upstream_load(entries, 3) == UpstreamLoad((3, 1, 0), (1, 2, 0), ("b", "a", None), 2)

    def test_an_empty_queue_is_never_excluded(self):
        entries = [QueueEntry(0, 0, excluded=True), QueueEntry(1, 1, queue=2)]
        assert upstream_load(entries, 2) == UpstreamLoad((0, 2), (0, 1), (None, None), 2)

    def test_an_excluded_last_slot_stays_beyond_the_length(self):
        entries = [QueueEntry(0, 0, queue=4), QueueEntry(1, 1, "b", 2, excluded=True)]
        assert upstream_load(entries, 2) == UpstreamLoad((4, 2), (0, 1), (None, "b"), 1)
