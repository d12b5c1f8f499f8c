"""Generated flow logs of other clouds: the JSON of each row, and lines that no reader can take."""

from __future__ import annotations

import gzip

import pytest

from plain_flows import rows_of
from rackwise.adapters.files.tables.flow_json import write_gcp_json
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FleetOptions, FlowFormat, LineEdit, flow_file, generate_fleet
from rackwise.core.json.strict import parse
from rackwise.core.racks import Rack

OPTIONS = FleetOptions(
    brokers=6,
    topics=5,
    flows=2000,
    bad_rows=0.1,
    flow_format=FlowFormat.GCP,
    racks=(Rack("us-east4-a"), Rack("us-east4-b")),
    replication=2,
)


def document(line):
    return parse(line, where="line", error=InvalidConfig)


@pytest.fixture(scope="module")
def file():
    return flow_file(generate_fleet(OPTIONS), 0)[0]


@pytest.fixture(scope="module")
def lines(file, tmp_path_factory):
    path = tmp_path_factory.mktemp("gcp") / "flows.json"
    write_gcp_json(path, file)
    return path.read_bytes().splitlines()


def test_each_row_is_an_entry_with_the_fields_of_google(file, lines):
    edited = {spoil.row for spoil in file.spoiled}
    rows = rows_of(file)
    assert len(lines) == len(rows)
    seen = 0
    for at, (line, row) in enumerate(zip(lines, rows, strict=True)):
        if at in edited or None in (row["bytes"], row["start"], row["srcport"]):
            continue
        payload = document(line)["jsonPayload"]
        assert payload["connection"] == {
            "src_ip": row["srcaddr"],
            "src_port": row["srcport"],
            "dest_ip": row["dstaddr"],
            "dest_port": row["dstport"],
            "protocol": row["protocol"],
        }
        assert payload["reporter"] == row["reporter"]
        assert payload["bytes_sent"] == str(row["bytes"])
        zones = {"src_instance": row["src_zone"], "dest_instance": row["dst_zone"]}
        for name, zone in zones.items():
            assert payload.get(name, {}).get("zone") == zone
        seen += 1
    assert seen > len(rows) / 2
    reporters = {row["reporter"] for row in rows if not isinstance(row, str)}
    assert reporters >= {"SRC", "DEST", "SRC_GATEWAY"}


def test_lines_that_no_reader_can_take(file, lines):
    cut = [spoil.row for spoil in file.spoiled if spoil.edit is LineEdit.CUT]
    assert cut
    for row in cut:
        with pytest.raises(InvalidConfig):
            document(lines[row])
    assert any(len(line) > 2**16 for line in lines)
    assert any(b"\xff" in line for line in lines)
    texts = {spoil.text for spoil in file.spoiled if spoil.edit is LineEdit.FIELD}
    assert {"12x", "1e3", "tcp", "noon"} <= texts


def test_packed_files_hold_the_same(file, lines, tmp_path):
    write_gcp_json(tmp_path / "a.json.gz", file)
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()).splitlines() == lines
