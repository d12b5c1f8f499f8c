"""Folders of tables: a Spark without credentials for tasks empties them, and leaves the others."""

from __future__ import annotations

import pytest

from rackwise.core.errors import OutputNotShared
from rackwise.pipeline.runtime.stores.folders import check_writable, remove_folders

pytestmark = pytest.mark.spark


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]


def test_where_tasks_cannot_remove_a_folder_spark_empties_it(spark, tmp_path):
    """`file:` is no store of the tasks, so this is what happens on one that they cannot open."""
    for name in ("one", "two", "kept"):
        spark.range(3).write.parquet(f"file://{tmp_path}/{name}")
    assert remove_folders(spark, [f"file://{tmp_path}/one", f"file://{tmp_path}/two"]) is None
    assert files_below(tmp_path / "one") == files_below(tmp_path / "two") == []
    assert files_below(tmp_path / "kept")


def test_the_reason_why_a_folder_is_left(spark):
    assert "nowhere" in remove_folders(spark, ["nowhere://lake/tables"])
    assert remove_folders(spark, []) is None


def test_a_store_that_spark_cannot_write_is_named_with_the_jar(spark):
    with pytest.raises(OutputNotShared, match="S3AFileSystem not found") as caught:
        check_writable(spark, "s3a://lake/tables/", probe="probe")
    assert "hadoop-aws:3." in caught.value.hint
    with pytest.raises(OutputNotShared) as caught:
        check_writable(spark, "nowhere://lake", probe="probe")
    assert caught.value.hint == "add the jar of the file system for nowhere:// to Spark"
