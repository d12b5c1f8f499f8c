"""Nodes about brokers and their ids: from the bytes of a store to values, and back.

```
/brokers/ids/7            versions 1..5 and later   ->  Registration   endpoints, session, czxid
/brokers/hosts/h7         {"version":0,"broker.id":7}  <->  KeyMapping
/brokers/claims/7         ephemeral                 <->  Claim
/brokers/id_owners/7      who last registered 7     <->  Owner
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

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
from rackwise.core.identity.nodes import store
from rackwise.core.identity.nodes.node_json import Fields, corrupt, read_fields
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt
from rackwise.core.wire.endpoints import read_endpoint
from rackwise.core.wire.registration import NO_PORT, read_registration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.identity.nodes.store import StoredNode

MAPPING_BYTES = 4 * 2**10
NODE_BYTES = 64 * 2**10
"""The limit for claims, owners, markers and the id of the cluster."""

_GREATEST = 2**63 - 1
_PORTS = 2**16 - 1
_ID = re.compile(r"0|[1-9][0-9]{0,9}")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


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
    fields = read_fields(
        node.data, path=f"{store.HOSTS}/{key}", most=MAPPING_BYTES, error=MappingCorrupt
    )
    known = ("version", "broker.id")
    return KeyMapping(
        key=key,
        broker_id=fields.number("broker.id"),
        version=fields.number("version"),
        node_version=node.version,
        extra={name: value for name, value in fields.members.items() if name not in known},
    )


def format_mapping(m: KeyMapping) -> bytes:
    """Format the node of a mapping: the two keys of the KIP, then all others by name.

    Raises `MappingCorrupt` if the node is too large to be read again.

    >>> format_mapping(KeyMapping(key="h7", broker_id=10))
    b'{"version":0,"broker.id":10}'
    """
    known: dict[str, object] = {"version": m.version, "broker.id": m.broker_id}
    data = _written(known | {name: m.extra[name] for name in sorted(m.extra)})
    if len(data) > MAPPING_BYTES:
        path = f"{store.HOSTS}/{m.key}"
        raise corrupt(path, data, f"at most {MAPPING_BYTES} bytes", MappingCorrupt)
    return data


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
        endpoint(each.host, each.port) for each in listeners if each.host and each.port > 0
    ]
    return Registration(
        broker_id=id,
        endpoints=frozenset(endpoints),
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
    fields = _ours(node, f"{store.CLAIMS}/{id}")
    if node.session is None:
        raise fields.corrupt("an ephemeral node")
    return Claim(
        broker_id=id, key=fields.text("key"), nonce=fields.text("nonce"), session=node.session
    )


def format_claim(*, key: str, host: str, pid: int, nonce: str, since_ms: int) -> bytes:
    """Format the node of a claim. `host`, `pid` and `since_ms` are for people."""
    return _written({"key": key, "host": host, "pid": pid, "nonce": nonce, "since_ms": since_ms})


def parse_owner(node: StoredNode, *, id: int) -> Owner:  # noqa: A002, the word
    """Parse the last start of this id that registered through us. Raises `StoreCorrupt`."""
    fields = _ours(node, f"{store.OWNERS}/{id}")
    fields.number("version")
    has_incarnation = fields.members.get("incarnation") is not None
    return Owner(
        broker_id=id,
        key=fields.text("key"),
        incarnation=fields.number("incarnation", most=_GREATEST) if has_incarnation else None,
        endpoints=frozenset(fields.texts("endpoints")),
    )


def format_owner(owner: Owner) -> bytes:
    """Format the node of an owner."""
    return _written(
        {
            "version": 0,
            "key": owner.key,
            "incarnation": owner.incarnation,
            "endpoints": sorted(owner.endpoints),
        }
    )


def parse_missing(node: StoredNode, *, id: int) -> MissingMarker:  # noqa: A002, the word
    """Parse the marker of a watcher. Raises `StoreCorrupt`."""
    fields = _ours(node, f"{store.MISSING}/{id}")
    fields.number("version")
    has_key = fields.members.get("last_key") is not None
    return MissingMarker(
        broker_id=id,
        leader=fields.number("leader", most=_GREATEST),
        last_key=fields.text("last_key") if has_key else None,
        last_endpoints=frozenset(fields.texts("last_endpoints")),
        since_ms=node.modified_ms,
        node_version=node.version,
    )


def format_missing(marker: MissingMarker) -> bytes:
    """Format the node of a marker. Its times are those of the store."""
    return _written(
        {
            "version": 0,
            "leader": marker.leader,
            "last_key": marker.last_key,
            "last_endpoints": sorted(marker.last_endpoints),
        }
    )


def parse_cluster_id(node: StoredNode) -> str:
    """Parse the id of the cluster. Raises `StoreCorrupt`."""
    return read_fields(node.data, path=store.CLUSTER_ID, most=NODE_BYTES).text("id")


def format_cluster_id(cluster_id: str) -> bytes:
    """Format `/cluster/id` as Kafka writes it."""
    return _written({"version": "1", "id": cluster_id})


def _ours(node: StoredNode, path: str) -> Fields:
    return read_fields(node.data, path=path, most=NODE_BYTES, error=StoreCorrupt)


def _written(members: dict[str, object]) -> bytes:
    return _ENCODER.encode(members).encode()


def ids_in_names(names: Iterable[str]) -> frozenset[int]:
    """Return the broker ids among the names of child nodes; other names are ignored.

    >>> sorted(ids_in_names(["7", "10", "07", "x"]))
    [7, 10]
    """
    ids = (int(name) for name in names if _ID.fullmatch(name))
    return frozenset(id_ for id_ in ids if id_ <= GREATEST_ID)
