"""Flow files as Parquet: their types, invalid files, and the tables that are written."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import NOON, ROW
from rackwise.core.errors import InvalidFlows

pytestmark = pytest.mark.spark

NUMBERS = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")
INPUT = {
    "cluster": "demo",
    "window_start": datetime.fromtimestamp(NOON, UTC),
    "kind": "fetch",
    "broker_id": 1,
    "bytes": 5,
}


def log(path, rows, *, without=(), types=None):
    """A flow log as AWS writes Parquet: integers of 32 and 64 bits, the rest text."""
    whole = [{k: v for k, v in (ROW | row).items() if k not in without} for row in rows]
    kinds = {name: pa.int64() if name in NUMBERS[3:] else pa.int32() for name in NUMBERS}
    kinds |= types or {}
    columns = {
        name: pa.array(
            [
                int(row[name]) if name in NUMBERS and name not in (types or {}) else row[name]
                for row in whole
            ],
            kinds.get(name, pa.string()),
        )
        for name in whole[0]
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return str(path)


def canonical(path, row, **types):
    columns = {name: pa.array([value], types.get(name)) for name, value in row.items()}
    parquet.write_table(pa.table(columns), path)
    return str(path)


def read(spark, path, form="vpc"):
    from rackwise.pipeline.ingest.formats import read_flows

    return read_flows(spark, [str(path)], form)


def refused(spark, path, form="vpc"):
    with pytest.raises(InvalidFlows) as caught:
        read(spark, path, form)
    return caught.value


def is_partial(rows):
    from rackwise.pipeline.ingest.vpc_files import has_direction, has_direction_in_all

    known = has_direction(rows)
    return not (has_direction_in_all(rows) if known is None else known)


def test_parquet_keeps_its_integers_and_the_place_of_each_row(spark, tmp_path):
    log(tmp_path / "deep" / "er" / "a.parquet", [{}, {"bytes": "2"}, {"bytes": "3"}])
    log(tmp_path / "b.parquet", [{"bytes": "4"}])
    rows = read(spark, tmp_path)
    assert rows.schema["bytes"].dataType.simpleString() == "bigint"
    found = sorted(
        (r.source_file.rpartition("/")[2], r.row_offset, r.bytes) for r in rows.collect()
    )
    assert found == [
        ("a.parquet", 0, 1000),
        ("a.parquet", 1, 2),
        ("a.parquet", 2, 3),
        ("b.parquet", 0, 4),
    ]
    assert is_partial(rows) is False


def test_optional_columns_may_be_missing_in_all_or_some_files(spark, tmp_path):
    later = ("pkt_srcaddr", "pkt_dstaddr", "flow_direction")
    log(tmp_path / "v2" / "a.parquet", [{}], without=later)
    old = read(spark, tmp_path / "v2")
    assert [(row.pkt_srcaddr, row.flow_direction) for row in old.collect()] == [(None, None)]
    assert is_partial(old) is True
    log(tmp_path / "v5.parquet", [{}])
    both = read(spark, tmp_path)
    assert {row.flow_direction for row in both.collect()} == {None, "egress"}
    assert is_partial(both) is True


def test_a_direction_may_be_missing_where_there_is_no_data(spark, tmp_path):
    log(tmp_path / "a.parquet", [{}, {"log_status": "NODATA", "flow_direction": None}])
    assert is_partial(read(spark, tmp_path)) is False
    log(tmp_path / "a.parquet", [{}, {"flow_direction": "-"}])
    assert is_partial(read(spark, tmp_path)) is True


@pytest.mark.connect
def test_text_and_parquet_are_read_together(spark, tmp_path):
    log(tmp_path / "a.parquet", [{}])
    names = [name for name in ROW if not name.startswith("pkt")]
    lines = [" ".join(names).replace("_", "-"), " ".join(ROW[name] for name in names)]
    (tmp_path / "b.log").write_text("\n".join(lines))
    rows = read(spark, tmp_path).collect()
    assert sorted((row.bytes, row.row_offset) for row in rows) == [("1000", 0), ("1000", 2)]


def test_file_names_with_glob_characters(spark, tmp_path):
    log(tmp_path / "a [1]{x,y}*?.parquet", [{}])
    log(tmp_path / "a 1x.parquet", [{}, {}])
    assert read(spark, tmp_path).count() == 3


def test_a_file_without_rows(spark, tmp_path):
    (tmp_path / "empty.log").write_text("")
    rows = read(spark, tmp_path)
    assert rows.collect() == []
    log(tmp_path / "a.parquet", [{}])
    parquet.write_table(
        parquet.read_table(tmp_path / "a.parquet").slice(0, 0), tmp_path / "a.parquet"
    )
    assert read(spark, tmp_path).collect() == []
    assert read(spark, tmp_path / "empty.log", "canonical").collect() == []
    assert read(spark, tmp_path / "empty.log", "request-log").collect() == []


def test_a_path_that_does_not_exist_is_rejected(spark, tmp_path):
    error = refused(spark, tmp_path / "nowhere")
    assert "PATH_NOT_FOUND" in error.message
    assert "--flows" in error.hint


def test_a_missing_column_is_reported_with_the_existing_ones(spark, tmp_path):
    log(tmp_path / "a.parquet", [{}], without=("bytes",))
    error = refused(spark, tmp_path)
    assert "got no bytes, but interface_id srcaddr" in error.message
    assert error.wanted.split()[:3] == ["interface_id", "srcaddr", "dstaddr"]
    assert error.where.endswith("a.parquet")


def test_the_hint_names_the_format_that_fits(spark, tmp_path):
    log(tmp_path / "log.parquet", [{}])
    canonical(tmp_path / "input.parquet", INPUT)
    error = refused(spark, tmp_path / "input.parquet", "vpc")
    assert error.hint == "use --flow-format canonical"
    error = refused(spark, tmp_path / "log.parquet", "canonical")
    assert error.hint == "use --flow-format vpc"
    assert "got no cluster" in error.message


def test_canonical_flows_are_parquet(spark, tmp_path):
    (tmp_path / "a.log").write_text("cluster kind\n")
    error = refused(spark, tmp_path, "canonical")
    assert error.message.startswith("expected Parquet files of canonical flows, got ")
    assert "--flow-format vpc" in error.hint


@pytest.mark.parametrize(
    ("column", "kind", "value", "wanted"),
    [
        ("bytes", pa.float64(), 1.5, "tinyint or smallint or int or bigint or string"),
        ("srcaddr", pa.int64(), 1, "string"),
    ],
)
def test_a_column_of_another_type_is_rejected(spark, tmp_path, column, kind, value, wanted):
    log(tmp_path / "a.parquet", [{column: value}], types={column: kind})
    error = refused(spark, tmp_path)
    assert f"expected {wanted}" in error.message


def test_canonical_columns_have_their_types_and_the_others_are_null(spark, tmp_path):
    canonical(tmp_path / "a.parquet", INPUT, broker_id=pa.int32())
    row = read(spark, tmp_path, "canonical").collect()[0]
    assert (row.cluster, row.kind, row.broker_id, row.bytes) == ("demo", "fetch", 1, 5)
    assert (row.client_rack, row.source, row.row_offset) == (None, None, 0)
    canonical(tmp_path / "a.parquet", INPUT | {"window_start": NOON})
    assert "invalid column window_start" in refused(spark, tmp_path, "canonical").message
    local = {"window_start": datetime(2026, 11, 1, 12)}  # noqa: DTZ001 (no zone is the point)
    canonical(tmp_path / "a.parquet", INPUT | local)
    assert "time zone" in refused(spark, tmp_path, "canonical").hint


def test_columns_with_reserved_names_are_ignored(spark, tmp_path):
    own = {"outcome": "kept", "Raw": "x", "source_file": "elsewhere", "row_offset": 9, "a`b": 1}
    path = canonical(tmp_path / "a.parquet", INPUT | own)
    (row,) = read(spark, path, "canonical").collect()
    assert (row.outcome, row.raw, row.row_offset) == (None, None, 0)
    assert row.source_file.endswith("/a.parquet")
    path = log(tmp_path / "b.parquet", [{"malformed": "malformed:all", "raw": "x"}])
    (row,) = read(spark, path).collect()
    assert (row.malformed, row.raw) == (None, None)


@pytest.mark.connect
def test_a_file_that_is_not_parquet_is_rejected(spark, tmp_path):
    (tmp_path / "a.parquet").write_text("srcaddr dstaddr\n" * 10)
    error = refused(spark, tmp_path)
    assert error.message.startswith(
        f"expected flow files that can be read, got a damaged one: {tmp_path / 'a.parquet'}: "
    )


@pytest.mark.connect
def test_a_table_is_written_with_its_schema_and_counted(spark, tmp_path):
    from rackwise.pipeline.ingest.tables import WriteCounts, write_table
    from rackwise.pipeline.schemas import QUARANTINE, RACK

    rows = [("f", 1, "malformed:file", None, None, "more"), ("f", 2, "malformed:end", 7, "x", "y")]
    frame = spark.createDataFrame(
        rows, "source_file string, row_offset int, reason string, bytes int, raw string, w string"
    )
    path = str(tmp_path / "quarantine")
    assert write_table(frame, path, QUARANTINE) == WriteCounts(rows=2, bytes=7)
    assert write_table(frame.limit(0), path, QUARANTINE) == WriteCounts(rows=0, bytes=0)
    assert spark.read.parquet(path).schema == QUARANTINE
    racks = spark.createDataFrame([(1, "a", 1, 1, *[0] * 15)], RACK.fieldNames())
    assert write_table(racks, str(tmp_path / "rack"), RACK) == WriteCounts(rows=1, bytes=None)


@pytest.mark.connect
def test_timestamps_in_tables_are_microseconds_in_utc(spark, tmp_path):
    from rackwise.pipeline.ingest.tables import write_table
    from rackwise.pipeline.schemas import FLOW_FACT

    at = datetime.fromtimestamp(NOON, UTC)
    frame = spark.createDataFrame([{"window_start": at, "bytes": 1}], FLOW_FACT)
    write_table(frame, str(tmp_path / "facts"), FLOW_FACT)
    column = parquet.read_table(tmp_path / "facts")["window_start"]
    assert (column.type, column.to_pylist()) == (pa.timestamp("us", tz="UTC"), [at])


def test_stored_rows_keep_values_and_metadata(spark, tmp_path):
    from rackwise.pipeline.ingest.tables import store

    log(tmp_path / "a.parquet", [{}, {"flow_direction": None}])
    rows = read(spark, tmp_path / "a.parquet")
    kept = store(rows, str(tmp_path / "bronze"))
    assert kept.collect() == rows.collect()
    assert is_partial(kept) is True


def test_longs_of_stored_rows_have_no_dictionary(spark, tmp_path):
    from rackwise.pipeline.ingest.tables import store

    rows = spark.createDataFrame([(1, "a"), (1, "a"), (2, "a")], "number long, name string")
    store(rows.coalesce(1), str(tmp_path / "rows"))
    (path,) = (tmp_path / "rows").glob("*.parquet")
    columns = parquet.ParquetFile(path).metadata.row_group(0)
    assert [columns.column(n).has_dictionary_page for n in range(2)] == [False, True]


def test_a_column_that_no_file_has_is_added_only_for_callers(spark, tmp_path):
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.formats import read_bronze
    from rackwise.pipeline.schemas import BRONZE_INPUT

    path = canonical(tmp_path / "a.parquet", INPUT)
    rows = read_bronze(spark, flow_files(spark, [path]), "canonical")
    assert rows.columns == [*INPUT, "source_file", "row_offset"]
    complete = read(spark, path, "canonical")
    assert complete.columns == BRONZE_INPUT.names
    assert complete.select(*rows.columns).collect() == rows.collect()
    assert {
        complete.collect()[0][name] for name in complete.columns if name not in rows.columns
    } == {None}


def test_files_of_equal_name_and_size_are_reported(spark, tmp_path):
    from rackwise.pipeline.ingest.files import find_repeated, flow_files

    for place in ("x", "y", "z"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.log").write_text("one" if place != "z" else "three")
    (tmp_path / "x" / "b.log").write_text("one")
    (tmp_path / "x" / "_hidden").write_text("one")
    files = flow_files(spark, [str(tmp_path), str(tmp_path / "x" / "a.log")])
    assert [(file.uri.rpartition("/")[2], file.size) for file in files] == [
        ("a.log", 3),
        ("b.log", 3),
        ("a.log", 3),
        ("a.log", 5),
    ]
    (same,) = find_repeated(files)
    assert [file.uri[-7:] for file in same] == ["x/a.log", "y/a.log"]


@pytest.mark.connect
def test_files_with_special_names_get_numbers_and_names(spark, tmp_path):
    from rackwise.pipeline.ingest.files import file_named, flow_files, read_files, with_file_numbers

    for name in ("a b.parquet", "%41ü.parquet", "two\nlines.parquet", r"[x]\*{1}.parquet"):
        log(tmp_path / name, [{}])
    rows = read(spark, tmp_path)
    uris = read_files(rows)
    assert list(uris) == [file.uri for file in flow_files(spark, [str(tmp_path)])]
    for known in (uris, uris[1:], ()):
        sent = with_file_numbers(rows, known)
        numbers = {row.file: row.source_file for row in sent.collect()}
        assert numbers.keys() == ({*range(len(known)), None} if known != uris else {0, 1, 2, 3})
        assert {numbers[number] for number in range(len(known))} <= {None}
        named = sent.select(file_named(known).alias("source_file")).collect()
        assert sorted(row.source_file for row in named) == list(uris)


@pytest.mark.connect
def test_without_numbers_rows_keep_their_file_names(spark, tmp_path, monkeypatch):
    from rackwise.pipeline.ingest import files

    rows = [log(tmp_path / name, [{}]) for name in ("a.parquet", "b.parquet")]
    monkeypatch.setattr(files, "MOST_NUMBERED", 1)
    assert files.read_files(read(spark, tmp_path)) == ()
    assert len(files.read_files(read(spark, rows[0]))) == 1
    assert files.read_files(spark.createDataFrame([("x",)], "source_file string")) == ()
