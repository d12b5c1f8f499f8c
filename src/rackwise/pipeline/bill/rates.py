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

All shares are whole bytes. The first shares get one byte more each until the remainder is used, so
sums are exact. Leaders, followers and assignments come from the last snapshot of a cluster. All
rows are estimates. A partition without a leader sends from and receives in an unknown rack.

What this does not do: model follower fetching (KIP-392), which moves the fetch of a member to its
own rack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from rackwise.pipeline.columns.clock import DAY_S, day_number
from rackwise.pipeline.schemas import (
    ESTIMATED,
    FETCH,
    FLOW_FACT,
    PRODUCE,
    REPLICATE,
    SOURCES,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.core.model import Group, GroupMember
    from rackwise.core.racks import Rack
    from rackwise.core.traffic import Rates
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf

SOURCE = SOURCES.index("rates")

_DAILY = StructType(
    [
        StructField("cluster", IntegerType()),
        StructField("topic", IntegerType()),
        StructField("client", IntegerType()),
        StructField("daily", LongType()),
    ]
)


def own_rack(_group: Group, member: GroupMember) -> Rack | None:
    """The rack that a member reports."""
    return member.rack


def unknown_topics(fleet: Fleet, rates: Rates) -> tuple[tuple[str, str], ...]:
    """The (cluster, topic) of rates without a partition in a last snapshot; sorted."""
    known = {
        (snapshot.name, topic)
        for snapshot in fleet.latest
        for topic in snapshot.cluster.partitions.topics
    }
    rated = {*rates.ins, *((cluster, topic) for cluster, topic, _ in rates.outs)}
    return tuple(sorted(rated - known))


def model_traffic(
    spark: SparkSession,
    fleet: Fleet,
    rates: Rates,
    days: Sequence[date],
    rack_of: RackOf = own_rack,
) -> DataFrame:
    """FLOW_FACT of the days, one row per day, partition and flow; quality estimated.

    `rack_of`: the rack of a member of a group; its racks have codes. Topics that are in no
    snapshot are left out; `unknown_topics` returns them.
    """
    partitions = _partitions(fleet)
    produced = _with_shares(partitions, _daily_in(spark, fleet, rates))
    fetched = _with_shares(partitions, _daily_out(spark, fleet, rates))
    flows = (
        _produce_flows(produced)
        .unionByName(_replicate_flows(produced, fleet))
        .unionByName(_fetch_flows(fetched, _assigned(spark, fleet, rack_of)))
    )
    numbers = F.array(*(F.lit(day_number(day)) for day in days))
    dated = flows.where(F.col("bytes") > 0).withColumn("day", F.explode(numbers))
    return dated.select(*(_fact(field) for field in FLOW_FACT))


def _fact(field: StructField) -> Column:
    constants = {
        "window_start": F.timestamp_seconds(F.col("day").cast("long") * DAY_S),
        "window_s": F.lit(DAY_S),
        "source": F.lit(SOURCE),
        "quality": F.lit(ESTIMATED),
        "client_ip": F.lit(None),
        "packets": F.lit(None),
    }
    value = constants.get(field.name, F.col(field.name))
    return value.cast(field.dataType).alias(field.name)


def _div(value: Column, by: Column) -> Column:
    return F.call_function("div", value, by)


def _part(total: Column, place: Column, count: Column) -> Column:
    """The share at a place, from 0, of `count` even shares; the first shares get the remainder."""
    return _div(total, count.cast("long")) + (place < total % count).cast("long")


def _partitions(fleet: Fleet) -> DataFrame:
    """Current partitions with the racks of leader and cluster and the place in the topic."""
    now = F.col("valid_to").isNull()
    brokers = fleet.brokers.where(now)
    leaders = brokers.select(F.col("broker").alias("leader"), F.col("rack").alias("leader_rack"))
    racks = (
        brokers.where(F.col("rack") != 0)
        .groupBy("cluster")
        .agg(F.sort_array(F.collect_set("rack")).alias("racks"))
    )
    topic = Window.partitionBy("cluster", "topic")
    unknown = F.lit(0)
    return (
        fleet.partitions.where(now)
        .join(F.broadcast(leaders), "leader", "left")
        .join(F.broadcast(racks), "cluster", "left")
        .select(
            *("cluster", "topic", "partition"),
            F.col("leader").alias("broker"),
            F.coalesce("leader_rack", unknown).alias("broker_rack"),
            F.coalesce("racks", F.array(unknown)).alias("racks"),
            F.filter("replicas", lambda replica: replica != F.col("leader")).alias("followers"),
            (F.row_number().over(topic.orderBy("partition")) - 1).alias("place"),
            F.count("*").over(topic).alias("count"),
        )
    )


def _with_shares(partitions: DataFrame, daily: DataFrame) -> DataFrame:
    """Each partition with its share of the daily bytes of the topic, in `bytes`."""
    share = _part(F.col("daily"), F.col("place"), F.col("count"))
    return partitions.join(F.broadcast(daily), ["cluster", "topic"]).withColumn("bytes", share)


def _produce_flows(produced: DataFrame) -> DataFrame:
    return _from_racks(produced).select(*_flow(PRODUCE))


def _replicate_flows(produced: DataFrame, fleet: Fleet) -> DataFrame:
    peers = fleet.brokers.where(F.col("valid_to").isNull()).select(
        F.col("broker").alias("peer"), F.col("rack").alias("peer_rack")
    )
    return (
        produced.withColumn("peer", F.explode("followers"))
        .join(F.broadcast(peers), "peer", "left")
        .withColumn("client_rack", F.lit(0))
        .select(*_flow(REPLICATE, peer=F.col("peer"), peer_rack=F.coalesce("peer_rack", F.lit(0))))
    )


def _assigned(spark: SparkSession, fleet: Fleet, rack_of: RackOf) -> DataFrame:
    """Each assigned partition once, with the rack of the first member that is assigned to it."""
    codes = fleet.codes
    racks = [
        (
            codes.clusters[snapshot.name],
            codes.clients[group.group],
            member.member_id,
            codes.rack(rack_of(group, member)),
        )
        for snapshot in fleet.latest
        for group in snapshot.cluster.groups
        for member in group.members
    ]
    member = ("cluster", "client", "member_id")
    known = spark.createDataFrame(
        racks, "cluster int, client int, member_id string, member_rack int"
    )
    return (
        fleet.members.where(F.col("topic") != 0)
        .select(
            *("cluster", "topic", "member_id"),
            F.col("client_group").alias("client"),
            F.explode("partitions").alias("partition"),
        )
        .join(F.broadcast(known), list(member), "left")
        .groupBy("cluster", "topic", "client", "partition")
        .agg(F.min_by("member_rack", "member_id").alias("member_rack"))
    )


def _fetch_flows(fetched: DataFrame, assigned: DataFrame) -> DataFrame:
    racks = F.when(F.col("member_rack").isNull(), F.col("racks")).otherwise(F.array("member_rack"))
    return _from_racks(
        fetched.join(
            F.broadcast(assigned), ["cluster", "topic", "client", "partition"], "left"
        ).withColumn("racks", racks)
    ).select(*_flow(FETCH))


def _from_racks(flows: DataFrame) -> DataFrame:
    """One row per rack of `racks`, each with an even share of the bytes."""
    part = _part(F.col("bytes"), F.col("nth"), F.size("racks"))
    return flows.select("*", F.posexplode("racks").alias("nth", "client_rack")).withColumn(
        "bytes", part
    )


def _flow(kind: int, **columns: Column) -> list[Column]:
    zero = F.lit(0)
    own = {"kind": F.lit(kind), "peer": zero, "peer_rack": zero} | columns
    names = (
        *("cluster", "kind", "client", "client_rack", "broker", "broker_rack"),
        *("peer", "peer_rack", "topic", "partition", "bytes"),
    )
    return [own.get(name, F.col(name)).alias(name) for name in names]


def _daily_in(spark: SparkSession, fleet: Fleet, rates: Rates) -> DataFrame:
    rows = [
        (fleet.codes.clusters[cluster], fleet.codes.topics[topic], 0, rate * DAY_S)
        for (cluster, topic), rate in sorted(rates.ins.items())
        if cluster in fleet.codes.clusters and topic in fleet.codes.topics
    ]
    return spark.createDataFrame(rows, _DAILY)


def _daily_out(spark: SparkSession, fleet: Fleet, rates: Rates) -> DataFrame:
    codes = fleet.codes
    rows = [
        (codes.clusters[cluster], codes.topics[topic], codes.clients.get(group, 0), rate * DAY_S)
        for (cluster, topic, group), rate in sorted(rates.outs.items())
        if cluster in codes.clusters and topic in codes.topics
    ]
    return spark.createDataFrame(rows, _DAILY)
