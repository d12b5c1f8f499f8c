"""Rows of the topics of a cluster: existing ones, new ones for several topics, other sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise import Placement, change_replication, place
from rackwise.core.errors import InvalidAssignment
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
        assert made == {"t": first, "s": second}

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
            rows = [id_ for rows in made.values() for id_ in rows.rows.ravel().tolist()]
            held[load is None] = sorted(rows.count(id_) for id_ in SIX)
        assert held[False] == [10] * 6
        assert held[True] != [10] * 6

    def test_kafkas_rows_take_their_random_starts_one_after_the_other(self):
        rng = JavaRandom(7)
        options = {"placer": Kip36(), "racks": RackMode.DISABLED}
        made = place_anew(
            CLUSTER, ["s", "t"], CLUSTER.brokers[:4], load=None, rng=JavaRandom(7), **options
        )
        assert made["s"] == place(CLUSTER.brokers[:4], 2, 2, rng=rng, **options)
        assert made["t"] == place(CLUSTER.brokers[:4], 2, 3, rng=rng, **options)

    def test_a_topic_that_is_reassigned_is_named(self):
        cluster = small_cluster(SIX, {"t-0": [0, 2], "t-1": [2, 4, 1]})
        with pytest.raises(InvalidAssignment, match="topic t partition 1 has 3 replicas"):
            place_anew(
                cluster,
                ["t"],
                cluster.brokers,
                placer=Levels(),
                racks=RackMode.ENFORCED,
                load=None,
                rng=JavaRandom(1),
            )


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

    def test_errors_name_the_topic(self):
        cluster = replace(CLUSTER, brokers=CLUSTER.brokers[1:])
        with pytest.raises(ValueError, match="topic t partition 0 is on broker 0"):
            change_topics(cluster, {"t": 4}, rng=JavaRandom(1), **OF_RING)
