"""Canonical rows: names to codes, the order of racks, and each way a row can be malformed."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import BROKER, NOON, buckets_of, fleet_of
from rackwise.core.errors import InvalidRack
from rackwise.core.racks import Rack
from small_fleets import DEMO_READERS, cluster, group

pytestmark = pytest.mark.spark

AT = datetime.fromtimestamp(NOON, UTC)
ROW = {
    "cluster": "demo",
    "window_start": AT,
    "window_s": 60,
    "kind": "produce",
    "client_address": "10.1.5.20",
    "client_id": "web-1",
    "client_group": "readers",
    "client_rack": "/eu/b",
    "broker_id": 1,
    "peer_broker_id": None,
    "topic": "orders",
    "partition": 2,
    "bytes": 1000,
    "packets": 7,
    "source": "otlp",
    "emitter": "host/1",
    "revision": 0,
}
CLIENTS = {
    "client_id": {"web-1": Rack("/eu/a"), "web-2": Rack("/eu/a")},
    "client_group": {"readers": Rack("/eu/b"), "writers": Rack("/eu/b")},
}
A, B, C = 2, 3, 4
NOWHERE = {"client_rack": None, "client_id": None, "client_group": None}
FAULTS = [
    ({"cluster": None}, "cluster"),
    ({"cluster": "nobody"}, "cluster"),
    ({"window_start": None}, "window_start"),
    ({"window_start": datetime(1969, 12, 31, 23, tzinfo=UTC)}, "window_start"),
    ({"window_start": datetime(2149, 6, 7, tzinfo=UTC)}, "window_start"),
    ({"window_s": -1}, "window_s"),
    ({"window_s": 86_401}, "window_s"),
    ({"kind": "eat"}, "kind"),
    ({"kind": None}, "kind"),
    ({"client_address": "10.0.0.256"}, "client_address"),
    ({"client_rack": "/eu//a"}, "client_rack"),
    ({"client_rack": "/1" * 17}, "client_rack"),
    ({"client_rack": "a\tb"}, "client_rack"),
    ({"client_rack": ""}, "client_rack"),
    ({"broker_id": 9}, "broker_id"),
    ({"broker_id": None}, "broker_id"),
    ({"peer_broker_id": 9}, "peer_broker_id"),
    ({"partition": -1}, "partition"),
    ({"bytes": -5}, "bytes"),
    ({"bytes": None}, "bytes"),
    ({"packets": -1}, "packets"),
    ({"source": "rumour"}, "source"),
]
RACKS = [
    ({}, B),
    ({"client_rack": None}, A),
    ({"client_rack": "/mars"}, A),
    ({"client_rack": None, "client_id": "web-9"}, B),
    (NOWHERE | {"client_address": "10.1.0.3"}, C),
    (NOWHERE, C),
    (NOWHERE | {"client_address": "192.168.0.1"}, 0),
    (NOWHERE | {"client_address": None}, 0),
    (NOWHERE | {"client_address": "2001:db8::7"}, B),
    ({"kind": "replicate", "peer_broker_id": 3}, 0),
]
MORE = [
    {"kind": "fetch", "topic": None, "partition": None, "client_group": "strangers"},
    {"kind": "other", "topic": "odd", "window_s": None, "packets": None, "source": None},
    {"kind": "replicate", "broker_id": 2},
    {"window_start": AT - timedelta(days=1)},
    {"window_start": AT + timedelta(days=1)},
    {"broker_id": 4},
]


@pytest.fixture(scope="module")
def fleet():
    silent = group("silent", ("m9", "/eu/a", None, [("orders", 0)]))
    dead = cluster(topics={"orders": ((1, 2), (2, 4))}, groups=[DEMO_READERS, silent])
    return fleet_of({"demo.json": dead})


def rows_of(spark, rows):
    from rackwise.pipeline.schemas import BRONZE_INPUT

    place = {"principal": None, "outcome": None, "raw": None, "source_file": "f"}
    whole = [ROW | place | {"row_offset": n} | row for n, row in enumerate(rows)]
    names = BRONZE_INPUT.fieldNames()
    return spark.createDataFrame([tuple(row[n] for n in names) for row in whole], BRONZE_INPUT)


def flow_facts_of(fleet, rows, **options):
    from rackwise.pipeline.ingest.formats import flow_facts

    return flow_facts(
        rows, fleet, buckets_of(fleet), format="canonical", clients=CLIENTS, **options
    )


def collect_facts(spark, fleet, rows, **options):
    facts = flow_facts_of(fleet, rows_of(spark, rows), **options)
    return sorted(facts.collect(), key=lambda fact: fact.row_offset)


@pytest.fixture(scope="module")
def facts(spark, fleet):
    rows = [*(row for row, _ in FAULTS), *(row for row, _ in RACKS), *MORE]
    return collect_facts(spark, fleet, rows, days=(date(2026, 10, 31), date(2026, 11, 1)))


@pytest.mark.parametrize("place", range(len(FAULTS)), ids=lambda place: f"{FAULTS[place][0]}")
def test_a_malformed_row_names_its_first_bad_column(facts, place):
    row, column = FAULTS[place]
    assert facts[place].reason == f"malformed:{column}"
    assert facts[place].bytes == (None if "bytes" in row else 1000)
    assert '"topic":"orders"' in facts[place].raw


@pytest.mark.connect
def test_columns_that_no_file_has_are_null_in_all_rows(spark, fleet):
    from rackwise.pipeline.ingest.names import FoundNames, find_names
    from rackwise.pipeline.schemas import FLOW_INPUT_REQUIRED

    without = {name: None for name in ROW if name not in FLOW_INPUT_REQUIRED}
    rows = rows_of(spark, [without, without | {"broker_id": 9}, without | {"kind": "fetch"}])
    few = rows.select(*FLOW_INPUT_REQUIRED, "source_file", "row_offset")
    facts, wanted = (
        sorted(flow_facts_of(fleet, made, dedupe="exact").collect(), key=lambda f: f.row_offset)
        for made in (few, rows)
    )
    assert facts == wanted
    assert [fact.reason for fact in facts] == ["kept", "malformed:broker_id", "kept"]
    assert find_names(few) == FoundNames()


@pytest.mark.parametrize("place", range(len(RACKS)), ids=lambda place: f"{RACKS[place][0]}")
def test_the_rack_of_the_client_is_the_first_known(facts, place):
    fact = facts[len(FAULTS) + place]
    assert (fact.reason, fact.client_rack, fact.raw) == ("kept", RACKS[place][1], None)


def test_names_become_codes_and_unknown_ones_zero(facts):
    kept, fetch, other, copy, before, after, dead = [
        facts[len(FAULTS)],
        *facts[len(FAULTS) + len(RACKS) :],
    ]
    assert (kept.cluster, kept.topic, kept.partition, kept.client) == (1, 1, 2, 1)
    assert (kept.kind, kept.source, kept.quality, kept.broker, kept.broker_rack) == (0, 3, 0, 1, A)
    assert (kept.day, kept.window_s, kept.bytes, kept.packets) == (NOON // 86_400, 60, 1000, 7)
    assert kept.window_start.timestamp() == NOON
    assert (fetch.kind, fetch.topic, fetch.partition, fetch.client) == (1, 0, None, 0)
    assert (other.kind, other.topic, other.window_s, other.source) == (3, 0, 0, 6)
    assert (copy.kind, copy.broker, copy.peer, copy.peer_rack) == (2, 2, 0, 0)
    assert (before.reason, before.quality, after.reason) == ("kept", 2, "other-day")
    assert (dead.reason, dead.broker, dead.broker_rack) == ("kept", 4, 0)


HOURS = {
    "between 1969 and the first of the day": (-13, 1, (0, B)),
    "the first's": (-9, 1, (0, A)),
    "its last hour": (-3, 1, (0, A)),
    "the second's first hour": (-2, 1, (0, C)),
    "long after": (9, 1, (0, C)),
    "a broker that came later": (-5, 3, (2, C)),
    "a broker that came later, in a covered hour": (-1, 3, (0, C)),
    "a broker that left": (3, 2, (2, B)),
}


def test_racks_of_brokers_are_those_of_the_latest_snapshot_at_or_before_the_hour(spark):
    seen = {
        "1969-01-01T00:00:00Z": {1: "/eu/a"},
        "1969-06-01T00:00:00Z": {1: "/eu/b"},
        "2026-11-01T01:20:00Z": {1: "/eu/a", 2: "/eu/b"},
        "2026-11-01T10:00:00Z": {1: "/eu/c", 3: "/eu/c"},
    }
    files = {
        f"{n}.json": cluster(racks, {}, taken_at=at) for n, (at, racks) in enumerate(seen.items())
    }
    rows = [
        {"broker_id": id_, "window_start": AT + timedelta(hours=hour)}
        for hour, id_, _ in HOURS.values()
    ]
    copy = {"kind": "replicate", "peer_broker_id": 3, "window_start": AT - timedelta(hours=5)}
    facts = collect_facts(spark, fleet_of(files), [row | {"cluster": "demo"} for row in rows])
    assert {
        case: (fact.quality, fact.broker_rack) for case, fact in zip(HOURS, facts, strict=True)
    } == {case: wanted for case, (_, _, wanted) in HOURS.items()}
    (fact,) = collect_facts(spark, fleet_of(files), [copy])
    assert (fact.quality, fact.broker_rack, fact.peer_rack) == (2, A, C)


def test_a_replicate_row_has_its_receiver_as_peer(facts):
    fact = facts[len(FAULTS) + len(RACKS) - 1]
    assert (fact.kind, fact.broker, fact.broker_rack, fact.peer, fact.peer_rack) == (2, 1, A, 3, C)
    assert fact.client_ip is None


def test_equal_rows_count_once_with_dedupe_exact(spark, fleet):
    rows = [{}, {}, {"packets": 8}, {"bytes": -1}, {"bytes": -1}]
    reasons = [fact.reason for fact in collect_facts(spark, fleet, rows, dedupe="exact")]
    assert reasons == ["kept", "duplicate-row", "kept", "malformed:bytes", "malformed:bytes"]


def test_a_higher_revision_replaces_the_window(spark, fleet):
    later = AT + timedelta(minutes=1)
    rows = [
        ({}, "superseded"),
        ({"revision": None, "topic": "other"}, "superseded"),
        ({"revision": 1}, "superseded"),
        ({"revision": 2}, "kept"),
        ({"revision": 2, "kind": "fetch"}, "kept"),
        ({"bytes": -1}, "malformed:bytes"),
        ({"window_start": later}, "kept"),
        ({"emitter": "host/2"}, "kept"),
        ({"emitter": None}, "kept"),
        ({"emitter": None, "revision": 3}, "kept"),
    ]
    facts = collect_facts(spark, fleet, [row for row, _ in rows])
    assert [fact.reason for fact in facts] == [reason for _, reason in rows]


def test_each_name_is_listed_once(spark):
    from rackwise.pipeline.ingest.names import distinct_names

    rows = [{}, {}, {"cluster": "other", "client_rack": None, "client_group": "writers"}]
    assert {tuple(row) for row in distinct_names(rows_of(spark, rows)).collect()} == {
        ("client_rack", None, "/eu/b"),
        ("client_group", None, "readers"),
        ("client_group", None, "writers"),
        ("topic", "demo", "orders"),
        ("topic", "other", "orders"),
    }


def test_a_client_without_rack_changes_only_unknown_bytes(spark, fleet):
    """Law: the bytes of all other clients stay exactly the same."""
    from rackwise.pipeline.bill.coded_fleet import CodedFleet
    from rackwise.pipeline.bill.traffic import traffic

    nobody = NOWHERE | {"client_address": None, "bytes": 77}
    kinds = [{"kind": kind} for kind in ("produce", "fetch")]
    known = [row | kind for row, rack in RACKS[:6] for kind in kinds if rack]
    more = [*known, *(nobody | kind | {"broker_id": n} for kind in kinds for n in (1, 2, 3))]

    def sums(rows):
        facts = flow_facts_of(fleet, rows_of(spark, rows))
        kept = facts.where("reason = 'kept'").toArrow()
        moved = traffic(kept, CodedFleet.of(fleet)).to_pylist()
        assert sum(row["bytes"] for row in moved) == sum((ROW | row)["bytes"] for row in rows)
        between = Counter()
        for row in moved:
            between[row["kind"], row["from_rack"], row["to_rack"]] += row["bytes"]
        return between

    before, after = sums(known), sums(more)
    added = after - before
    assert set(added) == {(0, 0, A), (0, 0, B), (0, 0, C), (1, A, 0), (1, B, 0), (1, C, 0)}
    assert set(added.values()) == {77}
    assert before.items() <= after.items()


def test_a_client_at_the_address_of_a_broker(spark, fleet):
    fact = collect_facts(spark, fleet, [NOWHERE | {"client_address": BROKER}])[0]
    assert (fact.kind, fact.client_ip) == (0, 10 * 2**24 + 1)


def test_a_text_is_a_rack_exactly_if_core_accepts_it(spark, fleet):
    texts = ["a", "/", "a/b", "a b", "/a b", "/a/b", "/a/b/", "//", "a//", "/1" * 16, "/1" * 17]
    texts += ["", " ", "\u200b", "\x1b", "/a\n", "\u2028", "\u00a0", "z\u00fcrich", "\u6771/\u4eac"]
    found = collect_facts(spark, fleet, [{"client_rack": text} for text in texts])
    assert [(text, fact.reason) for text, fact in zip(texts, found, strict=True)] == [
        (text, "kept" if is_rack(text) else "malformed:client_rack") for text in texts
    ]


@pytest.mark.connect
@pytest.mark.parametrize("reader", ["tasks", "Spark"])
def test_no_value_of_a_file_stops_a_run(spark, fleet, tmp_path, reader):
    """Text that is not UTF-8, numbers that do not fit a fact, times beyond any calendar."""
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.ingest.files import local_files
    from rackwise.pipeline.ingest.formats import input_format, read_flows
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.names import find_names, names_by_task
    from rackwise.pipeline.ingest.silver import write_silver

    odd = [{}, {"topic": b"t\xff"}, {"cluster": b"\xff"}, {"client_address": b"10.1.0.3\xff"}]
    odd += [{"partition": 2**40}, {"broker_id": -(2**63)}, {"window_start": 2**62}]
    odd += [
        {"client_group": "g" * 5000},
        {"window_start": -(2**62)},
        {"window_s": 2**40},
        {"emitter": b"\xc3", "revision": 1},
    ]
    rows = [ROW | {"window_start": NOON * 10**6} | row for row in odd]
    parquet.write_table(
        pa.table({name: column(name, rows) for name in ROW}), tmp_path / "a.parquet"
    )

    bronze = read_flows(spark, [str(tmp_path)], "canonical")
    engine = SessionEngine(spark)
    files = local_files([str(tmp_path)]) if reader == "tasks" else ()
    found = names_by_task(engine, files, bronze.columns) if files else find_names(bronze)
    assert {name for _, name in found.topics} == {"orders", "t\ufffd"}
    assert found.groups == ("g" * 4096, "readers")
    folder = str(tmp_path / "silver")
    options = FactOptions()
    given = input_format("canonical").fact_input(bronze, fleet, buckets_of(fleet), options)
    outcomes = write_silver(
        engine, given, fleet, options, format="canonical", files=files, folder=folder
    ).outcomes
    assert {reason: rows for reason, rows, _ in outcomes.by_reason} == {
        "kept": 4,
        **{f"malformed:{name}": 1 for name in ("cluster", "client_address", "partition")},
        **{f"malformed:{name}": 1 for name in ("broker_id", "window_s")},
        "malformed:window_start": 2,
    }
    raws = [row.raw for row in spark.read.parquet(f"{folder}/quarantine").collect()]
    assert [raw for raw in raws if '"cluster":"\ufffd"' in raw]
    assert [raw for raw in raws if f'"window_start":{2**62}' in raw]


def column(name, rows):
    """The column as in a file; if it has bytes, it is text that may not be UTF-8."""
    values = [row[name] for row in rows]
    if name == "window_start":
        return pa.array(values, pa.timestamp("us", tz="UTC"))
    if not isinstance(ROW[name], str):
        return pa.array(values, pa.int64())
    texts = [v.encode() if isinstance(v, str) else v for v in values]
    return pa.array(texts, pa.binary()).view(pa.string())


def is_rack(text):
    try:
        return Rack(text).levels is not None
    except InvalidRack:
        return False
