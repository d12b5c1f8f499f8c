"""Computes what the loss of a rack does, that is, when all its brokers die at once.

Goals, in order: for every rack at every level, say which partitions go offline and which stop
accepting writes with acks=all; which broker gets the load; how many bytes must be copied to restore
all replicas. A million partitions cost a few array passes per level.

Rules. A partition that has a leader now is

- offline, if no live replica in sync is left outside the rack;
- under min ISR, if some are left, but fewer than min.insync.replicas (even if that is so already).

The next leader is the first live replica in sync outside the rack, in list order; that is the
preferred leader if it survives. All replicas on brokers of the rack are lost, including those on
dead brokers.

```
min.insync.replicas 2             lose /e (1 2 3)         lose /e/b (3)
orders-0  [1 3 4], ISR all        1 left: under           2 left, led by 1
orders-2  [1 3 5], ISR 1 3        offline                 1 left: under, led by 1
```

What this does not do: assume unclean election or eligible leader replicas (KIP-966), lose more than
one rack, or know how much traffic the survivors can handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from rackwise.core.model import PartitionId
from rackwise.core.override import override
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.view import View, blocks, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, PartitionTable


class TablePartitions(Sequence[PartitionId]):
    """Some partitions of a table as (topic, partition) pairs, created on demand."""

    def __init__(self, table: PartitionTable, rows: NDArray[np.int64]) -> None:
        self._table = table
        self.rows = rows
        """Rows of the table, rising."""

    @override
    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> PartitionId: ...
    @overload
    def __getitem__(self, index: slice) -> TablePartitions: ...
    @override
    def __getitem__(self, index: int | slice) -> PartitionId | TablePartitions:
        if isinstance(index, slice):
            return TablePartitions(self._table, self.rows[index])
        row = self.rows[index]
        return self._table.topics[self._table.topic[row]], int(self._table.partition[row])

    @override
    def __iter__(self) -> Iterator[PartitionId]:
        names = self._table.topics
        topics, partitions = self._table.topic[self.rows], self._table.partition[self.rows]
        for topic, partition in zip(topics.tolist(), partitions.tolist(), strict=True):
            yield names[topic], partition

    @override
    def __repr__(self) -> str:
        return f"TablePartitions({len(self)})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RackLoss:
    """What happens when all brokers of one rack die."""

    rack: str
    level: int
    """From 1, the coarsest."""
    level_name: str
    brokers: tuple[int, ...]
    """Ids below the rack, rising; dead brokers too."""
    offline: TablePartitions
    under_min_isr: TablePartitions
    leaders_lost: int
    """Partitions whose leader is in the rack."""
    top_survivor: tuple[int, int] | None
    """The surviving broker that then leads most partitions, and how many; of equals the lowest id.

    None if no broker leads any.
    """
    replicas_lost: int
    bytes_to_restore: int
    """Bytes of the lost replicas whose size is known."""
    unknown_sizes: int
    """Lost replicas whose size is not known."""


def blast_radius(cluster: Cluster, policy: Policy = DEFAULT_POLICY) -> tuple[RackLoss, ...]:
    """What the loss of each rack with a broker would do, at every level, ordered by path.

    Only the `racks` section of the policy is used.
    """
    view = View(cluster, policy)
    held, led = _held_replicas(view), tuple(_led_rows(view))
    found: list[tuple[tuple[int, ...], RackLoss]] = []
    for level, names in enumerate(view.tree.names):
        paths = np.stack([view.tree.ancestors(level, above) for above in range(level + 1)], axis=1)
        losses = _level_losses(view, level, led)
        for node in range(len(names)):
            loss = _loss_of_node(view, level, node, held, losses)
            found.append((tuple(paths[node].tolist()), loss))
    return tuple(loss for _, loss in sorted(found, key=lambda pair: pair[0]))


class _HeldReplicas(NamedTuple):
    """What the broker at each place holds."""

    replicas: NDArray[np.int64]
    """Placed replicas, [places]."""
    bytes: tuple[int, ...]
    """Bytes of the replicas whose size is known, [places]."""
    unknown: NDArray[np.int64]
    """Replicas whose size is not known, [places]."""


def _held_replicas(view: View) -> _HeldReplicas:
    places, count = view.placed_places, len(view.live)
    sizes = np.repeat(view.table.bytes, view.placed.lengths)
    is_known = sizes >= 0
    # A million sizes of 63 bits do not fit into int64: sum the upper and lower halves separately.
    halves = np.zeros((2, count), dtype=np.int64)
    np.add.at(halves[0], places[is_known], sizes[is_known] >> 32)
    np.add.at(halves[1], places[is_known], sizes[is_known] & 0xFFFFFFFF)
    return _HeldReplicas(
        np.bincount(places, minlength=count),
        tuple((high << 32) + low for high, low in halves.T.tolist()),
        np.bincount(places[~is_known], minlength=count),
    )


class _LedRows(NamedTuple):
    """Partitions with a leader and with lists of equal lengths; brokers are given by place."""

    rows: NDArray[np.int64]
    """Rows of the partition table, [rows]."""
    leader: NDArray[np.int64]
    """Current leader, [rows]."""
    in_sync: NDArray[np.int64]
    """Members of the ISR, [rows, members]; the last place for members that are not live."""
    replicas: NDArray[np.int64]
    """Replicas in list order, [rows, replicas]."""
    can_lead: NDArray[np.bool_]
    """Whether the replica is live and in sync, [rows, replicas]."""


def _led_rows(view: View) -> Iterator[_LedRows]:
    table = view.table
    replica_places = view.tree.places(table.replicas.values)
    rows_led = np.flatnonzero(table.leader >= 0)
    for rows, (isr, listed) in blocks(table.isr, table.replicas, rows=rows_led):
        members, replicas = view.isr_places[isr], replica_places[listed]
        ids, in_sync_ids = table.replicas.values[listed], table.isr.values[isr]
        is_in_sync = (ids[:, :, None] == in_sync_ids[:, None, :]).any(axis=2)
        yield _LedRows(
            rows,
            view.tree.places(table.leader[rows]),
            np.where(view.live[members], members, len(view.live) - 1),
            replicas,
            is_in_sync & view.live[replicas],
        )


class _LevelLosses(NamedTuple):
    """What the loss of each node of one level does."""

    offline: tuple[NDArray[np.int64], NDArray[np.int64]]
    """(node, row) pairs as two sorted columns: partitions that the loss takes offline.

    A pair may occur more than once.
    """
    under: tuple[NDArray[np.int64], NDArray[np.int64]]
    """As `offline`: partitions that the loss puts under min ISR."""
    always_offline: NDArray[np.int64]
    """Rows that are offline whatever is lost."""
    always_under: NDArray[np.int64]
    """Rows that are under min ISR whatever is lost."""
    leads: NDArray[np.int64]
    """Partitions that each broker leads now, [places]."""
    gained: NDArray[np.int64]
    """Partitions whose leadership moves from each node to each broker, [nodes + 1, places]."""


def _level_losses(view: View, level: int, led: Sequence[_LedRows]) -> _LevelLosses:
    nodes = view.tree.nodes[level].astype(np.int64)
    places, count = len(view.live), len(view.tree.names[level])
    offline, under = [], []
    leads = np.zeros(places, dtype=np.int64)
    gained = np.zeros((count + 1, places), dtype=np.int64)
    for group in led:
        racks = nodes[group.in_sync]
        # left: live members of the ISR outside the rack of each member, int64 [rows, members].
        left = view.in_sync[group.rows][:, None] - matches(racks).sum(axis=2)
        offline.append(_pairs(racks, group.rows, left == 0))
        is_under = (left > 0) & (left < view.min_isr[group.rows][:, None])
        under.append(_pairs(racks, group.rows, is_under))
        leads += np.bincount(group.leader, minlength=places)
        lost = nodes[group.leader]
        successors = group.can_lead & (nodes[group.replicas] != lost[:, None])
        moved = np.flatnonzero((lost >= 0) & successors.any(axis=1))
        successor = group.replicas[moved, successors[moved].argmax(axis=1)]
        np.add.at(gained, (lost[moved], successor), 1)
    total, has_leader = view.in_sync, view.table.leader >= 0
    return _LevelLosses(
        _sorted_pairs(offline),
        _sorted_pairs(under),
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


def _sorted_pairs(
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    nothing = np.zeros(0, dtype=np.int64)
    nodes = np.concatenate([nothing, *(part[0] for part in parts)])
    rows = np.concatenate([nothing, *(part[1] for part in parts)])
    order = np.lexsort((rows, nodes))
    return nodes[order], rows[order]


def _rows_of(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], node: int) -> NDArray[np.int64]:
    """Rows of one node."""
    first, last = np.searchsorted(pairs[0], [node, node + 1])
    return pairs[1][first:last]


def _loss_of_node(
    view: View, level: int, node: int, held: _HeldReplicas, losses: _LevelLosses
) -> RackLoss:
    inside = view.inside(level, node)
    offline = _rows_of(losses.offline, node)
    under = np.union1d(_rows_of(losses.under, node), np.setdiff1d(losses.always_under, offline))
    leads_after = np.where(view.live & ~inside, losses.leads + losses.gained[node], 0)[:-1]
    top = int(leads_after.argmax())
    return RackLoss(
        rack=view.tree.names[level][node],
        level=level + 1,
        level_name=view.levels[level],
        brokers=tuple(view.tree.brokers[inside[:-1]].tolist()),
        offline=TablePartitions(view.table, np.union1d(offline, losses.always_offline)),
        under_min_isr=TablePartitions(view.table, under),
        leaders_lost=int(losses.leads[inside].sum()),
        top_survivor=(int(view.tree.brokers[top]), int(leads_after[top]))
        if leads_after[top]
        else None,
        replicas_lost=int(held.replicas[inside].sum()),
        bytes_to_restore=sum(held.bytes[place] for place in np.flatnonzero(inside).tolist()),
        unknown_sizes=int(held.unknown[inside].sum()),
    )
