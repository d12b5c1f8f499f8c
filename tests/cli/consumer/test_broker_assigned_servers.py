"""Share groups (KIP-932) and streams groups (KIP-1071) on real brokers: recognised and judged."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack, closing, contextmanager
from uuid import uuid4

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest

from consumer_snapshots import document
from kafka_messages import StreamsGroupHeartbeatRequest
from kafka_reassign import TOOLS
from kafka_traffic import create, until
from rackwise.adapters import files
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.connect import send, send_to_each
from rackwise.adapters.sandbox import KAFKA_4_3, resolve
from refusals import called

pytestmark = pytest.mark.kafka

TOPIC = "shared"
LEADERS = [0, 0, 0, 1]
"""Brokers 0 and 3 are in rack a, 1 in b, 2 in c."""
SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
RUN_S = 20
Topology = StreamsGroupHeartbeatRequest.Topology
SUBTOPOLOGY = {
    "subtopology_id": "0",
    "source_topics": [TOPIC],
    "source_topic_regex": [],
    "state_changelog_topics": [],
    "repartition_sink_topics": [],
    "repartition_source_topics": [],
    "copartition_groups": [],
}


@pytest.fixture(scope="module")
def bootstrap(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[leader] for leader in LEADERS])
        yield kraft_cluster.bootstrap
        admin.delete_topics([TOPIC])


@contextmanager
def share_consumer(java_home, bootstrap, group, rack):
    """Kafka's own console consumer of share groups."""
    path = os.pathsep.join(map(str, [*resolve(TOOLS), *resolve(KAFKA_4_3)]))
    java = [java_home / "bin" / "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    words = ["--bootstrap-server", bootstrap, "--topic", TOPIC, "--group", group]
    running = subprocess.Popen(
        [*java, "-cp", path, SHARE_CONSUMER, *words, "--command-property", f"client.rack={rack}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        running.terminate()
        try:
            running.wait(RUN_S)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


class StreamsMember:
    """A member of a streams group that reads one topic: it only sends heartbeats."""

    def __init__(self, admin, group, rack):
        self._admin, self._group, self._rack = admin, group, rack
        self._id, self._epoch, self.tasks = str(uuid4()), 0, []

    def beat(self, epoch=None):
        """Send one heartbeat to every broker; only the coordinator takes it, and assigns tasks."""
        live = [broker.node_id for broker in self._admin._manager.cluster.brokers()]
        answers = send_to_each(self._admin, {broker: self._request(epoch) for broker in live})
        for answer in answers.values():
            if not isinstance(answer, Exception) and not answer.error_code:
                self._epoch = answer.member_epoch
                if answer.active_tasks is not None:
                    self.tasks = [
                        StreamsGroupHeartbeatRequest.TaskIds(
                            subtopology_id=each.subtopology_id, partitions=each.partitions
                        )
                        for each in answer.active_tasks
                    ]

    def _request(self, epoch):
        joining = {
            "rack_id": self._rack,
            "rebalance_timeout_ms": 10_000,
            "topology": Topology(epoch=0, subtopologies=[Topology.Subtopology(**SUBTOPOLOGY)]),
            "process_id": self._id,
            "client_tags": [],
        }
        return StreamsGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._id,
            member_epoch=self._epoch if epoch is None else epoch,
            endpoint_information_epoch=0,
            active_tasks=self.tasks,
            standby_tasks=[],
            warmup_tasks=[],
            **(joining if self._epoch == 0 else {}),
        )

    @property
    def partitions(self):
        return sorted(number for task in self.tasks for number in task.partitions)


def command(bootstrap, verb, group, *options):
    words = ["consumer", verb, "--bootstrap-server", bootstrap, "--group", group]
    return called(*words, *options)


def evaluated(bootstrap, group):
    """The document of a group; None while it cannot be judged."""
    code, out, _ = command(bootstrap, "evaluate", group, "--json")
    return None if code else document(out)["groups"][0]


def test_a_share_group_reads_from_leaders_alone(java_home, bootstrap, tmp_path):
    with ExitStack() as running:
        for rack in ("a", "b"):
            running.enter_context(share_consumer(java_home, bootstrap, "jobs", rack))

        def is_settled():
            told = evaluated(bootstrap, "jobs")
            return told and told["members"] == 2 and not told["unassigned"]

        until(is_settled, "the share group to settle", timeout_s=60)
        told = evaluated(bootstrap, "jobs")
        assert (told["protocol"], told["assignor"]) == ("share", "simple")
        assert sorted(each["rack"] for each in told["by_member"]) == ["a", "b"]
        assert told["local"] + told["cross"] == told["partitions"] >= len(LEADERS)
        assert (told["best"], told["is_better"], told["server_assignors"]) == (None, None, [])
        file = tmp_path / "s.json"
        words = ["--bootstrap-server", bootstrap, "--no-sizes", "--out", file]
        assert called("snapshot", *words)[0] == 0
        (group,) = [g for g in files.read_snapshot(file).groups if g.group == "jobs"]
        near = {"a": 0, "b": 1}
        assert told["local"] == sum(
            LEADERS[number] == near[member.rack.text]
            for member in group.members
            for _, number in member.partitions
        )
        code, out, _ = command(bootstrap, "evaluate", "jobs")
        assert (code, "a share group reads from leaders alone (KIP-932)" in out) == (0, True)
        code, out, _ = called(
            "doctor", "--bootstrap-server", bootstrap, "--group", "jobs", "--json"
        )
        assert ("reading-protocol", "jobs") in {
            (each["rule"], each["group"]) for each in document(out)["findings"]
        }
        code, _, err = command(bootstrap, "simulate", "jobs")
        assert (code, "expected a consumer group, got a share group" in err) == (1, True)


def test_a_streams_group_with_the_partitions_of_its_tasks(bootstrap):
    with closing(connect(bootstrap)) as admin:
        # It makes the topic of offsets, where there is none: without it nobody coordinates.
        send(admin, FindCoordinatorRequest(key="app", key_type=0, coordinator_keys=["app"]))
        members = [StreamsMember(admin, "app", rack) for rack in ("a", "b")]

        def is_settled():
            for member in members:
                member.beat()
            told = evaluated(bootstrap, "app")
            return (
                told
                and told["state"] == "Stable"
                and [len(member.partitions) for member in members] == [2, 2]
                and not told["unassigned"]
            )

        until(is_settled, "the streams group to settle", timeout_s=60)
        told = evaluated(bootstrap, "app")
        assert (told["protocol"], told["partitions"]) == ("streams", len(LEADERS))
        first, second = (member.partitions for member in members)
        local = sum(LEADERS[n] == 0 for n in first) + sum(LEADERS[n] == 1 for n in second)
        assert (told["local"], told["unknown"]) == (local, 0)
        code, out, _ = command(bootstrap, "evaluate", "app")
        assert (code, "the broker assigns the tasks of a streams group" in out) == (0, True)
        for member in members:
            member.beat(epoch=-1)
