"""Static members that come back, on real brokers: racks a, b, c and a (KIP-345)."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager

import pytest
from kafka import TopicPartition

from consumer_groups import Crew, racks_of, topic_on
from kafka_traffic import until
from rackwise.adapters.clients.aiokafka import group as aiokafka_group
from rackwise.adapters.clients.kafka_python import group as kafka_python_group
from rackwise.adapters.kafka import connect

PLACEMENT = [[0], [1], [0], [1], [0], [1]]
"""Half of the partitions are in rack a, half in rack b, each in one rack only."""


def hasty():
    """A clock on which the least time between two requests is 60 ms."""
    return 1000 * time.monotonic()


JOIN = {
    "kafka-python": lambda crew, name, kind, rack: crew.join(
        name, getattr(kafka_python_group, kind)(rack, clock=hasty), group_instance_id=name
    ),
    "aiokafka": lambda crew, name, kind, rack: crew.join_aiokafka(
        name, getattr(aiokafka_group, kind)(rack, clock=hasty), group_instance_id=name
    ),
}
CASES = [
    ("kafka-python", "RackOptimal", 4),
    ("kafka-python", "RackRange", 2),
    ("aiokafka", "RackRange", 2),
]
"""Client, assignor and the most rounds for two requests: a cooperative move takes two rounds."""


@contextmanager
def group_of(cluster, client, kind):
    """A group of static members `s-1` in rack a and `s-2` in rack b, its racks and its topic."""
    topic = f"static-{client}-{kind}"
    racks = {topic: racks_of(cluster, PLACEMENT)}
    with (
        closing(connect(cluster.bootstrap)) as admin,
        topic_on(admin, topic, PLACEMENT),
        Crew(cluster.bootstrap, topic, [topic]) as crew,
    ):
        for name, rack in (("s-1", "a"), ("s-2", "b")):
            JOIN[client](crew, name, kind, rack)
            crew.rest(racks)
        assert crew.local(racks) == 6
        yield admin, crew, racks


def check_swap(cluster, client, kind, most):
    """Both members change their racks; each asks for one round, and reads become local."""
    with group_of(cluster, client, kind) as (_, crew, racks):
        before = crew.rest(racks)
        for name, rack in (("s-1", "b"), ("s-2", "a")):
            crew.leave(name)
            JOIN[client](crew, name, kind, rack)
        until(lambda: crew.is_whole(6) and crew.local(racks) == 6, "reads to be local", 60)
        after = crew.rest(racks)
        assert 1 <= after - before <= most
        for name, rack in (("s-1", "b"), ("s-2", "a")):  # the leader knows these racks
            crew.leave(name)
            JOIN[client](crew, name, kind, rack)
            assert crew.rest(racks) == after


@pytest.mark.kafka
@pytest.mark.parametrize(("client", "kind", "most"), CASES)
def test_a_member_that_comes_back_in_another_rack_asks_for_one_round(
    kraft_cluster, client, kind, most
):
    check_swap(kraft_cluster, client, kind, most)


@pytest.mark.zookeeper
def test_also_with_kafka_3_9(zookeeper_cluster):
    check_swap(zookeeper_cluster, "kafka-python", "RackRange", 2)


@pytest.mark.kafka
@pytest.mark.parametrize("client", JOIN)
def test_a_leader_that_comes_back_watches_the_racks_of_replicas(kraft_cluster, client):
    with group_of(kraft_cluster, client, "RackRange") as (admin, crew, racks):
        (topic,), before = racks, crew.rest(racks)
        for name, rack in (("s-1", "a"), ("s-2", "b")):
            crew.leave(name)
            JOIN[client](crew, name, "RackRange", rack)
        assert crew.rest(racks) == before
        swapped = {TopicPartition(topic, 0): [1], TopicPartition(topic, 1): [0]}
        admin.alter_partition_reassignments(swapped)
        racks[topic][0], racks[topic][1] = ["b"], ["a"]
        until(lambda: crew.is_whole(6) and crew.local(racks) == 6, "reads to be local", 60)


LONE = [[0], [1], [2]] * 4
"""One replica for each partition, in rack a, b or c."""
LONG_MS = 60_000
"""A session that outlives the time between a member's end and its return on a busy machine."""


@pytest.mark.kafka
@pytest.mark.parametrize("leads", ["ours", "theirs"])
def test_static_members_of_librdkafka_read_far_until_the_next_rebalance(kraft_cluster, leads):
    """Two of them swap their racks; a member that comes and goes lets the leader see it."""
    topic = f"static-librdkafka-{leads}"
    racks = {topic: racks_of(kraft_cluster, LONE)}

    def join_theirs(name, rack):
        crew.join_confluent(name, "range", rack, group_instance_id=name, session_timeout_ms=LONG_MS)

    def join_first(name):
        if leads == "ours":
            crew.join(name, kafka_python_group.RackRange("a"))
        else:
            join_theirs(name, "a")

    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, LONE),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        join_first("m-a")
        crew.rest(racks)
        for name, rack in (("m-b", "b"), ("m-c", "c")):
            join_theirs(name, rack)
            crew.rest(racks)
        near = crew.local(racks)
        before = {name: each.partitions() for name, each in crew.readers.items()}
        for name in ("m-b", "m-c"):
            crew.leave(name)
        join_theirs("m-b", "c")
        join_theirs("m-c", "b")
        crew.rest(racks)
        assert {name: each.partitions() for name, each in crew.readers.items()} == before
        assert crew.local(racks) < near
        crew.join("guest", kafka_python_group.RackRange("a"))
        crew.rest(racks)
        crew.leave("guest")
        crew.rest(racks)
        assert crew.local(racks) == near
