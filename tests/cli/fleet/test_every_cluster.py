"""`snapshot`, `audit` and `plan` for a fleet of real clusters, one of them down, one hanging."""

from __future__ import annotations

import errno
import gzip
import os
import re
import socket
from contextlib import closing

import pytest

from kafka_traffic import create, delete
from rackwise.adapters.files import read_plan, read_snapshot
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.cli.fleet.every_cluster import last_snapshot
from rackwise.cli.main import run
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json.strict import parse
from small_disk import fill, small_disk

TOPIC = "fleet-rows"
PAGES = 2500
"""Pages of a disk on which all snapshots fit."""
SOON = "default.api.timeout.ms=3000\n"


@pytest.fixture
def hanging():
    """The address of a listener that never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def fleet(kraft_cluster, zookeeper_cluster, hanging, tmp_path, monkeypatch):
    """Two clusters that run, one that is down and one that hangs; in the working folder."""
    [down] = free_ports(1)
    (tmp_path / "soon.properties").write_text(SOON)
    (tmp_path / "strict.toml").write_text(
        'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["*"]\nreplication = 2\n'
    )
    path = tmp_path / "rackwise.toml"
    path.write_text(
        "[defaults]\n"
        'owner = "platform"\n'
        'command_config = "soon.properties"\n'
        "[clusters.new]\n"
        f'bootstrap = "{kraft_cluster.bootstrap}"\n'
        'policy = "strict.toml"\n'
        "[clusters.down]\n"
        f'bootstrap = "127.0.0.1:{down}"\n'
        "[clusters.old]\n"
        f'bootstrap = "{zookeeper_cluster.bootstrap}"\n'
        'owner = "payments"\n'
        "[clusters.hangs]\n"
        f'bootstrap = "{hanging}"\n'
    )
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def topic(kraft_cluster, zookeeper_cluster):
    """A topic with one replica on each of the two clusters."""
    for each in (kraft_cluster, zookeeper_cluster):
        with closing(connect(each.bootstrap)) as admin:
            create(admin, TOPIC, [[1], [2]])
    yield TOPIC
    for each in (kraft_cluster, zookeeper_cluster):
        with closing(connect(each.bootstrap)) as admin:
            delete(admin, TOPIC)


def called(capsys, *words):
    code = run([*words, "--json"])
    captured = capsys.readouterr()
    document = parse(captured.out.encode(), where="stdout", error=InvalidSnapshot)
    return code, {each["name"]: each for each in document["clusters"]}, captured.err


@pytest.mark.kafka
@pytest.mark.zookeeper
@pytest.mark.usefixtures("topic")
def test_a_fleet_is_snapshot_audited_and_planned_though_one_is_down_and_one_hangs(
    fleet, tmp_path, capsys
):
    code, rows, said = called(
        capsys, "snapshot", "--fleet", "--out", "all", "--topics", TOPIC, "--measure", "1s"
    )
    assert code == 3
    assert list(rows) == ["new", "down", "old", "hangs"]
    assert [row["owner"] for row in rows.values()] == 2 * ["platform"] + ["payments", "platform"]
    assert [row["exit"] for row in rows.values()] == [0, 1, 0, 1]
    assert [row["snapshot"] is None for row in rows.values()] == [False, True, False, True]
    for name, why in (("down", "ECONNREFUSED"), ("hangs", "timed out")):
        assert rows[name]["error"]["error"] == "Unreachable"
        assert why in rows[name]["error"]["message"]
        assert f"warning: {name} failed: no broker answers at" in said
    files = sorted((tmp_path / "all").iterdir())
    moment = r"-\d{4}-\d\d-\d\dT\d{6}Z\.json\.gz"
    assert re.fullmatch(f"new{moment}", files[0].name)
    assert re.fullmatch(f"old{moment}", files[1].name)
    assert len(files) == 2
    assert [read_snapshot(file).name for file in files] == ["new", "old"]
    assert rows["new"]["snapshot"]["file"] == f"all/{files[0].name}"

    for words in (["--snapshots", "all"], []):
        code, rows, _ = called(capsys, "audit", "--fleet", str(fleet), *words)
        assert code == 3
        found = {name: row["audit"] and row["audit"]["counts"] for name, row in rows.items()}
        assert found["new"]["replication"] >= 2, "its own policy wants two replicas"
        assert "replication" not in found["old"]
        assert found["down"] is found["hangs"] is None

    code, rows, _ = called(
        capsys, "plan", "repair", "--fleet", "--snapshots", "all", "--out", "plans"
    )
    assert code == 3
    assert rows["new"]["totals"]["moves"] >= 2
    assert rows["new"]["exit"] == 2
    plan = read_plan(tmp_path / rows["new"]["file"])
    assert plan.totals.moves == rows["new"]["totals"]["moves"]
    assert (
        "replication = 2" in gzip.decompress((tmp_path / rows["new"]["file"]).read_bytes()).decode()
    )
    assert rows["hangs"]["file"] is None

    assert run(["apply", rows["new"]["file"], "--cluster", "new", "--check"]) == 0
    assert run(["status", rows["new"]["file"], "--cluster", "new"]) in {0, 2}
    assert run(["doctor", "--cluster", "old"]) in {0, 2}
    assert run(["throttles", "--cluster", "old", "--fleet", str(fleet)]) == 0


@pytest.mark.kafka
def test_two_names_of_one_cluster_are_both_named(kraft_cluster, tmp_path, monkeypatch, capsys):
    first, second = kraft_cluster.bootstrap.split(",")[:2]
    (tmp_path / "rackwise.toml").write_text(
        f'[clusters.eu]\nbootstrap = "{first}"\n[clusters.us]\nbootstrap = "{second}"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert run(["snapshot", "--fleet", "--out", "all"]) == 3
    captured = capsys.readouterr()
    assert "warning: eu failed: eu and us are one cluster, " in captured.err
    assert "warning: us failed: eu and us are one cluster, " in captured.err
    assert len(list((tmp_path / "all").iterdir())) == 2


@pytest.mark.kafka
def test_a_fleet_without_findings_is_0_and_a_table(kraft_cluster, tmp_path, monkeypatch, capsys):
    (tmp_path / "rackwise.toml").write_text(
        f'[clusters.eu]\nbootstrap = "{kraft_cluster.bootstrap}"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert run(["snapshot", "--fleet", "--out", "all", "--topics", "no-such-topic"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["cluster", "brokers", "racks", "topics", "partitions", "file"]
    assert table[1].split()[:5] == ["eu", "4", "3", "0", "0"]
    assert run(["audit", "--fleet", "--snapshots", "all", "--rule", "replication"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["eu", "0", "0", "0", "0", "0"]
    assert run(["audit", "--fleet", "--snapshots", "none"]) == 3
    assert "eu failed: none cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.kafka
def test_snapshots_of_a_fleet_on_a_full_disk_name_it_and_are_written_with_room(
    kraft_cluster, tmp_path, capsys
):
    fleet, folder = tmp_path / "rackwise.toml", tmp_path / "all"
    fleet.write_text(f'[clusters.new]\nbootstrap = "{kraft_cluster.bootstrap}"\n')
    words = ["snapshot", "--fleet", str(fleet), "--out", str(folder)]
    with small_disk(folder, PAGES):
        ballast = fill(folder, PAGES, free=0)
        assert run(words) == 3
        shown = capsys.readouterr()
        told = shown.out + shown.err
        assert f"{folder}/" in told
        assert f"cannot be written: {os.strerror(errno.ENOSPC)}" in told
        assert "internal error" not in told
        assert [*folder.iterdir()] == [ballast]
        ballast.unlink()
        assert run(words) == 0
        [file] = folder.iterdir()
        assert read_snapshot(file).name == "new"


def test_the_last_snapshot_of_a_cluster_is_that_of_its_name_and_of_the_last_moment(tmp_path):
    last = "eu-2026-11-26T220001Z.json.gz"
    others = ["eu-2026-11-26T220000Z.json.gz", "eu-west-2026-11-27T220000Z.json.gz"]
    for name in (last, *others, "eu-2027.json.gz", "neu-2027-11-26T220000Z.json.gz", "eu.json"):
        (tmp_path / name).touch()
    assert last_snapshot(tmp_path, "eu") == tmp_path / last
    assert last_snapshot(tmp_path, "eu-west") == tmp_path / others[1]
    with pytest.raises(InvalidSnapshot, match="expected a snapshot of us in ") as raised:
        last_snapshot(tmp_path, "us")
    assert raised.value.hint == f"run rackwise snapshot --fleet --out {tmp_path}"


def test_a_cluster_over_its_limit_is_named_with_the_limit(hanging, tmp_path, monkeypatch, capsys):
    (tmp_path / "rackwise.toml").write_text(
        f'[clusters.eu]\nbootstrap = "{hanging}"\ncommand_config = "slow.properties"\n'
    )
    (tmp_path / "slow.properties").write_text("default.api.timeout.ms=3000\n")
    monkeypatch.chdir(tmp_path)
    assert run(["snapshot", "--fleet", "--out", "all", "--cluster-timeout", "1s"]) == 3
    assert "eu failed: no result within 1 s" in capsys.readouterr().err
    assert list((tmp_path / "all").iterdir()) == []
