"""Since when an id is missing: seen so without a break, on the store's clock.

Two ways of seeing. A start that *scans* sees for itself: since its own first look, as long as its
session lasts and no watch on the id fires. A start that trusts the *watcher* reads its markers:
since the marker was written, if its leader leads still.

```
marker of N     leader node   missing since
leader 40       czxid 40      when the marker was written
leader 40       czxid 55      not known: the dead leader's; N may have been back unseen
leader 40       none          not known: WATCHER_ABSENT where it matters
```

A watch that fires proves nothing but that something happened, so it ends the sighting. Source:
KIP-426 ("if it's missing").
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
    """The id that a path of `/brokers/ids` ends with; None = it is no such path."""
    parent, _, name = path.rpartition("/")
    return int(name) if parent == IDS and name.isdecimal() and name.isascii() else None


def forget_changed(seen: Sightings, changed: Collection[str]) -> Sightings:
    """What is still seen missing after these paths may have changed."""
    gone = {id_of(path) for path in changed}
    since = {id: ms for id, ms in seen.since_ms.items() if id not in gone}  # noqa: A001, the word
    return replace(seen, since_ms=since)


def missing_since(
    seen: Sightings, missing: Collection[int], *, session: int, now_ms: int
) -> Mapping[int, int]:
    """Id -> since when it is missing. `missing`: of a look after the watches were set."""
    before = seen.since_ms if seen.session == session else {}
    return {id: min(before.get(id, now_ms), now_ms) for id in sorted(missing)}  # noqa: A001


def since_markers(markers: Iterable[MissingMarker], *, leader: int | None) -> Mapping[int, int]:
    """Id -> since when it is missing. `leader`: czxid of the leader's node, None = nobody leads."""
    return {each.broker_id: each.since_ms for each in markers if each.leader == leader}
