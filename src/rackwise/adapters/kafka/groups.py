"""The consumer groups of a cluster with their members: partitions, address and rack.

Each live broker lists the groups that it coordinates; the same broker then describes them. Groups
of the classic protocol have a rack only from clients that send one (KIP-881), or from members of
our plug-ins, whose user data contains it where the client cannot send it. Groups of the consumer
protocol (KIP-848), share groups (KIP-932) and streams groups (KIP-1071) are described by APIs of
their own. Groups that are no consumers (Connect workers, Schema Registry) own no partitions in this
sense and are left out.

Several members of a share group may have one partition. A member of a streams group has the
partitions of the source topics of its active tasks; standby tasks read changelogs and are left out.

The subscription of a classic member is known only while its group is stable; a member whose pattern
the broker evaluates has no topics either. Only the consumer protocol reports a generation: the
member's epoch.

Assigned partitions of topics that are not in the table are left out. What groups have committed is
read on request, see `commits`.
"""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest

from rackwise.adapters.kafka.commits import read_commits
from rackwise.adapters.kafka.connect import ANSWER_S, RETRY_S, Message, reason, send_to_each
from rackwise.adapters.kafka.messages import (
    ConsumerGroupDescribeRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)
from rackwise.adapters.kafka.topics import RowNumbers
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.model import Group, GroupMember, Note
from rackwise.core.racks import Rack
from rackwise.core.wire.consumer import decode_assignment, decode_blob, decode_subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.core.model import PartitionId, PartitionTable
    from rackwise.core.wire.consumer import Subscription

    Assigned = tuple[PartitionId, ...]

Decoded = TypeVar("Decoded")

CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
STABLE = "Stable"
LEFT = -1
"""The epoch of a member that leaves; Kafka has -2 for a static member that may come back."""
_GONE = 69
"""GROUP_ID_NOT_FOUND: the group ended between the two requests."""
_TRANSIENT = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: the coordinator moves
or starts."""


def read_groups(
    admin: KafkaAdminClient,
    table: PartitionTable,
    live: Sequence[int],
    *,
    progress: Callable[[int], None],
    commit_clock_ms: Callable[[], int] | None = None,
) -> tuple[tuple[Group, ...], tuple[Note, ...]]:
    """All consumer groups in name order, and notes about those that are not visible.

    `commit_clock_ms`: also read what they have committed, and when by this clock. While
    coordinators move everything is read again, for at most `ANSWER_S`.
    """
    known, rows = _KnownPartitions(table), RowNumbers(table)
    deadline = time.monotonic() + ANSWER_S
    while True:
        seen = _read_once(admin, known, live)
        if commit_clock_ms is not None:
            seen.add_commits(admin, rows, commit_clock_ms)
        if not seen.is_transient or time.monotonic() >= deadline:
            break
        time.sleep(RETRY_S)
    progress(seen.answers)
    return tuple(group for _, group in sorted(seen.groups.items())), tuple(seen.notes)


@dataclass(slots=True)
class _GroupReading:
    """One reading of the groups."""

    groups: dict[str, Group] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    answers: int = 0
    coordinated: dict[int, list[str]] = field(default_factory=dict)
    """Broker -> groups that it coordinates."""
    is_transient: bool = False
    """Whether something that is missing may be visible a moment later."""

    def add_group(self, group: Group) -> None:
        """Add a group; of two descriptions during a move keep the one with members."""
        known = self.groups.get(group.group)
        self.is_transient |= known is not None
        if known is None or not known.members:
            self.groups[group.group] = group

    def add_problem(self, what: str, problem: Exception | int) -> None:
        self.notes.append(_note(what, problem))
        self.is_transient |= problem in _TRANSIENT

    def add_commits(
        self, admin: KafkaAdminClient, rows: RowNumbers, clock_ms: Callable[[], int]
    ) -> None:
        """Add to each group what it has committed."""
        shown = {
            broker: [name for name in names if name in self.groups]
            for broker, names in self.coordinated.items()
        }
        seen = read_commits(admin, shown, rows, clock_ms=clock_ms)
        for name, at_ms in seen.at_ms.items():
            self.groups[name] = replace(
                self.groups[name], committed=seen.committed[name], committed_at_ms=at_ms
            )
        for what, problem in seen.problems:
            self.add_problem(what, problem)


def _read_once(
    admin: KafkaAdminClient, known: _KnownPartitions, live: Sequence[int]
) -> _GroupReading:
    seen = _GroupReading()
    listed = send_to_each(admin, {broker: ListGroupsRequest() for broker in live})
    seen.answers += len(listed)
    names: dict[int, dict[str, list[str]]] = {}
    for broker, answer in sorted(listed.items()):
        problem = _problem(answer)
        if problem is None:
            names[broker] = _by_protocol(answer.groups)
            # A share group has no committed offsets.
            seen.coordinated[broker] = [
                name for protocol, of in names[broker].items() for name in of if protocol != SHARE
            ]
        else:
            seen.add_problem(f"groups of broker {broker}", problem)
    for protocol, request, group_of in (
        (CLASSIC, DescribeGroupsRequest, _classic),
        (CONSUMER, ConsumerGroupDescribeRequest, _consumer),
        (SHARE, ShareGroupDescribeRequest, _share),
        (STREAMS, StreamsGroupDescribeRequest, _streams),
    ):
        asked = {
            broker: _describe(request, of[protocol]) for broker, of in names.items() if of[protocol]
        }
        described = send_to_each(admin, asked)
        seen.answers += len(described)
        for broker, answer in sorted(described.items()):
            if isinstance(answer, Exception):
                seen.add_problem(f"{protocol} groups of broker {broker}", answer)
                continue
            for found in answer.groups:
                if found.error_code and found.error_code != _GONE:
                    seen.add_problem(f"group {found.group_id}", found.error_code)
                elif not found.error_code:
                    seen.add_group(group_of(found, known))
    return seen


def _describe(request: Message, names: Sequence[str]) -> Message:
    key = "groups" if request is DescribeGroupsRequest else "group_ids"
    return request(**{key: list(names)}, include_authorized_operations=False)


def _problem(answer: Message) -> Exception | int | None:
    return answer if isinstance(answer, Exception) else (answer.error_code or None)


def _note(what: str, error: Exception | int) -> Note:
    return Note(kind="not-visible", text=f"{what}: {reason(error)}")


def _by_protocol(groups: Iterable[Message]) -> dict[str, list[str]]:
    """Protocol -> sorted names of the consumer groups that a broker coordinates."""
    names: dict[str, list[str]] = {CLASSIC: [], CONSUMER: [], SHARE: [], STREAMS: []}
    for each in groups:
        protocol = (each.group_type or CLASSIC).lower()
        # A classic group may be one of Connect or of a registry; the other types say what they are.
        if protocol != CLASSIC or each.protocol_type in ("consumer", ""):
            names.get(protocol, []).append(each.group_id)
    return {protocol: sorted(found) for protocol, found in names.items()}


class _KnownPartitions:
    """The partitions that exist."""

    def __init__(self, table: PartitionTable) -> None:
        names = [table.topics[number] for number in table.topic.tolist()]
        self._partitions = set(zip(names, table.partition.tolist(), strict=True))

    def assigned(self, topics: Iterable[tuple[str, Iterable[int]]]) -> Assigned:
        """Sorted (topic, partition) pairs that are in the table."""
        pairs = {(topic, partition) for topic, partitions in topics for partition in partitions}
        return tuple(sorted(pairs & self._partitions))


def _classic(found: Message, known: _KnownPartitions) -> Group:
    """A described group of the classic protocol; bytes that cannot be decoded are unknown."""
    members = []
    for member in found.members:
        subscription = _decoded(decode_subscription, member.member_metadata)
        assignment = _decoded(decode_assignment, member.member_assignment)
        members.append(
            GroupMember(
                member_id=member.member_id,
                client_id=member.client_id,
                address=address_of(member.client_host),
                rack=_member_rack(subscription),
                instance_id=member.group_instance_id or None,
                topics=None if subscription is None else tuple(sorted(set(subscription.topics))),
                partitions=known.assigned(
                    (topic, (partition,))
                    for topic, partition in (assignment.partitions if assignment else ())
                ),
            )
        )
    return _group(found, CLASSIC, found.protocol_data, found.group_state, members)


def _consumer(found: Message, known: _KnownPartitions) -> Group:
    """A described group of the consumer protocol."""
    members = [
        _member(
            member,
            topics=None if member.subscribed_topic_regex else member.subscribed_topic_names,
            partitions=known.assigned(_assigned_topics(member)),
        )
        for member in found.members
    ]
    return _group(found, CONSUMER, found.assignor_name, found.group_state, members)


def _share(found: Message, known: _KnownPartitions) -> Group:
    """A described share group."""
    members = [
        _member(
            member,
            topics=member.subscribed_topic_names,
            partitions=known.assigned(_assigned_topics(member)),
        )
        for member in found.members
    ]
    return _group(found, SHARE, found.assignor_name, found.group_state, members)


def _streams(found: Message, known: _KnownPartitions) -> Group:
    """A described streams group; its topology is not known while it starts."""
    subtopologies = (found.topology and found.topology.subtopologies) or ()
    sources = {
        each.subtopology_id: (
            *each.source_topics,
            *(topic.name for topic in each.repartition_source_topics),
        )
        for each in subtopologies
    }
    topics = {topic for names in sources.values() for topic in names}
    members = [
        _member(
            member,
            topics=topics or None,
            partitions=known.assigned(
                (topic, task.partitions)
                for task in member.assignment.active_tasks
                for topic in sources.get(task.subtopology_id, ())
            ),
        )
        for member in found.members
    ]
    return _group(found, STREAMS, "", found.group_state, members)


def _assigned_topics(member: Message) -> Iterable[tuple[str, Iterable[int]]]:
    return ((each.topic_name, each.partitions) for each in member.assignment.topic_partitions)


def _member(member: Message, *, topics: Iterable[str] | None, partitions: Assigned) -> GroupMember:
    """A member that an API of its group's own protocol describes."""
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        address=address_of(member.client_host),
        rack=_rack(member.rack_id),
        # A share group has no static members.
        instance_id=getattr(member, "instance_id", None),
        topics=None if topics is None else tuple(sorted(set(topics))),
        generation=max(member.member_epoch, LEFT),
        partitions=partitions,
    )


def _group(
    found: Message, protocol: str, assignor: str, state: str, members: Iterable[GroupMember]
) -> Group:
    return Group(
        group=found.group_id,
        protocol=protocol,
        assignor=assignor or None,
        state=state or None,
        members=tuple(sorted(members, key=lambda each: each.member_id)),
    )


def _decoded(decode: Callable[[bytes], Decoded], raw: bytes | None) -> Decoded | None:
    """The decoded bytes; None without bytes, or for bytes of another protocol."""
    if not raw:
        return None
    try:
        return decode(raw)
    except RemoteProtocolError:
        return None


def _member_rack(subscription: Subscription | None) -> Rack | None:
    """The rack of a member: its own field, else the user data of our plug-ins."""
    if subscription is None:
        return None
    if subscription.rack:
        return Rack(subscription.rack)
    blob = _decoded(decode_blob, subscription.user_data)
    return None if blob is None else _rack(blob.rack)


def _rack(text: str | None) -> Rack | None:
    return Rack(text) if text else None


def address_of(client_host: str) -> str | None:
    """The IP address in a broker's text for a client's host, such as `/10.0.1.7`; else None.

    >>> address_of("/10.0.1.7"), address_of("app-1/fe80:0:0:0:0:0:0:1%eth0"), address_of("unknown")
    ('10.0.1.7', 'fe80::1', None)
    """
    text = client_host.rpartition("/")[2].partition("%")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
