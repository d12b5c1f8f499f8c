"""Executes the commands of an operator: assign, adopt, retire, delete garbage.

Each is one commit. Up to 50 brokers are adopted in one commit; with `--force` each broker has its
own.

After a conflict the command reads and decides again, a few times. Then it raises the `Conflict`. A
lost answer raises `OutcomeUnknown`. An adoption that fails after its first commit raises
`PartialFailure` instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rackwise.adapters.launch.views.census import (
    read_census,
    read_claims,
    read_ledger,
    read_mappings,
    read_owners,
    require_fence,
)
from rackwise.core.errors import Conflict, PartialFailure, RackwiseError
from rackwise.core.identity.nodes.node_json import read_members
from rackwise.core.identity.nodes.nodes import NODE_BYTES, parse_mapping
from rackwise.core.identity.nodes.store import CLAIMS, FENCE, HOSTS, IDS, OWNERS, Delete, Put
from rackwise.core.identity.operator import assign_retire
from rackwise.core.identity.operator.adopt import Adoption, adoptions
from rackwise.core.identity.operator.garbage import (
    delete_operations,
    garbage_with_winners,
    literal_garbage,
)
from rackwise.core.identity.operator.roster import UnreadableNode
from rackwise.core.identity.refusals import MappingCorrupt
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from rackwise.core.identity.model import KeyMapping
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore, Op
    from rackwise.core.identity.operator.key_template import KeyTemplate
    from rackwise.core.identity.operator.roster import Census

    T = TypeVar("T")

TRIES = 5
ADOPTED_AT_ONCE = 50
"""Brokers in one commit, which has up to six operations for each: far below ZooKeeper's 1 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """The result of `assign`."""

    key: str
    id: int
    before: int | None
    """The id that the key had before; None = none."""
    taken_from: tuple[str, ...]
    """The keys that had the new id before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """The result of `retire` and `undo`."""

    id: int
    keys: tuple[str, ...]
    """The keys whose mapping was removed."""
    is_changed: bool
    """False = the id was in this state already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """One mapping that nobody needs."""

    mapping: KeyMapping
    winner: str | None
    """The key whose broker has the id; None in literal mode."""
    is_deleted: bool
    """False also if the mapping was claimed meanwhile."""


def assign(
    store: IdentityStore,
    view: ClusterView,
    key: str,
    broker_id: int,
    *,
    force: bool,
    has_registrations: bool,
) -> Assigned:
    """Map a key to an id. Raises `NotFree`, `MappingCorrupt`, `StoreNotReady`, `Conflict`."""

    def once() -> tuple[Assigned, Sequence[Op]]:
        ledger = read_ledger(store, view, broker_id, has_registrations=has_registrations)
        before, problem, version = _read_own_mapping(store, key)
        ops = assign_retire.assign(
            key, ledger, before=before, problem=problem, problem_version=version, force=force
        )
        taken = tuple(each.key for each in ledger.mappings if each.key != key)
        had = None if before is None else before.broker_id
        return Assigned(key=key, id=broker_id, before=had, taken_from=taken), ops

    return _commit_with_retries(store, once)


def adopt(
    store: IdentityStore,
    view: ClusterView,
    template: KeyTemplate,
    *,
    ids: Sequence[int] | None,
    force: bool,
    apply: bool,
    has_registrations: bool,
    problems: dict[str, UnreadableNode],
) -> tuple[Adoption, ...]:
    """Write the mappings of running brokers: of `ids`, or of all. Without `apply`, write nothing.

    `problems` receives path -> each node that cannot be read. Raises `StoreNotReady`,
    `StoreCorrupt` for an unreadable registration, `Conflict`, `OutcomeUnknown`. After the first
    commit it raises `PartialFailure` instead: `done` were written, `failed` are rejected with the
    reason, `skipped` were not to be written.
    """

    def decide(ids: Sequence[int] | None) -> tuple[Adoption, ...]:
        census = read_census(store, view, topics=False)
        problems.update(census.problems)
        versions = _read_versions(store, census) if has_registrations else None
        return adoptions(census, template, ids=ids, versions=versions, force=force)

    def once(numbers: Sequence[int]) -> tuple[tuple[Adoption, ...], Sequence[Op]]:
        fence = require_fence(store).version
        found = decide(numbers)
        ops = [op for each in found for op in each.ops]
        done = tuple(replace(each, state="adopted") if each.ops else each for each in found)
        return done, (Put(FENCE, b"", fence), *ops) if ops else ()

    found = decide(ids)
    free = [each.id for each in found if each.state == "free"] if apply else []
    first = {each.id: each for each in found}
    tried: dict[int, Adoption] = {}
    at_once = 1 if force else ADOPTED_AT_ONCE  # with force a broker may take what the next one has
    for start in range(0, len(free), at_once):
        numbers = free[start : start + at_once]
        try:
            done = _commit_with_retries(store, partial(once, numbers))
        except RackwiseError as error:
            if not any(each.state == "adopted" for each in tried.values()):
                raise
            raise _stopped(first | tried, free[start:], error) from error
        tried |= {each.id: _with_losses(each, first[each.id]) for each in done}
    return tuple((first | tried).values())


def adoptions_of(error: PartialFailure) -> tuple[Adoption, ...]:
    """Return what became of each broker before `adopt` raised this, in order of ids."""
    kept = (*error.done, *error.failed, *error.skipped)
    return tuple(
        sorted((each for each in kept if isinstance(each, Adoption)), key=lambda each: each.id)
    )


def _with_losses(adoption: Adoption, first: Adoption) -> Adoption:
    """Add what an earlier commit of the same adoption has removed since the first decision."""
    if adoption.state != "adopted":
        return adoption
    before = first.before if adoption.before is None else adoption.before
    taken_from = tuple(dict.fromkeys((*first.taken_from, *adoption.taken_from)))
    return replace(adoption, before=before, taken_from=taken_from)


def _stopped(
    found: Mapping[int, Adoption], left: Sequence[int], error: RackwiseError
) -> PartialFailure:
    """Build the error of an adoption that wrote something and then met `error`."""
    reason, hint = error.message, error.hint or ""
    failed = {
        each: replace(found[each], state="rejected", reason=reason, hint=hint, ops=())
        for each in left
    }
    others = [each for number, each in found.items() if number not in failed]
    done = [each for each in others if each.state == "adopted"]
    return PartialFailure(
        f"adopted {len(done)} of {counted(len(done) + len(failed), 'broker')}: {reason}",
        done=done,
        failed=tuple(failed.values()),
        skipped=[each for each in others if each.state != "adopted"],
        hint=f"run adopt again: it continues with id {left[0]}",
    )


def retire(
    store: IdentityStore,
    view: ClusterView,
    broker_id: int,
    *,
    force: bool,
    has_registrations: bool,
) -> Retired:
    """Retire an id. Raises `StillUsed`, `StoreNotReady`, `Conflict`."""

    def once() -> tuple[Retired, Sequence[Op]]:
        replicas = 0 if force else _count_replicas(view, broker_id)
        ledger = read_ledger(
            store, view, broker_id, has_registrations=has_registrations, replicas=replicas
        )
        ops = assign_retire.retire(ledger, force=force)
        keys = tuple(each.key for each in ledger.mappings)
        return Retired(id=broker_id, keys=keys, is_changed=bool(ops)), ops

    return _commit_with_retries(store, once)


def undo(store: IdentityStore, view: ClusterView, broker_id: int) -> Retired:
    """Put a retired id into use again. Raises `StoreNotReady`, `Conflict`."""

    def once() -> tuple[Retired, Sequence[Op]]:
        ledger = read_ledger(store, view, broker_id, has_registrations=True)
        ops = assign_retire.undo(ledger)
        return Retired(id=broker_id, keys=(), is_changed=bool(ops)), ops

    return _commit_with_retries(store, once)


def garbage(
    store: IdentityStore,
    view: ClusterView,
    *,
    apply: bool,
    has_registrations: bool,
    problems: dict[str, UnreadableNode] | None = None,
) -> tuple[Garbage, ...]:
    """Find mappings that nobody needs, and delete them if `apply`. One claimed meanwhile stays.

    `problems` receives path -> each node that cannot be read. A mapping stays if the
    claim or the owner of its id is such a node.
    """
    require_fence(store)
    unreadable = {} if problems is None else problems
    mappings = read_mappings(store, unreadable)
    claims = read_claims(store, unreadable)
    owners = read_owners(store, unreadable)
    registered = view.registered()
    doubted = {
        f"{parent}/{id_}" for parent in (CLAIMS, OWNERS) for id_ in registered
    } & unreadable.keys()
    known = {
        id_: each
        for id_, each in registered.items()
        if doubted.isdisjoint((f"{CLAIMS}/{id_}", f"{OWNERS}/{id_}"))
    }
    pairs = garbage_with_winners(mappings, known, claims, owners, now_ms=store.now_ms())
    found = []
    for loser, winner in pairs:
        is_deleted = apply and _delete(store, loser, winner, has_registrations=has_registrations)
        found.append(Garbage(mapping=loser, winner=winner.key, is_deleted=is_deleted))
    return tuple(found)


def garbage_literal(store: IdentityStore, *, apply: bool) -> tuple[Garbage, ...]:
    """Apply the literal rule of KIP-426. It checks no version and may delete live mappings.

    Raises `StoreCorrupt` if a registration is not JSON.
    """
    mappings = read_mappings(store, {})
    paths = [f"{IDS}/{each}" for each in store.children(IDS)]
    hosts: dict[int, str | None] = {}
    for path, node in store.read(paths).items():
        if node is not None:
            members = read_members(node.data, path=path, most=NODE_BYTES)
            host = members.get("host")
            hosts[int(path.rpartition("/")[2])] = host if isinstance(host, str) else None
    found = []
    for each in literal_garbage(mappings, hosts):
        if apply:
            store.commit((Delete(f"{HOSTS}/{each.key}"),))
        found.append(Garbage(mapping=each, winner=None, is_deleted=apply))
    return tuple(found)


def _read_versions(store: IdentityStore, census: Census) -> dict[int, int]:
    """Return id -> version of each registration that is still the one of the census."""
    paths = {f"{IDS}/{id_}": id_ for id_ in census.registered}
    return {
        paths[path]: node.version
        for path, node in store.read(list(paths)).items()
        if node is not None and node.czxid == census.registered[paths[path]].incarnation
    }


def _count_replicas(view: ClusterView, broker_id: int) -> int:
    """Count the replicas of an id; at least 1 if a topic names it and has no leader yet."""
    return len(view.partitions_of(broker_id)) or int(broker_id in view.used())


def _delete(
    store: IdentityStore, loser: KeyMapping, winner: KeyMapping, *, has_registrations: bool
) -> bool:
    version = None
    if has_registrations:
        path = f"{IDS}/{loser.broker_id}"
        node = store.read((path,))[path]
        if node is None:
            return False
        version = node.version
    try:
        store.commit(delete_operations(loser, winner, registration_version=version))
    except Conflict:
        return False
    return True


def _read_own_mapping(
    store: IdentityStore, key: str
) -> tuple[KeyMapping | None, UnreadableNode | None, int | None]:
    """Return the mapping of the key, or why it is unreadable and the version of its node.

    A denied node has no version: the commit then replaces it at any, if it may.
    """
    path = f"{HOSTS}/{key}"
    node = store.read((path,))[path]
    if node is None:
        return None, None, None
    try:
        return parse_mapping(node, key=key), None, None
    except MappingCorrupt as error:
        return None, UnreadableNode.of(error), None if node.is_denied else node.version


def _commit_with_retries(store: IdentityStore, once: Callable[[], tuple[T, Sequence[Op]]]) -> T:
    for _ in range(TRIES - 1):
        result, ops = once()
        try:
            if ops:
                store.commit(ops)
        except Conflict:
            continue
        return result
    result, ops = once()
    if ops:
        store.commit(ops)
    return result
