"""What the loss of a rack does: all its brokers die at once.

Goals, in order: say for every rack, at every level, which partitions go offline and which stop
taking writes with acks=all; where the load lands; what must be copied to be whole again. A million
partitions cost a few array passes per level.

Rules. A partition that has a leader now is

- offline, if no live replica in sync is left outside the rack;
- under min ISR, if some are left, but fewer than min.insync.replicas (also where that is so
  already).

The next leader is the first live replica in sync, in list order, outside the rack: the preferred
one where it survives. Lost are all replicas on brokers of the rack, those on dead brokers too.

```
min.insync.replicas 2             lose /e (1 2 3)         lose /e/b (3)
orders-0  [1 3 4], ISR all        1 left: under           2 left, led by 1
orders-2  [1 3 5], ISR 1 3        offline                 1 left: under, led by 1
```

What this does not do: assume unclean election or eligible leader replicas (KIP-966), lose more than
one rack, or know what traffic the survivors can take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from rackwise.core.override import override
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.view import View, blocks, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, PartitionTable


class PartitionRows(Sequence[tuple[str, int]]):
    """Partitions as (topic, partition), made when asked for; `rows`: of the table, rising."""

    def __init__(self, table: PartitionTable, rows: NDArray[np.int64]) -> None:
        self._table = table
        self.rows = rows

    @override
    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...
    @overload
    def __getitem__(self, index: slice) -> PartitionRows: ...
    @override
    def __getitem__(self, index: int | slice) -> tuple[str, int] | PartitionRows:
        if isinstance(index, slice):
            return PartitionRows(self._table, self.rows[index])
        row = self.rows[index]
        return self._table.topics[self._table.topic[row]], int(self._table.partition[row])

    @override
    def __iter__(self) -> Iterator[tuple[str, int]]:
        names = self._table.topics
        topics, partitions = self._table.topic[self.rows], self._table.partition[self.rows]
        for topic, partition in zip(topics.tolist(), partitions.tolist(), strict=True):
            yield names[topic], partition

    @override
    def __repr__(self) -> str:
        return f"PartitionRows({len(self)})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RackLoss:
    """What happens when all brokers of one rack die.

    `level`: from 1, the coarsest; `brokers`: ids below the rack, dead ones too, rising;
    `leaders_lost`: partitions led from inside; `top_survivor`: the surviving broker that then
    leads most, and how many, the lowest id of equals, None where nobody leads; `replicas_lost`:
    placed inside; `bytes_to_restore`: of those whose size is known; `unknown_sizes`: replicas of
    which it is not.
    """

    rack: str
    level: int
    level_name: str
    brokers: tuple[int, ...]
    offline: PartitionRows
    under_min_isr: PartitionRows
    leaders_lost: int
    top_survivor: tuple[int, int] | None
    replicas_lost: int
    bytes_to_restore: int
    unknown_sizes: int


def blast_radius(cluster: Cluster, policy: Policy = DEFAULT_POLICY) -> tuple[RackLoss, ...]:
    """What the loss of each rack that has a broker would do, every level, ordered by path.

    Of the policy only `racks` counts. Raises `InvalidRack` for a malformed `broker.rack`.
    """
    view = View(cluster, policy)
    held, led = _held(view), tuple(_led(view))
    found: list[tuple[tuple[int, ...], RackLoss]] = []
    for level, names in enumerate(view.tree.names):
        paths = np.stack([view.tree.ancestors(level, above) for above in range(level + 1)], axis=1)
        after = _after(view, level, led)
        for node in range(len(names)):
            loss = _loss(view, level, node, held, after)
            found.append((tuple(paths[node].tolist()), loss))
    return tuple(loss for _, loss in sorted(found, key=lambda pair: pair[0]))


class _Held(NamedTuple):
    """By place: placed replicas, their bytes where known, and how many sizes are not.

    Bytes are summed in halves, as a million sizes of 63 bits leave 64.
    """

    replicas: NDArray[np.int64]
    bytes: tuple[int, ...]
    unknown: NDArray[np.int64]


def _held(view: View) -> _Held:
    places, count = view.placed_places, len(view.live)
    sizes = np.repeat(view.table.bytes, view.placed.lengths)
    is_known = sizes >= 0
    halves = np.zeros((2, count), dtype=np.int64)
    np.add.at(halves[0], places[is_known], sizes[is_known] >> 32)
    np.add.at(halves[1], places[is_known], sizes[is_known] & 0xFFFFFFFF)
    return _Held(
        np.bincount(places, minlength=count),
        tuple((high << 32) + low for high, low in halves.T.tolist()),
        np.bincount(places[~is_known], minlength=count),
    )


class _Led(NamedTuple):
    """Rows with a leader, equal in the lengths of their lists; places of brokers throughout.

    `leader` [rows]; `in_sync` [rows, members], the last place for members that are not live;
    `replicas` [rows, replicas] in list order; `can_lead`: whether that replica is live and in sync.
    """

    rows: NDArray[np.int64]
    leader: NDArray[np.int64]
    in_sync: NDArray[np.int64]
    replicas: NDArray[np.int64]
    can_lead: NDArray[np.bool_]


def _led(view: View) -> Iterator[_Led]:
    table = view.table
    replica_places = view.tree.places(table.replicas.values)
    rows_led = np.flatnonzero(table.leader >= 0)
    for rows, (isr, listed) in blocks(table.isr, table.replicas, rows=rows_led):
        members, replicas = view.isr_places[isr], replica_places[listed]
        ids, in_sync_ids = table.replicas.values[listed], table.isr.values[isr]
        is_in_sync = (ids[:, :, None] == in_sync_ids[:, None, :]).any(axis=2)
        yield _Led(
            rows,
            view.tree.places(table.leader[rows]),
            np.where(view.live[members], members, len(view.live) - 1),
            replicas,
            is_in_sync & view.live[replicas],
        )


class _After(NamedTuple):
    """What the loss of each node of one level does.

    `offline`, `under`: (node, row) pairs as two columns, sorted, perhaps more than once, of
    partitions that the loss itself touches; `always_offline`, `always_under`: rows that are so
    whatever is lost; `leads` [places]: leaders now; `gained` [nodes, places]: leaders that come
    from the node.
    """

    offline: tuple[NDArray[np.int64], NDArray[np.int64]]
    under: tuple[NDArray[np.int64], NDArray[np.int64]]
    always_offline: NDArray[np.int64]
    always_under: NDArray[np.int64]
    leads: NDArray[np.int64]
    gained: NDArray[np.int64]


def _after(view: View, level: int, led: Sequence[_Led]) -> _After:
    nodes = view.tree.nodes[level].astype(np.int64)
    places, count = len(view.live), len(view.tree.names[level])
    offline, under = [], []
    leads = np.zeros(places, dtype=np.int64)
    gained = np.zeros((count + 1, places), dtype=np.int64)
    for group in led:
        lying = nodes[group.in_sync]
        left = view.in_sync[group.rows][:, None] - matches(lying).sum(axis=2)
        offline.append(_pairs(lying, group.rows, left == 0))
        is_under = (left > 0) & (left < view.min_isr[group.rows][:, None])
        under.append(_pairs(lying, group.rows, is_under))
        leads += np.bincount(group.leader, minlength=places)
        lost = nodes[group.leader]
        heirs = group.can_lead & (nodes[group.replicas] != lost[:, None])
        moved = np.flatnonzero((lost >= 0) & heirs.any(axis=1))
        heir = group.replicas[moved, heirs[moved].argmax(axis=1)]
        np.add.at(gained, (lost[moved], heir), 1)
    total, has_leader = view.in_sync, view.table.leader >= 0
    return _After(
        _sorted(offline),
        _sorted(under),
        np.flatnonzero(has_leader & (total == 0)),
        np.flatnonzero(has_leader & (total > 0) & (total < view.min_isr)),
        leads,
        gained,
    )


def _pairs(
    nodes: NDArray[np.int64], rows: NDArray[np.int64], which: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(node, row) where the mask [rows, members] is true."""
    at, member = np.nonzero(which)
    return nodes[at, member], rows[at]


def _sorted(
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    nothing = np.zeros(0, dtype=np.int64)
    nodes = np.concatenate([nothing, *(part[0] for part in parts)])
    rows = np.concatenate([nothing, *(part[1] for part in parts)])
    order = np.lexsort((rows, nodes))
    return nodes[order], rows[order]


def _of(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], node: int) -> NDArray[np.int64]:
    """Rows of one node."""
    first, last = np.searchsorted(pairs[0], [node, node + 1])
    return pairs[1][first:last]


def _loss(view: View, level: int, node: int, held: _Held, after: _After) -> RackLoss:
    inside = view.inside(level, node)
    offline = _of(after.offline, node)
    under = np.union1d(_of(after.under, node), np.setdiff1d(after.always_under, offline))
    then = np.where(view.live & ~inside, after.leads + after.gained[node], 0)[:-1]
    top = int(then.argmax())
    return RackLoss(
        rack=view.tree.names[level][node],
        level=level + 1,
        level_name=view.levels[level],
        brokers=tuple(view.tree.brokers[inside[:-1]].tolist()),
        offline=PartitionRows(view.table, np.union1d(offline, after.always_offline)),
        under_min_isr=PartitionRows(view.table, under),
        leaders_lost=int(after.leads[inside].sum()),
        top_survivor=(int(view.tree.brokers[top]), int(then[top])) if then[top] else None,
        replicas_lost=int(held.replicas[inside].sum()),
        bytes_to_restore=sum(held.bytes[place] for place in np.flatnonzero(inside).tolist()),
        unknown_sizes=int(held.unknown[inside].sum()),
    )
