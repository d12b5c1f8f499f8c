"""A plan is carried out: throttled, journalled, resumable, reversible; all of it pure.

```
values      Caps, Seen, ApplyState, Outcome
acts        what a run asks of the world (Action) and what it is told (Observation)
lines       the journal's lines as values; line_fields: as plain JSON values
starting    start, resume, restoring
steps       step(state, observation) -> state, actions
reversing   the plan that takes back what is done
status      how far it is, and when it will be over
```

Time is an argument, nothing is read or written here.
"""

from __future__ import annotations

from rackwise.core.applying.actions import Action, Observation
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import Line
from rackwise.core.applying.model import (
    ApplyState,
    Caps,
    Class,
    Outcome,
    PartitionId,
    Seen,
    ThrottleKey,
)
from rackwise.core.applying.partition_class import classify
from rackwise.core.applying.progress import Eta, Rates, Remaining, eta
from rackwise.core.applying.reverse import reversed_plan
from rackwise.core.applying.start import History, history_of, restoring, resume, start
from rackwise.core.applying.status import Status, status_of, status_of_run
from rackwise.core.applying.step import step

__all__ = [
    "Action",
    "ApplyState",
    "Caps",
    "Class",
    "Eta",
    "History",
    "Line",
    "Observation",
    "Outcome",
    "PartitionId",
    "Rates",
    "Remaining",
    "Seen",
    "Status",
    "ThrottleKey",
    "classify",
    "eta",
    "fields_of",
    "history_of",
    "line_of",
    "restoring",
    "resume",
    "reversed_plan",
    "start",
    "status_of",
    "status_of_run",
    "step",
]
