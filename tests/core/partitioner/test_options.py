"""Options of a producer as keyword arguments, apart from those that its client reads."""

from __future__ import annotations

import re

import pytest

from rackwise.core.errors import PartitionerConfigError
from rackwise.core.partitioner.options import read_options, split_options

CLIENT = ("bootstrap_servers", "linger_ms", "max_batch_size")


def split(**configs):
    return split_options(configs, client=CLIENT, batch_size="max_batch_size")


def test_names_may_have_dots_or_underscores():
    ours = {"client.rack": "a", "partitioner.rack.aware": "true", "rackwise.max.skew": 2}
    with_underscores = {name.replace(".", "_"): value for name, value in ours.items()}
    assert split(**ours, linger_ms=5) == split(**with_underscores, linger_ms=5)
    assert split(**ours, linger_ms=5) == (ours, {"linger_ms": 5})


def test_the_clients_batch_size_is_kafkas_too():
    assert split(max_batch_size=9) == ({"batch.size": 9}, {"max_batch_size": 9})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("client_rak", "client_rack"),
        ("partitioner.rack.awar", "partitioner.rack.aware"),
        ("rackwise_max_skw", "rackwise_max_skew"),
        ("linger", "linger_ms"),
        ("batch.size", "max_batch_size"),
    ],
)
def test_an_unknown_name_is_rejected_with_the_nearest(name, nearest):
    told = re.escape(f"unknown option {name}: did you mean {nearest}?")
    with pytest.raises(PartitionerConfigError, match=told):
        split(**{name: 1})


def test_an_option_with_two_values_is_rejected():
    told = "invalid client.rack: expected one value, got client.rack and client_rack"
    with pytest.raises(PartitionerConfigError, match=re.escape(told)):
        split(client_rack="a", **{"client.rack": "a"})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("client.rak", "client.rack"),
        ("client_rack", "client.rack"),
        ("Client.Rack", "client.rack"),
        ("batchsize", "batch.size"),
        ("partitioner_ignore_keys", "partitioner.ignore.keys"),
        ("rackwise.ep", "rackwise.eps"),
    ],
)
def test_a_misspelt_option_of_kafka_is_rejected_with_the_nearest(name, nearest):
    told = re.escape(f"unknown option {name}: did you mean {nearest}?")
    with pytest.raises(PartitionerConfigError, match=told):
        read_options({name: "1"})


def test_options_of_other_parts_are_ignored():
    """The options of Java's, librdkafka's and kafka-python's producers that are most similar."""
    names = "client.id client_id client.dns.lookup rack.id transaction.timeout.ms partitioner.class"
    others = (*names.split(), "partitioner", "partition.assignment.strategy", "linger.ms", "")
    assert read_options(dict.fromkeys(others, "1")) == {}
