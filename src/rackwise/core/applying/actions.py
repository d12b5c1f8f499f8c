"""The actions that a run asks for, and the observations that answer them.

```
action          what the driver does                                     observation
AppendLine      appends the line and fsyncs it, before the next action   - (none)
Look            reads reassignments, then metadata, brokers, sizes       Looked
ReadThrottles   describes the four throttle keys                         ThrottlesRead
SetThrottles    IncrementalAlterConfigs, SET and DELETE                  ThrottlesSet
Alter           AlterPartitionReassignments                              Altered
Elect           ElectLeaders, preferred                                  Elected
Wait            waits; a signal ends it early                            Waited
Finish          releases the lock                                        - (the end)
```

The driver executes the actions of a step in order and completes each one before the next. At most
one of them, the last, has an observation, which is the argument of the next `step`. `Failed` may
take the place of any observation: the request or its answer was lost. `Interrupted` and
`ThrottleAsked` may come at any time; they ask nothing, and the observation that is due is still
due.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ObservedPartition, Outcome, ThrottleKey
    from rackwise.core.model import PartitionId


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendLine:
    """Append this line to the journal."""

    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Read the state of these partitions and of the brokers."""

    partitions: tuple[PartitionId, ...]
    sizes: bool = False
    """Whether to read also the sizes of adding replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThrottles:
    """Read the throttle keys of these brokers and topics."""

    brokers: tuple[int, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetThrottles:
    """Set these keys; the value None deletes the key."""

    changes: tuple[tuple[ThrottleKey, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alter:
    """Start reassignments; the target None cancels a running one."""

    targets: tuple[tuple[PartitionId, tuple[int, ...] | None], ...]
    """Partition -> replicas, preferred leader first."""
    allow_replication_factor_change: bool
    """The flag of version 1 of the request; false: no list changes its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect:
    """Make the preferred replica of each partition its leader."""

    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait for at most `most_ms`; a signal ends the wait early."""

    most_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """End the run."""

    outcome: Outcome


Action: TypeAlias = AppendLine | Look | ReadThrottles | SetThrottles | Alter | Elect | Wait | Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The first observation of a run, after journal, lock and preflight."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The state of the cluster in one reading."""

    at_ms: int
    partitions: Mapping[PartitionId, ObservedPartition]
    """The partitions of the request; one whose topic does not exist is missing."""
    live: frozenset[int]
    """Brokers that are listed and not fenced."""
    by_controller: bool = False
    """Whether the metadata came from the controller, so that it does not lag."""
    foreign: Mapping[PartitionId, ObservedPartition] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Partitions outside the plan that are reassigning."""
    offline: frozenset[PartitionId] = frozenset()
    """Of all partitions that were read, those without a leader."""
    under_min_isr: frozenset[PartitionId] = frozenset()
    """Partitions with a leader and fewer live in-sync replicas than `min.insync.replicas`."""
    bad_dirs: frozenset[tuple[int, str]] = frozenset()
    """(broker, path) of log folders with an error."""
    has_sizes: bool = False
    """Whether `adding_bytes` were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlesRead:
    """The values of the four throttle keys; a key that is not set is not in its mapping."""

    at_ms: int
    brokers: Mapping[int, Mapping[str, str]]
    """Brokers that answered, also those without a throttle key."""
    topics: Mapping[str, Mapping[str, str]]
    """Topics that answered, also those without a throttle key."""
    gone: frozenset[str] = frozenset()
    """Topics that do not exist. A resource in none of the three did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlesSet:
    """The result of `SetThrottles`: key -> name of Kafka's error, None where the key was set."""

    at_ms: int
    answers: Mapping[ThrottleKey, str | None]
    """A key that is missing here was not answered: its result is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """The result of `Alter`: partition -> name of Kafka's error, None where it was accepted."""

    at_ms: int
    answers: Mapping[PartitionId, str | None]
    """A partition that is missing here was not answered: its result is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """The result of `Elect`: partition -> name of Kafka's error, None where it was elected."""

    at_ms: int
    answers: Mapping[PartitionId, str | None]
    """A partition that is missing here was not answered: its result is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The wait is over, by time or by a signal."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A request was not answered."""

    at_ms: int
    text: str
    is_fatal: bool = False
    """Whether a retry is useless: missing permission, rejected login."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A signal arrived: start no new move."""

    at_ms: int


class ThrottleRequest(NamedTuple):
    """The request of another process for another throttle."""

    rate: int
    """Bytes per second."""
    request: str
    """Id of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleAsked:
    """Another throttle is requested."""

    at_ms: int
    asked: ThrottleRequest


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
    | ThrottleAsked
)
