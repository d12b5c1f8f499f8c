"""Flow files of local folders are listed without Spark, exactly as Spark lists them."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from rackwise.pipeline.ingest.files import files_at, listed_by_spark, local_files

NAMES = (
    *("a.parquet", "b c.log", "100%.log", "x%20y.log", "p#1.log", "semi;colon.log", "plus+.log"),
    *("at@home.log", "q'uote.log", 'd"quote.log', "tilde~.log", "caret^.log", "tick`.log"),
    *("less<more>.log", "pipe|.log", "amp&eq=.log", "comma,.log", "dollar$.log", "bang!.log"),
    *("round(1).log", "square[1].log", "curly{1}.log", "star*.log", "ask?.log", "back\\slash.log"),
    *("_hidden.log", "_k=v.log", "_metadata", "_common_metadata.log", ".crc", ".a=b"),
    *("copied._COPYING_", "colon:1.log", "UPPER.PARQUET"),
)
FOLDERS = ("plain", "_temporary", "_day=1", ".git", "day=2026-11-01", "_metadata_of", "two words")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files whose names Spark leaves out, changes in URIs, or takes for patterns."""
    home = tmp_path_factory.mktemp("flow logs")
    for place in (home, *(home / name for name in FOLDERS), home / "plain" / "deep" / "er"):
        place.mkdir(parents=True, exist_ok=True)
        for size, name in enumerate(NAMES, start=1):
            (place / name).write_bytes(b"x" * size)
        (place / "empty.log").touch()
    (home / "nothing").mkdir()
    outside = tmp_path_factory.mktemp("outside")
    (outside / "linked.log").write_text("linked")
    (home / "link.log").symlink_to(outside / "linked.log")
    (home / "folder-link").symlink_to(outside, target_is_directory=True)
    os.link(outside / "linked.log", home / "hard.log")
    return home


@pytest.mark.spark
@pytest.mark.connect
class TestTheSameAsSpark:
    def test_a_folder_of_all_names(self, spark, folder):
        found = local_files([str(folder)])
        assert found is not None
        assert found == listed_by_spark(spark, [str(folder)])
        assert len(found) > len(NAMES) * 4

    @pytest.mark.parametrize(
        "paths",
        [
            ("plain", "plain/a.parquet", "plain/deep"),
            ("_hidden.log", "_k=v.log", ".crc"),
            ("_temporary", "_metadata", "link.log", "folder-link"),
            ("plain/../plain/", "plain//deep/./er"),
            ("empty.log", "nothing"),
            ("two words/b c.log", "100%.log", "p#1.log"),
        ],
    )
    def test_paths(self, spark, folder, paths):
        given = [f"{folder}/{path}" for path in paths]
        found = local_files(given)
        assert found is not None
        assert found == files_at(spark, given) == listed_by_spark(spark, given)


@pytest.mark.parametrize(
    "path",
    [
        *("plain/*.log", "plain/a.?arquet", "{plain,nothing}", "square[1].log"),
        *("s3a://lake/flows", "file:/tmp", "not-there", "naïve", "a\nb"),
    ],
)
def test_what_spark_must_list(folder, path):
    given = path if ":" in path else f"{folder}/{path}"
    assert local_files([str(folder / "plain"), given]) is None


def test_a_name_that_is_not_ascii_is_left_to_spark(tmp_path):
    (tmp_path / "größe.log").write_text("x")
    assert local_files([str(tmp_path)]) is None


def test_memory_per_file_is_small(tmp_path):
    """Two texts of some 100 characters and one object per file."""
    for number in range(3_000):
        (tmp_path / f"123456789012_vpcflowlogs_use1-az1_{number:06d}.parquet").write_bytes(b"x")
    tracemalloc.start()
    found = local_files([str(tmp_path)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 3_000
    assert peak / len(found) < 900
