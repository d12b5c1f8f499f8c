"""Bytes that somebody made up: cut, turned over, spliced. Nothing but a refusal leaves a reader."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_reader, flipped, is_read
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire import api_versions, headers, metadata, replica_assignment
from rackwise.core.wire.kip36 import broker_block as broker
from rackwise.core.wire.kip36 import update_metadata
from wire_messages import (
    ASSIGNMENT_ANSWERS,
    ASSIGNMENT_QUESTIONS,
    BLOCK_1,
    METADATA,
    SERVER_VERSIONS_3,
    SERVER_VERSIONS_OTHER,
    UPDATE_METADATA,
    octets,
)


def ended(read):
    """A reader of (value, offset) that takes nothing behind."""

    def read_whole(data):
        value, offset = read(data)
        if offset < len(data):
            raise RemoteProtocolError("more", offset=offset)
        return value

    return read_whole


def versioned(write, read, version, wrap=lambda made: made):
    return partial(write, version=version), wrap(partial(read, version=version))


MESSAGES = {
    "request header 1": (
        octets("0006 0002 00000007 0001 63"),
        *versioned(headers.write_request_header, headers.read_request_header, 1, ended),
    ),
    "request header 2": (
        octets("0044 0000 00000007 0008 7261636b77697365 00"),
        *versioned(headers.write_request_header, headers.read_request_header, 2, ended),
    ),
    "ApiVersions request 3": (
        octets("0261 0231 00"),
        *versioned(
            api_versions.write_api_versions_request, api_versions.read_api_versions_request, 3
        ),
    ),
    "ApiVersions response 0": (
        SERVER_VERSIONS_OTHER[8:],
        *versioned(
            api_versions.write_api_versions_response, api_versions.read_api_versions_response, 0
        ),
    ),
    "ApiVersions response 3": (
        SERVER_VERSIONS_3[8:],
        *versioned(
            api_versions.write_api_versions_response, api_versions.read_api_versions_response, 3
        ),
    ),
    "Metadata request 1": (
        octets("00000001 000174"),
        *versioned(metadata.write_metadata_request, metadata.read_metadata_request, 1),
    ),
    "Assignment request": (
        ASSIGNMENT_QUESTIONS["three brokers"][1],
        replica_assignment.write_request,
        replica_assignment.read_request,
    ),
}
for version in (0, 1, 2):
    MESSAGES[f"Broker {version}"] = (
        BLOCK_1[version],
        *versioned(broker.write_broker, broker.read_broker, version, ended),
    )
    MESSAGES[f"UpdateMetadata {version}"] = (
        UPDATE_METADATA[version],
        *versioned(
            update_metadata.write_update_metadata, update_metadata.read_update_metadata, version
        ),
    )
for version in (0, 1):
    MESSAGES[f"Metadata response {version}"] = (
        METADATA[version],
        *versioned(metadata.write_metadata_response, metadata.read_metadata_response, version),
    )
for name, (_, data) in ASSIGNMENT_ANSWERS.items():
    MESSAGES[f"Assignment response, {name}"] = (
        data,
        replica_assignment.write_response,
        replica_assignment.read_response,
    )

EACH = pytest.mark.parametrize("name", MESSAGES)


@EACH
def test_a_message_that_was_cut_is_refused(name):
    data, _, read = MESSAGES[name]
    assert [end for end in range(len(data)) if is_read(data[:end], read)] == []


@EACH
def test_a_bit_that_was_turned_over_is_refused_or_read(name):
    data, write, read = MESSAGES[name]
    outcomes = {check_reader(other, write, read) for other in flipped(data)}
    assert False in outcomes


@given(name=st.sampled_from(sorted(MESSAGES)), seed=st.integers(0, 2**32))
def test_spliced_messages_and_noise_are_refused_or_read(name, seed):
    data, write, read = MESSAGES[name]
    draw = Random(seed)
    for _ in range(20):
        begin, end = sorted(draw.choices(range(len(data) + 1), k=2))
        other = bytearray(data)
        other[begin:end] = draw.choice([b"", draw.randbytes(4), b"\xff" * 5, data[:begin], data])
        check_reader(bytes(other), write, read)
        check_reader(draw.randbytes(draw.randrange(64)), write, read)
