"""Rows that stay in Python between tasks: the same rows as those of Spark, by other ways."""

from collections import Counter

import pyarrow as pa
import pytest

from rackwise.pipeline.schemas import arrow_schema

pytestmark = [pytest.mark.spark, pytest.mark.connect]

KEYS = [(number % 7 or None, number % 3 - 1) for number in range(500)]


@pytest.fixture(scope="module")
def schema():
    from pyspark.sql.types import ByteType, IntegerType, LongType, StructField, StructType

    kinds = {"what": ByteType(), "key": LongType(), "other": IntegerType(), "bytes": LongType()}
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


@pytest.fixture
def stored(spark, schema, tmp_path):
    """Rows in several tasks, stored by `what`, and the engine."""
    from rackwise.pipeline.engines.spark import SessionEngine

    def doubled(batches):
        for batch in batches:
            yield batch
            yield batch

    engine = SessionEngine(spark)
    rows = [
        {"what": number % 2, "key": key, "other": other, "bytes": None if number == 4 else number}
        for number, (key, other) in enumerate(KEYS)
    ]
    table = pa.Table.from_pylist(rows, schema=arrow_schema(schema))
    dealt = engine.dealt(table, schema, loads=[1] * len(rows))
    made = engine.map(dealt, doubled, schema)
    return engine, engine.store(made, str(tmp_path / "stored"), schema, by="what")


def test_a_part_of_a_stored_table_has_its_rows_alone(stored):
    engine, rows = stored
    found = engine.collect(engine.where(rows, "what", 1)).to_pylist()
    assert len(found) == len(KEYS)
    assert {row["what"] for row in found} == {1}
    assert sum(row["bytes"] for row in found) == 2 * sum(range(1, 500, 2))
    assert len(engine.collect(rows)) == 2 * len(KEYS)


def test_java_leaves_out_the_streams_of_other_parts(stored):
    engine, rows = stored
    parts = [row.part for row in rows.source.select("part").collect()]
    found = engine.where(rows, "what", 1).source.select("part").collect()
    assert [row.part for row in found] == [part for part in parts if part == 1]
    assert {*parts} == {0, 1}


def test_a_task_holds_the_sums_of_one_slice_at_a_time(schema):
    from pyspark.sql.types import StructType

    from rackwise.pipeline.runtime.task_rows import AsStreams, _SliceSums

    columns = StructType([schema["key"], schema["bytes"]])
    given = {"key": [1, 2, 1], "bytes": [10, 20, 30], "slice": [0, 1, 0]}
    rows = pa.RecordBatch.from_pydict(given)
    read = []

    def streams():
        for each in AsStreams("slice")([rows]):
            read.append(each["part"][0].as_py())
            yield each

    sums = _SliceSums(keys=("key",), measures=("bytes",), schema=columns)(streams())
    assert next(sums).to_pylist() == [{"key": 1, "bytes": 40}]
    assert read == [0, 1]
    assert [batch.to_pylist() for batch in sums] == [[{"key": 2, "bytes": 20}]]


def test_works_and_filters_run_in_their_order(stored, schema):
    from pyspark.sql.types import StructType

    def of_other(batches):
        for batch in batches:
            yield batch.select(["other", "bytes"])

    engine, rows = stored
    columns = StructType([schema["bytes"], schema["other"]])
    mapped = engine.map(engine.where(rows, "what", 0), of_other, columns)
    found = engine.collect(engine.where(mapped, "other", -1))
    assert found.column_names == ["bytes", "other"], "the columns are those of the schema"
    assert found["other"].unique().to_pylist() == [-1]
    assert len(found) == 2 * sum(not n % 2 and other == -1 for n, (_, other) in enumerate(KEYS))


@pytest.mark.parametrize("partitions", [2, 40])
def test_each_key_of_a_sum_has_one_row_whatever_task_had_it(stored, partitions):
    _, rows = stored
    wanted = Counter()
    for number, key in enumerate(KEYS):
        wanted[key] += 0 if number == 4 else 2 * number
    summed = rows.summed(["key", "other"], ["bytes"], partitions=partitions)
    found = summed.frame().toArrow().to_pylist()
    sums = {(row["key"], row["other"]): row["bytes"] for row in found}
    assert len(sums) == len(found)
    assert sums == dict(wanted)


def test_a_sum_of_no_rows_is_empty(stored):
    engine, rows = stored
    assert not len(engine.collect(engine.summed(engine.where(rows, "what", 9), ["key"], ["bytes"])))


def test_a_cluster_has_the_rows_of_all_tasks(stored, schema):
    from pyspark.sql.types import LongType, StructField, StructType

    engine, rows = stored
    clusters = StructType([StructField("cluster", LongType()), schema["bytes"]])

    def as_clusters(batches):
        for batch in batches:
            yield batch.select(["what", "bytes"]).rename_columns(["cluster", "bytes"])

    def counted(own, other):
        table = pa.table({"cluster": [own["cluster"][0].as_py()], "bytes": [len(own) + len(other)]})
        return table.cast(arrow_schema(clusters))

    left = engine.map(rows, as_clusters, clusters)
    none = engine.table(arrow_schema(clusters).empty_table(), clusters)
    found = engine.collect(engine.by_cluster(left, none, counted, clusters, tasks=2))
    assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [(0, 500), (1, 500)]
    both = engine.collect(engine.by_cluster(left, left, counted, clusters, tasks=2))
    assert sorted(both["bytes"].to_pylist()) == [1000, 1000]
