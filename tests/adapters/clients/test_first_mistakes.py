"""The mistakes of somebody who writes a first producer or consumer, and what they are told."""

from __future__ import annotations

import gc

import pytest

import rackwise.aiokafka
import rackwise.confluent
import rackwise.kafka_python
from rackwise.core.errors import InvalidConfig, PartitionerConfigError

SERVERS = "127.0.0.1:1"
WITHOUT_A_RACK = {
    "kafka_python producer": lambda rack: rackwise.kafka_python.RackAwareProducer(
        client_rack=rack, bootstrap_servers=SERVERS
    ),
    "kafka_python consumer": lambda rack: rackwise.kafka_python.rack_consumer(
        "t", client_rack=rack, bootstrap_servers=SERVERS
    ),
    "aiokafka producer": lambda rack: rackwise.aiokafka.RackAwareProducer(
        client_rack=rack, bootstrap_servers=SERVERS
    ),
    "aiokafka consumer": lambda rack: rackwise.aiokafka.rack_consumer(
        "t", client_rack=rack, bootstrap_servers=SERVERS
    ),
    "confluent producer": lambda rack: rackwise.confluent.RackAwareProducer(
        {"bootstrap.servers": SERVERS}, client_rack=rack
    ),
}
DICTS = {
    "kafka_python producer": rackwise.kafka_python.RackAwareProducer,
    "kafka_python consumer": lambda given: rackwise.kafka_python.rack_consumer(
        given, client_rack="a"
    ),
    "aiokafka producer": rackwise.aiokafka.RackAwareProducer,
    "aiokafka consumer": lambda given: rackwise.aiokafka.rack_consumer(given, client_rack="a"),
}


@pytest.mark.parametrize("rack", [None, " "])
@pytest.mark.parametrize("make", WITHOUT_A_RACK)
def test_a_missing_rack_is_one_error_in_all_clients(make, rack):
    told = "^invalid client_rack: expected the rack of this process, got none$"
    with pytest.raises(InvalidConfig, match=told) as caught:
        WITHOUT_A_RACK[make](rack)
    assert type(caught.value) is InvalidConfig
    assert "detect_rack() is None where no source has it: set KAFKA_CLIENT_RACK" in str(
        caught.value.hint
    )


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("make", DICTS)
def test_a_dict_of_options_is_one_error_that_shows_no_value(make):
    canary = "canary-7f3a"
    given = {"bootstrap_servers": SERVERS, "sasl_plain_password": canary}
    with pytest.raises((InvalidConfig, PartitionerConfigError)) as caught:
        DICTS[make](given)
    told = f"{caught.value} {caught.value.hint} {caught.value.as_dict()}"
    assert "got an object of class dict" in told
    assert "**options" in told
    assert canary not in told
    del caught
    gc.collect()  # a client that was created in part complains here
