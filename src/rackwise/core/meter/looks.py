"""Pairs two snapshots of one cluster: the same partitions, and the time between them.

A partition is the same in both if its topic has the same name and the same topic id. Rows are those
of the later snapshot; `row` says where each one is in the earlier snapshot:

```
earlier   orders-0  orders-1            users-0 (topic id A)
later     orders-0  orders-1  orders-2  users-0 (topic id B)
row       0         1         -1 (new)  -1 (recreated)
```

The time of a snapshot is the mean of the times at which its brokers answered with offsets; without
them it is `taken_at`, to the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.meter.reasons import Reason
from rackwise.core.model import UNKNOWN, Offsets
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, Number, PartitionTable

FAR_MS = 7 * 86_400_000
"""Above this distance, leaders and members may have changed and changed back: an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookPair:
    """Two snapshots of one cluster, the earlier one first."""

    first: Cluster
    second: Cluster
    start_ms: int
    """Time of the first snapshot, milliseconds since 1970, UTC."""
    end_ms: int
    """Time of the second snapshot."""
    row: NDArray[np.int64]
    """Row of the second table -> row of the first table; -1 = not there."""
    missing: NDArray[np.int8]
    """Row of the second table -> why it is not in the first: a `Reason`; `EXACT` where it is."""

    def earlier(self, column: NDArray[Number]) -> NDArray[Number]:
        """A column of the first table in the rows of the second; -1 for rows without an earlier."""
        return np.append(column, column.dtype.type(UNKNOWN))[self.row]

    @property
    def is_far(self) -> bool:
        """Whether the two are too far apart for exact numbers."""
        return self.end_ms - self.start_ms > FAR_MS


def look_pair(first: Cluster, second: Cluster) -> LookPair:
    """The pair of two snapshots.

    Raises `InvalidSnapshot` if they are of different clusters, or if the second is not later.
    """
    _check_cluster(first, second)
    start_ms, end_ms = moment_ms(first), moment_ms(second)
    if end_ms <= start_ms:
        raise InvalidSnapshot(
            f"expected a second snapshot that is later than {first.taken_at}, got one of "
            f"{second.taken_at}",
            wanted=f"after {first.taken_at}",
            had=second.taken_at,
            hint="give the earlier snapshot first",
        )
    row, missing = _rows(first, second)
    return LookPair(
        first=first, second=second, start_ms=start_ms, end_ms=end_ms, row=row, missing=missing
    )


def offsets_of(table: PartitionTable) -> Offsets:
    """The offsets of a table; all -1 where none was read."""
    if table.offsets is not None:
        return table.offsets
    unknown = np.full(len(table), UNKNOWN, dtype=np.int64)
    return Offsets(start=unknown, end=unknown, leader_epoch=unknown.astype(np.int32))


def moment_ms(cluster: Cluster) -> int:
    """When the offsets of a snapshot were read, in milliseconds since 1970, UTC."""
    answered = cluster.answered.offsets.values()
    if answered:
        return sum(answered) // len(answered)
    return int(datetime.fromisoformat(cluster.taken_at).timestamp() * 1000)


def _check_cluster(first: Cluster, second: Cluster) -> None:
    ids = [first.cluster_id, second.cluster_id]
    if None not in ids and ids[0] != ids[1]:
        raise InvalidSnapshot(
            f"expected two snapshots of one cluster, got {escaped(str(ids[0]))} and "
            f"{escaped(str(ids[1]))}",
            wanted=ids[0],
            had=ids[1],
            hint="give two snapshots of the same cluster",
        )


def _rows(first: Cluster, second: Cluster) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Row of each partition in the first table, and the reason where it has none."""
    before, after = first.partitions, second.partitions
    starts = before.first_rows
    places = {name: place for place, name in enumerate(before.topics)}
    count = len(after.topics)
    # [topics of the second table]: first row and number of rows in the first table, reason if none
    base, length = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    reason = np.full(count, Reason.NEW_PARTITION, dtype=np.int8)
    for number, name in enumerate(after.topics):
        place = places.get(name)
        old, new = first.topics.get(name), second.topics.get(name)
        if place is None or old is None or new is None:
            reason[number] = Reason.ABSENT
        elif None not in (old.id, new.id) and old.id != new.id:
            reason[number] = Reason.RECREATED
        else:
            base[number] = starts[place]
            length[number] = starts[place + 1] - starts[place]
    is_there = after.partition < length[after.topic]
    row = np.where(is_there, base[after.topic] + after.partition, -1)
    return row, np.where(is_there, Reason.EXACT, reason[after.topic]).astype(np.int8)
