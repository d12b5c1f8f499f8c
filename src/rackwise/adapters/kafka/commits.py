"""The committed offsets of consumer groups, from OffsetFetch requests to their coordinators.

The brokers that listed the groups are asked, all in parallel, for all partitions of many groups at
a time. Brokers before Kafka 3.0 are asked for one group at a time. Groups without members are asked
as well: what they committed stays.

Commits of partitions that are not in the table are left out. A commit of an open transaction does
not count before it ends.

Source: KIP-709 (many groups in one OffsetFetch).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafka.errors import UnsupportedVersionError
from kafka.protocol.consumer import OffsetFetchRequest

from rackwise.adapters.kafka.connect import Message, send_in_turn
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.topics import RowNumbers

GROUPS_PER_REQUEST: Final = 100
_MANY_GROUPS: Final = 8
"""The first version of OffsetFetch for several groups."""
_BY_NAME: Final = 9
"""The last version of OffsetFetch that names topics."""
_ALL_TOPICS: Final = 2
"""The first version of OffsetFetch for all topics of a group."""
_GONE: Final = 69
"""GROUP_ID_NOT_FOUND: the group ended, or never committed."""

Committed = dict[str, tuple[int | None, ...]]
"""Topic -> committed offset by partition number."""


@dataclass(slots=True)
class SeenCommits:
    """What the coordinators told."""

    committed: dict[str, Committed] = field(default_factory=dict)
    """Group -> its commits."""
    at_ms: dict[str, int] = field(default_factory=dict)
    """Group -> when its coordinator answered."""
    problems: list[tuple[str, Exception | int]] = field(default_factory=list)
    """What could not be read, and its error or Kafka's code of it."""


def read_commits(
    admin: KafkaAdminClient,
    groups: Mapping[int, Sequence[str]],
    rows: RowNumbers,
    *,
    clock_ms: Callable[[], int],
) -> SeenCommits:
    """The commits of groups; `groups`: broker -> those that it coordinates."""
    seen = SeenCommits()
    old = _ask(admin, groups, _of_many, GROUPS_PER_REQUEST, seen, rows, clock_ms)
    _ask(admin, {broker: groups[broker] for broker in old}, _of_one, 1, seen, rows, clock_ms)
    return seen


def _ask(
    admin: KafkaAdminClient,
    groups: Mapping[int, Sequence[str]],
    request: Callable[[Sequence[str]], Message],
    size: int,
    seen: SeenCommits,
    rows: RowNumbers,
    clock_ms: Callable[[], int],
) -> list[int]:
    """Ask all coordinators; return those that do not know the request."""
    chunks = {
        broker: [of[first : first + size] for first in range(0, len(of), size)]
        for broker, of in sorted(groups.items())
        if of
    }
    answers = send_in_turn(
        admin,
        {broker: [request(chunk) for chunk in of] for broker, of in chunks.items()},
        clock_ms=clock_ms,
    )
    old = []
    for broker, of in chunks.items():
        for chunk, answer in zip(of, answers[broker], strict=True):
            if not isinstance(answer.message, Exception):
                for group, found in _by_group(chunk, answer.message):
                    _take(group, found, answer.at_ms, seen, rows)
            elif isinstance(answer.message, UnsupportedVersionError) and request is _of_many:
                old.append(broker)
                break
            else:
                what = f"commits of {counted(len(chunk), 'group')} of broker {broker}"
                seen.problems.append((what, answer.message))
    return old


def _of_many(groups: Sequence[str]) -> Message:
    group_of = OffsetFetchRequest.OffsetFetchRequestGroup
    return OffsetFetchRequest(
        min_version=_MANY_GROUPS,
        max_version=_BY_NAME,
        groups=[group_of(group_id=group, topics=None) for group in groups],
        require_stable=False,
    )


def _of_one(groups: Sequence[str]) -> Message:
    return OffsetFetchRequest(
        min_version=_ALL_TOPICS,
        max_version=_MANY_GROUPS - 1,
        group_id=groups[0],
        topics=None,
        require_stable=False,
    )


def _by_group(groups: Sequence[str], answer: Message) -> Iterator[tuple[str, Message]]:
    """Group -> its part of an answer of either form."""
    if answer.groups:
        return ((each.group_id, each) for each in answer.groups)
    return iter([(groups[0], answer)])


def _take(group: str, found: Message, at_ms: int, seen: SeenCommits, rows: RowNumbers) -> None:
    """Take the commits of one group."""
    if found.error_code not in (0, _GONE):
        seen.problems.append((f"commits of group {group}", found.error_code))
        return
    seen.at_ms[group] = at_ms
    seen.committed[group] = {}
    topics = () if found.error_code else found.topics
    for topic in sorted(topics, key=lambda each: each.name.encode()):
        count = len(rows.of_topic(topic.name))
        offsets = _offsets(group, topic.name, topic.partitions, count, seen)
        if any(offset is not None for offset in offsets):
            seen.committed[group][topic.name] = tuple(offsets)


def _offsets(
    group: str, topic: str, partitions: Iterable[Message], count: int, seen: SeenCommits
) -> list[int | None]:
    """Committed offsets by partition number; None where nothing is committed, or not known."""
    offsets: list[int | None] = [None] * count
    failed: dict[int, int] = {}
    for each in partitions:
        if each.error_code:
            failed.setdefault(each.error_code, each.partition_index)
        elif each.partition_index < count and each.committed_offset >= 0:
            offsets[each.partition_index] = each.committed_offset
    for code, partition in sorted(failed.items()):
        seen.problems.append((f"commits of group {group} to {topic}-{partition}", code))
    return offsets
