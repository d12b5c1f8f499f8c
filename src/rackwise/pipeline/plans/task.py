"""What one task does for one cluster: the planner's answer, or why there is none, as a row.

What this does not do: start tasks, or check the proof (`plans`, `certificate`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from rackwise.core.errors import Infeasible, InvalidPrices, RackwiseError
from rackwise.core.planning.model import Balance, Repair
from rackwise.core.planning.outcome.dollars import copy_prices
from rackwise.core.planning.plan import plan
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.view import View
from rackwise.pipeline import schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Move, Plan
    from rackwise.core.traffic import Price

GOALS: Mapping[str, Goal] = {"repair": Repair(), "balance": Balance()}
"""What plans of a fleet can be asked for."""
SHOWN = 5
"""Partitions without a legal set that a reason names."""
REASON_LENGTH = 200
BROKEN = "this is a fault of Rackwise or of its memory, not of the cluster; please report it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What every cluster is planned for.

    `goal_name`: one of `GOALS`; `parse`: the parser of snapshots; `sealed`: content and hash of the
    file of a plan, beside the cluster it is for; `prices`: rows of one provider.
    """

    goal_name: str
    parse: Callable[[bytes], Cluster]
    sealed: Callable[[Plan, Cluster], tuple[bytes, str]]
    policy: Policy = DEFAULT_POLICY
    prices: tuple[Price, ...] = ()

    @property
    def goal(self) -> Goal:
        """The goal."""
        return GOALS[self.goal_name]


def planned(planning: Planning) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: snapshots (`cluster`, `packed`) in, rows of PLANNED out."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(schemas.PLANNED, timezone="UTC")
        for batch in batches:
            for given in batch.to_pylist():
                row = _row(given["cluster"], given["packed"], planning)
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    return rows


def outcome(name: str, planning: Planning) -> dict[str, Any]:
    """What the row of a cluster holds, whatever comes of it."""
    minimise = planning.policy.cost.minimise
    return {"cluster": name, "goal": planning.goal_name, "minimise": minimise}


def failed(row: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """The row of a cluster whose planning broke; `reason`: what is known of it."""
    return {**row, "status": "failed", "reason": reason[:REASON_LENGTH], "hint": BROKEN}


def _row(name: str, packed: bytes, planning: Planning) -> dict[str, Any]:
    minimise = planning.policy.cost.minimise
    row = outcome(name, planning)
    try:
        cluster = planning.parse(zlib.decompress(packed))
        made = plan(
            cluster,
            planning.policy,
            planning.goal,
            minimise=minimise,
            prices=_usable_prices(cluster, planning),
        )
        found = _found(made, *planning.sealed(made, cluster))
    except Infeasible as error:
        more = len(error.impossible) - SHOWN
        told = [*error.impossible[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        return row | {"status": "infeasible", "reason": "; ".join(told), "hint": error.hint}
    except RackwiseError as error:
        return row | {"status": "refused", "reason": error.message, "hint": error.hint}
    except Exception as error:  # noqa: BLE001 (a fault in one cluster stops no other one)
        return failed(row, f"{type(error).__name__}: {error}")
    return row | found


def _usable_prices(cluster: Cluster, planning: Planning) -> tuple[Price, ...]:
    """The prices; none where a level has none and the plan can do without dollars."""
    if planning.policy.cost.minimise != "usd":
        try:
            copy_prices(View(cluster, planning.policy), planning.prices)
        except InvalidPrices:
            return ()
    return planning.prices


def _found(made: Plan, file: bytes, sha256: str) -> dict[str, Any]:
    totals, certificate, verdict = made.totals, made.certificates[0], made.verdict
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
        "usd": _usd(totals.usd_nano) if is_known else None,
        "unknown_sizes": totals.unknown_sizes,
        "solver": made.solver,
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
        "moved": [_move(move) for move in made.moves],
        "file": file,
        "sha256": sha256,
    }


def _move(move: Move) -> dict[str, Any]:
    return {
        "topic": move.topic,
        "partition": move.partition,
        "before": move.before,
        "after": move.after,
        "is_leader_change": move.before[:1] != move.after[:1],
        "bytes": move.bytes,
        "cross_bytes": move.cross_bytes,
        "usd": _usd(move.usd_nano),
        "reasons": move.reasons,
    }


def _usd(nano: int | None) -> Decimal | None:
    return None if nano is None else Decimal(nano).scaleb(-9)
