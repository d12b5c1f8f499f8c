"""The Kafka source in Python: the offsets of a batch, and the records of its tasks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

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


def reader(ends=ENDS, *, starting="earliest", most=100):
    return TopicReader(
        KafkaTopic(name="t", ends=lambda: ends, records=some_records, starting=starting, most=most)
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

    def test_offsets_of_a_recreated_topic_never_decrease(self):
        made = reader({0: (0, 3)})
        start = {"t": {"0": 9}}
        assert made.latestOffset(start, ReadMaxRows(100)) == start
        assert made.partitions(start, start) == []

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
