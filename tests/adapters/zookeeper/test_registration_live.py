"""Registrations and topic nodes of real brokers read by us, and ours read by real brokers."""

from __future__ import annotations

from contextlib import closing, contextmanager

import pytest
from kafka import TopicPartition

from kafka_traffic import create, delete, until
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.adapters.zookeeper import open_zookeeper
from rackwise.core.identity.nodes.store import IDS, TOPICS, Create, Delete
from rackwise.core.wire import ReplicaSet, read_registration, read_topic_node, write_registration
from registrations import endpoint, sample

STRANGER = 99
NAME = "wire"


@contextmanager
def opened(cluster):
    with (
        closing(connect(cluster.bootstrap)) as admin,
        closing(open_zookeeper(f"zookeeper://{cluster.zookeeper_connect}")) as store,
    ):
        yield admin, store


def registration(store, broker_id):
    node = store.read([f"{IDS}/{broker_id}"])[f"{IDS}/{broker_id}"]
    return None if node is None else read_registration(broker_id, node.data)


def topic_node(store, name):
    return read_topic_node(name, store.read([f"{TOPICS}/{name}"])[f"{TOPICS}/{name}"].data)


def described(admin):
    return {each["broker_id"]: each for each in admin.describe_cluster()["brokers"]}


@contextmanager
def registered(admin, store, version):
    """A broker 99 of our own bytes, where nobody listens; gone again at the end."""
    told = sample(
        broker_id=STRANGER,
        endpoints=(endpoint(f"PLAINTEXT://127.0.0.1:{free_ports(1)[0]}"),),
        rack="ours",
        features={},
    )
    path = f"{IDS}/{STRANGER}"
    store.commit([Create(path, write_registration(told, version=version), ephemeral=True)])
    try:
        until(lambda: STRANGER in described(admin), f"version {version} to be taken in")
        yield told
    finally:
        store.commit([Delete(path)])
        until(lambda: STRANGER not in described(admin), "the registration to go")


@pytest.mark.zookeeper
def test_a_registration_of_3_9_says_what_its_metadata_says(zookeeper_cluster):
    with opened(zookeeper_cluster) as (admin, store):
        for broker_id, told in described(admin).items():
            read = registration(store, broker_id)
            assert (read.version, read.extra, read.jmx_port) == (5, {}, -1)
            assert (read.host, read.port, read.rack) == (told["host"], told["port"], told["rack"])
            assert list(map(str, read.endpoints)) == [f"PLAINTEXT://{read.host}:{read.port}"]
            again = read_registration(broker_id, write_registration(read, version=5))
            assert again == read


@pytest.mark.zookeeper
@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_a_real_controller_takes_ours_in_and_shows_the_rack(zookeeper_cluster, version):
    """KIP-36: "the broker will write the broker info in ZK using version 3, including the rack
    info"."""
    with (
        opened(zookeeper_cluster) as (admin, store),
        registered(admin, store, version) as told,
    ):
        shown = described(admin)[STRANGER]
        assert (shown["host"], shown["port"]) == ("127.0.0.1", told.endpoints[0].port)
        assert shown["rack"] == ("ours" if version >= 3 else None)


@pytest.mark.zookeeper
def test_topic_nodes_say_what_metadata_and_reassignments_say(zookeeper_cluster):
    partition = TopicPartition(NAME, 1)
    with opened(zookeeper_cluster) as (admin, store):
        create(admin, NAME, [[0, 1], [1, 2]])
        still = topic_node(store, NAME)
        (shown,) = admin.describe_topics([NAME])
        assert (still.version, still.extra) == (3, {})
        assert len(still.topic_id) == 22
        assert {number: each.replicas for number, each in still.partitions.items()} == {
            each["partition_index"]: tuple(each["replica_nodes"]) for each in shown["partitions"]
        }
        with registered(admin, store, 5):
            admin.alter_partition_reassignments({partition: [1, STRANGER]})
            until(lambda: topic_node(store, NAME).partitions[1].adding, "the move to begin")
            moving = topic_node(store, NAME).partitions
            assert moving == {
                0: ReplicaSet(replicas=(0, 1)),
                1: ReplicaSet(replicas=(1, STRANGER, 2), adding=(STRANGER,), removing=(2,)),
            }
            listed = admin.list_partition_reassignments()[partition]
            assert (
                tuple(listed["replicas"]),
                tuple(listed["adding_replicas"]),
                tuple(listed["removing_replicas"]),
            ) == (moving[1].replicas, moving[1].adding, moving[1].removing)
            admin.alter_partition_reassignments({partition: None})
            until(lambda: topic_node(store, NAME) == still, "the move to be taken back")
        delete(admin, NAME)


@pytest.mark.zookeeper
@pytest.mark.long
def test_the_ibp_decides_which_version_a_broker_writes(java_home, tmp_path):
    """KIP-36: "When inter.broker.protocol.version is set to 0.9.0.X, the broker will write the
    broker info in ZK using version 2, ignoring the rack info"."""
    ibp = "inter.broker.protocol.version="
    with Sandbox.zookeeper(
        brokers=1,
        racks=("a",),
        java_home=java_home,
        folder=tmp_path / "cluster",
        overrides={ibp.rstrip("="): "0.9.0", "log.message.format.version": "0.9.0"},
    ) as cluster:
        properties = cluster.folder / "broker-0" / "server.properties"
        url = f"zookeeper://{cluster.zookeeper_connect}"
        with closing(open_zookeeper(url, read_only=True)) as store:
            read = registration(store, 0)
            assert (read.version, read.rack) == (2, None)
            for newer, version in (("2.6", 4), ("3.9", 5)):
                lines = properties.read_text().splitlines()
                kept = [line for line in lines if not line.startswith(ibp)]
                properties.write_text("\n".join([*kept, ibp + newer, ""]))
                cluster.restart(0)
                cluster.wait_until_ready()
                read = registration(store, 0)
                assert (read.version, read.rack) == (version, "a")
