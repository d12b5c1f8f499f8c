"""`rackwise snapshot`: what it writes, says and refuses."""

from __future__ import annotations

import re
import threading
from contextlib import closing

import pytest

from kafka_traffic import consumer, create
from rackwise.adapters.files import read_snapshot
from rackwise.adapters.kafka import connect, read_cluster
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.cli.main import run
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json.strict import parse

REASSIGNMENT = """{"version":1,"partitions":[
{"topic":"t","partition":0,"replicas":[1,2]},{"topic":"t","partition":1,"replicas":[2,3]}]}"""
RACKS = "broker,rack\n1,a\n2,b\n3,a\n"
NOW = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidSnapshot)


@pytest.fixture
def offline(tmp_path):
    placement, racks = tmp_path / "placement.json", tmp_path / "racks.csv"
    placement.write_text(REASSIGNMENT)
    racks.write_text(RACKS)
    return ["--reassignment", str(placement), "--racks", str(racks)]


@pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
def test_a_reassignment_with_racks_becomes_a_snapshot(tmp_path, offline, capsys, name):
    out = tmp_path / name
    assert run(["snapshot", *offline, "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}: 3 brokers, 2 racks, 1 topic, 2 partitions, 0 notes\n"
    assert captured.err == ""
    seen = read_snapshot(out)
    assert (seen.source, seen.cluster_id) == ("reassignment", None)
    assert NOW.fullmatch(seen.taken_at)
    assert [row.replicas for row in seen.partitions] == [(1, 2), (2, 3)]


def test_json_is_one_document_that_is_not_the_snapshot(tmp_path, offline, capsys):
    out = tmp_path / "s.json"
    assert run(["snapshot", *offline, "--out", str(out), "--json"]) == 0
    printed = document(capsys.readouterr().out)
    assert NOW.fullmatch(printed.pop("taken_at"))
    assert printed == {
        "format": "rackwise.snapshot-summary/1",
        "file": str(out),
        "source": "reassignment",
        "cluster_id": None,
        "brokers": 3,
        "brokers_live": 3,
        "brokers_without_rack": 0,
        "brokers_cordoned": 0,
        "racks": 2,
        "topics": 1,
        "partitions": 2,
        "groups": 0,
        "rates": 0,
        "notes": [],
    }


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ([], "exactly one of --bootstrap-server and --reassignment", "reads a cluster"),
        (
            ["--bootstrap-server", "a:1", "--reassignment", "f"],
            "exactly one of --bootstrap-server and --reassignment",
            "reads a cluster",
        ),
        (["--reassignment", "f"], "--reassignment requires --racks", "broker,rack"),
        (
            ["--bootstrap-server", "a:1", "--racks", "f"],
            "--racks requires --reassignment",
            "omit it",
        ),
        (
            ["--reassignment", "f", "--groups", "--topics", "a*", "--command-config", "c"],
            "--topics, --groups, --command-config require --bootstrap-server",
            "omit them",
        ),
        (
            ["--reassignment", "f", "--no-groups"],
            "--no-groups requires --bootstrap-server",
            "omit it",
        ),
        (
            ["--reassignment", "f", "--no-offsets"],
            "--no-offsets requires --bootstrap-server",
            "omit it",
        ),
        (
            ["--reassignment", "f", "--measure", "60s"],
            "--measure requires --bootstrap-server",
            "omit it",
        ),
        (
            ["--bootstrap-server", "a:1", "--measure", "60"],
            "invalid --measure: expected a duration such as 60s, got 60",
            "units: ms s min h d",
        ),
        (
            ["--bootstrap-server", "a:1", "--measure", "999ms"],
            "invalid --measure: expected at least 1s, got 999ms",
            "60s is enough",
        ),
        (
            ["--bootstrap-server", "a:1", "--measure", "1s", "--no-sizes", "--no-offsets"],
            "--measure requires sizes and offsets, got --no-sizes and --no-offsets",
            "omit --no-sizes and --no-offsets",
        ),
        (["--bootstrap-server", "a"], "expected HOST:PORT, got a", "kafka-1.internal:9092"),
        (
            ["--bootstrap-server", "a:1", "--command-config", "/none"],
            "cannot read client settings /none",
            "properties file",
        ),
        (["--reassignment", "/none", "--racks", "/none"], "/none", ""),
    ],
)
def test_sources_that_cannot_be_are_refused(tmp_path, capsys, arguments, message, hint):
    out = tmp_path / "s.json"
    assert run(["snapshot", *arguments, "--out", str(out)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err.splitlines()[0]
    assert hint in captured.err
    assert not out.exists()


def test_out_is_wanted(capsys):
    assert run(["snapshot", "--bootstrap-server", "a:1"]) == 1
    assert "--out" in capsys.readouterr().err


def test_a_broken_reassignment_names_the_fault_and_writes_nothing(tmp_path, offline, capsys):
    (tmp_path / "placement.json").write_text(REASSIGNMENT.replace("[2,3]", "[2,2]"))
    out = tmp_path / "s.json"
    assert run(["snapshot", *offline, "--out", str(out), "--json"]) == 1
    error = document(capsys.readouterr().err)
    assert error["error"] == "InvalidPlan"
    assert error["hint"]
    assert not out.exists()


def test_a_port_where_nobody_listens_is_told(tmp_path, capsys):
    settings = tmp_path / "client.properties"
    settings.write_text("default.api.timeout.ms=500\n")
    (port,) = free_ports(1)
    before = threading.active_count()
    source = ["--bootstrap-server", f"127.0.0.1:{port}", "--command-config", str(settings)]
    assert run(["snapshot", *source, "--out", str(tmp_path / "s")]) == 1
    captured = capsys.readouterr().err.splitlines()
    assert captured[0].startswith(f"error: no broker answers at 127.0.0.1:{port}: ")
    assert captured[1].startswith("hint: check the host, the port")
    assert len(captured) == 2
    assert threading.active_count() == before


def test_a_name_is_kept(tmp_path, offline):
    out = tmp_path / "s.json"
    assert run(["snapshot", *offline, "--out", str(out), "--name", "prod eu"]) == 0
    assert read_snapshot(out).name == "prod eu"


@pytest.mark.parametrize("name", ["", "a\x1b[31mb"])
def test_a_name_that_no_file_can_hold_is_refused(tmp_path, offline, capsys, name):
    out = tmp_path / "s.json"
    assert run(["snapshot", *offline, "--out", str(out), "--name", name]) == 1
    captured = capsys.readouterr().err.splitlines()
    assert captured[0].startswith("error: invalid --name: expected a name without control")
    assert captured[1] == "hint: for example --name prod-eu"
    assert not out.exists()


@pytest.mark.kafka
def test_a_running_cluster_becomes_a_snapshot(tmp_path, kraft_cluster, capsys):
    out = tmp_path / "s.json.gz"
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, "printed", [[0, 1], [3, 2]])
        arguments = ["snapshot", "--bootstrap-server", kraft_cluster.bootstrap, "--out", str(out)]
        with consumer(kraft_cluster.bootstrap, "readers", ["printed"], client_id="app"):
            assert run([*arguments, "--topics", "printed", "--topics", "none*"]) == 0
        captured = capsys.readouterr()
        seen = read_snapshot(out)
        groups = "1 group" if len(seen.groups) == 1 else f"{len(seen.groups)} groups"
        assert (
            captured.out == f"{out}: 4 brokers, 3 racks, 1 topic, 2 partitions, {groups}, 1 note\n"
        )
        assert captured.err == (
            "warning: not-visible: no topic that matches none* is visible to this principal\n"
        )
        again = read_cluster(admin, taken_at=seen.taken_at, topics=("printed",), offsets=True)
        assert (seen.brokers, seen.topics, seen.partitions) == (
            tuple(map(without_disk, again.brokers, seen.brokers)),
            again.topics,
            again.partitions,
        )
        assert set(seen.answered.offsets) == {0, 3}
        assert set(seen.answered.sizes) == {0, 1, 2, 3}
        (readers,) = (each for each in seen.groups if each.group == "readers")
        assert [each.client_id for each in readers.members] == ["app"]
        admin.delete_topics(["printed"])


def without_disk(broker, other):
    """The same broker with the disk sizes of another moment."""
    from dataclasses import replace

    return replace(broker, log_dirs=other.log_dirs)


@pytest.mark.zookeeper
def test_a_cluster_on_zookeeper_becomes_one_too(tmp_path, zookeeper_cluster, capsys):
    out = tmp_path / "s.json"
    with closing(connect(zookeeper_cluster.bootstrap)) as admin:
        create(admin, "printed", [[0, 1], [2, 1]])
        arguments = ["--bootstrap-server", zookeeper_cluster.bootstrap, "--no-sizes", "--resolve"]
        arguments += ["--no-groups"]
        assert run(["snapshot", *arguments, "--out", str(out), "--topics", "printed"]) == 0
        assert capsys.readouterr().out.endswith(
            ": 3 brokers, 3 racks, 1 topic, 2 partitions, 0 notes\n"
        )
        seen = read_snapshot(out)
        assert [row.bytes for row in seen.partitions] == [None, None]
        assert [row.end_offset for row in seen.partitions] == [0, 0]
        assert run(["snapshot", *arguments, "--out", str(out), "--no-offsets"]) == 0
        assert read_snapshot(out).partitions.offsets is None
        assert {broker.is_fenced for broker in seen.brokers} == {None}
        admin.delete_topics(["printed"])
