"""Lookup of brokers by address, listener or code, for every hour that snapshots cover.

A listener is an address with a port, and a flow to it is Kafka traffic. The address of the other
end of the flow says whether that end is a broker of the same cluster.

With a history of snapshots, the latest snapshot at or before the hour decides. If it lacks a broker
that another snapshot has, the nearest earlier snapshot with the broker decides; if there is none,
the nearest later one decides. So no bytes are lost between two snapshots, and the result is an
estimate.

```
hour       07 08 09 10 11        snapshot A (first hour 08) has 10.2.0.9 as broker 1,
10.2.0.9   e  1  1  e  e         snapshot B (first hour 10) lacks it       e: broker 1, estimated
```

Nothing changes between the first hours of two snapshots, so such a span is one row per broker: a
month of daily snapshots is 30 rows instead of 720.

What this does not do: query DNS.
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
from rackwise.pipeline.columns.clock import HOUR_S, hour_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet, FleetBroker

HOUR_BITS = 32
"""Bits of an hour in a key of (row, hour)."""
PORT_BITS = 17
"""Bits of a port in a key of (address, port)."""

Key = TypeVar("Key")


class BrokerAt(NamedTuple):
    """A broker in one snapshot; if several brokers match, the smallest tuple is used."""

    is_carried: bool
    """Whether another snapshot covers this hour and lacks the broker."""
    cluster: int
    """Cluster code."""
    broker: int
    """Broker code."""
    rack: int
    """Rack code; 0 for a broker without rack."""
    since: int
    """First hour that its snapshot covers."""
    seen_s: int
    """When it was seen as it is, in seconds since 1970; for earlier traffic it is a guess."""


Spans: TypeAlias = "list[tuple[int, BrokerAt]]"
"""First hours, ascending from 0, each with its broker from that hour on."""


class SpanColumns(NamedTuple):
    """Fields of `BrokerAt` as arrays, one element per span; element 0 is "no broker"."""

    is_carried: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    broker: NDArray[np.int64]
    rack: NDArray[np.int64]
    seen_s: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of spans."""
        return len(self.broker)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAt:
    """The broker of each of n rows; every array has shape (n,).

    A row has the index of a span. A field is read from the span when it is asked for, because most
    rows need few fields.
    """

    spans: SpanColumns
    places: NDArray[np.int64]
    """Index of the span of each row; 0 if no broker was found."""

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """Whether a broker was found."""
        is_found: NDArray[np.bool_] = self.places != 0
        return is_found

    @property
    def cluster(self) -> NDArray[np.int64]:
        """Cluster codes; 0 if no broker was found."""
        return self.spans.cluster[self.places]

    @property
    def broker(self) -> NDArray[np.int64]:
        """Broker codes; 0 if no broker was found."""
        return self.spans.broker[self.places]

    @property
    def rack(self) -> NDArray[np.int64]:
        """Rack codes; 0 for a broker without rack, and if no broker was found."""
        return self.spans.rack[self.places]

    def is_estimated(self, start_s: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the broker was seen only later, or another snapshot lacks it."""
        first_s = start_s.min(initial=np.iinfo(np.int64).max)
        if first_s >= self.spans.seen_s.max() and not self.spans.is_carried.any():
            return np.zeros(len(start_s), dtype=np.bool_)
        return self.spans.is_carried[self.places] | (start_s < self.spans.seen_s[self.places])

    def at(self, rows: NDArray[np.int64]) -> BrokersAt:
        """The brokers of some rows, given by their indices."""
        return BrokersAt(spans=self.spans, places=self.places[rows])


class BrokerLookup:
    """Finds brokers by an hour, an address or a code, and a small number (a port, a cluster)."""

    def __init__(self, spans: Mapping[tuple[int, int], Spans]) -> None:
        self._index = PairIndex((ip for ip, _ in spans), (small for _, small in spans))
        # One row per span, ascending by (index row, first hour) in one integer. Row 0 is "none".
        every = [
            (row << HOUR_BITS | hour, *found)
            for row, own in enumerate(spans.values())
            for hour, found in own
        ]
        none = (-1, *BrokerAt(is_carried=False, cluster=0, broker=0, rack=0, since=0, seen_s=0))
        self._begins, *columns = np.array([none, *every], dtype=np.int64).T.copy()
        fields = dict(zip(BrokerAt._fields, columns, strict=True))
        own = SpanColumns(**{name: fields[name] for name in SpanColumns._fields})
        self._spans = own._replace(is_carried=own.is_carried != 0)
        self._is_one_span = len(every) == len(spans)

    def find(
        self, ips: NDArray[np.int64], smalls: NDArray[np.int64], start_s: NDArray[np.int64]
    ) -> BrokersAt:
        """The broker of each row; shape (n,) each. `start_s`: seconds since 1970, from 0."""
        return self.find_coded(self.codes(ips), smalls, start_s)

    def codes(
        self,
        ips: NDArray[np.int64],
        prefix: NDArray[np.int64] | None = None,  # noqa: ARG002 (see `AddressReader.by_code`)
    ) -> NDArray[np.int64]:
        """A code of each address or code, -1 where no broker has it; shape (n,)."""
        return self._index.codes(ips)

    def find_coded(
        self, codes: NDArray[np.int64], smalls: NDArray[np.int64], start_s: NDArray[np.int64]
    ) -> BrokersAt:
        """The same as `find`, for `codes` of addresses."""
        rows = self._index.find_coded(codes, smalls)
        if self._is_one_span:
            places = rows + 1
        else:
            hours = start_s // HOUR_S
            places = np.searchsorted(self._begins, rows << HOUR_BITS | hours, side="right") - 1
            places[rows < 0] = 0
        return self.at(places)

    def at(self, spans: NDArray[np.int64]) -> BrokersAt:
        """The brokers of rows, given by the indices of their spans."""
        return BrokersAt(spans=self._spans, places=spans)


def by_listener(fleet: Fleet) -> BrokerLookup:
    """Brokers by address and port."""
    brokers = fleet.seen_brokers
    keyed = [((ip, port), b) for b in brokers for ip in _ips(b) for port in b.ports]
    return BrokerLookup(_spans(keyed, fleet.first_hours))


def by_address(fleet: Fleet) -> BrokerLookup:
    """Brokers by address and cluster; if several brokers match, the lowest code is used."""
    keyed = [((ip, b.cluster), b) for b in fleet.seen_brokers for ip in _ips(b)]
    return BrokerLookup(_spans(keyed, fleet.first_hours))


def by_code(fleet: Fleet) -> BrokerLookup:
    """Brokers by code and cluster."""
    return BrokerLookup(
        _spans([((b.broker, b.cluster), b) for b in fleet.seen_brokers], fleet.first_hours)
    )


def with_listeners(
    df: DataFrame, fleet: Fleet, ip: Column, port: Column, at: Column, *, into: str
) -> DataFrame:
    """Adds `into`: the code of the broker with that listener at an epoch second, or null.

    If no broker has the listener, `into` is the broker with that address on any port, provided that
    only one broker of all clusters has the address.
    """
    brokers = fleet.seen_brokers
    listening = [((ip, port), b) for b in brokers for ip in _ips(b) for port in b.ports]
    owners: dict[int, set[int]] = {}
    for broker in brokers:
        for address in _ips(broker):
            owners.setdefault(address, set()).add(broker.broker)
    alone = [((ip,), b) for b in brokers for ip in _ips(b) if len(owners[ip]) == 1]
    there = _with_broker(df, fleet, listening, _listener_key, (ip, port), at, into="_there")
    found = _with_broker(there, fleet, alone, lambda ip: ip, (ip,), at, into="_owner")
    return found.withColumn(into, F.coalesce("_there", "_owner")).drop("_there", "_owner")


def _listener_key(ip: Column, port: Column) -> Column:
    return keyed(ip, port, PORT_BITS)


def _with_broker(
    df: DataFrame,
    fleet: Fleet,
    seen: Sequence[tuple[tuple[int, ...], FleetBroker]],
    key: Callable[..., Column],
    own: tuple[Column, ...],
    at: Column,
    *,
    into: str,
) -> DataFrame:
    """Adds `into`: the broker of a key; the key is a long that combines the numbers in `own`."""
    names = [f"_{place}" for place in range(len(own))]
    rows = [
        {
            **dict(zip(names, numbers, strict=True)),
            "_spans": [{"hour": hour, "broker": found.broker} for hour, found in each],
        }
        for numbers, each in _spans(seen, fleet.first_hours).items()
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


def _ips(broker: FleetBroker) -> list[int]:
    return [ip for ip, _ in map(address_number, broker.addresses) if ip != NONE]


def _spans(
    keyed: Iterable[tuple[Key, FleetBroker]], first_hours: Mapping[int, Sequence[int]]
) -> dict[Key, Spans]:
    """Each key with the hours at which its broker, or the rack of its broker, changes."""
    by_key: dict[Key, dict[int, dict[int, BrokerAt]]] = {}
    for key, broker in keyed:
        found = BrokerAt(
            is_carried=False,
            cluster=broker.cluster,
            broker=broker.broker,
            rack=broker.rack,
            since=broker.since,
            seen_s=broker.seen_s,
        )
        own = by_key.setdefault(key, {}).setdefault(broker.cluster, {})
        own[broker.since] = min(found, own.get(broker.since, found))
    return {
        key: [
            (
                hour,
                min(_at(hour, own, first_hours[cluster]) for cluster, own in per_cluster.items()),
            )
            for hour in _begins(first_hours[cluster] for cluster in per_cluster)
        ]
        for key, per_cluster in by_key.items()
    }


def _begins(first_hours: Iterable[Sequence[int]]) -> list[int]:
    """Hours, from 0, at which a snapshot replaces an earlier one."""
    return sorted({0, *(hour for own in first_hours for hour in own[1:] if hour > 0)})


def _at(hour: int, seen: Mapping[int, BrokerAt], first_hours: Sequence[int]) -> BrokerAt:
    """The broker in the covering snapshot, else in the nearest earlier, else nearest later one."""
    covering = first_hours[max(bisect_right(first_hours, hour) - 1, 0)]
    if covering in seen:
        return seen[covering]
    since = max((hour for hour in seen if hour < covering), default=min(seen))
    return seen[since]._replace(is_carried=True)
