"""Goals resolved to a policy and a cluster, so that a plan only respects rules and loads.

Every goal can be expressed as a policy, except for a broker that does not exist yet:

```
goal                     the policy becomes                                  loads, leaders
Repair()                 unchanged                                           off, keep
Balance()                unchanged                                           as the policy says
Drain((7,))              brokers.drain + 7                                   off, keep
Drain((7,), True)        brokers.drain + 7                                   as the policy says
Replace(((2, 6),))       brokers.drain + 2; only 6 takes replicas, and       off, keep
                         each list that holds 2 must hold 6
SetReplication(t=3)      a last block: t has replication 3                   off, keep
Add(((9, /a),))          unchanged; broker 9 is added, live and empty        as the policy says
```

The last four goals are limited: what breaks a rule elsewhere stays as it is (`goal_scope`). With
`repair` they are not: every partition must keep the rules, and any broker takes replicas.

Limits: this module does not define the rules (`partition_class`) and searches nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import InvalidConfig
from rackwise.core.model import Broker
from rackwise.core.planning.model import (
    Add,
    Drain,
    Repair,
    Replace,
    SetReplication,
    balances_rest,
    is_limited,
)
from rackwise.core.policy import TopicBlock
from rackwise.core.text import names_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal
    from rackwise.core.policy import Policy
    from rackwise.core.racks import Rack


IDS_SHOWN = 12
"""How many broker ids a hint names."""


class ResolvedGoal(NamedTuple):
    """A cluster and the policy that it should keep."""

    cluster: Cluster
    policy: Policy
    takers: tuple[int, ...] | None = None
    """The only brokers that take replicas; None if all may."""
    heirs: tuple[tuple[int, int], ...] = ()
    """(old, new) brokers: new holds what old held."""
    touched: TouchedPart | None = None
    """What the goal touches; None for a goal about the whole cluster."""

    @property
    def limits(self) -> TouchedPart | None:
        """What a limited goal touches; None if every partition must keep the rules."""
        return None if self.touched is None or self.touched.repairs else self.touched


class TouchedPart(NamedTuple):
    """The part of a cluster that a goal touches."""

    leaving: tuple[int, ...] = ()
    """Brokers whose replicas must go."""
    first_block: int | None = None
    """The first block of the policy that the goal has added, for topics of another size."""
    balances: bool = False
    """Whether partitions that the goal does not touch may move for even loads."""
    repairs: bool = False
    """Whether every partition must keep the rules all the same."""


def resolve_goal(goal: Goal, cluster: Cluster, policy: Policy) -> ResolvedGoal:
    """The goal as a policy. Raises `InvalidConfig` for brokers that the goal cannot name."""
    if isinstance(goal, Repair):
        return ResolvedGoal(cluster, _keep_loads_and_leaders(policy))
    if isinstance(goal, Add):
        added = _add_brokers(cluster, goal.brokers)
        return ResolvedGoal(added, policy, touched=_touched(goal))
    if isinstance(goal, Drain):
        _check_known("drain", goal.brokers, cluster)
        drained = _add_drained(policy, goal.brokers)
        touched = _touched(goal, leaving=goal.brokers)
        kept = drained if goal.rebalance else _keep_loads_and_leaders(drained)
        return ResolvedGoal(cluster, kept, touched=touched)
    if isinstance(goal, Replace):
        _check_pairs(goal, cluster)
        olds, news = zip(*goal.pairs, strict=True)
        return ResolvedGoal(
            cluster,
            _keep_loads_and_leaders(_add_drained(policy, olds)),
            None if goal.repair else news,
            goal.pairs,
            _touched(goal, leaving=olds),
        )
    if isinstance(goal, SetReplication):
        blocks = tuple(
            TopicBlock(match=(glob,), replication=count) for glob, count in goal.by_topic
        )
        sized = replace(policy, topics=(*policy.topics, *blocks))
        touched = _touched(goal, first_block=len(policy.topics))
        kept = sized if goal.rebalance else _keep_loads_and_leaders(sized)
        return ResolvedGoal(cluster, kept, touched=touched)
    return ResolvedGoal(cluster, policy)


def check_takers(goal: Goal, cluster: Cluster) -> None:
    """Reject a goal whose new brokers are cordoned: they take nothing. Raises `InvalidConfig`."""
    takers: tuple[int, ...] = ()
    if isinstance(goal, Add):
        takers = tuple(broker for broker, _ in goal.brokers)
    elif isinstance(goal, Replace):
        takers = tuple(new for _, new in goal.pairs)
    cordoned = {broker.id for broker in cluster.brokers if broker.is_live and broker.is_cordoned}
    for broker in takers:
        if broker in cordoned:
            raise InvalidConfig(
                f"invalid goal: expected new brokers that take replicas, got broker {broker}, "
                "which is cordoned",
                wanted="brokers that are not cordoned",
                had=broker,
                hint=f"uncordon broker {broker}, or name another",
            )


def _touched(
    goal: Goal, *, leaving: tuple[int, ...] = (), first_block: int | None = None
) -> TouchedPart:
    return TouchedPart(leaving, first_block, balances_rest(goal), not is_limited(goal))


def _keep_loads_and_leaders(policy: Policy) -> Policy:
    """The policy with free loads, and with leaders that stay as long as they are replicas."""
    return replace(policy, balance=replace(policy.balance, replicas="off", leaders="keep"))


def _add_drained(policy: Policy, brokers: Sequence[int]) -> Policy:
    drain = tuple(sorted({*policy.brokers.drain, *brokers}))
    return replace(policy, brokers=replace(policy.brokers, drain=drain))


def _add_brokers(cluster: Cluster, joining: Sequence[tuple[int, Rack]]) -> Cluster:
    by_id = {broker.id: broker for broker in cluster.brokers}
    for id_, rack in joining:
        had = by_id.get(id_)
        if had is not None and (had.rack != rack or not had.is_live):
            raise InvalidConfig(
                f"invalid broker to add: expected a new broker, or a live one in {rack}, "
                f"got broker {id_}, {'live' if had.is_live else 'dead'} in {had.rack}",
                wanted=f"{id_}={rack}",
                had=f"{id_}={had.rack}",
                hint="add the broker with the rack that it has, or use another id",
            )
        by_id.setdefault(id_, Broker(id=id_, rack=rack))
    return replace(cluster, brokers=tuple(by_id[id_] for id_ in sorted(by_id)))


def _check_known(name: str, brokers: Sequence[int], cluster: Cluster) -> None:
    known = {broker.id for broker in cluster.brokers}
    for broker in brokers:
        if broker not in known:
            is_named = bool((cluster.partitions.placed.values == broker).any())
            raise InvalidConfig(
                f"invalid {name}: expected a broker of the cluster, got {broker}"
                f"{', which is dead and not listed' * is_named}",
                wanted="a broker of the cluster",
                had=broker,
                hint="plan repair moves the replicas of dead brokers"
                if is_named
                else f"brokers: {names_text(sorted(known), most=IDS_SHOWN)}",
            )


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
    _check_known("replace", sorted(olds), cluster)
    for new in news:
        if new not in live:
            raise InvalidConfig(
                f"invalid replacement: expected a live broker, got broker {new}",
                wanted="a live broker",
                had=new,
                hint=f"live brokers: {names_text(sorted(live), most=IDS_SHOWN)}",
            )
