"""The interface of a store of identities: nodes in, operations out.

```
path                        kind         content
/brokers/hosts/<key>        persistent   {"version":0,"broker.id":10}       the KIP's node
/brokers/claims/<N>         ephemeral    {"key","host","pid","nonce","since_ms"}
/brokers/id_owners/<N>      persistent   {"version":0,"key","incarnation","endpoints"}: the last
                                         start seen registered; until then, the key that reserved N
/brokers/missing_ids/<N>    persistent   {"version":0,"leader":czxid,"last_key","last_endpoints"}
/brokers/missing_ids_leader ephemeral    the watcher that writes the markers above
/brokers/known_ids/<N>      persistent   empty: ids that were ever seen
/brokers/retired_ids/<N>    persistent   empty: retired ids
/brokers/id_alloc           persistent   empty: the fence is its data version
/brokers/id_clock           persistent   empty: writing it reads the clock of the store
```

A commit is all or nothing: `Check`, `Absent`, `Create`, `Put` and `Delete` in one step. A lost
answer leaves the outcome unknown; the caller reads again to see it.

Source: KIP-426. The nodes beside `hosts` are Rackwise's own.
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
"""Nodes that `broker-id init` creates, beside `FENCE` and `CLOCK`."""
ROOT = "/brokers"
KAFKAS = (ROOT, IDS, TOPICS, SEQUENCE)
"""Nodes of Kafka. `broker-id init` creates them if Kafka has not yet."""
OURS = (*PARENTS, FENCE, CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNode:
    """A node as it was read."""

    data: bytes
    version: int
    created_ms: int
    modified_ms: int
    czxid: int
    session: int | None = None
    """The session of an ephemeral node; None = persistent."""
    is_denied: bool = False
    """Whether the store denies its content. Only mappings are read so: one that is denied is as
    unreadable as a corrupt one. Another node that is denied is an error of the read."""


@dataclass(frozen=True, slots=True)
class Check:
    """Require that the node has this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Require that the node does not exist."""

    path: str


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node that does not exist."""

    path: str
    data: bytes
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """Write an existing node at this version; None = at any version."""

    path: str
    data: bytes
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a node at this version; None = at any version."""

    path: str
    version: int | None = None


Op: TypeAlias = Check | Absent | Create | Put | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """A node that must exist."""

    path: str
    state: Literal["present", "missing", "differs", "made"]
    """`made`: created just now. `differs`: it exists with another ACL than ours would be."""
    wanted: str = ""
    """The ACL that we would set, as text; empty = not compared."""
    had: str = ""
    """The ACL of the node, as text; empty = not compared."""
    is_open: bool = False
    """Whether any client that reaches the store may change it."""


def parent_of(path: str) -> str:
    """Return the path of the parent node.

    >>> parent_of("/brokers/ids/7"), parent_of("/brokers")
    ('/brokers/ids', '/')
    """
    return path.rpartition("/")[0] or "/"


def conflict(op: Op) -> Conflict:
    """Build the error for an operation that failed; its `had` is that operation.

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
    return Conflict(
        message,
        wanted=type(op).__name__,
        had=op,
        where=op.path,
        hint="read the store and decide again",
    )


def not_ready(path: str) -> StoreNotReady:
    """Build the error for a store that was not initialized."""
    return StoreNotReady(
        f"the store is not initialized: {escaped(path)} does not exist",
        wanted=path,
        had="absent",
        where=path,
    )


class IdentityStore(Protocol):
    """The store of mappings and claims: ZooKeeper, or a directory.

    It raises no exception of a client library. It raises `Unreachable`, `MissingPermission`,
    `StoreNotReady`, `StoreCorrupt`, and from `commit` only `Conflict` and `OutcomeUnknown`.
    """

    @property
    def session(self) -> int:
        """The session of our ephemeral nodes. It changes after a session is lost."""

    def read(self, paths: Sequence[str]) -> dict[str, StoredNode | None]:
        """Read each node, None = no such node; up to 500 reads run at once."""

    def children(self, path: str) -> list[str]:
        """List the names below a node, sorted; empty if the node does not exist."""

    def commit(self, ops: Sequence[Op]) -> None:
        """Commit all or nothing.

        Raises `Conflict` if an operation fails and nothing was done; `OutcomeUnknown` if the answer
        is lost: read again to see the outcome.
        """

    def next_number(self) -> int:
        """Return 1, 2, 3, ...; never one twice."""

    def now_ms(self) -> int:
        """Return the time of the store."""

    def wait(self, paths: Sequence[str], timeout_ms: int) -> frozenset[str]:
        """Return the paths that may have changed: read them again. Empty after the timeout."""

    def close(self) -> None:
        """End the session: its ephemeral nodes vanish."""


class ClusterView(Protocol):
    """What the cluster itself reports: nodes of ZooKeeper, or an admin client in KRaft mode."""

    def registered(self) -> Mapping[int, Registration]:
        """Return the registered brokers, by id."""

    def used(self) -> frozenset[int]:
        """Return the ids in replica lists, with those of running reassignments."""

    def at_risk(self, id: int, present: frozenset[str]) -> tuple[str, ...]:  # noqa: A002, the word
        """Return the partitions, such as `orders-4`, whose only live in-sync replica has this id.

        `present`: partition directories that its disks still hold.
        """

    def partitions_of(self, id: int) -> Sequence[PartitionReplicas]:  # noqa: A002, the word
        """Return each partition with a replica of this id."""
