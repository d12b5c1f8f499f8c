"""What a start asks of the world, what the world tells it, and what it remembers.

```
action      what the driver does                              event that answers
Gather      reads the store and the cluster                   Gathered
Commit      all or nothing                                    CommitEnded
Sleep       until a node may have changed, or a while         Slept
WriteMeta   meta.properties into dirs that have none          Wrote
Spawn       starts the command                                Spawned
Hold        waits for a change or the child's end, re-reads   Held
Confirm     as Commit                                         CommitEnded
Signal      ends the child and waits for it                   ChildEnded
Release     closes the session: the claim goes                Released
Finish      waits for the child, if there is one              -
Fail        takes files back, closes the session, raises      -
```

Times are milliseconds of one clock of this process, which never goes back.
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
"""`claiming` to `unclaiming` are of KRaft mode, where one commit cannot see who is registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """Ids that this start itself sees missing: id -> since when, on the store's clock.

    They hold within one session, in which a watch on each was set and has not fired.
    """

    session: int | None = None
    since_ms: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """Read. `base`: None = all anew, the fence first; else only what `more` asks is read."""

    base: Observation | None = None
    more: ReadMore | Generate | None = None
    seen: Sightings = Sightings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The operations of one commit."""

    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Until one of `on` may have changed, at most so long; without `on` an even part of it."""

    most_ms: int
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMeta:
    """Write the id into these dirs. `claimed`: before each rename the claim has to be ours."""

    id: int
    mode: Mode
    cluster_id: str | None
    dirs: tuple[str, ...]
    claimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Start the command under this id."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Look at this id again once something changed or the child ended, at the latest then."""

    id: int
    most_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """The one commit after the registration; it ends the claim."""

    id: int
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """End the child, and wait until it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Close the session; a claim goes with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """The end. With a child: wait for it, its status is ours."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """No broker under this id. `unwrite`: dirs whose file of this run goes, where no data is."""

    error: RackwiseError
    unwrite: tuple[str, ...] = ()


Action: TypeAlias = (
    Gather | Commit | Sleep | WriteMeta | Spawn | Hold | Confirm | Signal | Release | Succeed | Fail
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first event."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Read. `waited_ms` and `skipped` of it are filled in by `step`."""

    at_ms: int
    observation: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEnded:
    """How a commit ended; `unknown`: its answer was lost."""

    at_ms: int
    outcome: Literal["done", "conflict", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slept:
    """`changed`: paths that may have changed."""

    at_ms: int
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """`error`: some dir has no file. `claim_czxid`: of our claim, None = it was ours no more."""

    at_ms: int
    wrote: tuple[str, ...]
    claim_czxid: int | None
    error: RackwiseError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """The child runs."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What stands about one id while its broker boots.

    `session`: ours now. `owner`, `missing`: there is such a node. `child`: its exit status once it
    has ended.
    """

    at_ms: int
    session: int
    registration: Registration | None
    claim: Claim | None
    mapping: KeyMapping | None
    owner: bool
    missing: bool
    child: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """The child that was told to end has."""

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
    """What is started. `carries_id`: the command holds `{broker.id}`.

    `hold_ms`: how long a start without a command waits for a registration.
    """

    command: bool
    carries_id: bool = False
    hold_ms: int = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """One start. `held`: ids that are waited for, since `held_since_ms`; `slept_ms`: in all.

    `claim`: what stands in our claim. `claim_czxid`: of our first claim; a registration after it is
    our broker's. `foreign`: who registered instead. `error`: what it ends with once the child has
    ended.
    """

    rules: Rules
    launch: Launch
    phase: Phase = "new"
    begun_ms: int = 0
    tries: int = 0
    skipped: int = 0
    held: frozenset[str] = frozenset()
    held_since_ms: int = 0
    asleep_since_ms: int | None = None
    slept_ms: int = 0
    seen: Sightings = Sightings()
    observation: Observation | None = None
    take: Take | None = None
    claim: bytes = b""
    wrote: tuple[str, ...] = ()
    wrote_ms: int = 0
    claim_czxid: int | None = None
    foreign: Registration | None = None
    unwrite: tuple[str, ...] = ()
    error: RackwiseError | None = None


def require_take(state: Starting) -> tuple[Take, Observation]:
    """Return the decision and its observation. Raises `LocalProtocolError` before a decision."""
    if state.take is None or state.observation is None:
        raise LocalProtocolError("a start must take an id first")
    return state.take, state.observation
