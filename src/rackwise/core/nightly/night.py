"""The values of a night, which `nightly.json` keeps.

```
NightlyState
  night      Night     day, runs: (StepRun, StepRun, ..)     the last run of each step, oldest first
  clusters   name -> ClusterMemory                            what has been reported of the cluster
  outbox     (Notice, ..)                                     what the webhook has not taken yet
```

A step is one command for one cluster, for some clusters (`price`) or for all (`metrics`, `notify`).
Its last run replaces the one before and goes to the end, so the order of the runs is the order in
which they ended.

Limits: times are texts in UTC, ISO 8601; durations are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import OMITTED
from rackwise.core.notices.changes import ClusterMemory, Notice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

FORMAT: Final = "rackwise.nightly/1"
StepName: TypeAlias = Literal[
    "first-look", "second-look", "audit", "plan", "price", "metrics", "notify"
]
LOOKS: Final[tuple[StepName, ...]] = ("first-look", "second-look")
OK: Final[Mapping[StepName, frozenset[int]]] = {
    "audit": frozenset({0, 2}),
    "plan": frozenset({0, 2}),
}
"""Exit codes that are no failure; of the other steps it is 0 alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step that ran to its end, with or without success."""

    step: StepName
    """Name of the step."""
    clusters: tuple[str, ...]
    """Clusters that the step is about; empty for the whole fleet."""
    command: tuple[str, ...]
    """Words of the command line, which a person can repeat."""
    exit: int
    """Exit code of the command; 124 if it did not end in time, 128 + n after signal n."""
    reason: str | None
    """Last line that a failed command printed on stderr; null after success."""
    began: str
    """Start of the step, UTC."""
    took_ms: int
    """Duration of the step in milliseconds."""
    start: int
    """Number of the run of `nightly` that ran the step, counted from 1 in each night."""
    cluster_id: str | None = None
    """Id of the cluster that a look found; null for other steps, and where it is not known."""
    hint: Annotated[str | None, OMITTED] = None
    """What to do about the reason; absent if the command did not say."""

    @property
    def is_ok(self) -> bool:
        """Whether the step succeeded."""
        return self.exit in OK.get(self.step, {0})

    @property
    def key(self) -> tuple[StepName, tuple[str, ...]]:
        """What a later run of the same step replaces."""
        return self.step, self.clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """The steps of one day, UTC."""

    day: str
    """The day, such as 2026-11-26."""
    starts: int = 0
    """How often `nightly` was started on this day."""
    began: str | None = None
    """Start of the last run, UTC."""
    ended: str | None = None
    """End of the last run, UTC; null while it runs, and after it was killed."""
    exit: int | None = None
    """Exit code of the last run; null while it runs, and after it was killed."""
    refreshed: int | None = None
    """Number of the run that last repeated the second looks on request; null: none did."""
    runs: tuple[StepRun, ...] = ()
    """The last run of each step, in the order in which they ended; `began` says when it ran."""

    def run_of(self, step: StepName, *clusters: str) -> StepRun | None:
        """The last run of a step; None if it has not ended yet."""
        return next((each for each in self.runs if each.key == (step, clusters)), None)

    def with_run(self, run: StepRun) -> Night:
        """The night after a step has ended.

        A price replaces every price that shares a cluster with it: which clusters are priced
        together changes when one of them answers again.
        """
        kept = tuple(each for each in self.runs if not _replaces(run, each))
        return replace(self, runs=(*kept, run))

    def of(self, clusters: Collection[str]) -> Night:
        """The night of a fleet file that has these clusters, without the runs of others."""
        kept = tuple(each for each in self.runs if {*each.clusters} <= {*clusters})
        return replace(self, runs=kept)

    def started(self, day: str, now: str) -> Night:
        """The night when `nightly` starts: this one if it is the same day, else a new one."""
        night = self if self.day == day else Night(day=day)
        return replace(night, starts=night.starts + 1, began=now, ended=None, exit=None)

    def to_refresh(self, day: str) -> Night:
        """The night of that day, with second looks that are due again if it has begun."""
        if self.day != day or not self.starts:
            return self
        kept = tuple(each for each in self.runs if each.step != "second-look")
        return replace(self, runs=kept, refreshed=self.starts + 1)


def _replaces(run: StepRun, earlier: StepRun) -> bool:
    if run.step == earlier.step == "price":
        return not set(run.clusters).isdisjoint(earlier.clusters)
    return run.key == earlier.key


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyState:
    """What `nightly.json` keeps."""

    night: Night
    """The last night."""
    last_success: str | None = None
    """End of the last night in which no step failed, UTC."""
    clusters: Mapping[str, ClusterMemory] = field(default_factory=dict)
    """What is remembered of each cluster, by name."""
    outbox: tuple[Notice, ...] = ()
    """Notices that the webhook has not taken yet, oldest first."""


CODEC: Final = Codec(
    names={"ClusterMemory": ClusterMemory, "Notice": Notice},
    rules={NightlyState: ObjectRules(constants={"format": FORMAT})},
)
STATE: Final = CODEC.object(NightlyState)
"""The form of `nightly.json`."""
