"""Reads every node about ids from a store and a cluster. Unreadable nodes are reported, not raised.

The reads are not one atomic snapshot. Only a commit that checks versions can rely on them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rackwise.core.errors import Conflict
from rackwise.core.identity.nodes.nodes import (
    ids_in_names,
    parse_claim,
    parse_mapping,
    parse_missing,
    parse_owner,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    KNOWN,
    MISSING,
    MISSING_LEADER,
    OWNERS,
    RETIRED,
    not_ready,
)
from rackwise.core.identity.operator.assign_retire import Ledger
from rackwise.core.identity.operator.roster import Census, UnreadableNode
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt
from rackwise.core.identity.start.missing import since_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from rackwise.core.identity.model import Claim, KeyMapping, Owner
    from rackwise.core.identity.nodes.nodes import MissingMarker
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore, StoredNode

    T = TypeVar("T")


def read_census(
    store: IdentityStore, view: ClusterView, *, topics: bool = True, sees_cluster: bool = True
) -> Census:
    """Read everything about every id. `topics`: whether to read replica lists, the slowest part.

    `sees_cluster`: whether the view can say which ids are registered and used. `problems` of the
    result lists the unreadable nodes. Raises `StoreNotReady`, and `StoreCorrupt` for an unreadable
    registration.
    """
    require_fence(store)
    problems: dict[str, UnreadableNode] = {}
    mappings = read_mappings(store, problems)
    claims = read_claims(store, problems)
    registered = view.registered()
    owners = read_owners(store, problems)
    markers = read_markers(store, problems)
    leader = store.read((MISSING_LEADER,))[MISSING_LEADER]
    return Census(
        mappings=mappings,
        registered=registered,
        claims=claims,
        owners=owners,
        retired=ids_in_names(store.children(RETIRED)),
        known=ids_in_names(store.children(KNOWN)),
        sees_cluster=sees_cluster,
        used=_read_used(view, problems) if topics and sees_cluster else None,
        missing_since_ms=since_markers(
            markers.values(), leader=None if leader is None else leader.czxid
        ),
        problems=problems,
        now_ms=store.now_ms(),
    )


def read_ledger(
    store: IdentityStore,
    view: ClusterView,
    broker_id: int,
    *,
    has_registrations: bool,
    replicas: int = 0,
) -> Ledger:
    """Read what a command about one id depends on; the fence is read first.

    `has_registrations`: the store holds `/brokers/ids`. `replicas`: how many the id has. `now_ms`
    is the clock of this machine, since reading the clock of the store would write to it. Raises
    `StoreNotReady`, `StoreCorrupt`.
    """
    version = require_fence(store).version
    mappings = read_mappings(store, {})
    problems: dict[str, UnreadableNode] = {}
    claims = read_claims(store, problems)
    if f"{CLAIMS}/{broker_id}" in problems:
        raise Conflict(
            f"the claim on id {broker_id} cannot be read",
            wanted="a claim",
            had=problems[f"{CLAIMS}/{broker_id}"].problem,
            hint="wait until the session that wrote it ends",
            where=f"{CLAIMS}/{broker_id}",
        )
    marker, owner = f"{MISSING}/{broker_id}", f"{OWNERS}/{broker_id}"
    nodes = store.read((marker, owner))
    node = nodes[marker]
    return Ledger(
        broker_id=broker_id,
        fence=version,
        now_ms=time.time_ns() // 1_000_000,
        registration=view.registered().get(broker_id),
        claim=claims.get(broker_id),
        owners=read_owners(store, {}),
        has_owner=nodes[owner] is not None,
        mappings=tuple(each for each in mappings if each.broker_id == broker_id),
        is_retired=broker_id in ids_in_names(store.children(RETIRED)),
        replicas=replicas,
        marker_version=None if node is None else node.version,
        has_registrations=has_registrations,
    )


def require_fence(store: IdentityStore) -> StoredNode:
    """Read the fence, the node that orders decisions. Raises `StoreNotReady`."""
    node = store.read((FENCE,))[FENCE]
    if node is None:
        raise not_ready(FENCE)
    return node


def read_mappings(
    store: IdentityStore, problems: dict[str, UnreadableNode]
) -> tuple[KeyMapping, ...]:
    """Read all mappings, by key."""
    names = store.children(HOSTS)
    found = _parse_all(
        store, HOSTS, names, lambda node, key: parse_mapping(node, key=key), problems
    )
    return tuple(found.values())


def read_claims(store: IdentityStore, problems: dict[str, UnreadableNode]) -> Mapping[int, Claim]:
    """Read all claims, by id."""
    return _read_by_id(store, CLAIMS, lambda node, name: parse_claim(node, id=int(name)), problems)


def read_owners(store: IdentityStore, problems: dict[str, UnreadableNode]) -> Mapping[int, Owner]:
    """Read all owners, by id."""
    return _read_by_id(store, OWNERS, lambda node, name: parse_owner(node, id=int(name)), problems)


def read_markers(
    store: IdentityStore, problems: dict[str, UnreadableNode]
) -> Mapping[int, MissingMarker]:
    """Read all markers of missing ids, by id."""
    return _read_by_id(
        store, MISSING, lambda node, name: parse_missing(node, id=int(name)), problems
    )


def _read_by_id(
    store: IdentityStore,
    parent: str,
    parse: Callable[[StoredNode, str], T],
    problems: dict[str, UnreadableNode],
) -> dict[int, T]:
    names = [str(each) for each in sorted(ids_in_names(store.children(parent)))]
    found = _parse_all(store, parent, names, parse, problems)
    return {int(name): value for name, value in found.items()}


def _parse_all(
    store: IdentityStore,
    parent: str,
    names: list[str],
    parse: Callable[[StoredNode, str], T],
    problems: dict[str, UnreadableNode],
) -> dict[str, T]:
    """Parse name -> value. Nodes that were deleted meanwhile are omitted."""
    nodes = store.read([f"{parent}/{name}" for name in names])
    found = {}
    for name in names:
        node = nodes[f"{parent}/{name}"]
        if node is None:
            continue
        try:
            found[name] = parse(node, name)
        except (MappingCorrupt, StoreCorrupt) as error:
            problems[f"{parent}/{name}"] = UnreadableNode.of(error)
    return found


def _read_used(view: ClusterView, problems: dict[str, UnreadableNode]) -> frozenset[int] | None:
    try:
        return view.used()
    except StoreCorrupt as error:
        problems[error.where or "topics"] = UnreadableNode.of(error)
        return None
