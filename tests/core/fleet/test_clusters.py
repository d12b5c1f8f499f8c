"""Generated clusters: names, sizes, leaders, and violations counted as the auditor counts them."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pytest

from rackwise.core.audit import audit
from rackwise.core.fleet import FleetOptions, Shape, generate_fleet
from rackwise.core.fleet.world.clusters import generate_cluster, topic_names, topic_weights
from rackwise.core.fleet.world.violations import violations
from rackwise.core.racks import Rack

COUNTED = (
    *("spread-even", "dead-replica", "offline", "under-min-isr", "under-replicated"),
    *("at-min-isr", "rack-loss-offline", "rack-loss-min-isr", "not-preferred-leader"),
)
WORLDS = {
    "three zones": ("/eu/a,/eu/b,/eu/c", 3, 12),
    "two racks": ("a,b", 3, 8),
    "two regions": ("/eu/a,/eu/b,/us/a,/us/b", 3, 16),
    "more racks than replicas": ("a,b,c", 2, 9),
    "more replicas than racks": ("a,b,c", 4, 12),
    "one rack": ("a", 2, 5),
    "one replica": ("a,b", 1, 4),
    "three levels": ("/eu/a/1,/eu/a/2,/eu/b/1,/us/c/1", 3, 20),
}


def options(racks, replication, brokers, **more):
    names = tuple(map(Rack, racks.split(",")))
    return FleetOptions(racks=names, replication=replication, brokers=brokers, topics=12, **more)


class TestViolations:
    @pytest.mark.parametrize("world", WORLDS)
    @pytest.mark.parametrize("shape", Shape)
    def test_the_auditor_finds_as_many_partitions_per_rule(self, shape, world):
        cluster = generate_cluster(options(*WORLDS[world], shape=shape), 0)
        found = defaultdict(set)
        for finding in audit(cluster):
            if finding.partition is not None:
                found[finding.rule].add((finding.topic, finding.partition))
        assert violations(cluster) == {rule: len(found[rule]) for rule in COUNTED if found[rule]}

    def test_the_requested_share_of_violations_is_planted(self):
        for share in (0, 0.1, 1):
            cluster = generate_cluster(options("a,b,c", 3, 9, violations=share), 0)
            planted = violations(cluster).get("spread-even", 0)
            assert planted == round(share * len(cluster.partitions))

    def test_a_rack_with_too_few_brokers_holds_what_it_can(self):
        cluster = generate_cluster(options("a,b", 3, 4, violations=1), 0)
        rack = {broker.id: broker.rack.text for broker in cluster.brokers}
        for partition in list(cluster.partitions)[:20]:
            assert len(set(partition.replicas)) == 3
            held = [rack[broker] for broker in partition.replicas]
            assert held.count(held[0]) == 2


class TestShapes:
    def test_the_lost_broker_is_dead_and_leads_nothing(self):
        cluster = generate_cluster(options("a,b,c", 3, 9, shape=Shape.LOST), 0)
        assert [broker.id for broker in cluster.brokers if not broker.is_live] == [0]
        assert not (cluster.partitions.leader == 0).any()
        assert 0 not in cluster.partitions.isr.values
        assert 0 in cluster.partitions.replicas.values

    def test_a_partition_whose_replicas_are_all_dead_has_no_leader(self):
        cluster = generate_cluster(options("a,b", 1, 4, shape=Shape.LOST), 0)
        lost = [p for p in cluster.partitions if p.replicas == (0,)]
        assert lost
        assert {(p.leader, p.isr) for p in lost} == {(None, (0,))}
        assert violations(cluster)["offline"] == len(lost)
        generate_fleet(options("a,b", 1, 4, shape=Shape.LOST))

    def test_messy_clusters_have_other_leaders_and_lagging_followers(self):
        cluster = generate_cluster(options("a,b,c", 3, 12, shape=Shape.MESSY), 0)
        assert {"not-preferred-leader", "under-replicated"} <= violations(cluster).keys()

    def test_a_messy_cluster_of_single_replicas_has_neither(self):
        cluster = generate_cluster(options("a,b,c", 1, 12, shape=Shape.MESSY), 0)
        assert violations(cluster).keys() <= {"spread-even", "rack-loss-offline"}


class TestNamesAndSizes:
    def test_topic_names_are_made_of_lowercase_words(self):
        assert all(re.fullmatch(r"[a-z]+\.[a-z]+(\.v\d+)?", name) for name in topic_names(4000))
        assert "ledger.accepted" in topic_names(4000)

    def test_topic_names_are_distinct_and_in_order_of_their_bytes(self):
        for count in (1, 39, 2000, 2001, 4100):
            names = topic_names(count)
            assert len(set(names)) == len(names) == count
            assert list(names) == sorted(names, key=str.encode)

    def test_the_topic_with_most_partitions_is_the_busiest(self):
        weights = topic_weights(np.array([3, 40, 7, 7]))
        assert np.argsort(-weights, kind="stable").tolist() == [1, 2, 3, 0]

    def test_volumes_follow_the_weights(self):
        cluster = generate_cluster(options("a,b,c", 3, 9), 0)
        table = cluster.partitions
        sums = np.bincount(table.topic, weights=table.bytes)
        sizes = np.bincount(table.topic)
        expected = topic_weights(sizes)
        assert sums.argmax() == expected.argmax()
        assert table.bytes.min() > 0
        assert table.bytes_in_per_s.min() > 0

    def test_clusters_of_a_fleet_differ(self):
        fleet = generate_fleet(options("a,b,c", 3, 9, clusters=3, flows=0))
        assert len({cluster.cluster_id for cluster in fleet.clusters}) == 3
        assert len({b.addresses[0] for c in fleet.clusters for b in c.brokers}) == 27
        assert [c.brokers[0].port for c in fleet.clusters] == [9092, 9093, 9094]
