"""Metadata, api key 3, versions 0 and 1: brokers and topics, as clients request them.

```
request   array of topic          0: empty = all topics; no topics cannot be requested
                                  1: null = all, empty = none
response  brokers                 array of (node_id int32, host, port int32; 1: rack, nullable)
          1: controller_id int32  -1 = none
          topics                  array of (error int16, topic; 1: is_internal bool;
                                            partitions array of (error int16, partition int32,
                                            leader int32, replicas, isr arrays of int32))
```

Broker 1 in dc1 is controller and leads t-0; it alone is in sync, broker 2 has no rack; version 1:

```
00000002 00000001 0005686f737431 00002384 0003646331 00000002 0005686f737432 00002384 ffff
00000001
00000001 0000 000174 00
  00000001 0000 00000000 00000001 00000002 00000001 00000002 00000001 00000001
```

KIP-36 adds only the rack of brokers in version 1: no controller_id, no is_internal, no difference
between null and empty. This file follows Kafka 0.10.0, as no broker ever sent the bytes of the KIP.

Source: KIP-36, KIP-4; `MetadataRequest` and `MetadataResponse` of Kafka 0.10.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import LocalProtocolError
from rackwise.core.wire.reader import Reader
from rackwise.core.wire.writer import Writer, require_version

if TYPE_CHECKING:
    from collections.abc import Sequence

API_KEY = 3
NEWEST = 1
NOBODY = -1
_SINCE_KIP36 = 1
_LEAST_TEXT = 2
_LEAST_BROKER = 10
_LEAST_TOPIC = 8
_LEAST_PARTITION = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataBroker:
    """The address of a broker."""

    node_id: int
    """int32."""
    host: str
    port: int
    """int32."""
    rack: str | None = None
    """None = none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """The leader and the replicas of a partition; ids are int32."""

    error_code: int = 0
    """int16."""
    partition: int
    leader: int
    """-1 = none."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """A topic and its partitions."""

    error_code: int = 0
    topic: str
    is_internal: bool = False
    """Not sent in version 0."""
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    """The response."""

    brokers: tuple[MetadataBroker, ...]
    controller_id: int | None = None
    """None = none, or not sent in version 0."""
    topics: tuple[TopicMetadata, ...]


def write_metadata_request(topics: Sequence[str] | None, *, version: int) -> bytes:
    """Write the body that requests these topics, None = all.

    Raises `LocalProtocolError`, also for no topics in version 0.
    """
    require_version("Metadata", version, newest=NEWEST)
    writer = Writer()
    if topics is None:
        writer.int32(-1 if version >= _SINCE_KIP36 else 0)
        return bytes(writer.data)
    if not topics and version < _SINCE_KIP36:
        raise LocalProtocolError(
            "expected at least one topic, got none: version 0 reads an empty list as all topics",
            wanted="a topic",
            had=0,
            hint="write version 1",
        )
    writer.int32(len(topics))
    for topic in topics:
        writer.text(topic, "topic")
    return bytes(writer.data)


def read_metadata_request(data: bytes, *, version: int) -> tuple[str, ...] | None:
    """Read the requested topics, None = all.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a version that is not 0 or 1.
    """
    require_version("Metadata", version, newest=NEWEST)
    reader = Reader(data)
    is_nullable = version >= _SINCE_KIP36
    count = reader.nullable_count(_LEAST_TEXT) if is_nullable else reader.count(_LEAST_TEXT)
    topics = tuple(reader.text() for _ in range(count or 0))
    reader.close()
    return topics if topics or (is_nullable and count is not None) else None


def write_metadata_response(m: MetadataResponse, *, version: int) -> bytes:
    """Write the body of version 0 or 1, without what it lacks. Raises `LocalProtocolError`."""
    require_version("Metadata", version, newest=NEWEST)
    writer = Writer()
    writer.int32(len(m.brokers))
    for broker in m.brokers:
        writer.int32(broker.node_id)
        writer.text(broker.host, "host")
        writer.int32(broker.port)
        if version >= _SINCE_KIP36:
            writer.text(broker.rack, "rack")
    if version >= _SINCE_KIP36:
        writer.int32(NOBODY if m.controller_id is None else m.controller_id)
    writer.int32(len(m.topics))
    for topic in m.topics:
        writer.int16(topic.error_code)
        writer.text(topic.topic, "topic")
        if version >= _SINCE_KIP36:
            writer.boolean(topic.is_internal)
        _put_partitions(writer, topic.partitions)
    return bytes(writer.data)


def read_metadata_response(data: bytes, *, version: int) -> MetadataResponse:
    """Read a body of version 0 or 1.

    Raises `RemoteProtocolError`; `LocalProtocolError` for another version.
    """
    require_version("Metadata", version, newest=NEWEST)
    reader = Reader(data)
    brokers = tuple(_take_broker(reader, version) for _ in range(reader.count(_LEAST_BROKER)))
    controller_id = reader.int32() if version >= _SINCE_KIP36 else NOBODY
    topics = tuple(_take_topic(reader, version) for _ in range(reader.count(_LEAST_TOPIC)))
    reader.close()
    return MetadataResponse(
        brokers=brokers,
        controller_id=None if controller_id == NOBODY else controller_id,
        topics=topics,
    )


def _put_partitions(writer: Writer, partitions: Sequence[PartitionMetadata]) -> None:
    writer.int32(len(partitions))
    for partition in partitions:
        writer.int16(partition.error_code)
        writer.int32(partition.partition)
        writer.int32(partition.leader)
        writer.int32_array(partition.replicas)
        writer.int32_array(partition.isr)


def _take_broker(reader: Reader, version: int) -> MetadataBroker:
    return MetadataBroker(
        node_id=reader.int32(),
        host=reader.text(),
        port=reader.int32(),
        rack=reader.nullable_text() if version >= _SINCE_KIP36 else None,
    )


def _take_topic(reader: Reader, version: int) -> TopicMetadata:
    return TopicMetadata(
        error_code=reader.int16(),
        topic=reader.text(),
        is_internal=reader.boolean() if version >= _SINCE_KIP36 else False,
        partitions=tuple(_take_partition(reader) for _ in range(reader.count(_LEAST_PARTITION))),
    )


def _take_partition(reader: Reader) -> PartitionMetadata:
    return PartitionMetadata(
        error_code=reader.int16(),
        partition=reader.int32(),
        leader=reader.int32(),
        replicas=reader.int32_array(),
        isr=reader.int32_array(),
    )
