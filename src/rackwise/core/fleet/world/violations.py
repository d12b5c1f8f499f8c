"""Counts the partitions of a generated cluster that break each rule, without using the audit.

It covers the rules that generated clusters break under the default policy. "Even" is checked level
by level: each rack must hold one of the two even shares of what its parent holds, where no child
can hold more replicas than it has live brokers.

```
racks /eu/a /eu/b /eu/c, 3 replicas        counts 1 1 1 even      2 1 0 broken      3 0 0 broken
```

What this does not do: name the partitions; support policies other than the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.model import UNKNOWN
from rackwise.core.racks import padded, water_fill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster


def violations(cluster: Cluster) -> Mapping[str, int]:
    """Rule -> number of partitions that break it, without rules that no partition breaks.

    Requires that every broker has a rack, every replica is on a listed broker, and nothing is being
    reassigned.
    """
    table = cluster.partitions
    ids = np.array([broker.id for broker in cluster.brokers], dtype=np.int32)
    is_live = np.array([broker.is_live for broker in cluster.brokers], dtype=bool)
    # [replicas], the index of the broker that holds the replica
    held = np.searchsorted(ids, table.replicas.values)
    rows = len(table)
    dead = np.bincount(table.replicas.rows[~is_live[held]], minlength=rows)
    synced = np.searchsorted(ids, table.isr.values)
    # [live in-sync replicas], their rows
    in_sync = table.isr.rows[is_live[synced]]
    live_in_sync = np.bincount(in_sync, minlength=rows)
    min_isr = np.array(
        [cluster.topics[name].min_insync_replicas or 1 for name in table.topics], dtype=np.int64
    )[table.topic]
    is_offline = table.leader == UNKNOWN
    first = table.replicas.values[table.replicas.offsets[:-1]]
    names, rack_of = _leaf_racks(cluster)
    in_racks = _count_by_rack(rows, len(names), in_sync, rack_of[synced[is_live[synced]]])
    # [rows], the in-sync replicas that survive the loss of the worst rack
    left = live_in_sync - in_racks.max(axis=1)
    dies = ~is_offline & (left == 0)
    stops = ~is_offline & ~dies & (live_in_sync >= min_isr) & (left < min_isr)
    broken = {
        "spread-even": _find_uneven(cluster, names, rack_of, held),
        "dead-replica": dead > 0,
        "offline": is_offline,
        "under-min-isr": ~is_offline & (live_in_sync < min_isr),
        "under-replicated": table.isr.lengths < table.replicas.lengths,
        "at-min-isr": (table.isr.lengths == min_isr) & (min_isr < table.replicas.lengths),
        "rack-loss-offline": dies,
        "rack-loss-min-isr": stops,
        "not-preferred-leader": ~is_offline & (table.leader != first),
    }
    counts = {rule: int(is_broken.sum()) for rule, is_broken in broken.items()}
    return {rule: count for rule, count in counts.items() if count}


def _leaf_racks(cluster: Cluster) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Paths of the racks at the deepest level, and the index among them of each broker's rack."""
    paths = [broker.rack.levels for broker in cluster.brokers if broker.rack is not None]
    leaves = [padded(path, max(map(len, paths))) for path in paths]
    names = sorted(set(leaves))
    return names, np.array([names.index(leaf) for leaf in leaves], dtype=np.int64)


def _count_by_rack(
    rows: int, racks: int, row: NDArray[np.int64], rack: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each row occurs with each rack, int64 [rows, racks]."""
    return np.bincount(row * racks + rack, minlength=rows * racks).reshape(rows, racks)


def _find_uneven(
    cluster: Cluster,
    names: Sequence[tuple[str, ...]],
    rack_of: NDArray[np.int64],
    held: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether the replicas of each partition are spread unevenly at some level."""
    replicas = cluster.partitions.replicas
    is_live = np.array([broker.is_live for broker in cluster.brokers], dtype=bool)
    free = np.bincount(rack_of[is_live], minlength=len(names)).tolist()
    counts = _count_by_rack(len(replicas), len(names), replicas.rows, rack_of[held])
    patterns, which = np.unique(counts, axis=0, return_inverse=True)
    is_uneven = np.array(
        [_is_uneven(dict(zip(names, row, strict=True)), free) for row in patterns.tolist()]
    )
    return is_uneven[which]


def _is_uneven(counts: Mapping[tuple[str, ...], int], free: Sequence[int]) -> bool:
    """Whether replicas are spread unevenly at some level.

    `counts`: leaf rack -> replicas. `free`: the live brokers of each of these racks.
    """
    room = dict(zip(counts, free, strict=True))
    depth = len(next(iter(counts)))
    for level in range(1, depth + 1):
        below: dict[tuple[str, ...], dict[str, tuple[int, int]]] = {}
        for leaf, count in counts.items():
            children = below.setdefault(leaf[: level - 1], {})
            held, space = children.get(leaf[level - 1], (0, 0))
            children[leaf[level - 1]] = (held + count, space + room[leaf])
        if any(_are_shares_uneven(list(children.values())) for children in below.values()):
            return True
    return False


def _are_shares_uneven(children: Sequence[tuple[int, int]]) -> bool:
    """Whether the children's replicas (first) are not even shares for their brokers (second)."""
    shares = water_fill([space for _, space in children], sum(held for held, _ in children))
    return shares is None or any(
        not low <= held <= high for (held, _), (low, high) in zip(children, shares, strict=True)
    )
