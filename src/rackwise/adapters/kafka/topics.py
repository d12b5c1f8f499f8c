"""The topics and partitions of a cluster as columns, joined with running reassignments."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from kafka import errors as kafka_errors
from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest
from kafka.protocol.metadata import MetadataRequest

from rackwise.adapters.kafka.connect import Message, ask, reason, send
from rackwise.core.model import UNKNOWN, Note, PartitionTable, Ragged, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from kafka.admin import KafkaAdminClient
    from numpy.typing import NDArray

    from rackwise.core.model import PartitionId


_MOST_DESCRIBED = 2000
"""Partitions of one answer; Kafka's default of `max.request.partition.size.limit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A running reassignment of one partition as the controller lists it."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLayout:
    """The partition table of the topics."""

    table: PartitionTable
    topics: tuple[Topic, ...]
    """The topics, without their configs."""
    leader_epoch: NDArray[np.int32]
    """int32 [partitions], -1: unknown."""
    notes: tuple[Note, ...]
    is_consistent: bool
    """False where a broker did not know yet what the controller reported."""


def read_reassignments(admin: KafkaAdminClient) -> dict[PartitionId, Reassignment]:
    """(topic, partition) -> its running reassignment, from the controller."""
    listed = ask(admin, admin.list_partition_reassignments, doing="list reassignments")
    return {
        (each.topic, each.partition): Reassignment(
            replicas=tuple(found["replicas"]),
            adding=tuple(found["adding_replicas"]),
            removing=tuple(found["removing_replicas"]),
        )
        for each, found in listed.items()
    }


def read_layout(
    admin: KafkaAdminClient,
    is_wanted: Callable[[str], bool],
    reassignments: Mapping[PartitionId, Reassignment],
) -> TopicLayout:
    """All requested topics, in canonical order. Raises what `ask` raises."""
    answer = ask(admin, lambda: send(admin, _request()), doing="list topics")
    wanted = sorted(
        (topic for topic in answer.topics if topic.name and is_wanted(topic.name)),
        key=lambda topic: topic.name.encode("utf-8", "surrogatepass"),
    )
    seen = [topic for topic in wanted if not topic.error_code]
    columns = _Columns(reassignments)
    for number, topic in enumerate(seen):
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index):
            columns.add(number, topic.name, partition)
    return TopicLayout(
        table=columns.table(tuple(topic.name for topic in seen)),
        topics=tuple(_topic(topic) for topic in seen),
        leader_epoch=np.array(columns.leader_epoch, dtype=np.int32),
        notes=tuple(
            Note(
                kind="not-visible",
                text=f"topic {topic.name}: {reason(topic.error_code)}",
            )
            for topic in wanted
            if topic.error_code
        ),
        is_consistent=columns.is_consistent,
    )


@dataclass(frozen=True, slots=True)
class CurrentLeader:
    """The leader of a partition and the number of its term."""

    broker: int
    epoch: int
    """-1: unknown."""


def read_leaders(
    admin: KafkaAdminClient, topics: Sequence[str]
) -> dict[PartitionId, CurrentLeader]:
    """(topic, partition) -> its leader now; partitions without one are left out."""
    answer = ask(admin, lambda: send(admin, _request(topics)), doing="list topics")
    return {
        (topic.name, each.partition_index): CurrentLeader(each.leader_id, each.leader_epoch)
        for topic in answer.topics
        for each in topic.partitions or ()
        if each.leader_id >= 0
    }


def read_eligible(
    admin: KafkaAdminClient, topics: Sequence[str]
) -> dict[PartitionId, frozenset[int]]:
    """(topic, partition) -> the replicas outside its ISR that the controller may elect (KIP-966).

    These are the eligible leader replicas and the last known leader. Topics that were deleted
    meanwhile are left out. Raises what `ask` raises.
    """
    return ask(admin, lambda: _eligible(admin, topics), doing="describe the partitions of topics")


def _eligible(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[PartitionId, frozenset[int]]:
    request: Message = DescribeTopicPartitionsRequest
    error_of: Message = kafka_errors.for_code
    found: dict[PartitionId, frozenset[int]] = {}
    cursor = None
    while True:
        answer = send(
            admin,
            request(
                topics=[request.TopicRequest(name=name) for name in topics],
                response_partition_limit=_MOST_DESCRIBED,
                cursor=cursor,
            ),
        )
        for topic in answer.topics:
            error = error_of(topic.error_code) if topic.error_code else None
            if error is not None and not issubclass(
                error, kafka_errors.UnknownTopicOrPartitionError
            ):
                raise error(topic.name)
            found |= {
                (topic.name, each.partition_index): frozenset(
                    (*(each.eligible_leader_replicas or ()), *(each.last_known_elr or ()))
                )
                for each in topic.partitions
            }
        if answer.next_cursor is None:
            return found
        cursor = request.Cursor(
            topic_name=answer.next_cursor.topic_name,
            partition_index=answer.next_cursor.partition_index,
        )


class RowNumbers:
    """The row of each partition in a table."""

    def __init__(self, table: PartitionTable) -> None:
        firsts = table.first_rows.tolist()
        self._rows = {
            name: range(first, end)
            for name, first, end in zip(table.topics, firsts[:-1], firsts[1:], strict=True)
        }

    def of_topic(self, topic: str) -> range:
        """The rows of a topic, in the order of partition numbers; empty for another topic."""
        return self._rows.get(topic, range(0))

    def of(self, topic: str, partition: int) -> int | None:
        """The row of a partition; None for a partition that is not in the table."""
        rows = self.of_topic(topic)
        return rows[partition] if 0 <= partition < len(rows) else None


def _request(topics: Sequence[str] | None = None) -> MetadataRequest:
    """A request for these topics; None: for all."""
    return MetadataRequest(
        topics=None
        if topics is None
        else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def _topic(topic: Message) -> Topic:
    return Topic(name=topic.name, id=topic_id_text(topic.topic_id), is_internal=topic.is_internal)


def topic_id_text(topic_id: UUID | None) -> str | None:
    """The text of a topic id in Kafka: 22 characters of URL-safe base64; None for none.

    >>> from uuid import UUID
    >>> topic_id_text(UUID("6b9ac8b1-8ba5-4a3c-8f8d-5fb1a2b0c7d3"))
    'a5rIsYulSjyPjV-xorDH0w'
    """
    if topic_id is None or not topic_id.int:
        return None
    return base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode("ascii")


class _Columns:
    """Builds the columns of a partition table row by row, in canonical order."""

    def __init__(self, reassignments: Mapping[PartitionId, Reassignment]) -> None:
        self._reassignments = reassignments
        self._topic: list[int] = []
        self._partition: list[int] = []
        self._leader: list[int] = []
        self.leader_epoch: list[int] = []
        self._lists: tuple[list[Message], list[Message], list[Message], list[Message]] = (
            [],
            [],
            [],
            [],
        )
        self.is_consistent = True

    def add(self, number: int, topic: str, partition: Message) -> None:
        """Add one row; for a moving partition the controller takes precedence over the broker."""
        replicas, isr, leader = partition.replica_nodes, partition.isr_nodes, partition.leader_id
        move = self._reassignments.get((topic, partition.partition_index))
        adding, removing = (move.adding, move.removing) if move else ((), ())
        if move:
            replicas = move.replicas
            outside = set(isr) - set(replicas) | ({leader} - {UNKNOWN} - set(replicas))
            if outside:
                self.is_consistent = False
                isr = [broker for broker in isr if broker not in outside]
                leader = UNKNOWN if leader in outside else leader
        self._topic.append(number)
        self._partition.append(partition.partition_index)
        self._leader.append(leader if leader >= 0 else UNKNOWN)
        self.leader_epoch.append(partition.leader_epoch)
        for column, row in zip(self._lists, (replicas, isr, adding, removing), strict=True):
            column.append(row)

    def table(self, topics: tuple[str, ...]) -> PartitionTable:
        """The finished table; sizes and rates are unknown."""
        unknown = np.full(len(self._topic), UNKNOWN, dtype=np.int64)
        replicas, isr, adding, removing = (Ragged.of(rows) for rows in self._lists)
        return PartitionTable(
            topics=topics,
            topic=np.array(self._topic, dtype=np.int32),
            partition=np.array(self._partition, dtype=np.int32),
            leader=np.array(self._leader, dtype=np.int32),
            replicas=replicas,
            isr=isr,
            adding=adding,
            removing=removing,
            bytes=unknown,
            bytes_in_per_s=unknown,
        )
