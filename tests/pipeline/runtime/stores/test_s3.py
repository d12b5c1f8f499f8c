"""A real S3 server, seen as a task of Spark sees it: what is listed, read, removed and rejected."""

from __future__ import annotations

import gzip
import time

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql.types import StringType, StructField, StructType

from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.pipeline.ingest.splits import SplitReader, UnreadableFile
from rackwise.pipeline.runtime.stores.filesystems import SECRETS, filesystem
from rackwise.pipeline.runtime.stores.folders import remove_folder
from rackwise.pipeline.runtime.stores.listing import listed_rows
from s3_servers import SECRET, S3Server, in_front_of, s3_environment

pytestmark = [pytest.mark.server, pytest.mark.long]
NEEDED = StructType([StructField(name, StringType()) for name in ("srcaddr", "bytes")])
HEADER, ROW = "version srcaddr dstaddr bytes", "2 10.0.0.1 10.0.0.2 7"
LINES = 200_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as made:
        yield made


@pytest.fixture
def sees(monkeypatch):
    """Takes the environment of a task; file systems are made anew."""

    def see(environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        filesystem.cache_clear()

    yield see
    filesystem.cache_clear()


def fault(place):
    """The kind and the reason of a listing that fails; law: no secret is shown."""
    start = time.monotonic()
    (row,) = listed_rows(place)
    assert time.monotonic() - start < 60
    assert not any(
        value in row["reason"] for value in s3_environment("").values() if len(value) > 9
    )
    return row["fault"], row["reason"]


def read(place, **changes):
    """The rows of a listed file."""
    (row,) = listed_rows(place)
    split = {"file": 0, "name": None, "path": row["place"], "size": row["size"]}
    split |= {"modified_s": row["modified_s"], "part": 0, "parts": 1} | changes
    return SplitReader(needed=NEEDED, coded=(), work=iter)([pa.RecordBatch.from_pylist([split])])


def test_a_file_is_listed_and_read_in_parts(server, sees):
    sees(server.environment)
    text = f"{HEADER}\n" + f"{ROW}\n" * LINES
    server.put("texts", {"a b/c%20é.log": text.encode(), "_SUCCESS": b"", "z.log.gz": b""})
    server.put("texts", {"z.log.gz": gzip.compress(text.encode())})
    plain, packed = listed_rows("s3a://texts/")
    assert (plain["place"], plain["size"]) == ("s3a://texts/a b/c%20é.log", len(text.encode()))
    for place, parts in ((plain["place"], 3), (packed["place"], 1)):
        rows = [
            batch.num_rows for part in range(parts) for batch in read(place, part=part, parts=parts)
        ]
        assert sum(rows) == LINES


def test_parquet_is_read_by_row_groups(server, sees, tmp_path):
    sees(server.environment)
    rows = pa.table({"srcaddr": ["10.0.0.1"] * 1000, "bytes": [str(n) for n in range(1000)]})
    parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=100)
    content = (tmp_path / "a.parquet").read_bytes()
    server.put("columns", {"a.parquet": content, "cut.parquet": content[:-20]})
    found = [
        value
        for part in (0, 1)
        for batch in read("s3://columns/a.parquet", part=part, parts=2)
        for value in batch.column("bytes").to_pylist()
    ]
    assert sorted(map(int, found)) == [*range(1000)]
    with pytest.raises(UnreadableFile, match=r"s3://columns/cut.parquet: ArrowInvalid"):
        [*read("s3://columns/cut.parquet")]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("s3://nowhere/flows/", "there is no bucket nowhere"),
        ("s3://there/nothing/*.log", "no file or folder is there"),
    ],
)
def test_what_is_missing(server, sees, place, reason):
    sees(server.environment)
    server.put("there", {"a.log": b"x"})
    assert fault(place) == ("missing", reason)


def test_a_bucket_of_a_name_alone_that_does_not_exist(server, sees):
    sees(server.environment)
    kind, reason = fault("s3://nowhere")
    assert kind == "failed"
    assert "NO_SUCH_BUCKET" in reason


def test_a_bucket_without_rights(sees, tmp_path):
    with S3Server(tmp_path, free_requests=0) as guarded:
        sees(guarded.environment)
        kind, reason = fault("s3a://lake/")
    assert kind == "denied", reason


def test_a_listing_that_fails_half_way(server, sees):
    server.put("many", {f"{number:04}.log": b"x" for number in range(1010)})
    pages = []

    def second_page_fails(method, path):
        if method == "GET" and "list-type=2" in path:
            pages.append(path)
            return 500 if "continuation-token" in path else None
        return None

    with in_front_of(server, second_page_fails) as url:
        sees(s3_environment(url))
        kind, reason = fault("s3://many/")
    assert kind == "failed"
    assert "ListObjectsV2" in reason
    assert len(pages) >= 2
    sees(server.environment)
    assert len([*listed_rows("s3://many/")]) == 1010


def test_an_endpoint_that_does_not_answer(sees):
    sees(s3_environment(f"http://{HOST}:{free_ports(1)[0]}"))
    kind, reason = fault("s3://lake/flows/")
    assert kind == "failed"
    assert "NETWORK_CONNECTION" in reason


@pytest.mark.parametrize("change", ["deleted", "replaced", "cut"])
@pytest.mark.parametrize("moment", ["before", "while"])
def test_an_object_that_changes_after_it_was_listed(server, sees, change, moment):
    sees(server.environment)
    bucket, text = f"{change}-{moment}", f"{HEADER}\n" + f"{ROW}\n" * LINES * 3
    server.put(bucket, {"a.log": text.encode()})
    batches = read(f"s3://{bucket}/a.log")
    if moment == "while":
        assert next(batches).num_rows > 0
    time.sleep(1.1)  # the time of an object has whole seconds
    if change == "deleted":
        server.store.delete_file(f"{bucket}/a.log")
    else:
        content = text if change == "replaced" else text[: len(text) // 2]
        server.put(bucket, {"a.log": content.encode()})
    with pytest.raises(UnreadableFile, match=rf"^s3://{bucket}/a.log: ") as caught:
        list(batches)
    assert SECRET not in str(caught.value)


def test_a_folder_is_removed_with_all_that_is_in_it_and_nothing_else(server, sees):
    sees(server.environment)
    server.put("tables", {"runs/1/_sum/a": b"x", "runs/1/b": b"x", "runs/12/c": b"x"})
    assert remove_folder("s3a://tables/runs/1") is None
    assert server.keys("tables") == ["runs/12/c"]
    assert remove_folder("s3a://tables/runs/1") is None, "a folder that is gone is removed"
    assert "does not open" in remove_folder("s3a://tables"), "law broken: a bucket is removed"
    assert server.keys("tables") == ["runs/12/c"]


def test_the_secrets_are_those_of_the_environment():
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= {*SECRETS} & {*s3_environment("")}
