"""What members of a consumer group send to their leader, and what it answers.

The coordinator carries these bytes and does not interpret them.

```
JoinGroup   member -> leader    Subscription   version, topics, user data | v1 owned | v2 generation
                                               | v3 rack
SyncGroup   leader -> member    Assignment     version, partitions, user data (all versions alike)
```

A version above 3 is read as 3, and the bytes after it are ignored: newer versions only add fields.
A field that a version lacks reads as nothing owned, generation -1, no rack. Topics and owned
partitions are written sorted, grouped by topic.

User data belongs to the assignor:

```
sticky               owned, generation (Java's; before Kafka 2.3 without generation)
cooperative-sticky   generation
any of ours          then a blob: R W 1, rack, instance, generation, owned | rack before
```

A leader of ours answers such a member with user data, too: R A 1, rack that the group assigned for,
whether this member leads.

Java reads its own fields and ignores the rest, so the blob does no harm. It carries what a client
cannot say elsewhere: aiokafka drops rack and instance, and an eager member remembers in it what it
owned. kafka-python puts a version before the fields of "sticky", which Java cannot read. Both forms
are read here, and Java's is written.

What this does not do: decide how to treat a member that cannot be read.

Source: KIP-429, KIP-792, KIP-881; `ConsumerProtocolSubscription.json`,
`ConsumerProtocolAssignment.json`, `StickyAssignor`, `CooperativeStickyAssignor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import NO_GENERATION, TopicPartition, sorted_partitions
from rackwise.core.assignors.order import utf16_key
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.reader import Reader
from rackwise.core.wire.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

NEWEST = 3
_WITH_OWNED = 1
_WITH_GENERATION = 2
_WITH_RACK = 3
_LEAST_TEXT = 2
_LEAST_OWNED = 6
_LEAST_PARTITION = 4
_MARK = b"RW\x01"
_NOTE_MARK = b"RA\x01"
_COOPERATIVE_BYTES = 4
_KAFKA_PYTHON_VERSION = b"\x00\x01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a member says when it joins.

    `user_data`: the assignor's own. `owned`: partitions it has; `generation`: since when, -1 = not
    known. `rack`: `client.rack`, None for none.
    """

    version: int = NEWEST
    topics: tuple[str, ...]
    user_data: bytes | None = b""
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAssignment:
    """What the leader assigns to one member."""

    version: int = NEWEST
    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """What our members add to their user data; `owned` is a memory, already revoked."""

    rack: str | None = None
    instance_id: str | None = None
    generation: int = NO_GENERATION
    owned: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderNote:
    """What a leader of ours tells a member of ours beside its partitions."""

    rack: str | None
    """The rack that the leader assigned for; None if the member had sent none."""
    is_leader: bool
    """Whether the member is the leader itself; false for a member without an instance id."""


def encode_subscription(subscription: Subscription) -> bytes:
    """Write a subscription of its own version, without fields that the version lacks.

    Raises `LocalProtocolError` for a version that is not 0 to 3, or a value that does not fit.
    """
    version = _known_version(subscription.version)
    writer = Writer()
    writer.int16(version)
    writer.int32(len(subscription.topics))
    for topic in sorted(subscription.topics, key=utf16_key):
        writer.text(topic)
    writer.octets(subscription.user_data)
    if version >= _WITH_OWNED:
        _write_partitions(writer, subscription.owned)
    if version >= _WITH_GENERATION:
        writer.int32(subscription.generation)
    if version >= _WITH_RACK:
        writer.text(subscription.rack)
    return bytes(writer.data)


def decode_subscription(data: bytes) -> Subscription:
    """Read the subscription of a member. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    version = _read_version(reader)
    topics = tuple(reader.text() for _ in range(reader.count(_LEAST_TEXT)))
    user_data = reader.nullable_octets()
    owned = _read_partitions(reader) if version >= _WITH_OWNED else ()
    generation = reader.int32() if version >= _WITH_GENERATION else NO_GENERATION
    rack = reader.nullable_text() if version >= _WITH_RACK else None
    return Subscription(
        version=version,
        topics=topics,
        user_data=user_data,
        owned=owned,
        generation=max(generation, NO_GENERATION),
        rack=rack or None,
    )


def encode_assignment(
    version: int, partitions: Iterable[TopicPartition], user_data: bytes | None = b""
) -> bytes:
    """Write the assignment of one member. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.int16(_known_version(version))
    _write_partitions(writer, partitions)
    writer.octets(user_data)
    return bytes(writer.data)


def decode_assignment(data: bytes) -> MemberAssignment:
    """Read the assignment of one member. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    version = _read_version(reader)
    partitions = _read_partitions(reader)
    return MemberAssignment(
        version=version, partitions=partitions, user_data=reader.nullable_octets()
    )


def encode_sticky_user_data(owned: Iterable[TopicPartition], generation: int) -> bytes:
    """Write user data of Java's `StickyAssignor`, version 1. Raises `LocalProtocolError`."""
    writer = Writer()
    _write_partitions(writer, owned)
    writer.int32(generation)
    return bytes(writer.data)


def decode_sticky_user_data(data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """Read what a "sticky" member owned, and since which generation; -1 = not known.

    Java's version 1, else kafka-python's, else Java's version 0. Other bytes read as nothing, as in
    Java.
    """
    whole = data or b""
    for skipped in (b"", _KAFKA_PYTHON_VERSION):
        reader = Reader(whole)
        if reader.is_at(skipped) and reader.end(_read_sticky) is not None:
            return _read_sticky(reader)
    reader = Reader(whole)
    owned = () if reader.end(_read_partitions) is None else _read_partitions(reader)
    return owned, NO_GENERATION


def encode_cooperative_user_data(generation: int) -> bytes:
    """Write user data of Java's `CooperativeStickyAssignor`. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.int32(generation)
    return bytes(writer.data)


def decode_cooperative_user_data(data: bytes | None) -> int:
    """Read the generation of a "cooperative-sticky" member; -1 = none."""
    reader = Reader(data or b"")
    found = NO_GENERATION if reader.end(Reader.int32) is None else reader.int32()
    return max(found, NO_GENERATION)


def encode_blob(
    rack: str | None,
    instance_id: str | None,
    generation: int,
    owned: Iterable[TopicPartition],
    rack_before: str | None = None,
) -> bytes:
    """Write what our members append to their user data. Raises `LocalProtocolError`.

    `rack_before`: the rack that the group assigned for, if it is another one. No leader reads it.
    It makes the bytes differ from those of the last join, and the coordinator then starts a round.
    """
    writer = Writer()
    writer.raw(_MARK)
    writer.text(rack)
    writer.text(instance_id)
    writer.int32(generation)
    _write_partitions(writer, owned)
    if rack_before is not None:
        writer.text(rack_before)
    return bytes(writer.data)


def decode_blob(data: bytes | None) -> Blob | None:
    """Read our part of a member's user data, after the fields of any assignor; None = no blob.

    Raises `RemoteProtocolError` for a blob that cannot be read.
    """
    whole = data or b""
    behind_sticky = Reader(whole).end(_read_sticky)
    for offset in (0, _COOPERATIVE_BYTES, behind_sticky):
        reader = Reader(whole, len(whole) if offset is None else offset)
        if reader.is_at(_MARK):
            return Blob(
                rack=reader.nullable_text() or None,
                instance_id=reader.nullable_text(),
                generation=max(reader.int32(), NO_GENERATION),
                owned=_read_partitions(reader),
            )
    return None


def encode_leader_note(rack: str | None, *, is_leader: bool) -> bytes:
    """Write the user data of an assignment. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.raw(_NOTE_MARK)
    writer.text(rack)
    writer.boolean(is_leader)
    return bytes(writer.data)


def decode_leader_note(data: bytes | None) -> LeaderNote | None:
    """Read the user data of an assignment; None if the leader is not one of ours.

    Raises `RemoteProtocolError` for a note that cannot be read.
    """
    reader = Reader(data or b"")
    if not reader.is_at(_NOTE_MARK):
        return None
    return LeaderNote(rack=reader.nullable_text() or None, is_leader=reader.boolean())


def _read_sticky(reader: Reader) -> tuple[tuple[TopicPartition, ...], int]:
    owned = _read_partitions(reader)
    return owned, max(reader.int32(), NO_GENERATION)


def _read_version(reader: Reader) -> int:
    version = reader.int16()
    if version < 0:
        raise RemoteProtocolError(
            f"offset 0: expected a version from 0 on, got {version}",
            offset=0,
            wanted="a version from 0 on",
            had=version,
        )
    return version


def _known_version(version: int) -> int:
    if not 0 <= version <= NEWEST:
        raise LocalProtocolError(
            f"expected a version from 0 to {NEWEST}, got {version}",
            wanted=f"0 to {NEWEST}",
            had=version,
        )
    return version


def _write_partitions(writer: Writer, partitions: Iterable[TopicPartition]) -> None:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted_partitions(partitions):
        by_topic.setdefault(topic, []).append(partition)
    writer.int32(len(by_topic))
    for topic, numbers in by_topic.items():
        writer.text(topic)
        writer.int32(len(numbers))
        for number in numbers:
            writer.int32(number)


def _read_partitions(reader: Reader) -> tuple[TopicPartition, ...]:
    found = []
    for _ in range(reader.count(_LEAST_OWNED)):
        topic = reader.text()
        found += [
            TopicPartition(topic, reader.int32()) for _ in range(reader.count(_LEAST_PARTITION))
        ]
    return tuple(found)
