"""What a run would do with flow files: who reads them, in how many tasks, and how long it takes."""

from __future__ import annotations

import bz2
import gzip
import math

import pyarrow as pa
import pytest
from pyarrow import parquet

from rackwise.pipeline.ingest.explain.costs import (
    CPU_S_PER_FILE,
    CPU_S_PER_MILLION_ROWS,
    FIXED_CPU_S,
    TEXT_FACTOR,
    expected_cpu,
    expected_wall,
    unknown,
)
from rackwise.pipeline.ingest.explain.model import Estimate, FileKind
from rackwise.pipeline.ingest.explain.plan import explain, planned_reading
from rackwise.pipeline.ingest.files import FlowFile, local_files
from rackwise.pipeline.ingest.formats import input_format
from rackwise.pipeline.ingest.splits import SPLIT_BYTES, are_dealt

COLUMNS = "version account-id interface-id srcaddr dstaddr bytes start end flow-direction"
ROW = "5 123456789010 eni-1 10.0.0.1 10.1.0.1 840 1795000000 1795000060 egress"


def text(rows, columns=COLUMNS):
    return "\n".join([columns, *[ROW] * rows, ""]).encode()


def write_parquet(path, rows, columns=COLUMNS):
    names = columns.split()
    cells = dict(zip(COLUMNS.split(), ROW.split(), strict=True))
    parquet.write_table(pa.table({name: [cells[name]] * rows for name in names}), path)


def reading(folder, flow_format="vpc", dedupe="side", cores=2):
    return planned_reading(local_files([str(folder)]), input_format(flow_format), dedupe, cores)


def a_number(value, quality):
    return lambda found: (found.low, found.high, found.quality) == (value, value, quality)


class TestTasksRead:
    def test_parquet_with_rows_counted_in_all_footers(self, tmp_path):
        for number in range(3):
            write_parquet(tmp_path / f"{number}.parquet", 100)
        found = reading(tmp_path)
        size = sum(file.stat().st_size for file in tmp_path.iterdir())
        assert found.kinds == (FileKind(kind="parquet", files=3, bytes=size),)
        assert (found.reader, found.reasons) == ("tasks", ())
        assert (found.splits, found.tasks) == (3, 3)
        assert a_number(300, "counted")(found.rows)
        assert a_number(FIXED_CPU_S, "estimate")(found.cpu_s)
        assert (found.wall_s.low, found.wall_s.high) == (math.ceil(FIXED_CPU_S / 2), FIXED_CPU_S)

    def test_rows_of_many_files_are_an_estimate_from_twenty(self, tmp_path):
        for number in range(41):
            write_parquet(tmp_path / f"{number:03}.parquet", 100)
        found = reading(tmp_path)
        assert a_number(4_100, "estimate")(found.rows)
        assert found.rows.source == "rows per byte of 14 of 41 files"

    def test_text_and_gzip_are_read_by_tasks_and_estimated(self, tmp_path):
        (tmp_path / "a.log").write_bytes(text(20_000))
        (tmp_path / "b.log.gz").write_bytes(gzip.compress(text(20_000)))
        found = reading(tmp_path)
        assert [kind.kind for kind in found.kinds] == ["text", "text.gz"]
        assert (found.reader, found.splits) == ("tasks", 2)
        assert found.rows.quality == "estimate"
        assert found.rows.low == pytest.approx(40_000, rel=0.3)

    def test_files_of_a_store_are_read_by_tasks_and_not_opened_before(self):
        files = [
            FlowFile(uri=uri, path=uri, size=300 * 2**20, modified_s=1_795_000_000)
            for uri in ("s3a://lake/a.log", "s3a://lake/b.parquet")
        ]
        found = planned_reading(files, input_format("vpc"), "side", 2)
        assert (found.reader, found.reasons) == ("tasks", ())
        assert (found.splits, found.tasks) == (6, 4)
        assert found.rows == unknown("files that only tasks or Spark open are not counted")
        assert found.cpu_s == unknown("the rows are not known")

    @pytest.mark.spark
    @pytest.mark.connect
    def test_the_splits_are_those_of_the_run(self, spark):
        files = tuple(
            FlowFile(uri=f"file:/{name}", path=f"file:/{name}", size=size)
            for name, size in (("a.parquet", 10), ("b.parquet", 5 * SPLIT_BYTES), ("c.log.gz", 999))
        )
        from pyspark.sql import functions as F  # noqa: N812

        from rackwise.pipeline.fleet.tasks import TASKS_PER_CORE, task_count
        from rackwise.pipeline.ingest.splits import splits

        cores = task_count(spark) // TASKS_PER_CORE
        found = planned_reading(files, input_format("vpc"), "side", cores)
        dealt = splits(spark, files, ()).select(F.spark_partition_id().alias("task"))
        assert (found.splits, found.tasks) == (dealt.count(), dealt.distinct().count())
        assert found.rows == unknown("the rows of parquet files are not known before they are read")


class TestSparkReads:
    @pytest.mark.parametrize(
        ("flow_format", "dedupe", "columns", "reason"),
        [
            ("vpc", "exact", COLUMNS, "--dedupe exact compares rows with each other"),
            ("gcp", "side", COLUMNS, "Spark reads VPC flow logs of Google Cloud into columns"),
            (
                *("vpc", "side", COLUMNS.removesuffix(" flow-direction")),
                "there is no flow direction in 2 of 2 opened files",
            ),
            ("canonical", "side", COLUMNS, "1 file of canonical flows is text"),
        ],
    )
    def test_the_reason_is_told(self, tmp_path, flow_format, dedupe, columns, reason):
        (tmp_path / "a.log").write_bytes(text(9, columns))
        write_parquet(tmp_path / "b.parquet", 9, columns)
        found = reading(tmp_path, flow_format, dedupe)
        assert (found.reader, found.reasons) == ("spark", (reason,))
        assert (found.splits, found.tasks) == (None, None)
        assert found.cpu_s == unknown("nothing is measured for files that Spark reads")
        assert (found.wall_s.low, found.wall_s.quality) == (None, "unknown")

    def test_revisions_are_not_a_reason(self, tmp_path):
        parquet.write_table(pa.table({"emitter": ["e1"], "revision": [1]}), tmp_path / "a.parquet")
        assert reading(tmp_path, "canonical", "side").reader == "tasks"

    def test_another_compression_or_store(self, tmp_path):
        (tmp_path / "a.log.bz2").write_bytes(bz2.compress(text(9)))
        there = FlowFile(uri="s3a://lake/a.parquet", path="s3a://lake/a.parquet", size=9)
        files = (*local_files([str(tmp_path)]), there)
        found = planned_reading(files, input_format("vpc"), "side", 2)
        assert [kind.kind for kind in found.kinds] == ["parquet", "text.bz2"]
        assert found.reasons == (
            "1 file is on a store that tasks cannot open",
            "1 file is compressed, but not with gzip",
        )
        assert found.rows == unknown("files that only tasks or Spark open are not counted")

    @pytest.mark.parametrize("name", ["a.parquet", "a.log", "a.log.gz", "a.log.zst"])
    @pytest.mark.parametrize("flow_format", ["vpc", "canonical"])
    def test_the_decision_is_that_of_the_run(self, name, flow_format):
        known = input_format(flow_format)
        files = (FlowFile(uri=f"file:/{name}", path=f"file:/{name}", size=1),)
        found = planned_reading(files, known, "side", 2)
        assert (found.reader == "tasks") == are_dealt(files, deals_text=known.deals_text)


def test_no_flow_files_are_no_zero():
    found = planned_reading((), input_format("vpc"), "side", 2)
    assert (found.reader, found.kinds, found.splits) == ("none", (), None)
    assert {found.rows, found.cpu_s, found.wall_s} == {unknown("the run reads no flow files")}


def test_a_damaged_file_is_no_error_of_the_plan(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 is not all")
    found = reading(tmp_path)
    assert found.reader == "tasks"
    assert (found.rows.low, found.rows.quality) == (None, "unknown")
    assert (found.cpu_s.low, found.wall_s.low) == (None, None)


class TestCosts:
    ROWS = Estimate(low=20_000_000, high=20_000_000, quality="estimate", source="a sample")

    def test_rows_and_text_cost_as_measured(self):
        plain = FIXED_CPU_S + 20 * CPU_S_PER_MILLION_ROWS
        assert expected_cpu(self.ROWS, 0, files=0).low == round(plain)
        longer = FIXED_CPU_S + 20 * CPU_S_PER_MILLION_ROWS * TEXT_FACTOR
        assert expected_cpu(self.ROWS, self.ROWS.low, files=0).low == round(longer)

    def test_files_cost_too(self):
        many = expected_cpu(self.ROWS, 0, files=100_000).low
        assert many - expected_cpu(self.ROWS, 0, files=0).low == round(100_000 * CPU_S_PER_FILE)

    def test_the_wall_of_more_cores_is_shorter_but_not_the_fixed_part_alone(self):
        cpu = expected_cpu(self.ROWS, 0, files=1)
        one, many = expected_wall(cpu, 1), expected_wall(cpu, 100)
        assert one.low == one.high == cpu.low
        assert many.low < FIXED_CPU_S < many.high < one.low
        assert expected_wall(cpu, None).quality == "unknown"


@pytest.mark.usefixtures("no_session")
def test_paths_of_this_machine_need_no_session(tmp_path, monkeypatch):
    from rackwise.pipeline.ingest.explain import plan

    def failing(**_options):
        raise AssertionError("a session is created")

    monkeypatch.setattr(plan, "session", failing)
    write_parquet(tmp_path / "a.parquet", 5)
    found = explain([str(tmp_path)], "vpc", "side", master="local[3]", conf={})
    assert (found.engine.place, found.engine.cores) == ("local[3]", 3)
    assert a_number(5, "counted")(found.flows.rows)
    with pytest.raises(AssertionError, match="a session is created"):
        explain(["s3a://lake/flows"], "vpc", "side", conf={})
    with pytest.raises(AssertionError, match="a session is created"):
        explain([str(tmp_path)], "vpc", "side", conf={"spark.hadoop.fs.defaultFS": "hdfs://a"})
    with pytest.raises(AssertionError, match="a session is created"):
        explain([str(tmp_path)], "vpc", "side", master="spark://there:7077", conf={})
