"""The state of one run of apply, cancel or restore: limits, partitions, throttles, outcome.

```
Caps               limits: how much moves at once, how long to wait
Budget             how much a run may begin, and until when; see `budget`
ObservedPartition  one partition as the cluster shows it now
Progress           one partition of the plan: its requests, and its class
Entry              one throttle that this tool set: the value before, the values set
ApplyState         all of it; `step` returns a new one
Outcome            how a run ended; done + failed + skipped + dropped = moves of the plan
```

Partitions are pairs (topic, number). Replica lists run preferred leader first. Times are
milliseconds of one monotonic clock of this process. Sizes are bytes and rates bytes per second;
None is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rackwise.core.applying.budget import Budget
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

MOST_RATE = 2**63 - 1
"""Kafka stores a rate as a signed 64-bit integer."""

Mode: TypeAlias = Literal["apply", "cancel", "restore", "throttle"]
"""`cancel` undoes running moves; `restore` only restores throttles; `throttle` only sets them."""

RequestStatus: TypeAlias = Literal["none", "intent", "sent", "cancelling"]
"""What the journal says of a partition. `intent`: a request was announced, its result is unknown.
"""

RequestKind: TypeAlias = Literal["move", "cancel", "reorder"]
"""What a request asks for: the list after the move, the list before it, or its order before."""

PartitionClass: TypeAlias = Literal[
    "not_started",
    "moving",
    "done",
    "foreign_moving",
    "diverged",
    "cancelled_externally",
    "topic_gone",
    "refused",
    "target_dead",
    "cancelled",
    "dropped",
]
"""The class of a partition. `cancelled`: by this tool, on request. `target_dead`: by this tool,
because a target was dead for too long. `dropped`: not part of this run."""

RateConflict: TypeAlias = Literal["keep", "max", "ours"]
"""Which rate holds where an operator has set one: the operator's, the larger one, ours."""

Stop: TypeAlias = Literal["interrupted", "paused", "budget", "throttle", "unreachable", "fatal"]
"""Why a run ended early. `paused`: no new move was allowed and nothing moved any more. `budget`: no
move that is left fits in the budget of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The limits of a run. Raises `InvalidConfig` for a number below 1."""

    at_once: int = 200
    """Partitions that move at once."""
    per_broker: int = 5
    """Partitions that move into one broker at once."""
    per_leader: int = 10
    """Partitions that one leader sends at once."""
    bytes_in_flight: int | None = None
    """Bytes of all partitions that move at once; None: no limit."""
    per_request: int = 1_000
    """Partitions in one request."""
    elect_at_once: int = 200
    """Preferred elections in one request."""
    stall_ms: int = 600_000
    """Time without a byte of progress after which no new move is started."""
    down_ms: int = 60_000
    """Time for which a target is dead before its moves are cancelled."""
    elect: bool = True
    """Whether to elect preferred leaders."""
    throttle_over: RateConflict = "keep"
    """What to do where an operator has set a rate."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int) and value < 1 and each.name != "elect":
                raise InvalidConfig(
                    f"invalid {each.name}: expected a number of 1 or more, got {value}",
                    wanted=1,
                    had=value,
                    where=each.name,
                )


class ThrottleKey(NamedTuple):
    """One dynamic config of a broker or a topic."""

    kind: Literal["broker", "topic"]
    name: str
    """A broker id as text, or a topic."""
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One throttle key that this tool set."""

    prior: str | None
    """The value before this tool set the key; None: the key was absent, which is not `""`."""
    ours: tuple[str, ...]
    """Every announced value, the newest last: after a kill any of them may be set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPartition:
    """One partition as the cluster shows it."""

    topic_id: str | None
    """Text of the topic id; None where the protocol has none."""
    replicas: tuple[int, ...]
    """All replicas, the adding and the removing ones among them."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leader: int | None = None
    """None: the partition has no leader."""
    isr: tuple[int, ...] = ()
    adding_bytes: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Broker -> bytes of its adding replica, where sizes were read."""

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment of the partition is running."""
        return bool(self.adding or self.removing)

    @property
    def placed(self) -> tuple[int, ...]:
        """Replicas without the adding ones: the replicas that hold the data."""
        if not self.adding:
            return self.replicas
        return tuple(each for each in self.replicas if each not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Replicas without the removing ones."""
        return tuple(each for each in self.replicas if each not in self.removing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of one partition of the plan."""

    sent: RequestStatus = "none"
    """What the journal says of the requests for this partition."""
    class_: PartitionClass = "not_started"
    """The class that is believed; see `partition_class`."""
    seen: ObservedPartition | None = None
    """The last observation; None: the topic does not exist."""
    seen_ms: int | None = None
    """Since when the observation is the same; None: not observed yet."""
    looks: int = 0
    """How many readings in a row showed the same."""
    is_certain: bool = False
    """Whether `class_` is certain, and not a late answer of a broker."""
    tries: int = 0
    """Requests to move it in this run."""
    cancels: int = 0
    """Requests to cancel it in this run."""
    elections: int = 0
    """Elections requested in this run."""
    asked_ms: int = 0
    """Time of the last request."""
    code: str | None = None
    """Name of the last Kafka error."""
    journalled_class: PartitionClass | None = None
    """The class in the last journal line about it."""
    is_elected: bool = False
    """Whether nothing more is to be done about its leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Bytes that arrived between two readings of the cluster."""

    from_ms: int
    at_ms: int
    incoming: Mapping[int, int]
    """Broker -> bytes into it."""
    outgoing: Mapping[int, int]
    """Leader -> bytes out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The cluster at the first reading of this run; what was bad then does not pause the run."""

    live: frozenset[int] = frozenset()
    offline: frozenset[PartitionId] = frozenset()
    under_min_isr: frozenset[PartitionId] = frozenset()
    bad_dirs: frozenset[tuple[int, str]] = frozenset()


CANCELLED_AS: Mapping[Mode, PartitionClass] = MappingProxyType(
    {"apply": "target_dead", "cancel": "cancelled"}
)
"""The class of a move that a run of this mode has cancelled."""

DONE: frozenset[PartitionClass] = frozenset({"done", "cancelled"})
FAILED: frozenset[PartitionClass] = frozenset(
    {"foreign_moving", "diverged", "cancelled_externally", "topic_gone", "refused", "target_dead"}
)
SKIPPED: frozenset[PartitionClass] = frozenset({"not_started", "moving"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    mode: Mode
    classes: Mapping[PartitionId, PartitionClass]
    """Class of every move of the plan, in its order."""
    codes: Mapping[PartitionId, str]
    """Name of Kafka's error, where Kafka rejected a request."""
    not_elected: Mapping[PartitionId, str] = field(default_factory=lambda: MappingProxyType({}))
    """Done, but the preferred leader does not lead; why, such as `broker 4 is down`."""
    throttles_left: tuple[ThrottleKey, ...] = ()
    """Throttles of this tool that are still set."""
    throttles_changed: tuple[ThrottleKey, ...] = ()
    """Throttles of this tool that others changed."""
    begun: int = 0
    """Moves that count for the budget of the run."""
    stop: Stop | None = None
    text: str | None = None
    """Text of the error that ended the run."""
    has_written: bool = False
    """Whether the cluster was asked for a change."""

    def of(self, classes: frozenset[PartitionClass]) -> tuple[PartitionId, ...]:
        """Partitions in one of these classes, in the order of the plan."""
        return tuple(each for each, class_ in self.classes.items() if class_ in classes)

    @property
    def done(self) -> tuple[PartitionId, ...]:
        """Partitions that have the list of the plan; of a cancel also those that were cancelled."""
        return self.of(DONE)

    @property
    def failed(self) -> tuple[PartitionId, ...]:
        """Partitions that waiting will not bring to the list of the plan."""
        return self.of(FAILED)

    @property
    def skipped(self) -> tuple[PartitionId, ...]:
        """Partitions that were not started, or still moved when the run ended."""
        return self.of(SKIPPED)

    @property
    def dropped(self) -> tuple[PartitionId, ...]:
        """Partitions that this run left out."""
        return self.of(frozenset({"dropped"}))

    @property
    def not_cancelled(self) -> tuple[PartitionId, ...]:
        """Of a cancel: partitions that still move: no old replica in sync, or Kafka rejected it."""
        return self.of(frozenset({"moving"})) if self.mode == "cancel" else ()

    @property
    def is_reached(self) -> bool:
        """Whether nothing is left to do, and no throttle of this tool is set."""
        if self.mode == "throttle":
            return self.stop is None
        if self.throttles_left or self.stop is not None:
            return False
        if self.mode == "cancel":
            return not self.not_cancelled
        return self.mode == "restore" or not (self.failed or self.skipped or self.not_elected)


Phase: TypeAlias = Literal[
    "new",
    "looking",
    "reading",
    "setting",
    "verifying",
    "altering",
    "electing",
    "waiting",
    "reading_to_clear",
    "clearing",
    "clear_backoff",
    "over",
]
"""`reading` to `verifying`: throttles are set; `reading_to_clear` to `clear_backoff`: they are
cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyState:
    """The state of one run."""

    plan: str
    """SHA-256 of the plan."""
    moves: Mapping[PartitionId, Move]
    """Moves of the plan, in its order."""
    caps: Caps
    mode: Mode = "apply"
    rate: int | None = None
    """Throttle in bytes per second; None: no throttle."""
    phase: Phase = "new"
    partitions: Mapping[PartitionId, Progress] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    begun: frozenset[PartitionId] = frozenset()
    """Partitions that were requested in this run, which count for its budget."""
    ledger: Mapping[ThrottleKey, Entry] = field(default_factory=dict)
    """Throttles that this tool set and did not restore yet."""
    target_throttles: Mapping[ThrottleKey, str] = field(default_factory=dict)
    """Values that were just set, until they are visible."""
    changed_throttles: frozenset[ThrottleKey] = frozenset()
    """Throttles of this tool that others changed."""
    is_throttled: bool = False
    """Whether the throttles are set and visible."""
    throttled_rate: int | None = None
    """The rate of the throttles that are set, or are being set."""
    rate_request: str | None = None
    """Id of the request for the present rate, until that rate is set or rejected."""
    rate_rejected: str | None = None
    """Why the last rate that was requested could not be set; None: it could."""
    unthrottled_brokers: frozenset[int] = frozenset()
    """Brokers that were dead when the throttles were set."""
    rates_in: Mapping[int, int] = field(default_factory=dict)
    """Broker -> the rate that limits what it receives."""
    rates_out: Mapping[int, int] = field(default_factory=dict)
    """Broker -> the rate that limits what it sends."""
    baseline: Baseline | None = None
    """None before the first reading."""
    live: frozenset[int] = frozenset()
    """Live brokers in the last reading."""
    batch: int = 0
    """Number of the last request."""
    act: RequestKind = "move"
    """Kind of the last request."""
    queried: tuple[PartitionId, ...] = ()
    """Partitions of the last reading or request."""
    keys: tuple[ThrottleKey, ...] = ()
    """Throttle keys of the last request."""
    pauses: tuple[str, ...] = ()
    """Reasons why no new move is started."""
    paused_since_ms: int | None = None
    """When the pause began; None: not paused."""
    dead_since_ms: Mapping[int, int] = field(default_factory=dict)
    """Target broker -> when it was first seen dead."""
    progress_ms: int = 0
    """When a partition or a byte last made progress."""
    samples: tuple[Sample, ...] = ()
    """Samples of the last minute."""
    sizes_read_ms: int | None = None
    """When sizes were last read."""
    tries: int = 0
    """Failed attempts to set or to clear throttles."""
    throttles_set_ms: int | None = None
    """When the throttles were set."""
    looks_fail_since_ms: int | None = None
    """Since when no reading succeeds; None: the last one succeeded."""
    wait_ms: int = 0
    """Duration of the last wait."""
    is_stopping: bool = False
    """Whether a signal arrived: start no new move."""
    has_written: bool = False
    """Whether the cluster was asked for a change."""
    stop: Stop | None = None
    """Why the run ends early."""
    text: str | None = None
    """Text of the error that ends the run."""
