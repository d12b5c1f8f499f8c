"""Rows of the topics of a cluster: those that exist, and new ones for several topics at once.

```
place_anew       rows as for a new topic of the same size; the next topics count them as load
change_topics    the same rows with more or fewer replicas
```

One source of random numbers serves all topics, in the order in which they are named. So a seed
repeats all rows, and topics of equal size do not begin at the same broker.

What this does not do: choose the topics, or move anything.

Source: KIP-36 (`kafka-reassign-partitions --generate` for several topics), KIP-879.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.placement.checks import check_even_rows
from rackwise.core.placement.model import Load, Placement
from rackwise.core.placement.place import change_replication, place
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker, Cluster, PartitionTable
    from rackwise.core.placement.model import Draws, Placer
    from rackwise.core.placement.rack_modes import RackMode


def topic_placement(cluster: Cluster, topic: str) -> Placement:
    """The rows of a topic, including replicas that a reassignment adds."""
    table = cluster.partitions
    rows = np.flatnonzero(table.topic == table.topics.index(topic))
    return Placement.of(
        {int(table.partition[row]): table.replicas.row(int(row)) for row in rows.tolist()}
    )


def current_load(table: PartitionTable, *, without: Collection[str] = ()) -> Load:
    """The replicas and preferred leaders of each broker, over all topics but those `without`."""
    topics = np.array([topic not in without for topic in table.topics], dtype=np.bool_)
    # (partitions,) of bool: the partition belongs to a topic that counts
    is_counted = topics[table.topic] if len(table) else np.zeros(0, dtype=np.bool_)
    replicas = table.replicas
    # index of the first replica, the preferred leader, of each such partition
    firsts = replicas.offsets[:-1][is_counted & (replicas.lengths > 0)]
    return Load(
        replicas=_counts(replicas.values[is_counted[replicas.rows]]),
        leaders=_counts(replicas.values[firsts]),
    )


def place_anew(
    cluster: Cluster,
    topics: Iterable[str],
    brokers: Sequence[Broker],
    *,
    placer: Placer,
    racks: RackMode,
    load: Load | None,
    rng: Draws,
) -> dict[str, Placement]:
    """New rows for existing topics: as many partitions and replicas as they have now.

    `load`: of all other topics; None to ignore loads. Raises what `place` raises, and
    `InvalidAssignment` if the rows of a topic differ in length.
    """
    found: dict[str, Placement] = {}
    for topic in topics:
        existing = topic_placement(cluster, topic)
        check_even_rows(existing, escaped(topic))
        rows = place(
            brokers,
            len(existing),
            int(existing.lengths[0]),
            placer=placer,
            racks=racks,
            load=load,
            rng=rng,
        )
        found[topic] = rows
        load = None if load is None else _added(load, rows)
    return found


def change_topics(
    cluster: Cluster,
    replication: Mapping[str, int],
    *,
    placer: Placer,
    racks: RackMode,
    rng: Draws,
) -> dict[str, Placement]:
    """The rows of existing topics with other numbers of replicas.

    `replication`: topic -> replicas. Raises what `change_replication` raises.
    """
    return {
        topic: change_replication(
            topic_placement(cluster, topic),
            cluster.brokers,
            replicas,
            placer=placer,
            racks=racks,
            rng=rng,
            topic=escaped(topic),
        )
        for topic, replicas in replication.items()
    }


def _added(load: Load, rows: Placement) -> Load:
    return Load(
        replicas=Counter(load.replicas) + Counter(_counts(rows.rows)),
        leaders=Counter(load.leaders) + Counter(_counts(rows.leaders)),
    )


def _counts(ids: NDArray[np.int32]) -> Mapping[int, int]:
    found, times = np.unique(ids, return_counts=True)
    return dict(zip(found.tolist(), times.tolist(), strict=True))
