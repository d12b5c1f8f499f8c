"""What is known before a broker starts, and what can follow from it.

```
Observation   all that a decision may know   log dirs, own mapping, who is registered, who claims
Rules         what the operator wants        spares, waiting, limits
Decision      Take | Wait | Generate | Look | Refuse
```

A *key* names a host. A *claim* is key -> id, asserted now: it goes with its session. A *mapping* is
key -> id, remembered. The *fence* is a node whose version orders decisions. A *spare* is an id that
replicas use and that is neither registered nor claimed nor retired. An *incarnation* is one
registration: the czxid of `/brokers/ids/N`, Kafka's broker epoch. Ids are 0..2**31-1; times are
milliseconds of the store's clock.

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
"""Where an id comes from: the configuration, the disk, an earlier commit of this very start, the
own mapping (the KIP's a), a spare (b.1), a new number."""
Spare: TypeAlias = Literal["never", "unmapped", "any"]
OnBlocked: TypeAlias = Literal["error", "wait", "generate"]
Watch: TypeAlias = Literal["scan", "led", "leaderless"]
LookAt: TypeAlias = Literal["used", "missing", "at_risk"]

_NOTHING: Mapping[str, object] = MappingProxyType({})
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})
_NO_NAMES: Mapping[int, tuple[str, ...]] = MappingProxyType({})


class Mode(StrEnum):
    """Who keeps a cluster's metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """One `meta.properties`; None = the file does not say. `extra`: keys that are not Kafka's."""

    version: int
    broker_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None
    extra: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLogDir:
    """One of `log.dirs`. `meta`: None = no file. `problem`: why its file cannot be read.

    `partitions`: names of partition directories, as `orders-4`.
    """

    path: str
    meta: MetaProperties | None = None
    problem: str | None = None
    partitions: frozenset[str] = frozenset()

    def lacks_id(self, mode: Mode) -> bool:
        """Whether the id has still to be written here: there is no file.

        Nor does a file of version 0 without an id carry one in ZooKeeper mode: Kafka completes it
        with whatever id it starts under, a new one if need be.
        """
        if self.meta is None:
            return self.problem is None
        is_old = mode is Mode.ZOOKEEPER and self.meta.version == 0
        return is_old and self.meta.broker_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker that is registered now.

    `endpoints`: `host:port`; `session`, `incarnation`: None where the cluster has no ZooKeeper.
    """

    broker_id: int
    endpoints: frozenset[str] = frozenset()
    session: int | None = None
    incarnation: int | None = None
    registered_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An id asserted now, by a start that still lives."""

    broker_id: int
    key: str
    nonce: str
    session: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The last start of this id that Rackwise has seen registered."""

    broker_id: int
    key: str
    incarnation: int | None = None
    endpoints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMapping:
    """`hosts/<key>`: which id a key has. `node_version`: of the node, for conditional writes.

    `version`: of its format; `extra`: what else stands in it, kept when it is written again.
    """

    key: str
    broker_id: int
    version: int = 0
    node_version: int = 0
    extra: Mapping[str, object] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that `decide` may know. None = not read yet, where a field says so.

    `configured`: broker.id or node.id, None or -1 = not set. `registered`, `claims`, `owners`: by
    id. `reserved`: id -> mappings of other keys. `fence`: its version, read before all else.
    `used`: ids in replica lists, None = not read. `missing_since_ms`: id -> since when it is seen
    missing without a break, None = not read. `at_risk`: id -> partitions whose only live in-sync
    replica it is; an id that is not in it has none, None = not read. `generated`: a number
    drawn, None = none was. `skipped`: numbers drawn in vain. `waited_ms`: so far, in this start.
    `lost`: id -> partitions whose one replica was its, for a warning. `host`, `pid`: of this start,
    for people who read its claim.
    """

    mode: Mode
    key: str
    nonce: str
    session: int
    endpoints: frozenset[str] = frozenset()
    cluster_id: str | None = None
    configured: int | None = None
    log_dirs: tuple[LocalLogDir, ...] = ()
    migrating: bool = False
    is_controller: bool = False
    mapping: KeyMapping | None = None
    mapping_problem: str | None = None
    registered: Mapping[int, Registration]
    claims: Mapping[int, Claim]
    owners: Mapping[int, Owner]
    retired: frozenset[int] = frozenset()
    reserved: Mapping[int, tuple[KeyMapping, ...]]
    fence: int = 0
    used: frozenset[int] | None = None
    missing_since_ms: Mapping[int, int] | None = None
    at_risk: Mapping[int, tuple[str, ...]] | None = None
    generated: int | None = None
    skipped: int = 0
    waited_ms: int = 0
    now_ms: int = 0
    watch: Watch = "scan"
    lost: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: _NO_NAMES)
    host: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator wants.

    `spare`: which spare ids may be taken (the KIP's optional step b). `on_blocked`: what to do
    where every spare is reserved. `grace_ms`: how long a spare was seen missing before it may be
    taken. `wait_ms`: how long a stale registration is waited for. `generation`:
    broker.id.generation.enable. `reserved_max`: reserved.broker.max.id, None = no limit.
    """

    spare: Spare = "never"
    on_blocked: OnBlocked = "error"
    grace_ms: int = 300_000
    wait_ms: int = 27_000
    generation: bool = True
    reserved_max: int | None = 1000
    ignore_unreadable: bool = False
    adopt_data: bool = False
    accept_loss: bool = False
    literal: bool = False
    literal_step_b: bool = True

    @classmethod
    def literal_kip(cls, *, step_b: bool = True) -> Rules:
        """The KIP's text to the letter: no claim, no fence, no waiting, no guard, no grace."""
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
    """Take this id. `row`: of the decision table, as `D27`. `takes_from`: mappings that lose it."""

    id: int
    how: How
    row: str
    takes_from: tuple[KeyMapping, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    """Wait until a node changes, at most until a time. `on`: paths of nodes."""

    on: tuple[str, ...]
    until_ms: int
    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate:
    """Draw a number, and decide again."""

    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMore:
    """Read what has not been read, and decide again. `id`: of whom, for `at_risk`."""

    at: LookAt
    row: str
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """No id. `error`: a leaf of `IdentityRefused`, or the house's own refusal."""

    error: RackwiseError
    row: str


Decision: TypeAlias = Take | WaitFor | Generate | ReadMore | Refuse
