"""Clusters at rest: reject running reassignments, or assume their targets.

While a partition is reassigned (KIP-455), its list contains its old and its new replicas, and does
not show its final state. A reading during which brokers or reassignments changed (`torn`) shows no
single moment. Both are rejected. For running reassignments a caller may assume the target instead:

```
replicas [0 1 3 2]   adding [3]   removing [2]   isr [0 1 2]   leader 2
target   [0 1 3]                                 isr [0 1]     leader -, as 2 leaves
```

Limits: this module does not wait, and does not judge whether the target can be reached.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.model import UNKNOWN, Ragged
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, PartitionTable

SHOWN = 5
"""The most partitions that a message names."""


def check_at_rest(cluster: Cluster) -> None:
    """Reject a cluster with running reassignments, or one that was read while it changed.

    Raises `InvalidSnapshot`.
    """
    _check_not_torn(cluster)
    table = cluster.partitions
    moving = np.flatnonzero(_is_moving(table)).tolist()
    if moving:
        shown = [table.name(row) for row in moving[:SHOWN]]
        raise InvalidSnapshot(
            f"expected a cluster at rest, got {counted(len(moving), 'reassignment')} "
            f"in progress: {names_text(shown, most=SHOWN, of=len(moving))}",
            wanted=0,
            had=len(moving),
            hint="wait until the reassignments are complete, or plan with --assume target",
        )


def assume_target(cluster: Cluster) -> Cluster:
    """The cluster after all running reassignments have reached their targets.

    Raises `InvalidSnapshot` if it was read while it changed.
    """
    _check_not_torn(cluster)
    table = cluster.partitions
    if not _is_moving(table).any():
        return cluster
    replicas = table.replicas.keep(~table.replicas.values_in(table.removing))
    stays = _one_value_rows(table.leader).values_in(replicas)
    none = Ragged.empty(len(table))
    arrived = replace(
        table,
        replicas=replicas,
        isr=table.isr.keep(table.isr.values_in(replicas)),
        leader=np.where(stays, table.leader, UNKNOWN).astype(np.int32),
        adding=none,
        removing=none,
    )
    return replace(cluster, partitions=arrived)


def _check_not_torn(cluster: Cluster) -> None:
    for note in cluster.notes:
        if note.kind == "torn":
            raise InvalidSnapshot(
                f"expected a snapshot of one moment, got a torn snapshot: {escaped(note.text)}",
                wanted="a snapshot of one moment",
                had=note.text,
                hint="take the snapshot again when the cluster does not change",
            )


def _is_moving(table: PartitionTable) -> NDArray[np.bool_]:
    moving: NDArray[np.bool_] = (table.adding.lengths > 0) | (table.removing.lengths > 0)
    return moving


def _one_value_rows(values: NDArray[np.int32]) -> Ragged:
    """Each value as a row of its own."""
    return Ragged(np.arange(len(values) + 1, dtype=np.int64), values)
