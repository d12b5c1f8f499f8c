"""We write and read the messages of Kafka 0.10.0 as its classes do: hundreds of each version in
each run, many in the exhaustive profile, which draws them from the seed that pytest-randomly
prints.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest
from cases import LINES
from wire_cases import DRAWN

from golden import answered
from rackwise.core.wire.headers import RequestHeader, write_request_header
from wire_answers import check_wire
from wire_messages import BLOCK_1, BLOCK_2, METADATA, STATES

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
COUNTS = {"wire.metadata_response": 1_000, "wire.update_metadata": 1_500}
"""500 of each version."""


@pytest.fixture
def oracle(oracles):
    return oracles[LINES["wire.header"]]


@pytest.mark.parametrize("operation", DRAWN)
def test_our_bytes_are_upstreams(oracle, operation, request):
    seed = request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 36
    rng = Random(f"{seed} {operation}")
    for _ in range(COUNTS.get(operation, 200) * (10 if IS_EXHAUSTIVE else 1)):
        check_wire(operation, answered(oracle, operation, DRAWN[operation](rng)))


def test_a_client_without_an_id_is_one_with_an_empty_id_to_upstream(oracle):
    case = {"api_key": 6, "api_version": 2, "correlation_id": 7, "client_id": None}
    told = bytes.fromhex(oracle.ask("wire.header", case)["hex"])
    header = RequestHeader(**case)
    assert told == write_request_header(replace(header, client_id=""), version=1)
    assert told != write_request_header(header, version=1)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_vectors_come_from_upstream(oracle, version):
    case = {
        "version": version,
        "controller_id": 1,
        "controller_epoch": 3,
        "states": [
            {
                "topic": "t",
                "partition": 0,
                "controller_epoch": 3,
                "leader": 1,
                "leader_epoch": 5,
                "isr": [1, 2],
                "zk_version": 7,
                "replicas": [1, 2],
            }
        ],
        "brokers": [
            {
                "id": 1,
                "endpoints": [
                    {"protocol": 0, "host": "host1", "port": 9092},
                    {"protocol": 1, "host": "host1", "port": 9093},
                ],
                "rack": "dc1",
            },
            {
                "id": 2,
                "endpoints": [{"protocol": 0, "host": "host2", "port": 9092}],
                "rack": None,
            },
        ],
    }
    told = bytes.fromhex(oracle.ask("wire.update_metadata", case)["hex"])
    assert told[8:] == STATES + b"\x00\x00\x00\x02" + BLOCK_1[version] + BLOCK_2[version]


@pytest.mark.parametrize("version", [0, 1])
def test_the_vectors_of_metadata_do_too(oracle, version):
    partition = {"error_code": 0, "partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1]}
    case = {
        "version": version,
        "brokers": [
            {"id": 1, "host": "host1", "port": 9092, "rack": "dc1"},
            {"id": 2, "host": "host2", "port": 9092, "rack": None},
        ],
        "controller_id": 1,
        "topics": [
            {"error_code": 0, "topic": "t", "is_internal": False, "partitions": [partition]}
        ],
    }
    assert oracle.ask("wire.metadata_response", case)["hex"] == METADATA[version].hex()
