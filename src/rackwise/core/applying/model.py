"""What one run of apply, cancel or restore knows: limits, partitions, throttles, how it ended.

```
Caps        how much at once, how long to bear with a stall or a dead target
Seen        one partition as the cluster shows it now
Progress    one partition of the plan: what the journal says of it, and its class
Entry       one throttle that is ours: what stood there before, what we set
ApplyState  all of it; `step` makes a new one
Outcome     how a run ended; done + failed + skipped + dropped = moves of the plan
```

Partitions are plain pairs (topic, number). Replica lists run preferred leader first. Times are
milliseconds of one clock of this process, which never goes back; sizes are bytes, rates bytes per
second, and None is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.planning.model import Move

PartitionId: TypeAlias = tuple[str, int]
"""Topic and number, as in `("orders", 4)`."""

Mode: TypeAlias = Literal["apply", "cancel", "restore"]
"""`cancel`: take back what moves. `restore`: only put throttles back."""

Sent: TypeAlias = Literal["none", "intent", "sent", "cancelling"]
"""What the journal says of a partition; `intent`: a request was announced, its answer unknown."""

Act: TypeAlias = Literal["move", "cancel", "reorder"]
"""What a request does: to the list of after, back, or back in the order of before."""

Class: TypeAlias = Literal[
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
"""Where a partition stands. `cancelled`: by us, as was asked; `target_dead`: by us, as its target
was dead for too long; `dropped`: not of this run at all."""

Over: TypeAlias = Literal["keep", "max", "ours"]
"""Where an operator has set a broker's rate: theirs stays, the larger one holds, ours does."""

Stop: TypeAlias = Literal["interrupted", "paused", "throttle", "unreachable", "fatal"]
"""Why a run ended early. `paused`: no new work was allowed and nothing moved any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much at once, and how long to wait. Raises `InvalidConfig` for a number below 1.

    `at_once`: partitions that move; `per_broker`: of them, into one broker; `per_leader`: out of
    one leader; `bytes_in_flight`: sum of what moves, None = no limit; `per_request`: partitions in
    a request; `elect_at_once`: preferred elections in a request; `first`: moves of the plan, from
    its begin, None = all. `stall_ms`: without a byte of progress; `down_ms`: a target is dead so
    long before its partitions are cancelled.
    """

    at_once: int = 200
    per_broker: int = 5
    per_leader: int = 10
    bytes_in_flight: int | None = None
    per_request: int = 1_000
    elect_at_once: int = 200
    first: int | None = None
    stall_ms: int = 600_000
    down_ms: int = 60_000
    elect: bool = True
    throttle_over: Over = "keep"

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
    """One dynamic config. `name`: a broker id as text, or a topic."""

    kind: Literal["broker", "topic"]
    name: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A throttle that is ours. `prior`: None = the key was absent, which is not `""`.

    `ours`: every value that was announced, the last one last: after a kill any of them may stand.
    """

    prior: str | None
    ours: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One partition as the cluster shows it. `replicas`: with the adding and the removing ones.

    `topic_id`: as text, None where the protocol has none. `leader`: None = no leader.
    `adding_bytes`: broker -> bytes of the adding replica there, where sizes were read and it has
    one.
    """

    topic_id: str | None
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leader: int | None = None
    isr: tuple[int, ...] = ()
    adding_bytes: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_reassigning(self) -> bool:
        """A reassignment of it goes on."""
        return bool(self.adding or self.removing)

    @property
    def placed(self) -> tuple[int, ...]:
        """Replicas without the adding ones: where the data is, and comes from."""
        if not self.adding:
            return self.replicas
        return tuple(each for each in self.replicas if each not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Replicas without the removing ones."""
        return tuple(each for each in self.replicas if each not in self.removing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One partition of the plan.

    `seen`: None = its topic is not there. `seen_ms`: since when it shows what it shows, None =
    never looked at; `looks`: how many looks in a row showed the same; `is_settled`: so `class_` is
    believed. `tries`, `cancels`, `elections`: requests sent for it in this run, the last at
    `asked_ms`. `code`: Kafka's name of the last error. `told`: the class that the journal was told
    last. `is_elected`: nothing more is to be done about its leader.
    """

    sent: Sent = "none"
    class_: Class = "not_started"
    seen: Seen | None = None
    seen_ms: int | None = None
    looks: int = 0
    is_settled: bool = False
    tries: int = 0
    cancels: int = 0
    elections: int = 0
    asked_ms: int = 0
    code: str | None = None
    told: Class | None = None
    is_elected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Bytes that arrived between two moments: broker -> into it, leader -> out of it."""

    from_ms: int
    at_ms: int
    incoming: Mapping[int, int]
    outgoing: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """How the cluster was at the first look of this run; what was bad then pauses nothing."""

    live: frozenset[int] = frozenset()
    offline: frozenset[PartitionId] = frozenset()
    under_min_isr: frozenset[PartitionId] = frozenset()
    bad_dirs: frozenset[tuple[int, str]] = frozenset()


DONE: frozenset[Class] = frozenset({"done", "cancelled"})
FAILED: frozenset[Class] = frozenset(
    {"foreign_moving", "diverged", "cancelled_externally", "topic_gone", "refused", "target_dead"}
)
SKIPPED: frozenset[Class] = frozenset({"not_started", "moving"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. `classes`: of every move of the plan, in its order.

    `codes`: Kafka's error name, where it refused. `not_elected`: done, but the preferred leader
    could not be made leader. `throttles_left`: ours that still stand; `throttles_changed`: others
    changed them.
    `has_written`: something was asked of the cluster. `text`: of the error it ended with.
    """

    mode: Mode
    classes: Mapping[PartitionId, Class]
    codes: Mapping[PartitionId, str]
    not_elected: tuple[PartitionId, ...] = ()
    throttles_left: tuple[ThrottleKey, ...] = ()
    throttles_changed: tuple[ThrottleKey, ...] = ()
    stop: Stop | None = None
    text: str | None = None
    has_written: bool = False

    def of(self, classes: frozenset[Class]) -> tuple[PartitionId, ...]:
        """Partitions in one of these classes, in the order of the plan."""
        return tuple(each for each, class_ in self.classes.items() if class_ in classes)

    @property
    def done(self) -> tuple[PartitionId, ...]:
        """The list is as the plan wants it; of a cancel also: it was taken back."""
        return self.of(DONE)

    @property
    def failed(self) -> tuple[PartitionId, ...]:
        """It will not be as the plan wants it by waiting."""
        return self.of(FAILED)

    @property
    def skipped(self) -> tuple[PartitionId, ...]:
        """Not begun, or still moving when the run ended."""
        return self.of(SKIPPED)

    @property
    def dropped(self) -> tuple[PartitionId, ...]:
        """Not of this run."""
        return self.of(frozenset({"dropped"}))

    @property
    def not_cancelled(self) -> tuple[PartitionId, ...]:
        """Of a cancel: moving still, as no replica of before is live and in sync, or refused."""
        return self.of(frozenset({"moving"})) if self.mode == "cancel" else ()

    @property
    def is_reached(self) -> bool:
        """Nothing is left to do: all is done, or taken back, and no throttle of ours stands."""
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
    "taking_off",
    "unsetting",
    "resting",
    "over",
]
"""`reading` to `verifying`: throttles are put on; `taking_off` to `resting`: they are taken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyState:
    """One run. `plan`: SHA-256 of it; `moves`: in its order; `rate`: of the throttle, None = none.

    `ledger`: throttles that are ours; `wanted`: those just set, until they are visible; `changed`:
    those that others had changed. `rates_in`, `rates_out`: broker -> the rate that holds there.
    `batch`, `act`: of the last request; `asked`, `keys`: what the last question was about.
    `pauses`: why no new work is begun, with `paused_ms`. `dead_ms`: broker -> since when it is
    dead. `moved_ms`: when something moved last; `samples`: of the last minute; `sized_ms`: when
    sizes were read last. `tries`, `since_ms`: of throttles that are put on or taken off;
    `failed_ms`: since when no look succeeds. `wait_ms`: the last wait. `is_stopping`: begin nothing
    any more.
    """

    plan: str
    moves: Mapping[PartitionId, Move]
    caps: Caps
    mode: Mode = "apply"
    rate: int | None = None
    phase: Phase = "new"
    partitions: Mapping[PartitionId, Progress] = field(default_factory=dict)
    ledger: Mapping[ThrottleKey, Entry] = field(default_factory=dict)
    wanted: Mapping[ThrottleKey, str] = field(default_factory=dict)
    changed: frozenset[ThrottleKey] = frozenset()
    is_throttled: bool = False
    unthrottled: frozenset[int] = frozenset()
    rates_in: Mapping[int, int] = field(default_factory=dict)
    rates_out: Mapping[int, int] = field(default_factory=dict)
    baseline: Baseline | None = None
    live: frozenset[int] = frozenset()
    batch: int = 0
    act: Act = "move"
    asked: tuple[PartitionId, ...] = ()
    keys: tuple[ThrottleKey, ...] = ()
    pauses: tuple[str, ...] = ()
    paused_ms: int | None = None
    dead_ms: Mapping[int, int] = field(default_factory=dict)
    moved_ms: int = 0
    samples: tuple[Sample, ...] = ()
    sized_ms: int | None = None
    tries: int = 0
    since_ms: int | None = None
    failed_ms: int | None = None
    wait_ms: int = 0
    is_stopping: bool = False
    has_written: bool = False
    stop: Stop | None = None
    text: str | None = None
