"""Real brokers asked in our own bytes: Metadata and ApiVersions of Kafka 4.x and 3.9."""

from __future__ import annotations

import socket

import pytest

from kafka_traffic import PATIENCE_S, create, delete
from rackwise.core.wire import api_versions, metadata
from rackwise.core.wire.headers import (
    FRAME_PREFIX,
    RequestHeader,
    read_frame_size,
    read_response_header,
    write_frame,
    write_request_header,
)
from rackwise.core.wire.replica_assignment import API_KEY, MARKER

NAME = "wire"
PLACEMENT = [[0, 1], [1, 2], [2, 0]]
CORRELATION = 7
MOST_BYTES = 1 << 24


def asked(broker, api_key, api_version, body, *, header_version=1):
    """The body of a broker's answer."""
    header = RequestHeader(
        api_key=api_key,
        api_version=api_version,
        correlation_id=CORRELATION,
        client_id="rackwise",
    )
    told = write_request_header(header, version=header_version) + body
    address = (broker.host, broker.port)
    with socket.create_connection(address, PATIENCE_S) as peer, peer.makefile("rb") as stream:
        peer.sendall(write_frame(told))
        answer = stream.read(read_frame_size(stream.read(FRAME_PREFIX), most=MOST_BYTES))
    correlation_id, offset = read_response_header(answer, version=0)
    assert correlation_id == CORRELATION
    return answer[offset:]


def metadata_of(broker, version, topics):
    body = metadata.write_metadata_request(topics, version=version)
    answer = asked(broker, metadata.API_KEY, version, body)
    read = metadata.read_metadata_response(answer, version=version)
    assert metadata.write_metadata_response(read, version=version) == answer
    return read


@pytest.fixture
def topic(admin):
    create(admin, NAME, PLACEMENT)
    yield NAME
    delete(admin, NAME)


@pytest.mark.parametrize("version", [0, 1])
def test_metadata_says_what_is_known(cluster, topic, version):
    read = metadata_of(cluster.brokers[0], version, [topic])
    brokers = {b.id: (b.host, b.port) for b in cluster.brokers}
    assert {b.node_id: (b.host, b.port) for b in read.brokers} == brokers
    racks = {b.id: b.rack and str(b.rack) for b in cluster.brokers}
    assert {b.node_id: b.rack for b in read.brokers} == (racks if version else dict.fromkeys(racks))
    assert (read.controller_id in brokers) is bool(version)
    (told,) = read.topics
    assert (told.topic, told.error_code, told.is_internal) == (topic, 0, False)
    rows = {p.partition: list(p.replicas) for p in told.partitions}
    assert rows == dict(enumerate(PLACEMENT))


def test_no_topics_and_all_topics_differ(cluster, topic):
    assert metadata_of(cluster.brokers[0], 1, []).topics == ()
    for version in (0, 1):
        assert topic in {t.topic for t in metadata_of(cluster.brokers[0], version, None).topics}


@pytest.mark.parametrize("version", range(5))
def test_a_broker_shows_key_68_but_never_the_marker(cluster, version):
    request = api_versions.ApiVersionsRequest(
        client_software_name="rackwise", client_software_version="0"
    )
    body = api_versions.write_api_versions_request(request, version=version)
    header_version = 2 if version > 2 else 1
    answer = asked(
        cluster.brokers[0], api_versions.API_KEY, version, body, header_version=header_version
    )
    read = api_versions.read_api_versions_response(answer, version=version)
    assert read.error_code == 0
    assert {metadata.API_KEY, api_versions.API_KEY, API_KEY} <= {r.api_key for r in read.ranges}
    assert MARKER not in read.features
    assert version > 2 or not read.features


def test_a_broker_that_does_not_know_a_version_answers_in_version_0(cluster):
    answer = asked(cluster.brokers[0], api_versions.API_KEY, 99, b"", header_version=2)
    read = api_versions.read_api_versions_response(answer, version=0)
    assert read.error_code == api_versions.UNSUPPORTED_VERSION
