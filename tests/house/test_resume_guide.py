"""The guide of resume and rollback, walked on real brokers: it shows real output."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing, contextmanager, nullcontext

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, plan_file
from kafka_traffic import create, delete, produce, throttled_move, until
from rackwise.adapters.kafka import connect
from refusals import called
from shown_commands import ROOT, missing_lines, shown_commands

GUIDE = ROOT / "docs" / "guides" / "resume-and-roll-back.md"
TOPIC = "orders"
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(TOPIC, 0): (2, 1), (TOPIC, 3): (1, 0)}
CODES = {
    "Killed, crashed, interrupted, rebooted": [2, 0, 0],
    "Another reassignment runs": [4, 0],
    "The plan is stale": [4, 0],
    "Throttles are left": [2, 0],
}
"""Heading -> the exit code of each command below it, in order."""


@pytest.fixture
def admin(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as made:
        create(made, TOPIC, BEFORE)
        produce(kraft_cluster.bootstrap, {(TOPIC, 0): 300, (TOPIC, 2): 50})
        yield made
        delete(made, TOPIC)


class Walk:
    """The guide's cluster, topic and plan, and the faults that the guide describes."""

    def __init__(self, cluster, admin, plan):
        self.cluster, self.admin, self.plan = cluster, admin, plan

    def run(self, words):
        told = {"kafka-1:9092": self.cluster.bootstrap, "plan.json": self.plan}
        return called(*[told.get(word, word) for word in words])

    def rest(self):
        """All as before, with no reassignment running."""
        afoot = dict.fromkeys(self.admin.list_partition_reassignments())
        if afoot:
            self.admin.alter_partition_reassignments(afoot)
        rows = dict(enumerate(BEFORE))
        changed = {n: row for n, row in lists(self.admin, TOPIC).items() if row != rows[n]}
        if changed:
            self.admin.alter_partition_reassignments(
                {TopicPartition(TOPIC, number): rows[number] for number in changed}
            )
        until(lambda: lists(self.admin, TOPIC) == rows, "the lists of before")
        until(lambda: not self.admin.list_partition_reassignments(), "rest")

    @contextmanager
    def killed(self):
        """A run that is killed during its second move, after the first is done."""
        to = ("--bootstrap-server", self.cluster.bootstrap, "--throttle", "1")
        command = [sys.executable, "-m", "rackwise.cli", "apply", self.plan, *to]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
            moving = TopicPartition(TOPIC, 0)
            until(lambda: moving in self.admin.list_partition_reassignments(), "a move")
            until(lambda: lists(self.admin, TOPIC)[3] == [1, 0], "the move without bytes")
            run.send_signal(signal.SIGKILL)
        yield

    @contextmanager
    def changed(self):
        """Another tool has changed the replica list of a partition of the plan."""
        self.admin.alter_partition_reassignments({TopicPartition(TOPIC, 3): [2, 1]})
        until(lambda: lists(self.admin, TOPIC)[3] == [2, 1], "another tool's move")
        yield

    def happens(self, heading):
        """Bring about the fault that the section describes."""
        return {
            "Killed, crashed, interrupted, rebooted": self.killed,
            "Another reassignment runs": lambda: throttled_move(self.admin, TOPIC, 2, [1, 0]),
            "The plan is stale": self.changed,
            "Throttles are left": self.killed,
        }.get(heading, nullcontext)()


@pytest.mark.kafka
@pytest.mark.long
def test_what_is_shown_is_what_comes(kraft_cluster, admin, tmp_path, monkeypatch):
    plan = plan_file(tmp_path / "plan.json", admin, AFTER)
    walk = Walk(kraft_cluster, admin, plan)
    found = {}
    commands = [*shown_commands(GUIDE)]
    for heading in dict.fromkeys(each.heading for each in commands):
        monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / f"state-{len(found)}"))
        with walk.happens(heading):
            for shown in [each for each in commands if each.heading == heading]:
                code, out, err = walk.run(shown.words)
                assert missing_lines(shown, out + err) == [], (shown.words, out, err)
                found.setdefault(heading, []).append(code)
        walk.rest()
    assert found == CODES
