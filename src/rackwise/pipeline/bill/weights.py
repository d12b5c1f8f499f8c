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
import pyarrow.compute as pc

from rackwise.pipeline.bill.traffic import (
    BY_ADDRESS,
    BY_CLIENT,
    BY_COPIED,
    BY_LED,
    BY_PAIR,
    BY_READ,
    BY_SIZE,
    EVERY_DAY,
    FACT,
    SET,
    client_place,
    columns_of,
    via_of,
)
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.columns.groups import Groups, summed
from rackwise.pipeline.fleet.members import last_members, member_places
from rackwise.pipeline.schemas import FETCH, PRODUCE, REPLICATE, WEIGHT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.traffic import Rates
    from rackwise.pipeline.bill.coded_fleet import CodedFleet
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot

GREATEST = 10**18 - 1
"""Maximum weight; bytes times weight are exact below it, see `exact`."""
KEY = ("cluster", *SET, "topic", "client")
"""The columns that identify a weight."""


def fleet_weights(fleet: Fleet, rates: Rates) -> pa.Table:
    """The weights that snapshots and rates give: BY_ADDRESS, BY_PAIR, BY_SIZE."""
    empty = arrow_schema(WEIGHT).empty_table()
    found = [*_by_address(fleet, rates), *_by_pair(fleet, rates), *_by_size(fleet)]
    return pa.concat_tables([empty, *found])


def metered_task(
    fleet: CodedFleet, prepared: Callable[[pa.RecordBatch], pa.Table]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: batches in, of which `prepared` makes facts of the meter; WEIGHT out.

    A weight may have several rows, which `merged` adds up.
    """

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = Groups(KEY, ["weight"])
        for batch in batches:
            groups.add(metered_weights(prepared(batch), fleet))
            if groups.is_full:
                yield from groups.take()
        yield from groups.take()

    return work


def metered_weights(facts: pa.Table, fleet: CodedFleet) -> pa.Table:
    """WEIGHT of each kind at the place where the meter saw its bytes.

    Each is there by day and for every day. `facts`: FACT of the meter.
    """
    fact = columns_of(facts, FACT)
    via = via_of(fact, facts.column("client_ip"), fleet)
    parts = [
        _weighed(fact, is_used, basis, place, client, day)
        for is_used, basis, place, client in (
            ((fact["kind"] == FETCH) & (fact["broker"] != 0), BY_READ, via, fact["client"]),
            ((fact["kind"] == REPLICATE) & (fact["peer"] != 0), BY_COPIED, via, fact["client"]),
            (_is_led(fact), BY_LED, fact["broker"], np.zeros_like(via)),
        )
        for day in (fact["day"], np.full(len(via), EVERY_DAY))
    ]
    return pa.concat_tables(parts)


def modelled_weights(facts: pa.Table, clusters: Iterable[int]) -> pa.Table:
    """WEIGHT of the bytes that rates say are written to leaders, for every day.

    `facts`: FACT of rates on all days; `clusters`: the codes of those that the meter did not see.
    """
    fact = columns_of(facts, FACT)
    is_used = _is_led(fact) & np.isin(fact["cluster"], [*clusters])
    zero = np.zeros_like(fact["day"])
    return _weighed(fact, is_used, BY_LED, fact["broker"], zero, zero + EVERY_DAY)


def seen_weights(seen: pa.Table) -> pa.Table:
    """WEIGHT of the bytes that less trusted sources saw; `seen`: rows of `traffic`."""
    row = columns_of(seen, ("cluster", "kind", "topic", "client", "bytes"))
    place = client_place(row["cluster"], row["kind"], row["client"])
    every_day = np.full(len(place), EVERY_DAY)
    is_used = row["kind"] != REPLICATE
    return _weighed(row, is_used, BY_CLIENT, place, row["client"], every_day)


def merged(*weights: pa.Table) -> pa.Table:
    """WEIGHT: each weight once, from 1 to `GREATEST`; the sums of those with one key."""
    found = summed(pa.concat_tables(weights), KEY, ["weight"])
    least = pc.min_element_wise(found["weight"], pa.scalar(GREATEST, pa.int64()))
    found = found.set_column(found.column_names.index("weight"), "weight", least)
    return found.filter(pc.greater(found["weight"], 0))


def _is_led(fact: Mapping[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
    is_led: NDArray[np.bool_] = (fact["kind"] == PRODUCE) & (fact["broker"] != 0)
    return is_led


def _weighed(
    row: Mapping[str, NDArray[np.int64]],
    is_used: NDArray[np.bool_],
    basis: int,
    place: NDArray[np.int64],
    client: NDArray[np.int64],
    day: NDArray[np.int64],
) -> pa.Table:
    """Sums of the rows of one set, topic and client; unknown topics have no weight."""
    used = np.flatnonzero(is_used & (row["topic"] != 0))
    columns = {
        "cluster": row["cluster"][used],
        "basis": np.full(len(used), basis),
        "place": place[used],
        "day": day[used],
        "topic": row["topic"][used],
        "client": client[used],
        "weight": row["bytes"][used],
    }
    return summed(pa.table(columns), KEY, ["weight"])


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
        cluster_code = fleet.codes.clusters[snapshot.name]
        zeros = np.zeros(len(keys), dtype=np.int64)
        weight = np.minimum(sums, GREATEST)
        yield _weights(cluster_code, BY_SIZE, keys[:, 0], keys[:, 1], zeros, weight)


def _by_address(fleet: Fleet, rates: Rates) -> Iterable[pa.Table]:
    members = last_members(fleet, lambda member: bool(member.partitions))
    addresses = {place: code for code, place in enumerate(member_places(fleet), start=1)}
    held: dict[int, list[tuple[int, int, int]]] = {}
    for (cluster, ip), those in members.items():
        held.setdefault(cluster, []).extend(
            (addresses[cluster, ip], fleet.codes.topics[topic], fleet.codes.clients[group])
            for group, member in those
            for topic, _ in member.partitions
        )
    for snapshot in fleet.latest:
        code = fleet.codes.clusters[snapshot.name]
        if rows := held.get(code):
            places = np.array(rows, dtype=np.int64)
            yield _weigh(code, BY_ADDRESS, places, _daily(snapshot, fleet, rates))


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
        cluster = fleet.codes.clusters[snapshot.name]
        yield _weigh(cluster, BY_PAIR, held, _daily(snapshot, fleet, rates))


def _daily(snapshot: Snapshot, fleet: Fleet, rates: Rates) -> NDArray[np.int64]:
    """Topic code -> bytes per day of one of its partitions; 0 if unknown."""
    table = snapshot.cluster.partitions
    counts = np.bincount(table.topic, minlength=len(table.topics))
    daily = np.zeros(len(fleet.names.topics) + 1, dtype=np.int64)
    for topic, count in zip(table.topics, counts.tolist(), strict=True):
        rate = rates.ins.get((snapshot.name, topic), 0)
        daily[fleet.codes.topics[topic]] = min(rate * DAY_S // count, GREATEST) if count else 0
    return daily


def _weigh(cluster: int, basis: int, held: NDArray[np.int64], daily: NDArray[np.int64]) -> pa.Table:
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
    return _weights(cluster, basis, place, topic, client, weight)


def _weights(
    cluster: int,
    basis: int,
    place: NDArray[np.int64],
    topic: NDArray[np.int64],
    client: NDArray[np.int64],
    weight: NDArray[np.int64],
) -> pa.Table:
    return pa.table(
        {
            "cluster": np.full(len(place), cluster),
            "basis": np.full(len(place), basis),
            "place": place,
            "day": np.full(len(place), EVERY_DAY),
            "topic": topic,
            "client": client,
            "weight": weight,
        }
    )
