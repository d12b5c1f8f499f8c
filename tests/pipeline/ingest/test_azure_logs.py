"""Virtual network flow logs of Azure: tuples as rows, and the outcome of each tuple."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import date
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import BROKER, NOON, SECOND, facts_in, fleet_of
from rackwise.core.errors import InvalidFlows
from rackwise.pipeline.ingest.azure_logs import document_rows, tuple_rows

CLIENT, STRANGER = "10.1.0.7", "203.0.113.9"
SIX = "2001:db8::7"
PLACES = {
    name: place
    for place, name in enumerate(
        [
            "time",
            "source",
            "target",
            "source_port",
            "target_port",
            "protocol",
            "direction",
            "state",
            "encryption",
            "packets_to",
            "bytes_to",
            "packets_back",
            "bytes_back",
        ]
    )
}


def flow(**values):
    """A tuple: a logged client has sent 1000 bytes to broker 1, and has got 300 back."""
    cells = [f"{NOON}123", CLIENT, BROKER, "40000", "9092", "6", "O", "C", "NX"]
    cells += ["7", "1000", "5", "300"]
    for name, value in values.items():
        cells[PLACES[name]] = str(value)
    return ",".join(cells)


def record(*tuples, mac="00224871C205"):
    """The flows of an interface in a minute."""
    return {
        "time": "2026-11-01T12:01:00.4370461Z",
        "flowLogVersion": 4,
        "flowLogGUID": "66aa66aa-bb77-cc88-dd99-00ee00ee00ee",
        "macAddress": mac,
        "category": "FlowLogFlowEvent",
        "flowLogResourceID": "/SUBSCRIPTIONS/S/RESOURCEGROUPS/NETWORKWATCHERRG/FLOWLOGS/KAFKA",
        "targetResourceID": "/subscriptions/s/resourceGroups/g/virtualNetworks/prod",
        "operationName": "FlowLogFlowEvent",
        "flowRecords": {
            "flows": [
                {
                    "aclID": "00aa00aa-bb11-cc22-dd33-44ee44ee44ee",
                    "flowGroups": [{"rule": "DefaultRule_AllowVnet", "flowTuples": [*tuples]}],
                }
            ]
        },
    }


def document(*records):
    return json.dumps({"records": [*records]})


def rows_of(text):
    return [*document_rows(text.encode())]


class TestTuples:
    """A tuple is a row for each direction with data."""

    def test_both_directions(self):
        shared = {
            "protocol": "6",
            "start": str(NOON),
            "end": str(NOON),
            "action": "ACCEPT",
            "log_status": "OK",
            "malformed": None,
        }
        to = {"srcaddr": CLIENT, "dstaddr": BROKER, "srcport": "40000", "dstport": "9092"}
        back = {"srcaddr": BROKER, "dstaddr": CLIENT, "srcport": "9092", "dstport": "40000"}
        assert [*tuple_rows(flow())] == [
            shared | to | {"packets": "7", "bytes": "1000", "flow_direction": "egress"},
            shared | back | {"packets": "5", "bytes": "300", "flow_direction": "ingress"},
        ]
        assert [row["flow_direction"] for row in tuple_rows(flow(direction="I"))] == [
            "ingress",
            "egress",
        ]

    @pytest.mark.parametrize(
        ("values", "found"),
        [
            ({"packets_back": 0, "bytes_back": 0}, [(CLIENT, "1000")]),
            ({"packets_to": 0, "bytes_to": 0}, [(BROKER, "300")]),
            (
                {"packets_to": 0, "bytes_to": 0, "packets_back": "", "bytes_back": ""},
                [(CLIENT, "0")],
            ),
            ({"packets_to": 0}, [(CLIENT, "1000"), (BROKER, "300")]),
        ],
    )
    def test_a_direction_without_packets_and_bytes_is_no_row(self, values, found):
        assert [(row["srcaddr"], row["bytes"]) for row in tuple_rows(flow(**values))] == found

    @pytest.mark.parametrize(
        ("state", "status", "action"),
        [
            ("B", "NODATA", "ACCEPT"),
            ("C", "OK", "ACCEPT"),
            ("E", "OK", "ACCEPT"),
            ("D", "OK", "REJECT"),
        ],
    )
    def test_states(self, state, status, action):
        nothing = dict.fromkeys(("packets_to", "bytes_to", "packets_back", "bytes_back"), 0)
        (row,) = tuple_rows(flow(state=state, **nothing))
        assert (row["log_status"], row["action"], row["malformed"]) == (status, action, None)

    @pytest.mark.parametrize("text", ["", "a,b", flow() + ",more", flow().rpartition(",")[0]])
    def test_another_number_of_values(self, text):
        assert [*tuple_rows(text)] == [{"malformed": "malformed:columns"}]


class TestDocuments:
    """Tuples are numbered; what follows a damage is one row."""

    def test_rows_have_the_interface_and_the_number_of_their_tuple(self):
        text = document(record(flow(), flow(direction="I")), record("x", mac="000D3AF87856"))
        assert [(row.get("interface_id"), row["row_offset"]) for row in rows_of(text)] == [
            ("00224871C205", 1),
            ("00224871C205", 1),
            ("00224871C205", 2),
            ("00224871C205", 2),
            ("000D3AF87856", 3),
        ]
        assert {row["raw"] for row in rows_of(text)} == {flow(), flow(direction="I"), "x"}

    def test_layout_and_byte_order_mark_do_not_matter(self):
        text = json.dumps({"records": [record(flow()), record(flow())]}, indent=4)
        assert rows_of("\ufeff\r\n" + text) == rows_of(document(record(flow()), record(flow())))
        assert rows_of(document()) == []

    @pytest.mark.parametrize("cut", [1, 2, 3, 200, 500])
    def test_a_cut_document_keeps_what_precedes_the_cut(self, cut):
        text = document(record(flow(), flow()), record(flow()))
        *rows, last = rows_of(text[:-cut])
        assert len(rows) == (6 if cut <= 2 else 4)
        assert last["malformed"] == "malformed:json"
        assert last["row_offset"] == (4 if cut <= 2 else 3)
        assert text[:-cut].endswith(last["raw"])

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "not JSON",
            '{"records": {}}',
            '{"Records": []}',
            '{"records": []} more',
            '{"records": [' + "[" * 100_000,
        ],
    )
    def test_another_document_is_one_bad_row(self, text):
        (row,) = rows_of(text)
        assert (row["malformed"], row["row_offset"]) == ("malformed:json", 1)
        assert len(row["raw"]) <= 4096

    @pytest.mark.parametrize(
        "other",
        [
            7,
            {},
            {"flowRecords": None},
            {"flowRecords": {"flows": [{"flowGroups": [{}]}]}},
            {"flowRecords": {"flows": [{"flowGroups": [{"flowTuples": [flow(), 7]}]}]}},
            {"properties": {"Version": 2, "flows": []}},
        ],
    )
    def test_another_record_is_one_bad_row_among_the_others(self, other):
        rows = rows_of(document(record(flow()), other, record(flow())))
        assert [row.get("malformed") for row in rows] == [
            *(None, None, "malformed:json", None, None)
        ]
        assert rows[2]["raw"] == json.dumps(other)

    def test_compressed_documents(self):
        text = document(record(flow())).encode()
        members = gzip.compress(text[:50]) + gzip.compress(text[50:])
        assert [*document_rows(members, is_gzip=True)] == [*document_rows(text)]
        for damaged in (members[:-10], members + b"x", text, members[60:]):
            assert [*document_rows(damaged, is_gzip=True)] == [
                {"malformed": "malformed:file", "row_offset": 0}
            ]


read = partial(facts_in, flow_format="azure")


def write(folder, *tuples, name="PT1H.json"):
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(document(record(*tuples)))


@pytest.mark.spark
@pytest.mark.connect
def test_a_tuple_is_a_flow_each_way(spark, tmp_path):
    write(tmp_path / "y=2026" / "m=11" / "d=01" / "h=12" / "m=00", flow(), flow(source=SIX))
    facts = read(spark, tmp_path, fleet_of())
    assert Counter((fact.reason, fact.kind, fact.bytes, fact.broker_rack) for fact in facts) == {
        ("kept", 0, 1000, 2): 2,
        ("kept", 1, 300, 2): 2,
    }
    assert {fact.client_rack for fact in facts} == {2, 3}
    assert {fact.window_start.timestamp() for fact in facts} == {NOON}
    assert {(fact.window_s, fact.quality) for fact in facts} == {(0, 0)}


@pytest.mark.spark
def test_a_flow_that_both_interfaces_log_counts_once(spark, tmp_path):
    """The client and both brokers are logged, the stranger is not."""
    write(
        tmp_path,
        flow(),
        flow(direction="I"),
        flow(source=STRANGER, direction="I", bytes_to=500, bytes_back=50),
        flow(source=SECOND, bytes_to=20, bytes_back=2000),
        flow(source=SECOND, direction="I", bytes_to=20, bytes_back=2000),
    )
    facts = read(spark, tmp_path, fleet_of())
    assert Counter((fact.reason, fact.kind, fact.bytes) for fact in facts) == {
        ("kept", 0, 1000): 1,
        ("kept", 1, 300): 1,
        ("duplicate-side", 0, 1000): 1,
        ("duplicate-side", 1, 300): 1,
        ("kept", 0, 500): 1,
        ("kept", 1, 50): 1,
        ("kept", 2, 20): 1,
        ("kept", 2, 2000): 1,
        ("duplicate-side", 2, 20): 1,
        ("duplicate-side", 2, 2000): 1,
    }


ONE_WAY = {"packets_back": 0, "bytes_back": 0}
BAD = {
    "no address": (flow(target="10.0.0.256", **ONE_WAY), "malformed:dstaddr"),
    "empty address": (flow(source="", **ONE_WAY), "malformed:srcaddr"),
    "negative bytes": (flow(bytes_to=-5, **ONE_WAY), "malformed:bytes"),
    "text in bytes": (flow(bytes_to="12x", **ONE_WAY), "malformed:bytes"),
    "no bytes": (flow(bytes_to="", **ONE_WAY), "malformed:bytes"),
    "too many bytes": (flow(bytes_to=2**63, **ONE_WAY), "malformed:bytes"),
    "negative packets": (flow(packets_to=-1, **ONE_WAY), "malformed:packets"),
    "text in a port": (flow(source_port="http", **ONE_WAY), "malformed:srcport"),
    "a port out of range": (flow(target_port=65536, **ONE_WAY), "malformed:dstport"),
    "protocol by name": (flow(protocol="T", **ONE_WAY), "malformed:protocol"),
    "text in the time": (flow(time="noon", **ONE_WAY), "malformed:start"),
    "a negative time": (flow(time="-5", **ONE_WAY), "malformed:start"),
    "another direction": (flow(direction="X", **ONE_WAY), "malformed:flow_direction"),
    "no direction": (flow(direction="", **ONE_WAY), "malformed:flow_direction"),
    "another state": (flow(state="X", **ONE_WAY), "malformed:flow_state"),
    "a short tuple": ("a,b", "malformed:columns"),
    "begin": (flow(state="B", packets_to="", bytes_to="", **ONE_WAY), "nodata"),
    "denied": (flow(state="D", packets_to=0, bytes_to=0, **ONE_WAY), "rejected"),
    "another port": (flow(target_port=443, **ONE_WAY), "not-kafka"),
    "UDP": (flow(protocol=17, **ONE_WAY), "not-kafka"),
    "the day before": (flow(time=(NOON - 86_400) * 1000, **ONE_WAY), "other-day"),
}


@pytest.mark.spark
def test_each_tuple_has_an_outcome_and_no_byte_is_lost(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows
    from rackwise.pipeline.ingest.silver import count_rows

    write(tmp_path, *(text for text, _ in BAD.values()), flow())
    (tmp_path / "cut.json").write_text(document(record(flow()), record(flow()))[:-100])
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(document(record(flow())).encode())[:-9])
    days = (date(2026, 11, 1), date(2026, 11, 1))
    facts = read(spark, tmp_path, fleet_of(), days=days)
    assert Counter(fact.reason for fact in facts) == Counter(
        [*(reason for _, reason in BAD.values()), *["kept"] * 4, "malformed:json", "malformed:file"]
    )
    by_raw = {fact.raw: fact.reason for fact in facts}
    for case, (text, reason) in BAD.items():
        if reason.startswith("malformed:"):
            assert by_raw[text] == reason, case
    places = {fact.raw: fact.row_offset for fact in facts if fact.raw}
    assert places[BAD["negative bytes"][0]] == 3
    counts = count_rows(read_flows(spark, [str(tmp_path)], "azure"))
    assert counts.rows == len(facts)
    assert counts.bytes == sum(fact.bytes or 0 for fact in facts)


@pytest.mark.spark
def test_parquet_is_refused_in_one_line(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    parquet.write_table(pa.table({"records": ["x"]}), tmp_path / "flows.parquet")
    with pytest.raises(InvalidFlows, match=r"expected JSON files .*flows\.parquet"):
        read_flows(spark, [str(tmp_path)], "azure")
