"""All three clients on librdkafka's mock cluster: locality, load, faults on demand."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from kafka_traffic import until
from mock_cluster import MockCluster
from producers import CLIENTS
from rackwise.adapters.clients.rack_source import fixed_racks
from rackwise.core.partitioner import PartitionerConfig

RACKS = ["az1", "az2", "az3"] * 2
PARTITIONS = 12
LOCAL = {0, 3, 6, 9}
VALUE = bytes(100)
SIZE = len(VALUE) + 12
RACK_OF = dict(enumerate(RACKS, start=1))
OWN = {"kafka-python": {"api_version": (2, 1)}}
ONE_IN_FLIGHT = {
    "kafka-python": {"max_in_flight_requests_per_connection": 1},
    "confluent-kafka": {"max_in_flight": 1, "topic_metadata_refresh_interval_ms": 30_000},
}


@pytest.fixture(scope="module")
def brokers():
    with MockCluster(RACKS) as made:
        yield made


@pytest.fixture
def cluster(brokers):
    """All brokers up, quick, and in their racks again after the test."""
    yield brokers
    for broker, rack in RACK_OF.items():
        brokers.up(broker)
        brokers.rtt(broker, 0)
        brokers.rack(broker, rack)


@pytest.fixture
def topic(cluster, request):
    name = request.node.name.replace("[", "-").strip("]")
    cluster.topic(name, partitions=PARTITIONS)
    return name


@pytest.fixture(params=CLIENTS)
def client(request):
    return request.param


QUICK_TO_RETURN = {
    "kafka-python": {"reconnect_backoff_max_ms": 200},
    "confluent-kafka": {"reconnect_backoff_max_ms": 200},
}


def made(client, cluster, options=None, racks=None, **config):
    """A producer of a client, made with these options of its and of ours."""
    settings = {"rack_aware": True, "rack": "az1", "sticky_bytes": 4096, **config}
    own = OWN.get(client, {}) | (options or {}).get(client, {})
    source = racks or fixed_racks(RACK_OF)
    return CLIENTS[client](cluster.bootstrap, PartitionerConfig(**settings), racks=source, **own)


def partitions(written):
    return {partition for partition, _ in written}


def test_all_records_go_to_leaders_in_the_own_rack(cluster, topic, client):
    with made(client, cluster) as producer:
        written = producer.write(topic, [VALUE] * 6000)
        counters = producer.counters(topic)
        assert producer.failures.last is None
    assert partitions(written) == LOCAL
    assert len(written) == counters.records == 6000
    assert counters.cross_bytes == counters.unknown_bytes == 0
    headers = counters.local_bytes - 6000 * SIZE
    assert headers % 61 == 0
    assert bool(headers) == (client == "kafka-python")


def test_a_rack_blind_producer_writes_everywhere(cluster, topic, client):
    with made(client, cluster, rack_aware=False, rack=None) as producer:
        written = producer.write(topic, [VALUE] * 6000)
    assert partitions(written) == set(range(PARTITIONS))


@pytest.mark.parametrize("client", ONE_IN_FLIGHT)
def test_a_slow_leader_gets_less(cluster, topic, client):
    cluster.rtt(1, 200)
    with made(client, cluster, ONE_IN_FLIGHT) as producer:
        for _ in range(100):
            producer.hand_over(topic, [VALUE] * 40)
            until(lambda: producer.waiting() < 1200, "room for more records")
        until(lambda: not producer.waiting(), "all records")
        found = Counter(producer.found)
    assert set(found) <= LOCAL
    assert found[3] + found[9] > 1.5 * (found[0] + found[6]), found


def test_a_leader_that_moves_within_a_window_takes_the_window_along(cluster, topic, client):
    with made(client, cluster, sticky_bytes=1 << 20) as producer:
        (first,) = partitions(producer.write(topic, [VALUE]))
        cluster.leader(topic, first, 2)
        assert partitions(producer.write(topic, [VALUE] * 50)) == {first}

        def is_counted():
            producer.write(topic, [VALUE])
            return producer.counters(topic).cross_bytes > 0

        until(is_counted, "the new leader to be seen")
        found = producer.counters(topic)
    assert found.local_bytes + found.cross_bytes >= found.records * SIZE


def test_racks_that_change_all_the_time_lose_no_record(cluster, topic, client):
    turns = itertools.count()
    source = lambda: {each: RACKS[(each + next(turns)) % 6] for each in RACK_OF}  # noqa: E731
    with made(client, cluster, racks=source, sticky_bytes=512) as producer:
        for turn in range(20):
            for broker in RACK_OF:
                cluster.rack(broker, RACKS[(broker + turn) % 6])
            assert len(producer.write(topic, [VALUE] * 50)) == 50
        found = producer.counters(topic)
        assert producer.failures.last is None
    assert found.records == 1000
    assert found.local_bytes + found.cross_bytes + found.unknown_bytes >= 1000 * SIZE


def test_a_partition_without_leader_is_not_chosen(cluster, topic, client):
    for partition in LOCAL - {9}:
        cluster.leader(topic, partition, None)
    with made(client, cluster) as producer:
        assert partitions(producer.write(topic, [VALUE] * 500)) == {9}


def test_a_broker_that_is_down_is_left_out_and_comes_back(cluster, topic, client):
    """partitioner.availability.timeout.ms: its records wait, those after it go elsewhere."""
    told = {"availability_timeout_ms": 300, "sticky_bytes": 512}
    with made(client, cluster, QUICK_TO_RETURN, **told) as producer:
        producer.write(topic, [VALUE] * 100)
        if client == "kafka-python":  # its sender never gets over a leader that metadata leaves out
            cluster.rtt(1, 1500)
        else:
            cluster.down(1)
        until(lambda: _leaves(producer, topic), "broker 1 to be left out")
        cluster.rtt(1, 0)
        cluster.up(1)
        until(lambda: _is_back(producer, topic), "broker 1 to be back")
        until(lambda: not producer.waiting(), "all records")
        assert producer.failures.last is None
    assert producer.counters(topic).exclusions >= 1


def _leaves(producer, topic):
    """Send without waiting; whether a node was left out so far."""
    producer.hand_over(topic, [VALUE] * 20)
    return producer.counters(topic).exclusions


def _is_back(producer, topic):
    """Let callbacks run; whether a node was let in again so far."""
    producer.waiting()
    return producer.counters(topic).readmissions
