"""Answers what a start asks for, from a store and a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.errors import Unreachable
from rackwise.core.identity.start.gather import (
    Ask,
    DrawNumber,
    Host,
    ListChildren,
    ReadClock,
    ReadNodes,
    ReadPartitions,
    ReadRegistered,
    ReadUsed,
    SetWatches,
    gather,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.model import Observation, Registration
    from rackwise.core.identity.nodes.guard import PartitionReplicas
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore, StoredNode
    from rackwise.core.identity.start.actions import Gather

ROUNDS = 10

Answer: TypeAlias = (
    "Mapping[str, StoredNode | None] | Mapping[int, Registration] | list[str] | frozenset[int]"
    " | frozenset[str] | Sequence[PartitionReplicas] | int | None"
)


def observe(
    store: IdentityStore,
    view: ClusterView,
    host: Host,
    action: Gather,
    *,
    is_alone: bool = False,
) -> Observation:
    """Read the observation that an action asks for.

    `is_alone`: if no broker answers, treat the cluster as empty: no broker is registered and no id
    is used. This is true of a new cluster, and of one that starts as a whole. Raises what the store
    and the view raise.
    """
    reading = gather(host, action)
    answer: Answer = None
    while True:
        try:
            ask = reading.send(answer)
        except StopIteration as end:
            observation: Observation = end.value
            return observation
        answer = _answer(store, view, ask, is_alone=is_alone)


def _answer(store: IdentityStore, view: ClusterView, ask: Ask, *, is_alone: bool) -> Answer:
    match ask:
        case ReadNodes(paths):
            return store.read(paths)
        case ListChildren(path):
            return store.children(path)
        case SetWatches(paths):
            return _set_watches(store, paths)
        case ReadClock():
            return store.now_ms()
        case DrawNumber():
            return store.next_number()
        case ReadRegistered() | ReadUsed() | ReadPartitions():
            return _ask_cluster(view, ask, is_alone=is_alone)
        case _:
            return store.session


def _ask_cluster(view: ClusterView, ask: Ask, *, is_alone: bool) -> Answer:
    try:
        match ask:
            case ReadRegistered():
                return view.registered()
            case ReadPartitions(id=broker_id):
                return view.partitions_of(broker_id)
            case _:
                return view.used()
    except Unreachable:
        if not is_alone:
            raise
        nobody: dict[int, Registration] = {}
        return (
            ()
            if isinstance(ask, ReadPartitions)
            else nobody
            if isinstance(ask, ReadRegistered)
            else frozenset()
        )


def _set_watches(store: IdentityStore, paths: tuple[str, ...]) -> frozenset[str]:
    """Set the watches, and repeat until a round in which none has fired."""
    if not paths:
        return frozenset()
    changed: frozenset[str] = frozenset()
    for _ in range(ROUNDS):
        store.read(paths)
        heard = store.wait(paths, 0)
        changed |= heard
        if not heard:
            return changed
    return frozenset(paths)
