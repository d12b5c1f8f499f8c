"""Flow logs as text: the header, missing values, and lines that no reader can take."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from plain_flows import rows_of
from rackwise.adapters.files.tables.flow_text import (
    flow_text,
    write_document,
    write_flow_text,
    write_rack_table,
)
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FleetOptions, FlowFormat, flow_file, generate_fleet

OPTIONS = FleetOptions(
    brokers=6, topics=5, flows=2000, bad_rows=0.1, flow_format=FlowFormat.VPC_TEXT
)


@pytest.fixture(scope="module")
def file():
    return flow_file(generate_fleet(OPTIONS), 0)[0]


def test_the_header_has_the_names_of_the_fields_with_hyphens(file):
    header, *_ = flow_text(file).splitlines()
    assert header.startswith("version account-id interface-id srcaddr dstaddr srcport dstport ")
    assert "log-status" in header
    assert header.endswith("pkt-srcaddr pkt-dstaddr az-id flow-direction traffic-path")


def test_each_line_has_the_fields_of_its_row(file):
    _, *lines = flow_text(file).split("\n")
    assert lines.pop() == ""
    rows = rows_of(file)
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        if not isinstance(row, str):
            assert line == " ".join("-" if value is None else str(value) for value in row.values())


def test_lines_that_no_reader_can_take(file):
    header, *lines = flow_text(file).split("\n")
    bad = {}
    for line, row in zip(lines, rows_of(file), strict=False):
        if isinstance(row, str):
            bad.setdefault(row, []).append(line)
    assert {len(line.split(" ")) for line in bad["malformed:columns"]} == {11, 21}
    assert set(bad["malformed:header"]) == {header}
    assert all(len(line) > 2**16 for line in bad["malformed:line"])
    assert all("\udcff" in line for line in bad["malformed:charset"])


def test_a_byte_that_is_no_utf_8_is_written_as_it_is(file, tmp_path):
    write_flow_text(tmp_path / "a.log", file)
    data = (tmp_path / "a.log").read_bytes()
    assert b" \xff " in data
    assert data.decode(errors="surrogateescape") == flow_text(file)


def test_packed_files_are_equal_and_hold_the_same(file, tmp_path):
    for name in ("a.log", "a.log.gz", "b.log.gz"):
        write_flow_text(tmp_path / name, file)
    packed = (tmp_path / "a.log.gz").read_bytes()
    assert packed == (tmp_path / "b.log.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.log").read_bytes()


def test_version_2_has_fourteen_fields():
    file = flow_file(generate_fleet(replace(OPTIONS, log_version=2, bad_rows=0)), 0)[0]
    assert {len(line.split(" ")) for line in flow_text(file).splitlines()} == {14}


def test_tables_and_documents(tmp_path):
    write_rack_table(tmp_path / "subnets.csv", "cidr", [("10.0.0.0/20", "/eu/a")])
    assert (tmp_path / "subnets.csv").read_text() == '"cidr","rack"\n"10.0.0.0/20","/eu/a"\n'
    write_document(tmp_path / "truth.json", {"b": 1, "a": ["é"]})
    assert (tmp_path / "truth.json").read_text() == '{\n "a": [\n  "é"\n ],\n "b": 1\n}\n'


def test_a_folder_that_is_not_there(file, tmp_path):
    with pytest.raises(InvalidConfig, match="cannot be written"):
        write_flow_text(tmp_path / "nowhere" / "a.log", file)
