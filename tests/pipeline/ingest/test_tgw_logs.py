"""Flow logs of AWS Transit Gateways: the side of each row, zones, and the outcome of each line."""

from __future__ import annotations

import gzip
from collections import Counter
from datetime import date
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import BROKER, NOON, SECOND, facts_in, zoned_fleet
from rackwise.core.errors import InvalidFlows

pytestmark = pytest.mark.spark

ZONES = ("use1-az1", "use1-az2", "use1-az4")
CLIENT, STRANGER = "10.8.0.7", "172.16.0.9"
FIELDS = (
    "version resource-type account-id tgw-id tgw-attachment-id tgw-src-vpc-account-id "
    "tgw-dst-vpc-account-id tgw-src-vpc-id tgw-dst-vpc-id tgw-src-subnet-id tgw-dst-subnet-id "
    "tgw-src-eni tgw-dst-eni tgw-src-az-id tgw-dst-az-id tgw-pair-attachment-id srcaddr dstaddr "
    "srcport dstport protocol packets bytes start end log-status type packets-lost-no-route "
    "packets-lost-blackhole packets-lost-mtu-exceeded packets-lost-ttl-expired tcp-flags region "
    "flow-direction pkt-src-aws-service pkt-dst-aws-service"
)
"""The default format: all fields."""
RECORD = {
    "version": "6",
    "resource_type": "TransitGateway",
    "account_id": "123456789012",
    "tgw_id": "tgw-0123456789abcdef0",
    "tgw_attachment_id": "tgw-attach-apps",
    "tgw_src_vpc_account_id": "123456789012",
    "tgw_dst_vpc_account_id": "210987654321",
    "tgw_src_vpc_id": "vpc-apps",
    "tgw_dst_vpc_id": "vpc-kafka",
    "tgw_src_subnet_id": "subnet-a",
    "tgw_dst_subnet_id": "subnet-b",
    "tgw_src_eni": "eni-a",
    "tgw_dst_eni": "eni-b",
    "tgw_src_az_id": ZONES[1],
    "tgw_dst_az_id": ZONES[1],
    "tgw_pair_attachment_id": "tgw-attach-kafka",
    "srcaddr": CLIENT,
    "dstaddr": BROKER,
    "srcport": "40000",
    "dstport": "9092",
    "protocol": "6",
    "packets": "7",
    "bytes": "1000",
    "start": str(NOON),
    "end": str(NOON + 60),
    "log_status": "OK",
    "type": "IPv4",
    "packets_lost_no_route": "0",
    "packets_lost_blackhole": "0",
    "packets_lost_mtu_exceeded": "0",
    "packets_lost_ttl_expired": "0",
    "tcp_flags": "0",
    "region": "us-east-1",
    "flow_direction": "ingress",
    "pkt_src_aws_service": "-",
    "pkt_dst_aws_service": "-",
}
"""A client in zone 2 sends 1000 bytes to broker 1 in zone 1; they enter the gateway."""
EGRESS = {
    "tgw_attachment_id": "tgw-attach-kafka",
    "tgw_pair_attachment_id": "tgw-attach-apps",
    "flow_direction": "egress",
}
"""The same flow, where it leaves the gateway."""
NUMBERS = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")


def line(**fields):
    return " ".join((RECORD | fields)[name.replace("-", "_")] for name in FIELDS.split(" "))


def answer(**fields):
    """Broker 1 sends to the client."""
    ends = {"srcaddr": BROKER, "dstaddr": CLIENT, "srcport": "9092", "dstport": "40000"}
    attachments = {"tgw_attachment_id": "tgw-attach-kafka", "tgw_src_az_id": ZONES[0]}
    return line(**ends | attachments | {"tgw_dst_az_id": ZONES[0]} | fields)


def write(folder, *lines, header=FIELDS, name="tgw.log"):
    (folder / name).write_text("\n".join([header, *lines, ""]))


read = partial(facts_in, flow_format="tgw")


@pytest.mark.connect
def test_a_flow_that_both_attachments_log_counts_once(spark, tmp_path):
    """The attachment of the stranger is not logged, so its bytes are those that leave."""
    write(
        tmp_path,
        line(),
        line(**EGRESS, bytes="1001"),
        line(**EGRESS, srcaddr=STRANGER, bytes="500"),
        answer(bytes="700"),
        answer(tgw_attachment_id="tgw-attach-apps", flow_direction="egress", bytes="701"),
        answer(dstaddr=SECOND, bytes="30"),
    )
    facts = read(spark, tmp_path, zoned_fleet(ZONES))
    assert Counter((fact.reason, fact.kind, fact.bytes) for fact in facts) == {
        ("kept", 0, 1000): 1,
        ("duplicate-side", 0, 1001): 1,
        ("kept", 0, 500): 1,
        ("kept", 1, 700): 1,
        ("duplicate-side", 1, 701): 1,
        ("kept", 2, 30): 1,
    }


def test_only_the_zone_of_the_sender_is_known(spark, tmp_path):
    """A gateway hands traffic over in the zone of the sender, wherever the receiver is."""
    write(tmp_path, line(), line(bytes="2", tgw_src_az_id="-"), answer(bytes="3"))
    fleet = zoned_fleet(ZONES)
    racks = {code: name for name, code in fleet.codes.racks.items()}
    facts = read(spark, tmp_path, fleet)
    assert {fact.bytes: racks.get(fact.client_rack) for fact in facts} == {
        1000: ZONES[1],
        2: None,
        3: None,
    }
    assert {racks[fact.broker_rack] for fact in facts} == {ZONES[0]}


def test_zones_of_senders_are_names(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import input_format, read_flows

    write(tmp_path, line(), line(tgw_src_az_id="-"), line(tgw_dst_az_id="use1-az9"))
    found = input_format("tgw").names(read_flows(spark, [str(tmp_path)], "tgw"))
    assert found.zones == (ZONES[1],)


EMPTY = dict.fromkeys(
    ("srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes", "flow_direction"),
    "-",
)
BAD = {
    "no address": (line(dstaddr="10.0.0.256"), "malformed:dstaddr"),
    "a missing address": (line(srcaddr="-"), "malformed:srcaddr"),
    "negative bytes": (line(bytes="-5"), "malformed:bytes"),
    "text in bytes": (line(bytes="12x"), "malformed:bytes"),
    "no bytes": (line(bytes="-"), "malformed:bytes"),
    "text in a port": (line(srcport="http"), "malformed:srcport"),
    "protocol by name": (line(protocol="TCP"), "malformed:protocol"),
    "text in the time": (line(start="noon"), "malformed:start"),
    "end before start": (line(end=str(NOON - 1)), "malformed:end"),
    "another status": (line(log_status="MAYBE"), "malformed:log_status"),
    "another direction": (line(flow_direction="sideways"), "malformed:flow_direction"),
    "no direction": (line(flow_direction="-"), "malformed:flow_direction"),
    "a short line": (line().rpartition(" ")[0], "malformed:columns"),
    "no data": (line(**EMPTY, log_status="NODATA"), "nodata"),
    "skipped": (line(**EMPTY, log_status="SKIPDATA"), "skipdata"),
    "another port": (line(dstport="443"), "not-kafka"),
    "IPv6": (line(srcaddr="2001:db8::7", type="IPv6", bytes="6"), "kept"),
    "the day before": (line(start=str(NOON - 86_400), end=str(NOON - 86_340)), "other-day"),
}


def test_each_line_has_an_outcome_and_no_byte_is_lost(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows
    from rackwise.pipeline.ingest.silver import count_rows

    write(tmp_path, *(text for text, _ in BAD.values()), line())
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(f"{FIELDS}\n{line()}\n".encode())[:-20])
    days = (date(2026, 11, 1), date(2026, 11, 1))
    facts = read(spark, tmp_path, zoned_fleet(ZONES), days=days)
    assert Counter(fact.reason for fact in facts) == Counter(
        [*(reason for _, reason in BAD.values()), "kept", "malformed:file"]
    )
    by_raw = {fact.raw: fact.reason for fact in facts}
    for case, (text, reason) in BAD.items():
        if reason.startswith("malformed:"):
            assert by_raw[text] == reason, case
    counts = count_rows(read_flows(spark, [str(tmp_path)], "tgw"))
    assert counts.rows == len(facts)
    assert counts.bytes == sum(fact.bytes or 0 for fact in facts)


def test_parquet_and_text_are_read_together(spark, tmp_path):
    """Numbers are numbers there, and each row has its place in the file."""
    rows = [RECORD, RECORD | EGRESS | {"bytes": "1001"}, RECORD | {"dstport": "65536"}]
    columns = {
        name: [int(row[name]) if name in NUMBERS else row[name] for row in rows] for name in RECORD
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    fleet = zoned_fleet(ZONES)
    alone = read(spark, tmp_path, fleet)
    write(tmp_path, line(bytes="5"))
    both = read(spark, tmp_path, fleet)
    found = Counter((fact.reason, fact.bytes, fact.row_offset) for fact in alone)
    assert found == {
        ("kept", 1000, 0): 1,
        ("duplicate-side", 1001, 1): 1,
        ("malformed:dstport", 1000, 2): 1,
    }
    assert Counter((fact.reason, fact.bytes, fact.row_offset) for fact in both) == found + Counter(
        [("kept", 5, 2)]
    )


def test_logs_of_another_kind_name_the_format(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    write(tmp_path, line())
    with pytest.raises(InvalidFlows, match="got no interface_id") as error:
        read_flows(spark, [str(tmp_path)], "vpc")
    assert error.value.hint == "use --flow-format tgw"
    short = FIELDS.replace(" flow-direction", "")
    write(tmp_path, header=short)
    with pytest.raises(InvalidFlows, match="got no flow_direction"):
        read_flows(spark, [str(tmp_path)], "tgw")
