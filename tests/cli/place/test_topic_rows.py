"""Rows of --replica-assignment that expand a topic, and the requested size of a topic."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rackwise import Placement
from rackwise.adapters.files import parse_placement
from rackwise.cli.apply import commands
from rackwise.cli.apply.window import WindowOptions
from rackwise.cli.place.options import PlacementOptions
from rackwise.cli.place.replication import ReplicationChange
from rackwise.cli.place.topic_rows import TopicSize, explain_refusal, parse_added_rows
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidAssignment, ServerRefused, UnknownBroker
from rackwise.core.model import Topic
from small_clusters import small_cluster

CLUSTER = small_cluster({0: "a", 1: "b", 2: "c"}, {"t-0": [0, 1], "t-1": [1, 2]})
EXISTING = Placement.of({0: [0, 1], 1: [1, 2]})


class TestByHand:
    def test_the_first_rows_are_skipped_whatever_they_say(self):
        new = parse_added_rows("9:8,7:6,2:0", CLUSTER, "t", EXISTING, 3)
        assert new == Placement.of({2: [2, 0]})

    @pytest.mark.parametrize(
        ("text", "number", "added"),
        [("0:1,1:2,2:0", 3, 1), ("0:1", 1, 0), ("0:1,1:2,2:0,0:1,1:2", 5, 3)],
    )
    def test_too_few_and_too_many_carry_kafkas_text(self, text, number, added):
        with pytest.raises(InvalidAssignment) as caught:
            parse_added_rows(text, CLUSTER, "t", EXISTING, 4)
        assert caught.value.message == (
            f"invalid --replica-assignment: expected a row for each of 4 partitions, got {number}"
        )
        assert caught.value.upstream[1] == (
            f"Attempted to add 2 additional partition(s), but only {added} assignment(s) were "
            "specified."
        )

    def test_a_broker_that_the_cluster_does_not_have(self):
        with pytest.raises(
            UnknownBroker, match="row of partition 2: expected a broker of the cluster, got 5"
        ):
            parse_added_rows("0:1,1:2,5:0", CLUSTER, "t", EXISTING, 3)


class TestSize:
    def test_numbers_are_compared_as_numbers_and_rows_as_rows(self):
        assert TopicSize(partitions=2, replication=2, rows_text=None).matches(EXISTING)
        assert not TopicSize(partitions=3, replication=2, rows_text=None).matches(EXISTING)
        assert not TopicSize(partitions=2, replication=1, rows_text=None).matches(EXISTING)
        assert TopicSize(partitions=None, replication=None, rows_text="0:1,1:2").matches(EXISTING)
        assert not TopicSize(partitions=None, replication=None, rows_text="1:0,1:2").matches(
            EXISTING
        )

    def test_a_topic_whose_replicas_move_has_no_one_size(self):
        moving = Placement.of({0: [0, 1], 1: [1, 2, 0]})
        assert not TopicSize(partitions=2, replication=2, rows_text=None).matches(moving)


class TestRefusedPartitions:
    """Kafka in ZooKeeper mode answers without a text if only some brokers have a rack."""

    PARTIAL = small_cluster({0: "a", 1: "b", 2: None}, {}).brokers

    def test_the_limit_of_kafka_is_named_with_its_brokers(self):
        told = explain_refusal(ServerRefused("rejected: Unknown", had="Unknown"), "t", self.PARTIAL)
        assert "even for given replica lists; 1 of 3 have none: 2" in told.message
        assert told.hint.startswith("set broker.rack on them, restart them and try again; or run ")

    @pytest.mark.parametrize(
        ("message", "brokers"),
        [("rejected: Unknown", CLUSTER.brokers), ("rejected: the disk is full", PARTIAL)],
    )
    def test_other_causes_stay(self, message, brokers):
        error = ServerRefused(message, had="Unknown")
        assert explain_refusal(error, "t", brokers) is error


class TestReplicationFactor:
    @pytest.fixture
    def change(self, monkeypatch, tmp_path):
        """Change the replication of a topic; `apply` returns the file and runs nothing."""
        monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
        monkeypatch.setattr(commands, "apply", lambda plan, **_: plan)

        def change(topic, cluster=CLUSTER):
            made = ReplicationChange(
                topic=topic,
                replication=3,
                bootstrap_server="h:1",
                command_config=None,
                throttle=None,
                window=WindowOptions(),
            )
            context = SimpleNamespace(obj=Shell())
            return made.run(context, cluster, PlacementOptions())

        return change

    @pytest.mark.parametrize("topic", ["t", "..", "x" * 249])
    def test_no_text_of_the_cluster_is_a_name_of_a_file(self, change, topic):
        file = change(topic, small_cluster({0: "a", 1: "b", 2: "c"}, {f"{topic}-0": [0, 1]}))
        assert file.name == f"{hashlib.sha256(topic.encode()).hexdigest()}-rf-3.json"
        ((name, _),) = parse_placement(file.read_bytes(), where="file")
        assert name == topic

    def test_a_topic_without_partitions_is_rejected(self, change):
        empty = replace(CLUSTER, topics={"e": Topic(name="e")})
        with pytest.raises(InvalidAssignment, match="topic e has no partitions"):
            change("e", empty)
