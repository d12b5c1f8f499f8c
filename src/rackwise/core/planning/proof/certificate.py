"""The check of a plan: legal, fair and the cheapest, without a solver.

Goals, in order: a check trusts only the cluster and the policy; it names every error; one pass over
the partitions; no solver.

```
moves             applied to the present lists; each set is legal            (`applied`)
loads             fair, inside groups that hold every fair load              (`fair_replicas`)
cost              at the lower bound that the dual prices give               (`bound`)
replication       at its own lower bound, where rates and prices are known   (`replication`)
leaders           fair, with the fewest changes                              (`fair_leaders`)
```

Limits: this module finds no plans, and reads no live cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rackwise.core.planning.model import Balance, Certificate, Leaders, Verdict
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.bound import UNITS, bound, ignored_prices
from rackwise.core.planning.proof.fair_leaders import judge_leaders
from rackwise.core.planning.proof.fair_replicas import fairness_problems
from rackwise.core.planning.proof.replication import judge_replication
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Minimise, Plan
    from rackwise.core.planning.proof.applied import AppliedPlan
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price

_BALANCE = Balance()


def lower_bound(
    cluster: Cluster,
    policy: Policy,
    certificate: Certificate,
    *,
    goal: Goal = _BALANCE,
    prices: Sequence[Price] = (),
) -> int:
    """The least cost of any plan with these groups and caps.

    `prices`: price rows of one provider, required if the certificate is about dollars. Raises what
    `instance_of` and `bound` raise.
    """
    minimise = cast("Minimise", certificate.objective)
    instance = instance_of(cluster, policy, goal, minimise=minimise, prices=prices)
    return bound(instance, certificate)


def check_applied(applied: AppliedPlan, plan: Plan) -> Verdict:
    """Check whether a plan is legal, fair and the cheapest; every problem by name.

    Everything but the moves and the prices is recomputed from cluster and policy, to which
    `applied` applies the moves. Without prices, the price of replication is not judged. Raises
    `Infeasible`.
    """
    instance, after = applied
    leaders = judge_leaders(instance, after.sets, after.lists, plan.certificate("leaders"))
    if isinstance(plan.goal, Leaders):
        return Verdict(
            cost=leaders.cost,
            lower_bound=leaders.lower_bound,
            gap=leaders.cost - leaders.lower_bound,
            is_legal=not after.illegal,
            is_fair=not leaders.problems,
            problems=(*after.problems, *after.illegal, *leaders.problems),
        )
    certificate = plan.certificate(plan.minimise)
    problems = [] if certificate else [f"expected a certificate of {plan.minimise}, got none"]
    certificate = certificate or Certificate(
        objective=plan.minimise,
        unit=UNITS[plan.minimise],
        groups=(),
        cuts=(),
        prices={},
        lower_bound=0,
    )
    if plan.fair.groups != certificate.groups:
        problems.append("the plan and its certificate state different groups of brokers")
    problems += ignored_prices(instance, certificate)
    least = bound(instance, certificate)
    if least != certificate.lower_bound:
        problems.append(
            f"expected lower bound {least} from the dual prices, got {certificate.lower_bound}"
        )
    why_unfair = fairness_problems(instance, after.sets, certificate, is_legal=not after.illegal)
    cost = instance.cost(after.sets)
    problems += leaders.problems
    if leaders.cost > leaders.lower_bound:
        problems.append(
            f"expected {counted(leaders.lower_bound, 'changed preferred leader')}, "
            f"got {leaders.cost}"
        )
    replication = judge_replication(instance, after.sets, plan, moves=cost)
    problems += replication.problems
    return Verdict(
        cost=cost,
        lower_bound=least,
        gap=cost - least,
        is_legal=not after.illegal,
        is_fair=not why_unfair,
        problems=(*after.problems, *after.illegal, *why_unfair, *problems),
        replication=replication.verdict,
    )
