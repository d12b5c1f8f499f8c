"""Rows of the topics of a cluster: existing ones, new ones for several topics, other sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise import Placement, change_replication, place
from rackwise.core.errors import (
    InvalidAssignment,
    InvalidReplication,
    NotEnoughBrokers,
    PartialRacks,
)
from rackwise.core.model import Topic
from rackwise.core.placement import (
    JavaRandom,
    Kip36,
    Levels,
    Load,
    RackMode,
    Ring,
)
from rackwise.core.placement.topics import (
    change_topics,
    current_load,
    place_anew,
    topic_placement,
)
from small_clusters import small_cluster

SIX = {0: "/a", 1: "/b", 2: "/c", 3: "/a", 4: "/b", 5: "/c"}
LISTS = {"s-0": [0, 1], "s-1": [1, 2], "t-0": [0, 1, 2], "t-1": [0, 2, 1], "u-0": [0]}
CLUSTER = small_cluster(SIX, LISTS)
WITH_EMPTY = replace(CLUSTER, topics={**CLUSTER.topics, "empty": Topic(name="empty")})


def test_rows_of_a_topic_include_those_that_a_reassignment_adds():
    cluster = small_cluster(SIX, {"s-0": [5], "t-0": [0, 2], "t-1": [2, 4, 1]})
    assert topic_placement(cluster, "t") == Placement.of({0: [0, 2], 1: [2, 4, 1]})


def test_load_counts_replicas_and_preferred_leaders_of_other_topics():
    table = small_cluster(SIX, {"t-0": [0, 2], "u-0": [2, 4], "u-1": [4]}).partitions
    assert current_load(table) == Load(replicas={0: 1, 2: 2, 4: 2}, leaders={0: 1, 2: 1, 4: 1})
    assert current_load(table, without=["u"]) == Load(replicas={0: 1, 2: 1}, leaders={0: 1})
    assert current_load(table, without=["t", "u"]) == Load(replicas={}, leaders={})


class TestPlaceAnew:
    def test_each_topic_keeps_its_size_and_is_load_of_the_next(self):
        rng, load = JavaRandom(3), Load(replicas={0: 9}, leaders={0: 9})
        names, options = ["t", "s"], {"placer": Levels(), "racks": RackMode.ENFORCED}
        made = place_anew(CLUSTER, names, CLUSTER.brokers, load=load, rng=rng, **options)
        again = JavaRandom(3)
        first = place(CLUSTER.brokers, 2, 3, load=load, rng=again, **options)
        replicas, leaders = {0: 9}, {0: 9}
        for row in first.rows.tolist():
            leaders[row[0]] = leaders.get(row[0], 0) + 1
            for id_ in row:
                replicas[id_] = replicas.get(id_, 0) + 1
        load = Load(replicas=replicas, leaders=leaders)
        second = place(CLUSTER.brokers, 2, 2, load=load, rng=again, **options)
        assert made.rows == {"t": first, "s": second}

    def test_many_small_topics_end_even(self):
        """With the load of the topics before, whose rows are even; without it, they are not."""
        lists = {f"t{number}-0": [0, 1] for number in range(30)}
        cluster = small_cluster(SIX, lists)
        held = {}
        for load in (Load(), None):
            made = place_anew(
                cluster,
                sorted(cluster.topics),
                cluster.brokers,
                placer=Levels(),
                racks=RackMode.ENFORCED,
                load=load,
                rng=JavaRandom(1),
            )
            rows = [id_ for rows in made.rows.values() for id_ in rows.rows.ravel().tolist()]
            held[load is None] = sorted(rows.count(id_) for id_ in SIX)
        assert held[False] == [10] * 6
        assert held[True] != [10] * 6

    def test_kafkas_rows_take_their_random_starts_one_after_the_other(self):
        rng = JavaRandom(7)
        options = {"placer": Kip36(), "racks": RackMode.DISABLED}
        made = place_anew(
            CLUSTER, ["s", "t"], CLUSTER.brokers[:4], load=None, rng=JavaRandom(7), **options
        )
        assert made.rows["s"] == place(CLUSTER.brokers[:4], 2, 2, rng=rng, **options)
        assert made.rows["t"] == place(CLUSTER.brokers[:4], 2, 3, rng=rng, **options)

    @staticmethod
    def anew(cluster, names, load=None, **options):
        options = {"placer": Levels(), "racks": RackMode.ENFORCED, "rng": JavaRandom(1)} | options
        return place_anew(cluster, names, cluster.brokers, load=load, **options)

    def test_a_topic_that_cannot_be_placed_fails_alone_and_stays_load(self):
        lists = {"t-0": [0, 2], "t-1": [2, 4, 1], "v-0": [0, 1, 2, 3, 4, 5, 6], "w-0": []}
        cluster = small_cluster(SIX, {**lists, "z-0": [3], "z-1": [3]})
        made = self.anew(cluster, ["t", "v", "w", "z"], Load())
        assert {topic: (type(each), each.message) for topic, each in made.failed.items()} == {
            "t": (InvalidAssignment, "partition 1 has 3 replicas, partition 0 has 2"),
            "v": (NotEnoughBrokers, "replication 7 needs 7 unfenced brokers; the cluster has 6"),
            "w": (InvalidReplication, "invalid replication: expected at least 1, got 0"),
        }
        held = Load(replicas={0: 2, 1: 2, 2: 3, 3: 1, 4: 2, 5: 1, 6: 1}, leaders={0: 2, 2: 1})
        options = {"racks": RackMode.ENFORCED, "rng": JavaRandom(1)}
        assert made.rows == {"z": place(cluster.brokers, 2, 1, load=held, **options)}
        assert self.anew(cluster, ["t", "z"]).rows.keys() == {"z"}

    def test_errors_of_all_topics_are_raised(self):
        cluster = small_cluster({0: "a", 1: None}, {"t-0": [0]})
        with pytest.raises(PartialRacks):
            self.anew(cluster, ["t"])

    def test_a_topic_without_partitions_is_left_out(self):
        """As Kafka shows a topic while it is created or deleted."""
        made = self.anew(WITH_EMPTY, ["empty", "s"])
        assert (made.rows.keys(), made.failed) == ({"s"}, {})


def test_a_topic_without_partitions_has_no_rows():
    assert topic_placement(WITH_EMPTY, "empty") == Placement.of({})


OF_RING = {"placer": Ring(), "racks": RackMode.ENFORCED}


class TestChangeTopics:
    def test_each_topic_goes_on_after_its_own_last_row(self):
        made = change_topics(CLUSTER, {"s": 3, "t": 2}, rng=JavaRandom(1), **OF_RING)
        rng = JavaRandom(1)
        for topic, replicas in (("s", 3), ("t", 2)):
            existing = topic_placement(CLUSTER, topic)
            wanted = change_replication(existing, CLUSTER.brokers, replicas, rng=rng, **OF_RING)
            assert made[topic] == wanted
        assert made["s"].rows[:, :2].tolist() == [[0, 1], [1, 2]]

    def test_a_topic_without_partitions_is_left_out(self):
        made = change_topics(WITH_EMPTY, {"empty": 3, "s": 3}, rng=JavaRandom(1), **OF_RING)
        assert made.keys() == {"s"}

    def test_errors_name_the_topic(self):
        cluster = replace(CLUSTER, brokers=CLUSTER.brokers[1:])
        with pytest.raises(ValueError, match="topic t partition 0 is on broker 0"):
            change_topics(cluster, {"t": 4}, rng=JavaRandom(1), **OF_RING)
