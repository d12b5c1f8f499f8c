"""The watcher: it records which ids are missing, so that starts need not scan topics.

Goals, in order: a marker is never older than the absence of its id; it appears soon; the work grows
with the ids, not with the topics.

Algorithm. Several watchers may run. The one that created the ephemeral leader node leads; the
others wait until it vanishes.

```
 new -> looking -> leading (create the node) -> looking
           |  ^
           |  |  nothing to write: sleep until something may have changed, 60 s at most
           v  |
        writing (known ids, markers)
```

1. Events are hints. After each one, in each new session and every 60 s all is computed again:
   missing = known - registered - retired.
2. Known ids are stored. Registered ones are always added; those in replica lists at the start and
   at each rescan.
3. A marker carries the czxid of its leader's node. A new leader writes all markers again, so their
   time begins again: an id may have returned while no watcher looked.
4. After writing markers the watcher looks again, so that an id that returned between look and write
   loses its marker.
5. If the watch of an id fired and the id is missing again or still, its marker is written again.

Example, ids 1 and 7 known:

```
registered  markers (leader)   then
1           -                  Create(missing_ids/7)
1           7 (40)             sleep on /brokers/ids, ids/7
1 7         7 (40)             Delete(missing_ids/7)
1           7 (40), we are 55  Put(missing_ids/7), leader 55
```

What this does not do: input and output, clocks; deleting garbage.

Source: KIP-426 ("a process that watches for missing brokers").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rackwise.core.errors import LocalProtocolError
from rackwise.core.identity.nodes.nodes import MissingMarker, format_missing
from rackwise.core.identity.nodes.store import (
    IDS,
    KNOWN,
    MISSING,
    MISSING_LEADER,
    RETIRED,
    Check,
    Create,
    Delete,
    Op,
    Put,
)
from rackwise.core.identity.start.actions import Commit, CommitEnded, Sleep, Slept, Started
from rackwise.core.identity.start.missing import id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rackwise.core.identity.model import Owner

LOOK_AGAIN_MS = 60_000
OPS_AT_ONCE = 100
"""Operations in one commit: a conflict repeats only these, and a request stays far below the 1 MB
limit of ZooKeeper."""

WatchPhase: TypeAlias = Literal["new", "looking", "leading", "writing", "sleeping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Read all that a watcher needs; ids in replica lists only if `topics`."""

    topics: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """The result of a survey."""

    at_ms: int
    session: int
    leader: tuple[int, int] | None
    """Session and czxid of the leader's node; None = no watcher leads."""
    known: frozenset[int]
    registered: frozenset[int]
    retired: frozenset[int]
    markers: Mapping[int, MissingMarker]
    owners: Mapping[int, Owner]
    used: frozenset[int] | None = None
    """Ids in replica lists; None = not read."""


WatchAction: TypeAlias = Survey | Commit | Sleep
WatchEvent: TypeAlias = Started | Surveyed | CommitEnded | Slept


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """The state of one watcher."""

    name: bytes
    rescan_ms: int = 3_600_000
    phase: WatchPhase = "new"
    led: int | None = None
    """The czxid of our leader node; None = we do not lead."""
    scanned_ms: int | None = None
    """When topics were read last."""
    fired: frozenset[int] = frozenset()
    """Ids whose watch fired and whose marker was not written since."""
    missing: frozenset[int] = frozenset()


WatchStep: TypeAlias = tuple[Watching, WatchAction]


def watch_step(state: Watching, event: WatchEvent) -> WatchStep:
    """Return what to do next. It never ends by itself.

    Raises `LocalProtocolError` for an event that does not answer the last action.

    Source: KIP-426.
    """
    row = _ROWS.get((state.phase, type(event)))
    if row is None:
        raise LocalProtocolError(
            f"unexpected event while {state.phase}: got {type(event).__name__}",
            had=type(event).__name__,
        )
    return row(state, event)


def _survey(state: Watching, event: WatchEvent) -> WatchStep:
    is_due = state.led is not None and (
        state.scanned_ms is None or event.at_ms - state.scanned_ms >= state.rescan_ms
    )
    return replace(state, phase="looking"), Survey(topics=is_due)


def _on_surveyed(state: Watching, event: Surveyed) -> WatchStep:
    if event.leader is None:
        ops = (Create(MISSING_LEADER, state.name, ephemeral=True),)
        return replace(state, phase="leading", led=None), Commit(ops=ops)
    session, czxid = event.leader
    if session != event.session:
        follower = replace(state, phase="sleeping", led=None, scanned_ms=None)
        return follower, Sleep(on=(MISSING_LEADER,), most_ms=LOOK_AGAIN_MS)
    if czxid != state.led:
        state = replace(state, led=czxid, scanned_ms=None, fired=frozenset())
    if event.used is not None:
        state = replace(state, scanned_ms=event.at_ms)
    elif state.scanned_ms is None:
        return _survey(state, event)
    return _lead(state, event, czxid)


def _lead(state: Watching, event: Surveyed, czxid: int) -> WatchStep:
    known = event.known | event.registered | (event.used or frozenset())
    missing = known - event.registered - event.retired
    ops: list[Op] = [Create(f"{KNOWN}/{each}", b"") for each in sorted(known - event.known)]
    ops += _delete_returned(event, missing)
    ops += _write_missing(event, missing, czxid, state.fired)
    state = replace(state, missing=missing)
    if ops:
        now = ops[:OPS_AT_ONCE]
        paths = {op.path for op in now}
        written = {each for each in missing if f"{MISSING}/{each}" in paths}
        state = replace(state, phase="writing", fired=state.fired - written)
        return state, Commit(ops=(Check(MISSING_LEADER, 0), *now))
    on = (MISSING_LEADER, IDS, RETIRED, *(f"{IDS}/{each}" for each in sorted(missing)))
    return replace(state, phase="sleeping", fired=frozenset()), Sleep(on=on, most_ms=LOOK_AGAIN_MS)


def _delete_returned(event: Surveyed, missing: Collection[int]) -> list[Op]:
    return [
        Delete(f"{MISSING}/{each}", marker.node_version)
        for each, marker in sorted(event.markers.items())
        if each not in missing
    ]


def _write_missing(
    event: Surveyed, missing: Collection[int], czxid: int, fired: Collection[int]
) -> list[Op]:
    ops: list[Op] = []
    for each in sorted(missing):
        marker, owner = event.markers.get(each), event.owners.get(each)
        last = owner if owner is not None and owner.was_registered else None
        if marker is not None and marker.leader == czxid and each not in fired:
            continue
        data = format_missing(
            MissingMarker(
                broker_id=each,
                leader=czxid,
                last_key=None if last is None else last.key,
                last_endpoints=frozenset() if last is None else last.endpoints,
            )
        )
        path = f"{MISSING}/{each}"
        if marker is None:
            ops.append(Create(path, data))
        else:
            ops.append(Put(path, data, marker.node_version))
    return ops


def _on_slept(state: Watching, event: Slept) -> WatchStep:
    fired = {id_of(path) for path in event.changed}
    return _survey(replace(state, fired=state.fired | (state.missing & fired)), event)


def _on_written(state: Watching, event: CommitEnded) -> WatchStep:
    """Look again. The next commit repeats what a failed one was to write."""
    if event.outcome != "done":
        state = replace(state, fired=state.fired | state.missing)
    return _survey(state, event)


_ROWS: Mapping[tuple[WatchPhase, type[object]], Callable[[Watching, Any], WatchStep]] = {
    ("new", Started): _survey,
    ("looking", Surveyed): _on_surveyed,
    ("leading", CommitEnded): _survey,
    ("writing", CommitEnded): _on_written,
    ("sleeping", Slept): _on_slept,
}
