"""Facts to traffic: bytes per day, kind, topic, client group and rack pair, in one pass.

Goals, in order:

1. Every byte of a fact is in exactly one row.
2. One hash aggregate reads the facts. All other steps are roll-ups of its small result.
3. Names are never joined to the facts.

One key. The fields of the key are small integers. They are packed into one long, and each field is
as wide as its largest code (`packing`). The aggregate therefore hashes eight bytes.

Flow logs contain no topics. Instead of the topic, such a row keeps a value that identifies its
possible topics (`via`): the address of a group member and the broker that it talks to, or the two
brokers of a replication flow. An address that is no member's counts as 0.
`apportion` then spreads each row over topics by weights (`weights.py`). Each topic gets
`floor(B * w / W)` bytes. The remaining bytes go one each to the largest remainders, ties by code.
Sums are therefore exact. Without weights, the topic stays unknown.

Precedence. Several sources can report the same cluster, day and kind. Only the most trusted of them
is billed. The other sources serve as weights. Sources are never added.

What this does not do: join prices and names (`cost`); determine the racks of a fact (`ingest`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import DecimalType

from rackwise.core.traffic import PRECEDENCE
from rackwise.pipeline.columns.addresses import keyed, never_null
from rackwise.pipeline.columns.clock import DAY_BITS
from rackwise.pipeline.columns.packing import packed, unpacked
from rackwise.pipeline.fleet.members import member_places
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
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet

IP_BITS = 32
CLUSTER_BITS = 24
"""Bits of a cluster code in a key of (address, cluster)."""

ROW = (
    *("day", "cluster", "kind", "source", "quality"),
    *("topic", "via", "client", "from_rack", "to_rack"),
)
"""The columns that identify a row of `traffic`."""
KEPT = ("day", "cluster", "kind", "topic", "client", "from_rack", "to_rack", "quality")
"""The columns that identify a row of `apportion`."""

SET = ("basis", "place", "set_day")
"""The columns that identify a set of weights; `set_day` is its `day` in WEIGHT."""
EVERY_DAY = 0
"""The day of a set of weights for every day without a set of its own."""
BY_CLIENT, BY_ADDRESS, BY_PAIR, BY_READ, BY_LED, BY_COPIED, BY_SIZE = range(1, 8)
"""What a set of weights is about; see `weights`."""


def traffic(facts: DataFrame, fleet: Fleet) -> DataFrame:
    """Bytes per `ROW`: the columns of TRAFFIC with `source` and `via`; `facts`: FLOW_FACT.

    `via` identifies the possible topics. It is 0 if the topic is known or cannot be determined.
    """
    addresses = member_addresses(fleet)
    bits = _bits(fleet, len(addresses))
    values = unpacked(bits)
    is_via = values["is_via"] == 1
    columns = {
        **values,
        "topic": F.when(is_via, F.lit(0)).otherwise(values["spot"]),
        "via": F.when(is_via, values["spot"]).otherwise(F.lit(0)),
    }
    types = {"via": "long", "kind": "tinyint", "source": "tinyint", "quality": "tinyint"}
    return (
        with_via(facts, fleet, addresses)
        .groupBy(*packed(_values(), bits).values())
        .agg(F.sum("bytes").alias("bytes"))
        .select(*(columns[name].cast(types.get(name, "int")).alias(name) for name in ROW), "bytes")
    )


def with_precedence(rows: DataFrame) -> DataFrame:
    """The rows of `traffic` with `is_billed`: true for the most trusted source of its place."""
    ranks = [PRECEDENCE.index(name) if name in PRECEDENCE else len(PRECEDENCE) for name in SOURCES]
    rank = F.get(F.array(*map(F.lit, ranks)), F.col("source").cast("int"))
    place = ("day", "cluster", "kind")
    best = rows.groupBy(*place).agg(F.min(rank).alias("best"))
    joined = rows.join(F.broadcast(best), list(place))
    return joined.withColumn("is_billed", rank == F.col("best")).drop("best")


def apportion(rows: DataFrame, weights: DataFrame, brokers: int) -> DataFrame:
    """TRAFFIC with the bytes of rows without a topic spread over topics.

    `rows`: the result of `traffic`; `weights`: WEIGHT, each above 0; `brokers`: the number of
    brokers of the fleet. The quality of a spread row becomes apportioned, or estimated where it was
    that or where the weights are (BY_SIZE). Each row equals the result of `core.traffic.apportion`.
    """
    unnamed = _with_weight_set(rows.where(F.col("topic") == 0), weights, brokers)
    left_out = unnamed.where(F.col("basis") == 0)
    renamed = {"day": "set_day", "topic": "to_topic", "client": "to_client"}
    product = F.col("bytes").cast(DecimalType(20, 0)) * F.col("weight").cast(DecimalType(18, 0))
    shared = (
        unnamed.where(F.col("basis") != 0)
        .join(weights.withColumnsRenamed(renamed), list(SET))
        .withColumns(
            {
                "share": F.call_function("div", product, F.col("whole")),
                "remainder": product % F.col("whole"),
            }
        )
    )
    row = Window.partitionBy(*ROW)
    place = F.row_number().over(row.orderBy(F.desc("remainder"), "to_topic", "to_client"))
    rest = F.col("bytes") - F.sum("share").over(row)
    spread = shared.withColumns(
        {
            "bytes": F.col("share") + (place <= rest).cast("long"),
            "topic": F.col("to_topic"),
            "client": F.col("to_client"),
            "quality": F.greatest(
                F.col("quality"),
                F.when(F.col("basis") == BY_SIZE, ESTIMATED).otherwise(APPORTIONED).cast("tinyint"),
            ),
        }
    )
    return merge_sources(
        rows.where(F.col("topic") != 0)
        .select(*ROW, "bytes")
        .unionByName(left_out.select(*ROW, "bytes"))
        .unionByName(spread.where(F.col("bytes") > 0).select(*ROW, "bytes"))
    )


def merge_sources(rows: DataFrame) -> DataFrame:
    """TRAFFIC: combines rows that differ only in source or `via`."""
    return rows.groupBy(*KEPT).agg(F.sum("bytes").alias("bytes"))


def client_place(cluster: Column, kind: Column, client: Column) -> Column:
    """The `place` of the weights of a client group and a kind; long."""
    wide = F.shiftleft(cluster.cast("long"), IP_BITS + 2)
    return wide.bitwiseOR(F.shiftleft(kind.cast("long"), IP_BITS)).bitwiseOR(client.cast("long"))


def _with_weight_set(unnamed: DataFrame, weights: DataFrame, brokers: int) -> DataFrame:
    """Adds `basis` (0 = no weights for the row), `place`, `set_day`, and `whole`, their sum.

    `brokers`: the number of brokers of the fleet, which divides `via`.
    """
    dated = weights.withColumnRenamed("day", "set_day")
    sets = dated.groupBy(*SET).agg(F.sum("weight").cast(DecimalType(20, 0)).alias("whole"))
    choices = [
        F.when(
            is_fit,
            F.struct(
                F.lit(order).alias("order"),
                F.lit(basis).alias("basis"),
                place.alias("place"),
                day.cast("int").alias("set_day"),
            ),
        )
        for order, (is_fit, basis, place, day) in enumerate(_choices(brokers))
    ]
    choice = F.explode_outer(F.array_compact(F.array(*choices)))
    order = F.when(F.col("whole").isNotNull(), F.col("order"))
    first = F.min_by(F.struct(*SET, "whole"), order)
    return (
        unnamed.select(*unnamed.columns, choice.alias("choice"))
        .select(*unnamed.columns, "choice.*")
        .join(F.broadcast(sets), list(SET), "left")
        .groupBy(*unnamed.columns)
        .agg(first.alias("first"))
        .select(
            *unnamed.columns,
            F.coalesce("first.basis", F.lit(0)).alias("basis"),
            F.coalesce("first.place", F.lit(0)).alias("place"),
            F.coalesce("first.set_day", F.lit(EVERY_DAY)).alias("set_day"),
            "first.whole",
        )
    )


def _choices(brokers: int) -> Iterator[tuple[Column, int, Column, Column]]:
    """Where it applies, the basis, place and day of each set of weights, the first choice first."""
    kind, client, via = F.col("kind"), F.col("client"), F.col("via")
    is_copy, is_read = kind == REPLICATE, kind == FETCH
    is_sent = ~is_copy & ~is_read
    address, broker = _div(via, brokers + 1), via % (brokers + 1)
    by_client = client_place(F.col("cluster"), kind, client)
    has_address, has_broker = address != 0, broker != 0
    every_day = F.lit(EVERY_DAY)
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
            yield is_fit, basis, place, F.col("day")
        yield is_fit, basis, place, every_day


def _div(value: Column, by: int) -> Column:
    return F.call_function("div", value, F.lit(by))


def member_addresses(fleet: Fleet) -> dict[tuple[int, int], int]:
    """(cluster code, address as a long) of group members -> code, dense from 1 in that order."""
    return {place: code for code, place in enumerate(member_places(fleet), start=1)}


def _values() -> dict[str, Column]:
    """The fields of the key; `spot` is the topic, or `via` if the topic is unknown."""
    is_via = (F.col("topic") == 0) & (F.col("via") != 0)
    is_produce = F.col("kind") == PRODUCE
    far = F.when(F.col("peer") != 0, F.col("peer_rack")).otherwise(F.col("client_rack"))
    near = F.col("broker_rack")
    as_is = ("day", "cluster", "kind", "source", "quality", "client")
    return {name: F.col(name) for name in as_is} | {
        "from_rack": F.when(is_produce, far).otherwise(near),
        "to_rack": F.when(is_produce, near).otherwise(far),
        "is_via": is_via.cast("int"),
        "spot": F.when(is_via, F.col("via")).otherwise(F.col("topic").cast("long")),
    }


def _bits(fleet: Fleet, addresses: int) -> dict[str, int]:
    names = fleet.names
    racks = len(names.racks).bit_length()
    spots = (_pairs(fleet), (addresses + 1) * (len(names.brokers) + 1), len(names.topics))
    return {
        "day": DAY_BITS,
        "cluster": len(names.clusters).bit_length(),
        "kind": (len(KINDS) - 1).bit_length(),
        "source": (len(SOURCES) - 1).bit_length(),
        "quality": (len(QUALITIES) - 1).bit_length(),
        "from_rack": racks,
        "to_rack": racks,
        "client": len(names.clients).bit_length(),
        "is_via": 1,
        "spot": max(spot.bit_length() for spot in spots),
    }


def _pairs(fleet: Fleet) -> int:
    """The number of codes for pairs of brokers: sender * (brokers + 1) + receiver."""
    return (len(fleet.names.brokers) + 1) ** 2


def with_via(facts: DataFrame, fleet: Fleet, addresses: Mapping[tuple[int, int], int]) -> DataFrame:
    """Adds `via`; `addresses`: the result of `member_addresses`."""
    width = len(fleet.names.brokers) + 1
    broker = F.col("broker").cast("long")
    is_pair = (F.col("peer") != 0) & (F.col("broker") != 0)
    pair = F.when(is_pair, broker * width + F.col("peer"))
    if not addresses:
        return facts.withColumn("via", F.coalesce(pair, broker))
    known = facts.sparkSession.createDataFrame(
        pa.table(
            {
                "_ip": pa.array([ip for _, ip in addresses], pa.int64()),
                "_cluster": pa.array([cluster for cluster, _ in addresses], pa.int32()),
                "_address": pa.array(list(addresses.values()), pa.int64()),
            }
        )
    ).select(
        never_null(keyed(F.col("_ip"), F.col("_cluster"), CLUSTER_BITS)).alias("_place"), "_address"
    )
    place = keyed(F.col("client_ip"), F.col("cluster"), CLUSTER_BITS)
    client = F.coalesce(F.col("_address"), F.lit(0)) * width + broker
    return (
        facts.withColumn("_place", place)
        .join(F.broadcast(known), "_place", "left")
        .withColumn("via", F.coalesce(pair, client))
    )
