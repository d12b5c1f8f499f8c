"""Sums that tasks compute equal those of row-level facts, and every row of a file is read once."""

from __future__ import annotations

import gzip
import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import INGRESS, NO_DATA, NOON, ROW, UNLOGGED, answer, buckets_of, fleet_of
from rackwise.core.errors import InvalidFlows
from rackwise.core.fleet import FleetOptions, FlowFormat
from rackwise.pipeline.ingest.sums import raw_bytes
from small_fleets import DEMO_READERS, cluster
from truths import write_fleet

pytestmark = pytest.mark.spark

NUMBERS = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")
NEXT_DAY = str(NOON + 86_400)
SCENES = [
    {},
    INGRESS,
    {**INGRESS, "srcaddr": UNLOGGED, "bytes": "500"},
    {**INGRESS, "start": NEXT_DAY, "end": NEXT_DAY},
    answer(bytes="700"),
    answer(interface_id="eni-k", flow_direction="ingress", bytes="700"),
    {**INGRESS, "bytes": "60", "action": "REJECT"},
    {"dstport": "443", "bytes": "77"},
    {"bytes": str(2**63 - 5000)},
    {"end": "0"},
    {"srcaddr": "nowhere"},
    {**INGRESS, **NO_DATA, "log_status": "NODATA"},
]
"""Kept, duplicates of the other side, other reasons, malformed rows, and a great number."""


def vpc_table(rows, *, texts=False):
    """A flow log; numbers as AWS writes them, or as text."""
    columns = {}
    for name in ROW:
        values = [(ROW | row)[name] for row in rows]
        is_number = name in NUMBERS and not texts
        if is_number:
            values = [None if value == "-" else int(value) for value in values]
        columns[name] = pa.array(values, pa.int64() if is_number else pa.string())
    return pa.table(columns)


def silver(spark, fleet, buckets, folder, paths, form="vpc", **options):
    """What `write_silver` has written from flow files, with facts: the folder and the outcomes."""
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.formats import input_format, read_bronze
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.silver import write_silver

    files = flow_files(spark, [str(path) for path in paths])
    chosen = FactOptions(**options)
    given = input_format(form).fact_input(read_bronze(spark, files, form), fleet, buckets, chosen)
    return write_silver(
        SessionEngine(spark),
        given,
        fleet,
        chosen,
        format=form,
        files=files,
        folder=str(folder),
        keeps_facts=True,
    )


def check_sums(folder, members=frozenset()):
    """The table of sums is the table of facts, added up; `members`: addresses that it keeps."""
    keys = [
        name
        for name in parquet.read_schema(next((folder / "flow_sum").glob("*.parquet"))).names
        if name not in {"rows", "bytes", "client_ip"}
    ]
    wanted, found = Counter(), Counter()
    for row in parquet.read_table(folder / "flow_fact").to_pylist():
        ip = row["client_ip"] if row["client_ip"] in members else None
        wanted[(*(row[name] for name in keys), ip)] += np.array([1, row["bytes"]], dtype=object)
    for row in parquet.read_table(folder / "flow_sum").to_pylist():
        key = (*(row[name] for name in keys), row["client_ip"])
        assert key not in found, "a key has one row"
        found[key] = (row["rows"], row["bytes"])
    assert {key: tuple(value) for key, value in wanted.items()} == dict(found)
    assert wanted


@pytest.mark.connect
@pytest.mark.parametrize("side", ["auto", "egress", "broker"])
@pytest.mark.parametrize("texts", [False, True])
def test_sums_are_those_of_the_facts(spark, tmp_path, side, texts):
    """The rows of a flow are in several files, so no task sees both sides."""
    fleet = fleet_of()
    for number in range(4):
        table = vpc_table(SCENES[number::4], texts=texts)
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    out = tmp_path / "out"
    made = silver(spark, fleet, buckets_of(fleet), out, [tmp_path], side=side)
    check_sums(out)
    reasons = {reason: rows for reason, rows, _ in made.outcomes.by_reason}
    duplicates = {"auto": 2, "egress": 4, "broker": 3}[side]
    assert reasons == {
        "kept": 7 - duplicates,
        "duplicate-side": duplicates,
        "malformed:end": 1,
        "malformed:srcaddr": 1,
        **dict.fromkeys(("nodata", "not-kafka", "rejected"), 1),
    }
    bad = parquet.read_table(out / "quarantine").to_pylist()
    places = {(row["source_file"].rpartition("/")[2], row["row_offset"]) for row in bad}
    assert places == {("1.parquet", 2), ("2.parquet", 2)}
    assert all(row["raw"] for row in bad)


def text_of(rows):
    """A flow log as text; `-` for a value that is missing."""
    header = " ".join(name.replace("_", "-") for name in ROW)
    return (
        "\n".join(
            [header, *(" ".join(value or "-" for value in (ROW | row).values()) for row in rows)]
        )
        + "\n"
    )


@pytest.fixture(scope="module")
def outcomes_of_parquet(spark, tmp_path_factory):
    """The outcomes of the scenes in Parquet files."""
    folder = tmp_path_factory.mktemp("parquet")
    fleet = fleet_of()
    for number in range(4):
        parquet.write_table(vpc_table(SCENES[number::4]), folder / f"{number}.parquet")
    return silver(spark, fleet, buckets_of(fleet), folder / "out", [folder]).outcomes


@pytest.mark.parametrize("reader", ["tasks", "Spark"])
def test_sums_of_text_are_those_of_parquet(
    spark, tmp_path, monkeypatch, outcomes_of_parquet, reader
):
    if reader == "Spark":
        monkeypatch.setattr("rackwise.pipeline.ingest.files.OTHER_CODECS", ("",))
    fleet = fleet_of()
    logs, out = (tmp_path / name for name in ("logs", "out"))
    logs.mkdir()
    for number in range(4):
        text = text_of(SCENES[number::4]).encode()
        name = f"{number}.log.gz" if number % 2 else f"{number}.log"
        (logs / name).write_bytes(gzip.compress(text) if number % 2 else text)
    with (logs / "2.log").open("a") as file:
        file.write("\n \nshort\n" + text_of([]))
    (logs / "broken.log.gz").write_bytes(gzip.compress(b"x" * 100)[:-3])
    made = silver(spark, fleet, buckets_of(fleet), out, [logs])
    check_sums(out)
    reasons = {reason: (rows, size) for reason, rows, size in made.outcomes.by_reason}
    more = {f"malformed:{name}": (1, None) for name in ("columns", "header", "file")}
    assert reasons == more | {
        reason: (rows, size) for reason, rows, size in outcomes_of_parquet.by_reason
    }
    bad = parquet.read_table(out / "quarantine").to_pylist()
    assert {
        (row["source_file"].rpartition("/")[2], row["row_offset"], row["reason"]) for row in bad
    } == {
        ("1.log.gz", 4, "malformed:end"),
        ("2.log", 4, "malformed:srcaddr"),
        ("2.log", 7, "malformed:columns"),
        ("2.log", 8, "malformed:header"),
        ("broken.log.gz", 0, "malformed:file"),
    }


def test_a_row_without_a_direction_brings_the_search_for_sides(spark, tmp_path):
    """Only the rows of a Parquet file can tell whether all of them have a direction."""
    fleet = fleet_of()
    rows = [{**one, "flow_direction": None} for one in (ROW, INGRESS | {"dstaddr": ROW["dstaddr"]})]
    parquet.write_table(vpc_table([*rows, {"bytes": "3"}]), tmp_path / "a.parquet")
    made = silver(spark, fleet, buckets_of(fleet), tmp_path / "out", [tmp_path / "a.parquet"])
    assert [(name, rows) for name, rows, _ in made.outcomes.by_reason] == [
        ("kept", 2),
        ("duplicate-side", 1),
    ]
    check_sums(tmp_path / "out")


@pytest.mark.connect
def test_a_higher_revision_replaces_the_window_in_all_files(spark, tmp_path):
    """Tasks find it in a first pass over the files, and Spark in a join for the facts."""
    fleet = fleet_of()
    later = NOON + 60
    for number, rows in enumerate(
        (
            [("e1", NOON, None), ("e1", NOON, 2), ("e2", NOON, 0), (None, NOON, 9)],
            [("e1", NOON, 1), ("e1", later, 0), ("e1", None, 9), ("e2", NOON, -1)],
            [("e2", NOON, 1), ("e1", NOON, 2), (None, NOON, 0), ("e3", NOON, -1)],
        )
    ):
        emitters, starts, revisions = zip(*rows, strict=True)
        columns = {
            "cluster": ["demo"] * 4,
            "window_start": pa.array(starts, pa.timestamp("s", "UTC")),
            "kind": ["fetch"] * 4,
            "broker_id": [1] * 4,
            "bytes": [10**number] * 4,
            "emitter": emitters,
            "revision": pa.array(revisions, pa.int32()),
        }
        parquet.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    out = tmp_path / "out"
    made = silver(spark, fleet, buckets_of(fleet), out, [tmp_path], "canonical")
    check_sums(out)
    assert made.outcomes.by_reason == (
        ("kept", 7, 2 + 10 + 400),
        ("malformed:window_start", 1, 10),
        ("superseded", 4, 2 + 20),
    )


def test_clients_keep_their_address_where_members_are(spark, tmp_path):
    from rackwise.pipeline.columns.addresses import address_number

    readers = cluster(groups=(DEMO_READERS,))
    fleet = fleet_of({"demo.json": readers})
    addresses = sorted({one.address for one in readers.groups[0].members})
    rows = [answer(dstaddr=address) for address in (*addresses, UNLOGGED, UNLOGGED)]
    parquet.write_table(vpc_table(rows), tmp_path / "a.parquet")
    silver(spark, fleet, buckets_of(fleet), tmp_path / "out", [tmp_path / "a.parquet"])
    check_sums(tmp_path / "out", members={address_number(text)[0] for text in addresses})


def test_a_task_has_one_sum_whatever_the_times_of_the_rows(spark, tmp_path):
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.formats import input_format, read_bronze
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.sums import SUM, sums_by_task

    rows = [{"start": str(NOON + second), "end": str(NOON + 60)} for second in range(50)]
    parquet.write_table(vpc_table(rows), tmp_path / "a.parquet")
    files = flow_files(spark, [str(tmp_path)])
    fleet = fleet_of()
    bronze = read_bronze(spark, files, "vpc")
    given = input_format("vpc").fact_input(bronze, fleet, buckets_of(fleet), FactOptions())
    found = sums_by_task(SessionEngine(spark), given, fleet, FactOptions(), files)
    (row,) = found.where("what", SUM).frame().collect()
    assert (row["rows"], row["low"], row["first"], row["last"]) == (50, 50_000, NOON, NOON + 60)


@pytest.mark.long
@pytest.mark.parametrize("form", list(FlowFormat))
def test_generated_files_have_the_same_sums(spark, tmp_path, form):
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.subnet_racks import subnet_buckets
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.formats import input_format, read_bronze
    from rackwise.pipeline.ingest.sums import member_places

    options = FleetOptions(
        seed=7,
        brokers=6,
        topics=8,
        flows=4000,
        clusters=2,
        days=2,
        looks=3,
        bad_rows=0.05,
        ipv6=0.2,
        flow_format=form,
    )
    _, request = write_fleet(options, tmp_path)
    read_as = request.flow_format
    rows = read_bronze(spark, flow_files(spark, request.flows), read_as)
    found = input_format(read_as).names(rows)
    fleet = fleet_of_snapshots(
        request.snapshots,
        racks=[*found.racks, *(subnet.rack for subnet in request.subnets)],
        groups=found.groups,
        topics=found.topics,
    )
    buckets = subnet_buckets(request.subnets, fleet.codes.racks)
    out = tmp_path / "out"
    silver(spark, fleet, buckets, out, request.flows, read_as, clients=request.clients)
    check_sums(out, members={ip for _, ip in member_places(fleet)})


def splits_of(spark, folder):
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.splits import splits

    files = flow_files(spark, [str(folder)])
    return splits(spark, files, [file.uri for file in files]).toArrow()


def test_every_row_of_every_part_of_a_file_is_read_once(spark, tmp_path, monkeypatch):
    from rackwise.pipeline.ingest import splits as module
    from rackwise.pipeline.schemas import BRONZE_VPC

    monkeypatch.setattr(module, "SPLIT_BYTES", 2000)
    rows = [{"bytes": str(number)} for number in range(1000)]
    parquet.write_table(vpc_table(rows), tmp_path / "large.parquet", row_group_size=90)
    parquet.write_table(vpc_table([{"bytes": "5"}]), tmp_path / "small one.parquet")
    table = splits_of(spark, tmp_path)
    parts = Counter(table["file"].to_pylist())
    assert parts[0] > 2
    reader = module.SplitReader(needed=BRONZE_VPC, coded=("srcaddr",), work=iter)
    read = pa.Table.from_batches(reader(table.to_batches()))
    found = sorted(
        zip(*(read[name].to_pylist() for name in ("file", "row_offset", "bytes")), strict=True)
    )
    assert found == [*((0, number, number) for number in range(1000)), (1, 0, 5)]


def test_columns_are_those_of_spark_whatever_their_form(tmp_path):
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    from rackwise.pipeline.ingest.splits import SplitReader
    from rackwise.pipeline.schemas import LONGEST_TEXT

    long = "é" * (LONGEST_TEXT + 5)
    path = tmp_path / "a.parquet"
    columns = {
        "Interface-Id": pa.array(["a", "a"]).dictionary_encode(),
        "action": pa.array([long, None], pa.large_string()),
        "window_start": pa.array([1_500, None], pa.timestamp("ms", "Europe/Paris")),
        "unknown": pa.array([1, 2]),
    }
    parquet.write_table(pa.table(columns), path)
    names = ("interface_id", "action", "window_start", "bytes")
    needed = StructType(
        [StructField(name, StringType() if name != "bytes" else LongType()) for name in names]
    )
    split = {"file": None, "name": "file:/a", "path": str(path), "size": path.stat().st_size}
    split |= {"modified_s": None, "part": 0, "parts": 1}
    reader = SplitReader(needed=needed, coded=("action",), work=iter)
    (batch,) = reader([pa.RecordBatch.from_pylist([split])])
    assert batch.to_pydict() == {
        "interface_id": ["a", "a"],
        "action": [long[:LONGEST_TEXT], None],
        "window_start": [1_500_000, None],
        "file": [None, None],
        "source_file": ["file:/a", "file:/a"],
        "row_offset": [0, 1],
    }


@pytest.mark.parametrize("texts", [False, True], ids=["by-tasks", "by-spark"])
def test_a_damaged_file_is_named_in_one_line(spark, tmp_path, texts):
    """Its footer is sound, so only those who read the pages notice it."""
    path = tmp_path / "flows" / "damaged.parquet"
    path.parent.mkdir()
    if texts:  # text beside Parquet: Spark reads both
        line = " ".join(ROW[name] or "-" for name in ROW)
        (path.parent / "a.log").write_text(f"{' '.join(ROW).replace('_', '-')}\n{line}\n")
    parquet.write_table(vpc_table([{"bytes": str(number)} for number in range(5000)]), path)
    content = bytearray(path.read_bytes())
    content[300:700] = bytes(byte ^ 0x5A for byte in content[300:700])
    path.write_bytes(content)
    fleet = fleet_of()
    with pytest.raises(InvalidFlows, match=r"got a damaged one: .*damaged\.parquet") as caught:
        silver(spark, fleet, buckets_of(fleet), tmp_path / "out", [path.parent])
    assert caught.value.hint == "download the file again, or omit it"
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("values", "total"),
    [
        (["1", "007", "-", None, "x", "-3", "1.0", " 1", ""], 8),
        ([str(2**63 - 1), str(2**63), "9" * 30, "0" * 30 + "4"], 2**63 + 3),
        ([5, -2, None, 2**40], 2**40 + 5),
        ([], 0),
    ],
)
def test_bytes_are_counted_apart_from_the_facts(values, total):
    kind = pa.int64() if any(isinstance(value, int) for value in values) else pa.string()
    high, low = raw_bytes(pa.array(values, kind))
    assert (high << 32) + low == total


ROW_OF_TEXT = "2 1 eni-1 10.0.0.1 10.0.0.2 5 9092 6 1 5 1700000000 1700000060 ACCEPT OK\n"


@pytest.mark.parametrize("size", [60, 7000, None])
def test_a_text_file_that_changes_while_it_is_read_is_rejected(tmp_path, size):
    from rackwise.pipeline.ingest.splits import SplitReader, UnreadableFile
    from rackwise.pipeline.schemas import BRONZE_VPC

    path = tmp_path / "a.log"
    head = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes"
    path.write_text(head + " start end action log-status\n" + ROW_OF_TEXT * 4)
    split = {"file": 0, "name": None, "path": str(path), "size": path.stat().st_size}
    split |= {"modified_s": None, "part": 0, "parts": 1}
    reader = SplitReader(needed=BRONZE_VPC, coded=(), work=iter)
    rows = reader([pa.RecordBatch.from_pylist([split])])
    assert next(rows)["bytes"].to_pylist() == ["5"] * 4
    if size is None:
        path.unlink()
    else:
        os.truncate(path, size)
    with pytest.raises(UnreadableFile, match=r"ChangedFile|FileNotFoundError"):
        next(rows)


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        ("ChangedFile: 9 bytes are missing", "run the command again when nothing writes"),
        ("OSError: AWS Error NO_SUCH_KEY during GetObject", "run the command again when nothing"),
        ("OSError: AWS Error RESOURCE_NOT_FOUND during GetObject operation:", "run the command"),
        ("OSError: Couldn't deserialize thrift", "download the file again, or omit it"),
    ],
)
def test_the_hint_of_a_file_that_is_gone_is_not_that_of_a_damaged_one(failure, hint):
    from rackwise.pipeline.ingest.splits import UnreadableFile, with_named_damage

    with pytest.raises(InvalidFlows) as caught, with_named_damage(UnreadableFile):
        raise UnreadableFile(f"s3://lake/a.log: {failure}")
    assert caught.value.hint.startswith(hint)
