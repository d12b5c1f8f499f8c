"""Plan files, format `rackwise.plan/1`: a plan is read strictly, or rejected with its first fault.

Goals, in order: `parse_plan(plan_bytes(p)) == p` of a sealed plan; only what a planner wrote is
executed, so the hash must be that of the content; a fault is named by its JSON path with what was
expected and what was there, and the further faults are counted.

Rejected are, in a move: an empty list, a broker twice, a broker in `after` that the plan has not
seen, `before` equal to `after`, and a partition that appears twice. `before` may name brokers that
are gone. The rules are in `format`.

Limits: this module does not judge whether the moves are legal, fair or few (a proof does), or
whether the cluster is still the one that the plan was made from (apply does).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.plan.format import FORMAT, PLAN
from rackwise.adapters.files.plan.moves import written_moves
from rackwise.adapters.files.plan.write import plan_pieces
from rackwise.adapters.files.policy import parse_policy
from rackwise.adapters.files.tables.prices import parse_prices
from rackwise.core.audit import check_ignored
from rackwise.core.errors import InvalidPlan, InvalidPolicy, InvalidPrices
from rackwise.core.json.canonical import sha256_of
from rackwise.core.json.faults import Fault
from rackwise.core.json.node import document
from rackwise.core.json.strict import collector_held_back, parse
from rackwise.core.planning.model import NEW_PLAN
from rackwise.core.policy import policy_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rackwise.adapters.files.plan.write import Piece
    from rackwise.core.json.node import JsonNode
    from rackwise.core.planning.model import Plan
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price


def read_plan(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Plan:
    """The plan in a plan file, `.gz` too.

    Raises `InvalidConfig` where the path is no readable regular file within `max_bytes` (after
    unpacking), `InvalidPlan` where the content is no plan.
    """
    return parse_plan(read_bytes(path, error=InvalidPlan, max_bytes=max_bytes), where=str(path))


def parse_plan(data: bytes, *, where: str) -> Plan:
    """The plan in the content of a plan file; `where` names the file. Raises `InvalidPlan`."""
    with collector_held_back(len(data)):
        written = _written_plan(data)
        if written is not None:
            return written
        root = document(data, where=where, error=InvalidPlan, format=FORMAT)
        plan: Plan = PLAN.read(root)
        root.faults.raise_if_any()
        _check_hash(root, plan.sha256)
    return plan


def _written_plan(data: bytes) -> Plan | None:
    """The plan in a content that is exactly what is written for it; None for any other content.

    So a content that is not canonical, or whose hash is wrong, is never taken here.
    """
    found = written_moves(data)
    if found is None:
        return None
    try:
        root = document(found.rest, where="", error=InvalidPlan, format=FORMAT)
        rest: Plan = PLAN.read(root)
        root.faults.raise_if_any()
    except InvalidPlan:
        return None
    known = list(rest.made_from.brokers)
    if len(found.later) and rest.max_moves is None:
        return None
    both = found.moves, found.later
    if not all(np.isin(each.lists["after"].values, known).all() for each in both):
        return None
    pieces, digest = plan_pieces(rest, found.texts)
    if digest != rest.sha256 or not _is_joined(data, pieces):
        return None
    return replace(rest, moves=found.moves, later=found.later)


def _is_joined(data: bytes, pieces: Sequence[Piece]) -> bool:
    """Whether the data is these pieces, one after the other."""
    done = 0
    for piece in pieces:
        if not data.startswith(piece, done):
            return False
        done += len(piece)
    return done == len(data)


def plan_policy(plan: Plan, *, where: str) -> Policy:
    """The policy that a plan was made under, from its text; `where` names the plan's file.

    Raises `InvalidPlan` where the text is no policy.
    """
    text = plan.made_from.policy
    place = f"{where}: $.made_from.policy"
    try:
        if text.startswith("{"):
            table = parse(text.encode(), where=place, error=InvalidPolicy)
            policy = policy_of(table, where=lambda _: place)
            check_ignored(policy, where=lambda _: place)
            return policy
        return parse_policy(text.encode(), where=place).policy
    except InvalidPolicy as error:
        raise InvalidPlan(
            error.message,
            wanted=error.wanted,
            had=error.had,
            hint=NEW_PLAN,
            where="$.made_from.policy",
        ) from None


def plan_prices(plan: Plan, *, where: str) -> tuple[Price, ...]:
    """The price rows that a plan was made with, none where it has none.

    Raises `InvalidPlan` where the text is no price table.
    """
    text = plan.made_from.prices
    if not text:
        return ()
    try:
        return parse_prices(text.encode(), where=f"{where}: $.made_from.prices")
    except InvalidPrices as error:
        raise InvalidPlan(
            error.message,
            wanted=error.wanted,
            had=error.had,
            hint=NEW_PLAN,
            where="$.made_from.prices",
        ) from None


def _check_hash(root: JsonNode, written: str) -> None:
    found = sha256_of({key: each for key, each in root.value.items() if key != "sha256"})
    if found != written:
        raise root.faults.last(
            Fault(
                place="$.sha256",
                sentence=f"expected the hash of the plan, {found[:16]}.., got {written[:16]}..",
                wanted=found,
                had=written,
                hint=NEW_PLAN,
            )
        )
