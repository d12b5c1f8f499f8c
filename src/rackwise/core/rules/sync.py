"""Which replicas are in sync, and whether writes with acks=all are possible.

Live replicas in sync are counted as Kafka counts them: the members of the ISR on live brokers, also
those that a running reassignment adds.

```
min.insync.replicas 2, 3 placed     in sync and live    finding
ISR [1 2 3]                         3                   -
ISR [1 2]                           2                   under-replicated, at-min-isr
ISR [1 2], 2 is dead                1                   under-replicated, under-min-isr
ISR [2], 2 is dead, no leader       0                   under-replicated, offline
```

`under-replicated` compares the whole ISR, as Kafka's own gauge does; the other rules ask what is
alive. A topic whose min.insync.replicas is not known is judged by neither of the two rules that
need it, and the audit says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import Batch
from rackwise.core.rules.replicas import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.view import View

NO_LEADER = -1


def offline(view: View) -> Iterator[Batch]:
    """Partitions without a leader."""
    rows = np.flatnonzero(view.table.leader == NO_LEADER)
    yield Batch(
        rule="offline",
        texts=[("a leader", "none")],
        text=np.zeros(len(rows), dtype=np.int64),
        row=rows,
    )


def under_min_isr(view: View) -> Iterator[Batch]:
    """Partitions with a leader and fewer live replicas in sync than min.insync.replicas."""
    is_under = (view.in_sync < view.min_isr) & (view.table.leader != NO_LEADER)
    rows = np.flatnonzero(is_under)
    yield from numbers("under-min-isr", rows, view.min_isr[rows], view.in_sync[rows], _in_sync)


def under_replicated(view: View) -> Iterator[Batch]:
    """Partitions with fewer replicas in sync than placed."""
    placed, isr = view.placed.lengths, view.table.isr.lengths
    rows = np.flatnonzero(isr < placed)
    yield from numbers("under-replicated", rows, placed[rows], isr[rows], _in_sync)


def at_min_isr(view: View) -> Iterator[Batch]:
    """Partitions that would be under min.insync.replicas after one more loss, and need not be."""
    minimum = view.min_isr
    rows = np.flatnonzero((view.in_sync == minimum) & (minimum < view.placed.lengths))
    yield from numbers("at-min-isr", rows, minimum[rows], view.in_sync[rows], _more_in_sync)


def _in_sync(number: int) -> str:
    return f"{number} in sync"


def _more_in_sync(number: int) -> str:
    return f"more than {number} in sync"
