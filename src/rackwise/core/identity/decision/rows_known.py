"""Rows D9 to D17: the id is configured or on the disk, the KIP's 1 and 2.

"In case either 1 or 2 is set: first make sure they are consistent if both are set, then use it and
bypass the following procedure unconditionally. If the broker fails to register itself in ZooKeeper,
an error will be thrown and human intervention is needed." Here n is C, else m.

Two rules are not in the KIP: a start waits for a stale registration of this very broker, and an
empty disk does not return as the last in-sync replica of a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.identity.decision.verdicts import (
    DecisionRow,
    look_at_risk,
    refuse,
    refuse_last_in_sync,
    take,
    take_if_ours,
    wait_if_stale,
)
from rackwise.core.identity.nodes.store import IDS, RETIRED
from rackwise.core.identity.refusals import IdInUse, IdRetired

if TYPE_CHECKING:
    from rackwise.core.identity.decision.situation import Situation
    from rackwise.core.identity.decision.verdicts import Verdict


def refuse_retired(situation: Situation, broker_id: int | None, row: str) -> Verdict:
    """Reject a retired id."""
    if broker_id is None or broker_id not in situation.retired:
        return None
    return refuse(
        row,
        IdRetired,
        f"expected an id in use, got {broker_id}, which is retired",
        wanted="an id in use",
        had="retired",
        hint=f"undo it: broker-id retire --undo {broker_id}",
        where=f"{RETIRED}/{broker_id}",
        id=broker_id,
    )


def _retired(situation: Situation, row: str) -> Verdict:
    return refuse_retired(situation, situation.pinned, row)


def _already(situation: Situation, row: str) -> Verdict:
    return take_if_ours(situation, situation.pinned, row)


def _stale(situation: Situation, row: str) -> Verdict:
    return wait_if_stale(situation, situation.pinned, row)


def _in_use(situation: Situation, row: str) -> Verdict:
    n = situation.pinned
    if n is None or not situation.is_held(n):
        return None
    holder = situation.holder(n)
    source = "configuration" if situation.configured is not None else "disk"
    return refuse(
        row,
        IdInUse,
        f"id {n} of the {source} is held by {holder}",
        wanted=f"id {n} free",
        had=f"held by {holder}",
        where=f"{IDS}/{n}",
        id=n,
        holder=holder,
        waited_ms=situation.seen.waited_ms,
    )


def _look(situation: Situation, row: str) -> Verdict:
    n = situation.pinned
    return None if n is None else look_at_risk(situation, n, row)


def _last(situation: Situation, row: str) -> Verdict:
    n = situation.pinned
    return None if n is None else refuse_last_in_sync(situation, n, row)


def _configured(situation: Situation, row: str) -> Verdict:
    n = situation.configured
    return None if n is None else take(situation, n, "configured", row)


def _meta(situation: Situation, row: str) -> Verdict:
    n = situation.on_disk
    agrees = situation.mapped in {None, n} and situation.seen.mapping_problem is None
    return take(situation, n, "meta", row) if n is not None and agrees else None


def _overwriting(situation: Situation, row: str) -> Verdict:
    n = situation.on_disk
    return None if n is None else take(situation, n, "meta", row)


ROWS = (
    DecisionRow(
        name="D9",
        when="n in Z (the KIP is silent)",
        outcome="ID_RETIRED",
        literal="not checked",
        judge=_retired,
    ),
    DecisionRow(
        name="D10",
        when="K[n] is of my session (an earlier commit, its outcome unknown)",
        outcome="TAKE n `already`",
        literal="-",
        judge=_already,
    ),
    DecisionRow(
        name="D11",
        when="held(n), looks like me, waited < W (the KIP is silent)",
        outcome="WAIT for deletion",
        literal="as D12",
        judge=_stale,
    ),
    DecisionRow(
        name="D12",
        when='held(n) otherwise ("human intervention is needed")',
        outcome="ID_IN_USE",
        literal="same",
        judge=_in_use,
    ),
    DecisionRow(
        name="D13",
        when="a dir has no file, at_risk not read (the KIP is silent)",
        outcome="LOOK at_risk",
        literal="-",
        judge=_look,
    ),
    DecisionRow(
        name="D14",
        when="at_risk[n] not empty, no `--accept-loss` (the KIP is silent)",
        outcome="LAST_IN_SYNC",
        literal="-",
        judge=_last,
    ),
    DecisionRow(
        name="D15",
        when="n = C",
        outcome="TAKE n `configured`",
        literal="same",
        judge=_configured,
    ),
    DecisionRow(
        name="D16",
        when="n = m, H none or h = m",
        outcome="TAKE m `meta`",
        literal="same",
        judge=_meta,
    ),
    DecisionRow(
        name="D17",
        when='n = m, h != m or H unreadable ("2 stays with the data")',
        outcome="TAKE m `meta`, warn MAPPING_OVERWRITTEN",
        literal="same",
        judge=_overwriting,
    ),
)
