"""The lines of a journal as values: what was about to be done, and its result.

```
type               announces or reports
begin              a run: its mode, throttle, budget, and the partitions that it leaves out
throttle_intent    throttle keys about to be set: value before, new value
throttle_set       which keys were set, which were not
throttle_change    another throttle was requested while the run goes on, is set, or cannot be set
batch_intent       partitions about to be reassigned or cancelled
batch_result       accepted, rejected with the name of Kafka's error, unknown
partition          the new class of a partition
pause, go          no new move is started, and why; moves are started again
elect_intent       preferred elections about to be requested
elect_result       as batch_result
throttle_restored  keys that have their old value, or that others own now
end                a run: counts, and why it ended early
```

The writer of the file adds `seq`, `at` and `check`. `fields_of` and `line_of` convert between a
line and plain JSON values, without loss.

What this does not do: files, checks, order. `start.resume` folds the lines into a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, TypeAlias

from rackwise.core.applying.budget import Budget
from rackwise.core.json.declare import OMITTED

if TYPE_CHECKING:
    from rackwise.core.applying.model import Mode, PartitionClass, RequestKind, Stop, ThrottleKey
    from rackwise.core.model import PartitionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A run begins."""

    type: ClassVar[str] = "begin"
    plan: str
    """SHA-256 of the plan."""
    mode: Mode
    throttle: int | None
    """Bytes per second; None: no throttle."""
    dropped: tuple[PartitionId, ...]
    """Partitions that the run leaves out."""
    next_moves: Annotated[int | None, OMITTED] = None
    """Moves that the run may begin; None: no limit."""
    most_bytes: Annotated[int | None, OMITTED] = None
    """Bytes of the copies that the run may begin; None: no limit."""
    until: Annotated[str | None, OMITTED] = None
    """Time after which the run begins no move, UTC; None: no limit."""
    lasts_ms: Annotated[int | None, OMITTED] = None
    """Length of the run, if it was given as a length."""
    window: Annotated[str | None, OMITTED] = None
    """Hours of every day in which the run begins moves, and their time zone; None: no window."""

    @property
    def budget(self) -> Budget:
        """The budget of the run."""
        return Budget(
            moves=self.next_moves,
            bytes=self.most_bytes,
            until=self.until,
            lasts_ms=self.lasts_ms,
            window=self.window,
        )


class Setting(NamedTuple):
    """A new value of one throttle key."""

    key: ThrottleKey
    prior: str | None
    """The value before this tool first set the key; None: absent."""
    ours: str
    """The value that is about to be set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleIntent:
    """These throttle keys are about to be set."""

    type: ClassVar[str] = "throttle_intent"
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleSet:
    """The result of setting throttle keys."""

    type: ClassVar[str] = "throttle_set"
    done: tuple[ThrottleKey, ...]
    failed: tuple[tuple[ThrottleKey, str], ...]
    """Key and name of Kafka's error, or `UNKNOWN`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleChange:
    """Another throttle was requested while the run goes on."""

    type: ClassVar[str] = "throttle_change"
    rate: int
    """Bytes per second."""
    request: str
    """Id of the request."""
    is_set: bool
    """Whether the rate is set, where something is copied; false: it is about to be set, or there is
    an error."""
    error: Annotated[str | None, OMITTED] = None
    """Why the rate cannot be set on all brokers; the run goes on without it. None: no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIntent:
    """These partitions are about to be moved, cancelled or reordered."""

    type: ClassVar[str] = "batch_intent"
    batch: int
    act: RequestKind
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of a reassignment request."""

    type: ClassVar[str] = "batch_result"
    batch: int
    act: RequestKind
    accepted: tuple[PartitionId, ...]
    refused: tuple[tuple[PartitionId, str], ...]
    """Partition and name of Kafka's error."""
    unknown: tuple[PartitionId, ...]
    """Partitions without an answer; the next reading shows the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """A partition has a new class."""

    type: ClassVar[str] = "partition"
    partition: PartitionId
    class_: PartitionClass
    code: str | None = None
    """Name of Kafka's error, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """No new move is started."""

    type: ClassVar[str] = "pause"
    reasons: tuple[str, ...]
    """Sentences for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Moves are started again."""

    type: ClassVar[str] = "go"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectIntent:
    """Preferred elections are about to be requested."""

    type: ClassVar[str] = "elect_intent"
    batch: int
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectResult:
    """The result of an election request."""

    type: ClassVar[str] = "elect_result"
    batch: int
    elected: tuple[PartitionId, ...]
    refused: tuple[tuple[PartitionId, str], ...]
    unknown: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleRestored:
    """These keys have no value of this tool any more."""

    type: ClassVar[str] = "throttle_restored"
    keys: tuple[ThrottleKey, ...]
    changed: tuple[ThrottleKey, ...]
    """Those of `keys` that others had changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A run ends; done + failed + skipped + dropped = moves of the plan."""

    type: ClassVar[str] = "end"
    done: int
    failed: int
    skipped: int
    dropped: int
    stop: Stop | None
    """Why the run ended early; None: it did not."""


Line: TypeAlias = (
    Begin
    | ThrottleIntent
    | ThrottleSet
    | ThrottleChange
    | BatchIntent
    | BatchResult
    | PartitionLine
    | Pause
    | Go
    | ElectIntent
    | ElectResult
    | ThrottleRestored
    | End
)
