"""The reads that each broker serves, by the rule of the partition's leader."""

import pytest

from assignments import group_of, tps
from rackwise.core.assignors.measure.brokers import BrokerReads, reads_by_broker
from rackwise.core.assignors.members import Assignment
from rackwise.core.errors import InvalidConfig, InvalidMember, InvalidWeights
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack

MEMBERS = group_of("t", m="b", n=None, o="z")
MADE = Assignment.of({"m": tps("t-0 t-1 t-2 t-3"), "n": tps("t-4"), "o": tps("t-5 t-6 u-0")})


def partition(number, leader, isr, replicas=None):
    return Partition(topic="t", partition=number, replicas=replicas or isr, leader=leader, isr=isr)


CLUSTER = Cluster(
    cluster_id=None,
    taken_at="2026-01-01T00:00:00Z",
    brokers=(
        Broker(id=1, rack=Rack("a")),
        Broker(id=2, rack=Rack("b")),
        Broker(id=3, rack=Rack("b")),
        Broker(id=4),
    ),
    topics={"t": Topic(name="t")},
    partitions=PartitionTable.of(
        [
            partition(0, 1, (1, 2)),
            partition(1, 1, (1,), (1, 2)),
            partition(2, 1, (1, 2, 3)),
            partition(3, 3, (1, 2, 3)),
            partition(4, 1, (1, 2)),
            partition(5, 4, (4, 1)),
            partition(6, None, (1,)),
        ]
    ),
)


def test_a_member_reads_the_near_in_sync_replica_else_the_leader():
    assert reads_by_broker(MADE, MEMBERS, CLUSTER, selector="rack-aware") == {
        1: BrokerReads(partitions=2, cross=1),
        2: BrokerReads(partitions=1),
        3: BrokerReads(partitions=2),
        4: BrokerReads(partitions=1, cross=1),
    }


def test_the_leader_selector_and_bytes():
    weights = dict(zip(tps("t-0 t-1 t-2 t-3 t-4"), (1, 10, 100, 1000, 10000), strict=True))
    found = reads_by_broker(MADE, MEMBERS, CLUSTER, selector="leader", weights=weights)
    assert found == {
        1: BrokerReads(partitions=4, bytes_per_s=10111, cross=3),
        2: BrokerReads(bytes_per_s=0),
        3: BrokerReads(partitions=1, bytes_per_s=1000),
        4: BrokerReads(partitions=1, bytes_per_s=0, cross=1),
    }
    assert list(found) == [1, 2, 3, 4]


def test_a_leader_that_the_cluster_does_not_list_is_not_counted():
    made = Assignment.of({"n": tps("t-0")})
    table = PartitionTable.of([partition(0, 9, (9, 1))])
    cluster = Cluster(
        cluster_id=None, taken_at="", brokers=CLUSTER.brokers, topics={}, partitions=table
    )
    found = reads_by_broker(made, MEMBERS, cluster, selector="leader")
    assert {reads.partitions for reads in found.values()} == {0}


def test_topics_that_no_member_lists_are_not_counted():
    members = group_of("u", m="b")
    found = reads_by_broker(
        Assignment.of({"m": tps("t-0")}), members, CLUSTER, selector="rack-aware"
    )
    assert {reads.partitions for reads in found.values()} == {0}


def test_bad_input():
    with pytest.raises(InvalidConfig, match="selector"):
        reads_by_broker(MADE, MEMBERS, CLUSTER, selector="near")
    with pytest.raises(InvalidMember, match="expected members of the group, got z"):
        reads_by_broker(Assignment.of({"z": ()}), MEMBERS, CLUSTER, selector="leader")
    with pytest.raises(InvalidWeights, match="bytes_per_s"):
        reads_by_broker(MADE, MEMBERS, CLUSTER, selector="leader", weights={tps("t-0")[0]: -1})
