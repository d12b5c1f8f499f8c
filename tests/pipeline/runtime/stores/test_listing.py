"""Listing of stores: the files are those that Spark lists. The store here is a local folder."""

from __future__ import annotations

import pytest
from pyarrow import fs

from rackwise.pipeline.ingest.files import listed_by_spark, local_files
from rackwise.pipeline.runtime.stores.listing import find_files

TREE = (
    *("flows/1/a.log", "flows/1/b.log.gz", "flows/2/a.log", "flows/2/deep/c d.log"),
    *("flows/_SUCCESS", "flows/.part", "flows/_temporary/x.log", "flows/day=1/e.log"),
    *("flows/_hour=1/f.log", "flows/x[1].log", "flows/x1.log", "flowers/g.log"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "flows" / "empty.log").touch()
    return folder


@pytest.fixture
def store(home):
    return fs.SubTreeFileSystem(str(home.parent), fs.LocalFileSystem())


def names(store, home, pattern):
    found = find_files(store, f"{home.name}/", pattern)
    return None if found is None else {info.path.removeprefix(f"{home.name}/") for info in found}


EVERYTHING = {name for name in TREE if "/_t" not in name and "/_S" not in name and "/." not in name}
PATTERNS = {
    "": EVERYTHING,
    "flows": EVERYTHING - {"flowers/g.log"},
    "flows/1": {"flows/1/a.log", "flows/1/b.log.gz"},
    "flows/1/a.log": {"flows/1/a.log"},
    "flow*": EVERYTHING,
    "flows/?": {name for name in TREE if name[:7] in {"flows/1", "flows/2"}},
    "flows/[12]/a.log": {"flows/1/a.log", "flows/2/a.log"},
    "flows/[^1]/*": {"flows/2/a.log", "flows/2/deep/c d.log"},
    "flows/{1,2/deep}": {"flows/1/a.log", "flows/1/b.log.gz", "flows/2/deep/c d.log"},
    "flows/*/*.gz": {"flows/1/b.log.gz"},
    "flows/x\\[1\\].log": {"flows/x[1].log"},
    "flows/x[1].log": {"flows/x1.log"},
    "flows/day=*": {"flows/day=1/e.log"},
    "nothing": None,
    "flows/*.csv": None,
    "flows/empty.l*": set(),
}


@pytest.mark.parametrize(("pattern", "wanted"), PATTERNS.items())
def test_the_files_of_a_pattern(store, home, pattern, wanted):
    assert names(store, home, pattern) == wanted


@pytest.mark.spark
def test_spark_lists_the_same_files(spark, home):
    from pyspark.errors import AnalysisException

    from rackwise.pipeline.ingest.files import files_at

    for pattern, wanted in PATTERNS.items():
        if wanted is None:
            with pytest.raises(AnalysisException):
                files_at(spark, [f"{home}/{pattern}"])
            continue
        prefix = f"file:{home}/"
        found = {file.path.removeprefix(prefix) for file in files_at(spark, [f"{home}/{pattern}"])}
        assert found == wanted, pattern


HIDDEN = (
    *("_hidden", "_metadata", "_common_metadata.x", ".dot", "copied._COPYING_", "_k=v", ".a=b"),
    *("_metadata._COPYING_", "plain"),
)
ASKED = (
    *("", "*", "_hidden", "copied._COPYING_", "?hidden", "_*", "*/plain", "*/_metadata/*"),
    *("{.dot,plain}", "_hidden/plain", "_hidden/_hidden", "plain/_metadata/_hidden", "*/*/_k=v"),
    *("plain/plain/_metadata", "plain/plain/copied._COPYING_", "_hidden/_hidden/plain"),
)


@pytest.mark.spark
def test_store_disk_and_spark_leave_out_the_same_names(spark, tmp_path):
    """Files and folders of each name, below folders of each name, by path and by pattern."""
    for outer in HIDDEN:
        for inner in HIDDEN:
            folder = tmp_path / "top" / outer / inner
            folder.mkdir(parents=True)
            for name in HIDDEN:
                (folder / name).write_text(name)
    store = fs.LocalFileSystem()
    for pattern in ASKED:
        asked = f"{tmp_path}/top/{pattern}".rstrip("/")
        of_spark = {file.path.removeprefix("file:") for file in listed_by_spark(spark, [asked])}
        of_store = find_files(store, "/", asked.removeprefix("/"))
        assert {f"/{info.path.lstrip('/')}" for info in of_store} == of_spark, pattern
        of_disk = local_files([asked])
        if of_disk is not None:
            assert {file.path.removeprefix("file:") for file in of_disk} == of_spark, pattern


@pytest.mark.spark
def test_a_uri_is_encoded_as_spark_encodes_it(spark, tmp_path):
    from rackwise.pipeline.ingest.files import encoded, files_at

    (tmp_path / "a b%20é+#&;~[1]{2}|^`€\u00a0.log").write_text("x")
    (file,) = files_at(spark, [str(tmp_path)])
    assert encoded(file.path.replace("file:/", "file:///")) == file.uri.replace(
        "file:/", "file:///"
    )
