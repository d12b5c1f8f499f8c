"""The work of one Spark task for one cluster: a plan as a row, or the reason for having none.

What this does not do: start tasks (`fleet_plans`), or check the proof (`certificate`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rackwise.core.errors import Infeasible, InvalidPrices, MemoryExhausted, RackwiseError
from rackwise.core.meter import growth, look_pair, with_rates
from rackwise.core.planning.model import Balance, Repair
from rackwise.core.planning.outcome.dollars import copy_prices
from rackwise.core.planning.outcome.monthly import lists_after, monthly_change
from rackwise.core.planning.plan import plan
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.savings.moved_reads import MeteredReads, moved_reads
from rackwise.core.solver import cheapest_flow
from rackwise.core.traffic import usd_of
from rackwise.core.view import View
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.rates import own_rack
from rackwise.pipeline.columns.arrays import one_value
from rackwise.pipeline.fleet.tasks import contents
from rackwise.pipeline.plans.moved_rows import moved_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwise.core.model import Cluster, PartitionTable
    from rackwise.core.planning.model import Goal, MonthlyChange, Plan
    from rackwise.core.solver import Solve
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.layouts import RackOf

GOALS: Mapping[str, Goal] = {"repair": Repair(), "balance": Balance()}
"""Name of a goal -> goal."""
SHOWN = 5
"""Partitions without a legal replica set that a reason lists, at most."""
REASON_LENGTH = 200
_SCHEMA = schemas.arrow_schema(schemas.PLANNED)
BROKEN = "this is a fault of Rackwise or of its memory, not of the cluster; please report it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The inputs of planning that all clusters share; Spark sends it to the workers."""

    goal_name: str
    """One of `GOALS`."""
    parse: Callable[[bytes], Cluster]
    """The parser of snapshots."""
    sealed: Callable[[Plan, Cluster, Sequence[Price]], tuple[bytes, str]]
    """A plan, its cluster and its prices -> content and hash of the plan file."""
    policy: Policy = DEFAULT_POLICY
    prices: tuple[Price, ...] = ()
    """Rows of one provider."""
    rack_of: RackOf = own_rack
    """The rack of a member of a group."""
    solve: Solve = cheapest_flow
    """Finds the flows of the search."""
    tables: Mapping[str, PartitionTable] = field(default_factory=dict)
    """Cluster -> the partitions of its snapshot, if tasks have them: they are in memory once."""

    @property
    def goal(self) -> Goal:
        """The goal."""
        return GOALS[self.goal_name]


def plan_task(planning: Planning) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: rows of `in_tasks` in, rows of PLANNED out."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, packed, old in contents(batch):
                yield _one_row(_plan_row(name, packed, old, planning))

    return rows


def empty_row(name: str, planning: Planning) -> dict[str, Any]:
    """The columns that every row has."""
    minimise = planning.policy.cost.minimise
    return {"cluster": name, "goal": planning.goal_name, "minimise": minimise}


def failed_row(row: Mapping[str, Any], reason: str, hint: str | None = BROKEN) -> dict[str, Any]:
    """The row of a cluster whose planning broke, with a reason."""
    return {**row, "status": "failed", "reason": reason[:REASON_LENGTH], "hint": hint}


def _one_row(row: Mapping[str, Any]) -> pa.RecordBatch:
    """A row of PLANNED; the moves and the plan file, which may be large, are not copied."""
    arrays = [_cell(row.get(field.name), field.type) for field in _SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _cell(value: Any, kind: pa.DataType) -> pa.Array:  # noqa: ANN401 (of any column)
    if isinstance(value, pa.StructArray):
        return pa.ListArray.from_arrays([0, len(value)], value).cast(kind)
    if isinstance(value, bytes):
        return one_value(value)
    return pa.array([value], kind)


def _plan_row(
    name: str, packed: pa.Buffer, old: pa.Buffer | None, planning: Planning
) -> dict[str, Any]:
    """A row of PLANNED without the columns that are null; the values are those of CONTENT."""
    minimise = planning.policy.cost.minimise
    row = empty_row(name, planning)
    try:
        cluster = planning.parse(zlib.decompress(packed))
        cluster = replace(cluster, partitions=planning.tables.get(name, cluster.partitions))
        prices = _usable_prices(cluster, planning)
        search = partial(plan, minimise=minimise, prices=prices, solve=planning.solve)
        result = search(cluster, planning.policy, planning.goal)
        columns = _plan_columns(result, *planning.sealed(result, cluster, prices))
        if old is not None:
            earlier = planning.parse(zlib.decompress(old))
            columns |= _monthly_columns(_metered_change(result, earlier, cluster, planning))
    except Infeasible as error:
        more = len(error.impossible) - SHOWN
        shown = [*error.impossible[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return row | {"status": "infeasible", "reason": "; ".join(shown), "hint": error.hint}
    except RackwiseError as error:
        return row | {"status": "refused", "reason": error.message, "hint": error.hint}
    except Exception as error:  # noqa: BLE001 (a fault in one cluster stops no other one)
        if exhausted := MemoryExhausted.of(error):
            return failed_row(row, exhausted.message, exhausted.hint)
        return failed_row(row, f"{type(error).__name__}: {error}")
    return row | columns


def _usable_prices(cluster: Cluster, planning: Planning) -> tuple[Price, ...]:
    """The prices; none where a level has no price and the plan does not minimise dollars."""
    if planning.policy.cost.minimise != "usd":
        try:
            copy_prices(View(cluster, planning.policy), planning.prices)
        except InvalidPrices:
            return ()
    return planning.prices


def _metered_change(
    result: Plan, earlier: Cluster, cluster: Cluster, planning: Planning
) -> MonthlyChange:
    """The monthly change of a plan with what was written and read since an earlier snapshot.

    A cluster with rates of its own keeps them.
    """
    names = planning.policy.racks.map
    cluster = cluster.settled(names)
    pair = look_pair(earlier.settled(names), cluster)
    written = growth(pair)
    has_rates = (cluster.partitions.bytes_in_per_s >= 0).any()
    view = View(cluster if has_rates else with_rates(pair, written), planning.policy)
    prices = copy_prices(view, _usable_prices(cluster, planning))
    racks = partial(planning.rack_of, cluster)
    metered = MeteredReads(pair=pair, written=written, rack_of=racks, prices=planning.prices)
    lists = lists_after(view, result.moves)
    found = monthly_change(view, lists, prices)
    reads = moved_reads(view, lists, metered)
    return replace(found, reads_usd_nano=reads.usd_nano, reads_reason=reads.reason)


def _plan_columns(result: Plan, file: bytes, sha256: str) -> dict[str, Any]:
    totals, certificate, verdict = result.totals, result.certificates[0], result.verdict
    is_known = totals.unknown_sizes == 0
    return {
        "status": "planned",
        "moves": totals.moves,
        "partitions": totals.partitions,
        "partitions_at_least": totals.partitions_at_least,
        "leader_changes": totals.leader_changes,
        "repair_moves": totals.repair_moves,
        "bytes": totals.bytes if is_known else None,
        "cross_bytes": totals.cross_bytes if is_known else None,
        "usd": usd_of(totals.usd_nano) if is_known else None,
        "unknown_sizes": totals.unknown_sizes,
        **_monthly_columns(totals.monthly),
        "solver": result.solver,
        "is_sound": verdict.is_legal and verdict.is_fair and not verdict.problems,
        "prices": [
            {"broker": broker, "price": price} for broker, price in certificate.prices.items()
        ],
        "topic_prices": [price._asdict() for price in certificate.topic_prices],
        "groups": [
            {
                "brokers": group.brokers,
                "low": group.low,
                "high": group.high,
                "total": group.total,
            }
            for group in certificate.groups
        ],
        "moved": moved_rows(result.moves, _SCHEMA.field("moved").type.value_type),
        "file": file,
        "sha256": sha256,
    }


def _monthly_columns(monthly: MonthlyChange | None) -> dict[str, Any]:
    if monthly is None:
        return {}
    return {
        "monthly_cross_bytes": monthly.replication_cross_bytes,
        "monthly_usd": usd_of(monthly.replication_usd_nano),
        "monthly_reason": monthly.replication_reason,
        "monthly_unknown_rates": monthly.unknown_rates,
        "monthly_reads_usd": usd_of(monthly.reads_usd_nano),
        "monthly_reads_reason": monthly.reads_reason,
    }
