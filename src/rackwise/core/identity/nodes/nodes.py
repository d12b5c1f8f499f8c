"""Nodes about brokers and their ids: from the bytes of a store to values, and back.

```
/brokers/ids/7            versions 1..5 and later   ->  Registration   endpoints, session, czxid
/brokers/hosts/h7         {"version":0,"broker.id":7}  <->  KeyMapping
/brokers/claims/7         ephemeral                 <->  Claim
/brokers/id_owners/7      the last start seen       <->  Owner
                          registered; until then,
                          the key that reserved 7
/brokers/missing_ids/7    7 is missing              <->  MissingMarker
/cluster/id               {"version":"1","id":..}    ->  text
```

Goals, in order: an id is read only if the node states it without doubt; nodes of later Kafka
versions are read as far as they mean the same; one value is always written as the same bytes.

The endpoints of a registration are the `host:port` of all its listeners that have both. A mapping
of a later version keeps its other fields.

What this does not do: read a store; parse a registration (see `core.wire.registration`); decide
which commands a corrupt node blocks.

Source: KIP-426, kafka.zk.BrokerIdZNode and ClusterIdZNode, KIP-226 (the versions).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
from rackwise.core.identity.nodes import store
from rackwise.core.identity.nodes.node_json import (
    ClaimNode,
    ClusterIdNode,
    MappingNode,
    MissingNode,
    OwnerNode,
    corrupt,
    read_node,
    write_node,
)
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt
from rackwise.core.text import escaped
from rackwise.core.wire.endpoints import read_endpoint
from rackwise.core.wire.registration import NO_PORT, read_registration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.identity.nodes.store import StoredNode

MAPPING_BYTES = 4 * 2**10
NODE_BYTES = 64 * 2**10
"""The limit for claims, owners, markers and the id of the cluster."""

_PORTS = 2**16 - 1
_ID = re.compile(r"0|[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingMarker:
    """An id that a watcher sees missing."""

    broker_id: int
    leader: int
    """The czxid of the node of the watcher that leads."""
    last_key: str | None = None
    last_endpoints: frozenset[str] = frozenset()
    since_ms: int = 0
    """When this leader wrote the marker."""
    node_version: int = 0
    """For conditional writes."""


def parse_mapping(node: StoredNode, *, key: str) -> KeyMapping:
    """Parse the mapping of `hosts/<key>`. Raises `MappingCorrupt`; guesses nothing."""
    if node.is_denied:
        path = f"{store.HOSTS}/{key}"
        raise MappingCorrupt(
            f"cannot read {escaped(path)}: the store denies READ",
            wanted="READ",
            had="denied",
            hint=f"log in as the owner of {escaped(path)}, or delete that node as administrator",
            where=path,
        )
    read = read_node(
        MappingNode,
        node.data,
        path=f"{store.HOSTS}/{key}",
        most=MAPPING_BYTES,
        error=MappingCorrupt,
    )
    return KeyMapping(
        key=key,
        broker_id=read.broker_id,
        version=read.version,
        node_version=node.version,
        extra=read.extra,
    )


def format_mapping(m: KeyMapping) -> bytes:
    """Format the node of a mapping: the two keys of the KIP, then all others by name.

    Raises `MappingCorrupt` if the node is too large to be read again.

    >>> format_mapping(KeyMapping(key="h7", broker_id=10))
    b'{"version":0,"broker.id":10}'
    """
    data = write_node(MappingNode(version=m.version, broker_id=m.broker_id, extra=m.extra))
    if len(data) > MAPPING_BYTES:
        path = f"{store.HOSTS}/{m.key}"
        raise corrupt(path, data, f"at most {MAPPING_BYTES} bytes", MappingCorrupt)
    return data


def write_mapping(
    key: str,
    broker_id: int,
    before: KeyMapping | None,
    *,
    has_node: bool,
    version: int | None = None,
) -> store.Put | store.Create:
    """Build the operation that maps a key to an id.

    `before`: the mapping of the key, whose other fields are kept. Without it, `has_node`: whether
    the key has a node, which cannot be read and is replaced at `version`, None = at any.
    """
    path = f"{store.HOSTS}/{key}"
    if before is not None:
        return store.Put(
            path, format_mapping(replace(before, broker_id=broker_id)), before.node_version
        )
    data = format_mapping(KeyMapping(key=key, broker_id=broker_id))
    return store.Put(path, data, version) if has_node else store.Create(path, data)


def reserve(key: str, broker_id: int) -> store.Create:
    """Build the operation that reserves an id without an owner for a key.

    Each commit of `acquire`, `adopt` and `assign` that maps an id without an owner creates its
    owner. So of two such commits one fails, and an id that one of them mapped is never generated,
    even if its mapping cannot be read. Mappings of other tools, of `--literal` and of earlier
    versions reserve nothing.
    """
    owner = Owner(broker_id=broker_id, key=key)
    return store.Create(f"{store.OWNERS}/{broker_id}", format_owner(owner))


def delete_mappings(mappings: Iterable[KeyMapping]) -> tuple[store.Delete, ...]:
    """Build the operations that delete mappings, each at the version that was read."""
    return tuple(store.Delete(f"{store.HOSTS}/{m.key}", m.node_version) for m in mappings)


def parse_registration(node: StoredNode, *, id: int) -> Registration:  # noqa: A002, the word
    """Parse the registration of a broker, of any version from 1 on. Raises `StoreCorrupt`.

    `registered_ms` is the time of the store, not of the broker.
    """
    path = f"{store.IDS}/{id}"
    try:
        listeners = read_registration(id, node.data).endpoints
    except RemoteProtocolError as error:
        raise corrupt(path, node.data, str(error.wanted), StoreCorrupt) from None
    if not all(NO_PORT <= each.port <= _PORTS for each in listeners):
        raise corrupt(path, node.data, f"ports from {NO_PORT} to {_PORTS}", StoreCorrupt)
    endpoints = [
        (each.listener, endpoint(each.host, each.port))
        for each in listeners
        if each.host and each.port > 0
    ]
    return Registration(
        broker_id=id,
        endpoints=frozenset(each for _, each in endpoints),
        listeners=dict(endpoints),
        session=node.session,
        incarnation=node.czxid,
        registered_ms=node.created_ms,
    )


def endpoint(host: str, port: int) -> str:
    """Format `host:port`, with an IPv6 address in brackets.

    All endpoints are compared in this form.

    >>> endpoint("kafka1", 9092), endpoint("::1", 9092)
    ('kafka1:9092', '[::1]:9092')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listener_endpoint(uri: str) -> str | None:
    """Return the endpoint of a listener such as `SSL://kafka1:9093`; None = no host or no port.

    Raises `ValueError` if it is not a listener.
    """
    found = read_endpoint(uri)
    if found is None or found.port > _PORTS:
        raise ValueError(uri)
    return endpoint(found.host, found.port) if found.host and found.port > 0 else None


def parse_claim(node: StoredNode, *, id: int) -> Claim:  # noqa: A002, the word
    """Parse a claim. Raises `StoreCorrupt`, also for a node that is not ephemeral."""
    path = f"{store.CLAIMS}/{id}"
    read = read_node(ClaimNode, node.data, path=path, most=NODE_BYTES)
    if node.session is None:
        raise corrupt(path, node.data, "an ephemeral node", StoreCorrupt)
    return Claim(broker_id=id, key=read.key, nonce=read.nonce, session=node.session)


def format_claim(*, key: str, host: str, pid: int, nonce: str, since_ms: int) -> bytes:
    """Format the node of a claim. `host`, `pid` and `since_ms` are for people."""
    return write_node(ClaimNode(key=key, host=host, pid=pid, nonce=nonce, since_ms=since_ms))


def parse_owner(node: StoredNode, *, id: int) -> Owner:  # noqa: A002, the word
    """Parse the owner of this id. Raises `StoreCorrupt`."""
    read = read_node(OwnerNode, node.data, path=f"{store.OWNERS}/{id}", most=NODE_BYTES)
    return Owner(
        broker_id=id,
        key=read.key,
        incarnation=read.incarnation,
        endpoints=frozenset(read.endpoints),
    )


def format_owner(owner: Owner) -> bytes:
    """Format the node of an owner."""
    return write_node(
        OwnerNode(
            key=owner.key,
            incarnation=owner.incarnation,
            endpoints=tuple(sorted(owner.endpoints)),
        )
    )


def parse_missing(node: StoredNode, *, id: int) -> MissingMarker:  # noqa: A002, the word
    """Parse the marker of a watcher. Raises `StoreCorrupt`."""
    read = read_node(MissingNode, node.data, path=f"{store.MISSING}/{id}", most=NODE_BYTES)
    return MissingMarker(
        broker_id=id,
        leader=read.leader,
        last_key=read.last_key,
        last_endpoints=frozenset(read.last_endpoints),
        since_ms=node.modified_ms,
        node_version=node.version,
    )


def format_missing(marker: MissingMarker) -> bytes:
    """Format the node of a marker. Its times are those of the store."""
    return write_node(
        MissingNode(
            leader=marker.leader,
            last_key=marker.last_key,
            last_endpoints=tuple(sorted(marker.last_endpoints)),
        )
    )


def parse_cluster_id(node: StoredNode) -> str:
    """Parse the id of the cluster. Raises `StoreCorrupt`."""
    return read_node(ClusterIdNode, node.data, path=store.CLUSTER_ID, most=NODE_BYTES).id


def ids_in_names(names: Iterable[str]) -> frozenset[int]:
    """Return the broker ids among the names of child nodes; other names are ignored.

    >>> sorted(ids_in_names(["7", "10", "07", "x"]))
    [7, 10]
    """
    ids = (int(name) for name in names if _ID.fullmatch(name))
    return frozenset(id_ for id_ in ids if id_ <= GREATEST_ID)
