"""Tables that tasks write and read: the rows of each finished task, each once."""

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from rackwise.pipeline.ingest import table_files
from rackwise.pipeline.schemas import arrow_schema

DAYS = [date(2026, 11, 1), date(2026, 11, 2)]


@pytest.fixture(scope="module")
def schema():
    from pyspark.sql.types import (
        DateType,
        DecimalType,
        LongType,
        StringType,
        StructField,
        StructType,
    )

    kinds = {
        "day": DateType(),
        "topic": StringType(),
        "bytes": LongType(),
        "usd": DecimalType(18, 9),
    }
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


@pytest.fixture(scope="module")
def rows(schema):
    cents = [None, Decimal("0.01")]
    found = [
        {"day": DAYS[number % 2], "topic": f"t{number}", "bytes": number, "usd": cents[number % 2]}
        for number in range(10)
    ]
    return pa.Table.from_pylist(found, schema=arrow_schema(schema))


def written(folder, schema, rows, by=()):
    """FILE of a task that writes these rows, two at a time."""
    work = table_files.TableFiles(folder=str(folder), schema=schema, by=by)
    return [row for batch in work(rows.to_batches(max_chunksize=2)) for row in batch.to_pylist()]


def read(folder, schema):
    places = [str(place) for place in table_files.table_places(folder)]
    batches = table_files.FileRows(folder=str(folder), schema=schema)(
        [pa.RecordBatch.from_pydict({"place": places})]
    )
    return pa.Table.from_batches(batches, schema=arrow_schema(schema))


def test_finished_tasks_give_the_rows_and_others_give_none(tmp_path, schema, rows):
    folder = table_files.new_folder(str(tmp_path / "table"))
    files = written(folder, schema, rows.slice(0, 4), ("day",))
    written(folder, schema, rows, ("day",))  # a task that was killed, or that ran twice
    assert read(folder, schema).num_rows == 0, "no reader sees files before they have names"
    files += written(folder, schema, rows.slice(4), ("day",))
    table_files.name_files(folder, files, schema, by=("day",))
    assert sum(file["rows"] for file in files) == 10
    assert sum(file["bytes"] for file in files) == sum(range(10))
    assert sorted(str(place) for place in table_files.table_places(folder)) == [
        f"day={day}/part-0000{number}.parquet" for day in DAYS for number in range(2)
    ]
    assert {path.name[:4] for path in folder.rglob("*.parquet")} == {"part"}
    assert read(folder, schema).sort_by("topic") == rows.sort_by("topic")


def test_a_folder_that_was_there_is_written_anew(tmp_path, schema, rows):
    for some in (rows, rows.slice(0, 1)):
        folder = table_files.new_folder(str(tmp_path))
        table_files.name_files(folder, written(folder, schema, some), schema)
    assert read(tmp_path, schema) == rows.slice(0, 1)


def test_a_table_without_rows_has_its_columns(tmp_path, schema):
    table_files.name_files(tmp_path, [], schema)
    assert parquet.read_table(tmp_path / "part-00000.parquet").schema == arrow_schema(schema)


def test_a_task_writes_before_it_holds_many_rows(tmp_path, schema, rows, monkeypatch):
    monkeypatch.setattr(table_files, "MOST_ROWS", 3)
    assert [file["rows"] for file in written(tmp_path, schema, rows)] == [4, 4, 2]


@pytest.mark.spark
@pytest.mark.connect
@pytest.mark.parametrize("by", [(), ("day",)])
def test_an_engine_reads_what_it_has_written(spark, tmp_path, schema, rows, by):
    from rackwise.pipeline.engines.spark import SessionEngine

    def same(batches):
        yield from batches

    engine = SessionEngine(spark)
    dealt = engine.dealt(rows, schema, loads=[1] * len(rows))
    path = str(tmp_path / "table")
    for made in (dealt, engine.map(dealt, same, schema)):
        counts = engine.write(made, path, schema, by=by)
        assert (counts.rows, counts.bytes) == (10, sum(range(10)))
        found = engine.collect(engine.read_own(path, schema))
        assert found.sort_by("topic").to_pylist() == rows.sort_by("topic").to_pylist()
        assert engine.collect(engine.read(path, schema)).num_rows == 10
