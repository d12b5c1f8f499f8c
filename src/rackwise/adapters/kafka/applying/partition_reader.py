"""Where partitions are, what else reassigns, and who is live: one look, joined from three requests.

```
DescribeCluster -> ListPartitionReassignments -> Metadata of two brokers [-> reassignments again]
```

What the controller lists as reassigning counts before what a broker shows. A look tells what one
reading shows; where two brokers tell different things it is what one of them tells, for who looks
again and again believes nothing that is not certain on one look. A reading that decides by itself,
before a run, is repeated until all agree and no reassignment began or ended meanwhile.

What this does not do: read sizes or configs.

Source: KIP-455; KIP-1073 (fenced brokers).
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.applying.metadata import (
    PartitionRow,
    PartitionRows,
    read_rows,
    read_running_reassignments,
)
from rackwise.adapters.kafka.read import read_brokers
from rackwise.core.applying.model import ObservedPartition
from rackwise.core.errors import WorldError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.applying.reassign import TopicPartition
    from rackwise.adapters.kafka.topics import Reassignment

TRIES = 20
BETWEEN_S = 0.1
"""How often, and how soon again, what was read in between two states is read once more."""
FEW = 3
"""The same where the next look comes soon anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReading:
    """All that one reading told of some partitions and of the brokers.

    `counts`: topic of these partitions -> how many it has, where one of the brokers knows it.
    """

    partitions: Mapping[TopicPartition, ObservedPartition]
    foreign: Mapping[TopicPartition, ObservedPartition]
    live: frozenset[int]
    counts: Mapping[str, int]


class PartitionReader:
    """Looks at one cluster, through other brokers each time."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin
        self._turn = 0

    def read(
        self, wanted: Collection[TopicPartition], *, is_whole: bool = False
    ) -> PartitionReading:
        """These partitions, what else reassigns, and who is live.

        `is_whole`: one state of the cluster, seen by two brokers. Raises what `ask` raises, and
        `WorldError` where there is none.
        """
        tries = TRIES if is_whole else FEW
        for attempt in range(TRIES):
            if attempt:
                time.sleep(BETWEEN_S)
            found, is_sure = self._read_once(wanted, is_whole=is_whole)
            if found is not None and (is_sure or (not is_whole and attempt + 1 >= tries)):
                return found
        raise WorldError(
            f"expected brokers that agree, got different answers in {TRIES} readings",
            wanted="one state",
            had="several",
            hint="check whether a broker lags behind the others",
        )

    def _read_once(
        self, wanted: Collection[TopicPartition], *, is_whole: bool
    ) -> tuple[PartitionReading | None, bool]:
        """One reading, None where a topic tells nothing; and whether all agreed."""
        asked = frozenset(wanted)
        live = frozenset(each.id for each in read_brokers(self._admin) if each.is_live)
        running = read_running_reassignments(self._admin)
        foreign = {which: each for which, each in running.items() if which not in asked}
        topics = sorted({topic for topic, _ in asked})
        rows = (
            read_rows(self._admin, topics, brokers=self._next_two(live))
            if topics
            else PartitionRows()
        )
        names = sorted({topic for topic, _ in foreign})
        others = read_rows(self._admin, names) if names else PartitionRows()
        if rows.blank:
            return None, False
        is_sure = not asked & rows.unsure.keys()
        if is_whole and is_sure:
            is_sure = _of(running, asked) == _of(read_running_reassignments(self._admin), asked)
        shown = {**rows.unsure, **rows.rows}
        found = PartitionReading(
            partitions={
                which: _seen(shown[which], running.get(which)) for which in wanted if which in shown
            },
            foreign={
                which: _seen(others.rows[which], each)
                for which, each in foreign.items()
                if which in others.rows
            },
            live=live,
            counts=Counter(topic for topic, _ in shown),
        )
        return found, is_sure

    def _next_two(self, live: frozenset[int]) -> tuple[int, ...]:
        """Two live brokers, others each time."""
        ring = sorted(live)
        self._turn += 1
        first = self._turn % max(1, len(ring))
        return tuple((ring[first:] + ring[:first])[:2])


def _of(
    running: Mapping[TopicPartition, Reassignment], asked: Collection[TopicPartition]
) -> dict[TopicPartition, Reassignment]:
    return {which: each for which, each in running.items() if which in asked}


def _seen(row: PartitionRow, running: Reassignment | None) -> ObservedPartition:
    """What the controller knows of a running reassignment counts before a broker's view."""
    replicas = row.replicas if running is None else running.replicas
    return ObservedPartition(
        topic_id=row.topic_id,
        replicas=replicas,
        adding=() if running is None else running.adding,
        removing=() if running is None else running.removing,
        leader=row.leader,
        isr=row.isr,
    )
