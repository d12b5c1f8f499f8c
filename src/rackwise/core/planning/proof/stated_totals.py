"""The check of what a plan states beside its proof: sizes, dollars, reasons, totals, fair loads.

The proof needs none of these, the reader of the plan does. Everything is recomputed from the
cluster, the policy, the prices and the lists, and compared:

```
the plan states   t-0  1 2 3 -> 4 2 3  77 bytes            totals: 1 move, 77 bytes
recomputed        t-0  1 2 3 -> 4 2 3  12 gigabytes        totals: 1 move, 12 gigabytes
problem           t-0: expected bytes 12000000000, got 77
```

Dollars without prices are false, because nobody can recompute them. Prices of brokers are evidence:
any are valid, and `certificate` recomputes the bound that they give.

Limits: this module checks no lists, loads or costs (`certificate` does). It does not check the name
of the solver, and no monthly change or moves of the goal if the plan has none.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import InvalidConfig
from rackwise.core.planning.fair_loads.targets import fair_of, targets_of
from rackwise.core.planning.leaders.fair_groups import UNIT as LEADERS_UNIT
from rackwise.core.planning.leaders.fair_groups import (
    fair_leaders_of,
    leader_cuts,
    leader_groups,
)
from rackwise.core.planning.model import Fair, Leaders, SeenBroker
from rackwise.core.planning.outcome.first_moves import first_moves, split_moves
from rackwise.core.planning.outcome.left_alone import left_alone_of
from rackwise.core.planning.outcome.move_columns import all_moves, columns_of
from rackwise.core.planning.outcome.moves import counts_of, list_changes, moves_of
from rackwise.core.planning.outcome.totals import leader_totals, totals_of
from rackwise.core.planning.problem.cheapest_sets import BrokerPrices
from rackwise.core.planning.proof.bound import UNITS, prices_of_certificate
from rackwise.core.planning.proof.fair_leaders import first_brokers
from rackwise.core.planning.proof.replication import OBJECTIVE, UNIT
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.planning.model import (
        BrokerGroup,
        Cut,
        LeftAlone,
        Move,
        Plan,
        Totals,
        Verdict,
    )
    from rackwise.core.planning.outcome.move_columns import MoveColumns
    from rackwise.core.planning.outcome.moves import ListChanges
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.proof.applied import AppliedMoves, AppliedPlan
    from rackwise.core.traffic import Price


def false_statements(
    applied: AppliedPlan, plan: Plan, verdict: Verdict, *, prices: Sequence[Price] = ()
) -> tuple[str, ...]:
    """False statements of a plan, one sentence each; `verdict`: the result of `check_applied`.

    `prices`: the price rows that the plan was made with, and applied with.
    """
    instance, after = applied
    return (
        *_false_origin(instance, plan),
        *_different_fields("the verdict", verdict, plan.verdict),
        *_false_moves(instance, plan, after, verdict, prices),
        *_false_proof(instance, plan, after, verdict),
    )


def _false_origin(instance: Instance, plan: Plan) -> Iterator[str]:
    cluster = instance.view.cluster
    if plan.cluster_id != cluster.cluster_id:
        yield f"expected cluster {_text(cluster.cluster_id)}, got {_text(plan.cluster_id)}"
    seen = {one.id: SeenBroker(one.rack, one.is_fenced) for one in cluster.brokers}
    for id_ in sorted(seen.keys() | plan.made_from.brokers.keys()):
        if seen.get(id_) != plan.made_from.brokers.get(id_):
            yield f"broker {id_}: the plan records another rack or state than the cluster has"
    counts = counts_of(cluster, all_moves(plan))
    stated = plan.made_from.partitions
    for topic in sorted(counts.keys() | stated.keys()):
        wanted, had = (
            counted(some[topic], "partition") if topic in some else "no number of partitions"
            for some in (counts, stated)
        )
        if wanted != had:
            yield f"topic {escaped(topic)}: expected {wanted}, got {had}"
    if plan.hypothetical != (cluster.source == "suppose"):
        kinds = ("a real", "a hypothetical")
        wanted, had = kinds[not plan.hypothetical], kinds[plan.hypothetical]
        yield f"expected a plan for {wanted} cluster, got one for {had} cluster"


def _false_moves(
    instance: Instance,
    plan: Plan,
    after: AppliedMoves,
    verdict: Verdict,
    prices: Sequence[Price],
) -> Iterator[str]:
    change = list_changes(instance, after.lists)
    moves = moves_of(instance, change, prices)
    if isinstance(plan.goal, Leaders):
        found = leader_totals(instance, change, after.lists, prices)
    else:
        certificate = plan.certificate(plan.minimise)
        found = totals_of(
            instance,
            change,
            after.lists,
            offers=(
                BrokerPrices.flat(instance)
                if certificate is None
                else prices_of_certificate(instance, certificate)
            ),
            sets=after.sets,
            prices=prices,
            is_at_bound=verdict.is_at_bound,
        )
    yield from _different_moves(moves, all_moves(plan))
    if plan.totals.monthly is None:
        found = replace(found, monthly=None)
    if plan.totals.goal_moves is None:
        found = replace(found, goal_moves=None)
    left = left_alone_of(instance, after.lists)
    if left != plan.left_alone:
        yield f"left_alone: expected {_left_text(left)}, got {_left_text(plan.left_alone)}"
    if moves != plan.moves or plan.max_moves is not None:
        yield from _false_order(instance, plan, change, moves)
    yield from _different_fields("totals", found, plan.totals)


def _different_moves(moves: MoveColumns, stated_moves: Sequence[Move]) -> Iterator[str]:
    """The fields that differ; no object is made for moves that are equal in any order."""
    if moves == stated_moves or moves.by_partition() == columns_of(stated_moves).by_partition():
        return
    stated = {(move.topic, move.partition): move for move in stated_moves}
    for move in moves:
        stated_move = stated[move.topic, move.partition]
        if move != stated_move:
            name = f"{escaped(move.topic)}-{move.partition}"
            yield from _different_fields(name, move, stated_move)


def _false_order(
    instance: Instance, plan: Plan, change: ListChanges, moves: MoveColumns
) -> Iterator[str]:
    """Moves out of order, and others for later than those that `first_moves` leaves."""
    wanted: tuple[Sequence[Move], Sequence[Move]] = (moves, ())
    if plan.max_moves is not None and not isinstance(plan.goal, Leaders):
        try:
            wanted = split_moves(moves, first_moves(instance, change, plan.max_moves))
        except InvalidConfig as error:
            yield error.message
            return
    if wanted == (plan.moves, plan.later):
        return
    orders = [
        [
            ((move.topic, move.partition), when)
            for when, some in zip(("now", "later"), pair, strict=True)
            for move in some
        ]
        for pair in (wanted, (plan.moves, plan.later))
    ]
    if orders[0] == orders[1]:
        return
    expected, stated = map(dict, orders)
    wrong = [place for place in expected | stated if expected.get(place) != stated.get(place)]
    if wrong:
        topic, partition = place = min(wrong)
        when = [one.get(place, "never") for one in (expected, stated)]
        yield f"{escaped(topic)}-{partition}: expected its move {when[0]}, got it {when[1]}"
    else:
        yield "the moves are not in execution order"


def _false_proof(
    instance: Instance, plan: Plan, after: AppliedMoves, verdict: Verdict
) -> Iterator[str]:
    """Groups, cuts and caps that are not those of the fair loads, and other certificates."""
    leaders = fair_leaders_of(instance, after.sets, first_brokers(instance, after.lists))
    fair = Fair(leader_groups=leader_groups(instance, leaders))
    wanted = [
        _Certified("leaders", LEADERS_UNIT, fair.leader_groups, leader_cuts(instance, leaders))
    ]
    if not isinstance(plan.goal, Leaders):
        fair = replace(fair_of(instance, targets_of(instance)), leader_groups=fair.leader_groups)
        wanted.insert(0, _Certified(plan.minimise, UNITS[plan.minimise], fair.groups, fair.cuts))
        if verdict.replication is not None:
            wanted.append(_Certified(OBJECTIVE, UNIT, fair.groups, fair.cuts))
    for name in ("groups", "cuts", "topic_caps", "leader_groups"):
        if getattr(plan.fair, name) != getattr(fair, name):
            yield f"fair: expected the {name} that the policy gives, got others"
    had = [_Certified(one.objective, one.unit, one.groups, one.cuts) for one in plan.certificates]
    if [one.objective for one in had] != [one.objective for one in wanted]:
        names, got = (", ".join(escaped(one.objective) for one in some) for some in (wanted, had))
        yield f"expected certificates of {names}, got {got or 'none'}"
        return
    for one, found, certificate in zip(wanted, had, plan.certificates, strict=True):
        for name, each, stated in zip(_Certified._fields, one, found, strict=True):
            if each != stated:
                yield f"{one.objective}: expected the {name} that the policy gives, got others"
        if certificate.weight and one.objective != OBJECTIVE:
            yield f"{one.objective}: expected no weight, got {certificate.weight}"


class _Certified(NamedTuple):
    """What a certificate states beside its prices and their bound."""

    objective: str
    unit: str
    groups: tuple[BrokerGroup, ...]
    cuts: tuple[Cut, ...]


def _different_fields(
    name: str, found: Move | Totals | Verdict, stated: Move | Totals | Verdict
) -> Iterator[str]:
    for field in fields(found):
        had, stated_value = getattr(found, field.name), getattr(stated, field.name)
        if had != stated_value:
            yield f"{name}: expected {field.name} {_text(had)}, got {_text(stated_value)}"


def _left_text(left: LeftAlone | None) -> str:
    """`9 partitions; spread-even 3 (t-0, t-1, t-2)`; `nothing` if it is None."""
    if left is None:
        return "nothing"
    texts = (f"{one.rule} {one.partitions} ({', '.join(one.examples)})" for one in left.broken)
    return escaped("; ".join([counted(left.partitions, "partition"), *texts]))


def _text(value: object) -> str:
    return "not known" if value is None else escaped(str(value))
