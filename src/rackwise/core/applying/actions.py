"""What a run asks of the world, and what the world tells it.

```
action          what the driver does                                     answer
Journal         appends the line and fsyncs it, before the next action   - (none)
Look            reassignments first, then metadata, brokers, sizes       Looked
ReadThrottles   describes the four throttle keys                         ThrottlesRead
SetThrottles    IncrementalAlterConfigs, SET and DELETE                  ThrottlesSet
Alter           AlterPartitionReassignments                              Altered
Elect           ElectLeaders, preferred                                  Elected
Wait            waits; a signal ends it early                            Waited
Finish          gives the lock back                                      - (the end)
```

The driver carries out the actions of a step in order, each whole before the next. At most one of
them, the last, wants an answer, which is given to the next `step`. Any answer may be `Failed`
instead: the request was lost, or its answer was. `Interrupted` may be told at any time; it asks
for nothing, and the answer that is due is still due.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import Outcome, PartitionId, Seen, ThrottleKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Append this line."""

    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Read how these partitions are, and the brokers. `sizes`: also of adding replicas."""

    partitions: tuple[PartitionId, ...]
    sizes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThrottles:
    """Read the throttle keys of these brokers and topics."""

    brokers: tuple[int, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetThrottles:
    """Set these keys; None = delete the key."""

    changes: tuple[tuple[ThrottleKey, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alter:
    """Reassign. A target of None cancels what goes on.

    `allow_replication_factor_change`: the flag of version 1; false: no list changes its length.
    """

    targets: tuple[tuple[PartitionId, tuple[int, ...] | None], ...]
    allow_replication_factor_change: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect:
    """Make the preferred replica of each the leader."""

    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """At most so long; a signal ends it."""

    most_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The end of the run."""

    outcome: Outcome


Action: TypeAlias = Journal | Look | ReadThrottles | SetThrottles | Alter | Elect | Wait | Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The first observation of a run; journal, lock and preflight are done."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How it is. `partitions`: those asked for; a topic that is not there is left out.

    `by_controller`: metadata came from the controller, so it does not lag. `live`: brokers that are
    listed and not fenced. `foreign`: partitions outside the plan that are reassigning. `offline`,
    `under_min_isr`: of all partitions that were read, those without a leader, and those with a
    leader whose live in-sync replicas are fewer than `min.insync.replicas`. `bad_dirs`: (broker,
    path) of log folders with an error. `has_sizes`: `adding_bytes` were read.
    """

    at_ms: int
    partitions: Mapping[PartitionId, Seen]
    live: frozenset[int]
    by_controller: bool = False
    foreign: Mapping[PartitionId, Seen] = field(default_factory=lambda: MappingProxyType({}))
    offline: frozenset[PartitionId] = frozenset()
    under_min_isr: frozenset[PartitionId] = frozenset()
    bad_dirs: frozenset[tuple[int, str]] = frozenset()
    has_sizes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlesRead:
    """The four throttle keys; an absent key is not in its mapping.

    `brokers`, `topics`: those that answered, also where none of the keys is set. `gone`: topics
    that are not there. What is in none of them could not be reached.
    """

    at_ms: int
    brokers: Mapping[int, Mapping[str, str]]
    topics: Mapping[str, Mapping[str, str]]
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlesSet:
    """Key -> Kafka's name of the error, None = it was set. A key that is left out is unknown."""

    at_ms: int
    answers: Mapping[ThrottleKey, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """Partition -> Kafka's name of the error, None = accepted. One that is left out is unknown."""

    at_ms: int
    answers: Mapping[PartitionId, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """Partition -> Kafka's name of the error, None = elected. One that is left out is unknown."""

    at_ms: int
    answers: Mapping[PartitionId, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The time is over, or something ended it."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A request had no answer. `is_fatal`: asking again is of no use (rights, password)."""

    at_ms: int
    text: str
    is_fatal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A signal: begin nothing any more."""

    at_ms: int


Observation: TypeAlias = (
    Begun
    | Looked
    | ThrottlesRead
    | ThrottlesSet
    | Altered
    | Elected
    | Waited
    | Failed
    | Interrupted
)
