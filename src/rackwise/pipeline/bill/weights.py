"""Computes weights over topics. Bytes of flow logs, which contain no topics, are spread by them.

Each row of traffic uses the first of these sets of weights that exists for it:

```
replicate       BY_COPIED   metered bytes from the one broker to the other, by topic
                BY_PAIR     partitions that the one leads and the other follows
known group     BY_CLIENT   bytes that a less trusted source saw for the group and kind
fetch           BY_READ     metered bytes that the member's address reads at the broker
                BY_CLIENT   bytes that a less trusted source saw for unknown clients
                BY_ADDRESS  partitions that groups at the address are assigned
                BY_READ     metered bytes that members without address read at the broker
                BY_LED      bytes written to partitions that the broker leads; no group
                BY_SIZE     size / retention time of partitions that the broker leads; no group
produce, other  BY_LED, BY_CLIENT, BY_ADDRESS, BY_SIZE
```

Metered bytes come from pairs of snapshots (`meter`): those of the day of the traffic, because an
address may belong to another member the next day, else those of all days. Without them, BY_LED
takes the rates of topics. BY_ADDRESS takes the members of the last snapshot that has some at the
address. In BY_ADDRESS and BY_PAIR, the weight of a partition is the daily bytes per partition of
its topic, if all topics of the set have a rate. Otherwise the weight is 1. BY_SIZE takes topics
with time retention that have deleted records already, because their size is what was written in
that time; its shares are estimates.

```
address 10.1.0.7   orders 0, 1, 2 of group g; clicks 0 of group h        no rates, no meter
weights            (orders, g) 3   (clicks, h) 1         100 bytes -> 75 and 25
```

What this does not do: guess a topic for a client of a broker without any weights (its bytes keep
the unknown topic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.bill.traffic import (
    BY_ADDRESS,
    BY_CLIENT,
    BY_COPIED,
    BY_LED,
    BY_PAIR,
    BY_READ,
    BY_SIZE,
    EVERY_DAY,
    client_place,
    member_addresses,
    with_via,
)
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.fleet.members import last_members
from rackwise.pipeline.schemas import FETCH, PRODUCE, REPLICATE, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.traffic import Rates
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot

GREATEST = 10**18 - 1
"""Weights stay below 10^18, so that bytes times weight stay within 38 digits."""

_TYPES = (pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.int32(), pa.int64())


def weights(
    spark: SparkSession,
    fleet: Fleet,
    rates: Rates,
    *,
    seen: DataFrame | None,
    metered: DataFrame | None = None,
    modelled: DataFrame | None = None,
) -> DataFrame:
    """WEIGHT of all kinds.

    `seen`: rows of `traffic` of less trusted sources; `metered`, `modelled`: FLOW_FACT of the meter
    and of rates; each None if there are none.
    """
    empty = pa.Table.from_arrays([pa.array([], t) for t in _TYPES], names=WEIGHT.fieldNames())
    tables = [empty, *_by_address(fleet, rates), *_by_pair(fleet, rates), *_by_size(fleet)]
    known = spark.createDataFrame(pa.concat_tables(tables).combine_chunks(), WEIGHT)
    if seen is not None:
        known = known.unionByName(_by_client(seen))
    if metered is not None:
        known = known.unionByName(_by_meter(metered, fleet))
    if modelled is not None:
        led = _by_leader(modelled).withColumn("day", F.lit(EVERY_DAY))
        if metered is not None:
            led = led.join(metered.select("cluster").distinct(), "cluster", "left_anti")
        known = known.unionByName(_summed(led))
    return known


def _by_meter(metered: DataFrame, fleet: Fleet) -> DataFrame:
    """Weights of each kind at the place where the meter saw its bytes, by day and for every day."""
    days = F.explode(F.array(F.col("day").cast("int"), F.lit(EVERY_DAY)))
    located = with_via(metered, fleet, member_addresses(fleet)).withColumn("day", days)
    read = located.where((F.col("kind") == FETCH) & (F.col("broker") != 0))
    copied = located.where((F.col("kind") == REPLICATE) & (F.col("peer") != 0))
    place = F.col("via").alias("place")
    bytes_ = F.col("bytes").alias("weight")
    return (
        _summed(read.select(F.lit(BY_READ).alias("basis"), place, "day", "topic", "client", bytes_))
        .unionByName(
            _summed(
                copied.select(
                    F.lit(BY_COPIED).alias("basis"), place, "day", "topic", "client", bytes_
                )
            )
        )
        .unionByName(_summed(_by_leader(located)))
    )


def _by_leader(facts: DataFrame) -> DataFrame:
    """The bytes that were written to a leader, by topic, with the cluster."""
    written = facts.where((F.col("kind") == PRODUCE) & (F.col("broker") != 0))
    return written.select(
        F.lit(BY_LED).alias("basis"),
        F.col("broker").cast("long").alias("place"),
        "day",
        "topic",
        F.lit(0).alias("client"),
        F.col("bytes").alias("weight"),
        "cluster",
    )


def _summed(rows: DataFrame) -> DataFrame:
    """WEIGHT: sums of rows of one set, topic and client; unknown topics have no weight."""
    return (
        rows.where(F.col("topic") != 0)
        .groupBy("basis", "place", "day", "topic", "client")
        .agg(F.least(F.sum("weight"), F.lit(GREATEST)).alias("weight"))
        .where(F.col("weight") > 0)
        .select(*WEIGHT.fieldNames())
    )


def _by_size(fleet: Fleet) -> Iterable[pa.Table]:
    """Bytes per day of the partitions that a broker leads, from their size and retention time."""
    for snapshot in fleet.latest:
        cluster = snapshot.cluster
        table = cluster.partitions
        if table.offsets is None:
            continue
        topics = [cluster.topics.get(name) for name in table.topics]
        # A retention time counts only where it is the reason for the size of the log.
        times = [
            topic.retention_ms
            if topic and topic.retention_ms and topic.retention_ms > 0 and not topic.is_compacted
            else 0
            for topic in topics
        ]
        retention_ms = np.array(times, dtype=np.int64)[table.topic]
        is_full = (retention_ms > 0) & (table.offsets.start > 0)
        is_full &= (table.leader >= 0) & (table.bytes > 0)
        if not is_full.any():
            continue
        codes = np.array([fleet.codes.topics[topic] for topic in table.topics], dtype=np.int64)
        daily = table.bytes[is_full] / retention_ms[is_full] * DAY_S * 1000
        weight = np.clip(np.rint(daily), 1, GREATEST).astype(np.int64)
        place = fleet.codes.broker_codes(snapshot.name)(table.leader[is_full])
        topic = codes[table.topic[is_full]]
        keys, inverse = np.unique(np.column_stack([place, topic]), axis=0, return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, inverse.ravel(), weight)
        yield pa.table(
            {
                "basis": pa.array(np.full(len(keys), BY_SIZE, dtype=np.int32)),
                "place": keys[:, 0],
                "day": np.full(len(keys), EVERY_DAY, dtype=np.int32),
                "topic": keys[:, 1].astype(np.int32),
                "client": np.zeros(len(keys), dtype=np.int32),
                "weight": np.minimum(sums, GREATEST),
            }
        )


def _by_client(seen: DataFrame) -> DataFrame:
    place = client_place(F.col("cluster"), F.col("kind"), F.col("client"))
    return (
        seen.where((F.col("topic") != 0) & (F.col("kind") != REPLICATE))
        .groupBy(place.alias("place"), "topic", "client")
        .agg(F.least(F.sum("bytes"), F.lit(GREATEST)).alias("weight"))
        .where(F.col("weight") > 0)
        .select(
            F.lit(BY_CLIENT).alias("basis"),
            "place",
            F.lit(EVERY_DAY).alias("day"),
            *("topic", "client", "weight"),
        )
    )


def _by_address(fleet: Fleet, rates: Rates) -> Iterable[pa.Table]:
    members = last_members(fleet, lambda member: bool(member.partitions))
    addresses = member_addresses(fleet)
    held: dict[int, list[tuple[int, int, int]]] = {}
    for (cluster, ip), those in members.items():
        held.setdefault(cluster, []).extend(
            (addresses[cluster, ip], fleet.codes.topics[topic], fleet.codes.clients[group])
            for group, member in those
            for topic, _ in member.partitions
        )
    for snapshot in fleet.latest:
        rows = held.get(fleet.codes.clusters[snapshot.name])
        if rows:
            yield _weigh(BY_ADDRESS, np.array(rows, dtype=np.int64), _daily(snapshot, fleet, rates))


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
            "day": np.full(len(place), EVERY_DAY, dtype=np.int32),
            "topic": topic.astype(np.int32),
            "client": client.astype(np.int32),
            "weight": weight,
        }
    )
