"""Computes weights over topics. Bytes of flow logs, which contain no topics, are spread by them.

Each row of traffic uses the first of these sets of weights that exists for it:

```
BY_CLIENT   bytes that a less trusted source saw for the client group and kind; the unknown group
            gets the bytes that this source saw for unknown clients (rates: all produced bytes)
BY_ADDRESS  the partitions that groups at the client's address are assigned
BY_PAIR     the partitions that the sending broker leads and the receiving one follows
```

In BY_ADDRESS and BY_PAIR, the weight of a partition is the daily bytes per partition of its topic,
if all topics of the set have a rate. Otherwise the weight is 1. Assignments and leaders come from
the last snapshot of a cluster.

```
address 10.1.0.7   orders 0, 1, 2 of group g; clicks 0 of group h        no rates
weights            (orders, g) 3   (clicks, h) 1         100 bytes -> 75 and 25
```

What this does not do: use the broker to which a client connects; guess a topic for an unknown
client (its bytes keep the unknown topic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.bill.traffic import (
    BY_ADDRESS,
    BY_CLIENT,
    BY_PAIR,
    client_place,
    member_addresses,
)
from rackwise.pipeline.columns.addresses import address_number
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.schemas import REPLICATE, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.traffic import Rates
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot

GREATEST = 10**18 - 1
"""Weights stay below 10^18, so that bytes times weight stay within 38 digits."""

_TYPES = (pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.int64())


def weights(spark: SparkSession, fleet: Fleet, rates: Rates, seen: DataFrame | None) -> DataFrame:
    """WEIGHT of all three kinds; `seen`: rows of `traffic` of less trusted sources, or None."""
    empty = pa.Table.from_arrays([pa.array([], t) for t in _TYPES], names=WEIGHT.fieldNames())
    tables = [empty, *_by_address(fleet, rates), *_by_pair(fleet, rates)]
    known = spark.createDataFrame(pa.concat_tables(tables).combine_chunks(), WEIGHT)
    return known if seen is None else known.unionByName(_by_client(seen))


def _by_client(seen: DataFrame) -> DataFrame:
    place = client_place(F.col("cluster"), F.col("kind"), F.col("client"))
    return (
        seen.where((F.col("topic") != 0) & (F.col("kind") != REPLICATE))
        .groupBy(place.alias("place"), "topic", "client")
        .agg(F.least(F.sum("bytes"), F.lit(GREATEST)).alias("weight"))
        .where(F.col("weight") > 0)
        .select(F.lit(BY_CLIENT).alias("basis"), "place", "topic", "client", "weight")
    )


def _by_address(fleet: Fleet, rates: Rates) -> Iterable[pa.Table]:
    addresses = member_addresses(fleet)
    for snapshot in fleet.latest:
        cluster = fleet.codes.clusters[snapshot.name]
        held = [
            (code, fleet.codes.topics[topic], fleet.codes.clients[group.group])
            for group in snapshot.cluster.groups
            for member in group.members
            for ip, _ in [address_number(member.address or "")]
            if (code := addresses.get((cluster, ip))) is not None
            for topic, _ in member.partitions
        ]
        if held:
            yield _weigh(BY_ADDRESS, np.array(held, dtype=np.int64), _daily(snapshot, fleet, rates))


def _by_pair(fleet: Fleet, rates: Rates) -> Iterable[pa.Table]:
    for snapshot in fleet.latest:
        table = snapshot.cluster.partitions
        placed = table.placed
        code = fleet.codes.broker_codes(snapshot.name)
        leader = np.repeat(table.leader, placed.lengths)
        is_follower = (leader >= 0) & (leader != placed.values)
        if not is_follower.any():
            continue
        topics = np.array([fleet.codes.topics[topic] for topic in table.topics], dtype=np.int64)
        sender, receiver = code(leader[is_follower]), code(placed.values[is_follower])
        held = np.column_stack(
            [
                sender * np.int64(len(fleet.names.brokers) + 1) + receiver,
                topics[table.topic][placed.rows[is_follower]],
                np.zeros(len(sender), dtype=np.int64),
            ]
        )
        yield _weigh(BY_PAIR, held, _daily(snapshot, fleet, rates))


def _daily(snapshot: Snapshot, fleet: Fleet, rates: Rates) -> NDArray[np.int64]:
    """Topic code -> bytes per day of one of its partitions; 0 if unknown."""
    table = snapshot.cluster.partitions
    counts = np.bincount(table.topic, minlength=len(table.topics))
    daily = np.zeros(len(fleet.names.topics) + 1, dtype=np.int64)
    for topic, count in zip(table.topics, counts.tolist(), strict=True):
        rate = rates.ins.get((snapshot.name, topic), 0)
        daily[fleet.codes.topics[topic]] = min(rate * DAY_S // count, GREATEST) if count else 0
    return daily


def _weigh(basis: int, held: NDArray[np.int64], daily: NDArray[np.int64]) -> pa.Table:
    """WEIGHT of one basis.

    `held`: shape (partitions, 3), per row: place, topic, client. `daily`: topic code -> bytes.
    """
    # One row per (place, topic, client) from here on, in order of the places.
    rows, counts = np.unique(held, axis=0, return_counts=True)
    place, topic, client = rows.T
    # `first`: first row of each set of weights; `of_set`: the set of each row.
    _, first, of_set = np.unique(place, return_index=True, return_inverse=True)
    is_rated = np.minimum.reduceat(daily[topic], first)[of_set] > 0
    # Partitions times daily bytes if all topics of the set have a rate, at most GREATEST.
    weight = np.where(
        is_rated, np.minimum(counts, GREATEST // np.maximum(daily[topic], 1)) * daily[topic], counts
    )
    return pa.table(
        {
            "basis": pa.array(np.full(len(place), basis, dtype=np.int32)),
            "place": place,
            "topic": topic.astype(np.int32),
            "client": client.astype(np.int32),
            "weight": weight,
        }
    )
