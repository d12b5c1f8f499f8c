"""Rows of VPC flow logs: each way a row can be malformed, and values that may be missing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flow_rows import BROKER, NO_DATA, NOON, ROW

DAY_S = 86_400
FAULTS = [
    ({"malformed": "malformed:columns", "srcaddr": None, "bytes": None}, "malformed:columns"),
    ({"srcaddr": "10.0.0.256"}, "malformed:srcaddr"),
    ({"srcaddr": "-"}, "malformed:srcaddr"),
    ({"srcaddr": "10.0.0.256", "pkt_srcaddr": "10.1.0.9"}, "malformed:srcaddr"),
    ({"dstaddr": "010.0.0.1"}, "malformed:dstaddr"),
    ({"dstaddr": "2001:db8::1::2"}, "malformed:dstaddr"),
    ({"pkt_srcaddr": "here"}, "malformed:pkt_srcaddr"),
    ({"pkt_dstaddr": "1:2:3"}, "malformed:pkt_dstaddr"),
    ({"srcport": "-"}, "malformed:srcport"),
    ({"srcport": "-1"}, "malformed:srcport"),
    ({"dstport": "65536"}, "malformed:dstport"),
    ({"protocol": "tcp"}, "malformed:protocol"),
    ({"protocol": "256"}, "malformed:protocol"),
    ({"packets": "1e3"}, "malformed:packets"),
    ({"packets": "-1"}, "malformed:packets"),
    ({"bytes": "12x"}, "malformed:bytes"),
    ({"bytes": "-5"}, "malformed:bytes"),
    ({"bytes": "9223372036854775808"}, "malformed:bytes"),
    ({"bytes": None}, "malformed:bytes"),
    ({"bytes": "+5"}, "malformed:bytes"),
    ({"bytes": " 5"}, "malformed:bytes"),
    ({"bytes": "0x1f"}, "malformed:bytes"),
    ({"bytes": "1.5"}, "malformed:bytes"),
    ({"bytes": "\u0665"}, "malformed:bytes"),
    ({"bytes": ""}, "malformed:bytes"),
    ({"bytes": "9" * 5000}, "malformed:bytes"),
    ({"start": "noon"}, "malformed:start"),
    ({"start": "-1"}, "malformed:start"),
    ({"start": str(2**62), "end": str(2**62)}, "malformed:start"),
    ({"start": str(2**16 * DAY_S), "end": str(2**16 * DAY_S)}, "malformed:start"),
    ({"start": "-", **NO_DATA, "log_status": "NODATA"}, "malformed:start"),
    ({"end": "-"}, "malformed:end"),
    ({"end": str(-(2**63))}, "malformed:end"),
    ({"end": str(NOON - 1)}, "malformed:end"),
    ({"end": str(NOON + DAY_S + 1)}, "malformed:end"),
    ({"log_status": "-"}, "malformed:log_status"),
    ({"log_status": "FINE"}, "malformed:log_status"),
    ({"flow_direction": "sideways"}, "malformed:flow_direction"),
    ({"srcaddr": "x", "bytes": "x"}, "malformed:srcaddr"),
    ({"srcaddr": "fe80::1%eth0"}, "malformed:srcaddr"),
]
NUMBERS = dict.fromkeys(("srcport", "dstport", "protocol"), pa.int32()) | dict.fromkeys(
    ("packets", "bytes", "start", "end"), pa.int64()
)
SOUND = [
    {},
    {"end": str(NOON + DAY_S)},
    {"end": str(NOON)},
    {"bytes": "0", "packets": "0"},
    {"bytes": "9223372036854775807", "packets": "00000000000000000000007"},
    {"pkt_srcaddr": "-", "pkt_dstaddr": "-", "flow_direction": "-"},
    {"action": "-"},
    {**NO_DATA, "log_status": "NODATA"},
    {**NO_DATA, "log_status": "SKIPDATA"},
]
NO_NUMBERS = {fault["bytes"] for fault, _ in FAULTS if "bytes" in fault}
OTHERS = dict.fromkeys(("az_id", "src_zone", "dst_zone", "malformed", "raw"))


def read(rows):
    """The parsed rows, together and one by one; each row has the values that differ from `ROW`."""
    from rackwise.pipeline.columns.addresses import AddressReader
    from rackwise.pipeline.ingest.vpc_rows import parse_rows

    whole = [ROW | OTHERS | row for row in rows]
    columns = {name: strings(row[name] for row in whole) for name in whole[0]}
    return parse_rows(pa.RecordBatch.from_pydict(columns), AddressReader())


def strings(texts):
    """Arrow strings as Parquet may have them; bytes are text that may not be UTF-8."""
    cells = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(cells, pa.binary()).view(pa.string())


@pytest.fixture(scope="module")
def found():
    return read([*(fault for fault, _ in FAULTS), *SOUND])


def test_a_malformed_row_names_its_first_bad_column(found):
    wanted = [*(reason for _, reason in FAULTS), *[None] * len(SOUND)]
    assert found.malformed.coded().to_pylist() == wanted


def test_bytes_have_a_value_whenever_they_are_a_number(found):
    for (fault, _), number in zip(FAULTS, found.numbers["bytes"], strict=False):
        text = fault.get("bytes", "1000")
        assert number == (-1 if text in {*NO_NUMBERS, "-", None} else 1000)
    assert found.numbers["bytes"][len(FAULTS) + 4] == 2**63 - 1
    assert found.numbers["packets"][len(FAULTS) + 4] == 7


def test_malformed_rows_are_kept_as_a_line(found):
    line = f"eni-k 10.0.0.256 {BROKER} 40000 9092 6 7 1000 {NOON} {NOON + 60} ACCEPT OK"
    raw = found.raw.to_pylist()
    assert raw[1] == line
    assert raw[len(FAULTS) :] == [None] * len(SOUND)


def test_a_row_without_a_line_is_cut_to_4096_characters():
    assert len(read([{"srcaddr": "x" * 5000}]).raw[0].as_py()) == 4096


def test_text_that_is_not_utf8_is_malformed():
    columns = ("srcaddr", "dstport", "bytes", "log_status", "flow_direction")
    rows = read([*({name: b"1\xff"} for name in columns), {"az_id": b"\xc3("}])
    faults = [*(f"malformed:{name}" for name in columns), None]
    assert rows.malformed.coded().to_pylist() == faults
    assert all("1\ufffd" in line for line in rows.raw.to_pylist()[:4])
    assert rows.texts["az_id"].names[-1] == "\ufffd("


def test_the_line_of_a_text_file_is_kept_unchanged():
    line = "x " * 2000
    assert read([{"malformed": "malformed:columns", "raw": line}]).raw.to_pylist() == [line]


def test_addresses_of_the_packet_take_precedence():
    rows = read([{"srcaddr": "100.64.0.1", "pkt_srcaddr": "10.1.0.9", "dstaddr": "::1"}])
    numbers = {name: int(rows.known.ip[codes[0]]) for name, codes in rows.codes.items()}
    assert numbers["src"] == 10 * 2**24 + 2**16 + 9
    assert numbers["own_src"] == 100 * 2**24 + 64 * 2**16 + 1
    assert numbers["dst"] == numbers["own_dst"] < -1
    assert rows.known.prefix[rows.codes["dst"][0]] == 0


def test_integers_of_parquet_are_read_unchanged():
    from rackwise.pipeline.columns.addresses import AddressReader
    from rackwise.pipeline.ingest.vpc_rows import parse_rows

    columns = {
        name: pa.array([text and int(text)] if name in NUMBERS else [text], kind)
        for name, text in (ROW | OTHERS).items()
        for kind in [NUMBERS.get(name, pa.string())]
    }
    rows = parse_rows(pa.RecordBatch.from_pydict(columns), AddressReader())
    assert rows.malformed.coded().to_pylist() == [None]
    assert {name: int(values[0]) for name, values in rows.numbers.items()} == {
        name: int(ROW[name]) for name in NUMBERS
    }
