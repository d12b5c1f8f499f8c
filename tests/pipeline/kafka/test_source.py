"""The data source `rackwise-kafka`: a topic as a table, and writing to a topic."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.kafka.records import KafkaTopic, TopicReader
from rackwise.pipeline.kafka.sink import TopicStreamWriter, TopicWriter, check_columns
from rackwise.pipeline.kafka.source import source_of
from rackwise.pipeline.kafka.table import FilteredTable, TopicTable

ENDS = {0: (10, 20), 1: (0, 0), 2: (5, 35)}
WHOLE = [(0, 10, 20), (2, 5, 35)]


def topic(write=None):
    def records(_partition, start, end):
        fields = {"key": None, "timestamp": 1000, "timestamp_type": 0}
        yield [SimpleNamespace(offset=at, value=b"%d" % at, **fields) for at in range(start, end)]

    return KafkaTopic(name="t", ends=lambda: ENDS, records=records, write=write)


def places(table):
    return [(each.partition, each.start, each.end) for each in table.partitions()]


class TestTable:
    def test_it_has_all_records(self):
        table = TopicTable(topic())
        assert places(table) == WHOLE
        (batch,) = table.read(table.partitions()[0])
        assert batch.column("offset").to_pylist() == list(range(10, 20))

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ([IsNotNull(("partition",)), EqualTo(("partition",), 2)], [(2, 5, 35)]),
            ([In(("partition",), (0, 1, 9))], [(0, 10, 20)]),
            ([In(("partition",), (0, 2)), EqualTo(("partition",), 1)], []),
            ([GreaterThanOrEqual(("offset",), 12)], [(0, 12, 20), (2, 12, 35)]),
            ([GreaterThan(("offset",), 19)], [(2, 20, 35)]),
            ([LessThan(("offset",), 11)], [(0, 10, 11), (2, 5, 11)]),
            ([LessThanOrEqual(("offset",), 5), LessThan(("offset",), 99)], [(2, 5, 6)]),
            ([EqualTo(("offset",), 12), IsNotNull(("offset",))], [(0, 12, 13), (2, 12, 13)]),
        ],
    )
    def test_filters_on_partition_and_offset_are_applied(self, filters, expected):
        table = FilteredTable(topic())
        assert table.pushFilters(filters) == []
        assert places(table) == expected

    @pytest.mark.parametrize(
        "other",
        [EqualTo(("key",), b"k"), IsNull(("offset",)), EqualTo(("partition",), None)],
    )
    def test_other_filters_are_returned_to_spark(self, other):
        table = FilteredTable(topic())
        assert table.pushFilters([other]) == [other]
        assert places(table) == WHOLE


class TestSource:
    def test_the_reader_depends_on_filter_pushdown(self):
        """Spark refuses a reader with `pushFilters` where the setting is off."""
        for takes, kind in ((False, TopicTable), (True, FilteredTable)):
            source = source_of(topic(), takes_filters=takes)({})
            assert type(source.reader(StructType())) is kind
            assert isinstance(source.streamReader(StructType()), TopicReader)

    def test_its_columns_are_those_of_sparks_connector(self):
        source = source_of(topic())
        assert source.name() == "rackwise-kafka"
        assert source({}).schema() == (
            "key binary, value binary, topic string, partition int, offset bigint, "
            "timestamp timestamp, timestampType int"
        )

    def test_it_accepts_only_appends(self):
        schema = StructType().add("value", BinaryType())
        source = source_of(topic(write=dict))({})
        assert isinstance(source.writer(schema, overwrite=False), TopicWriter)
        assert isinstance(source.streamWriter(schema, overwrite=False), TopicStreamWriter)
        with pytest.raises(InvalidConfig, match="it was to be replaced"):
            source.writer(schema, overwrite=True)
        with pytest.raises(InvalidConfig, match="can only be read"):
            source_of(topic())({}).writer(schema, overwrite=False)


class TestSink:
    @pytest.mark.parametrize("kind", [TopicWriter, TopicStreamWriter])
    def test_keys_and_values_are_written_as_bytes(self, kind):
        seen = []

        def write(records):
            seen.extend(records)
            return {3: len(seen)}

        batches = [
            pa.record_batch({"value": [b"v", None], "key": [b"k", None]}),
            pa.record_batch({"value": ["ä"]}),
        ]
        assert kind(write).write(iter(batches)).records == {3: 3}
        assert seen == [(b"k", b"v"), (None, None), (None, "ä".encode())]

    @pytest.mark.parametrize(
        ("schema", "is_fit"),
        [
            (StructType().add("value", StringType()), True),
            (StructType().add("key", BinaryType()).add("value", StringType()), True),
            (StructType().add("key", BinaryType()), False),
            (StructType().add("value", IntegerType()), False),
            (StructType().add("value", BinaryType()).add("topic", StringType()), False),
        ],
    )
    def test_columns(self, schema, is_fit):
        if is_fit:
            check_columns(schema)
            return
        with pytest.raises(
            InvalidConfig, match="expected a column value and optionally key"
        ) as refused:
            check_columns(schema)
        assert refused.value.hint.startswith("select the columns to write")
