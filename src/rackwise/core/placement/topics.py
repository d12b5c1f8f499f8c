"""Rows of the topics of a cluster: those that exist, and new ones for several topics at once.

```
place_anew       rows as for a new topic of the same size; the next topics count them as load
change_topics    the same rows with more or fewer replicas
```

One source of random numbers serves all topics, in the order in which they are named. So a seed
repeats all rows, and topics of equal size do not begin at the same broker.

A topic without partitions, as Kafka shows one while it is created or deleted, has no rows and is
left out.

What this does not do: choose the topics, or move anything.

Source: KIP-36 (`kafka-reassign-partitions --generate` for several topics), KIP-879.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import (
    InputError,
    InvalidAssignment,
    InvalidReplication,
    NotEnoughBrokers,
)
from rackwise.core.placement.checks import check_even_rows
from rackwise.core.placement.model import NOBODY, Load, Placement
from rackwise.core.placement.place import change_replication, place
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker, Cluster, PartitionTable
    from rackwise.core.placement.model import Draws, Placer
    from rackwise.core.placement.rack_modes import RackMode


OF_ONE_TOPIC = (InvalidAssignment, InvalidReplication, NotEnoughBrokers)
"""Errors that depend on the rows of a topic; others concern all topics alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTopics:
    """New rows of several topics, and the topics that cannot have any."""

    rows: Mapping[str, Placement]
    """Topic -> its new rows."""
    failed: Mapping[str, InputError]
    """Topic -> why it has no new rows."""


def topic_placement(cluster: Cluster, topic: str) -> Placement:
    """The rows of a topic, including replicas that a reassignment adds.

    Empty for a topic without partitions.
    """
    table = cluster.partitions
    if topic not in table.topics:
        return Placement.of({})
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
) -> PlacedTopics:
    """New rows for existing topics: as many partitions and replicas as they have now.

    `load`: of all other topics; None to ignore loads. A topic fails alone if its rows differ in
    length, or if it has more replicas than there are brokers; the next topics count its present
    rows as load. Raises the other errors of `place`.
    """
    placed: dict[str, Placement] = {}
    failed: dict[str, InputError] = {}
    for topic in topics:
        existing = topic_placement(cluster, topic)
        if not len(existing):
            continue
        rows = existing
        try:
            check_even_rows(existing, None)
            rows = placed[topic] = place(
                brokers,
                len(existing),
                int(existing.lengths[0]),
                placer=placer,
                racks=racks,
                load=load,
                rng=rng,
            )
        except OF_ONE_TOPIC as error:
            failed[topic] = error
        load = None if load is None else _added(load, rows)
    return PlacedTopics(rows=placed, failed=failed)


def change_topics(
    cluster: Cluster,
    replication: Mapping[str, int],
    *,
    placer: Placer,
    racks: RackMode,
    rng: Draws,
) -> dict[str, Placement]:
    """The rows of existing topics with other numbers of replicas.

    `replication`: topic -> replicas. A topic without partitions is left out. Raises what
    `change_replication` raises.
    """
    existing = {topic: topic_placement(cluster, topic) for topic in replication}
    return {
        topic: change_replication(
            rows,
            cluster.brokers,
            replication[topic],
            placer=placer,
            racks=racks,
            rng=rng,
            topic=escaped(topic),
        )
        for topic, rows in existing.items()
        if len(rows)
    }


def _added(load: Load, rows: Placement) -> Load:
    return Load(
        replicas=Counter(load.replicas) + Counter(_counts(rows.rows)),
        leaders=Counter(load.leaders) + Counter(_counts(rows.rows[:, :1])),
    )


def _counts(ids: NDArray[np.int32]) -> Mapping[int, int]:
    found, times = np.unique(ids[ids != NOBODY], return_counts=True)
    return dict(zip(found.tolist(), times.tolist(), strict=True))
