"""The lower bound of every cluster's plan, added up by Spark from prices alone.

Goals, in order: the bound of `core.planning.certificate`, to the integer; nothing here knows how a
plan was found, nor what it moves; partitions never leave Spark.

What each partition costs at least is a column. Where it has at most one replica in a rack, that is
the sum of its cheapest racks, and a rack costs the cheaper of its cheapest open broker with a copy
and the cheapest broker that holds the partition there already:

```
racks a: 1 4   b: 2 5   c: 3        prices 1: 1, 4: 0, 2: 0, 5: 0, 3: 0       a copy costs 1
replicas [1 2 3]     held  a 1, b 0, c 0     open  a 0, b 0, c 0
rack                 a min(0 + 1, 1) = 1     b min(0 + 1, 0) = 0     c 0      least 1 + 0 + 0
```

Prices of brokers, a few hundred per cluster, are broadcast beside the partitions of all clusters at
once; the sum is an aggregate by cluster. What fair groups are worth comes off it, and that is the
bound.

Other shapes (more replicas than racks, several racks on several levels, numbers per rack, pins,
topics spread, dollars) are left to the same function of core that a proof calls, one cluster a
task, from the snapshot.

What this does not do: judge whether a plan is legal or fair (a proof does); leaders.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from rackwise.core.planning.certificate import lower_bound
from rackwise.core.planning.goals import wanted_by
from rackwise.core.planning.worth import believed, can_be, worth
from rackwise.core.view import View
from rackwise.pipeline.tasks import in_tasks, task_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.core.model import Cluster
    from rackwise.core.planning.values import Certificate, Goal
    from rackwise.core.policy import Policy, TopicRules
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.snapshots import Snapshot

EXACT = DecimalType(38, 0)
BOUND = StructType([StructField("cluster", StringType()), StructField("lower_bound", EXACT)])
_PRICED = StructType(
    [
        StructField("cluster", IntegerType()),
        StructField("name", StringType()),
        StructField("first", IntegerType()),  # code of the first broker; the lists begin there
        StructField("rack", ArrayType(IntegerType())),  # of each broker, -1 = not usable
        StructField("price", ArrayType(LongType())),  # of each broker
        StructField("copy", ArrayType(LongType())),  # cheapest open broker of each rack, or null
        StructField("by_bytes", BooleanType()),
        StructField("worth", EXACT),
        StructField("free", EXACT),  # for each partition
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Certificates by cluster name, and what their plans were asked for.

    `prices`: rows of one provider, wanted where a certificate is about dollars; `parse`: the
    parser of snapshots.
    """

    certificates: Mapping[str, Certificate]
    goal: Goal
    policy: Policy
    parse: Callable[[bytes], Cluster]
    prices: tuple[Price, ...] = ()


def bounds(spark: SparkSession, fleet: Fleet, claims: Claims) -> DataFrame:
    """BOUND: one row per certificate; null where a partition has no legal set."""
    claimed = [one for one in fleet.latest if one.name in claims.certificates]
    rows, others = [], []
    for snapshot in claimed:
        row = _priced(fleet, snapshot, claims)
        if row is None:
            others.append(snapshot)
        else:
            rows.append(row)
    made = _added_up(fleet, spark.createDataFrame(_table(rows), _PRICED))
    return made.unionByName(_by_core(spark, others, claims)) if others else made


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = to_arrow_schema(_PRICED)
    names = _PRICED.fieldNames()
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=schema)


def _priced(fleet: Fleet, snapshot: Snapshot, claims: Claims) -> tuple[Any, ...] | None:
    """Prices of a cluster's brokers as a row; None where columns cannot say what is legal."""
    certificate = claims.certificates[snapshot.name]
    wanted = wanted_by(claims.goal, snapshot.cluster, claims.policy)
    view = View(wanted.cluster, wanted.policy)
    usable = np.flatnonzero(view.usable)
    racks, leaf = np.unique(view.tree.nodes[-1][usable], return_inverse=True)
    is_own = wanted.cluster is snapshot.cluster and wanted.takers is None
    if not (is_own and _is_plain(view, certificate, len(racks))):
        return None
    ids = view.tree.brokers[usable]
    prices = believed(ids, certificate.prices)
    groups = [group for group in certificate.groups if can_be(group)]
    grouped = np.isin(ids, [id_ for group in groups for id_ in group.brokers])
    open_ = ~np.isin(ids, wanted.policy.brokers.exclude)
    rack_of = dict(zip(ids.tolist(), leaf.tolist(), strict=True))
    price_of = dict(zip(ids.tolist(), prices.tolist(), strict=True))
    known = [id_ for name, id_ in fleet.names.brokers if name == snapshot.name]
    return (
        fleet.codes.clusters[snapshot.name],
        snapshot.name,
        fleet.codes.brokers[snapshot.name, known[0]] if known else 1,
        [rack_of.get(id_, -1) for id_ in known],
        [price_of.get(id_, 0) for id_ in known],
        [min(prices[(leaf == rack) & open_].tolist(), default=None) for rack in range(len(racks))],
        certificate.objective == "bytes",
        Decimal(sum(worth(group, ids, prices) for group in groups)),
        Decimal(int(prices[~grouped].clip(min=0).sum())),
    )


def _is_plain(view: View, certificate: Certificate, racks: int) -> bool:
    """Whether each partition takes at most one replica from each rack, and that is all."""
    tree, live = view.tree, view.live
    coarser = tree.nodes[:-1][:, np.flatnonzero(view.usable)]
    return (
        len(view.table) > 0
        and certificate.objective in {"moves", "bytes"}
        and not certificate.topic_prices
        and not (live & (tree.nodes[0] < 0)).any()
        and all(len(np.unique(nodes)) <= 1 for nodes in coarser)
        and all(map(_is_plain_rule, view.rules))
        and int(view.placed.lengths.max(initial=0)) <= racks
    )


def _is_plain_rule(rules: TopicRules) -> bool:
    *coarser, finest = rules.spread
    return (
        finest in {"even", "distinct"}
        and all(spread in {"even", "off"} for spread in coarser)
        and rules.topic_spread == "off"
        and rules.replication is None
        and not rules.count
        and not rules.pin
    )


def _added_up(fleet: Fleet, priced: DataFrame) -> DataFrame:
    partitions = fleet.partitions.where(F.col("valid_to").isNull()).select(
        "cluster", "replicas", F.col("bytes").alias("size")
    )
    racks = (
        partitions.join(F.broadcast(priced), "cluster")
        .select(
            *("name", "worth", "free"),
            F.size("replicas").alias("count"),
            _racks().alias("racks"),
        )
        .withColumn("racks", F.filter("racks", lambda price: price.isNotNull()))
    )
    cheapest = F.slice(F.array_sort("racks"), F.lit(1), F.col("count"))
    least = F.aggregate(cheapest, F.lit(0).cast("bigint"), lambda so_far, price: so_far + price)
    is_whole = F.size("racks") >= F.col("count")
    per_partition = F.sum(least.cast("decimal(20,0)")) - F.col("free") * F.count("*")
    return (
        racks.groupBy("name", "worth", "free")
        .agg(
            F.when(
                F.min(is_whole.cast("int")) == 1, (per_partition - F.col("worth")).cast(EXACT)
            ).alias("lower_bound")
        )
        .select(F.col("name").alias("cluster"), "lower_bound")
    )


def _racks() -> Column:
    """What each rack asks of a partition for one replica; null where nothing there is to be had."""
    weight = F.when(F.col("by_bytes"), F.col("size")).otherwise(F.lit(1).cast("bigint"))
    places = F.transform("replicas", lambda code: code - F.col("first"))

    def held(rack: Column) -> Column:
        none = F.lit(None).cast("bigint")
        return F.aggregate(
            places,
            none,
            lambda least, place: F.least(
                least, F.when(F.get("rack", place) == rack, F.get("price", place))
            ),
        )

    return F.transform("copy", lambda price, rack: F.least(price + weight, held(rack)))


def _by_core(spark: SparkSession, snapshots: Sequence[Snapshot], claims: Claims) -> DataFrame:
    def bound(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                found = lower_bound(
                    claims.parse(zlib.decompress(row["packed"])),
                    claims.policy,
                    claims.certificates[row["cluster"]],
                    goal=claims.goal,
                    prices=claims.prices,
                )
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([row["cluster"]]),
                        pa.array([Decimal(found)], type=pa.decimal128(38, 0)),
                    ],
                    names=BOUND.fieldNames(),
                )

    return in_tasks(spark, snapshots, task_count(spark)).mapInArrow(bound, BOUND)
