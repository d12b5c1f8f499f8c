"""kio, which is made from Kafka's own schemas, reads what we write, and writes the same bytes.

It knows error codes by name, and throttling as a time: both are drawn as it can hold them. It has
no schema of UpdateMetadata, which Kafka 4 has no more. It reads the types of fields off their
annotations, so these must not be texts.
"""

import io
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.response_header.v1.header import ResponseHeader
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32

from rackwise.core.wire import api_versions, headers, metadata, replica_assignment
from wire_messages import (
    API_VERSIONS_REQUESTS,
    ASSIGNMENT_REQUESTS,
    HEADERS,
    INT32,
    TEXTS,
    api_versions_responses,
    assignment_responses,
    metadata_responses,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One partition of the answer."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(68)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    partition_id: i32 = field(metadata={"kafka_type": "int32"})
    replicas: tuple[i32, ...] = field(metadata={"kafka_type": "int32"}, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The response of CreateReplicaAssignment with our tagged fields."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(68)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    replica_assignment: tuple[Row, ...]
    error_code: i16 = field(metadata={"kafka_type": "int16", "tag": 0}, default=i16(0))
    error_message: str | None = field(metadata={"kafka_type": "string", "tag": 1}, default=None)
    throttle_time_ms: i32 = field(metadata={"kafka_type": "int32", "tag": 2}, default=i32(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The request of CreateReplicaAssignment."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(68)
    num_partitions: i32 = field(metadata={"kafka_type": "int32"})
    replication_factor: i16 = field(metadata={"kafka_type": "int16"})
    force_simple_assignment: bool = field(metadata={"kafka_type": "bool"})
    node_id: tuple[i32, ...] = field(metadata={"kafka_type": "int32"}, default=())
    timeout_ms: i32 = field(metadata={"kafka_type": "int32"})


def entity(module, version, part, name):
    return getattr(import_module(f"kio.schema.{module}.v{version}.{part}"), name)


def check_kio(kind, data):
    """What kio reads is written by it to the same bytes."""
    value, size = entity_reader(kind)(data, 0)
    assert size == len(data)
    written = io.BytesIO()
    entity_writer(kind)(written, value)
    assert written.getvalue() == data
    return value


def with_known_errors(ours):
    """An answer whose error codes are some of Kafka's."""
    partitions = [
        tuple(replace(p, error_code=0) for p in topic.partitions) for topic in ours.topics
    ]
    return replace(
        ours,
        topics=tuple(
            replace(topic, error_code=3, partitions=held)
            for topic, held in zip(ours.topics, partitions, strict=True)
        ),
    )


@pytest.mark.parametrize("version", [0, 1])
@given(drawn=st.data())
def test_metadata_responses(version, drawn):
    ours = with_known_errors(drawn.draw(metadata_responses(version)))
    data = metadata.write_metadata_response(ours, version=version)
    read = check_kio(entity("metadata", version, "response", "MetadataResponse"), data)
    told = [(b.node_id, b.host, b.port, b.rack if version else None) for b in read.brokers]
    assert told == [(b.node_id, b.host, b.port, b.rack) for b in ours.brokers]
    assert [t.name for t in read.topics] == [t.topic for t in ours.topics]


@pytest.mark.parametrize("version", [0, 1])
@given(topics=st.lists(TEXTS, min_size=1, max_size=3) | st.none())
def test_metadata_requests(version, topics):
    kind = entity("metadata", version, "request", "MetadataRequest")
    data = metadata.write_metadata_request(topics, version=version)
    read = check_kio(kind, data)
    assert [t.name for t in read.topics or ()] == (topics or [])


@pytest.mark.parametrize("version", range(5))
@given(drawn=st.data())
def test_api_versions_responses(version, drawn):
    told = drawn.draw(api_versions_responses(version))
    throttle_time_ms = told.throttle_time_ms & 0x7FFFFFFF
    ours = replace(told, error_code=35, unknown_tags=(), throttle_time_ms=throttle_time_ms)
    data = api_versions.write_api_versions_response(ours, version=version)
    read = check_kio(entity("api_versions", version, "response", "ApiVersionsResponse"), data)
    ranges = [(k.api_key, k.min_version, k.max_version) for k in read.api_keys]
    assert ranges == [(r.api_key, r.least, r.most) for r in ours.ranges]


@pytest.mark.parametrize("version", range(5))
@given(ours=API_VERSIONS_REQUESTS)
def test_api_versions_requests(version, ours):
    kind = entity("api_versions", version, "request", "ApiVersionsRequest")
    check_kio(kind, api_versions.write_api_versions_request(ours, version=version))


@pytest.mark.parametrize("version", [1, 2])
@given(ours=HEADERS)
def test_request_headers(version, ours):
    kind = entity("request_header", version, "header", "RequestHeader")
    check_kio(kind, headers.write_request_header(ours, version=version))


@pytest.mark.parametrize("version", [0, 1])
@given(INT32)
def test_response_headers(version, correlation_id):
    kind = entity("response_header", version, "header", "ResponseHeader")
    read = check_kio(kind, headers.write_response_header(correlation_id, version=version))
    assert read.correlation_id == correlation_id


@given(ASSIGNMENT_REQUESTS)
def test_assignment_requests(told):
    ours = replace(told, unknown_tags=())
    read = check_kio(Question, replica_assignment.write_request(ours))
    assert tuple(read.node_id) == ours.node_ids


@given(assignment_responses())
def test_assignment_responses(told):
    ours = replace(told, unknown_tags=())
    read = check_kio(Answer, replica_assignment.write_response(ours))
    assert (read.error_code, read.error_message) == (ours.error_code, ours.error_message)
    assert read.throttle_time_ms == ours.throttle_time_ms
    rows = [] if ours.rows is None else ours.rows.tolist()
    assert {each.partition_id: each.replicas for each in read.replica_assignment} == {
        partition: tuple(broker for broker in row if broker >= 0)
        for partition, row in enumerate(rows, start=ours.first)
    }
