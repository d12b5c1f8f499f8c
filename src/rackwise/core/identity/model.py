"""The values of a decision: what is known before a broker starts, and what can follow.

```
Observation   all that a decision may know   log dirs, own mapping, registrations, claims
Rules         what the operator permits      spares, waiting, limits
Decision      Take | WaitFor | Generate | ReadMore | Refuse
```

A *key* identifies a host. A *claim* is key -> id, asserted now: it ends with its session. A
*mapping* is key -> id, remembered. The *fence* is a node whose version orders decisions. A *spare*
is an id that replicas use and that is neither registered nor claimed nor retired. An *incarnation*
is one registration: the czxid of `/brokers/ids/N`, Kafka's broker epoch. Ids are 0..2**31-1; times
are milliseconds of the store's clock.

Source: KIP-426.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.errors import RackwiseError

How: TypeAlias = Literal["configured", "meta", "already", "a", "b1", "gen"]
"""The source of an id: the configuration, the disk, an earlier commit of this start, the own
mapping (the KIP's a), a spare (b.1), a generated number."""
Spare: TypeAlias = Literal["never", "unmapped", "any"]
OnBlocked: TypeAlias = Literal["grace", "error", "wait", "generate"]
Watch: TypeAlias = Literal["scan", "led", "leaderless"]
LookAt: TypeAlias = Literal["used", "missing", "at_risk"]

_NOTHING: Mapping[str, object] = MappingProxyType({})
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})
_NO_NAMES: Mapping[int, tuple[str, ...]] = MappingProxyType({})
_NONE_UNREADABLE: Mapping[str, UnreadableMapping] = MappingProxyType({})


class Mode(StrEnum):
    """Where a cluster keeps its metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """One `meta.properties`. None = the file does not say."""

    version: int
    broker_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None
    extra: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    """Keys that are not Kafka's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLogDir:
    """One of `log.dirs` on this host."""

    path: str
    meta: MetaProperties | None = None
    """None = there is no file, or it cannot be read."""
    problem: str | None = None
    """Why the file cannot be read."""
    partitions: frozenset[str] = frozenset()
    """Names of partition directories, such as `orders-4`."""

    def lacks_id(self, mode: Mode) -> bool:
        """Return whether the id must still be written here, because there is no file.

        In ZooKeeper mode this includes a file of version 0 without an id: Kafka completes it with
        the id under which it starts, even a new one.
        """
        if self.meta is None:
            return self.problem is None
        is_old = mode is Mode.ZOOKEEPER and self.meta.version == 0
        return is_old and self.meta.broker_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker that is registered now."""

    broker_id: int
    endpoints: frozenset[str] = frozenset()
    """`host:port` of its listeners."""
    listeners: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    """Listener -> its `host:port`, without those that lack one. Empty without ZooKeeper."""
    session: int | None = None
    """None without ZooKeeper."""
    incarnation: int | None = None
    """None without ZooKeeper."""
    registered_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An id that a running start asserts now."""

    broker_id: int
    key: str
    nonce: str
    session: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The last start of this id that Rackwise saw registered.

    Until a start is seen registered: the key that reserved the id.
    """

    broker_id: int
    key: str
    incarnation: int | None = None
    endpoints: frozenset[str] = frozenset()

    @property
    def was_registered(self) -> bool:
        """Return whether a broker of this key was seen registered."""
        return self.incarnation is not None or bool(self.endpoints)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMapping:
    """`hosts/<key>`: the id of a key."""

    key: str
    broker_id: int
    version: int = 0
    """Of the format."""
    node_version: int = 0
    """Of the node, for conditional writes."""
    extra: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    """Other fields of the node, kept when it is written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableMapping:
    """`hosts/<key>` of another host, which cannot be read."""

    hint: str
    """What to do about it."""
    owned: frozenset[int] = frozenset()
    """The ids whose owner has this key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that `decide` may know. None = not read yet, where a field says so."""

    mode: Mode
    key: str
    nonce: str
    session: int
    endpoints: frozenset[str] = frozenset()
    cluster_id: str | None = None
    configured: int | None = None
    """broker.id or node.id; None or -1 = not set."""
    log_dirs: tuple[LocalLogDir, ...] = ()
    migrating: bool = False
    is_controller: bool = False
    mapping: KeyMapping | None = None
    mapping_problem: str | None = None
    """Why the own mapping cannot be read."""
    mapping_hint: str | None = None
    """What to do about it; None = the hint of MAPPING_CORRUPT."""
    registered: Mapping[int, Registration]
    """By id."""
    claims: Mapping[int, Claim]
    """By id."""
    owners: Mapping[int, Owner]
    """By id."""
    retired: frozenset[int] = frozenset()
    reserved: Mapping[int, tuple[KeyMapping, ...]]
    """Id -> mappings of other keys."""
    unreadable: Mapping[str, UnreadableMapping] = field(default_factory=lambda: _NONE_UNREADABLE)
    """By key of another host. Its mapping may have every used id that is not in `reserved`."""
    fence: int = 0
    """The version of the fence, read before all else."""
    used: frozenset[int] | None = None
    """Ids in replica lists; None = not read."""
    owned: frozenset[int] = frozenset()
    """Ids that have an owner: of the own ids, and of all once `used` is read."""
    missing_since_ms: Mapping[int, int] | None = None
    """Id -> since when it is missing without a break; None = not read."""
    at_risk: Mapping[int, tuple[str, ...]] | None = None
    """Id -> partitions whose only live in-sync replica it is. An absent id has none. None = not
    read."""
    generated: int | None = None
    """A generated number; None = none was generated."""
    skipped: int = 0
    """How many generated numbers were in use."""
    waited_ms: int = 0
    """How long this start has waited for a stale registration."""
    now_ms: int = 0
    watch: Watch = "scan"
    """The source of `missing_since_ms`: an own scan, or a watcher with or without a leader."""
    lost: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: _NO_NAMES)
    """Id -> partitions whose only replica it had, for a warning."""
    host: str = ""
    """The name of this host, for people who read the claim."""
    pid: int = 0
    """The process of this start, for people who read the claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator permits."""

    spare: Spare = "never"
    """Which spare ids may be taken (the KIP's optional step b)."""
    on_blocked: OnBlocked = "grace"
    """What to do if no spare may be taken yet. `grace`: wait if the grace of one ends, else
    reject; `error`: reject; `wait`: wait until a spare returns, too; `generate`: a new id."""
    grace_ms: int = 300_000
    """How long a spare must be missing before it may be taken."""
    wait_ms: int = 27_000
    """How long to wait for a stale registration."""
    generation: bool = True
    """broker.id.generation.enable."""
    reserved_max: int | None = 1000
    """reserved.broker.max.id; None = no limit."""
    ignore_unreadable: bool = False
    adopt_data: bool = False
    accept_loss: bool = False
    literal: bool = False
    literal_step_b: bool = True

    @classmethod
    def literal_kip(cls, *, step_b: bool = True) -> Rules:
        """Return the rules of the literal KIP: no claim, fence, waiting, guard or grace."""
        return cls(
            spare="any" if step_b else "never",
            grace_ms=0,
            wait_ms=0,
            ignore_unreadable=True,
            adopt_data=True,
            accept_loss=True,
            literal=True,
            literal_step_b=step_b,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Take this id."""

    id: int
    how: How
    row: str
    """The row of the decision table, such as `D27`."""
    takes_from: tuple[KeyMapping, ...] = ()
    """The mappings that lose the id."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    """Wait until a node changes, at most until a time."""

    on: tuple[str, ...]
    """Paths of nodes."""
    until_ms: int
    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Generate a number, and decide again."""

    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMore:
    """Read what has not been read yet, and decide again."""

    at: LookAt
    row: str
    id: int | None = None
    """The id to read about, for `at_risk`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Take no id."""

    error: RackwiseError
    """A leaf of `IdentityRefused`, or another error of Rackwise."""
    row: str


Decision: TypeAlias = Take | WaitFor | Generate | ReadMore | Refuse
