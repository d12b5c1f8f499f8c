"""Cordoned brokers of a real cluster: shown, planned around, and refused before the first write."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest
from kafka.errors import InvalidReplicationAssignmentError
from kafka.structs import TopicPartition

from cordons import cordoned
from hand_made_plans import lists, plan_file
from kafka_servers import KAFKA_VERSION
from kafka_traffic import create, delete, produce, until
from rackwise.adapters.files import read_plan, read_snapshot
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import DEFAULT_KAFKA
from refusals import called

TOPIC = "cordoned"
BEFORE = [[0, 1], [3, 1], [3, 0], [2, 1]]
"""Brokers 0 and 3 are both in rack a, so partition 2 breaks a rule."""
pytestmark = pytest.mark.kafka


@pytest.fixture
def admin(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as made:
        create(made, TOPIC, BEFORE)
        yield made
        delete(made, TOPIC)


def test_a_snapshot_shows_the_cordon_and_a_plan_made_from_it_is_executed(
    kraft_cluster, admin, tmp_path
):
    seen, out = tmp_path / "seen.json", tmp_path / "plan.json"
    server = ["--bootstrap-server", kraft_cluster.bootstrap]
    with cordoned(admin, 3):
        _, told, _ = called("snapshot", *server, "--topics", TOPIC, "--out", seen)
        assert ", 1 cordoned broker, " in told
        brokers = {broker.id: broker.is_cordoned for broker in read_snapshot(seen).brokers}
        assert brokers == {0: False, 1: False, 2: False, 3: True}
        _, told, _ = called("audit", "--snapshot", seen, "--rule", "cordoned")
        assert "info    broker 3: cordoned: wanted no cordoned log folder; had 1 of 1 log" in told
        assert called("plan", "balance", "--snapshot", seen, "--out", out)[0] == 2
        made = read_plan(out)
        assert all(3 not in move.after for move in made.moves)
        assert made.left_alone.partitions == 1
        assert called("proof", out, "--snapshot", seen)[0] == 0
        code, _, err = called("apply", out, *server)
        assert code == 0, err
        now = lists(admin, TOPIC)
        assert now[1] == [3, 1]
        assert 3 not in now[2]


@pytest.mark.parametrize("after", [[3, 1], [1, 0]], ids=["new", "kept"])
def test_a_plan_that_names_a_broker_cordoned_since_writes_nothing(
    kraft_cluster, admin, tmp_path, after
):
    """Kafka 4.4 rejects both; 4.3.1 accepts them."""
    plan = plan_file(tmp_path / "plan.json", admin, {(TOPIC, 3): [1, 2], (TOPIC, 0): after})
    cordon = 3 if 3 in after else 0
    with cordoned(admin, cordon):
        code, out, err = called("apply", plan, "--bootstrap-server", kraft_cluster.bootstrap)
        assert (code, out) == (4, "")
        reason = f"broker {cordon} is cordoned: Kafka takes no new list that names it"
        assert f"{TOPIC}-0: {reason}" in err
        assert lists(admin, TOPIC) == dict(enumerate(BEFORE))
    assert called("apply", plan, "--bootstrap-server", kraft_cluster.bootstrap)[0] == 0
    until(lambda: lists(admin, TOPIC)[0] == after, "the plan to be executed without the cordon")


@pytest.mark.parametrize("target", [[3, 1], [1, 0]], ids=["new", "kept"])
def test_what_kafka_does_with_a_list_that_names_a_cordoned_broker(admin, target):
    moved = TopicPartition(TOPIC, 0)
    with cordoned(admin, 3 if 3 in target else 0):
        found = admin.alter_partition_reassignments({moved: target})[moved]
        is_refused = found is InvalidReplicationAssignmentError
        assert is_refused == (KAFKA_VERSION == DEFAULT_KAFKA)
        until(lambda: not admin.list_partition_reassignments(), "the end of the reassignment")


@pytest.mark.usefixtures("state")
@pytest.mark.long
def test_a_killed_drain_of_a_cordoned_broker_is_cancelled(kraft_cluster, admin, tmp_path):
    """Kafka 4.4 rejects the order of before, which names the cordoned broker.

    It was requested four times, and the move was then reported as changed by others.
    """
    server = ["--bootstrap-server", kraft_cluster.bootstrap]
    produce(kraft_cluster.bootstrap, {(TOPIC, 1): 300})
    with cordoned(admin, 3):
        plan = plan_file(tmp_path / "plan.json", admin, {(TOPIC, 1): [1, 2]})
        command = [sys.executable, "-m", "rackwise.cli", "apply", plan, *server, "--throttle", "1"]
        with subprocess.Popen(command) as process:
            until(admin.list_partition_reassignments, "a move")
            process.kill()
        code, out, err = called("cancel", plan, *server)
        assert code == 0, err
        lines = out.splitlines()
        assert lines[0].startswith("1 move: 1 cancelled, 0 done, 0 failed, 0 still moving")
        assert not admin.list_partition_reassignments()
        is_rejected = KAFKA_VERSION == DEFAULT_KAFKA
        if is_rejected:
            assert lines[1].startswith(f"! {TOPIC}-1  cancelled  INVALID_REPLICATION_ASSIGNMENT: ")
            assert lines[1].endswith("rackwise rollback restores it later")
        until(lambda: lists(admin, TOPIC)[1] == ([1, 3] if is_rejected else [3, 1]), "the list")
        code, out, err = called("status", plan, *server)
        assert (code, out.splitlines()[0]) == (2, "1 not_started")
    assert called("rollback", plan, *server)[0] == 0
    until(lambda: lists(admin, TOPIC)[1] == [3, 1], "the order of before")
