"""Who is a broker: addresses and listeners of a fleet as small frames to look facts up in.

Two lookups, both by one long. A listener is an address with a port: what talks to it talks Kafka.
An address within a cluster tells whether the other end is a broker of the same cluster.

With a history of snapshots, both hold one row per hour, and what was looked up is what the latest
snapshot at or before that hour says. An address that this snapshot does not know, and another one
does, is taken from the nearest earlier one, else the nearest later one: bytes are not lost between
two snapshots, and the fact is an estimate.

```
hour       07 08 09 10 11        snapshot A (first hour 08) has 10.2.0.9 as broker 1,
10.2.0.9   e  1  1  e  e         snapshot B (first hour 10) has it not     e: broker 1, estimated
```

What this does not do: ask DNS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.addresses import PORT_BITS, keyed, never_null, with_addresses
from rackwise.pipeline.clock import hour_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet import Fleet

CLUSTER_BITS = 24
FOUND = ("cluster", "broker", "rack", "since", "is_carried")
"""What a lookup gives; `since`: first hour its snapshot speaks for, before it all is a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """`frame`: `key` (and `hour` where there is a history) -> `found`, a struct of `FOUND`."""

    frame: DataFrame
    fleet: Fleet

    def join(self, df: DataFrame, key: Column, at: Column, *, into: str) -> DataFrame:
        """Adds `into`, the struct found for `key` at the epoch second `at`, or null."""
        names = {name: f"_{into}_{name}" for name in ("key", "hour") if name in self.frame.columns}
        asked = {"key": key, "hour": self._hour(at)}
        frame = self.frame.select(
            *(F.col(name).alias(own) for name, own in names.items()), F.col("found").alias(into)
        )
        return (
            df.select("*", *(asked[name].alias(own) for name, own in names.items()))
            .join(F.broadcast(frame), list(names.values()), "left")
            .drop(*names.values())
        )

    def _hour(self, at: Column) -> Column:
        first, last = F.lit(self.fleet.first_hour), F.lit(self.fleet.last_hour)
        return F.least(F.greatest(hour_of(at), first), last).cast("int")


def is_estimated(found: Column, at: Column) -> Column:
    """Whether what was found is said of an hour of which no snapshot speaks."""
    return found.getField("is_carried") | (hour_of(at) < found.getField("since"))


def by_listener(fleet: Fleet) -> Lookup:
    """By `listener_key` of address and port."""
    addresses = _addresses(fleet).withColumn("port", F.explode("ports"))
    return _lookup(addresses, listener_key(F.col("_ip"), F.col("port")), fleet)


def by_address(fleet: Fleet) -> Lookup:
    """By `address_key` of address and cluster; of several brokers there, the one of least code."""
    return _lookup(_addresses(fleet), address_key(F.col("_ip"), F.col("cluster")), fleet)


def by_broker(fleet: Fleet) -> Lookup:
    """By the code of a broker."""
    return _lookup(_spoken(fleet), F.col("broker").cast("long"), fleet)


def listener_key(ip: Column, port: Column) -> Column:
    """The long that stands for an address and a port."""
    return keyed(ip, port, PORT_BITS)


def address_key(ip: Column, cluster: Column) -> Column:
    """The long that stands for an address within a cluster."""
    return keyed(ip, cluster, CLUSTER_BITS)


def _spoken(fleet: Fleet) -> DataFrame:
    """Brokers with the hour since when their snapshot speaks."""
    since = hour_of(F.unix_seconds("valid_from")).cast("int")
    return fleet.brokers.withColumn("since", since)


def _addresses(fleet: Fleet) -> DataFrame:
    """One row per address of a broker, which is `_ip`."""
    exploded = _spoken(fleet).withColumn("address", F.explode("addresses"))
    return with_addresses(exploded, {"": F.col("address")})


def _lookup(brokers: DataFrame, key: Column, fleet: Fleet) -> Lookup:
    """The rows `cluster broker rack since valid_from` as a lookup by `key`."""
    rows = brokers.withColumns({"key": never_null(key), "is_carried": F.lit(0) == 1})
    if not fleet.has_history:
        return Lookup(frame=_one_each(rows, ["key"]), fleet=fleet)
    told = rows.select("key", "valid_from", F.struct(*FOUND).alias("told"))
    told = told.groupBy("key", "valid_from").agg(F.min("told").alias("told"))
    every = (
        rows.select("key", "cluster")
        .distinct()
        .join(F.broadcast(fleet.hours), "cluster")
        .join(F.broadcast(told), ["key", "valid_from"], "left")
    )
    return Lookup(frame=_one_each(_carried(every), ["key", "hour"]), fleet=fleet)


def _carried(every: DataFrame) -> DataFrame:
    """Each key at each hour: what is told of it, else what was last, else what will be first."""
    hours = Window.partitionBy("key", "cluster").orderBy("hour")
    before = F.last("told", ignorenulls=True).over(hours)
    after = F.first("told", ignorenulls=True).over(
        hours.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    found = F.coalesce(before, after)
    return every.select(
        *("key", "hour", "cluster"),
        *(found.getField(name).alias(name) for name in ("broker", "rack", "since")),
        F.col("told").isNull().alias("is_carried"),
    )


def _one_each(rows: DataFrame, keys: list[str]) -> DataFrame:
    """One row per key: a second one would double facts. What is told wins over what is carried."""
    first = F.struct("is_carried", *(name for name in FOUND if name != "is_carried"))
    chosen = rows.groupBy(*keys).agg(F.min(first).alias("first"))
    return chosen.select(
        *keys, F.struct(*(F.col("first")[n].alias(n) for n in FOUND)).alias("found")
    )
