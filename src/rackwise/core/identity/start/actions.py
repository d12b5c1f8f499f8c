"""The actions, the events and the state of a start.

```
action      what the driver does                              the event that answers
Gather      reads the store and the cluster                   Gathered
Commit      commits all or nothing                            CommitEnded
Sleep       waits until a node may have changed, or a while   Slept
WriteMeta   writes meta.properties into dirs without one      Wrote
Spawn       starts the command                                Spawned
Hold        waits for a change or the child's end, re-reads   Held
Confirm     commits, as Commit                                CommitEnded
Signal      stops the child and waits for its end             ChildEnded
Release     closes the session, which ends the claim          Released
Succeed     waits for the child, if there is one              -
Fail        removes files, closes the session, raises         -
```

Times are milliseconds of a clock of this process that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.errors import RackwiseError
    from rackwise.core.identity.model import (
        Claim,
        Generate,
        KeyMapping,
        Mode,
        Observation,
        ReadMore,
        Registration,
        Rules,
        Take,
    )
    from rackwise.core.identity.nodes.store import Op

Phase: TypeAlias = Literal[
    "new",
    "gathering",
    "sleeping",
    "committing",
    "claiming",
    "looking",
    "mapping",
    "unclaiming",
    "writing",
    "spawning",
    "holding",
    "reclaiming",
    "confirming",
    "signalling",
    "releasing",
    "over",
]
"""`claiming` to `unclaiming` occur in KRaft mode, where a commit cannot check registrations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """Ids that this start itself sees missing.

    They are valid within one session, in which a watch on each id was set and has not fired.
    """

    session: int | None = None
    since_ms: Mapping[int, int] = field(default_factory=dict)
    """Id -> since when it is missing, on the clock of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """Read an observation."""

    base: Observation | None = None
    """None = read all again, the fence first; else read only what `more` asks for."""
    more: ReadMore | Generate | None = None
    seen: Sightings = Sightings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Commit these operations."""

    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Sleep until one of `on` may have changed, at most `most_ms`.

    Without `on`, sleep a random part of `most_ms`.
    """

    most_ms: int
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMeta:
    """Write the id into these dirs."""

    id: int
    mode: Mode
    cluster_id: str | None
    dirs: tuple[str, ...]
    claimed: bool
    """Whether the claim must still be ours before each rename."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Start the command under this id."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Wait for a change or the end of the child, at most `most_ms`; then read this id again."""

    id: int
    most_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Commit after the registration. This commit ends the claim."""

    id: int
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Stop the child, and wait until it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Close the session, which ends its claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """End the start. If there is a child, wait for it; its status is the status of the start."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """End the start without a broker under this id."""

    error: RackwiseError
    unwrite: tuple[str, ...] = ()
    """Dirs whose file of this run is removed, if they hold no data."""


Action: TypeAlias = (
    Gather | Commit | Sleep | WriteMeta | Spawn | Hold | Confirm | Signal | Release | Succeed | Fail
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first event."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The observation is read. `step` fills in its `waited_ms` and `skipped`."""

    at_ms: int
    observation: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEnded:
    """A commit ended. `unknown`: its answer was lost."""

    at_ms: int
    outcome: Literal["done", "conflict", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slept:
    """The sleep is over. `changed`: paths that may have changed."""

    at_ms: int
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The files are written, or not all of them."""

    at_ms: int
    wrote: tuple[str, ...]
    claim_czxid: int | None
    """Of our claim; None = the claim was no longer ours."""
    error: RackwiseError | None = None
    """Set if a dir got no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """The child runs."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The nodes of one id while its broker boots."""

    at_ms: int
    session: int
    """Our session now."""
    registration: Registration | None
    claim: Claim | None
    mapping: KeyMapping | None
    owner: bool
    """Whether there is an owner node."""
    missing: bool
    """Whether there is a marker that the id is missing."""
    child: int | None = None
    """The exit status of the child; None = it runs, or there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """The stopped child has ended."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The session is closed."""

    at_ms: int


Event: TypeAlias = (
    Started | Gathered | CommitEnded | Slept | Wrote | Spawned | Held | ChildEnded | Released
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started."""

    command: bool
    """Whether there is a command."""
    carries_id: bool = False
    """Whether the command contains `{broker.id}`."""
    hold_ms: int = 600_000
    """How long a start without a command waits for a registration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """The state of one start."""

    rules: Rules
    launch: Launch
    phase: Phase = "new"
    begun_ms: int = 0
    tries: int = 0
    skipped: int = 0
    held: frozenset[str] = frozenset()
    """Ids for which this start waits."""
    held_since_ms: int = 0
    """When the wait for `held` began."""
    asleep_since_ms: int | None = None
    slept_ms: int = 0
    """The total time asleep."""
    seen: Sightings = Sightings()
    observation: Observation | None = None
    take: Take | None = None
    claim: bytes = b""
    """The content of our claim."""
    wrote: tuple[str, ...] = ()
    wrote_ms: int = 0
    claim_czxid: int | None = None
    """Of our first claim. A registration after it is that of our broker."""
    foreign: Registration | None = None
    """Another broker that registered instead of ours."""
    unwrite: tuple[str, ...] = ()
    error: RackwiseError | None = None
    """The error that ends the start once the child has ended."""


def require_take(state: Starting) -> tuple[Take, Observation]:
    """Return the decision and its observation. Raises `LocalProtocolError` before a decision."""
    if state.take is None or state.observation is None:
        raise LocalProtocolError("a start must take an id first")
    return state.take, state.observation
