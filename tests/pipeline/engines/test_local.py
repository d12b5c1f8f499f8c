"""The engine of this process gives what Spark gives, to the byte, or says that it cannot."""

from __future__ import annotations

import gzip
import random
import zlib
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from rackwise.adapters import files
from rackwise.core.errors import InvalidConfig, InvalidFlows, RackwiseError
from rackwise.core.fleet import FleetOptions, FlowFormat, Shape
from rackwise.core.history import StandingDay
from rackwise.core.inventory.addresses import AddressRow, canonical_address
from rackwise.core.owners import OwnerGlob, Owners
from rackwise.core.planning.plan import plan
from rackwise.core.policy import Policy, RackPolicy
from rackwise.core.racks import Rack
from rackwise.core.subnets import length_classes, rack_of
from rackwise.core.traffic import RateRow
from rackwise.pipeline.engines.local import LocalEngine, LocalFlows, LocalRows
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.ingest.files import local_files
from rackwise.pipeline.ingest.formats import input_format
from rackwise.pipeline.job import analyze_on
from rackwise.pipeline.plans import task
from rackwise.pipeline.plans.earlier import EarlierResult
from rackwise.pipeline.plans.task import Planning
from rackwise.pipeline.schemas import (
    CROSS_RACK,
    MATRIX,
    PLANNED,
    VPC_REQUIRED,
    WEIGHT,
    arrow_schema,
)
from truths import check_told, write_fleet

FLEET = FleetOptions(
    seed=6,
    brokers=6,
    topics=12,
    flows=3_000,
    clusters=2,
    days=2,
    looks=3,
    bad_rows=0.01,
    ipv6=0.1,
    shape=Shape.MESSY,
    racks=(Rack("/eu/a"), Rack("/eu/b"), Rack("/us/a")),
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A fleet with flow logs, snapshots with offsets, rates of a third of the topics, owners."""
    folder = tmp_path_factory.mktemp("fleet")
    told, request = write_fleet(FLEET, folder)
    clusters = {one.name: one.cluster for one in request.snapshots}
    topics = [(name, topic) for name in sorted(clusters) for topic in clusters[name].topics]
    rates = [
        RateRow(cluster=name, topic=topic, bytes_in_per_s=1000 + number)
        for number, (name, topic) in enumerate(topics[::3])
    ]
    parse = partial(files.parse_snapshot, where="a snapshot")
    planning = Planning(goal_name="repair", parse=parse, sealed=files.sealed_for)
    owners = Owners(topics=[OwnerGlob(glob="*1*", owner="one", line=2)])
    return told, replace(request, rates=tuple(rates), planning=planning, owners=owners)


def tables(made):
    """Name of a table -> its columns, and its rows in any order."""
    found = {}
    for folder in sorted(Path(made.tables).glob("*/*")):
        table = parquet.read_table(folder)
        rows = [sorted(row.items()) for row in table.to_pylist()]
        columns = sorted((field.name, str(field.type)) for field in table.schema)
        found[f"{folder.parent.name}/{folder.name}"] = columns, sorted(map(repr, rows))
    return found


def values(made):
    """Everything that a run returns, without the versions of what ran it."""
    summary = {**made.summary, "method": {**made.summary["method"], "versions": None}}
    csv = {
        name: (columns, [list(row) for row in rows]) for name, (columns, rows) in made.csv.items()
    }
    return summary, csv, made.files, tables(made)


def on_both_engines(spark, request, folder):
    """What Spark gives for a request. Law: this process gives the same, to the byte."""
    by_spark, by_us = (
        analyze_on(engine, replace(request, tables=str(folder / name)))
        for name, engine in (("spark", SessionEngine(spark)), ("local", LocalEngine()))
    )
    for one, other in zip(values(by_spark), values(by_us), strict=True):
        assert one == other
    return by_spark


def continued(request, made, **changes):
    """The next run into the same result."""
    before = EarlierResult(
        summary=made.summary, tables=made.tables, read=lambda path: made.files[path]
    )
    return replace(request, standing=made.days, earlier=before, **changes)


@pytest.mark.spark
@pytest.mark.classic
def test_both_engines_give_the_same_to_the_byte(spark, fleet, tmp_path):
    _, request = fleet
    found = []
    for name, engine in (("spark", SessionEngine(spark)), ("local", LocalEngine())):
        first = analyze_on(engine, replace(request, tables=str(tmp_path / name)))
        one = tuple(snapshot for snapshot in request.snapshots if "-0-" in snapshot.file)
        again = continued(request, first, snapshots=one, flows=(), tables=str(tmp_path / name))
        found.append((first, analyze_on(engine, again)))
    (by_spark, spark_again), (by_us, us_again) = found
    for one, other in zip(values(by_spark), values(by_us), strict=True):
        assert one == other
    assert us_again.summary["history"] == spark_again.summary["history"]
    for name in ("verdict", "matrix", "by_topic", "by_owner", "savings", "findings", "plans"):
        assert us_again.summary[name] == spark_again.summary[name], name


@pytest.mark.spark
@pytest.mark.classic
def test_both_engines_read_the_same_text(spark, tmp_path, monkeypatch):
    """With bad rows, a file of many parts, other line ends, a broken file, and one in Parquet."""
    monkeypatch.setattr("rackwise.pipeline.ingest.splits.SPLIT_BYTES", 20_000)
    options = replace(FLEET, looks=1, days=1)
    write_fleet(options, tmp_path / "parquet")
    _, request = write_fleet(replace(options, flow_format=FlowFormat.VPC_TEXT), tmp_path / "text")
    logs = tmp_path / "text" / "flows"
    plain = min(logs.glob("*.log"))
    assert plain.stat().st_size > 60_000
    plain.write_bytes(plain.read_bytes().replace(b"\n", b"\r\n") + b"\n \nshort\n")
    replaced, broken, *_ = sorted(logs.glob("*.log.gz"))
    replaced.unlink()
    table = min((tmp_path / "parquet" / "flows").iterdir())
    table.rename(logs / table.name)
    broken.write_bytes(broken.read_bytes()[:-5])
    made = on_both_engines(spark, request, tmp_path)
    rows = {row["reason"]: row["rows"] for row in made.summary["method"]["outcomes"]}
    assert rows["malformed:file"] == 1
    assert rows["malformed:columns"] > 1
    assert sum(rows[name] for name in rows if name.startswith("malformed:")) > 10
    assert rows["kept"] > 1_000


def send_again(folder, *, seed):
    """Give each row of canonical flows one of few windows and emitters, and often a revision."""
    draws = random.Random(seed)
    for path in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(path)
        columns = {
            "window_start": pc.floor_temporal(table["window_start"], 12, unit="hour"),
            "emitter": pa.array(draws.choices(["e1", "e2", None], k=len(table)), pa.string()),
            "revision": pa.array(draws.choices([None, 0, 1, 7], k=len(table)), pa.int32()),
        }
        for name, column in columns.items():
            table = table.set_column(table.schema.get_field_index(name), name, column)
        parquet.write_table(table, path, row_group_size=200)


@pytest.mark.spark
@pytest.mark.classic
def test_both_engines_replace_the_same_windows(spark, tmp_path):
    options = replace(FLEET, flow_format=FlowFormat.CANONICAL, looks=1, flows=1_000)
    _, request = write_fleet(options, tmp_path)
    send_again(tmp_path / "flows", seed=6)
    made = on_both_engines(spark, request, tmp_path)
    rows = {row["reason"]: row["rows"] for row in made.summary["method"]["outcomes"]}
    assert rows["superseded"] > 100
    assert rows["kept"] > 100


def of_subnets(request, folder):
    """The request with rows of the clients' addresses, by hour, in place of its subnets."""
    classes = length_classes(request.subnets)
    seen = set()
    for path in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(path)
        for name in {"srcaddr", "dstaddr", "client_address"} & {*table.column_names}:
            seen |= {*table[name].drop_null().to_pylist()}
    known = {text: canonical_address(text) for text in seen}
    racks = {at: rack_of(at, classes) for at in known.values() if at is not None}
    # Each address moves to its true rack at the first hour, and leaves at the last one.
    times = [None, *(datetime(2026, 11, day, tzinfo=UTC) for day in range(10, 30)), None]
    rows = tuple(
        AddressRow(address=at, rack=rack, start=start, end=end)
        for at, rack in sorted(racks.items())
        if rack is not None
        for start, end in pairwise(times)
    )
    return replace(request, subnets=(), addresses=rows)


@pytest.mark.parametrize("flow_format", [FlowFormat.VPC, FlowFormat.CANONICAL])
def test_a_table_of_addresses_gives_the_truth_without_subnets(tmp_path, flow_format):
    options = replace(FLEET, seed=7, looks=1, days=1, flow_format=flow_format, ipv6=0.1)
    told, request = write_fleet(options, tmp_path)
    made = analyze_on(LocalEngine(), of_subnets(request, tmp_path / "flows"))
    check_told(told, made.summary, f"{made.tables}/gold")


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.parametrize("flow_format", [FlowFormat.VPC, FlowFormat.CANONICAL])
def test_both_engines_take_the_same_racks_from_addresses_and_times(spark, tmp_path, flow_format):
    """Half of the rows name another rack, so both differ from the bill by subnets."""
    options = replace(FLEET, seed=7, looks=1, days=1, flows=1_000, flow_format=flow_format)
    _, request = write_fleet(options, tmp_path)
    given = of_subnets(request, tmp_path / "flows")
    racks = sorted({row.rack for row in given.addresses})
    draws = random.Random(3)
    rows = tuple(
        replace(row, rack=draws.choice(racks)) for row in given.addresses if draws.random() < 0.8
    )
    by_spark, by_us, by_subnet = (
        analyze_on(engine, replace(request, tables=str(tmp_path / name), addresses=addresses))
        for name, engine, addresses in (
            ("spark", SessionEngine(spark), rows),
            ("local", LocalEngine(), rows),
            ("subnets", LocalEngine(), ()),
        )
    )
    for one, other in zip(values(by_spark), values(by_us), strict=True):
        assert one == other
    assert by_us.summary["matrix"] != by_subnet.summary["matrix"]


@pytest.mark.parametrize("flow_format", [FlowFormat.VPC, FlowFormat.VPC_TEXT, FlowFormat.CANONICAL])
def test_every_total_equals_the_generated_truth(tmp_path, flow_format):
    options = replace(FLEET, seed=7, looks=1, days=1, flow_format=flow_format)
    told, request = write_fleet(options, tmp_path)
    made = analyze_on(LocalEngine(), request)
    check_told(told, made.summary, f"{made.tables}/gold")


def test_rates_of_zero_are_no_traffic(fleet, tmp_path):
    _, request = fleet
    rates = tuple(replace(rate, bytes_in_per_s=0) for rate in request.rates)
    given = replace(request, rates=rates, flows=(), parse=None, planning=None)
    made = analyze_on(LocalEngine(), replace(given, tables=str(tmp_path)))
    assert made.summary["verdict"]["bytes_total"] is None


def test_the_map_of_the_policy_gives_the_bill_of_the_paths(fleet, tmp_path):
    """Half of the brokers still have plain names; without the map their bytes are not placed."""
    _, request = fleet
    paths = {"eu-a": "/eu/a", "eu-b": "/eu/b", "us-a": "/us/a"}
    names = {path: name for name, path in paths.items()}

    def between(one):
        brokers = tuple(
            replace(each, rack=Rack(names[each.rack.text])) if each.id % 2 else each
            for each in one.cluster.brokers
        )
        cluster = replace(one.cluster, brokers=brokers)
        return replace(one, cluster=cluster, packed=zlib.compress(files.snapshot_bytes(cluster)))

    mixed = tuple(map(between, request.snapshots))
    maps = {"after": (request.snapshots, {}), "between": (mixed, paths), "unmapped": (mixed, {})}
    found = {}
    for name, (snapshots, mapped) in maps.items():
        policy = Policy(racks=RackPolicy(map=mapped))
        given = replace(request, snapshots=snapshots, policy=policy)
        found[name] = analyze_on(LocalEngine(), replace(given, tables=str(tmp_path / name)))
    after, mapped = (values(found[name]) for name in ("after", "between"))
    columns, rows = after[1].pop("plans")
    others, changed = mapped[1].pop("plans")
    differing = {
        column
        for row, other in zip(rows, changed, strict=True)
        for column, one, two in zip(columns, row, other, strict=True)
        if one != two
    }
    assert (others, differing) == (columns, {"file", "sha256"})
    assert mapped[1] == after[1]
    gold = {name for name in after[3] if "gold" in name} - {"gold/plan_summary"}
    assert {name: mapped[3][name] for name in gold} == {name: after[3][name] for name in gold}
    rules = {row["rule"] for row in found["unmapped"].summary["findings"]["by_rule"]}
    assert "rack-odd" in rules


DAY = date(2026, 11, 1)
AT_A_URI = StandingDay(cluster="a", day=DAY, tables="s3a://lake/tables/runs/1")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"tables": "s3a://lake/tables"}, "to write tables to a URI"),
        ({"billed": ("bill.csv",)}, "to read the provider's own bill"),
        ({"dedupe": "exact"}, "for --dedupe exact"),
        ({"keep": ("facts",)}, "for --keep"),
        ({"flow_format": "gcp"}, "for --flow-format gcp"),
        ({"standing": (AT_A_URI,)}, "to continue a result whose tables are at a URI"),
        (
            {"earlier": EarlierResult(summary={}, tables="s3a://lake/tables/runs/1", read=bytes)},
            "to continue a result whose tables are at a URI",
        ),
    ],
)
def test_what_only_spark_does_is_rejected_before_any_work(fleet, tmp_path, changes, what):
    request = replace(fleet[1], tables=str(tmp_path / "tables"))
    with pytest.raises(InvalidConfig, match=f"invalid --engine: expected spark {what}, got local"):
        analyze_on(LocalEngine(), replace(request, **changes))
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"flows": ("s3a://key:secret@lake/flows",)}, "--flows"),
        ({"tables": "s3a://key:secret@lake/tables"}, "--tables"),
        ({"billed": ("s3a://key:secret@lake/bill",)}, "--billed"),
    ],
)
def test_the_password_of_a_uri_is_not_printed(fleet, tmp_path, changes, option):
    request = replace(fleet[1], tables=str(tmp_path / "tables"))
    with pytest.raises(RackwiseError, match=f"invalid {option}: expected a URI without") as caught:
        analyze_on(LocalEngine(), replace(request, **changes))
    assert "secret" not in repr(vars(caught.value))


class TestFiles:
    def refused(self, fleet, tmp_path, error, path):
        request = replace(fleet[1], tables=str(tmp_path / "tables"), flows=(str(path),))
        with pytest.raises(error) as caught:
            analyze_on(LocalEngine(), request)
        assert [*tmp_path.glob("tables/runs/*")] == []
        return caught.value

    def test_text_without_a_header(self, fleet, tmp_path):
        with gzip.open(tmp_path / "a.log.gz", "wt") as file:
            file.write("version account-id\n")
        error = self.refused(fleet, tmp_path, InvalidFlows, tmp_path / "a.log.gz")
        assert error.message.startswith("expected a header line with srcaddr and dstaddr in ")

    def test_text_of_another_compression(self, fleet, tmp_path):
        (tmp_path / "a.log.bz2").write_bytes(b"BZh9")
        error = self.refused(fleet, tmp_path, InvalidConfig, tmp_path / "a.log.bz2")
        assert "expected spark to read text of other compressions than gzip" in error.message

    def test_canonical_flows_are_no_text(self, fleet, tmp_path):
        (tmp_path / "a.csv").write_text("cluster,bytes\n")
        canonical = (None, replace(fleet[1], flow_format="canonical"))
        error = self.refused(canonical, tmp_path, InvalidFlows, tmp_path / "a.csv")
        assert error.message.startswith("expected Parquet files of canonical flows, got ")

    def test_text_without_a_column(self, fleet, tmp_path):
        (tmp_path / "a.log").write_text("srcaddr dstaddr\n")
        error = self.refused(fleet, tmp_path, InvalidFlows, tmp_path / "a.log")
        assert error.message.startswith("invalid columns of ")

    def test_text_without_directions(self, fleet, tmp_path):
        """The error names the file, which is not the first one."""
        for name, more in (("a", " flow-direction"), ("b", "")):
            (tmp_path / f"{name}.log").write_text(" ".join(VPC_REQUIRED) + more + "\n")
        error = self.refused(fleet, tmp_path, InvalidConfig, tmp_path)
        assert "expected spark to read flow logs without flow_direction" in error.message
        assert error.had.endswith("/b.log")

    def test_logs_without_directions(self, fleet, tmp_path):
        _, request = write_fleet(replace(FLEET, log_version=2, looks=1), tmp_path / "two")
        error = self.refused(fleet, tmp_path, InvalidConfig, request.flows[0])
        assert "expected spark to read flow logs without flow_direction" in error.message

    def test_a_path_that_does_not_exist(self, fleet, tmp_path):
        error = self.refused(fleet, tmp_path, InvalidFlows, tmp_path / "gone")
        assert error.message.startswith("expected flow files in plain paths of this machine, got ")

    def test_a_damaged_file(self, fleet, tmp_path):
        (tmp_path / "a.parquet").write_bytes(b"PAR1 no PAR1")
        error = self.refused(fleet, tmp_path, InvalidFlows, tmp_path / "a.parquet")
        assert error.message.startswith("expected flow files that can be read, got a damaged one")

    def test_a_damaged_page_of_names(self, tmp_path):
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"topic": ["orders"] * 9}), path, compression="none")
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 40 + content[44:])
        opened = LocalFlows(
            files=local_files([str(path)]),
            format=input_format("canonical"),
            columns=frozenset({"topic"}),
        )
        with pytest.raises(
            InvalidFlows, match=r"that can be read, got a damaged one: .*a\.parquet"
        ):
            opened.names()

    def test_other_columns(self, fleet, tmp_path):
        parquet.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
        error = self.refused(fleet, tmp_path, InvalidFlows, tmp_path / "a.parquet")
        assert error.message.startswith("invalid columns of ")


class TestTables:
    def test_rows_are_written_in_folders_and_read_where_they_are_wanted(self, tmp_path):
        engine = LocalEngine()
        table = pa.table(
            {
                "cluster": ["a", "b", "a"],
                "level": pa.array([1, 1, 2], pa.int32()),
                "level_name": ["zone"] * 3,
                "from_rack": ["x"] * 3,
                "to_rack": ["y"] * 3,
                "bytes": [1, 2, None],
                "usd": pa.array([None] * 3, pa.decimal128(18, 9)),
            }
        )
        path = str(tmp_path / "matrix")
        counts = engine.write(engine.table(table, MATRIX), path, MATRIX, by=["cluster"])
        assert (counts.rows, counts.bytes) == (3, 3)
        assert sorted(each.name for each in Path(path).iterdir()) == ["cluster=a", "cluster=b"]
        wanted = table.cast(arrow_schema(MATRIX))
        kept = engine.collect(engine.read(path, MATRIX))
        assert sorted(map(str, kept.to_pylist())) == sorted(map(str, wanted.to_pylist()))
        assert len(engine.collect(engine.read(path, MATRIX, only={"cluster": {"a"}}))) == 2
        engine.write(engine.table(table.slice(0, 1), MATRIX), path, MATRIX)
        assert len(engine.collect(engine.read(path, MATRIX))) == 1, "an older table is replaced"

    def test_a_table_without_rows(self, tmp_path):
        engine = LocalEngine()
        path = str(tmp_path / "weight")
        empty = engine.table(arrow_schema(WEIGHT).empty_table(), WEIGHT)
        assert engine.write(empty, path, WEIGHT).rows == 0
        assert engine.collect(engine.read(path, WEIGHT)).schema == arrow_schema(WEIGHT)

    def test_a_table_whose_folder_is_gone_is_one_line(self, tmp_path):
        with pytest.raises(InvalidConfig, match="expected a table of an earlier run in the folder"):
            LocalEngine().read(str(tmp_path / "gone"), WEIGHT)

    def test_files_that_spark_hides_are_not_read(self, tmp_path):
        """Checkpoints of a log of Delta Lake, and a file that is not complete."""
        engine = LocalEngine()
        path = tmp_path / "_old" / "weight"
        rows = {"day": [DAY, DAY + timedelta(days=1)], "cluster": ["a", "b"]}
        table = arrow_schema(CROSS_RACK).empty_table()
        columns = [pa.array(rows.get(field.name, [None] * 2), field.type) for field in table.schema]
        table = pa.Table.from_arrays(columns, schema=table.schema)
        engine.write(engine.table(table, CROSS_RACK), str(path), CROSS_RACK, by=["day"])
        for name in ("_delta_log/0010.checkpoint.parquet", ".b.parquet", "day=x/_part.parquet"):
            (path / name).parent.mkdir(exist_ok=True)
            parquet.write_table(pa.table({"txn": [1]}), path / name)
        found = engine.collect(engine.read(str(path), CROSS_RACK))
        assert found.select([*rows]).to_pydict() == rows

    def test_more_rows_are_a_file_more_and_none_is_incomplete(self, tmp_path):
        engine = LocalEngine()
        table = arrow_schema(WEIGHT).empty_table()
        for _ in range(2):
            engine.append(engine.table(table, WEIGHT), str(tmp_path), WEIGHT)
        names = sorted(each.name for each in tmp_path.iterdir())
        assert names == ["part-00000.parquet", "part-00001.parquet"]
        broken = LocalRows(schema=table.schema, batches=partial(unreadable, table))
        with pytest.raises(OSError, match="no more"):
            engine.append(broken, str(tmp_path), WEIGHT)
        assert sorted(each.name for each in tmp_path.iterdir()) == names


def unreadable(table):
    yield from table.to_batches()
    raise OSError("no more")


class TestAppend:
    ROWS = StructType([StructField("name", StringType()), StructField("file", BinaryType())])

    def test_a_batch_is_a_row_group_and_a_file_in_a_cell_has_no_statistics(self, tmp_path):
        """Parquet would hold the file several times to compare it with others."""
        schema = arrow_schema(self.ROWS)
        batches = [
            pa.RecordBatch.from_pylist([{"name": name, "file": bytes(1000)}], schema)
            for name in "ab"
        ]
        LocalEngine().append(
            LocalRows(schema=schema, batches=lambda: iter(batches)), str(tmp_path), self.ROWS
        )
        (path,) = tmp_path.iterdir()
        footer = parquet.ParquetFile(path).metadata
        assert footer.num_row_groups == 2
        name, file = (footer.row_group(0).column(place) for place in range(2))
        assert (name.has_dictionary_page, name.is_stats_set) == (True, True)
        assert (file.has_dictionary_page, file.is_stats_set) == (False, False)
        assert parquet.read_table(path).equals(pa.Table.from_batches(batches))

    def test_rows_that_cannot_be_computed_leave_no_file(self, tmp_path):
        def batches():
            yield pa.RecordBatch.from_pylist([{"name": "a"}], arrow_schema(self.ROWS))
            raise LookupError

        rows = LocalRows(schema=arrow_schema(self.ROWS), batches=batches)
        with pytest.raises(LookupError):
            LocalEngine().append(rows, str(tmp_path), self.ROWS)
        assert [*tmp_path.iterdir()] == []

    def test_all_columns_of_a_plan_but_the_file_keep_their_statistics(self, tmp_path):
        rows = pa.table([[None]] * len(PLANNED), schema=arrow_schema(PLANNED))
        LocalEngine().append(LocalEngine().table(rows, PLANNED), str(tmp_path), PLANNED)
        (path,) = tmp_path.iterdir()
        group = parquet.ParquetFile(path).metadata.row_group(0)
        columns = [group.column(place) for place in range(group.num_columns)]
        without = [one.path_in_schema for one in columns if not one.is_stats_set]
        assert without == ["file"]


@pytest.mark.parametrize("names", ["aabb", "abab", "ba", ""])
def test_rows_of_one_file_are_in_order_and_equal_ones_keep_theirs(tmp_path, names):
    schema = StructType([StructField("name", StringType()), StructField("at", LongType())])
    rows = pa.table([list(names), range(len(names))], schema=arrow_schema(schema))
    engine = LocalEngine()
    engine.write(engine.table(rows, schema), str(tmp_path / "t"), schema, one_file=("name",))
    wanted = sorted(rows.to_pylist(), key=lambda row: row["name"])
    assert parquet.read_table(tmp_path / "t").to_pylist() == wanted


def test_a_plan_has_the_partitions_of_the_fleet(fleet, monkeypatch, tmp_path):
    """A million partitions are in memory once."""
    _, request = fleet
    seen = []

    def seen_plan(cluster, *args, **options):
        seen.append(cluster.partitions)
        return plan(cluster, *args, **options)

    monkeypatch.setattr(task, "plan", seen_plan)
    analyze_on(LocalEngine(), replace(request, flows=(), tables=str(tmp_path)))
    known = [one.cluster.partitions for one in request.snapshots]
    assert seen
    assert all(any(table is one for one in known) for table in seen)


def test_a_plan_for_which_memory_is_exhausted_says_so_and_what_to_do(fleet, monkeypatch, tmp_path):
    _, request = fleet

    def exhausted(*_args, **_options):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(task, "plan", exhausted)
    made = analyze_on(LocalEngine(), replace(request, flows=(), tables=str(tmp_path)))
    rows = made.summary["plans"]["rows"]
    assert {(row["status"], row["reason"]) for row in rows} == {
        ("failed", "memory exhausted: std::bad_alloc")
    }
    assert all("analyze with --no-plans" in row["hint"] for row in rows)


def test_clusters_are_in_order_and_so_are_the_rows_of_each():
    engine = LocalEngine()
    schema = StructType([StructField("cluster", StringType()), StructField("n", LongType())])
    left = pa.table({"cluster": ["b", "a", "b", "c", "a"], "n": [5, 4, 3, 2, 1]})
    right = pa.table({"cluster": ["d", "a"], "n": [7, 8]})
    seen = []

    def work(own, others):
        seen.append((own.to_pydict(), others.to_pydict()))
        return own

    parts = [engine.table(part, schema) for part in (left.slice(0, 2), left.slice(2))]
    sides = engine.union(parts), engine.table(right, schema)
    made = engine.collect(engine.by_cluster(*sides, work, schema, tasks=1))
    assert made.to_pydict() == {"cluster": ["a", "a", "b", "b", "c"], "n": [4, 1, 5, 3, 2]}
    none = {"cluster": [], "n": []}
    assert seen == [
        ({"cluster": ["a", "a"], "n": [4, 1]}, {"cluster": ["a"], "n": [8]}),
        ({"cluster": ["b", "b"], "n": [5, 3]}, none),
        ({"cluster": ["c"], "n": [2]}, none),
        (none, {"cluster": ["d"], "n": [7]}),
    ]
