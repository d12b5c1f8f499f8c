"""The state of partitions, of other reassignments and of brokers, joined from three requests.

```
DescribeCluster -> ListPartitionReassignments -> Metadata of two brokers [-> reassignments again]
```

The controller's list of reassignments takes precedence over what a broker shows. A reading shows
one moment. Where two brokers differ it contains the answer of one of them: a caller that reads
repeatedly believes nothing that one reading leaves uncertain. The reading before a run decides
alone, so it is repeated until all agree and no reassignment started or ended in between.

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

    from rackwise.adapters.kafka.topics import Reassignment
    from rackwise.core.model import PartitionId

TRIES = 20
"""Attempts of a whole reading."""
BETWEEN_S = 0.1
"""Pause between two attempts."""
FEW = 3
"""Attempts where the next reading comes soon anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReading:
    """One reading of some partitions and of the brokers."""

    partitions: Mapping[PartitionId, ObservedPartition]
    foreign: Mapping[PartitionId, ObservedPartition]
    """Other partitions that are reassigning."""
    live: frozenset[int]
    counts: Mapping[str, int]
    """Topic of these partitions -> number of its partitions, as one of the brokers shows it."""


class PartitionReader:
    """Reads one cluster, through different brokers each time."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin
        self._turn = 0

    def read(self, wanted: Collection[PartitionId], *, is_whole: bool = False) -> PartitionReading:
        """Read these partitions, the other reassignments, and the live brokers.

        `is_whole`: one state of the cluster, confirmed by two brokers. Raises what `ask` raises,
        and `WorldError` where the brokers do not agree.
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
        self, wanted: Collection[PartitionId], *, is_whole: bool
    ) -> tuple[PartitionReading | None, bool]:
        """One reading, None where a topic has no answer yet; and whether all brokers agreed."""
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
        """Two live brokers, different ones each time."""
        ring = sorted(live)
        self._turn += 1
        first = self._turn % max(1, len(ring))
        return tuple((ring[first:] + ring[:first])[:2])


def _of(
    running: Mapping[PartitionId, Reassignment], asked: Collection[PartitionId]
) -> dict[PartitionId, Reassignment]:
    return {which: each for which, each in running.items() if which in asked}


def _seen(row: PartitionRow, running: Reassignment | None) -> ObservedPartition:
    """One partition; the controller's list takes precedence over the broker's."""
    replicas = row.replicas if running is None else running.replicas
    return ObservedPartition(
        topic_id=row.topic_id,
        replicas=replicas,
        adding=() if running is None else running.adding,
        removing=() if running is None else running.removing,
        leader=row.leader,
        isr=row.isr,
    )
