"""The check of what a plan states beside its proof: sizes, dollars, reasons, totals, brokers.

The proof needs none of these, the reader of the plan does. Everything is recomputed from the
cluster, the policy and the lists, and compared:

```
the plan states   t-0  1 2 3 -> 4 2 3  77 bytes            totals: 1 move, 77 bytes
recomputed        t-0  1 2 3 -> 4 2 3  12 gigabytes        totals: 1 move, 12 gigabytes
problem           t-0: expected bytes 12000000000, got 77
```

Limits: this module checks no lists, loads or costs (`certificate` does). It checks no dollars if no
prices are given, and no monthly change if the plan has none or was made with other prices.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from rackwise.core.planning.model import Leaders, Move, SeenBroker, Steady, Totals
from rackwise.core.planning.outcome.moves import list_changes, moves_of
from rackwise.core.planning.outcome.totals import leader_totals, prices_of_certificate, totals_of
from rackwise.core.planning.problem.instance import Instance
from rackwise.core.planning.proof.applied import apply_moves
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan, Verdict
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price


def false_statements(
    cluster: Cluster,
    policy: Policy,
    plan: Plan,
    verdict: Verdict,
    *,
    prices: Sequence[Price] = (),
) -> tuple[str, ...]:
    """False statements of a plan, one sentence each; `verdict`: the result of `check`.

    `prices`: price rows of one provider; dollars are compared only where they are given.
    """
    instance = Instance.of(cluster, policy, plan.goal, minimise=plan.minimise, prices=prices)
    return (
        *_false_origin(instance, plan),
        *_different_fields("the verdict", verdict, _comparable(plan.verdict, prices)),
        *_false_moves(instance, plan, prices),
    )


def _comparable(verdict: Verdict, prices: Sequence[Price]) -> Verdict:
    """A verdict without replication if no prices are given: then it was not judged."""
    return verdict if prices else replace(verdict, replication=None)


def _false_origin(instance: Instance, plan: Plan) -> Iterator[str]:
    cluster = instance.view.cluster
    if plan.cluster_id != cluster.cluster_id:
        yield f"expected cluster {_text(cluster.cluster_id)}, got {_text(plan.cluster_id)}"
    seen = {one.id: SeenBroker(one.rack, one.is_fenced) for one in cluster.brokers}
    for id_ in sorted(seen.keys() | plan.made_from.brokers.keys()):
        if seen.get(id_) != plan.made_from.brokers.get(id_):
            yield f"broker {id_}: the plan records another rack or state than the cluster has"


def _false_moves(instance: Instance, plan: Plan, prices: Sequence[Price]) -> Iterator[str]:
    is_leaders = isinstance(plan.goal, Leaders)
    after = apply_moves(instance, plan.moves, keeps_sets=is_leaders)
    change = list_changes(instance, after.lists)
    moves = moves_of(instance, change, prices)
    if is_leaders:
        found = leader_totals(instance, change, after.lists, prices)
    else:
        offers = prices_of_certificate(instance, plan.certificates[0])
        found = totals_of(
            instance, change, after.lists, offers=offers, sets=after.sets, prices=prices
        )
    stated, totals = plan.moves, plan.totals
    if not prices or totals.usd_nano is None:
        moves, stated = (tuple(map(_move_without_usd, some)) for some in (moves, stated))
        found, totals = _totals_without_usd(found), _totals_without_usd(totals)
    stated_by_partition = {(move.topic, move.partition): move for move in stated}
    for move in moves:
        stated_move = stated_by_partition[move.topic, move.partition]
        if move != stated_move:
            name = f"{escaped(move.topic)}-{move.partition}"
            yield from _different_fields(name, move, stated_move)
    if totals.monthly is None or bool(prices) != (plan.totals.usd_nano is not None):
        found, totals = replace(found, monthly=None), replace(totals, monthly=None)
    if [(move.topic, move.partition) for move in moves] != list(stated_by_partition):
        yield "the moves are not in execution order"
    yield from _different_fields("totals", found, totals)


def _move_without_usd(move: Move) -> Move:
    return move if move.usd_nano is None else replace(move, usd_nano=None)


def _totals_without_usd(totals: Totals) -> Totals:
    return replace(
        totals,
        usd_nano=None,
        steady_before=_without_usd(totals.steady_before),
        steady_after=_without_usd(totals.steady_after),
    )


def _without_usd(steady: Steady | None) -> Steady | None:
    return None if steady is None else replace(steady, usd_nano_per_day=None)


def _different_fields(
    name: str, found: Move | Totals | Verdict, stated: Move | Totals | Verdict
) -> Iterator[str]:
    for field in fields(found):
        had, stated_value = getattr(found, field.name), getattr(stated, field.name)
        if had != stated_value:
            yield f"{name}: expected {field.name} {_text(had)}, got {_text(stated_value)}"


def _text(value: object) -> str:
    return "not known" if value is None else escaped(str(value))
