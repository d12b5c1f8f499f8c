"""Assignors in kafka-python on real brokers: racks a, b, c, a."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import TopicPartition

from client_processes import reading
from consumer_groups import Crew, Reader, racks_of, topic_on
from kafka_traffic import until
from rackwise.adapters.clients.kafka_python.group import (
    RackCooperativeSticky,
    RackOptimal,
    RackRange,
)
from rackwise.adapters.kafka import connect
from rackwise.core.assignors.watch import MIN_INTERVAL_MS

SPREAD = [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2], [2, 0]]
"""Each rack has two partitions' leaders and two partitions' followers."""


def coordinator_of(crew):
    (reader, *_) = crew.readers.values()
    return int(str(reader.consumer._coordinator.coordinator_id).removeprefix("coordinator-"))


def sees(crew, broker):
    """Whether all members' metadata have this broker."""
    clusters = [reader.consumer._client.cluster for reader in crew.readers.values()]
    return {broker in {each.node_id for each in cluster.brokers()} for cluster in clusters}


def wait_for_metadata(crew):
    """Until each member has judged metadata that came after this call."""
    for _ in range(2):  # the second comes when the first has been judged
        before = refreshed(crew)
        until(lambda before=before: not before & refreshed(crew), "metadata of all members")


def refreshed(crew):
    """When each member's metadata came."""
    return {
        (name, reader.consumer._client.cluster._last_successful_refresh_ms)
        for name, reader in crew.readers.items()
    }


class ShortReader(Reader):
    poll_ms = 50


class ShortCrew(Crew):
    reader = ShortReader


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.mark.kafka
@pytest.mark.parametrize("assignor", [RackCooperativeSticky, RackOptimal])
def test_members_that_join_and_leave_read_what_is_near(kraft_cluster, assignor):
    check_walk(kraft_cluster, assignor)


@pytest.mark.zookeeper
def test_also_in_zookeeper_mode(zookeeper_cluster):
    check_walk(zookeeper_cluster, RackRange)


def check_walk(cluster, assignor):
    topic = f"walk-{assignor.__name__}"
    racks = {topic: racks_of(cluster, SPREAD)}
    with (
        closing(connect(cluster.bootstrap)) as admin,
        topic_on(admin, topic, SPREAD),
        Crew(cluster.bootstrap, topic, [topic]) as crew,
    ):
        crew.join("m-a", assignor("a"))
        crew.rest(racks)
        crew.join("m-b", assignor("b"))
        crew.join("m-c", assignor("c"))
        crew.rest(racks)
        assert crew.local(racks) == 6
        crew.leave("m-b")
        crew.rest(racks)
        assert crew.local(racks) == 6


@pytest.mark.kafka
def test_members_polled_for_moments_become_a_group_if_no_time_is_between(kraft_cluster):
    racks = {"moments": racks_of(kraft_cluster, SPREAD)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, "moments", SPREAD),
        ShortCrew(kraft_cluster.bootstrap, "moments", ["moments"]) as crew,
    ):
        for rack in "abc":
            crew.join(f"m-{rack}", RackOptimal(rack))
        crew.rest(racks)
        assert crew.local(racks) == 6


@pytest.mark.kafka
@pytest.mark.long
def test_what_a_killed_member_had_is_read_by_those_who_are_left(kraft_cluster):
    racks = {"killed": racks_of(kraft_cluster, SPREAD)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, "killed", SPREAD),
        Crew(kraft_cluster.bootstrap, "killed", ["killed"]) as crew,
        reading(kraft_cluster.bootstrap, "killed", "RackRange", rack="b") as (process, has),
    ):
        crew.join("m-a", RackRange("a"))
        until(lambda: has.value == 3, "the other process to have its half", 60)
        process.kill()
        process.join()
        crew.rest(racks)


@pytest.mark.kafka
@pytest.mark.long
def test_a_restarted_broker_is_no_new_assignment_and_a_moved_replica_one(kraft_cluster):
    """Brokers 0 a, 1 b, 2 c, 3 a. A move counts once: when its new replica is in sync."""
    clock = Clock()
    before, after = [[0, 1], [0, 2], [0, 1], [0, 2]], [0, 1]
    racks = {"moved": racks_of(kraft_cluster, before)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, "moved", before),
        Crew(kraft_cluster.bootstrap, "moved", ["moved"]) as crew,
    ):
        crew.join("m-b", RackRange("b", clock=clock))
        crew.join("m-c", RackRange("c", clock=clock))
        first = crew.rest(racks)
        assert crew.local(racks) == 4
        clock.seconds += 2 * MIN_INTERVAL_MS / 1000
        broker = next(each for each in (1, 2) if each != coordinator_of(crew))
        kraft_cluster.kill(broker)
        until(lambda: sees(crew, broker) == {False}, "its end to be seen")
        kraft_cluster.start(broker)
        kraft_cluster.wait_until_ready()
        until(lambda: sees(crew, broker) == {True}, "its return to be seen")
        assert crew.rest(racks) == first
        clock.seconds += 2 * MIN_INTERVAL_MS / 1000
        admin.alter_partition_reassignments({TopicPartition("moved", 3): after})
        until(lambda: not admin.list_partition_reassignments(), "the move to end")
        until(lambda: crew.generation() == first + 1, "a new assignment")
        assert crew.rest(racks) == first + 1
        clock.seconds += 2 * MIN_INTERVAL_MS / 1000
        wait_for_metadata(crew)
        assert crew.rest(racks) == first + 1
