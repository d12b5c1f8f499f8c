"""Two runs of one plan at the same time: one executes it, the other writes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import create, produce, until
from rackwise.adapters.kafka.applying.throttles import read_throttles

BEFORE = [[0, 1], [1, 2]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (2, 1)}


@pytest.fixture
def cluster(kraft_first):
    """Each of the two; Kafka 3.9 for `make long`."""
    return kraft_first


@contextmanager
def running(path, cluster, admin):
    """An apply in a process of its own, which has a move under way; interrupted in the end."""
    command = [sys.executable, "-m", "rackwise.cli", "apply", path, "--throttle", "1"]
    with subprocess.Popen(
        [*command, "--bootstrap-server", cluster.bootstrap],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            where = TopicPartition(NAME, 0)
            until(lambda: where in admin.list_partition_reassignments(), "a move")
            until(lambda: lists(admin, NAME)[1] == [2, 1], "the move without bytes")
            yield process
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 3


@pytest.mark.long
def test_the_second_of_two_runs_is_refused(admin, cluster, called, state, tmp_path, monkeypatch):
    """F17: by the lock where they share a state folder, else by the reassignment that it sees."""
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 300})
    path = plan_file(tmp_path / "p.json", admin, AFTER)
    with running(path, cluster, admin) as first:
        before = throttles(admin)
        printed = refused(called, path, "Locked")
        assert f"process {first.pid}" in printed["message"]
        assert "since 20" in printed["message"]
        other = tmp_path / "other"
        monkeypatch.setenv("RACKWISE_STATE", str(other))
        printed = refused(called, path, "ForeignReassignment")
        assert printed["had"] == f"{NAME}-0"
        assert not [*other.glob("*/*.journal")]
        assert throttles(admin) == before
    monkeypatch.setenv("RACKWISE_STATE", str(state))
    assert called("rollback", path)[0] == 0
    shown(admin, NAME, dict(enumerate(BEFORE)))


def refused(called, path, name):
    code, out, err = called("apply", path, "--json", "--quiet")
    printed = document(err)
    assert (code, out, printed["error"]) == (4, "", name)
    return printed


def throttles(admin):
    return read_throttles(admin, topics=[NAME], brokers=[0, 1, 2])
