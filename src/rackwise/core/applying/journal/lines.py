"""The lines of a journal as values: what was about to be done, and what came of it.

```
type               announces or tells
begin              a run: its mode, throttle, and the partitions it leaves out
throttle_intent    keys about to be set: what stood there, what will
throttle_set       which were, which were not
batch_intent       partitions about to be reassigned, or cancelled
batch_result       accepted, refused with Kafka's name of the error, unknown
partition          a partition came to a new class
pause, go          no new work is begun, and why; it is again
elect_intent       preferred elections about to be asked for
elect_result       as batch_result
throttle_restored  keys that are as they were, or are not ours any more
end                a run: counts, and why it ended early
```

`seq`, `at` and `check` are added by whoever writes them. `fields_of` and `line_of` are the two
ways between a line and plain JSON values; what one writes the other reads.

What this does not do: files, checks, order. `state` is folded from lines by `resume`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from rackwise.core.applying.model import Act, Class, Mode, PartitionId, Stop, ThrottleKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A run begins. `plan`: its SHA-256; `throttle`: bytes per second; `dropped`: left out."""

    type: ClassVar[str] = "begin"
    plan: str
    mode: Mode
    throttle: int | None
    dropped: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key: what stood there before anything of ours did, and what will."""

    key: ThrottleKey
    prior: str | None
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleIntent:
    """These are about to be set."""

    type: ClassVar[str] = "throttle_intent"
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleSet:
    """These were set; `failed`: with Kafka's name of the error, or `UNKNOWN`."""

    type: ClassVar[str] = "throttle_set"
    done: tuple[ThrottleKey, ...]
    failed: tuple[tuple[ThrottleKey, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIntent:
    """These are about to be reassigned to the `after` of the plan, or to be taken back."""

    type: ClassVar[str] = "batch_intent"
    batch: int
    act: Act
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What came of it. `unknown`: no answer; the next look tells."""

    type: ClassVar[str] = "batch_result"
    batch: int
    act: Act
    accepted: tuple[PartitionId, ...]
    refused: tuple[tuple[PartitionId, str], ...]
    unknown: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """A partition came to this class. `code`: Kafka's name of the error, where there is one."""

    type: ClassVar[str] = "partition"
    partition: PartitionId
    class_: Class
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Nothing new is begun, for these reasons: sentences for people."""

    type: ClassVar[str] = "pause"
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """The reasons are gone."""

    type: ClassVar[str] = "go"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectIntent:
    """Preferred elections are about to be asked for."""

    type: ClassVar[str] = "elect_intent"
    batch: int
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectResult:
    """What came of them."""

    type: ClassVar[str] = "elect_result"
    batch: int
    elected: tuple[PartitionId, ...]
    refused: tuple[tuple[PartitionId, str], ...]
    unknown: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleRestored:
    """Nothing of ours stands there any more. `changed`: of them, those that others had changed."""

    type: ClassVar[str] = "throttle_restored"
    keys: tuple[ThrottleKey, ...]
    changed: tuple[ThrottleKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A run ends; done + failed + skipped + dropped = moves of the plan."""

    type: ClassVar[str] = "end"
    done: int
    failed: int
    skipped: int
    dropped: int
    stop: Stop | None


Line: TypeAlias = (
    Begin
    | ThrottleIntent
    | ThrottleSet
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
