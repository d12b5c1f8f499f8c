"""The lower bound of every cluster's plan, added up by Spark from prices alone.

Goals, in order: the bound of `core.planning.certificate`, to the integer; nothing here knows how a
plan was found, nor what it moves; partitions are summed where they are, in the tasks.

Where a partition has at most one replica in a rack, what it costs at least is the sum of its
cheapest racks, and a rack costs the cheaper of its cheapest open broker with a copy and the
cheapest broker that holds the partition there already:

```
racks a: 1 4   b: 2 5   c: 3        prices 1: 1, 4: 0, 2: 0, 5: 0, 3: 0       a copy costs 1
replicas [1 2 3]     held  a 1, b 0, c 0     open  a 0, b 0, c 0
rack                 a min(0 + 1, 1) = 1     b min(0 + 1, 0) = 0     c 0      least 1 + 0 + 0
```

Prices of brokers, a few hundred per cluster, travel with the tasks; a task works on a batch of
partitions of any clusters at once, as a matrix of partitions by racks, and gives one sum for each
cluster that it met; Spark adds the sums up. What fair groups are worth is one more row, below
nought, and that is the bound. Array columns of Spark say the same in twice the time, as they call a
lambda for each rack of each partition.

Other shapes (more replicas than racks, several racks on several levels, numbers per rack, pins,
topics spread, dollars) are left to the same function of core that a proof calls, one cluster a
task, from the snapshot.

What this does not do: judge whether a plan is legal or fair (a proof does); leaders.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DecimalType,
    StringType,
    StructField,
    StructType,
)

from rackwise.core.planning.problem.goals import resolve_goal
from rackwise.core.planning.proof.certificate import lower_bound
from rackwise.core.planning.proof.dual_prices import group_term, is_valid_group, valid_prices
from rackwise.core.view import View
from rackwise.pipeline.fleet.tasks import in_tasks, task_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Certificate, Goal
    from rackwise.core.policy import Policy, TopicRules
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot

EXACT = DecimalType(38, 0)
BOUND = StructType([StructField("cluster", StringType()), StructField("lower_bound", EXACT)])
_SUM = StructType(
    [
        StructField("cluster", StringType()),
        StructField("sum", EXACT),
        StructField("is_whole", BooleanType()),  # whether each partition has a legal set
    ]
)
_NEVER = np.iinfo(np.int64).max
_HALF = 32
_LOW = 2**_HALF - 1


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Priced:
    """Prices of a cluster's brokers, those by code from the code `first` on.

    `rack` [codes], -1 for a broker that is not usable; `price` [codes]; `copy` [racks], of the
    cheapest open broker of each, or `_NEVER`; `free`: what brokers that no group holds to anything
    take off each partition.
    """

    name: str
    code: int
    first: int
    rack: Sequence[int]
    price: Sequence[int]
    copy: Sequence[int]
    is_by_bytes: bool
    worth: int
    free: int


class _Prices:
    """Prices of many clusters as arrays, by the place of a cluster in the order of the codes."""

    def __init__(self, priced: Sequence[_Priced]) -> None:
        clusters = sorted(priced, key=lambda one: one.code)
        self.names = [one.name for one in clusters]
        self.free = [one.free for one in clusters]
        self.codes = np.array([one.code for one in clusters], dtype=np.int64)
        self.is_by_bytes = np.array([one.is_by_bytes for one in clusters], dtype=bool)
        self.rack = np.array([rack for one in clusters for rack in one.rack], dtype=np.int64)
        self.price = np.array([price for one in clusters for price in one.price], dtype=np.int64)
        starts = np.cumsum([0, *(len(one.rack) for one in clusters)])[:-1]
        self.shift = starts - np.array([one.first for one in clusters], dtype=np.int64)
        self.copy = np.full(
            (len(clusters), max((len(one.copy) for one in clusters), default=0)), _NEVER
        )
        for place, one in enumerate(clusters):
            self.copy[place, : len(one.copy)] = one.copy

    def sums(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The work of a task: partitions (`cluster`, `replicas`, `bytes`) in, rows of _SUM out."""
        for batch in batches:
            yield self._summed(batch)

    def _summed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        place = np.searchsorted(self.codes, batch["cluster"].to_numpy())
        count = batch["replicas"].value_lengths().to_numpy()
        cells = self._cells(place, batch)
        cells.sort(axis=1)
        is_taken = np.arange(cells.shape[1]) < count[:, None]
        owner, taken = np.repeat(place, count), cells[is_taken]
        missed = np.bincount(owner[taken == _NEVER], minlength=len(self.names))
        partitions = np.bincount(place, minlength=len(self.names))
        halves = np.zeros((2, len(self.names)), dtype=np.int64)
        np.add.at(halves[0], owner, taken >> _HALF)
        np.add.at(halves[1], owner, taken & _LOW)
        met = np.flatnonzero(partitions).tolist()
        found = [
            (int(halves[0, at]) << _HALF) + int(halves[1, at]) - self.free[at] * int(partitions[at])
            for at in met
        ]
        return pa.RecordBatch.from_arrays(
            [
                pa.array([self.names[at] for at in met], pa.string()),
                pa.array([Decimal(one) for one in found], pa.decimal128(38, 0)),
                pa.array([not missed[at] for at in met], pa.bool_()),
            ],
            names=_SUM.fieldNames(),
        )

    def _cells(self, place: NDArray[np.int64], batch: pa.RecordBatch) -> NDArray[np.int64]:
        """What each rack asks of each partition for one replica; `_NEVER` where none is there."""
        size = batch["bytes"].fill_null(0).to_numpy()
        weight = np.where(self.is_by_bytes[place], size, 1)
        cells = self.copy[place]
        np.add(cells, weight[:, None], out=cells, where=cells != _NEVER)
        replicas = batch["replicas"]
        row = np.repeat(np.arange(len(place)), replicas.value_lengths().to_numpy())
        broker = replicas.flatten().to_numpy() + self.shift[place[row]]
        rack = self.rack[broker]
        is_held = rack >= 0
        np.minimum.at(cells, (row[is_held], rack[is_held]), self.price[broker[is_held]])
        return cells


def bounds(spark: SparkSession, fleet: Fleet, claims: Claims) -> DataFrame:
    """BOUND: one row per certificate; null where a partition has no legal set."""
    claimed = [one for one in fleet.latest if one.name in claims.certificates]
    priced, others = [], []
    for snapshot in claimed:
        one = _priced(fleet, snapshot, claims)
        if one is None:
            others.append(snapshot)
        else:
            priced.append(one)
    made = _added_up(spark, fleet, priced)
    return made.unionByName(_by_core(spark, others, claims)) if others else made


def _priced(fleet: Fleet, snapshot: Snapshot, claims: Claims) -> _Priced | None:
    """Prices of a cluster's brokers; None where racks alone cannot say what is legal."""
    certificate = claims.certificates[snapshot.name]
    wanted = resolve_goal(claims.goal, snapshot.cluster, claims.policy)
    view = View(wanted.cluster, wanted.policy)
    usable = np.flatnonzero(view.usable)
    racks, leaf = np.unique(view.tree.nodes[-1][usable], return_inverse=True)
    is_own = wanted.cluster is snapshot.cluster and wanted.takers is None
    if not (is_own and _is_plain(view, certificate, len(racks))):
        return None
    ids = view.tree.brokers[usable]
    prices = valid_prices(ids, certificate.prices)
    groups = [group for group in certificate.groups if is_valid_group(group)]
    grouped = np.isin(ids, [id_ for group in groups for id_ in group.brokers])
    open_ = ~np.isin(ids, wanted.policy.brokers.exclude)
    rack_of = dict(zip(ids.tolist(), leaf.tolist(), strict=True))
    price_of = dict(zip(ids.tolist(), prices.tolist(), strict=True))
    known = [id_ for name, id_ in fleet.names.brokers if name == snapshot.name]
    return _Priced(
        name=snapshot.name,
        code=fleet.codes.clusters[snapshot.name],
        first=fleet.codes.brokers[snapshot.name, known[0]] if known else 1,
        rack=[rack_of.get(id_, -1) for id_ in known],
        price=[price_of.get(id_, 0) for id_ in known],
        copy=[
            min(prices[(leaf == rack) & open_].tolist(), default=_NEVER)
            for rack in range(len(racks))
        ],
        is_by_bytes=certificate.objective == "bytes",
        worth=sum(group_term(group, ids, prices) for group in groups),
        free=int(prices[~grouped].clip(min=0).sum()),
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


def _added_up(spark: SparkSession, fleet: Fleet, priced: Sequence[_Priced]) -> DataFrame:
    prices = _Prices(priced)
    worths = pa.Table.from_pylist(
        [{"cluster": one.name, "sum": Decimal(-one.worth), "is_whole": True} for one in priced],
        schema=to_arrow_schema(_SUM),
    )
    partitions = fleet.partitions.where(
        F.col("valid_to").isNull() & F.col("cluster").isin(prices.codes.tolist())
    )
    sums = partitions.select("cluster", "replicas", "bytes").mapInArrow(prices.sums, _SUM)
    every = sums.unionByName(spark.createDataFrame(worths, _SUM))
    bound = F.when(F.bool_and("is_whole"), F.sum("sum").cast(EXACT))
    return every.groupBy("cluster").agg(bound.alias("lower_bound"))


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
