"""What a store of identities is to the core: nodes in, operations out.

```
path                        kind         content
/brokers/hosts/<key>        persistent   {"version":0,"broker.id":10}       the KIP's node
/brokers/claims/<N>         ephemeral    {"key","host","pid","nonce","since_ms"}
/brokers/id_owners/<N>      persistent   {"version":0,"key","incarnation","endpoints"}
/brokers/missing_ids/<N>    persistent   {"version":0,"leader":czxid,"last_key","last_endpoints"}
/brokers/missing_ids_leader ephemeral    who writes the line above
/brokers/known_ids/<N>      persistent   empty: ids ever seen
/brokers/retired_ids/<N>    persistent   empty: ids given up
/brokers/id_alloc           persistent   empty: the fence is its data version
/brokers/id_clock           persistent   empty: writing it reads the store's clock
```

A commit is all or nothing: `Check`, `Absent`, `Create`, `Put` and `Delete` in one step. An answer
that is lost leaves its outcome unknown; who asked gathers again and sees.

Source: KIP-426; the nodes beside `hosts` are Rackwise's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from rackwise.core.errors import Conflict
from rackwise.core.identity.refusals import StoreNotReady
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.model import Registration
    from rackwise.core.identity.nodes.guard import PartitionReplicas

IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
SEQUENCE = "/brokers/seqid"
CLUSTER_ID = "/cluster/id"
HOSTS = "/brokers/hosts"
CLAIMS = "/brokers/claims"
OWNERS = "/brokers/id_owners"
MISSING = "/brokers/missing_ids"
MISSING_LEADER = "/brokers/missing_ids_leader"
KNOWN = "/brokers/known_ids"
RETIRED = "/brokers/retired_ids"
FENCE = "/brokers/id_alloc"
CLOCK = "/brokers/id_clock"
PARENTS = (HOSTS, CLAIMS, OWNERS, MISSING, KNOWN, RETIRED)
"""Nodes that `broker-id init` makes, beside `FENCE` and `CLOCK`."""
ROOT = "/brokers"
KAFKAS = (ROOT, IDS, TOPICS, SEQUENCE)
"""Nodes that are Kafka's; `broker-id init` makes them where there is no Kafka yet."""
OURS = (*PARENTS, FENCE, CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNode:
    """A node as it was read. `session`: of an ephemeral node, None = persistent."""

    data: bytes
    version: int
    created_ms: int
    modified_ms: int
    czxid: int
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The node has this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such node."""

    path: str


@dataclass(frozen=True, slots=True)
class Create:
    """Make a node that is not there."""

    path: str
    data: bytes
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """Write a node that is there, at this version; None = at any."""

    path: str
    data: bytes
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a node at this version; None = at any."""

    path: str
    version: int | None = None


Op: TypeAlias = Check | Absent | Create | Put | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """A node that must be there. `wanted`, `had`: its ACL as text, empty where it is not looked at.

    `state`: `made` just now; `differs`: there, with another ACL than ours would be.
    """

    path: str
    state: Literal["present", "missing", "differs", "made"]
    wanted: str = ""
    had: str = ""


def parent_of(path: str) -> str:
    """The node above.

    >>> parent_of("/brokers/ids/7"), parent_of("/brokers")
    ('/brokers/ids', '/')
    """
    return path.rpartition("/")[0] or "/"


def conflict(op: Op) -> Conflict:
    """The error for an operation that does not hold; its `had` is that operation.

    >>> conflict(Absent("/brokers/ids/7")).message
    'expected /brokers/ids/7 to be absent, but it exists'
    """
    path = escaped(op.path)
    match op:
        case Absent():
            message = f"expected {path} to be absent, but it exists"
        case Create():
            message = f"expected to create {path}, but it exists"
        case Put(version=None) | Delete(version=None):
            message = f"expected {path} to exist, but it does not"
        case _:
            message = f"expected {path} at version {op.version}, got no node or another version"
    return Conflict(message, wanted=type(op).__name__, had=op, where=op.path, hint="decide again")


def not_ready(path: str) -> StoreNotReady:
    """The refusal for a store that was never prepared."""
    return StoreNotReady(
        f"the store is not initialized: {escaped(path)} does not exist",
        wanted=path,
        had="absent",
        where=path,
    )


class IdentityStore(Protocol):
    """Where mappings and claims are kept: ZooKeeper, or a directory.

    No exception of a client library leaves it: `Unreachable`, `MissingPermission`,
    `StoreNotReady`, `StoreCorrupt` do, and `Conflict` and `OutcomeUnknown` of `commit` alone.
    """

    @property
    def session(self) -> int:
        """The session that ephemeral nodes of ours carry; changes where one was lost."""

    def read(self, paths: Sequence[str]) -> dict[str, StoredNode | None]:
        """Each path's node, None = there is none; up to 500 reads in flight."""

    def children(self, path: str) -> list[str]:
        """Names below a node, sorted; empty where the node is not there."""

    def commit(self, ops: Sequence[Op]) -> None:
        """All or nothing.

        Raises `Conflict` where an operation does not hold, and nothing was done; `OutcomeUnknown`
        where the answer was lost: gather again to see.
        """

    def next_number(self) -> int:
        """1, 2, 3, ...; never one twice."""

    def now_ms(self) -> int:
        """The store's clock."""

    def wait(self, paths: Sequence[str], timeout_ms: int) -> frozenset[str]:
        """Paths that may have changed; a hint: read again after it. Empty after the time."""

    def close(self) -> None:
        """End the session: its ephemeral nodes go."""


class ClusterView(Protocol):
    """What the cluster itself says: ZooKeeper's nodes, or an admin client in KRaft mode."""

    def registered(self) -> Mapping[int, Registration]:
        """Brokers that are registered now, by id."""

    def used(self) -> frozenset[int]:
        """Ids in replica lists, those of running reassignments with them."""

    def at_risk(self, id: int, present: frozenset[str]) -> tuple[str, ...]:  # noqa: A002, the word
        """Partitions, as `orders-4`, whose only live in-sync replica is this id's.

        `present`: partition directories that its disks still hold.
        """

    def partitions_of(self, id: int) -> Sequence[PartitionReplicas]:  # noqa: A002, the word
        """One for each partition with a replica of this id."""
