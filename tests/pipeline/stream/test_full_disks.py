"""A stream whose disk is full names the folder, leaves no files, and goes on with room."""

from __future__ import annotations

import errno
import os
from datetime import date

import pytest
from pyspark.sql.streaming.readwriter import DataStreamWriter

from rackwise.core.errors import WorldError
from rackwise.pipeline.stream import compact as compacting
from rackwise.pipeline.stream import run as running
from rackwise.pipeline.stream.run import StreamOptions, finish, keep_batch, start
from rackwise.pipeline.stream.store import Store
from small_disk import fail_to_write, filling_disk
from stream_runs import rows
from telemetry import KAFKA, arriving, demo_messages

pytestmark = pytest.mark.spark

FULL = os.strerror(errno.ENOSPC)
TOKEN = f"{7:016x}"
DAY = date(2026, 11, 1)
PAGES = 500
"""All that a test writes fits."""


def telemetry(spark):
    """Messages for one task: of two, the second may still write when the first has failed."""
    values, _ = demo_messages()
    return values, spark.createDataFrame(arriving(values), KAFKA).coalesce(1)


def files_of(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def check_named(error, folder):
    """Law: one line, the folder that is full, and what is free there."""
    assert f"the tables in {folder} cannot be written: {FULL}; free on this machine: " in error
    assert f" bytes in {folder}" in error
    assert "\n" not in error


@pytest.mark.parametrize("free", [1, 5], ids=["messages", "sums"])
def test_a_batch_on_a_full_disk_leaves_no_files_and_is_written_with_room(spark, tmp_path, free):
    out = tmp_path / "out"
    values, frame = telemetry(spark)
    limit = lambda patch: patch.setattr(running, "write_table", fail_to_write)  # noqa: E731
    with filling_disk(out, PAGES, limit) as full:
        store = Store(str(out))
        with full(free=free):
            before = files_of(out)
            with pytest.raises(WorldError) as caught:
                keep_batch(frame, 0, store=store, token=TOKEN)
            check_named(caught.value.message, out)
            assert files_of(out) == before
            assert store.batches() == ()
        keep_batch(frame, 0, store=store, token=TOKEN)
        assert len(rows(tmp_path)) == len(values)


def test_a_day_on_a_full_disk_leaves_no_files_and_is_compacted_with_room(spark, tmp_path):
    out = tmp_path / "out"
    values, frame = telemetry(spark)
    limit = lambda patch: patch.setattr(compacting, "flows_of", fail_to_write)  # noqa: E731
    with filling_disk(out, PAGES, limit) as full:
        keep_batch(frame, 0, store=Store(str(out)), token=TOKEN)
        with full(free=0):
            before = files_of(out)
            with pytest.raises(WorldError) as caught:
                compacting.compact(spark, str(out), DAY)
            check_named(caught.value.message, out / "stream" / f"_compacting-{DAY}")
            assert files_of(out) == before
        counts, flows = compacting.compact(spark, str(out), DAY)
        assert counts.messages == len(values)
        assert flows == str(out / "stream" / f"_compacting-{DAY}")


@pytest.mark.classic
def test_a_full_disk_of_a_new_checkpoint_is_named(spark, tmp_path):
    from rackwise.pipeline.kafka.records import KafkaTopic  # wants Spark 4.2

    mark, out = tmp_path / "mark", tmp_path / "out"
    # No partitions; only what Spark's workers can import.
    topic = KafkaTopic(name="t", ends=dict, records=map, starting="earliest", most=9)
    options = StreamOptions(bootstrap="", topic="t", out=str(out), checkpoint=str(mark))

    def fail_in_java(_):
        spark._jvm.java.io.FileOutputStream("/dev/full").write(1)

    limit = lambda patch: patch.setattr(DataStreamWriter, "start", fail_in_java)  # noqa: E731
    with filling_disk(mark, PAGES, limit) as full:
        with full(free=1), pytest.raises(WorldError) as caught:
            finish(start(spark, options, topic), options)
        error = caught.value.message
        assert error.startswith("Spark ended the stream: ")
        assert f"java.io.IOException: {FULL}; free on this machine: " in error
        assert f" bytes in {out}, " in error
        assert f" bytes in {mark}, " in error
        assert "\n" not in error
        assert caught.value.hint.startswith("free space on the disks of --out, --checkpoint and ")
