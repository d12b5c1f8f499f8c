"""Rules about replicas in sync, and whether writes with acks=all are possible.

Live replicas in sync are counted as Kafka counts them: the members of the ISR on live brokers,
including those that a running reassignment adds.

```
min.insync.replicas 2, 3 placed     in sync and live    finding
ISR [1 2 3]                         3                   -
ISR [1 2]                           2                   under-replicated, at-min-isr
ISR [1 2], 2 is dead                1                   under-replicated, under-min-isr
ISR [2], 2 is dead, no leader       0                   under-replicated, offline
```

`under-replicated` compares the whole ISR, as Kafka's own gauge does; the other rules count live
members only. Rules that need min.insync.replicas skip the topics for which it is not known, and the
audit reports how many it skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.rules.replicas import number_findings
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.view import View

NO_LEADER = -1


def min_isr_unknown(view: View) -> str | None:
    """For how many topics min.insync.replicas is not known; None where it is known for all."""
    unknown = int((view.topic_min_isr < 0).sum())
    topics = counted(len(view.table.topics), "topic")
    return f"min.insync.replicas of {unknown} of {topics} is not known" if unknown else None


@rule("offline", Severity.ERROR, "a partition has no leader")
def offline(view: View) -> Iterator[FindingBatch]:
    """Partitions without a leader."""
    rows = np.flatnonzero(view.table.leader == NO_LEADER)
    yield FindingBatch(
        rule="offline",
        texts=[("a leader", "none")],
        text=np.zeros(len(rows), dtype=np.int64),
        row=rows,
    )


@rule(
    "under-min-isr",
    Severity.ERROR,
    "fewer live replicas are in sync than min.insync.replicas",
    partly=min_isr_unknown,
)
def under_min_isr(view: View) -> Iterator[FindingBatch]:
    """Partitions with a leader and fewer live replicas in sync than min.insync.replicas."""
    is_under = (view.in_sync < view.min_isr) & (view.table.leader != NO_LEADER)
    rows = np.flatnonzero(is_under)
    yield from number_findings(
        "under-min-isr", rows, view.min_isr[rows], view.in_sync[rows], _in_sync
    )


@rule("under-replicated", Severity.WARNING, "fewer replicas are in sync than are placed")
def under_replicated(view: View) -> Iterator[FindingBatch]:
    """Partitions with fewer replicas in sync than placed."""
    placed, isr = view.placed.lengths, view.table.isr.lengths
    rows = np.flatnonzero(isr < placed)
    yield from number_findings("under-replicated", rows, placed[rows], isr[rows], _in_sync)


@rule(
    "at-min-isr",
    Severity.WARNING,
    "the loss of one more replica stops writes with acks=all",
    partly=min_isr_unknown,
)
def at_min_isr(view: View) -> Iterator[FindingBatch]:
    """Partitions with as many live replicas in sync as min.insync.replicas, and more placed."""
    minimum = view.min_isr
    rows = np.flatnonzero((view.in_sync == minimum) & (minimum < view.placed.lengths))
    yield from number_findings("at-min-isr", rows, minimum[rows], view.in_sync[rows], _more_in_sync)


def _in_sync(number: int) -> str:
    return f"{number} in sync"


def _more_in_sync(number: int) -> str:
    return f"more than {number} in sync"
