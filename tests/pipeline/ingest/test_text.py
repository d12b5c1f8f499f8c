"""Flow logs as text: headers, hostile lines, broken files, and the numbers of bad lines.

Tasks read files that they can open, and Spark reads the others; the rows are the same.
"""

from __future__ import annotations

import bz2
import gzip

import pytest

from flow_rows import BROKER, LOGGED, NOON, ROW, at_once, buckets_of, fleet_of
from rackwise.core.errors import InvalidFlows

pytestmark = pytest.mark.spark

V2 = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes "
    "start end action log-status"
)
OWN = (
    "bytes end start log-status action interface-id flow-direction dstport srcport protocol "
    "packets dstaddr srcaddr"
)
LINE = f"2 123 eni-k {LOGGED} {BROKER} 40000 9092 6 7 1000 {NOON} {NOON + 60} ACCEPT OK"
OWN_LINE = f"400 {NOON + 60} {NOON} OK ACCEPT eni-k egress 9092 40000 6 7 {BROKER} {LOGGED}"


@pytest.fixture(scope="module")
def fleet():
    return fleet_of()


@pytest.fixture(autouse=True, params=["tasks", "Spark"])
def reader(request, monkeypatch):
    """Who reads the files; a compression that only Spark knows is that of every file for Spark."""
    if request.param == "Spark":
        monkeypatch.setattr("rackwise.pipeline.ingest.files.OTHER_CODECS", ("",))
    return request.param


def files_in(spark, folder):
    from rackwise.pipeline.ingest.files import flow_files

    return flow_files(spark, [str(folder)])


def read(spark, folder):
    from rackwise.pipeline.ingest.formats import read_bronze

    return read_bronze(spark, files_in(spark, folder), "vpc")


def bad(rows):
    return sorted(
        (row.source_file.rpartition("/")[2], row.malformed, (row.raw or "")[:30])
        for row in rows
        if row.malformed
    )


def test_fields_follow_the_header_of_their_file(spark, tmp_path):
    (tmp_path / "a.log").write_text(f"{V2}\n{LINE}\n{LINE}\n")
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(f"{V2}\n{LINE}".encode()))
    (tmp_path / "c.log").write_text(f"{OWN}\r\n{OWN_LINE}\r\n\r\n  \n")
    (tmp_path / "d.log").write_text(f"{OWN.upper().replace('SRCADDR', 'srcaddr')}\n{OWN_LINE}\n")
    (tmp_path / "d.log").write_text(f"{V2}\n")
    (tmp_path / "e.log").write_text("\n\n")
    rows = read(spark, tmp_path).collect()
    assert sorted((row.bytes, row.srcaddr, row.end, row.flow_direction) for row in rows) == sorted(
        [("1000", LOGGED, str(NOON + 60), None)] * 3 + [("400", LOGGED, str(NOON + 60), "egress")],
        key=str,
    )
    assert {row.malformed for row in rows} == {None}
    assert {row.raw for row in rows} == {LINE, OWN_LINE}


def test_hostile_lines_become_bad_rows(spark, tmp_path):
    lines = [
        V2.encode(),
        LINE.encode(),
        b"y" * 10_000_000,
        b"x " * 3_000_000,
        LINE.replace("eni-k", "eni-\xff").encode("latin-1"),
        LINE.encode() + b" ",
        b" ".join(LINE.encode().split()[:9]),
        V2.encode(),
        b"\x00" * 20,
        LINE.encode(),
    ]
    (tmp_path / "a.log").write_bytes(b"\n".join(lines))
    rows = read(spark, tmp_path).collect()
    assert bad(rows) == [
        ("a.log", "malformed:charset", LINE[:30].replace("eni-k", "eni-\ufffd")),
        ("a.log", "malformed:columns", "\x00" * 20),
        ("a.log", "malformed:columns", LINE[:30]),
        ("a.log", "malformed:columns", LINE[:30]),
        ("a.log", "malformed:header", V2[:30]),
        ("a.log", "malformed:line", "x " * 15),
        ("a.log", "malformed:line", "y" * 30),
    ]
    assert sum(row.malformed is None for row in rows) == 2
    assert max(len(row.raw) for row in rows) == 4096


@pytest.mark.connect
def test_bad_lines_have_their_line_number(spark, tmp_path, fleet):
    from rackwise.pipeline.ingest.formats import flow_facts
    from rackwise.pipeline.ingest.silver import quarantined_rows

    twice = LINE.replace(" 1000 ", " -5 ")
    body = [V2, LINE, twice, "", LINE.replace(LOGGED, "10.0.0.256"), V2, twice, LINE, "short"]
    (tmp_path / "a b.log").write_text("\n".join(body))
    (tmp_path / "b.log.gz").write_bytes(gzip.compress("\n".join(body[:3]).encode()))
    (tmp_path / "good.log").write_text(f"{V2}\n{LINE}\n")
    rows = read(spark, tmp_path)
    facts = flow_facts(rows, fleet, buckets_of(fleet), format="vpc", persist=at_once)
    found = quarantined_rows(facts, files_in(spark, tmp_path)).collect()
    assert sorted((r.source_file[-6:], r.row_offset, r.reason, r.bytes, r.raw) for r in found) == [
        ("%20b.log"[-6:], 3, "malformed:bytes", None, twice),
        ("%20b.log"[-6:], 5, "malformed:srcaddr", 1000, body[4]),
        ("%20b.log"[-6:], 6, "malformed:header", None, V2),
        ("%20b.log"[-6:], 7, "malformed:bytes", None, twice),
        ("%20b.log"[-6:], 9, "malformed:columns", None, "short"),
        ("log.gz", 3, "malformed:bytes", None, twice),
    ]


def test_lines_are_numbered_through_all_blocks_of_a_file(spark, tmp_path):
    from rackwise.pipeline.ingest.text import with_line_numbers

    lines = [f"{V2}"] + [f"{LINE} {number}" for number in range(40_000)]
    (tmp_path / "a.log").write_text("\n".join(lines))
    (uri,) = (file.uri for file in files_in(spark, tmp_path))
    rows = [(uri, None, "malformed:columns", None, f"{LINE} {n}") for n in (0, 17, 20_000, 39_999)]
    rows.append((uri, 5, "malformed:columns", None, "placed"))
    frame = spark.createDataFrame(
        rows, "source_file string, row_offset long, reason string, bytes long, raw string"
    )
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300000")
    try:
        found = with_line_numbers(spark, frame, files_in(spark, tmp_path)).collect()
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert sorted(row.row_offset for row in found) == [2, 5, 19, 20_002, 40_001]


KINDS = ("cut", "flipped", "padded", "no gzip")


def broken_gzip(kind):
    whole = gzip.compress(f"{V2}\n{LINE}\n".encode() * 2000)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    return {
        "cut": whole[:-40],
        "flipped": bytes(flipped),
        "padded": whole + b"\0" * 8,
        "no gzip": b"nothing",
    }[kind]


def write_intact(folder):
    """Two files that are sound, one of them of two members."""
    (folder / "members.log.gz").write_bytes(
        gzip.compress(f"{V2}\n".encode()) + gzip.compress(f"{LINE}\n".encode())
    )
    (folder / "a.log").write_text(f"{V2}\n{LINE}\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_gzip_file_is_one_bad_row_and_the_rest_is_read(spark, tmp_path, kind):
    (tmp_path / "broken.log.gz").write_bytes(broken_gzip(kind))
    write_intact(tmp_path)
    rows = read(spark, tmp_path).collect()
    assert bad(rows) == [("broken.log.gz", "malformed:file", "")]
    assert sum(row.malformed is None for row in rows) == 2


def test_broken_gzip_files_are_in_quarantine(spark, tmp_path, fleet):
    from rackwise.pipeline.ingest.formats import flow_facts
    from rackwise.pipeline.ingest.silver import quarantined_rows

    for number, kind in enumerate(KINDS):
        (tmp_path / f"{number}.log.gz").write_bytes(broken_gzip(kind))
    write_intact(tmp_path)
    rows = read(spark, tmp_path)
    facts = flow_facts(rows, fleet, buckets_of(fleet), format="vpc", persist=at_once)
    found = quarantined_rows(facts, files_in(spark, tmp_path)).collect()
    assert sorted(
        (row.source_file.rpartition("/")[2], row.reason, row.row_offset, row.bytes) for row in found
    ) == [(f"{number}.log.gz", "malformed:file", 0, None) for number in range(len(KINDS))]


def test_an_unreadable_file_is_rejected(spark, tmp_path):
    (tmp_path / "a.log").write_text(f"{V2}\n")
    (tmp_path / "b.log.bz2").write_bytes(bz2.compress(f"{V2}\n{LINE}\n".encode() * 2000)[:-40])
    with pytest.raises(InvalidFlows, match=r"Spark: \[FAILED_READ_FILE"):
        read(spark, tmp_path)
    (tmp_path / "c.log.gz").write_bytes(b"nothing")
    with pytest.raises(InvalidFlows, match=r"Spark: \[FAILED_READ_FILE"):
        read(spark, tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("cluster,topic\ndemo,orders\n", 'got "cluster,topic"'),
        ("\x1b[31m\n", r'got "\x1b[31m"'),
        (V2.encode("utf-16").decode("latin-1"), "expected a header line with srcaddr and dstaddr"),
        (f"{V2.replace(' bytes', '')}\n", "got no bytes, but version account_id"),
        (f"{V2} bytes\n", "got bytes twice"),
    ],
)
def test_a_file_without_a_valid_header_is_rejected(spark, tmp_path, content, sentence):
    (tmp_path / "a.log").write_text(content)
    with pytest.raises(InvalidFlows) as caught:
        read(spark, tmp_path)
    assert sentence in caught.value.message
    assert caught.value.where.endswith("a.log")
    assert caught.value.hint


def test_rows_are_the_fields_of_the_line(spark, tmp_path):
    (tmp_path / "a.log").write_text(f"{V2}\n{LINE}\n")
    (row,) = read(spark, tmp_path).collect()
    fields = {name: row[name] for name in ROW}
    assert fields == ROW | {"flow_direction": None}
