"""Consumer groups with their members: who reads what, from which address and which rack.

Each live broker lists the groups it coordinates; the same broker then describes them. Groups of the
classic protocol carry a rack only from clients that send one (KIP-881); groups of the consumer
protocol (KIP-848) are described by an API of their own. Share groups, and groups that are no
consumers (Connect workers, Schema Registry), hold no partitions in this sense and are left out.

Assigned partitions of topics that are not in the table are left out.

A coordinator that just starts, or moves, or whose topic of offsets was made just now, cannot tell
its groups yet. All are then read again, for `ANSWER_S` at most, before that is noted.
"""

from __future__ import annotations

import ipaddress
import struct
import time
from typing import TYPE_CHECKING

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from rackwise.adapters.kafka.connect import (
    ANSWER_S,
    RETRY_S,
    Message,
    reason,
    send_to_each,
)
from rackwise.adapters.kafka.messages import ConsumerGroupDescribeRequest
from rackwise.core.model import Group, Member, Note
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.core.model import PartitionTable

    Assigned = tuple[tuple[str, int], ...]
    Problem = tuple[str, Exception | int]

CLASSIC, CONSUMER = "classic", "consumer"
_GONE = 69
"""GROUP_ID_NOT_FOUND: it ended between the two requests."""
_PASSING = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""


def read_groups(
    admin: KafkaAdminClient,
    table: PartitionTable,
    live: Sequence[int],
    *,
    progress: Callable[[int], None],
) -> tuple[tuple[Group, ...], tuple[Note, ...]]:
    """All consumer groups in name order, and notes about those that could not be seen."""
    deadline = time.monotonic() + ANSWER_S
    while True:
        groups, problems = _read_once(admin, table, live, progress)
        is_passing = any(problem in _PASSING for _, problem in problems)
        if not is_passing or time.monotonic() >= deadline:
            return groups, tuple(_note(what, problem) for what, problem in problems)
        time.sleep(RETRY_S)


def _read_once(
    admin: KafkaAdminClient,
    table: PartitionTable,
    live: Sequence[int],
    progress: Callable[[int], None],
) -> tuple[tuple[Group, ...], list[Problem]]:
    listed = send_to_each(admin, {broker: ListGroupsRequest() for broker in live})
    progress(len(listed))
    problems: list[Problem] = [
        (f"groups of broker {broker}", problem)
        for broker, answer in sorted(listed.items())
        if (problem := _problem(answer)) is not None
    ]
    names = {
        broker: _by_protocol(answer.groups)
        for broker, answer in listed.items()
        if _problem(answer) is None
    }
    known = _Known(table)
    groups: list[Group] = []
    for protocol, request, group_of in (
        (CLASSIC, DescribeGroupsRequest, _classic),
        (CONSUMER, ConsumerGroupDescribeRequest, _consumer),
    ):
        described = send_to_each(
            admin,
            {
                broker: _describe(request, of[protocol])
                for broker, of in names.items()
                if of[protocol]
            },
        )
        progress(len(described))
        for broker, answer in sorted(described.items()):
            if isinstance(answer, Exception):
                problems.append((f"{protocol} groups of broker {broker}", answer))
                continue
            for found in answer.groups:
                if found.error_code and found.error_code != _GONE:
                    problems.append((f"group {found.group_id}", found.error_code))
                elif not found.error_code:
                    groups.append(group_of(found, known))
    return tuple(sorted(groups, key=lambda each: each.group)), problems


def _describe(request: Message, names: Sequence[str]) -> Message:
    key = "groups" if request is DescribeGroupsRequest else "group_ids"
    return request(**{key: list(names)}, include_authorized_operations=False)


def _problem(answer: Message) -> Exception | int | None:
    return answer if isinstance(answer, Exception) else (answer.error_code or None)


def _note(what: str, error: Exception | int) -> Note:
    return Note(kind="not-visible", text=f"{what}: {reason(error)}")


def _by_protocol(groups: Iterable[Message]) -> dict[str, list[str]]:
    """Protocol -> names of the consumer groups a broker coordinates, sorted."""
    names: dict[str, list[str]] = {CLASSIC: [], CONSUMER: []}
    for each in groups:
        protocol = (each.group_type or CLASSIC).lower()
        if each.protocol_type in ("consumer", "") and protocol in names:
            names[protocol].append(each.group_id)
    return {protocol: sorted(found) for protocol, found in names.items()}


class _Known:
    """Which partitions there are."""

    def __init__(self, table: PartitionTable) -> None:
        names = [table.topics[number] for number in table.topic.tolist()]
        self._partitions = set(zip(names, table.partition.tolist(), strict=True))

    def assigned(self, topics: Iterable[tuple[str, Iterable[int]]]) -> Assigned:
        """(topic, partition) pairs in order, as far as they are in the table."""
        pairs = {(topic, partition) for topic, partitions in topics for partition in partitions}
        return tuple(sorted(pairs & self._partitions))


def _classic(found: Message, known: _Known) -> Group:
    """A described group of the classic protocol; what cannot be decoded is not known."""
    members = []
    for member in found.members:
        subscription = _decoded(ConsumerProtocolSubscription, member.member_metadata)
        assignment = _decoded(ConsumerProtocolAssignment, member.member_assignment)
        members.append(
            Member(
                member_id=member.member_id,
                client_id=member.client_id,
                address=address_of(member.client_host),
                rack=_rack(getattr(subscription, "rack_id", None)),
                partitions=known.assigned(
                    (each.topic, each.partitions)
                    for each in (assignment.assigned_partitions if assignment else ())
                ),
            )
        )
    return _group(found, CLASSIC, members)


def _consumer(found: Message, known: _Known) -> Group:
    """A described group of the consumer protocol."""
    members = [
        Member(
            member_id=member.member_id,
            client_id=member.client_id,
            address=address_of(member.client_host),
            rack=_rack(member.rack_id),
            partitions=known.assigned(
                (each.topic_name, each.partitions) for each in member.assignment.topic_partitions
            ),
        )
        for member in found.members
    ]
    return _group(found, CONSUMER, members)


def _group(found: Message, protocol: str, members: Iterable[Member]) -> Group:
    return Group(
        group=found.group_id,
        protocol=protocol,
        members=tuple(sorted(members, key=lambda each: each.member_id)),
    )


def _decoded(kind: Message, raw: bytes | None) -> Message:
    """The embedded message, or None where there is none or it belongs to another protocol."""
    if not raw:
        return None
    try:
        return kind.decode(raw)
    except (struct.error, ValueError, EOFError, IndexError, UnicodeDecodeError):
        return None


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
