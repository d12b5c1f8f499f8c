"""The sizes of partitions and log folders: one DescribeLogDirs request per live broker.

The size of a partition is that of its leader's log; without a leader, that of the largest in-sync
log; else it is unknown. A broker without an answer or permission leaves a note and unknown sizes:
an empty answer from a broker with replicas is "not visible", not zero.

Source: KIP-113, KIP-827 (volumes), KIP-1066 (cordoned folders).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from kafka.protocol.admin import DescribeLogDirsRequest

from rackwise.adapters.kafka.connect import Message, reason
from rackwise.adapters.kafka.topics import RowNumbers
from rackwise.core.model import UNKNOWN, LogDir, Note
from rackwise.core.text import are, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.model import PartitionTable

WantedLogs: TypeAlias = "Literal['all', 'folders_only'] | Mapping[str, Collection[int]]"
"""The logs that a broker lists in its log folders: all, none, or those of these partitions (topic
-> numbers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes of partitions and log folders."""

    bytes: NDArray[np.int64]
    """int64 [partitions], -1: unknown."""
    log_dirs: dict[int, tuple[LogDir, ...]] = field(default_factory=dict)
    """Broker -> its log folders."""
    notes: tuple[Note, ...] = ()


def no_sizes(answers: Mapping[int, Message], table: PartitionTable) -> Sizes:
    """The result where only log folders were requested; those of silent brokers are unknown."""
    log_dirs = {
        broker: log_dirs_of(answer)
        for broker, answer in sorted(answers.items())
        if not isinstance(answer, Exception)
    }
    return Sizes(bytes=np.full(len(table), UNKNOWN, dtype=np.int64), log_dirs=log_dirs)


def log_dirs_request(logs: WantedLogs) -> Message:
    """A request for the log folders of one broker, with these logs in them."""
    make: Message = DescribeLogDirsRequest
    if isinstance(logs, str):
        # Null stands for all topics, an empty list for none; every answer has the folders.
        return make(topics=None if logs == "all" else [])
    of_topic = make.DescribableLogDirTopic
    return make(
        topics=[
            of_topic(topic=name, partitions=sorted(numbers))
            for name, numbers in sorted(logs.items())
        ]
    )


def sizes_of(
    answers: Mapping[int, Message], table: PartitionTable, *, is_wanted: Callable[[str], bool]
) -> Sizes:
    """Sizes of all partitions of the table, from the answers of the live brokers."""
    notes = []
    logs = _Logs(table)
    log_dirs = {}
    for broker, answer in sorted(answers.items()):
        problem = _problem(broker, answer, table)
        if problem:
            notes.append(Note(kind="not-visible", text=f"sizes on broker {broker}: {problem}"))
        if isinstance(answer, Exception):
            continue
        log_dirs[broker] = log_dirs_of(answer)
        for topic, partition, size in log_sizes(answer):
            logs.add(broker, topic, partition, size)
    hidden = sorted(filter(is_wanted, logs.strangers))
    if hidden:
        notes.append(
            Note(
                kind="not-visible",
                text=f"{counted(len(hidden), 'topic')} with logs {are(len(hidden))} not listed to "
                f"this principal, such as {hidden[0]}: Topic:Describe is missing, or new",
            )
        )
    return Sizes(bytes=logs.bytes, log_dirs=log_dirs, notes=tuple(notes))


def _problem(broker: int, answer: Message, table: PartitionTable) -> str | None:
    """Why the answer of a broker is incomplete, or None."""
    if isinstance(answer, Exception):
        return f"no answer ({reason(answer)})"
    failed = [code for code in (answer.error_code, *_codes(answer)) if code]
    if failed:
        return reason(failed[0])
    if (table.replicas.values == broker).any() and not any(log_sizes(answer)):
        return "it holds replicas and shows none (is Cluster:Describe granted?)"
    return None


def _codes(answer: Message) -> Iterator[int]:
    return (found.error_code for found in answer.results)


def log_sizes(answer: Message) -> Iterator[tuple[str, int, int]]:
    """`topic, partition, bytes` of each log in an answer; future logs are left out."""
    return (
        (topic.name, partition.partition_index, partition.partition_size)
        for found in answer.results
        for topic in found.topics
        for partition in topic.partitions
        if not partition.is_future_key
    )


def log_dirs_of(answer: Message) -> tuple[LogDir, ...]:
    """The log folders in a broker's answer, by path."""
    found = (
        LogDir(
            path=each.log_dir,
            total_bytes=_known(each.total_bytes),
            usable_bytes=_known(each.usable_bytes),
            error=reason(each.error_code) if each.error_code else None,
            is_cordoned=bool(each.is_cordoned),
        )
        for each in answer.results
    )
    return tuple(sorted(found, key=lambda each: each.path))


def _known(size: int | None) -> int | None:
    return None if size is None or size < 0 else size


class _Logs:
    """Collects log sizes of brokers into one size per partition."""

    def __init__(self, table: PartitionTable) -> None:
        self._table = table
        self._leader = table.leader.tolist()
        self._rows = RowNumbers(table)
        self.bytes = np.full(len(table), UNKNOWN, dtype=np.int64)
        self.strangers: set[str] = set()

    def add(self, broker: int, topic: str, partition: int, size: int) -> None:
        """Add the log of one replica."""
        if not self._rows.of_topic(topic):
            self.strangers.add(topic)
        row = self._rows.of(topic, partition)
        if row is None:
            return
        leader = self._leader[row]
        if leader == broker or (leader == UNKNOWN and broker in self._table.isr.row(row)):
            self.bytes[row] = max(self.bytes[row], size)
