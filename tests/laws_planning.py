"""Laws of plans: each raises AssertionError naming the law; none imports the planner.

The slow planner (`naive_plan`), the audit and the check judge what a plan promises.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from checked_plans import check
from naive_audit import placed
from naive_plan import of_goal
from rackwise.core.audit import audit
from rackwise.core.model import PartitionTable
from rackwise.core.planning.model import Leaders, Move
from rackwise.core.policy import Slack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from naive_plan import Loads, Question
    from rackwise.core.model import Cluster, Partition
    from rackwise.core.planning.model import Plan
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price

PROMISED = (
    "spread-even",
    "spread-distinct",
    "spread-at-least",
    "rack-count",
    "dead-replica",
    "drained-broker",
    "pin",
    "replica-balance",
    "topic-spread",
)
"""Audit rules of which nothing is left after any plan but one for leaders."""


def check_plan(
    plan: Plan, cluster: Cluster, policy: Policy, *, prices: Sequence[Price] = ()
) -> None:
    """P1 to P6, P10, P11: moves apply, pass the audit, add up, can be undone; the proof holds."""
    after = applied(cluster, plan.moves)
    asked = of_goal(after, policy, plan.goal)
    excluded = {name for name in cluster.topics if _is_excluded(policy, name)}
    if not isinstance(plan.goal, Leaders):
        findings = audit(asked.cluster, asked.policy, rules=PROMISED, fair=plan.fair.loads())
        places = {(f.rule, f.topic, f.partition) for f in findings}
        left = () if plan.left_alone is None else plan.left_alone.broken
        told = {one.rule: one.partitions for one in left if one.rule != "replication"}
        assert Counter(rule for rule, _, _ in places) == told, f"P1: {told} left; found {findings}"
        if asked.limits is None and not excluded:
            assert not left, f"P1: a repair leaves {left}"
        verdict = check(cluster, policy, plan, prices=prices)
        assert verdict.is_proved, f"P2: {verdict.text}; {verdict.problems}"
        assert verdict == plan.verdict, f"P2: {verdict} is found; {plan.verdict} is written"
    moved = [f"{move.topic}-{move.partition}" for move in plan.moves if move.topic in excluded]
    assert not moved, f"P10: moves of excluded partitions: {moved}"
    cordoned = {broker.id for broker in cluster.brokers if broker.is_cordoned}
    named = [move for move in plan.moves if cordoned & set(move.after)]
    assert not named, f"P11: new lists that name cordoned brokers: {named}"
    back = [_reverse(move) for move in plan.moves]
    assert applied(after, back) == _quiet(cluster), "P3: the reverse moves do not lead back"
    _check_totals(plan)
    _check_conserved(plan, cluster, after)


def _is_excluded(policy: Policy, topic: str) -> bool:
    return policy.rules_of(topic, ()).exclude


def _reverse(move: Move) -> Move:
    return replace(move, before=move.after, after=move.before)


def _check_totals(plan: Plan) -> None:
    totals, moves = plan.totals, plan.moves
    sums = {
        "moves": sum(len(move.added) for move in moves),
        "bytes": sum((move.bytes or 0) * len(move.added) for move in moves),
        "partitions": sum(set(move.before) != set(move.after) for move in moves),
        "order_only": sum(set(move.before) == set(move.after) for move in moves),
    }
    for name, total in sums.items():
        assert getattr(totals, name) == total, f"P4: {name} {getattr(totals, name)}, rows {total}"
    assert totals.repair_moves + totals.balance_moves == totals.moves, "P4: moves are not the sum"
    assert totals.partitions_at_least <= totals.partitions, "P4: fewer partitions than possible"


def _check_conserved(plan: Plan, cluster: Cluster, after: Cluster) -> None:
    loads = Counter(id_ for p in cluster.partitions for id_ in placed(p))
    loads.update(id_ for move in plan.moves for id_ in move.added)
    loads.subtract(id_ for move in plan.moves for id_ in move.removed)
    wanted = Counter(id_ for p in after.partitions for id_ in p.replicas)
    assert +loads == +wanted, "P5: before + added - removed is not after"


def applied(cluster: Cluster, moves: Sequence[Move]) -> Cluster:
    """The cluster after all moves, each partition led by its first replica, all in sync."""
    lists = {(move.topic, move.partition): move for move in moves}
    assert len(lists) == len(moves), "P6: a partition is moved twice"
    rows = []
    for p in cluster.partitions:
        move = lists.pop((p.topic, p.partition), None)
        if move is not None:
            assert move.before == tuple(placed(p)), f"P6: {p.topic}-{p.partition} starts elsewhere"
            assert move.after != move.before, f"P6: {p.topic}-{p.partition} does not move"
            assert len(set(move.after)) == len(move.after), f"P6: twice on a broker: {move.after}"
        rows.append(_settled(p, tuple(placed(p)) if move is None else move.after))
    assert not lists, f"P6: moves of partitions that are not there: {list(lists)}"
    return replace(cluster, partitions=PartitionTable.of(rows))


def _settled(p: Partition, replicas: tuple[int, ...]) -> Partition:
    leader = next(iter(replicas), None)
    return replace(p, replicas=replicas, leader=leader, isr=replicas, adding=(), removing=())


def _quiet(cluster: Cluster) -> Cluster:
    return applied(cluster, ())


def check_minimal(plan: Plan, question: Question) -> None:
    """P7: no placement with allowed loads costs less; P8: the bound is that cost."""
    least = question.minimum()
    assert plan.verdict.cost == least, f"P7: {least} is the least; the plan costs {plan.verdict}"
    assert plan.verdict.is_proved, f"P8: {plan.verdict}"
    check_certificate(plan, question)


def check_certificate(plan: Plan, question: Question) -> None:
    """P8: the bound, added up by brute force; P9: the groups hold exactly the fair loads."""
    certificate = plan.certificates[0]
    groups = [
        (
            dict(zip(group.brokers, group.low, strict=True)),
            dict(zip(group.brokers, group.high, strict=True)),
            group.total,
        )
        for group in certificate.groups
    ]
    for one in certificate.topic_prices:
        cap = question.caps[one.topic][one.broker]
        assert cap == one.cap, f"P8: the cap is {cap}; {one.cap} is written"
    topic_prices = {(one.topic, one.broker): one.price for one in certificate.topic_prices}
    bound = question.lower_bound(certificate.prices, groups, topic_prices)
    assert bound == certificate.lower_bound, f"P8: {bound}; {certificate.lower_bound} is written"
    if groups and not isinstance(question.policy.balance.replicas, Slack):
        held = {loads for loads in question.all_loads if _in_groups(loads, question, groups)}
        assert held == set(question.fair), "P9: the groups are not the fair loads"
    for cut in certificate.cuts:
        least = min(_load_of(cut.brokers, loads, question) for loads in question.all_loads)
        assert least == cut.least, f"P9: {cut.brokers} hold {least}; {cut.least} is written"


def _in_groups(
    loads: Loads, question: Question, groups: Sequence[tuple[dict[int, int], dict[int, int], int]]
) -> bool:
    load = dict(zip(question.brokers, loads, strict=True))
    return all(
        all(low[b] <= load[b] <= high[b] for b in low) and sum(load[b] for b in low) == total
        for low, high, total in groups
    )


def _load_of(brokers: Sequence[int], loads: Loads, question: Question) -> int:
    return sum(n for b, n in zip(question.brokers, loads, strict=True) if b in brokers)
