"""What a start reads, and in which order: it yields requests and receives answers.

The reads are not one atomic snapshot, so their order matters:

```
1  fence, own mapping, cluster   a decision that depends on other nodes commits at this fence
2  claims                        a claim that has ended since ended in a registration,
3  registrations                 which is seen here: no id looks free in between
4  retired ids, owners
5  only on demand: mappings of others, ids in use, times missing, partitions at risk, a number
```

A watcher also knows ids without replicas, so a start that uses its markers reads no topic. Only a
generated number is compared with the topics, too. A watcher may not have noticed yet that an id
returned. A start of that id through Rackwise wrote its mapping and its owner, so the id is not
missing longer than since then. A scan sets a watch on each id before it checks whether the id is
missing, so it notices every return.

What this does not do: read. The driver of a start answers from a real store, a test from its own.

Source: KIP-426.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.identity.model import (
    Claim,
    KeyMapping,
    LocalLogDir,
    Mode,
    Observation,
    ReadMore,
    UnreadableMapping,
    Watch,
)
from rackwise.core.identity.nodes import guard
from rackwise.core.identity.nodes.nodes import (
    ids_in_names,
    parse_claim,
    parse_cluster_id,
    parse_mapping,
    parse_missing,
    parse_owner,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    CLUSTER_ID,
    FENCE,
    HOSTS,
    IDS,
    KNOWN,
    MISSING,
    MISSING_LEADER,
    OWNERS,
    RETIRED,
)
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt, StoreNotReady
from rackwise.core.identity.start.missing import forget_changed, missing_since, since_markers

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from rackwise.core.identity.nodes.guard import PartitionReplicas
    from rackwise.core.identity.nodes.store import StoredNode
    from rackwise.core.identity.start.actions import Gather, Sightings


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a start knows about its own host."""

    mode: Mode
    key: str
    nonce: str
    endpoints: frozenset[str] = frozenset()
    """`host:port` that its broker will advertise."""
    configured: int | None = None
    log_dirs: tuple[LocalLogDir, ...] = ()
    migrating: bool = False
    is_controller: bool = False
    cluster_id: str | None = None
    """In KRaft mode; in ZooKeeper mode the store has it."""
    above: int = 1000
    """Generated ids are this plus a number."""
    is_watched: bool = False
    """Whether times missing are those of the watcher."""
    name: str = ""
    """The name of the host, for people."""
    pid: int = 0
    """The process of the start, for people."""


@dataclass(frozen=True, slots=True)
class ReadNodes:
    """Path -> node, None = no such node; in this order."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListChildren:
    """The names below a node."""

    path: str


@dataclass(frozen=True, slots=True)
class ReadRegistered:
    """Id -> registration."""


@dataclass(frozen=True, slots=True)
class ReadUsed:
    """The ids in replica lists."""


@dataclass(frozen=True, slots=True)
class ReadPartitions:
    """Each partition with a replica of this id."""

    id: int


@dataclass(frozen=True, slots=True)
class SetWatches:
    """Set a watch on each path; the answer is the paths whose watch has fired."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadClock:
    """The time of the store, in milliseconds."""


@dataclass(frozen=True, slots=True)
class DrawNumber:
    """1, 2, 3, ...; never one twice."""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """The session of our ephemeral nodes."""


Ask: TypeAlias = (
    ReadNodes
    | ListChildren
    | ReadRegistered
    | ReadUsed
    | ReadPartitions
    | SetWatches
    | ReadClock
    | DrawNumber
    | ReadSession
)
Gathering: TypeAlias = "Generator[Ask, Any, Observation]"


def gather(host: Host, action: Gather) -> Gathering:
    """Read the observation: all of it, or `action.base` with what `action.more` asks for.

    Raises `StoreNotReady` without a fence; `StoreCorrupt` if the result would depend on a node that
    cannot be read. A mapping that cannot be read concerns its key, and the ids that it may have.
    """
    if action.base is None:
        return (yield from _gather_all(host))
    if not isinstance(action.more, ReadMore):
        return (yield from _draw_number(host, action.base))
    if action.more.at == "at_risk" and action.more.id is not None:
        return (yield from _read_at_risk(action.base, action.more.id))
    if action.more.at == "missing" and host.is_watched:
        return (yield from _read_markers((yield from _read_known(action.base))))
    used = yield from _read_used(action.base)
    if action.more.at == "used":
        return used
    return (yield from _scan_missing(used, action.seen))


def _gather_all(host: Host) -> Gathering:
    own = f"{HOSTS}/{host.key}"
    first: dict[str, StoredNode | None] = yield ReadNodes((FENCE, own, CLUSTER_ID))
    fence = first[FENCE]
    if fence is None:
        raise StoreNotReady(
            f"the store is not initialized: {FENCE} does not exist",
            wanted=FENCE,
            had="none",
            where=FENCE,
        )
    mapping, error = _parse_own_mapping(first[own], host.key)
    claims = yield from _read_claims()
    registered = yield ReadRegistered()
    retired = ids_in_names((yield ListChildren(RETIRED)))
    ids = {host.configured, *(each.meta.broker_id for each in host.log_dirs if each.meta)}
    own_ids = {each for each in ids if each is not None and each >= 0}
    asked = own_ids | ({mapping.broker_id} if mapping else set())
    owners = yield from _read_nodes(OWNERS, map(str, sorted(asked)))
    observation = Observation(
        mode=host.mode,
        key=host.key,
        nonce=host.nonce,
        session=(yield ReadSession()),
        endpoints=host.endpoints,
        cluster_id=_cluster_id(host, first[CLUSTER_ID]),
        configured=host.configured,
        log_dirs=host.log_dirs,
        migrating=host.migrating,
        is_controller=host.is_controller,
        mapping=mapping,
        mapping_problem=None if error is None else str(error),
        mapping_hint=None if error is None else error.hint,
        registered=registered,
        claims=claims,
        owners={
            int(name): parse_owner(node, id=int(name))
            for name, node in owners.items()
            if int(name) in registered
        },
        owned=ids_in_names(owners),
        retired=retired,
        reserved={},
        fence=fence.version,
        watch=(yield from _read_watch_state()) if host.is_watched else "scan",
        host=host.name,
        pid=host.pid,
    )
    return (yield from _read_reserved(observation)) if own_ids else observation


def _read_watch_state() -> Generator[Ask, Any, Watch]:
    leader = (yield ReadNodes((MISSING_LEADER,)))[MISSING_LEADER]
    return "leaderless" if leader is None else "led"


def _parse_own_mapping(
    node: StoredNode | None, key: str
) -> tuple[KeyMapping | None, MappingCorrupt | None]:
    if node is None:
        return None, None
    try:
        return parse_mapping(node, key=key), None
    except MappingCorrupt as error:
        return None, error


def _cluster_id(host: Host, node: StoredNode | None) -> str | None:
    if host.mode is Mode.KRAFT or node is None:
        return host.cluster_id
    return parse_cluster_id(node)


def _read_nodes(parent: str, names: Iterable[str]) -> Generator[Ask, Any, dict[str, StoredNode]]:
    """Name -> node. Nodes that were deleted meanwhile are omitted."""
    paths = {f"{parent}/{name}": name for name in names}
    found: dict[str, StoredNode | None] = (yield ReadNodes(tuple(paths))) if paths else {}
    return {paths[path]: node for path, node in found.items() if node is not None}


def _read_claims() -> Generator[Ask, Any, Mapping[int, Claim]]:
    ids = ids_in_names((yield ListChildren(CLAIMS)))
    nodes = yield from _read_nodes(CLAIMS, map(str, sorted(ids)))
    return {int(name): parse_claim(node, id=int(name)) for name, node in nodes.items()}


def _read_reserved(observation: Observation) -> Gathering:
    """Read the mappings of other keys, and which of them cannot be read."""
    names = yield ListChildren(HOSTS)
    nodes = yield from _read_nodes(HOSTS, (name for name in names if name != observation.key))
    reserved: dict[int, tuple[KeyMapping, ...]] = {}
    unreadable: dict[str, UnreadableMapping] = {}
    for key, node in sorted(nodes.items()):
        try:
            mapping = parse_mapping(node, key=key)
        except MappingCorrupt as error:
            unreadable[key] = UnreadableMapping(hint=error.hint or "")
            continue
        reserved[mapping.broker_id] = (*reserved.get(mapping.broker_id, ()), mapping)
    return replace(observation, reserved=reserved, unreadable=unreadable)


def _read_owned(observation: Observation) -> Gathering:
    """Read which ids have an owner, and which of them each key had whose mapping is unreadable."""
    names = yield ListChildren(OWNERS)
    observation = replace(observation, owned=ids_in_names(names))
    if not observation.unreadable:
        return observation
    owned: dict[str, set[int]] = {}
    nodes = yield from _read_nodes(OWNERS, map(str, sorted(observation.owned)))
    for id_, node in nodes.items():
        with suppress(StoreCorrupt):
            owned.setdefault(parse_owner(node, id=int(id_)).key, set()).add(int(id_))
    unreadable = {
        key: replace(each, owned=frozenset(owned.get(key, ())))
        for key, each in observation.unreadable.items()
    }
    return replace(observation, unreadable=unreadable)


def _read_used(observation: Observation) -> Gathering:
    if observation.used is not None:
        return observation
    reserved = yield from _read_reserved(observation)
    return (yield from _read_owned(replace(reserved, used=(yield ReadUsed()))))


def _read_known(observation: Observation) -> Gathering:
    """Use the ids of the watcher as used ids. They include ids without replicas."""
    reserved = yield from _read_reserved(observation)
    known = replace(reserved, used=ids_in_names((yield ListChildren(KNOWN))))
    return (yield from _read_owned(known))


def _draw_number(host: Host, observation: Observation) -> Gathering:
    """Generate a number. If a watcher reported the used ids, read the topics first."""
    is_from_watcher = host.is_watched and observation.missing_since_ms is not None
    if is_from_watcher and observation.generated is None:
        used = yield ReadUsed()
        observation = replace(observation, used=used | (observation.used or frozenset()))
    number = yield DrawNumber()
    return replace(observation, generated=host.above + number)


def _read_at_risk(observation: Observation, id: int) -> Gathering:  # noqa: A002, the word
    """Find the partitions at risk. An unreadable dir counts as having every partition."""
    at_risk: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    if all(each.problem is None for each in observation.log_dirs):
        present = frozenset(name for each in observation.log_dirs for name in each.partitions)
        partitions: Sequence[PartitionReplicas] = yield ReadPartitions(id)
        live = frozenset((yield ReadRegistered()))
        at_risk = guard.at_risk(partitions, id, registered=live, present=present)
        lost = guard.lost(partitions, id, present=present)
    return replace(
        observation,
        at_risk={**(observation.at_risk or {}), id: at_risk},
        lost={**observation.lost, id: lost},
    )


def _scan_missing(observation: Observation, seen: Sightings) -> Gathering:
    held = {*observation.registered, *observation.claims, *observation.retired}
    spares = sorted((observation.used or frozenset()) - held)
    changed = yield SetWatches(tuple(f"{IDS}/{spare}" for spare in spares))
    now_ms = yield ReadClock()
    registered = yield ReadRegistered()
    session = yield ReadSession()
    missing = [spare for spare in spares if spare not in registered]
    since = missing_since(forget_changed(seen, changed), missing, session=session, now_ms=now_ms)
    return replace(
        observation, missing_since_ms=since, now_ms=now_ms, session=session, watch="scan"
    )


def _read_markers(observation: Observation) -> Gathering:
    ids = ids_in_names((yield ListChildren(MISSING)))
    nodes = yield from _read_nodes(MISSING, map(str, sorted(ids)))
    markers = [parse_missing(node, id=int(name)) for name, node in nodes.items()]
    leader: StoredNode | None = (yield ReadNodes((MISSING_LEADER,)))[MISSING_LEADER]
    since = dict(since_markers(markers, leader=None if leader is None else leader.czxid))
    for each, ms in since.items():
        since[each] = max(ms, (yield from _last_start_ms(observation, each)))
    return replace(
        observation,
        missing_since_ms=since,
        now_ms=(yield ReadClock()),
        watch="leaderless" if leader is None else "led",
    )


def _last_start_ms(observation: Observation, id: int) -> Generator[Ask, Any, int]:  # noqa: A002, the word
    """Return when a start of this id last wrote a node."""
    mappings = observation.reserved.get(id, ())
    found = yield ReadNodes((f"{OWNERS}/{id}", *(f"{HOSTS}/{each.key}" for each in mappings)))
    return max((node.modified_ms for node in found.values() if node is not None), default=0)
