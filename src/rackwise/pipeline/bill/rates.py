"""Models traffic from the bytes per second of topics, if there are no flow logs.

The bytes of a topic per day are its rate times 86,400 seconds. They are divided evenly among its
partitions, and each share becomes flows:

```
produce    client racks  -> leader      evenly from all racks: the racks of producers are unknown
replicate  leader        -> follower    the whole share, once per follower
fetch      leader        -> member      the rate of the group, to the rack of the assigned member;
                                        evenly to all racks if no member is assigned
```

With P bytes per second, R even racks, replication factor F and G groups that read all of it,

```
cross = P (1 - 1/R) + P (F - 1) + G P (1 - 1/R)          300 MiB/s, 3, 3, 2: 200 + 600 + 400
```

All days are equal, so one day is modelled, on the driver, with numpy arrays for each cluster.

All shares are whole bytes. The first shares get one byte more each until the remainder is used, so
sums are exact. Leaders, followers and assignments come from the last snapshot of a cluster. All
rows are estimates. A partition without a leader sends from and receives in an unknown rack.

What this does not do: model follower fetching (KIP-392), which moves the fetch of a member to its
own rack.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rackwise.core.text import counted
from rackwise.core.traffic import rates_of
from rackwise.pipeline.bill.traffic import FACT
from rackwise.pipeline.columns.clock import DAY_S, day_number
from rackwise.pipeline.columns.groups import summed
from rackwise.pipeline.fleet.cluster_names import names_by_text
from rackwise.pipeline.schemas import ESTIMATED, FETCH, PRODUCE, REPLICATE, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack
    from rackwise.core.traffic import RateRow, Rates
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.fleet.snapshots import Snapshot

    Flows = dict[str, NDArray[np.int64]]

SOURCE = SOURCES.index("rates")
FLOW = (
    *("kind", "client", "client_rack", "broker", "broker_rack", "peer", "peer_rack"),
    *("topic", "partition", "bytes"),
)
"""The columns of modelled flows, besides the cluster."""
_NO_FLOW = pa.table({name: np.zeros(0, dtype=np.int64) for name in ("cluster", *FLOW)})


def own_rack(_cluster: Cluster, _group: Group, member: GroupMember) -> Rack | None:
    """The rack that a member reports."""
    return member.rack


def rates_by_name(rows: Iterable[RateRow], snapshots: Sequence[Snapshot]) -> Rates:
    """The rates of rows whose cluster is a name or an id, by the names of the clusters.

    Raises `InvalidRates`, like `core.traffic.rates_of`.
    """
    names = names_by_text(snapshots)
    return rates_of(replace(row, cluster=names.get(row.cluster, row.cluster)) for row in rows)


def unknown_topics(fleet: Fleet, rates: Rates) -> tuple[tuple[str, str], ...]:
    """The (cluster, topic) of rates without a partition in a last snapshot; sorted."""
    known = {
        (snapshot.name, topic)
        for snapshot in fleet.latest
        for topic in snapshot.cluster.partitions.topics
    }
    rated = {*rates.ins, *((cluster, topic) for cluster, topic, _ in rates.outs)}
    return tuple(sorted(rated - known))


def ignored_rates_notes(fleet: Fleet, rates: Rates) -> list[str]:
    """A note if rates are of topics that no snapshot has."""
    missing = unknown_topics(fleet, rates)
    if not missing:
        return []
    cluster, topic = missing[0]
    note = (
        f"rates of {counted(len(missing), 'topic')} are ignored: no snapshot has a "
        f"partition of them; the first is {topic} of cluster {cluster}"
    )
    return [note]


def model_traffic(
    fleet: Fleet, rates: Rates, days: Iterable[date], rack_of: RackOf = own_rack
) -> pa.Table:
    """The FACT of rates on the days, summed over partitions; quality estimated.

    `rack_of`: the rack of a member of a group; its racks have codes. Topics that are in no
    snapshot are left out; `unknown_topics` returns them.
    """
    keys = ["cluster", *(name for name in FLOW if name not in {"partition", "bytes"})]
    sums = [summed(flows, keys) for flows in model_day(fleet, rates, rack_of)]
    daily = summed(pa.concat_tables([_NO_FLOW.select([*keys, "bytes"]), *sums]), keys)
    count = len(daily)
    constants = {"source": SOURCE, "quality": ESTIMATED}
    parts = [daily.append_column("day", pa.array(np.full(count, day_number(day)))) for day in days]
    whole = pa.concat_tables(parts)
    for name, value in constants.items():
        whole = whole.append_column(name, pa.array(np.full(len(whole), value)))
    return whole.append_column("client_ip", pa.nulls(len(whole), pa.int64())).select(FACT)


def model_day(fleet: Fleet, rates: Rates, rack_of: RackOf = own_rack) -> Iterator[pa.Table]:
    """The flows of one day: `cluster` and `FLOW`, one row per partition and flow.

    A table has those of one cluster and kind, and of one group; only one is in memory at a time.
    """
    ins, outs = _by_cluster(rates)
    for snapshot in fleet.latest:
        own_ins, own_outs = ins.get(snapshot.name, {}), outs.get(snapshot.name, {})
        if not own_ins and not own_outs:
            continue
        modelled = _ModelledCluster(fleet, snapshot)
        cluster = fleet.codes.clusters[snapshot.name]
        for flows in modelled.flows(own_ins, own_outs, rack_of):
            kept = flows["bytes"] > 0
            columns = {name: flows[name][kept] for name in FLOW}
            columns["cluster"] = np.full(int(kept.sum()), cluster)
            yield pa.table({name: columns[name] for name in _NO_FLOW.column_names})


def _by_cluster(
    rates: Rates,
) -> tuple[dict[str, dict[str, int]], dict[str, dict[tuple[str, str], int]]]:
    """Cluster -> topic -> rate; and cluster -> (topic, group) -> rate."""
    ins: dict[str, dict[str, int]] = {}
    outs: dict[str, dict[tuple[str, str], int]] = {}
    for (cluster, topic), rate in rates.ins.items():
        ins.setdefault(cluster, {})[topic] = rate
    for (cluster, topic, group), rate in rates.outs.items():
        outs.setdefault(cluster, {})[topic, group] = rate
    return ins, outs


class _ModelledCluster:
    """The partitions of a cluster as arrays, shape (partitions,) each, by topic and number."""

    def __init__(self, fleet: Fleet, snapshot: Snapshot) -> None:
        self._fleet, self._snapshot = fleet, snapshot
        table = snapshot.cluster.partitions
        self._order = np.lexsort((table.partition, table.topic))
        self._topic = table.topic[self._order].astype(np.int64)
        self._number = table.partition[self._order].astype(np.int64)
        self._topics = {topic: place for place, topic in enumerate(table.topics)}
        codes = fleet.codes.broker_codes(snapshot.name)
        leader = table.leader[self._order]
        self._leader = np.where(leader >= 0, codes(leader), 0)
        self._codes = np.array(
            [fleet.codes.topics[topic] for topic in table.topics], dtype=np.int64
        )
        # Broker code -> rack code, 0 for none.
        self._rack_of = np.zeros(len(fleet.names.brokers) + 1, dtype=np.int64)
        for broker in snapshot.cluster.brokers:
            code = fleet.codes.brokers[snapshot.name, broker.id]
            self._rack_of[code] = fleet.codes.rack(broker.rack)
        own = {fleet.codes.rack(broker.rack) for broker in snapshot.cluster.brokers} - {0}
        self._racks = np.array(sorted(own) or [0], dtype=np.int64)
        self._counts = np.bincount(self._topic, minlength=len(table.topics))
        starts = np.cumsum(self._counts) - self._counts
        self._place = np.arange(len(self._topic)) - starts[self._topic]

    def flows(
        self,
        ins: Mapping[str, int],
        outs: Mapping[tuple[str, str], int],
        rack_of: RackOf,
    ) -> Iterator[Flows]:
        """The flows of each kind; `ins`, `outs`: bytes per second by topic, and by group."""
        rows, shares = self._shares(ins)
        client = np.zeros(len(rows), dtype=np.int64)
        yield self._from_racks(PRODUCE, rows, shares, client, self._racks)
        yield self._copied(rows, shares)
        groups = sorted({group for _, group in outs})
        assigned = self._assigned(rack_of) if groups else {}
        for group in groups:
            own = {topic: rate for (topic, name), rate in outs.items() if name == group}
            rows, shares = self._shares(own)
            code = self._fleet.codes.clients.get(group, 0)
            racks = np.array(
                [
                    assigned.get((code, topic, number), -1)
                    for topic, number in zip(
                        self._codes[self._topic[rows]].tolist(),
                        self._number[rows].tolist(),
                        strict=True,
                    )
                ],
                dtype=np.int64,
            )
            client = np.full(len(rows), code)
            open_ = racks < 0
            yield self._from_racks(FETCH, rows[open_], shares[open_], client[open_], self._racks)
            yield self._flows(FETCH, rows[~open_], shares[~open_], client[~open_], racks[~open_])

    def _shares(self, rates: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The partitions of topics with a rate, and the daily bytes of each."""
        daily = np.full(len(self._counts), -1, dtype=np.int64)
        for topic, rate in rates.items():
            if topic in self._topics:
                daily[self._topics[topic]] = rate * DAY_S
        rows = np.flatnonzero(daily[self._topic] >= 0)
        place = self._topic[rows]
        return rows, _part(daily[place], self._place[rows], self._counts[place])

    def _flows(
        self,
        kind: int,
        rows: NDArray[np.int64],
        bytes_: NDArray[np.int64],
        client: NDArray[np.int64],
        client_rack: NDArray[np.int64],
    ) -> Flows:
        zeros = np.zeros(len(rows), dtype=np.int64)
        return {
            "kind": np.full(len(rows), kind),
            "client": client,
            "client_rack": client_rack,
            "broker": self._leader[rows],
            "broker_rack": self._rack_of[self._leader[rows]],
            "peer": zeros,
            "peer_rack": zeros,
            "topic": self._codes[self._topic[rows]],
            "partition": self._number[rows],
            "bytes": bytes_,
        }

    def _from_racks(
        self,
        kind: int,
        rows: NDArray[np.int64],
        bytes_: NDArray[np.int64],
        client: NDArray[np.int64],
        racks: NDArray[np.int64],
    ) -> Flows:
        """A flow from or to each of some racks, with an even share of the bytes."""
        count = len(racks)
        nth = np.tile(np.arange(count), len(rows))
        part = _part(np.repeat(bytes_, count), nth, np.full(len(nth), count))
        return self._flows(kind, np.repeat(rows, count), part, np.repeat(client, count), racks[nth])

    def _copied(self, rows: NDArray[np.int64], bytes_: NDArray[np.int64]) -> Flows:
        """The whole share of a partition, once to each of its followers."""
        placed = self._snapshot.cluster.partitions.placed
        codes = self._fleet.codes.broker_codes(self._snapshot.name)(placed.values)
        first, lengths = placed.offsets[self._order[rows]], placed.lengths[self._order[rows]]
        ends = np.cumsum(lengths)
        every = np.repeat(np.arange(len(rows)), lengths)
        place = np.arange(len(every)) + np.repeat(first - (ends - lengths), lengths)
        peer = codes[place]
        is_follower = peer != self._leader[rows[every]]
        every, peer = every[is_follower], peer[is_follower]
        zeros = np.zeros(len(every), dtype=np.int64)
        return self._flows(REPLICATE, rows[every], bytes_[every], zeros, zeros) | {
            "peer": peer,
            "peer_rack": self._rack_of[peer],
        }

    def _assigned(self, rack_of: RackOf) -> dict[tuple[int, int, int], int]:
        """(client, topic, partition) -> code of the rack of the first member that reads it."""
        codes, cluster = self._fleet.codes, self._snapshot.cluster
        found: dict[tuple[int, int, int], tuple[str, int]] = {}
        for group in cluster.groups:
            client = codes.clients[group.group]
            for member in group.members:
                reader = (member.member_id, codes.rack(rack_of(cluster, group, member)))
                for topic, number in member.partitions:
                    key = (client, codes.topics[topic], number)
                    found[key] = min(found.get(key, reader), reader)
        return {key: rack for key, (_, rack) in found.items()}


def _part(
    total: NDArray[np.int64], place: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The share at a place, from 0, of `count` even shares; the first shares get the remainder."""
    return total // count + (place < total % count)
