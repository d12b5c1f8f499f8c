"""Network metrics of OBI: the side of each point, differences of counters, outcomes of lines."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, date, datetime
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import BROKER, NOON, SECOND, facts_in, zoned_fleet
from rackwise.core.errors import InvalidFlows

pytestmark = pytest.mark.spark

ZONES = ("us-east4-a", "us-east4-b", "us-east4-c")
CLIENT, STRANGER = "10.8.0.7", "203.0.113.9"
NODES = {CLIENT: "192.168.1.1", BROKER: "192.168.1.2", SECOND: "192.168.1.3"}
FLOW, INTER_ZONE = "obi.network.flow.bytes", "obi.network.inter.zone.bytes"
DELTA, CUMULATIVE = 1, 2
MINUTE = 60


def attributes(values):
    """Attributes as OTLP has them; a number of 64 bits is a text."""
    return [
        {"key": key, "value": {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}}
        for key, v in values.items()
        if v is not None
    ]


def point(source=CLIENT, target=BROKER, *, on=None, size=1000, at=(NOON, NOON + 60), **more):
    """A data point as OBI on the node of `on` reports it; None = left out."""
    ports = (9092, 40000) if source == BROKER else (40000, 9092)
    values = {
        "k8s.cluster.name": "shop",
        "direction": "response" if source == BROKER else "request",
        "transport": "TCP",
        "src.address": source,
        "dst.address": target,
        "src.port": ports[0],
        "dst.port": ports[1],
        "obi.ip": NODES[on or source],
        "k8s.src.node.ip": NODES.get(source, ""),
        "k8s.dst.node.ip": NODES.get(target, ""),
        "src.zone": ZONES[1],
        "dst.zone": ZONES[0],
    } | {name.replace("_", "."): value for name, value in more.pop("values", {}).items()}
    start, end = (None if second is None else f"{second}250000001" for second in at)
    whole = {
        "attributes": attributes(values),
        "startTimeUnixNano": start,
        "timeUnixNano": end,
        "asInt": str(size),
    } | more
    return {name: value for name, value in whole.items() if value is not None}


def line(*points, metric=FLOW, temporality=DELTA, process="p1"):
    """An export request as the file exporter of the OpenTelemetry Collector writes it."""
    total = {"dataPoints": points, "aggregationTemporality": temporality, "isMonotonic": True}
    metrics = [
        {"name": "http.server.duration", "histogram": {"dataPoints": [{"count": "3"}]}},
        {"name": metric, "unit": "{bytes}", "sum": total},
    ]
    resource = {"attributes": attributes({"service.name": "obi", "service.instance.id": process})}
    scopes = [{"scope": {"name": "network_ebpf_events"}, "metrics": metrics}]
    return json.dumps({"resourceMetrics": [{"resource": resource, "scopeMetrics": scopes}]})


def write(folder, *lines, name="metrics.json"):
    (folder / name).write_text("".join(f"{each}\n" for each in lines))


read = partial(facts_in, flow_format="obi")


@pytest.mark.connect
def test_a_flow_that_both_nodes_report_counts_once(spark, tmp_path):
    """The node of the stranger has no OBI, so its bytes are those that the broker's node reports.

    On the network of its host, an end has the address of its node.
    """
    on_host = {"src.address": NODES[CLIENT], "k8s.src.node.ip": None}
    write(
        tmp_path,
        line(point(), point(STRANGER, on=BROKER, size=500), point(BROKER, CLIENT, size=700)),
        line(
            point(on=BROKER, size=1001),
            point(BROKER, CLIENT, on=CLIENT, size=701),
            point(SECOND, BROKER, size=30),
            point(SECOND, BROKER, on=BROKER, size=31),
            process="p2",
        ),
        line(point(values=on_host, size=8), point(values=on_host, on=BROKER, size=9)),
        line(point(on=SECOND, size=6), metric="beyla.network.flow.bytes"),
    )
    facts = read(spark, tmp_path, zoned_fleet(ZONES))
    assert Counter((fact.reason, fact.kind, fact.bytes) for fact in facts) == {
        ("kept", 0, 1000): 1,
        ("duplicate-side", 0, 1001): 1,
        ("kept", 0, 500): 1,
        ("kept", 1, 700): 1,
        ("duplicate-side", 1, 701): 1,
        ("kept", 2, 30): 1,
        ("duplicate-side", 2, 31): 1,
        ("kept", 0, 8): 1,
        ("duplicate-side", 0, 9): 1,
        ("gateway", None, 6): 1,
    }
    kept = next(fact for fact in facts if fact.bytes == 1000)
    assert kept.window_start.astimezone(UTC) == datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert (kept.window_s, kept.packets, kept.source, kept.quality) == (MINUTE, None, 1, 0)


def test_ports_of_client_and_server_and_zones(spark, tmp_path):
    roles = {"src.port": None, "dst.port": None, "server.port": 9092}
    unknown = roles | {"server.port": 0, "client.port": 0}
    beyla = {"obi.ip": None, "beyla.ip": NODES[CLIENT]}
    there = {"src.zone": ZONES[2], "dst.zone": ""}
    write(
        tmp_path,
        line(
            point(size=1, values=roles),
            point(size=2, values=roles | {"client.port": 40000} | there),
            point(BROKER, CLIENT, size=3, values=roles | {"dst.zone": ZONES[1]}),
            point(size=4, values=unknown),
            point(size=5, values=roles | {"direction": "unknown"}),
            point(size=6, values=beyla | {"src.zone": ""}),
        ),
    )
    fleet = zoned_fleet(ZONES)
    racks = {code: name for name, code in fleet.codes.racks.items()}
    assert {
        fact.bytes: (fact.reason, fact.kind, racks.get(fact.client_rack))
        for fact in read(spark, tmp_path, fleet)
    } == {
        1: ("kept", 0, ZONES[1]),
        2: ("kept", 0, ZONES[2]),
        3: ("kept", 1, ZONES[1]),
        4: ("malformed:srcport", None, None),
        5: ("malformed:srcport", None, None),
        6: ("kept", 0, None),
    }


BAD = {
    "no address": (point(values={"dst.address": "10.0.0.256"}), "malformed:dstaddr"),
    "a missing address": (point(values={"src.address": None}), "malformed:srcaddr"),
    "negative bytes": (point(size=-5), "malformed:bytes"),
    "text in bytes": (point(size="12x"), "malformed:bytes"),
    "no bytes": (point(asInt=None), "malformed:bytes"),
    "half a byte": (point(asInt=None, asDouble=0.5), "malformed:bytes"),
    "a port out of range": (point(values={"dst.port": 65_536}), "malformed:dstport"),
    "no protocol": (point(values={"transport": None}), "malformed:protocol"),
    "no start": (point(at=(None, NOON)), "malformed:start"),
    "text in the time": (point(timeUnixNano="noon"), "malformed:end"),
    "end before start": (point(at=(NOON, NOON - 1)), "malformed:end"),
    "no reporter": (point(values={"obi.ip": None}), "malformed:reporter"),
    "no nodes": (
        point(on=SECOND, values={"k8s.src.node.ip": None, "k8s.dst.node.ip": None}),
        "malformed:reporter",
    ),
    "another node": (point(on=SECOND), "gateway"),
    "no value": (point(asInt=None, flags=1), "nodata"),
    "UDP": (point(values={"transport": "UDP"}), "not-kafka"),
    "another protocol": (point(values={"transport": "ICMP"}), "not-kafka"),
    "another port": (point(values={"dst.port": 443}), "not-kafka"),
    "bytes as a real number": (point(asInt=None, asDouble=1e6), "kept"),
    "IPv6": (point(values={"src.address": "2001:db8::7"}), "kept"),
    "the day before": (point(at=(NOON - 86_400, NOON - 86_340)), "other-day"),
}


def test_each_point_has_an_outcome_and_no_byte_is_lost(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows
    from rackwise.pipeline.ingest.silver import count_rows

    write(
        tmp_path,
        line(*(each for each, _ in BAD.values()), point()),
        line(point(size=7), temporality=0),
        line(point())[:-20],
        line(point(), temporality=CUMULATIVE).replace('"attributes": [', '"attributes": [1, ', 1),
        json.dumps({"resourceSpans": []}),
        json.dumps({"resourceMetrics": []}),
        line(metric="system.cpu.time"),
        "",
    )
    (tmp_path / "odd.json").write_bytes(line(point()).encode().replace(b"shop", b"\xff"))
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(line(point()).encode())[:-20])
    days = (date(2026, 11, 1), date(2026, 11, 1))
    facts = read(spark, tmp_path, zoned_fleet(ZONES), days=days)
    lines = (*["malformed:json"] * 3, "malformed:charset", "malformed:file")
    assert Counter(fact.reason for fact in facts) == Counter(
        [*(reason for _, reason in BAD.values()), "kept", "malformed:temporality", *lines]
    )
    by_raw = {fact.raw: fact.reason for fact in facts if fact.raw}
    for case, (each, reason) in BAD.items():
        if reason.startswith("malformed:"):
            assert by_raw[json.dumps(each, separators=(",", ":"))] == reason, case
    counts = count_rows(read_flows(spark, [str(tmp_path)], "obi"))
    assert counts.rows == len(facts)
    assert counts.bytes == sum(fact.bytes or 0 for fact in facts)


def export(minute, sizes, *, process="p1", since=-30, client=CLIENT):
    """An export of counters by port of the client, `minute` minutes after noon."""
    at = (NOON + since * MINUTE, NOON + minute * MINUTE)
    counters = [
        point(client, size=size, at=at, values={"src.port": port}) for port, size in sizes.items()
    ]
    return line(*counters, temporality=CUMULATIVE, process=process)


def test_cumulative_sums_count_their_differences(spark, tmp_path):
    """A counter that the process did not have at its export before began after it."""
    write(tmp_path, export(2, {1: 700, 2: 90, 3: 40}), export(0, {1: 500, 3: 10}))
    write(tmp_path, export(1, {1: 700, 3: 30}), export(3, {1: 50}), name="more.json")
    restarted = export(4, {1: 20}, process="p2", since=3)
    write(tmp_path, restarted, export(5, {1: 20}, process="p2", since=3), name="new.json")
    facts = read(spark, tmp_path, zoned_fleet(ZONES))
    found = Counter(
        (fact.reason, fact.bytes, (fact.window_start.timestamp() - NOON) // MINUTE, fact.window_s)
        for fact in facts
        if fact.reason == "kept"
    )
    assert found == {
        ("kept", 200, 0, MINUTE): 1,
        ("kept", 0, 1, MINUTE): 1,
        ("kept", 90, 1, MINUTE): 1,
        ("kept", 20, 0, MINUTE): 1,
        ("kept", 10, 1, MINUTE): 1,
        ("kept", 50, 2, MINUTE): 1,
        ("kept", 20, 3, MINUTE): 1,
        ("kept", 0, 4, MINUTE): 1,
    }
    others = Counter((fact.reason, fact.bytes) for fact in facts if fact.reason != "kept")
    assert others == {("baseline", None): 2}


def test_deltas_and_cumulative_sums_of_the_same_traffic_are_equal(spark, tmp_path):
    sizes = [{port: 10 * minute + port for port in range(1, 1 + minute)} for minute in range(1, 6)]
    total, deltas, sums = Counter(), [], []
    for minute, each in enumerate(sizes, start=1):
        total.update(each)
        at = (NOON + (minute - 1) * MINUTE, NOON + minute * MINUTE)
        deltas.append(
            line(*(point(size=n, at=at, values={"src.port": p}) for p, n in each.items()))
        )
        sums.append(export(minute, total, since=0))
    # The process starts after the first point in the files.
    early = line(point(size=0, at=(NOON - 60, NOON - 1)))
    found = []
    for name, lines in (("deltas", deltas), ("sums", sums)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, early, *lines)
        facts = read(spark, tmp_path / name, zoned_fleet(ZONES))
        assert {fact.reason for fact in facts} == {"kept"}
        found.append(Counter((fact.bytes, fact.window_start) for fact in facts if fact.bytes))
    assert found[0] == found[1]
    assert sum(size * count for (size, _), count in found[0].items()) == sum(total.values())


def test_only_one_of_the_two_metrics_counts(spark, tmp_path):
    """The metric of all flows counts, unless it has no addresses."""
    crossing = line(point(size=7), metric=INTER_ZONE)
    write(tmp_path, line(point()), crossing)
    facts = read(spark, tmp_path, zoned_fleet(ZONES))
    assert {fact.bytes: fact.reason for fact in facts} == {1000: "kept", 7: "other-metric"}
    bare = point()
    bare["attributes"] = attributes({"k8s.src.owner.name": "web", "k8s.dst.owner.name": "kafka"})
    write(tmp_path, line(bare), crossing)
    facts = read(spark, tmp_path, zoned_fleet(ZONES))
    assert {fact.bytes: fact.reason for fact in facts} == {1000: "other-metric", 7: "kept"}


def test_attributes_that_no_point_has_are_named(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    few = point()
    few["attributes"] = attributes({"k8s.cluster.name": "shop", "src.zone": "a", "dst.zone": "b"})
    write(tmp_path, line(few, metric=INTER_ZONE))
    with pytest.raises(InvalidFlows) as error:
        read_flows(spark, [str(tmp_path)], "obi")
    assert (
        "expected data points of obi.network.inter.zone.bytes with src.address, dst.address, "
        "src.port and dst.port, transport, obi.ip, k8s.src.node.ip and k8s.dst.node.ip in "
    ) in str(error.value)
    assert str(error.value).endswith("got k8s.cluster.name, src.zone, dst.zone")
    assert error.value.hint == (
        "add them to attributes.select.obi_network_inter_zone_bytes.include of OBI"
    )


def test_files_of_another_kind_are_an_error(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    write(tmp_path, "2 1 eni 10.0.0.1")
    with pytest.raises(InvalidFlows, match='expected lines with "resourceMetrics"'):
        read_flows(spark, [str(tmp_path)], "obi")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidFlows, match="expected JSON lines of the OpenTelemetry Collector"):
        read_flows(spark, [str(tmp_path)], "obi")
