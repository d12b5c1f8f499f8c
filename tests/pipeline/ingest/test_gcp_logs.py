"""VPC flow logs of Google Cloud: entries as rows, and the outcome of each entry and bad line."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, date, datetime
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import BROKER, NOON, SECOND, UNLOGGED, facts_in, fleet_of
from rackwise.core.errors import InvalidFlows
from rackwise.core.racks import Rack
from small_fleets import cluster, group

pytestmark = pytest.mark.spark

ZONES = ("us-east4-a", "us-east4-b", "us-east4-c")
CLIENT, STRANGER = "10.8.0.7", "203.0.113.9"
SIX = "2001:db8:8::7"


def payload(**fields):
    """The payload of an entry: a client in zone b sends 1000 bytes to broker 1; None = left out."""
    connection = {
        "src_ip": CLIENT,
        "src_port": 40000,
        "dest_ip": BROKER,
        "dest_port": 9092,
        "protocol": 6,
    }
    whole = {
        "connection": connection | fields.pop("connection", {}),
        "reporter": "SRC",
        "bytes_sent": "1000",
        "packets_sent": "7",
        "start_time": "2026-11-01T12:00:00.271450001Z",
        "end_time": "2026-11-01T12:00:05.900000000Z",
        "rtt_msec": "3",
        "src_instance": {
            "project_id": "shop",
            "region": "us-east4",
            "vm_name": "web-1",
            "zone": ZONES[1],
        },
        "src_gke_details": {"pod": {"pod_name": "web-7f", "pod_namespace": "shop"}},
        "src_vpc": {"project_id": "shop", "subnetwork_name": "apps", "vpc_name": "prod"},
        "dest_instance": {"zone": ZONES[0], "vm_name": "kafka-1", "region": "us-east4"},
    } | fields
    return {name: value for name, value in whole.items() if value is not None}


def answer(**fields):
    """Broker 1 sends to the client."""
    ends = {"src_ip": BROKER, "dest_ip": CLIENT, "src_port": 9092, "dest_port": 40000}
    ends |= fields.pop("connection", {})
    zones = {"src_instance": {"zone": ZONES[0]}, "dest_instance": {"zone": ZONES[1]}}
    return payload(connection=ends, **zones | fields)


def entry(**fields):
    """A line that a sink of Cloud Logging writes."""
    return json.dumps(
        {
            "insertId": "1f9h3k2g1kx0jx",
            "jsonPayload": payload(**fields),
            "logName": "projects/shop/logs/compute.googleapis.com%2Fvpc_flows",
            "receiveTimestamp": "2026-11-01T12:00:09.128117213Z",
            "resource": {
                "labels": {"location": "us-east4-b", "subnetwork_name": "apps"},
                "type": "gce_subnetwork",
            },
            "timestamp": "2026-11-01T12:00:09.128117213Z",
        }
    )


def line_of(whole):
    return json.dumps({"jsonPayload": whole})


def zoned(*, zones=ZONES, **more):
    """The three brokers of `small_fleets`, in zones."""
    racks = dict(enumerate(zones, start=1))
    return fleet_of({"demo.json": cluster(racks, **more)})


read = partial(facts_in, flow_format="gcp")


def write(folder, *lines, name="flows_S0.json"):
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def ends_of(fleet, fact):
    """Kind, bytes, broker, receiving broker and the client's rack of a fact."""
    from rackwise.pipeline.schemas import KINDS

    racks = {code: name for name, code in fleet.codes.racks.items()}
    brokers = {code: id_ for (_, id_), code in fleet.codes.brokers.items()} | {0: None}
    kind, broker, peer = KINDS[fact.kind], brokers[fact.broker], brokers[fact.peer]
    return kind, fact.bytes, broker, peer, racks.get(fact.client_rack)


@pytest.mark.connect
def test_an_entry_is_a_flow_whose_bytes_are_an_estimate(spark, tmp_path):
    write(tmp_path, entry(), line_of(answer(bytes_sent="9223372036854775000")))
    fleet = zoned()
    produced, fetched = sorted(read(spark, tmp_path, fleet), key=lambda fact: fact.bytes)
    assert ends_of(fleet, produced) == ("produce", 1000, 1, None, ZONES[1])
    assert ends_of(fleet, fetched) == ("fetch", 9223372036854775000, 1, None, ZONES[1])
    assert produced.window_start.astimezone(UTC) == datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert (produced.window_s, produced.packets) == (5, 7)
    assert (produced.source, produced.quality, fetched.quality) == (1, 2, 2)


def test_a_flow_that_both_ends_report_counts_once(spark, tmp_path):
    """The client reports, the stranger does not, so its bytes are those that the broker reports."""
    unknown = {"src_instance": None, "reporter": "DEST", "bytes_sent": "500"}
    write(
        tmp_path,
        entry(),
        entry(reporter="DEST", bytes_sent="1010"),
        entry(connection={"src_ip": STRANGER}, **unknown),
        line_of(answer(bytes_sent="700")),
        line_of(answer(bytes_sent="690", reporter="DEST")),
    )
    facts = read(spark, tmp_path, zoned())
    assert Counter((fact.reason, fact.bytes) for fact in facts) == {
        ("kept", 1000): 1,
        ("duplicate-side", 1010): 1,
        ("kept", 500): 1,
        ("kept", 700): 1,
        ("duplicate-side", 690): 1,
    }


def test_a_gateway_reports_what_an_instance_reports_too(spark, tmp_path):
    write(
        tmp_path,
        entry(reporter="DEST", src_instance=None),
        entry(reporter="SRC_GATEWAY", src_instance=None),
        entry(reporter="DEST_GATEWAY", src_instance=None),
    )
    facts = read(spark, tmp_path, zoned())
    assert Counter(fact.reason for fact in facts) == {"kept": 1, "gateway": 2}


def test_the_zone_of_a_client_is_used_where_nothing_else_is_known(spark, tmp_path):
    members = group("readers", ("m0", ZONES[2], "10.8.0.1", [("orders", 0)]))
    write(
        tmp_path,
        entry(bytes_sent="1", connection={"src_ip": "10.8.0.1"}),
        entry(bytes_sent="2", connection={"src_ip": UNLOGGED}),
        entry(bytes_sent="3", connection={"src_ip": SIX}),
        entry(bytes_sent="4", src_instance={"zone": "us-east4-z"}),
        entry(bytes_sent="5", src_instance={"vm_name": "web-1"}),
        entry(bytes_sent="6", src_instance=None),
        entry(bytes_sent="7", connection={"src_ip": SECOND}),
    )
    fleet = zoned(groups=[members])
    facts = sorted(read(spark, tmp_path, fleet), key=lambda fact: fact.bytes)
    assert [ends_of(fleet, fact)[4] for fact in facts] == [
        ZONES[2],  # of the member
        "/eu/c",  # of the subnet
        ZONES[1],
        None,
        None,
        None,
        None,
    ]
    assert ends_of(fleet, facts[-1]) == ("replicate", 7, 2, 1, None)


def test_a_zone_is_the_one_rack_whose_path_ends_with_it(spark, tmp_path):
    write(tmp_path, entry())
    for zones, found in (
        (("/east/us-east4-a", "/east/us-east4-b", "/east/us-east4-c"), "/east/us-east4-b"),
        (("/east/us-east4-a", "/east/us-east4-b", "/west/us-east4-b"), None),
        (("/us-east4-b/r1", "/us-east4-b/r2", "/us-east4-a/r3"), None),
    ):
        fleet = zoned(zones=zones)
        (fact,) = read(spark, tmp_path, fleet)
        assert ends_of(fleet, fact)[4] == found


def test_zones_without_a_broker_are_racks_unless_racks_are_paths(spark, tmp_path):
    from rackwise.pipeline.fleet.members import zone_racks
    from rackwise.pipeline.ingest.formats import input_format, read_flows

    write(tmp_path, entry(), entry(src_instance={"zone": "/eu/a"}), entry(src_instance=None))
    found = input_format("gcp").names(read_flows(spark, [str(tmp_path)], "gcp"))
    assert found.zones == (ZONES[0], ZONES[1])
    named, paths = zoned(), zoned(zones=("/eu/a", "/eu/b", "/eu/c"))
    assert zone_racks(found.zones, named.history) == [Rack(ZONES[0]), Rack(ZONES[1])]
    assert zone_racks(found.zones, paths.history) == []


BAD = {
    "cut JSON": (entry()[:200], "malformed:json"),
    "no JSON": ("not a log", "malformed:json"),
    "a list": ("[1, 2]", "malformed:json"),
    "another log": ('{"textPayload": "hello"}', "malformed:json"),
    "a payload that is a text": ('{"jsonPayload": "hello"}', "malformed:json"),
    "a connection that is a text": (line_of(payload() | {"connection": "x"}), "malformed:json"),
    "no connection": (line_of(payload() | {"connection": {}}), "malformed:srcaddr"),
    "no address": (entry(connection={"dest_ip": "10.0.0.256"}), "malformed:dstaddr"),
    "negative bytes": (entry(bytes_sent="-5"), "malformed:bytes"),
    "text in bytes": (entry(bytes_sent="12x"), "malformed:bytes"),
    "too many bytes": (entry(bytes_sent="9223372036854775808"), "malformed:bytes"),
    "no bytes": (entry(bytes_sent=None), "malformed:bytes"),
    "text in a port": (entry(connection={"src_port": "http"}), "malformed:srcport"),
    "a port out of range": (entry(connection={"dest_port": 65536}), "malformed:dstport"),
    "negative packets": (entry(packets_sent="-1"), "malformed:packets"),
    "protocol by name": (entry(connection={"protocol": "TCP"}), "malformed:protocol"),
    "no start": (entry(start_time=None), "malformed:start"),
    "a time without zone": (entry(start_time="2026-11-01T12:00:00"), "malformed:start"),
    "no calendar date": (entry(start_time="2026-13-01T12:00:00Z"), "malformed:start"),
    "end before start": (entry(end_time="2026-11-01T11:59:59Z"), "malformed:end"),
    "no reporter": (entry(reporter=None), "malformed:reporter"),
    "another reporter": (entry(reporter="MIDDLE"), "malformed:reporter"),
    "a long line": (entry(vm="9" * 70_000), "malformed:line"),
    "another port": (entry(connection={"dest_port": 443}), "not-kafka"),
    "UDP": (entry(connection={"protocol": 17}), "not-kafka"),
    "a day that is left out": (
        entry(start_time="2026-10-31T23:59:59Z", end_time="2026-11-01T00:00:00Z"),
        "other-day",
    ),
}


def test_each_line_has_an_outcome_and_no_byte_is_lost(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows
    from rackwise.pipeline.ingest.silver import count_rows

    write(tmp_path, *(line for line, _ in BAD.values()), "", entry())
    (tmp_path / "charset.json").write_bytes(entry().encode().replace(b"web-1", b"\xff"))
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(entry().encode())[:-20])
    days = (date(2026, 11, 1), date(2026, 11, 1))
    facts = read(spark, tmp_path, zoned(), days=days)
    assert Counter(fact.reason for fact in facts) == Counter(
        [*(reason for _, reason in BAD.values()), "kept", "malformed:charset", "malformed:file"]
    )
    by_raw = {fact.raw: fact.reason for fact in facts}
    for case, (line, reason) in BAD.items():
        if reason.startswith("malformed:"):
            assert by_raw[line[:4096]] == reason, case
    counts = count_rows(read_flows(spark, [str(tmp_path)], "gcp"))
    assert counts.rows == len(facts)
    assert counts.bytes == sum(fact.bytes or 0 for fact in facts)


def test_files_without_an_entry_end_in_one_line(spark, tmp_path):
    (tmp_path / "flows.json").write_text('{"textPayload": "hello"}\n')
    with pytest.raises(InvalidFlows, match=r'expected lines with "jsonPayload" in .*json'):
        read(spark, tmp_path, zoned())


EXPORTED = pa.schema(
    {
        "logName": pa.string(),
        "jsonPayload": pa.struct(
            {
                "connection": pa.struct(
                    {
                        "src_ip": pa.string(),
                        "src_port": pa.float64(),
                        "dest_ip": pa.string(),
                        "dest_port": pa.float64(),
                        "protocol": pa.float64(),
                    }
                ),
                "reporter": pa.string(),
                "bytes_sent": pa.string(),
                "packets_sent": pa.string(),
                "start_time": pa.string(),
                "end_time": pa.string(),
                "src_instance": pa.struct({"zone": pa.string(), "vm_name": pa.string()}),
            }
        ),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
)
"""The columns of a table that BigQuery exports: numbers of the payload are floats."""


def exported(folder, *payloads):
    rows = [{"logName": "vpc_flows", "jsonPayload": each} for each in payloads]
    folder.mkdir(exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows, EXPORTED), folder / "flows.parquet")


def test_a_table_of_bigquery_is_read_like_lines(spark, tmp_path):
    half = payload(connection={"src_port": 1.5})
    exported(tmp_path, payload(), answer(reporter="DEST"), half, payload(bytes_sent="-5"), None)
    write(tmp_path, entry(bytes_sent="3"))
    fleet = zoned()
    facts = sorted(read(spark, tmp_path, fleet), key=lambda fact: str(fact.row_offset))
    assert [(fact.reason, fact.bytes, fact.row_offset) for fact in facts] == [
        ("kept", 1000, 0),
        ("kept", 1000, 1),
        ("malformed:srcport", 1000, 2),
        ("malformed:bytes", None, 3),
        ("malformed:json", None, 4),
        ("kept", 3, None),
    ]
    assert ends_of(fleet, facts[0])[4] == ZONES[1]
    # The answer names no zone of its receiver: the table has no column for it.
    assert ends_of(fleet, facts[1]) == ("fetch", 1000, 1, None, None)


@pytest.mark.parametrize("read_as", ["gcp", "vpc"])
def test_parquet_of_another_format_names_the_format(spark, tmp_path, read_as):
    from rackwise.pipeline.ingest.formats import read_flows

    if read_as == "vpc":
        exported(tmp_path, payload())
    else:
        columns = ("srcaddr", "dstaddr", "action", "log_status", "interface_id")
        numbers = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")
        table = {name: ["x"] for name in columns} | {name: [1] for name in numbers}
        parquet.write_table(pa.table(table), tmp_path / "flows.parquet")
    other = {"gcp": "vpc", "vpc": "gcp"}[read_as]
    with pytest.raises(InvalidFlows) as error:
        read_flows(spark, [str(tmp_path)], read_as)
    assert error.value.hint == f"use --flow-format {other}"


def test_a_payload_that_is_no_record_is_an_error(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    parquet.write_table(pa.table({"jsonPayload": ["{}"]}), tmp_path / "flows.parquet")
    with pytest.raises(InvalidFlows, match=r"invalid column jsonPayload .* got string"):
        read_flows(spark, [str(tmp_path)], "gcp")


def test_the_start_is_an_instant_in_every_time_zone(spark, tmp_path):
    write(tmp_path, entry(start_time="2026-11-01T13:00:00+01:00"))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        (fact,) = read(spark, tmp_path, zoned())
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert (fact.reason, fact.window_start.timestamp()) == ("kept", NOON)
