"""The cost of each soft rule of a policy: the plan with the rule and without it.

A soft rule keeps no data safe: even loads, spread topics, even leaders, even second replicas. For
each soft rule in force, the plan is made again with that rule alone turned off. The difference is
the cost of the rule.

```
                 moves     topic_spread off     cost
grown 303        25,010    1,782                topic_spread costs 23,228 of 25,010 moves
```

Costs do not add up. A move that two rules both require is in neither cost.

Limits: the rules that keep data safe (spread, counts, pins) are never turned off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rackwise.core.planning.model import Balance, Leaders
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goals import resolve_goal
from rackwise.core.policy import DEFAULT_POLICY, Policy, TopicBlock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Plan, Totals

SoftRule: TypeAlias = Literal["topic_spread", "balance", "leaders", "failover"]
"""A rule that can be turned off without a risk for data."""

BALANCE = Balance()
"""The default goal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCost:
    """One soft rule: what the plan costs with it and without it."""

    rule: SoftRule
    with_rule: Totals
    without_rule: Totals

    @property
    def sentence(self) -> str:
        """`topic_spread costs 23,228 of 25,010 moves`; of leader changes where no move differs."""
        moves = self.with_rule.moves - self.without_rule.moves
        if moves or not self.with_rule.leader_changes:
            return f"{self.rule} costs {moves:,} of {self.with_rule.moves:,} moves"
        changes = self.with_rule.leader_changes - self.without_rule.leader_changes
        return f"{self.rule} costs {changes:,} of {self.with_rule.leader_changes:,} leader changes"


def rule_costs(
    cluster: Cluster,
    policy: Policy = DEFAULT_POLICY,
    goal: Goal = BALANCE,
    *,
    planned: Plan | None = None,
    **how: Any,  # noqa: ANN401, the arguments of `plan`
) -> tuple[RuleCost, ...]:
    """The cost of each soft rule in force, in the order of `SoftRule`.

    `planned`: the plan with all rules, made here if it is None; `how`: other arguments of `plan`.
    Raises what `plan` raises.
    """
    before = plan(cluster, policy, goal, **how) if planned is None else planned
    return tuple(
        RuleCost(
            rule=rule,
            with_rule=before.totals,
            without_rule=plan(cluster, without, goal, **how).totals,
        )
        for rule, without in _policies_without_rule(
            resolve_goal(goal, cluster, policy).policy, policy, goal
        )
    )


def _policies_without_rule(
    in_force: Policy, policy: Policy, goal: Goal
) -> Iterator[tuple[SoftRule, Policy]]:
    """Each soft rule that applies to the goal, with the policy without that rule."""
    balance = in_force.balance
    moves = not isinstance(goal, Leaders)
    if moves and any(block.topic_spread == "even" for block in policy.topics):
        anywhere = TopicBlock(match=("*",), topic_spread="off")
        yield "topic_spread", replace(policy, topics=(*policy.topics, anywhere))
    if moves and balance.replicas != "off":
        yield "balance", _with_balance(policy, replicas="off")
    if balance.leaders == "even":
        yield "leaders", _with_balance(policy, leaders="keep")
        if balance.failover:
            yield "failover", _with_balance(policy, failover=False)


def _with_balance(policy: Policy, **changed: Any) -> Policy:  # noqa: ANN401, fields of BalancePolicy
    return replace(policy, balance=replace(policy.balance, **changed))
