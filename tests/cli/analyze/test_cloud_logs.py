"""`rackwise analyze` on flow logs of other clouds: bytes, dollars and what is not kept."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from rackwise.adapters.files import read_published, write_snapshot
from refusals import called
from small_fleets import GIB, cluster

pytestmark = pytest.mark.spark

BROKER, SECOND, CLIENT, OTHER = "10.0.0.1", "10.0.0.2", "10.8.0.7", "10.8.0.8"


def snapshot_file(folder, zones):
    write_snapshot(cluster(dict(enumerate(zones, start=1))), folder / "demo.json")
    return folder / "demo.json"


def bytes_of(out):
    """(kind, from rack, to rack, quality) -> bytes and dollars, of the published bill."""
    published = read_published(out)
    rows = parquet.read_table(out / published.tables / "gold" / "cross_rack").to_pylist()
    found = {}
    for row in rows:
        key = tuple(row[name] for name in ("kind", "from_rack", "to_rack", "quality"))
        bytes_, usd = found.get(key, (0, 0))
        found[key] = (bytes_ + row["bytes"], usd if row["usd"] is None else usd + row["usd"])
    return found, published.summary


def outcomes_of(summary):
    return {one["reason"]: one["rows"] for one in summary["method"]["outcomes"]}


def gcp(source, target, size, *, ports=(40000, 9092), reporter="SRC", zones=(None, None)):
    payload = {
        "connection": {
            "src_ip": source,
            "src_port": ports[0],
            "dest_ip": target,
            "dest_port": ports[1],
            "protocol": 6,
        },
        "reporter": reporter,
        "bytes_sent": str(size),
        "packets_sent": "1",
        "start_time": "2026-11-01T12:00:00Z",
        "end_time": "2026-11-01T12:00:05Z",
    }
    for name, zone in zip(("src_instance", "dest_instance"), zones, strict=True):
        payload |= {name: {"zone": zone}} if zone else {}
    return json.dumps({"jsonPayload": payload})


def test_google_cloud(spark, tmp_path):
    """The files of a bucket are in folders by log and day."""
    assert spark.version
    a, b, c = ("us-east4-a", "us-east4-b", "us-east4-c")
    d = "us-east4-d"
    answered = (9092, 40000)
    lines = [
        gcp(CLIENT, BROKER, GIB, zones=(b, a)),
        gcp(CLIENT, BROKER, GIB + 9, zones=(b, a), reporter="DEST"),
        gcp(BROKER, CLIENT, 3 * GIB, ports=answered, zones=(a, d)),
        gcp(BROKER, OTHER, 5, ports=answered),
        gcp(SECOND, BROKER, 2 * GIB, zones=(b, a)),
        gcp(SECOND, BROKER, 7, ports=(40000, 22), zones=(b, a)),
        gcp(CLIENT, BROKER, GIB, zones=(b, a), reporter="DEST_GATEWAY"),
    ]
    folder = tmp_path / "flows" / "compute.googleapis.com" / "vpc_flows" / "2026" / "11" / "01"
    folder.mkdir(parents=True)
    (folder / "120000_125959_S0.json").write_text("\n".join(lines))
    code, _, err = called(
        *("analyze", snapshot_file(tmp_path, (a, b, c)), "--flows", tmp_path / "flows"),
        *("--flow-format", "gcp", "--provider", "gcp", "--no-plans", "--out", tmp_path / "out"),
    )
    assert code == 0, err
    found, summary = bytes_of(tmp_path / "out")
    cent = 10_000_000 / 10**9
    assert {key: (bytes_, float(usd)) for key, (bytes_, usd) in found.items()} == {
        ("produce", b, a, "estimated"): (GIB, cent),
        ("fetch", a, d, "estimated"): (3 * GIB, 3 * cent),
        ("fetch", a, "(unknown)", "estimated"): (5, 0),
        ("replicate", b, a, "estimated"): (2 * GIB, 2 * cent),
    }
    assert outcomes_of(summary) == {
        "kept": 4,
        "duplicate-side": 1,
        "gateway": 1,
        "not-kafka": 1,
    }
    assert summary["method"]["bytes_in"] == 9 * GIB - GIB + 9 + 5 + 7


def test_a_name_with_a_colon_is_an_error_with_a_cure(spark, tmp_path):
    """A sink of Cloud Logging writes such names, and Hadoop opens no local file that has one."""
    assert spark.version
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "12:00:00_12:59:59_S0.json").write_text(gcp(CLIENT, BROKER, 1) + "\n")
    code, _, err = called(
        *("analyze", snapshot_file(tmp_path, ("a", "b", "c")), "--flows", folder),
        *("--flow-format", "gcp", "--no-plans", "--out", tmp_path / "out"),
    )
    *_, error, hint = err.splitlines()
    assert code == 1
    assert "12:00:00_12:59:59_S0.json" in error
    assert hint == (
        "hint: rename local files whose names have a colon, or read them from their bucket"
    )
    assert not (tmp_path / "out" / "manifest.json").exists()


def azure(source, target, sizes, *, direction="O", state="C", port=9092):
    to, back = ((1, size) if size else (0, 0) for size in sizes)
    ends = (source, target, 40000, port)
    return ",".join(map(str, (1_793_534_400_123, *ends, 6, direction, state, "NX", *to, *back)))


def test_azure(spark, tmp_path):
    """Zones cost nothing; the bytes between them are in the bill."""
    assert spark.version
    (tmp_path / "subnets.csv").write_text("cidr,rack\n10.8.0.7/32,2\n")
    tuples = {
        "client": [
            azure(CLIENT, BROKER, (GIB, 3 * GIB)),
            azure(CLIENT, BROKER, (0, 0), state="B"),
            azure(CLIENT, BROKER, (0, 0), state="D", port=22),
        ],
        "broker": [
            azure(CLIENT, BROKER, (GIB, 3 * GIB), direction="I"),
            azure(OTHER, BROKER, (0, 5), direction="I", state="E"),
            azure(SECOND, BROKER, (7, 2 * GIB), direction="I"),
        ],
    }
    for mac, lines in tuples.items():
        folder = tmp_path / "flows" / "y=2026" / "m=11" / "d=01" / "h=12" / "m=00" / mac
        folder.mkdir(parents=True)
        flows = [{"flowGroups": [{"flowTuples": lines}]}]
        records = [{"macAddress": mac, "flowRecords": {"flows": flows}}]
        (folder / "PT1H.json").write_text(json.dumps({"records": records}))
    command = (
        *("analyze", snapshot_file(tmp_path, ("1", "2", "3")), "--flows", tmp_path / "flows"),
        *("--flow-format", "azure", "--provider", "azure", "--subnets", tmp_path / "subnets.csv"),
        *("--no-plans", "--out", tmp_path / "out"),
    )
    code, _, err = called(*command)
    assert code == 0, err
    found, summary = bytes_of(tmp_path / "out")
    assert {key: bytes_ for key, (bytes_, _) in found.items()} == {
        ("produce", "2", "1", "measured"): GIB,
        ("fetch", "1", "2", "measured"): 3 * GIB,
        ("fetch", "1", "(unknown)", "measured"): 5,
        ("replicate", "2", "1", "measured"): 7,
        ("replicate", "1", "2", "apportioned"): 2 * GIB,
    }
    assert {float(usd) for key, (_, usd) in found.items() if "(unknown)" not in key} == {0}
    assert outcomes_of(summary) == {"kept": 5, "duplicate-side": 2, "nodata": 1, "rejected": 1}
    assert summary["method"]["bytes_in"] == 2 * 4 * GIB + 2 * GIB + 12


def tgw(source, target, size, *, ports=(40000, 9092), direction="ingress", zone="use1-az2"):
    ends = (source, target, *ports, 6, 1, size, 1_793_534_400, 1_793_534_460)
    return " ".join(map(str, ("tgw-attach-1", zone, *ends, "OK", direction)))


def test_transit_gateway(spark, tmp_path):
    """Clients in another VPC; the sender pays the gateway, and the zone of a sender is known."""
    assert spark.version
    a, b, c = ("use1-az1", "use1-az2", "use1-az4")
    header = (
        "tgw-attachment-id tgw-src-az-id srcaddr dstaddr srcport dstport protocol packets bytes "
        "start end log-status flow-direction"
    )
    answered = (9092, 40000)
    lines = [
        tgw(CLIENT, BROKER, GIB),
        tgw(CLIENT, BROKER, GIB, direction="egress"),
        tgw(OTHER, BROKER, 3, zone=a),
        tgw(BROKER, CLIENT, 5, ports=answered, zone=a),
        tgw(BROKER, CLIENT, 5, ports=answered, zone=a, direction="egress"),
    ]
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "tgw.log").write_text("\n".join([header, *lines, ""]))
    code, _, err = called(
        *("analyze", snapshot_file(tmp_path, (a, b, c)), "--flows", tmp_path / "flows"),
        *("--flow-format", "tgw", "--provider", "aws-transit-gateway", "--no-plans"),
        *("--out", tmp_path / "out"),
    )
    assert code == 0, err
    found, summary = bytes_of(tmp_path / "out")
    assert {key: bytes_ for key, (bytes_, _) in found.items()} == {
        ("produce", b, a, "measured"): GIB,
        ("produce", a, a, "measured"): 3,
        ("fetch", a, "(unknown)", "measured"): 5,
    }
    assert float(found["produce", b, a, "measured"][1]) == pytest.approx(0.02)
    assert outcomes_of(summary) == {"kept": 3, "duplicate-side": 2}
    assert summary["method"]["bytes_in"] == 2 * GIB + 13


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_the_zone_of_an_interface_in_vpc_flow_logs(spark, tmp_path, kind):
    """The interface of a client logs the client's zone; that of a broker does not."""
    assert spark.version
    a, b, c = ("use1-az1", "use1-az2", "use1-az4")
    row = {
        "interface-id": "eni-k",
        "srcaddr": CLIENT,
        "dstaddr": BROKER,
        "srcport": 40000,
        "dstport": 9092,
        "protocol": 6,
        "packets": 7,
        "bytes": GIB,
        "start": 1_793_534_400,
        "end": 1_793_534_460,
        "action": "ACCEPT",
        "log-status": "OK",
        "az-id": b,
        "flow-direction": "egress",
    }
    seen = {"interface-id": "eni-b", "az-id": a, "flow-direction": "ingress"}
    rows = [row, row | seen, row | seen | {"srcaddr": OTHER, "bytes": 5}]
    (tmp_path / "flows").mkdir()
    if kind == "text":
        lines = [" ".join(row), *(" ".join(map(str, each.values())) for each in rows), ""]
        (tmp_path / "flows" / "vpc.log").write_text("\n".join(lines))
    else:
        columns = {name.replace("-", "_"): [each[name] for each in rows] for name in row}
        parquet.write_table(pa.table(columns), tmp_path / "flows" / "vpc.parquet")
    code, _, err = called(
        *("analyze", snapshot_file(tmp_path, (a, b, c)), "--flows", tmp_path / "flows"),
        *("--provider", "aws", "--no-plans", "--out", tmp_path / "out"),
    )
    assert code == 0, err
    found, summary = bytes_of(tmp_path / "out")
    assert {key: bytes_ for key, (bytes_, _) in found.items()} == {
        ("produce", b, a, "measured"): GIB,
        ("produce", "(unknown)", a, "measured"): 5,
    }
    assert outcomes_of(summary) == {"kept": 2, "duplicate-side": 1}
