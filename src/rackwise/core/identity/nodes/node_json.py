"""The JSON of the nodes of a store: their declarations, and one error that names the node.

Each class declares the members of one kind of node; the codec reads and writes it. A member that is
absent is read as null, and members that are not declared are ignored, because later versions may
add some. The error repeats the first bytes of the node, escaped: people repair corrupt nodes, and
must see them.

What this does not do: convert to the values of the model (see `nodes`, `topics`); read the nodes of
Kafka's brokers and topics (see `core.wire`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import InputError
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt, mapping_hint
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import REST, Between, Key, Matching, Says
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.strict import Json

T = TypeVar("T")

SHOWN = 200
"""Bytes of a corrupt node that an error repeats."""

NO_LEADER = -1

_GREATEST = 2**63 - 1
_NOT_EMPTY = re.compile(r"[\s\S]+")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_Version: TypeAlias = Annotated[int, Between(0, GREATEST_ID, f"version from 0 to {GREATEST_ID}")]
_Key: TypeAlias = Annotated[str, Matching(_NOT_EMPTY, "key as text")]
_Endpoints: TypeAlias = Annotated[str, Says("endpoints as a list of texts")]
_IsrId: TypeAlias = Annotated[int, Between(0, GREATEST_ID, "isr as a list of broker ids")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingNode:
    """`hosts/<key>`: the id of a key, KIP-426."""

    version: _Version = 0
    """Version of the format."""
    broker_id: Annotated[
        int, Between(0, GREATEST_ID, f"broker.id from 0 to {GREATEST_ID}"), Key("broker.id")
    ]
    """The broker id."""
    extra: Annotated[Mapping[str, object], REST] = field(default_factory=dict)
    """Members of later versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimNode:
    """`claims/<id>`: a start that claims the id now."""

    key: _Key
    """Key of the host."""
    host: object
    """Name of the host, for people."""
    pid: object
    """Process of the start, for people."""
    nonce: Annotated[str, Matching(_NOT_EMPTY, "nonce as text")]
    """Random text that distinguishes two starts of one key."""
    since_ms: object
    """Time of the claim, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNode:
    """`id_owners/<id>`: the last start of the id that was seen registered.

    Until a start is seen registered: the key that reserved the id, without incarnation and
    endpoints.
    """

    version: _Version = 0
    """Version of the format."""
    key: _Key
    """Key of the host."""
    incarnation: Annotated[int | None, Between(0, _GREATEST, f"incarnation from 0 to {_GREATEST}")]
    """The czxid of its registration; null if it is not known."""
    endpoints: Annotated[tuple[_Endpoints, ...], Says("endpoints as a list of texts")]
    """`host:port` of its listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingNode:
    """`missing_ids/<id>`: a watcher sees that the id is missing."""

    version: _Version = 0
    """Version of the format."""
    leader: Annotated[int, Between(0, _GREATEST, f"leader from 0 to {_GREATEST}")]
    """The czxid of the node of the watcher that leads."""
    last_key: Annotated[str | None, Matching(_NOT_EMPTY, "last_key as text")]
    """Key of the last host that had the id; null if it is not known."""
    last_endpoints: Annotated[
        tuple[Annotated[str, Says("last_endpoints as a list of texts")], ...],
        Says("last_endpoints as a list of texts"),
    ]
    """`host:port` of the last listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdNode:
    """`/cluster/id`, as Kafka writes it."""

    version: object = "1"
    """Version of the format, as text."""
    id: Annotated[str, Matching(_NOT_EMPTY, "id as text")]
    """Id of the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """`/brokers/topics/T/partitions/P/state`, as Kafka writes it: the members used here."""

    leader: Annotated[
        int, Between(NO_LEADER, GREATEST_ID, f"leader from {NO_LEADER} to {GREATEST_ID}")
    ]
    """The broker that leads; -1: none does."""
    isr: Annotated[tuple[_IsrId, ...], Says("isr as a list of broker ids")]
    """The in-sync replicas."""


OURS = (MappingNode, ClaimNode, OwnerNode, MissingNode)
"""The nodes of Rackwise. Kafka has the others."""

_RULES = ObjectRules(reads_absent_as_null=True, is_open=True)
CODEC = Codec(rules=dict.fromkeys((*OURS, ClusterIdNode, PartitionState), _RULES))


def read_node(
    kind: type[T],
    data: bytes,
    *,
    path: str,
    most: int,
    error: type[StoreCorrupt | MappingCorrupt] = StoreCorrupt,
) -> T:
    """Read the content of a node of at most `most` bytes. Raises `error`."""
    members = read_members(data, path=path, most=most, error=error)
    faults = Faults(path, InputError)
    value: T = CODEC.object(kind).read(JsonNode(members, faults))
    if faults.first is not None:
        raise corrupt(path, data, str(faults.first.wanted), error)
    return value


def read_members(
    data: bytes,
    *,
    path: str,
    most: int,
    error: type[StoreCorrupt | MappingCorrupt] = StoreCorrupt,
) -> dict[str, Json]:
    """Read the object of a node without checks of its members. Raises `error`."""
    try:
        return read_object(data, most=most)
    except NotStrict as odd:
        raise corrupt(path, data, odd.wanted, error) from None


def write_node(node: object) -> bytes:
    """Write a declared node as compact JSON, members in the order of the declaration.

    >>> write_node(ClusterIdNode(id="c"))
    b'{"version":"1","id":"c"}'
    """
    return _ENCODER.encode(CODEC.object(type(node)).write(node)).encode()


def corrupt(
    path: str, data: bytes, wanted: str, error: type[StoreCorrupt | MappingCorrupt]
) -> StoreCorrupt | MappingCorrupt:
    """Build the error for a node: its path, what is expected, and its first bytes escaped."""
    had = escaped(data[:SHOWN].decode("utf-8", "backslashreplace")) or "nothing"
    if len(data) > SHOWN:
        had += f"... ({len(data)} bytes)"
    place = escaped(path)
    return error(
        f"invalid {place}: expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
        hint=mapping_hint(path.rpartition("/")[2]) if error is MappingCorrupt else None,
        where=place,
    )
