"""The Kafka source in Python: the offsets of a batch, and the records of its tasks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from rackwise.core.errors import CheckpointMismatch
from rackwise.pipeline.kafka.records import KafkaTopic, Part, TopicReader, limited

ENDS = {0: (10, 20), 1: (0, 0), 2: (5, 35)}


def some_records(_partition, start, end):
    """Two lists of records, as from two fetches."""
    for at in range(start, end, 2):
        yield [
            SimpleNamespace(
                key=None, value=b"%d" % offset, offset=offset, timestamp=1000, timestamp_type=0
            )
            for offset in range(at, min(at + 2, end))
        ]


def reader(ends=ENDS, *, starting="earliest", most=100, topic_id=None):
    return TopicReader(
        KafkaTopic(
            name="t",
            ends=lambda: ends,
            records=some_records,
            starting=starting,
            most=most,
            topic_id=topic_id,
        )
    )


def places(parts):
    return [(each.partition, each.start, each.end) for each in parts]


class TestOffsets:
    @pytest.mark.parametrize(
        ("starting", "expected"),
        [("earliest", {"0": 10, "1": 0, "2": 5}), ("latest", {"0": 20, "1": 0, "2": 35})],
    )
    def test_a_new_checkpoint_starts_at_the_earliest_or_latest_offset(self, starting, expected):
        assert reader(starting=starting).initialOffset() == {"t": expected}

    def test_a_batch_has_at_most_the_limit(self):
        made = reader(most=8)
        assert made.getDefaultReadLimit() == ReadMaxRows(8)
        start = made.initialOffset()
        end = made.latestOffset(start, ReadMaxRows(8))
        assert end == {"t": {"0": 12, "1": 0, "2": 11}}
        assert places(made.partitions(start, end)) == [(0, 10, 12), (2, 5, 11)]
        assert made.latestOffset(start, ReadAllAvailable()) == {"t": {"0": 20, "1": 0, "2": 35}}

    def test_later_records_are_left_for_the_next_run(self):
        ends = {0: (0, 3)}
        made = reader(ends)
        made.prepareForTriggerAvailableNow()
        ends[0] = (0, 9)
        end = made.latestOffset({"t": {"0": 0}}, ReadMaxRows(100))
        assert end == {"t": {"0": 3}}
        assert made.latestOffset(end, ReadMaxRows(100)) == end
        assert made.partitions(end, end) == []

    def test_a_new_partition_starts_at_its_first_record(self):
        made = reader({0: (0, 3), 1: (0, 2)})
        assert places(made.partitions({"t": {"0": 3}}, {"t": {"0": 3, "1": 2}})) == [(1, 0, 2)]

    @given(
        st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 50), st.integers(0, 50))),
        st.integers(1, 60),
    )
    def test_limited_batches_reach_the_end(self, backlog, most):
        """Law: no batch has more than its limit, each goes on, and the last one ends at the end."""
        start = {number: first for number, (first, _) in backlog.items()}
        ends = {number: first + lag for number, (first, lag) in backlog.items()}
        while start != ends:
            later = limited(start, ends, most)
            moved = [later[number] - start[number] for number in start]
            assert min(moved) >= 0
            assert 0 < sum(moved) <= most
            start = later


class TestCreatedAgain:
    """A topic that was deleted and created again starts at 0: its records are not skipped."""

    HINT = "choose another --checkpoint: the topic is read again and each message counts once"

    def refused(self, call):
        with pytest.raises(CheckpointMismatch) as caught:
            call()
        assert (caught.value.hint, caught.value.where) == (self.HINT, "t")
        return caught.value.message

    @pytest.mark.parametrize(
        ("ends", "said"),
        [
            ({0: (0, 100)}, "expected offset 7 or more in partition 1, got no such partition"),
            ({0: (0, 40), 1: (0, 9)}, "expected offset 100 or more in partition 0, got an end of"),
        ],
    )
    @pytest.mark.parametrize("limit", [ReadMaxRows(1000), ReadAllAvailable()])
    def test_an_end_before_the_checkpoint_is_an_error(self, ends, said, limit):
        start = {"t": {"0": 100, "1": 7}}
        message = self.refused(lambda: reader(ends).latestOffset(start, limit))
        assert message.startswith("topic t is not the topic of the checkpoint: ")
        assert said in message
        assert message.endswith("; the topic was deleted and created again, or lost records")

    def test_a_topic_whose_end_has_passed_the_checkpoint_is_known_by_its_id(self):
        ends, start = {0: (0, 150)}, {"t": {"0": 100}, "t/id": "a1"}
        other = reader(ends, topic_id=lambda: "b2")
        message = self.refused(lambda: other.latestOffset(start, ReadMaxRows(1000)))
        assert "expected the topic id a1, got b2" in message
        same = reader(ends, topic_id=lambda: "a1")
        assert same.latestOffset(start, ReadMaxRows(1000)) == {"t": {"0": 150}, "t/id": "a1"}

    def test_a_batch_that_was_begun_on_another_topic_is_not_read(self):
        """After a restart, Spark plans the batch from the checkpoint and asks for no new end."""
        start, end = {"t": {"0": 100}, "t/id": "a1"}, {"t": {"0": 120}, "t/id": "a1"}
        ends = {0: (0, 150)}
        other = reader(ends, topic_id=lambda: "b2")
        assert "topic id a1" in self.refused(lambda: other.partitions(start, end))
        assert "got an end of 110" in self.refused(
            lambda: reader({0: (0, 110)}).partitions(start, end)
        )
        assert places(reader(ends).partitions(start, end)) == [(0, 100, 120)]

    def test_a_topic_replaced_between_its_ends_and_its_id_is_an_error(self):
        """The ends are read first: they may be of the old topic, the id is of the new one."""
        asked = []
        made = reader({0: (0, 150)}, topic_id=lambda: asked.append("id") or "a1")
        made.topic = replace(made.topic, ends=lambda: asked.append("ends") or {0: (0, 150)})
        made.latestOffset({"t": {"0": 100}}, ReadMaxRows(1000))
        made.initialOffset()
        assert asked == ["ends", "id", "id", "ends"]

    def test_a_checkpoint_without_an_id_gets_it_with_the_next_records(self):
        ends = {0: (0, 100)}
        made = reader(ends, topic_id=lambda: "a1")
        start = {"t": {"0": 100}}
        assert made.latestOffset(start, ReadMaxRows(1000)) == start
        ends[0] = (0, 101)
        assert made.latestOffset(start, ReadMaxRows(1000)) == {"t": {"0": 101}, "t/id": "a1"}

    def test_a_new_checkpoint_has_the_id_if_the_brokers_give_one(self):
        assert reader({0: (0, 3)}, topic_id=lambda: "a1").initialOffset()["t/id"] == "a1"
        assert reader({0: (0, 3)}, topic_id=lambda: None).initialOffset() == {"t": {"0": 0}}


class TestRecords:
    def test_a_task_reads_the_records_of_its_partition(self):
        batches = list(reader().read(Part(2, 5, 8)))
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert [(row["partition"], row["offset"], row["value"]) for row in rows] == [
            (2, 5, b"5"),
            (2, 6, b"6"),
            (2, 7, b"7"),
        ]
        assert {row["timestamp"].isoformat() for row in rows} == {"1970-01-01T00:00:01+00:00"}
        assert {(row["topic"], row["key"]) for row in rows} == {("t", None)}
