"""The documents of `rackwise apply`, `resume`, `cancel`, `rollback`, `status` and `throttles`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rackwise.core.applying.progress import Way

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStateDocument:
    """The state of one move of a plan."""

    topic: str
    """Topic of the partition."""
    partition: int
    """Number of the partition."""
    class_: str
    """Class of the move, such as `done`, `moving` or `not_started`."""
    code: str | None
    """Name of Kafka's error, where Kafka rejected a request."""
    text: str | None
    """Text of that error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedDocument:
    """How a run that executes, cancels or undoes a plan ended."""

    format: Literal["rackwise.applied/1"] = "rackwise.applied/1"
    plan: str
    """SHA-256 of the plan."""
    cluster_id: str | None
    """Id of the cluster."""
    mode: Literal["apply", "cancel", "restore", "throttle"]
    """What the run did."""
    proof: str
    """What is known of the proof: `proved`, `gap N`, or `not proved: not ours` for lists that
    somebody else chose."""
    moves: int
    """Moves of the plan."""
    done: int
    """Moves that are done; of a cancel also those that were cancelled."""
    failed: int
    """Moves that waiting will not complete."""
    skipped: int
    """Moves that were not started, or still moved when the run ended."""
    dropped: int
    """Moves that this run left out."""
    is_reached: bool
    """Whether the run reached its end."""
    has_written: bool
    """Whether the cluster was asked for a change."""
    begun: int
    """Moves that the run has started, with those of killed runs that it continues."""
    bytes_done: int
    """Bytes of the copies of moves that are done."""
    bytes_left: int
    """Bytes of the copies of moves that are not done, of those that the run left out too."""
    unknown_sizes: int
    """Moves with copies of unknown size, which neither sum contains."""
    next_command: str | None
    """The command that continues, with the budget of the run if it had one; null if none does."""
    stop: str | None
    """Why the run ended early; null if it did not."""
    text: str | None
    """Text of the error that ended the run."""
    partitions: tuple[MoveStateDocument, ...]
    """The state of each move, in the order of the plan."""
    not_elected: tuple[str, ...]
    """Partitions that are done, but whose preferred leader could not be elected."""
    not_elected_because: Mapping[str, str]
    """Each of these partitions -> why, such as `broker 4 is down`."""
    throttles_left: tuple[tuple[str, str, str], ...]
    """Throttles of this tool that are still set: kind, name and config key."""
    throttles_changed: tuple[tuple[str, str, str], ...]
    """Throttles of this tool that others changed: kind, name and config key."""
    journal: str
    """Path of the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDocument:
    """Whether a plan may run."""

    format: Literal["rackwise.checked/1"] = "rackwise.checked/1"
    moves: int
    """Moves of the plan."""
    dropped: int
    """Stale moves that `--allow-partial` leaves out."""
    is_done: bool
    """Whether nothing is left to do."""
    bytes_to_copy: int
    """Bytes of the copies of known size that the run may begin, and of those in progress."""
    unknown_sizes: int
    """Partitions of unknown size to copy, which no other number contains."""
    throttle: int | None
    """Bytes per second at each broker; null: no throttle."""
    least_seconds: int | None
    """The shortest time of the run at the throttle; null: no throttle, or no known size."""
    busiest: BusiestDocument | None
    """The broker with the most bytes; null if no size is known, or nothing is copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusiestDocument:
    """The broker that limits a run if all brokers are equally fast."""

    broker: int
    """Id of the broker."""
    way: Way
    """Whether the bytes come into it or leave it."""
    bytes: int
    """Bytes to copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRunDocument:
    """A process that runs another plan on the same cluster."""

    pid: str | None
    """Id of the process."""
    since: str | None
    """When it began, UTC."""
    command: str | None
    """Its command, such as `apply`."""
    plan: str | None
    """SHA-256 of its plan; null if the command has no plan."""
    file: str | None
    """Path of its plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDocument:
    """The state of a plan and of each of its moves."""

    format: Literal["rackwise.status/1"] = "rackwise.status/1"
    plan: str
    """SHA-256 of the plan."""
    rollback: str | None
    """SHA-256 of the plan that undoes it, if that was started and is not complete: the document
    then describes the moves that undo."""
    cluster_id: str | None
    """Id of the cluster."""
    moves: int
    """Moves of the plan."""
    counts: Mapping[str, int]
    """Class -> number of moves."""
    partitions: tuple[MoveStateDocument, ...]
    """The state of each move, in the order of the plan."""
    bytes: int
    """Bytes of all copies whose size is known."""
    bytes_left: int
    """Bytes that are still to be copied."""
    bytes_per_s: int | None
    """Rate of copying; null if it is unknown."""
    unknown_sizes: int
    """Partitions to copy whose size is unknown."""
    eta_s: int | None
    """Seconds until all copies are complete; null if the rate is unknown."""
    bound_by: str | None
    """The broker whose rate limits the run."""
    throttles: tuple[tuple[str, str, str], ...]
    """Throttles of this tool that are set: kind, name and config key."""
    not_elected_because: Mapping[str, str]
    """Partition that is done and whose preferred leader does not lead -> why."""
    has_journal: bool
    """Whether the plan has a journal on this machine."""
    is_open: bool
    """Whether the last run did not reach its end."""
    is_budget_spent: bool
    """Whether the last run ended because its budget was spent."""
    next_command: str | None
    """The command that continues, with the budget of the last run if that ended; null while a
    process runs the plan, and if no run is open."""
    pid: str | None
    """Process that runs the plan."""
    since: str | None
    """When that process began, UTC."""
    command: str | None
    """The command of that process, such as `apply` or `rollback`."""
    other: OtherRunDocument | None
    """Process that runs another plan on the same cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleChangeDocument:
    """The throttle that the running moves of a plan have now."""

    format: Literal["rackwise.throttle-change/1"] = "rackwise.throttle-change/1"
    plan: str
    """SHA-256 of the plan."""
    rate: int | None
    """Bytes per second at each broker; null if no move is running."""
    pid: str | None
    """Process that runs the plan and has set the throttle; null if this command has set it."""
    kept: Mapping[str, Mapping[str, str]]
    """Broker -> config key -> rate that an operator has set, and that holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleDocument:
    """One throttle that is set."""

    kind: Literal["broker", "topic"]
    """What the throttle is set on."""
    name: str
    """Id of the broker, or name of the topic."""
    key: str
    """Config key."""
    value: str
    """Value of the config key."""
    owner: Literal["ours", "changed since", "not ours"]
    """Whether a run of this tool set the throttle."""
    plan: str | None
    """SHA-256 of the plan whose journal has the key; null if no journal has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlesDocument:
    """Every replication throttle of a cluster."""

    format: Literal["rackwise.throttles/1"] = "rackwise.throttles/1"
    throttles: tuple[ThrottleDocument, ...]
    """The throttles, ordered by kind, name and key."""
