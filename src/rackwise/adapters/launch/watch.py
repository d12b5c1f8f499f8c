"""Runs a watcher: reads what it asks for, commits what it decides, sleeps until something changes.

The decisions are those of `core.identity.watch`. This module performs them with a store, a cluster
and a clock.

A watcher survives an unreachable store: it retries, and starts again when the store answers. An
unreadable topic hides the ids that only topics name; an unreadable registration makes the whole
survey fail. Both end once the node is repaired.
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
"""A sleep is cut into slices of this length, so that `check_stop` is called in time."""
TRANSIENT = (OutcomeUnknown, StoreCorrupt, Unreachable)
"""Errors after which a watcher continues."""


def run_watcher(
    store: IdentityStore,
    view: ClusterView,
    *,
    name: str,
    rescan_ms: int,
    on_rest: Callable[[Watching], None],
    check_stop: Callable[[], None],
    on_error: Callable[[RackwiseError], None],
    clock: Callable[[], int] = monotonic_ms,
) -> NoReturn:
    """Run until `check_stop` or the store raises an exception.

    `name` identifies this watcher for people. `on_rest` receives each state in which the watcher
    sleeps. `check_stop` is called about once a second. `on_error` receives each error that the
    watcher survives. Raises `StoreNotReady`, `MissingPermission`.
    """
    require_fence(store)
    state, action = watch_step(
        Watching(name=name.encode(), rescan_ms=rescan_ms), Started(at_ms=clock())
    )
    while True:
        try:
            check_stop()
            if isinstance(action, Survey):
                event: WatchEvent | None = _survey(
                    store, view, topics=action.topics, on_error=on_error, clock=clock
                )
            else:
                event = _perform(store, action, state, on_rest, check_stop, clock)
        except TRANSIENT as error:
            on_error(error)
            time.sleep(SLICE_MS / 1000)
            event = _event_after_error(action, clock())
        if event is not None:
            state, action = watch_step(state, event)


def _event_after_error(action: WatchAction, at_ms: int) -> WatchEvent | None:
    """Return the event after a failed action: anything may have changed. None = try again."""
    if isinstance(action, Commit):
        return CommitEnded(at_ms=at_ms, outcome="unknown")
    return None if isinstance(action, Survey) else Slept(at_ms=at_ms, changed=frozenset(action.on))


def _perform(
    store: IdentityStore,
    action: Commit | Sleep,
    state: Watching,
    on_rest: Callable[[Watching], None],
    check_stop: Callable[[], None],
    clock: Callable[[], int],
) -> WatchEvent:
    """Commit or sleep; return what happened."""
    if isinstance(action, Commit):
        try:
            store.commit(action.ops)
        except Conflict:
            return CommitEnded(at_ms=clock(), outcome="conflict")
        except OutcomeUnknown:
            return CommitEnded(at_ms=clock(), outcome="unknown")
        return CommitEnded(at_ms=clock(), outcome="done")
    on_rest(state)
    until_ms = clock() + action.most_ms
    changed: frozenset[str] = frozenset()
    while not changed and (left_ms := until_ms - clock()) > 0:
        check_stop()
        changed = store.wait(action.on, min(SLICE_MS, left_ms))
    return Slept(at_ms=clock(), changed=changed)


def _survey(
    store: IdentityStore,
    view: ClusterView,
    *,
    topics: bool,
    on_error: Callable[[RackwiseError], None],
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
        used=_read_used(view, on_error) if topics else None,
    )


def _read_used(view: ClusterView, on_error: Callable[[RackwiseError], None]) -> frozenset[int]:
    """Read the ids in replica lists; none if a topic cannot be read."""
    try:
        return view.used()
    except StoreCorrupt as error:
        on_error(error)
        return frozenset()
