"""Since when an id is missing: seen so without a break, on the clock of the store.

There are two sources. A start that *scans* sees for itself: since its own first check, as long as
its session lasts and no watch on the id fires. A start that uses the *watcher* reads its markers:
since the marker was written, if its leader still leads.

```
marker of N     leader node   missing since
leader 40       czxid 40      when the marker was written
leader 40       czxid 55      not known: the old leader ended; N may have been back unseen
leader 40       none          not known: WATCHER_ABSENT where it matters
```

A fired watch says only that something happened, so it ends the sighting.

Source: KIP-426 ("if it's missing").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.identity.nodes.store import IDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.identity.nodes.nodes import MissingMarker
    from rackwise.core.identity.start.actions import Sightings


def id_of(path: str) -> int | None:
    """Return the id at the end of a path of `/brokers/ids`; None = not such a path."""
    parent, _, name = path.rpartition("/")
    return int(name) if parent == IDS and name.isdecimal() and name.isascii() else None


def forget_changed(seen: Sightings, changed: Collection[str]) -> Sightings:
    """Return the ids that are still seen missing after these paths may have changed."""
    gone = {id_of(path) for path in changed}
    since = {id: ms for id, ms in seen.since_ms.items() if id not in gone}  # noqa: A001, the word
    return replace(seen, since_ms=since)


def missing_since(
    seen: Sightings, missing: Collection[int], *, session: int, now_ms: int
) -> Mapping[int, int]:
    """Return id -> since when it is missing. `missing`: read after the watches were set."""
    before = seen.since_ms if seen.session == session else {}
    return {id: min(before.get(id, now_ms), now_ms) for id in sorted(missing)}  # noqa: A001


def since_markers(markers: Iterable[MissingMarker], *, leader: int | None) -> Mapping[int, int]:
    """Return id -> since when it is missing. `leader`: czxid of the leader; None = no leader."""
    return {each.broker_id: each.since_ms for each in markers if each.leader == leader}
