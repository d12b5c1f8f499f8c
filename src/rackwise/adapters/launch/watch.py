"""Drive a watcher: read what it asks for, commit what it decides, sleep until something changes.

The decisions are `core.identity.watching`'s; here they meet a store, a cluster and a clock.

A watcher outlives the store: while that answers nobody it asks again, and begins anew when it does.
A topic that cannot be read costs the ids that only topics name, a registration the whole look, both
until they are mended.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NoReturn

from rackwise.adapters.clock import monotonic_ms
from rackwise.adapters.launch.views.census import read_markers, read_owners, require_fence
from rackwise.core.errors import Conflict, OutcomeUnknown, Unreachable
from rackwise.core.identity.nodes.nodes import ids_in_names
from rackwise.core.identity.nodes.store import KNOWN, MISSING_LEADER, RETIRED
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.identity.start.actions import Commit, CommitEnded, Sleep, Slept, Started
from rackwise.core.identity.watch import Survey, Surveyed, Watching, watch_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.errors import RackwiseError
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore
    from rackwise.core.identity.watch import WatchAction, WatchEvent

SLICE_MS = 1_000
"""A sleep is cut into these, so that a round is never late."""
PASSING = (OutcomeUnknown, StoreCorrupt, Unreachable)
"""What a watcher outlives."""


def watch(
    store: IdentityStore,
    view: ClusterView,
    *,
    name: str,
    rescan_ms: int,
    tell: Callable[[Watching], None],
    each_round: Callable[[], None],
    trouble: Callable[[RackwiseError], None],
    clock: Callable[[], int] = monotonic_ms,
) -> NoReturn:
    """Watch until something is raised: what `each_round` ends it with, a refusal of the store.

    `name`: of this watcher, for people. `tell` hears each state in which it rests; `each_round` is
    called about once a second; `trouble` hears what is outlived, each time it is met. Raises
    `StoreNotReady`, `MissingPermission`.
    """
    require_fence(store)
    state, action = watch_step(
        Watching(name=name.encode(), rescan_ms=rescan_ms), Started(at_ms=clock())
    )
    while True:
        try:
            each_round()
            if isinstance(action, Survey):
                event: WatchEvent | None = _survey(
                    store, view, topics=action.topics, trouble=trouble, clock=clock
                )
            else:
                event = _perform(store, action, state, tell, each_round, clock)
        except PASSING as error:
            trouble(error)
            time.sleep(SLICE_MS / 1000)
            event = _event_after_error(action, clock())
        if event is not None:
            state, action = watch_step(state, event)


def _event_after_error(action: WatchAction, at_ms: int) -> WatchEvent | None:
    """What is said of an action that failed: anything may have changed; None = do it again."""
    if isinstance(action, Commit):
        return CommitEnded(at_ms=at_ms, outcome="unknown")
    return None if isinstance(action, Survey) else Slept(at_ms=at_ms, changed=frozenset(action.on))


def _perform(
    store: IdentityStore,
    action: Commit | Sleep,
    state: Watching,
    tell: Callable[[Watching], None],
    each_round: Callable[[], None],
    clock: Callable[[], int],
) -> WatchEvent:
    """Commit or rest; what came of it."""
    if isinstance(action, Commit):
        try:
            store.commit(action.ops)
        except Conflict:
            return CommitEnded(at_ms=clock(), outcome="conflict")
        except OutcomeUnknown:
            return CommitEnded(at_ms=clock(), outcome="unknown")
        return CommitEnded(at_ms=clock(), outcome="done")
    tell(state)
    until_ms = clock() + action.most_ms
    changed: frozenset[str] = frozenset()
    while not changed and (left_ms := until_ms - clock()) > 0:
        each_round()
        changed = store.wait(action.on, min(SLICE_MS, left_ms))
    return Slept(at_ms=clock(), changed=changed)


def _survey(
    store: IdentityStore,
    view: ClusterView,
    *,
    topics: bool,
    trouble: Callable[[RackwiseError], None],
    clock: Callable[[], int],
) -> Surveyed:
    node = store.read((MISSING_LEADER,))[MISSING_LEADER]
    markers, owners = read_markers(store, {}), read_owners(store, {})
    known = ids_in_names(store.children(KNOWN))
    retired = ids_in_names(store.children(RETIRED))
    registered = frozenset(view.registered())
    return Surveyed(
        at_ms=clock(),
        session=store.session,
        leader=None if node is None or node.session is None else (node.session, node.czxid),
        known=known,
        registered=registered,
        retired=retired,
        markers=markers,
        owners=owners,
        used=_read_used(view, trouble) if topics else None,
    )


def _read_used(view: ClusterView, trouble: Callable[[RackwiseError], None]) -> frozenset[int]:
    """Ids in replica lists; none where a topic cannot be read."""
    try:
        return view.used()
    except StoreCorrupt as error:
        trouble(error)
        return frozenset()
