"""The execution of a plan as a pure state machine: throttled, journalled, resumable, reversible.

```
model             the state of a run: limits, partitions, throttles, outcome
actions           what a run asks for (Action) and what it observes (Observation)
journal/lines     the lines of a journal as values; journal/codec: as plain JSON values
preflight         whether a plan may run on the cluster as it is now
start             the first state of a run: from a plan, or from a plan and a journal
step              step(state, observation) -> state, actions
  decide            what a run does after it has read the cluster
  observe           what one reading of the cluster changes in the state
  window            which partitions are started next
  stop_conditions   why no new move is started
  throttles/        setting and clearing replication throttles
reverse           the plan that undoes what is done
status, progress  how much is done, how much is left, how long it takes
```

Time is an argument. Nothing here reads or writes.
"""

from __future__ import annotations

from rackwise.core.applying.actions import Action, Observation
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import Line
from rackwise.core.applying.model import (
    ApplyState,
    Caps,
    ObservedPartition,
    Outcome,
    PartitionClass,
    PartitionId,
    ThrottleKey,
)
from rackwise.core.applying.partition_class import classify
from rackwise.core.applying.progress import BrokerRates, Eta, Remaining, eta
from rackwise.core.applying.reverse import reverse_plan
from rackwise.core.applying.start import History, history_of, resume, start, start_restore
from rackwise.core.applying.status import Status, status_of, status_of_run
from rackwise.core.applying.step import step

__all__ = [
    "Action",
    "ApplyState",
    "BrokerRates",
    "Caps",
    "Eta",
    "History",
    "Line",
    "Observation",
    "ObservedPartition",
    "Outcome",
    "PartitionClass",
    "PartitionId",
    "Remaining",
    "Status",
    "ThrottleKey",
    "classify",
    "eta",
    "fields_of",
    "history_of",
    "line_of",
    "resume",
    "reverse_plan",
    "start",
    "start_restore",
    "status_of",
    "status_of_run",
    "step",
]
