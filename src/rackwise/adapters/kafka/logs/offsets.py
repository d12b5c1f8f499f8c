"""The first and the next offset of each leader's log, from ListOffsets requests to the leaders.

Goals, in order: an offset belongs to the leader and the term that stand beside it; what is not
known is -1 with a note, never zero; few requests, all brokers in parallel.

Algorithm. Each leader gets two questions, each in chunks of `PARTITIONS_PER_REQUEST`:

```
broker 1   start of orders-0 orders-3 -> 0 0       end of orders-0 orders-3 -> 900 NotLeader
broker 2   start of orders-1          -> 40        end of orders-1          -> 70
again      Metadata: orders-3 is led by 2 in term 8; both questions of orders-3 go to broker 2
```

A question names the term of the leader. A broker that leads in another term, or no longer, rejects
it. The leaders of those partitions are then read anew, and the questions are repeated, for at most
`MOVING_S`, without a term: after a change, a slow leader may take minutes to learn its own term,
and its answer is right all the same. A partition whose leader is another one by then gets this
leader in the table, too, and both of its offsets are asked for again.

The start is that of the log on the leader's disk: sizes are those of the disk, and a topic with
tiered storage has older offsets elsewhere. Brokers before Kafka 3.4 do not know this question. They
have no tiered storage, and are asked for the first offset of all.

The end is the high watermark: the next offset that consumers can read.

What this does not do: read records; compare two readings.

Source: KIP-79 (ListOffsets), KIP-320 (terms of leaders), KIP-405 (tiered storage).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np
from kafka.errors import UnsupportedVersionError
from kafka.protocol.consumer import ListOffsetsRequest

from rackwise.adapters.kafka.connect import (
    RETRY_S,
    Message,
    is_transient,
    reason,
    send_in_turn,
)
from rackwise.adapters.kafka.topics import RowNumbers, read_leaders
from rackwise.core.model import UNKNOWN, Note, Offsets
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafka.admin import KafkaAdminClient
    from numpy.typing import NDArray

    from rackwise.adapters.kafka.connect import TimedAnswer
    from rackwise.adapters.kafka.topics import TopicLayout
    from rackwise.core.model import PartitionId, PartitionTable

PARTITIONS_PER_REQUEST: Final = 5000
MOVING_S: Final = 5.0
"""Time for which questions are repeated while leaders move."""
_FIRST_OF_ALL, _FIRST_ON_DISK, _NEXT = -2, -4, -1
"""The timestamps that ask for these offsets."""
_KNOWS_DISKS: Final = 8
"""The first version of ListOffsets that has `_FIRST_ON_DISK`."""


class LogEnd(Enum):
    """One of the two ends of a log."""

    START = "start"
    NEXT = "end"


@dataclass(frozen=True, slots=True)
class OffsetQuestion:
    """One request to a leader."""

    end: LogEnd
    rows: NDArray[np.int64]
    """Rows of the table."""
    request: Message


@dataclass(frozen=True, slots=True)
class OffsetProblem:
    """Why an offset is not known."""

    text: str
    is_transient: bool


_NO_LEADER = OffsetProblem("no leader; start the brokers that hold replicas", is_transient=False)
_LEFT_OUT = OffsetProblem("the leader left them out of its answer", is_transient=False)
_MOVED = OffsetProblem("the leader has changed", is_transient=True)


class OffsetReading:
    """Collects the offsets of a table: ask the `questions`, `take` the answers, ask `again`."""

    def __init__(self, layout: TopicLayout) -> None:
        self._table = layout.table
        self._rows = RowNumbers(layout.table)
        self._leader = layout.table.leader.copy()
        self._epoch = layout.leader_epoch.copy()
        self._offsets = {end: np.full(len(layout.table), UNKNOWN, dtype=np.int64) for end in LogEnd}
        led = np.flatnonzero(self._leader != UNKNOWN)
        self._problems: dict[LogEnd, dict[int, OffsetProblem]] = {
            end: dict.fromkeys(np.flatnonzero(self._leader == UNKNOWN).tolist(), _NO_LEADER)
            for end in LogEnd
        }
        self._without_disks: set[int] = set()
        self.questions = self._questions(dict.fromkeys(LogEnd, led), self._epoch)
        """Broker -> its questions, in this order."""
        self.answered_ms: dict[int, int] = {}
        """Broker -> when it answered with the ends of its logs."""

    @property
    def table(self) -> PartitionTable:
        """The table with the offsets, and with the leaders that gave them."""
        return replace(
            self._table,
            leader=self._leader,
            offsets=Offsets(
                start=self._offsets[LogEnd.START],
                end=self._offsets[LogEnd.NEXT],
                leader_epoch=self._epoch,
            ),
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """One note for each reason, with the number of partitions and one example."""
        rows: dict[str, set[int]] = {}
        for problems in self._problems.values():
            for row, problem in problems.items():
                rows.setdefault(problem.text, set()).add(row)
        return tuple(
            Note(
                kind="not-visible",
                text=f"offsets of {counted(len(those), 'partition')}, such as "
                f"{self._table.name(min(those))}: {why}",
            )
            for why, those in sorted(rows.items())
        )

    def take(self, answers: Mapping[int, Sequence[TimedAnswer]]) -> None:
        """Take the answers to `questions`, which are the first of each broker."""
        for broker, asked in self.questions.items():
            for question, answer in zip(asked, answers[broker], strict=False):
                self._take_one(broker, question, answer)

    def again(self, admin: KafkaAdminClient, *, clock_ms: Callable[[], int]) -> None:
        """Repeat what failed because leaders move, for at most `MOVING_S`."""
        deadline = time.monotonic() + MOVING_S
        before = dict(self.answered_ms)
        no_terms = np.full_like(self._epoch, UNKNOWN)
        while (rows := self._transient()) and time.monotonic() < deadline:
            time.sleep(RETRY_S)
            self._follow(admin, rows)
            self.questions = self._questions(
                {
                    end: np.array(sorted(rows & problems.keys()), dtype=np.int64)
                    for end, problems in self._problems.items()
                },
                no_terms,
            )
            requests = {
                broker: [each.request for each in asked] for broker, asked in self.questions.items()
            }
            self.take(send_in_turn(admin, requests, clock_ms=clock_ms))
        self.answered_ms |= before

    def _transient(self) -> set[int]:
        return {
            row
            for problems in self._problems.values()
            for row, problem in problems.items()
            if problem.is_transient
        }

    def _follow(self, admin: KafkaAdminClient, rows: Iterable[int]) -> None:
        """Read the leaders of these rows anew; both offsets of a row are of one term."""
        names = {row: self._name(row) for row in rows}
        leaders = read_leaders(admin, sorted({topic for topic, _ in names.values()}))
        for row, name in names.items():
            now = leaders.get(name)
            if now is None or now.broker not in self._table.replicas.row(row):
                continue
            if (now.broker, now.epoch) != (self._leader[row], self._epoch[row]):
                self._leader[row], self._epoch[row] = now.broker, now.epoch
                for end in LogEnd:
                    self._offsets[end][row] = UNKNOWN
                    self._problems[end][row] = _MOVED

    def _name(self, row: int) -> PartitionId:
        return self._table.topics[self._table.topic[row]], int(self._table.partition[row])

    def _questions(
        self, rows: Mapping[LogEnd, NDArray[np.int64]], terms: NDArray[np.int32]
    ) -> dict[int, list[OffsetQuestion]]:
        """Broker -> questions about these rows: all starts, then all ends."""
        found: dict[int, list[OffsetQuestion]] = {}
        for end, wanted in rows.items():
            if not len(wanted):
                continue
            order = wanted[np.argsort(self._leader[wanted], kind="stable")]
            brokers, firsts = np.unique(self._leader[order], return_index=True)
            for broker, those in zip(brokers.tolist(), np.split(order, firsts[1:]), strict=True):
                found.setdefault(broker, []).extend(
                    OffsetQuestion(end, chunk, self._request(broker, end, chunk, terms))
                    for chunk in _chunks(those)
                )
        return found

    def _request(
        self, broker: int, end: LogEnd, rows: NDArray[np.int64], terms: NDArray[np.int32]
    ) -> Message:
        timestamp, least = _NEXT, None
        if end is LogEnd.START:
            is_old = broker in self._without_disks
            timestamp, least = (_FIRST_OF_ALL, None) if is_old else (_FIRST_ON_DISK, _KNOWS_DISKS)
        topic_of = ListOffsetsRequest.ListOffsetsTopic
        partition_of = topic_of.ListOffsetsPartition
        topics: dict[str, list[Message]] = {}
        for topic, partition, term in zip(
            self._table.topic[rows].tolist(),
            self._table.partition[rows].tolist(),
            terms[rows].tolist(),
            strict=True,
        ):
            topics.setdefault(self._table.topics[topic], []).append(
                partition_of(
                    partition_index=partition, current_leader_epoch=term, timestamp=timestamp
                )
            )
        return ListOffsetsRequest(
            min_version=least,
            replica_id=-1,
            isolation_level=0,
            topics=[topic_of(name=name, partitions=those) for name, those in topics.items()],
        )

    def _take_one(self, broker: int, question: OffsetQuestion, answer: TimedAnswer) -> None:
        problems, offsets = self._problems[question.end], self._offsets[question.end]
        if isinstance(answer.message, Exception):
            problem = self._no_answer(broker, question, answer.message)
            problems.update(dict.fromkeys(question.rows.tolist(), problem))
            return
        if question.end is LogEnd.NEXT:
            self.answered_ms[broker] = answer.at_ms
        problems.update(dict.fromkeys(question.rows.tolist(), _LEFT_OUT))
        for topic in answer.message.topics:
            for each in topic.partitions:
                row = self._rows.of(topic.name, each.partition_index)
                if row is None:
                    continue
                if each.error_code:
                    problems[row] = OffsetProblem(
                        reason(each.error_code), is_transient(each.error_code)
                    )
                elif each.offset >= 0:
                    offsets[row] = each.offset
                    problems.pop(row, None)

    def _no_answer(self, broker: int, question: OffsetQuestion, error: Exception) -> OffsetProblem:
        is_old = isinstance(error, UnsupportedVersionError) and question.end is LogEnd.START
        if is_old:
            self._without_disks.add(broker)
        return OffsetProblem(
            f"no answer from broker {broker} ({reason(error)})", is_old or is_transient(error)
        )


def _chunks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [
        rows[first : first + PARTITIONS_PER_REQUEST]
        for first in range(0, len(rows), PARTITIONS_PER_REQUEST)
    ]
