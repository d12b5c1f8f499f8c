"""Two looks at a running cluster, some time apart, and the rates between them.

```
first look   wait   second look          rates: second look minus first look, over the time between
|--------------------|                   `--measure 60s`: from the begin of one to that of the other
```

Only the second look is kept, with its rates. Where a rate is not known, or only a lower bound, a
note says why and what to do.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.meter import REASONS, Reason, growth, look_pair, with_rates
from rackwise.core.model import Note
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster, PartitionTable

STEP_S = 1.0
"""Progress is shown so often."""


def measured(shell: Shell, look: Callable[[], Cluster], span_ms: int) -> Cluster:
    """The second of two looks, with the rates since the first one."""
    begun = time.monotonic()
    first = look()
    _wait_until(shell, begun + span_ms / 1000)
    second = look()
    pair = look_pair(first, second)
    written = growth(pair)
    notes = (*second.notes, *_rate_notes(second.partitions, written.reason))
    return replace(with_rates(pair, written), notes=notes)


def _wait_until(shell: Shell, end: float) -> None:
    left = end - time.monotonic()
    if left <= 0:
        return
    with shell.progress("measuring, in seconds", total=math.ceil(left)) as advance:
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(STEP_S, left))
            advance(1)


def _rate_notes(table: PartitionTable, reason: NDArray[np.int8]) -> Iterator[Note]:
    """One note for each reason that somebody can do something about; `reason`: of each row."""
    for number in np.unique(reason).tolist():
        text = REASONS[number]
        if text.is_known and not text.cure:
            continue
        rows = np.flatnonzero(reason == number)
        what = "not known"
        if text.is_known:
            what = "lower bounds" if number == Reason.AT_LEAST else "estimates"
        yield Note(
            kind="rates",
            text=f"rates of {counted(len(rows), 'partition')}, such as {table.name(int(rows[0]))}, "
            f"are {what}: {text.cause}; {text.cure}",
        )
