"""Who is a broker: the addresses and listeners of a fleet, at every hour that snapshots speak for.

A listener is an address with a port: what talks to it talks Kafka. An address within a cluster
tells whether the other end is a broker of the same cluster.

With a history of snapshots, what is found is what the latest snapshot at or before the hour says. A
broker that this snapshot does not know, and another one does, is taken from the nearest earlier
one, else from the nearest later one: bytes are not lost between two snapshots, and the fact is an
estimate.

```
hour       07 08 09 10 11        snapshot A (first hour 08) has 10.2.0.9 as broker 1,
10.2.0.9   e  1  1  e  e         snapshot B (first hour 10) has it not     e: broker 1, estimated
```

Between the first hours of two snapshots nothing changes: such a span is one row per broker, so that
a month of daily snapshots is thirty rows and not seven hundred.

What this does not do: ask DNS.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import from_arrow_schema

from rackwise.pipeline.columns.addresses import NONE, PairIndex, address_number, keyed, never_null
from rackwise.pipeline.columns.clock import hour_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet, SeenBroker

HOUR_BITS = 32
PORT_BITS = 17

Key = TypeVar("Key")


class Found(NamedTuple):
    """A broker as one snapshot tells it, in the order that decides between several of them.

    `since`: first hour its snapshot speaks for, before it all is a guess; `is_carried`: another
    snapshot speaks for this hour, and does not know it.
    """

    is_carried: bool
    cluster: int
    broker: int
    rack: int
    since: int


Spans: TypeAlias = "list[tuple[int, Found]]"
"""First hours, ascending from 0, and who is there from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Arrays of `Found`, shape (n,) each; `cluster` is 0 where nobody was found."""

    is_carried: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    broker: NDArray[np.int64]
    rack: NDArray[np.int64]
    since: NDArray[np.int64]

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Whether somebody was found."""
        is_there: NDArray[np.bool_] = self.cluster != 0
        return is_there

    def is_estimated(self, hours: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether what was found is said of an hour of which no snapshot speaks."""
        return self.is_carried | (hours < self.since)

    def at(self, places: NDArray[np.int64]) -> Seen:
        """Those at some places."""
        return Seen(**{name: getattr(self, name)[places] for name in Found._fields})

    def or_else(self, other: Seen) -> Seen:
        """`other` where nobody was found."""
        return chosen(self.is_there, self, other)


class Lookup:
    """Brokers by an address or a code and a small number (a port, a cluster) at an hour."""

    def __init__(self, spans: Mapping[tuple[int, int], Spans]) -> None:
        self._index = PairIndex((ip for ip, _ in spans), (small for _, small in spans))
        every = [
            (row << HOUR_BITS | hour, *found)
            for row, own in enumerate(spans.values())
            for hour, found in own
        ]
        nobody = (-1, *Found(is_carried=False, cluster=0, broker=0, rack=0, since=0))
        self._begins, *columns = np.array([nobody, *every], dtype=np.int64).T.copy()
        self._columns = dict(zip(Found._fields, columns, strict=True))
        self._is_one_span = len(every) == len(spans)

    def find(
        self, ips: NDArray[np.int64], smalls: NDArray[np.int64], hours: NDArray[np.int64]
    ) -> Seen:
        """Who is there, per row; shape (n,) each. `hours`: since 1970-01-01 UTC, from 0."""
        rows = self._index.find(ips, smalls)
        if self._is_one_span:
            places = rows + 1
        else:
            places = np.searchsorted(self._begins, rows << HOUR_BITS | hours, side="right") - 1
            places[rows < 0] = 0
        found = {name: column[places] for name, column in self._columns.items()}
        return Seen(**found | {"is_carried": found["is_carried"] != 0})


def chosen(is_first: NDArray[np.bool_], first: Seen, second: Seen) -> Seen:
    """`first` where it holds, else `second`."""
    return Seen(
        **{
            name: np.where(is_first, getattr(first, name), getattr(second, name))
            for name in Found._fields
        }
    )


def by_listener(fleet: Fleet) -> Lookup:
    """By address and port."""
    brokers = fleet.seen_brokers
    keyed = [((ip, port), b) for b in brokers for ip in _ips(b) for port in b.ports]
    return Lookup(_spans(keyed, fleet.speaking))


def by_address(fleet: Fleet) -> Lookup:
    """By address and cluster; of several brokers there, the one of least code."""
    keyed = [((ip, b.cluster), b) for b in fleet.seen_brokers for ip in _ips(b)]
    return Lookup(_spans(keyed, fleet.speaking))


def by_code(fleet: Fleet) -> Lookup:
    """By code and cluster."""
    return Lookup(_spans([((b.broker, b.cluster), b) for b in fleet.seen_brokers], fleet.speaking))


def with_listeners(
    df: DataFrame, fleet: Fleet, ip: Column, port: Column, at: Column, *, into: str
) -> DataFrame:
    """Adds `into`, the code of the broker that listens there at an epoch second, or null.

    Else it is the one broker of all clusters that has the address, whatever its port.
    """
    brokers = fleet.seen_brokers
    listening = [((ip, port), b) for b in brokers for ip in _ips(b) for port in b.ports]
    owners: dict[int, set[int]] = {}
    for broker in brokers:
        for address in _ips(broker):
            owners.setdefault(address, set()).add(broker.broker)
    alone = [((ip,), b) for b in brokers for ip in _ips(b) if len(owners[ip]) == 1]
    there = _joined(df, fleet, listening, _listener_key, (ip, port), at, into="_there")
    found = _joined(there, fleet, alone, lambda ip: ip, (ip,), at, into="_owner")
    return found.withColumn(into, F.coalesce("_there", "_owner")).drop("_there", "_owner")


def _listener_key(ip: Column, port: Column) -> Column:
    return keyed(ip, port, PORT_BITS)


def _joined(
    df: DataFrame,
    fleet: Fleet,
    told: Sequence[tuple[tuple[int, ...], SeenBroker]],
    key: Callable[..., Column],
    own: tuple[Column, ...],
    at: Column,
    *,
    into: str,
) -> DataFrame:
    """Adds `into`: the broker told for a key, which is a long made of the numbers in `own`."""
    names = [f"_{place}" for place in range(len(own))]
    rows = [
        {
            **dict(zip(names, numbers, strict=True)),
            "_spans": [{"hour": hour, "broker": found.broker} for hour, found in each],
        }
        for numbers, each in _spans(told, fleet.speaking).items()
    ]
    found = pa.list_(pa.struct([("hour", pa.int32()), ("broker", pa.int32())]))
    schema = pa.schema([*((name, pa.int64()) for name in names), ("_spans", found)])
    table = pa.Table.from_pylist(rows, schema)
    frame = df.sparkSession.createDataFrame(table, from_arrow_schema(schema)).select(
        never_null(key(*map(F.col, names))).alias("_key"), "_spans"
    )
    span = F.get("_spans", F.lit(0))
    if fleet.has_history:
        begun = F.filter("_spans", lambda one: one.getField("hour") <= hour_of(at))
        span = F.try_element_at(begun, F.lit(-1))
    return (
        df.withColumn("_key", key(*own))
        .join(F.broadcast(frame), "_key", "left")
        .withColumn(into, span.getField("broker"))
        .drop("_key", "_spans")
    )


def _ips(broker: SeenBroker) -> list[int]:
    return [ip for ip, _ in map(address_number, broker.addresses) if ip != NONE]


def _spans(
    keyed: Iterable[tuple[Key, SeenBroker]], speaking: Mapping[int, Sequence[int]]
) -> dict[Key, Spans]:
    """Each key with the hours from which somebody else, or somebody otherwise, is there."""
    told: dict[Key, dict[int, dict[int, Found]]] = {}
    for key, seen in keyed:
        found = Found(
            is_carried=False,
            cluster=seen.cluster,
            broker=seen.broker,
            rack=seen.rack,
            since=seen.since,
        )
        own = told.setdefault(key, {}).setdefault(seen.cluster, {})
        own[seen.since] = min(found, own.get(seen.since, found))
    return {
        key: [
            (hour, min(_at(hour, own, speaking[cluster]) for cluster, own in per_cluster.items()))
            for hour in _begins(speaking[cluster] for cluster in per_cluster)
        ]
        for key, per_cluster in told.items()
    }


def _begins(first_hours: Iterable[Sequence[int]]) -> list[int]:
    """Hours from 0 at which some snapshot takes over from an earlier one."""
    return sorted({0, *(hour for own in first_hours for hour in own[1:] if hour > 0)})


def _at(hour: int, told: Mapping[int, Found], first_hours: Sequence[int]) -> Found:
    """What is told at an hour, else what was last, else what will be first."""
    speaks = first_hours[max(bisect_right(first_hours, hour) - 1, 0)]
    if speaks in told:
        return told[speaks]
    since = max((hour for hour in told if hour < speaks), default=min(told))
    return told[since]._replace(is_carried=True)
