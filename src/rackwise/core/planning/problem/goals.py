"""Goals resolved to a policy and a cluster, so that a plan only respects rules and loads.

A goal says nothing that a policy could not say, but for a broker that is not there yet:

```
goal                     the policy becomes                                  loads, leaders
Repair()                 as it is                                            off, keep
Balance()                as it is                                            as the policy says
Drain((7,))              brokers.drain + 7                                   off, keep
Drain((7,), True)        brokers.drain + 7                                   as the policy says
Replace(((2, 6),))       brokers.drain + 2; only 6 takes replicas, and       off, keep
                         each list that holds 2 must hold 6
SetReplication(t=3)      a last block: t has replication 3                   off, keep
Add(((9, /a),))          as it is; broker 9 is there, live and empty         as the policy says
```

Limits: this module does not define the rules (`partition_class`) and searches nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import InvalidConfig
from rackwise.core.model import Broker
from rackwise.core.planning.model import Add, Drain, Repair, Replace, SetReplication
from rackwise.core.policy import TopicBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal
    from rackwise.core.policy import Policy
    from rackwise.core.racks import Rack


class ResolvedGoal(NamedTuple):
    """A cluster and the policy it should keep; `takers`: the only brokers that take replicas.

    `takers` is None where all may; `heirs`: (old, new) brokers, new holds what old held.
    """

    cluster: Cluster
    policy: Policy
    takers: tuple[int, ...] | None = None
    heirs: tuple[tuple[int, int], ...] = ()


def resolve_goal(goal: Goal, cluster: Cluster, policy: Policy) -> ResolvedGoal:
    """The goal as a policy. Raises `InvalidConfig` for brokers that the goal cannot mean."""
    if isinstance(goal, Repair):
        return ResolvedGoal(cluster, _still(policy))
    if isinstance(goal, Add):
        return ResolvedGoal(_joined(cluster, goal.brokers), policy)
    if isinstance(goal, Drain):
        drained = _drained(policy, goal.brokers)
        return ResolvedGoal(cluster, drained if goal.rebalance else _still(drained))
    if isinstance(goal, Replace):
        _check_pairs(goal, cluster)
        olds, news = zip(*goal.pairs, strict=True)
        return ResolvedGoal(cluster, _still(_drained(policy, olds)), news, goal.pairs)
    if isinstance(goal, SetReplication):
        blocks = tuple(
            TopicBlock(match=(glob,), replication=count) for glob, count in goal.by_topic
        )
        sized = replace(policy, topics=(*policy.topics, *blocks))
        return ResolvedGoal(cluster, sized if goal.rebalance else _still(sized))
    return ResolvedGoal(cluster, policy)


def _still(policy: Policy) -> Policy:
    """Loads need not be even, and leaders that stay replicas stay leaders."""
    return replace(policy, balance=replace(policy.balance, replicas="off", leaders="keep"))


def _drained(policy: Policy, brokers: Sequence[int]) -> Policy:
    drain = tuple(sorted({*policy.brokers.drain, *brokers}))
    return replace(policy, brokers=replace(policy.brokers, drain=drain))


def _joined(cluster: Cluster, joining: Sequence[tuple[int, Rack]]) -> Cluster:
    there = {broker.id: broker for broker in cluster.brokers}
    for id_, rack in joining:
        had = there.get(id_)
        if had is not None and (had.rack != rack or not had.is_live):
            raise InvalidConfig(
                f"invalid broker to add: expected a new broker, or a live one in {rack}, "
                f"got broker {id_}, {'live' if had.is_live else 'dead'} in {had.rack}",
                wanted=f"{id_}={rack}",
                had=f"{id_}={had.rack}",
                hint="add the broker with the rack that it has, or use another id",
            )
        there.setdefault(id_, Broker(id=id_, rack=rack))
    return replace(cluster, brokers=tuple(there[id_] for id_ in sorted(there)))


def _check_pairs(goal: Replace, cluster: Cluster) -> None:
    olds = {old for old, _ in goal.pairs}
    news = [new for _, new in goal.pairs]
    live = {broker.id for broker in cluster.brokers if broker.is_live}
    if len(olds) < len(goal.pairs) or len(set(news)) < len(news) or olds & set(news) or not olds:
        pairs = ", ".join(f"{old}={new}" for old, new in goal.pairs) or "none"
        raise InvalidConfig(
            "invalid pairs of brokers to replace: expected at least one pair, each broker once, "
            f"got {pairs}",
            wanted="OLD=NEW, each broker once",
            had=pairs,
            hint="give each old broker its own new one",
        )
    for new in news:
        if new not in live:
            raise InvalidConfig(
                f"invalid replacement: expected a live broker, got broker {new}",
                wanted="a live broker",
                had=new,
                hint=f"live brokers: {', '.join(map(str, sorted(live)))}",
            )
