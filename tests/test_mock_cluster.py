"""librdkafka's mock cluster, used by a client that is not librdkafka."""

from __future__ import annotations

import ctypes.util
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaProducer, TopicPartition

from kafka_traffic import until
from mock_cluster import MockCluster, MockClusterError, load_library

RACKS = ["az1", None, "az3"]


@pytest.fixture
def cluster():
    with MockCluster(RACKS) as made:
        made.topic("t", partitions=4)
        yield made


@pytest.fixture
def client(cluster):
    servers = cluster.bootstrap.split(",")
    with closing(
        KafkaProducer(bootstrap_servers=servers, api_version=(2, 1), metadata_max_age_ms=100)
    ) as made:
        assert made.partitions_for("t") == {0, 1, 2, 3}
        yield made


def leaders(client):
    return [client._metadata.leader_for_partition(TopicPartition("t", each)) for each in range(4)]


def test_it_has_brokers_in_racks_and_a_topic_with_leaders(cluster, client):
    assert cluster.brokers == len(cluster.bootstrap.split(",")) == 3
    assert {each.node_id: each.rack for each in client._metadata.brokers()} == {
        1: "az1",
        2: None,
        3: "az3",
    }
    assert leaders(client) == [1, 2, 3, 1]


def test_a_leader_moves_and_goes(cluster, client):
    cluster.leader("t", 0, 3)
    cluster.leader("t", 1, None)
    until(lambda: leaders(client) == [3, -1, 3, 1], "the new leaders")


def test_a_broker_changes_its_rack(cluster, client):
    cluster.rack(2, "az2")
    until(lambda: client._metadata.broker_metadata(2).rack == "az2", "the new rack")


def test_a_late_broker_is_late_and_the_others_are_not(cluster, client):
    cluster.rtt(1, 600)
    late = client.send("t", b"x", partition=0)
    assert client.send("t", b"x", partition=1).get(timeout=30).partition == 1
    assert not late.is_done
    assert late.get(timeout=30).partition == 0


def test_a_broker_goes_down_and_comes_back(cluster, client):
    cluster.down(2)
    waiting = client.send("t", b"x", partition=1)
    assert client.send("t", b"x", partition=2).get(timeout=30).partition == 2
    assert not waiting.is_done
    cluster.up(2)
    assert waiting.get(timeout=30).partition == 1


@pytest.mark.parametrize(
    "refused",
    [
        lambda cluster: cluster.rtt(9, 1),
        lambda cluster: cluster.leader("t", 99, 1),
        lambda cluster: cluster.topic("t", partitions=4),
    ],
    ids=["rtt", "leader", "topic"],
)
def test_what_librdkafka_refuses_is_said(cluster, refused):
    with pytest.raises(MockClusterError, match=r"librdkafka error -?\d+"):
        refused(cluster)


def test_it_ends_once_and_is_gone_then():
    with MockCluster(["a"]) as cluster:
        cluster.close()
        with pytest.raises(MockClusterError, match="is closed"):
            _ = cluster.bootstrap


def test_no_broker_is_no_cluster():
    with pytest.raises(MockClusterError, match="expected 1 or more, got 0"):
        MockCluster([])


def test_a_library_without_the_mock_is_rejected():
    libc = ctypes.util.find_library("c")
    with pytest.raises(MockClusterError, match="librdkafka has no mock cluster"):
        load_library([Path(libc)])
    with pytest.raises(MockClusterError, match="contains no librdkafka"):
        load_library([])
