"""What a rack-aware producer of confluent-kafka may be given, and what it says of the rest."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from rackwise.adapters.clients.confluent.settings import read_settings
from rackwise.core.errors import PartitionerConfigError
from rackwise.core.partitioner import PartitionerConfig

SERVERS = {"bootstrap.servers": "broker:9092"}
AWARE = PartitionerConfig(rack_aware=True, rack="az1")


def test_options_are_read_by_kafkas_names_and_kept_from_librdkafka():
    conf = {**SERVERS, "client.rack": "az1", "partitioner.ignore.keys": "true", "linger.ms": 5}
    found = read_settings(conf, None, None)
    assert found.config == PartitionerConfig(
        rack_aware=True, rack="az1", ignore_keys=True, sticky_bytes=1_000_000
    )
    assert found.conf == {**SERVERS, "client.rack": "az1", "linger.ms": 5}
    assert read_settings(SERVERS, None, "az1").config.rack == "az1"


@pytest.mark.parametrize(
    ("conf", "wanted"),
    [
        ({}, 1_000_000),
        ({"batch.size": "5000"}, 5000),
        ({"default.topic.config": {"batch.size": 5000}}, 5000),
    ],
)
def test_a_window_has_the_clients_batch_size(conf, wanted):
    assert read_settings(conf, None, "az1").config.sticky_bytes == wanted


@pytest.mark.parametrize("size", [300, 16_384])
def test_a_window_of_a_partitioner_config_is_its_own(size):
    config = PartitionerConfig(rack_aware=True, rack="az1", sticky_bytes=size)
    assert read_settings({"batch.size": 5000}, config, None).config == config


@pytest.mark.parametrize(
    "conf",
    [
        {"statistics.interval.ms": "x"},
        {"statistics.interval.ms": None},
        {"topic.metadata.refresh.interval.ms": None},
        {"partitioner": None},
        {3: 4},
    ],
)
def test_what_librdkafka_rejects_is_left_to_it(conf):
    found = read_settings({**SERVERS, **conf}, None, "az1")
    assert found.conf == {**SERVERS, **conf, "client.rack": "az1"}
    assert (found.has_statistics, found.refresh_ms) == (False, 300_000)
    assert not found.is_custom
    with pytest.raises(KafkaException, match="_INVALID_ARG"):
        Producer(found.conf)


def test_the_same_rack_may_stand_twice():
    conf = {**SERVERS, "client.rack": "az1"}
    assert read_settings(conf, None, "az1").config.rack == "az1"
    assert read_settings(conf, AWARE, None).config == AWARE


@pytest.mark.parametrize(
    ("conf", "is_custom"),
    [
        ({}, False),
        ({"partitioner": "murmur2_random"}, False),
        ({"partitioner": "random"}, True),
        ({"default.topic.config": {"partitioner": "consistent"}}, True),
    ],
)
def test_a_partitioner_for_records_without_a_key_stays_in_force(conf, is_custom):
    found = read_settings({**SERVERS, **conf}, AWARE, None)
    assert found.is_custom == is_custom
    assert found.config.rack_aware != is_custom


def test_a_second_client_has_the_connection_alone_and_is_silent():
    conf = {**SERVERS, "sasl.username": "me", "linger.ms": 5, "transactional.id": "t"}
    found = read_settings(conf, None, "az1").connection()
    assert found.pop("error_cb")(None) is None
    assert found == {**SERVERS, "sasl.username": "me", "log_level": 0}


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        (
            (SERVERS, "az1", None),
            "invalid config: expected a PartitionerConfig, got az1",
            "write PartitionerConfig(rack_aware=True, rack='az1')",
        ),
        (
            (SERVERS, 3, None),
            "invalid config: expected a PartitionerConfig, got an object of class int",
            "write PartitionerConfig(rack_aware=True, rack=RACK)",
        ),
        (
            (SERVERS, PartitionerConfig(rack="az1"), None),
            "invalid rack_aware: expected True because a rack is given, got False",
            "write PartitionerConfig(rack_aware=True, rack='az1')",
        ),
        (
            ("broker:9092", AWARE, None),
            "invalid conf: expected a dict of librdkafka's settings, got broker:9092",
            'write RackAwareProducer({"bootstrap.servers": "..."}, client_rack="use1-az1")',
        ),
        (
            (SERVERS, AWARE, "az1"),
            "invalid options: expected none beside a PartitionerConfig, got client.rack",
            'write RackAwareProducer({"bootstrap.servers": "..."}, client_rack="use1-az1")',
        ),
        (
            ({**SERVERS, "client.rack": "az2"}, None, "az1"),
            "invalid client.rack: expected one value, got az2 and az1",
            'write RackAwareProducer({"bootstrap.servers": "..."}, client_rack="use1-az1")',
        ),
        (
            ({**SERVERS, "client.rack": "az2"}, AWARE, None),
            "invalid client.rack: expected one value, got az2 and az1",
            'write RackAwareProducer({"bootstrap.servers": "..."}, client_rack="use1-az1")',
        ),
        (
            ({**SERVERS, "batch.size": "1M"}, None, "az1"),
            "invalid batch.size: expected an integer, got 1M",
            "the options are listed at PartitionerConfig",
        ),
        (
            ({**SERVERS, "batch.size": None}, None, "az1"),
            "invalid batch.size: expected an integer, got None",
            "the options are listed at PartitionerConfig",
        ),
        (
            ({**SERVERS, "partitioner.rack.awar": "true"}, None, "az1"),
            "unknown option partitioner.rack.awar: did you mean partitioner.rack.aware?",
            "the options are listed at PartitionerConfig",
        ),
    ],
)
def test_an_error_says_what_to_write(given, message, hint):
    with pytest.raises(PartitionerConfigError) as caught:
        read_settings(*given)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_a_producer_is_no_settings():
    with pytest.raises(PartitionerConfigError, match="got an object of class Producer"):
        read_settings(Producer({**SERVERS, "log_level": 0}), AWARE, None)
