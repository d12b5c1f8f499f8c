"""Generated flow logs of other clouds: the JSON of each row, and lines that no reader can take."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace

import pytest

from plain_flows import rows_of
from rackwise.adapters.files.tables.flow_json import (
    write_azure_json,
    write_gcp_json,
    write_obi_json,
)
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


PARTS, SIDES = ("address", "port", "zone"), ("obi.ip", "k8s.src.node.ip", "k8s.dst.node.ip")
NUMBERS = ("startTimeUnixNano", "timeUnixNano", "asInt")


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


@pytest.fixture(scope="module")
def azure_file():
    options = replace(OPTIONS, flow_format=FlowFormat.AZURE)
    return flow_file(generate_fleet(options), 0)[0]


@pytest.fixture(scope="module")
def azure_tuples(azure_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("azure") / "PT1H.json"
    write_azure_json(path, azure_file)
    found = {}
    for record in document(path.read_bytes())["records"]:
        (flow,) = record["flowRecords"]["flows"]
        (group,) = flow["flowGroups"]
        assert record["macAddress"] not in found
        found[record["macAddress"]] = group["flowTuples"]
    return found


def test_each_row_is_a_tuple_of_its_interface(azure_file, azure_tuples):
    rows = [row for row in rows_of(azure_file) if not isinstance(row, str)]
    assert sum(map(len, azure_tuples.values())) == len(azure_file)
    whole = {line for lines in azure_tuples.values() for line in lines}
    seen = 0
    for row in rows:
        if None in row.values():
            continue
        ends = (row["srcaddr"], row["dstaddr"], row["srcport"], row["dstport"], row["protocol"])
        letter = {"egress": "O", "ingress": "I"}.get(row["flow_direction"])
        sizes = (row["packets"], row["bytes"], 0, 0)
        if row["is_answer"]:
            ends = (*reversed(ends[:2]), *reversed(ends[2:4]), ends[4])
            letter = {"O": "I", "I": "O"}.get(letter)
            sizes = (*sizes[2:], *sizes[:2])
        cells = (f"{row['start']}123", *ends, letter, row["flow_state"], "NX", *sizes)
        seen += ",".join(map(str, cells)) in whole
    assert seen > len(rows) * 0.9


def test_states_and_bad_tuples(azure_tuples):
    cells = [line.split(",") for lines in azure_tuples.values() for line in lines]
    assert {line[7] for line in cells if len(line) == 13} >= {"B", "C", "E", "D", "X"}
    assert {len(line) for line in cells} == {12, 13, 14}
    begun = [line for line in cells if len(line) == 13 and line[7] == "B"]
    assert {tuple(line[9:]) for line in begun} == {("0",) * 4}
    assert any(line[10] == "12x" or line[12] == "12x" for line in cells if len(line) == 13)


@pytest.fixture(scope="module")
def obi_file():
    return flow_file(generate_fleet(replace(OPTIONS, flow_format=FlowFormat.OBI)), 0)[0]


@pytest.fixture(scope="module")
def obi_lines(obi_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("obi") / "metrics.json"
    write_obi_json(path, obi_file)
    return path.read_bytes().splitlines()


def points_of(line):
    for resource in document(line)["resourceMetrics"]:
        (scope,) = resource["scopeMetrics"]
        (metric,) = scope["metrics"]
        assert metric["name"] == "obi.network.flow.bytes"
        assert metric["sum"]["aggregationTemporality"] == 1
        for point in metric["sum"]["dataPoints"]:
            values = {one["key"]: next(iter(one["value"].values())) for one in point["attributes"]}
            yield point, values


def test_each_row_is_a_data_point_of_its_node(obi_file, obi_lines):
    rows = [row for row in rows_of(obi_file) if not isinstance(row, str)]
    found = Counter()
    for line in obi_lines:
        try:
            points = [*points_of(line)]
        except InvalidConfig:
            continue
        for point, values in points:
            assert values.get("transport") == "TCP"
            found[
                (
                    *(values.get(f"{end}.{what}") for end in ("src", "dst") for what in PARTS),
                    *(values.get(name) for name in SIDES),
                    *(point.get(name) for name in NUMBERS),
                )
            ] += 1
    seen = 0
    for row in rows:
        if None in (row["bytes"], row["start"], row["srcport"]) or "noon" in row.values():
            continue
        key = (
            *(row["srcaddr"], str(row["srcport"]), row["src_zone"]),
            *(row["dstaddr"], str(row["dstport"]), row["dst_zone"]),
            *(row["obi_ip"], row["src_node"], row["dst_node"]),
            *(f"{row['start']}000000000", f"{row['end']}000000000", str(row["bytes"])),
        )
        assert found[key], row
        seen += 1
    assert seen > len(rows) * 0.9


def test_lines_of_metrics_that_no_reader_can_take(obi_file, obi_lines):
    """Each has one point, and the other lines have many."""
    bad = [spoil for spoil in obi_file.spoiled if spoil.edit is LineEdit.CUT]
    bad += [spoil for spoil in obi_file.spoiled if spoil.column == "interface_id"]
    unread = []
    for line in obi_lines:
        try:
            document(line)
        except InvalidConfig:
            unread.append(line)
    assert len(unread) == len(bad) > 5
    assert len(obi_lines) < len(bad) + len(obi_file) / 50
    assert any(b"\xff" in line for line in unread)
