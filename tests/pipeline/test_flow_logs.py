"""Rows of VPC flow logs: each way a row can be malformed, and what is missing without harm."""

from __future__ import annotations

import pytest

from flow_rows import BROKER, NO_DATA, NOON, bronze

pytestmark = pytest.mark.spark

DAY_S = 86_400
LARGEST_COMPILED = 8000
"""Bytes of a method; Java leaves larger ones to its interpreter."""
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
    ({"start": "noon"}, "malformed:start"),
    ({"start": "-1"}, "malformed:start"),
    ({"start": str(2**62), "end": str(2**62)}, "malformed:start"),
    ({"start": "-", **NO_DATA, "log_status": "NODATA"}, "malformed:start"),
    ({"end": "-"}, "malformed:end"),
    ({"end": str(-(2**63))}, "malformed:end"),
    ({"end": str(NOON - 1)}, "malformed:end"),
    ({"end": str(NOON + DAY_S + 1)}, "malformed:end"),
    ({"log_status": "-"}, "malformed:log_status"),
    ({"log_status": "FINE"}, "malformed:log_status"),
    ({"flow_direction": "sideways"}, "malformed:flow_direction"),
    ({"srcaddr": "x", "bytes": "x"}, "malformed:srcaddr"),
]
SOUND = [
    {},
    {"end": str(NOON + DAY_S)},
    {"end": str(NOON)},
    {"bytes": "0", "packets": "0"},
    {"pkt_srcaddr": "-", "pkt_dstaddr": "-", "flow_direction": "-"},
    {"action": "-"},
    {**NO_DATA, "log_status": "NODATA"},
    {**NO_DATA, "log_status": "SKIPDATA"},
]
BYTES = {None: None, "12x": None, "x": None, "-5": None, "9223372036854775808": None, "-": None}
"""What a reader can count of the bytes of a row; all others are numbers."""


@pytest.fixture(scope="module")
def read(spark):
    from rackwise.pipeline.flow_logs import read_rows

    rows = bronze(spark, [*(fault for fault, _ in FAULTS), *SOUND])
    return {row.row_offset: row for row in read_rows(rows).collect()}


@pytest.mark.parametrize("place", range(len(FAULTS)), ids=lambda place: f"{FAULTS[place][0]}")
def test_a_malformed_row_names_its_first_bad_column_and_keeps_its_bytes(read, place):
    fault, reason = FAULTS[place]
    assert read[place].malformed == reason
    assert read[place].bytes == BYTES.get(fault.get("bytes", "1000"), 1000)


def test_rows_that_lack_what_they_need_not_have_are_sound(read):
    assert {read[len(FAULTS) + place].malformed for place in range(len(SOUND))} == {None}


def test_a_malformed_row_is_shown_as_a_line_and_a_sound_one_is_not(read):
    line = f"eni-k 10.0.0.256 {BROKER} 40000 9092 6 7 1000 {NOON} {NOON + 60} ACCEPT OK"
    assert read[1].raw == line
    assert read[len(FAULTS)].raw is None


def test_the_line_of_a_text_file_is_shown_as_it_is_up_to_4096_characters(spark):
    from rackwise.pipeline.flow_logs import read_rows

    long = "x " * 3000
    rows = read_rows(bronze(spark, [{"malformed": "malformed:columns", "raw": long}])).collect()
    assert rows[0].raw == long


def test_what_the_packet_carries_wins_over_what_the_interface_has(spark):
    from rackwise.pipeline.flow_logs import read_rows

    row = read_rows(
        bronze(spark, [{"srcaddr": "100.64.0.1", "pkt_srcaddr": "10.1.0.9", "dstaddr": "::1"}])
    ).collect()[0]
    assert (row.src_ip, row.own_src_ip) == (10 * 2**24 + 2**16 + 9, 100 * 2**24 + 64 * 2**16 + 1)
    assert (row.dst_ip < 0, row.dst_prefix, row.own_dst_ip == row.dst_ip) == (True, 0, True)


def test_numbers_of_parquet_are_taken_as_they_are(spark):
    from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

    from rackwise.pipeline.flow_logs import read_rows

    typed = bronze(spark, [{}]).withColumns(
        {name: F.col(name).cast("int") for name in ("srcport", "dstport", "protocol")}
        | {name: F.col(name).cast("long") for name in ("packets", "bytes", "start", "end")}
    )
    row = read_rows(typed).collect()[0]
    assert (row.malformed, row.srcport, row.bytes, row.start) == (None, 40000, 1000, NOON)


def test_java_compiles_what_is_generated_for_a_row(spark):
    from rackwise.pipeline.flow_logs import read_rows

    rows = read_rows(bronze(spark, [{}]))
    debug = spark._jvm.org.apache.spark.sql.execution.debug.package
    found = debug.codegenStringSeq(rows._jdf.queryExecution().executedPlan())
    sizes = [found.apply(n)._3().maxMethodCodeSize() for n in range(found.size())]
    assert max(sizes) < LARGEST_COMPILED
