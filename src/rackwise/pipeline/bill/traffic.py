"""Facts to traffic: bytes per day, kind, topic, client group and rack pair of a cluster.

Goals, in order:

1. Every byte of a fact is in exactly one row.
2. A task reads facts in batches and keeps only its sums.
3. Names are never joined to the facts.

Flow logs contain no topics. Instead of the topic, such a row keeps a value that identifies its
possible topics (`via`): the address of a group member and the broker that it talks to, or the two
brokers of a replication flow. An address that is no member's counts as 0.
`apportion` then spreads each row over topics by weights (`weights.py`). Each topic gets
`floor(B * w / W)` bytes. The remaining bytes go one each to the largest remainders, ties by code.
Sums are therefore exact. Without weights, the topic stays unknown.

Precedence. Several sources can report the same cluster, day and kind. Only the most trusted of them
is billed. The other sources serve as weights. Sources are never added.

A row that is spread becomes one row per topic of its set, so rows are spread in blocks, and only
the sums of each block are kept.

What this does not do: join prices and names (`cost`); determine the racks of a fact (`ingest`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import LongType, StructField, StructType

from rackwise.core.traffic import PRECEDENCE
from rackwise.core.traffic import apportion as apportioned
from rackwise.pipeline.bill.exact import are_divisible, divided
from rackwise.pipeline.columns.addresses import PairIndex
from rackwise.pipeline.columns.clock import DAY_BITS
from rackwise.pipeline.columns.groups import Groups, summed_longs, whole_longs
from rackwise.pipeline.columns.packing import key_names, packed_arrays, unpacked_arrays
from rackwise.pipeline.schemas import (
    APPORTIONED,
    ESTIMATED,
    FETCH,
    KINDS,
    PRODUCE,
    QUALITIES,
    REPLICATE,
    SOURCES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.pipeline.bill.coded_fleet import CodedFleet

    Columns = Mapping[str, NDArray[np.int64]]
    Number = TypeVar("Number", np.int64, np.float64)

IP_BITS = 32
ROW = (
    *("day", "cluster", "kind", "source", "quality"),
    *("topic", "via", "client", "from_rack", "to_rack"),
)
"""The columns that identify a row of `traffic`."""
TRAFFIC = StructType([StructField(name, LongType()) for name in (*ROW, "bytes")])
"""The columns of `traffic`."""
KEPT = ("day", "cluster", "kind", "topic", "client", "from_rack", "to_rack", "quality")
"""The columns that identify a row of `apportion`."""
FACT = (
    *("day", "cluster", "kind", "source", "quality", "client_ip", "client", "client_rack"),
    *("broker", "broker_rack", "peer", "peer_rack", "topic", "bytes"),
)
"""The columns of facts that are read; those of FLOW_FACT and of FLOW_SUM have them."""

SET = ("basis", "place", "day")
"""The columns of WEIGHT that identify a set of weights."""
EVERY_DAY = 0
"""The day of a set of weights for every day without a set of its own."""
BASES = (BY_CLIENT, BY_ADDRESS, BY_PAIR, BY_READ, BY_LED, BY_COPIED, BY_SIZE) = range(1, 8)
"""What a set of weights is about; see `weights`."""
MOST_SPREAD = 2**20
"""Rows that rows without a topic become at a time, unless one row becomes more."""

SOURCE_OF = ("cluster", "day", "kind", "source")
"""Only the most trusted source of a cluster, day and kind is billed."""
_RANKS = np.array(
    [PRECEDENCE.index(name) if name in PRECEDENCE else len(PRECEDENCE) for name in SOURCES]
)
"""Source code -> its place in the precedence."""


def columns_of(
    table: pa.Table | pa.RecordBatch, names: Iterable[str]
) -> dict[str, NDArray[np.int64]]:
    """Columns of integers as longs; 0 where one is missing."""
    return {name: whole_longs(table.column(name)) for name in names}


def traffic(facts: pa.Table | pa.RecordBatch, fleet: CodedFleet) -> pa.Table:
    """Bytes per `ROW`; `facts`: a table with the columns of `FACT`.

    `via` identifies the possible topics. It is 0 if the topic is known or cannot be determined.
    """
    return summed_longs(_row_columns(facts, fleet), ROW)


def _row_columns(
    facts: pa.Table | pa.RecordBatch, fleet: CodedFleet
) -> dict[str, NDArray[np.int64]]:
    """`ROW` and the bytes of each fact; shape (n,) each."""
    fact = columns_of(facts, FACT)
    is_produce = fact["kind"] == PRODUCE
    near = fact["broker_rack"]
    far = np.where(fact["peer"] != 0, fact["peer_rack"], fact["client_rack"])
    return {
        **{name: fact[name] for name in (*ROW, "bytes") if name in fact},
        "via": np.where(fact["topic"] == 0, via_of(fact, facts.column("client_ip"), fleet), 0),
        "from_rack": np.where(is_produce, far, near),
        "to_rack": np.where(is_produce, near, far),
    }


def via_of(fact: Columns, client_ip: pa.Array, fleet: CodedFleet) -> NDArray[np.int64]:
    """The pair of brokers, or the address of a member and the broker, as one long; shape (n,)."""
    width = fleet.brokers + 1
    is_pair = (fact["peer"] != 0) & (fact["broker"] != 0)
    places = fleet.members.find(fact["client_ip"], fact["cluster"])
    # An address has the code 0 if it is unknown or no member's; a missing one reads as 0.0.0.0.
    address = np.where(whole_longs(pc.is_valid(client_ip)) == 1, places + 1, 0)
    first = np.where(is_pair, fact["broker"], address)
    return first * width + np.where(is_pair, fact["peer"], fact["broker"])


def traffic_task(
    fleet: CodedFleet, prepared: Callable[[pa.RecordBatch], pa.Table | pa.RecordBatch]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: batches of facts in, rows of `traffic` out, each key once or rarely more.

    `prepared`: what makes facts of a batch.
    """
    bits = _row_bits(fleet)
    keys = key_names(bits)

    def unpacked(batch: pa.RecordBatch) -> pa.RecordBatch:
        longs = {name: whole_longs(batch.column(name)) for name in keys}
        values = unpacked_arrays(longs, bits)
        arrays = [pa.array(values[name]) for name in ROW]
        return pa.RecordBatch.from_arrays([*arrays, batch.column("bytes")], [*ROW, "bytes"])

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = Groups(keys, ["bytes"])
        for batch in batches:
            columns = _row_columns(prepared(batch), fleet)
            packed = packed_arrays(columns, bits)
            groups.add(pa.table({**packed, "bytes": columns["bytes"]}))
            if groups.is_full:
                yield from map(unpacked, groups.take())
        yield from map(unpacked, groups.take())

    return work


def _row_bits(fleet: CodedFleet) -> dict[str, int]:
    """Column of `ROW` -> its width in bits, so that a task groups one or two longs, not ten."""
    width = fleet.brokers + 1
    via = max(width, len(fleet.members) + 1) * width
    racks = len(fleet.racks).bit_length()
    return {
        "day": DAY_BITS,
        "cluster": len(fleet.clusters).bit_length(),
        "kind": (len(KINDS) - 1).bit_length(),
        "source": (len(SOURCES) - 1).bit_length(),
        "quality": (len(QUALITIES) - 1).bit_length(),
        "topic": len(fleet.topics).bit_length(),
        "via": via.bit_length(),
        "client": len(fleet.clients).bit_length(),
        "from_rack": racks,
        "to_rack": racks,
    }


def with_precedence(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of `traffic` of the most trusted source of a cluster, day and kind; and the rest."""
    is_billed = pa.array(are_most_trusted(columns_of(rows, SOURCE_OF)))
    return rows.filter(is_billed), rows.filter(pc.invert(is_billed))


def are_most_trusted(columns: Mapping[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Whether no other row of the cluster, day and kind has a more trusted source; shape (n,).

    `columns`: those of SOURCE_OF, shape (n,) each.
    """
    rank = _RANKS[columns["source"]]
    place = (columns["cluster"] << IP_BITS) | (columns["day"] << 2) | columns["kind"]
    _, group = np.unique(place, return_inverse=True)
    best = np.full(int(group.max(initial=-1)) + 1, len(PRECEDENCE) + 1)
    np.minimum.at(best, group, rank)
    found: NDArray[np.bool_] = rank == best[group]
    return found


def merge_sources(rows: pa.Table) -> pa.Table:
    """Bytes per `KEPT`: combines rows that differ only in source or `via`."""
    return summed_longs(columns_of(rows, (*KEPT, "bytes")), KEPT)


def apportion(rows: pa.Table, weights: pa.Table, brokers: int) -> pa.Table:
    """Bytes per `KEPT`, with the bytes of rows without a topic spread over topics.

    `rows`: the result of `traffic`; `weights`: WEIGHT, each above 0; `brokers`: the number of
    brokers of the fleet. The quality of a spread row becomes apportioned, or estimated where it was
    that or where the weights are (BY_SIZE). Each row equals the result of `core.traffic.apportion`.
    """
    sets = _WeightSets(weights)
    is_unnamed = whole_longs(rows.column("topic")) == 0
    chosen = np.full(len(rows), -1)
    chosen[is_unnamed] = sets.choose(rows.filter(pa.array(is_unnamed)), brokers)
    parts = [merge_sources(rows.filter(pa.array(chosen < 0)))]
    spread = rows.filter(pa.array(chosen >= 0))
    of_spread = chosen[chosen >= 0]
    ends = np.cumsum(sets.sizes[of_spread])
    first = 0
    while first < len(spread):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + MOST_SPREAD, side="right")))
        block = spread.slice(first, last - first)
        parts.append(merge_sources(sets.spread(block, of_spread[first:last])))
        first = last
    return merge_sources(pa.concat_tables(parts))


class _WeightSets:
    """Sets of weights, each in order of topics and clients."""

    def __init__(self, weights: pa.Table) -> None:
        column = columns_of(weights, (*SET, "topic", "client", "weight"))
        order = np.lexsort([column[name] for name in ("client", "topic", *SET[::-1])])
        self._topic, self._client = column["topic"][order], column["client"][order]
        self._weight = column["weight"][order]
        keys = np.column_stack([column[name][order] for name in SET])
        is_first = np.ones(len(keys), dtype=bool)
        is_first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        # Per set, shape (sets,): the place of its first weight, its number of weights, its basis.
        self._first = np.flatnonzero(is_first)
        self.sizes = np.diff(np.append(self._first, len(keys)))
        self._basis = keys[self._first, 0]
        self._found = {
            basis: (
                np.flatnonzero(self._basis == basis),
                PairIndex(
                    keys[self._first][self._basis == basis, 1],
                    keys[self._first][self._basis == basis, 2],
                ),
            )
            for basis in BASES
        }
        # The sum of a set may need more than 63 bits; only smaller ones are used as longs.
        starts = self._first if len(self._first) else np.zeros(0, dtype=np.int64)
        self._whole_estimated = _sums(self._weight.astype(np.float64), starts)
        self._whole = _sums(self._weight, starts)

    def choose(self, unnamed: pa.Table, brokers: int) -> NDArray[np.int64]:
        """The set of each row without a topic, -1 where there is none; shape (n,)."""
        names = ("kind", "client", "via", "cluster", "day")
        row = columns_of(unnamed, names)
        chosen = np.full(len(unnamed), -1)
        for is_fit, basis, place, day in _choices(row, brokers):
            sets, index = self._found[basis]
            rows = np.flatnonzero(is_fit & (chosen < 0))
            if len(sets) and len(rows):
                found = index.find(place[rows], day[rows])
                chosen[rows[found >= 0]] = sets[found[found >= 0]]
        return chosen

    def spread(self, rows: pa.Table, chosen: NDArray[np.int64]) -> pa.Table:
        """A row for each row and weight of its set, if it has bytes; `chosen`: the sets."""
        total = whole_longs(rows.column("bytes"))
        counts = self.sizes[chosen]
        starts = np.cumsum(counts) - counts
        # Shape (expanded rows,): the row, and the place of its weight.
        row = np.repeat(np.arange(len(chosen)), counts)
        weight = np.arange(len(row)) - np.repeat(starts - self._first[chosen], counts)
        share = np.zeros(len(row), dtype=np.int64)
        is_easy = are_divisible(total, self._whole_estimated[chosen])
        easy = np.flatnonzero(is_easy[row])
        share[easy] = self._shares(total, chosen, row[easy], weight[easy])
        for each in np.flatnonzero(~is_easy).tolist():
            own = slice(int(starts[each]), int(starts[each] + counts[each]))
            share[own] = apportioned(int(total[each]), self._weight[weight[own]].tolist())
        kept = np.flatnonzero(share > 0)
        row, weight = row[kept], weight[kept]
        is_estimated = self._basis[chosen[row]] == BY_SIZE
        quality = whole_longs(rows.column("quality"))[row]
        columns = columns_of(rows, KEPT)
        return pa.table(
            {name: values[row] for name, values in columns.items()}
            | {
                "topic": self._topic[weight],
                "client": self._client[weight],
                "quality": np.maximum(quality, np.where(is_estimated, ESTIMATED, APPORTIONED)),
                "bytes": share[kept],
            }
        )

    def _shares(
        self,
        total: NDArray[np.int64],
        chosen: NDArray[np.int64],
        row: NDArray[np.int64],
        weight: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """`core.traffic.apportion` of each row; `row` ascends, and has all weights of its set."""
        share, remainder = divided(total[row], self._weight[weight], self._whole[chosen][row])
        rest = total.copy()
        np.subtract.at(rest, row, share)
        # The first of each row by falling remainder, then by topic and client, which is the order.
        order = np.lexsort((-remainder, row))
        of_row = row[order]
        is_first = np.ones(len(of_row), dtype=bool)
        is_first[1:] = of_row[1:] != of_row[:-1]
        start = np.flatnonzero(is_first)
        place = np.arange(len(of_row)) - np.repeat(start, np.diff(np.append(start, len(of_row))))
        share[order] += place < rest[of_row]
        return share


def _sums(values: NDArray[Number], starts: NDArray[np.int64]) -> NDArray[Number]:
    """The sums of the values from each start to the next."""
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def client_place(
    cluster: NDArray[np.int64], kind: NDArray[np.int64], client: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The `place` of the weights of a client group and a kind."""
    return (cluster << (IP_BITS + 2)) | (kind << IP_BITS) | client


def _choices(
    row: Columns, brokers: int
) -> Iterator[tuple[NDArray[np.bool_], int, NDArray[np.int64], NDArray[np.int64]]]:
    """Where it applies, the basis, place and day of each set of weights, the first choice first."""
    kind, client, via, day = (row[name] for name in ("kind", "client", "via", "day"))
    is_copy, is_read = kind == REPLICATE, kind == FETCH
    is_sent = ~is_copy & ~is_read
    address, broker = np.divmod(via, brokers + 1)
    by_client = client_place(row["cluster"], kind, client)
    has_address, has_broker = address != 0, broker != 0
    every_day = np.full(len(day), EVERY_DAY)
    for is_fit, basis, place in (
        (is_copy, BY_COPIED, via),
        (is_copy, BY_PAIR, via),
        (~is_copy & (client != 0), BY_CLIENT, by_client),
        (is_read & has_broker, BY_READ, via),
        (is_sent & has_broker, BY_LED, broker),
        (~is_copy, BY_CLIENT, by_client),
        (~is_copy & has_address, BY_ADDRESS, address),
        (is_read & has_broker, BY_READ, broker),
        (is_read & has_broker, BY_LED, broker),
        (~is_copy & has_broker, BY_SIZE, broker),
    ):
        if basis in {BY_COPIED, BY_READ, BY_LED}:
            yield is_fit, basis, place, day
        yield is_fit, basis, place, every_day
