"""Plans for examples: everything but the given fields is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.planning.model import Balance, Fair, MadeFrom, Plan, Totals, Verdict

if TYPE_CHECKING:
    from rackwise.core.planning.model import Certificate, Goal, Move

BALANCE = Balance()
NOTHING = Totals()


def small_plan(
    goal: Goal = BALANCE,
    *,
    moves: tuple[Move, ...] = (),
    certificates: tuple[Certificate, ...] = (),
    totals: Totals = NOTHING,
) -> Plan:
    """A plan that claims to be proved, made from nothing."""
    return Plan(
        cluster_id="small",
        made_from=MadeFrom(snapshot_sha256="", brokers={}, policy="", policy_sha256=""),
        goal=goal,
        minimise="moves",
        solver="closed form",
        moves=moves,
        totals=totals,
        fair=Fair(),
        certificates=certificates,
        verdict=Verdict(cost=0, lower_bound=0, gap=0, is_legal=True, is_fair=True),
    )
