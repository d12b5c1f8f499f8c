"""The lower bound of every cluster's plan, summed in tasks from the certificate's dual prices.

Goals, in order: the same integer as `core.planning.proof.certificate`; no knowledge of how a plan
was found or what it moves; partitions are summed in the tasks that read them.

Where a partition has at most one replica per rack, its least cost is the sum over its cheapest
racks. The cost of a rack is the lesser of two: its cheapest open broker plus a copy, and the
cheapest broker there that already has the partition:

```
racks a: 1 4   b: 2 5   c: 3        prices 1: 1, 4: 0, 2: 0, 5: 0, 3: 0       a copy costs 1
replicas [1 2 3]     held  a 1, b 0, c 0     open  a 0, b 0, c 0
rack                 a min(0 + 1, 1) = 1     b min(0 + 1, 0) = 0     c 0      least 1 + 0 + 0
```

The prices of brokers, a few hundred per cluster, are sent with the tasks. A task processes a batch
of partitions of any clusters at once, as a matrix of partitions by racks, and returns one sum for
each cluster in the batch; the driver adds the sums, and the term of the fair groups, which is below
zero. The total is the bound. Spark's array columns compute the same in twice the time, because they
call a lambda for each rack of each partition.

Other cases (more replicas than racks, several racks on several levels, counts per rack, pins, topic
spread, dollars) use the function of core that a proof calls, one cluster per task, from the
snapshot.

What this does not do: check whether a plan is legal or fair (a proof does); leaders.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
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
from rackwise.pipeline.fleet.fleet_columns import NO_IDS, partition_table
from rackwise.pipeline.fleet.tasks import contents, in_tasks
from rackwise.pipeline.schemas import PARTITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Certificate, Goal
    from rackwise.core.policy import Policy, TopicRules
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.runtime.engine import Engine

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
"""The cost of a rack that cannot get a replica."""
_HALF = 32
_LOW = 2**_HALF - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInputs:
    """Certificates, and the inputs of the plans that they prove."""

    certificates: Mapping[str, Certificate]
    """By cluster name."""
    goal: Goal
    policy: Policy
    parse: Callable[[bytes], Cluster]
    """The parser of snapshots."""
    prices: tuple[Price, ...] = ()
    """Rows of one provider, required where a certificate minimises dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _BrokerPrices:
    """Dual prices of one cluster's brokers; lists of brokers are by code, from `first` on."""

    name: str
    code: int
    """Code of the cluster."""
    first: int
    """Code of the cluster's first broker."""
    rack: Sequence[int]
    """Index of each broker's rack, -1 for a broker that is not usable."""
    price: Sequence[int]
    """Dual price of each broker."""
    copy: Sequence[int]
    """Price of the cheapest open broker of each rack, or `_NEVER`."""
    is_by_bytes: bool
    """Whether the plan minimises bytes, so that a copy costs the bytes of a replica; else 1."""
    group_term: int
    """Term of the fair groups, subtracted from the bound."""
    free: int
    """Sum of the prices of brokers in no group, subtracted for each partition."""


class _PriceArrays:
    """Dual prices of many clusters as arrays, in order of the cluster codes."""

    def __init__(self, priced: Sequence[_BrokerPrices]) -> None:
        clusters = sorted(priced, key=lambda one: one.code)
        # One element per cluster.
        self.names = [one.name for one in clusters]
        self.free = [one.free for one in clusters]
        self.codes = np.array([one.code for one in clusters], dtype=np.int64)
        self.is_by_bytes = np.array([one.is_by_bytes for one in clusters], dtype=bool)
        # One element per broker of all clusters, in order of the broker codes.
        self.rack = np.array([rack for one in clusters for rack in one.rack], dtype=np.int64)
        self.price = np.array([price for one in clusters for price in one.price], dtype=np.int64)
        # Shape (clusters,): broker code + shift = index into `rack` and `price`.
        starts = np.cumsum([0, *(len(one.rack) for one in clusters)])[:-1]
        self.shift = starts - np.array([one.first for one in clusters], dtype=np.int64)
        # Shape (clusters, racks).
        self.copy = np.full(
            (len(clusters), max((len(one.copy) for one in clusters), default=0)), _NEVER
        )
        for place, one in enumerate(clusters):
            self.copy[place, : len(one.copy)] = one.copy

    def sums(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The work of a task: partitions (`cluster`, `replicas`, `bytes`) -> rows of _SUM."""
        for batch in batches:
            yield self._sum_batch(batch)

    def _sum_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        place = np.searchsorted(self.codes, batch["cluster"].to_numpy())  # index of the cluster
        count = batch["replicas"].value_lengths().to_numpy()  # shape (partitions,), as `place`
        cells = self._rack_costs(place, batch)
        cells.sort(axis=1)
        # The cheapest `count` racks of each partition; `owner` is the cluster of each taken cell.
        is_taken = np.arange(cells.shape[1]) < count[:, None]
        owner, taken = np.repeat(place, count), cells[is_taken]
        impossible = np.bincount(owner[taken == _NEVER], minlength=len(self.names))
        partitions = np.bincount(place, minlength=len(self.names))
        # Sums of longs can exceed 64 bits, so the high and the low halves are summed separately.
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
                pa.array([not impossible[at] for at in met], pa.bool_()),
            ],
            names=_SUM.fieldNames(),
        )

    def _rack_costs(self, place: NDArray[np.int64], batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Cost of one replica in each rack, [partitions, racks]; `_NEVER` where impossible."""
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


def lower_bounds(engine: Engine, fleet: Fleet, inputs: BoundInputs) -> dict[str, int | None]:
    """Cluster -> the bound of its certificate; None where a partition has no legal set."""
    proved = [one for one in fleet.latest if one.name in inputs.certificates]
    priced, others = [], []
    for snapshot in proved:
        one = _broker_prices(fleet, snapshot, inputs)
        if one is None:
            others.append(snapshot)
        else:
            priced.append(one)
    bounds = _sum_bounds(engine, fleet, priced) if priced else {}
    return bounds | (_bounds_by_core(engine, others, inputs) if others else {})


def _broker_prices(fleet: Fleet, snapshot: Snapshot, inputs: BoundInputs) -> _BrokerPrices | None:
    """Dual prices of a cluster's brokers; None where racks alone do not decide what is legal."""
    certificate = inputs.certificates[snapshot.name]
    goal = resolve_goal(inputs.goal, snapshot.cluster, inputs.policy)
    view = View(goal.cluster, goal.policy)
    usable = np.flatnonzero(view.usable)
    racks, leaf = np.unique(view.tree.nodes[-1][usable], return_inverse=True)
    is_unchanged = goal.cluster is snapshot.cluster and goal.takers is None
    if not (is_unchanged and _is_plain(view, certificate, len(racks))):
        return None
    ids = view.tree.brokers[usable]
    prices = valid_prices(ids, certificate.prices)
    groups = [group for group in certificate.groups if is_valid_group(group)]
    grouped = np.isin(ids, [id_ for group in groups for id_ in group.brokers])
    open_ = ~np.isin(ids, goal.policy.brokers.exclude)
    rack_of = dict(zip(ids.tolist(), leaf.tolist(), strict=True))
    price_of = dict(zip(ids.tolist(), prices.tolist(), strict=True))
    known = fleet.codes.broker_ids.get(snapshot.name, NO_IDS).tolist()
    return _BrokerPrices(
        name=snapshot.name,
        code=fleet.codes.clusters[snapshot.name],
        first=fleet.codes.first_broker(snapshot.name) or 1,
        rack=[rack_of.get(id_, -1) for id_ in known],
        price=[price_of.get(id_, 0) for id_ in known],
        copy=[
            min(prices[(leaf == rack) & open_].tolist(), default=_NEVER)
            for rack in range(len(racks))
        ],
        is_by_bytes=certificate.objective == "bytes",
        group_term=sum(group_term(group, ids, prices) for group in groups),
        free=int(prices[~grouped].clip(min=0).sum()),
    )


def _is_plain(view: View, certificate: Certificate, racks: int) -> bool:
    """Whether the only rule is at most one replica per rack for each partition."""
    tree, live = view.tree, view.live
    coarser = tree.nodes[:-1][:, np.flatnonzero(view.usable)]
    return (
        len(view.table) > 0
        and certificate.objective in {"moves", "bytes"}
        and not certificate.topic_prices
        and not (live & (tree.nodes[0] < 0)).any()
        and not (live & view.cordoned).any()
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
        and not rules.exclude
        and not rules.count
        and not rules.pin
    )


def _sum_bounds(
    engine: Engine, fleet: Fleet, priced: Sequence[_BrokerPrices]
) -> dict[str, int | None]:
    prices = _PriceArrays(priced)
    rows = [(one, None) for one in fleet.latest if one.name in prices.names]
    columns = StructType([PARTITION[name] for name in ("cluster", "replicas", "bytes")])
    partitions = partition_table(rows, fleet.codes, columns.names)
    sums = engine.map(engine.table(partitions, columns), prices.sums, _SUM)
    found: dict[str, int | None] = {one.name: -one.group_term for one in priced}
    for row in engine.collect(sums).to_pylist():
        so_far = found[row["cluster"]]
        if so_far is not None:
            found[row["cluster"]] = so_far + int(row["sum"]) if row["is_whole"] else None
    return found


def _bounds_by_core(
    engine: Engine, snapshots: Sequence[Snapshot], inputs: BoundInputs
) -> dict[str, int | None]:
    def bound(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, packed, _ in contents(batch):
                found = lower_bound(
                    inputs.parse(zlib.decompress(packed)),
                    inputs.policy,
                    inputs.certificates[name],
                    goal=inputs.goal,
                    prices=inputs.prices,
                )
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([name]),
                        pa.array([Decimal(found)], type=pa.decimal128(38, 0)),
                    ],
                    names=BOUND.fieldNames(),
                )

    rows = engine.collect(engine.map(in_tasks(engine, snapshots), bound, BOUND)).to_pylist()
    return {row["cluster"]: int(row["lower_bound"]) for row in rows}
