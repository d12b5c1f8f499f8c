"""Keyed records go where the clients' own partitioners put them."""

from __future__ import annotations

from random import Random

import pytest
from confluent_kafka import murmur2 as librdkafkas_partition
from kafka.cluster import ClusterMetadata
from kafka.partitioner import DefaultPartitioner

from client_metadata import answer
from rackwise.core.partitioner import murmur2, partition_for_key

RNG = Random(28)
KEYS = [b"", *(RNG.randbytes(RNG.randint(0, 64)) for _ in range(1_000))]
COUNT = 12


@pytest.fixture(scope="module")
def cluster():
    made = ClusterMetadata()
    made.update_metadata(answer({1: "a"}, {"t": [[1]] * COUNT}))
    return made


def test_kafka_pythons(cluster):
    peer = DefaultPartitioner()
    for key in KEYS:
        assert partition_for_key(key, COUNT) == peer.partition("t", key, key, None, None, cluster)


def test_librdkafkas():
    for key in KEYS:
        assert partition_for_key(key, COUNT) == librdkafkas_partition(key, COUNT), murmur2(key)
