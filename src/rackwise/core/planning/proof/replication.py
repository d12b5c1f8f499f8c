"""The proof that no plan with as many moves has a lower price of replication.

Goals, in order: one certificate of dual prices, checked like that of the moves; a plan whose price
of replication cannot differ needs no search for prices.

Two objectives, one bound. Give a move any weight W, and let a set cost W for each copy plus the
price of replication of all its replicas. Dual prices give a lower bound of this sum for every legal
plan with fair loads (`certificate`). So for all plans with M moves:

```
W * M + replication >= bound          replication >= bound - W * M
```

This holds for every W. If W is large, the plans that minimise the sum are those that minimise the
moves first and replication second, and the bound is the price of the plan.

```
/a 1 2, /b 3 4; t-0 on 1 3, leader 1, one more replica      /a costs 0, /b 1.728 dollars per day
W = 10     to 2: 10 + 0 + 1.728       to 4: 10 + 1.728 + 1.728       bound 11.728
one move   replication >= 11.728 - 10 = 1.728, the price of {1 3 2}
```

The algorithm. With W = 0 and prices of 0 the bound is the sum of the cheapest sets. Where each rack
holds a fixed number of replicas, that is the price of every plan. Otherwise W starts at twice the
dearest replica, and grows until the bound is the price of the plan.

Limits: leaders are those that are expected (`leaders.expected`). The search is not called.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.planning.fair_loads.targets import topic_caps
from rackwise.core.planning.model import Certificate, ReplicationVerdict
from rackwise.core.planning.proof.bound import bound, certify, ignored_prices
from rackwise.core.planning.proof.fair_replicas import wrong_caps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Fair, Plan
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.steady_costs import SteadyCosts

OBJECTIVE = "replication"
UNIT = "nano-dollars per day"
MOST_WEIGHT = 2**45
"""Costs with this weight stay below 2^50."""
GROWTH = 64
"""The weight grows by this factor."""


class ProvedReplication(NamedTuple):
    """The price of replication after a plan, and the certificate of its lower bound."""

    verdict: ReplicationVerdict
    certificate: Certificate


def certify_replication(instance: Instance, sets: Ragged, fair: Fair) -> ProvedReplication | None:
    """The proof of the price of replication; None where it is no objective.

    `sets`: the set of every row after the plan, broker indexes, ascending.
    """
    if instance.steady is None:
        return None
    moves, cost = instance.cost(sets), _price_of(instance, instance.steady, sets)
    free = Certificate(
        objective=OBJECTIVE,
        unit=UNIT,
        groups=fair.groups,
        cuts=fair.cuts,
        prices=dict.fromkeys(sorted(instance.brokers.tolist()), 0),
        lower_bound=0,
    )
    best = replace(free, lower_bound=replication_bound(instance, free, moves))
    weight = 2 * instance.steady.most() + 1
    while best.lower_bound < cost and weight <= MOST_WEIGHT:
        weighted = instance.with_steady_objective(weight)
        found = replace(
            certify(weighted, sets, fair), objective=OBJECTIVE, unit=UNIT, weight=weight
        )
        found = replace(found, lower_bound=found.lower_bound - weight * moves)
        best = max(best, found, key=lambda one: one.lower_bound)
        weight *= GROWTH
    verdict = ReplicationVerdict(cost=cost, lower_bound=best.lower_bound)
    return ProvedReplication(verdict, best)


def _price_of(instance: Instance, steady: SteadyCosts, sets: Ragged) -> int:
    """Nano-dollars per day of replication, from the expected leaders."""
    return sum(steady.at(sets.rows, instance.leaf[sets.values]).tolist())


def replication_bound(instance: Instance, certificate: Certificate, moves: int) -> int:
    """The least price of replication of any plan with so many moves, from the dual prices."""
    weight = certificate.weight
    return bound(instance.with_steady_objective(weight), certificate) - weight * moves


class JudgedReplication(NamedTuple):
    """The price of replication, and the faults of its certificate."""

    verdict: ReplicationVerdict | None
    """None where replication is no objective."""
    problems: tuple[str, ...] = ()
    """One sentence per fault."""


def judge_replication(
    instance: Instance, sets: Ragged, plan: Plan, *, moves: int
) -> JudgedReplication:
    """Check the certificate of replication of a plan with so many moves.

    The groups of the certificate of the moves are checked elsewhere.
    """
    if instance.steady is None:
        return JudgedReplication(None)
    certificate, of_moves = plan.certificate(OBJECTIVE), plan.certificate("moves")
    groups = () if of_moves is None else of_moves.groups
    problems: list[str] = []
    if certificate is None:
        problems.append("expected a certificate of replication, got none")
        certificate = Certificate(
            objective=OBJECTIVE, unit=UNIT, groups=groups, cuts=(), prices={}, lower_bound=0
        )
        least = replication_bound(instance, certificate, moves)
    else:
        problems += _faults(instance, certificate)
        if certificate.groups != groups:
            problems.append("the certificates state different groups of brokers")
        used = replace(certificate, weight=min(certificate.weight, MOST_WEIGHT))
        least = replication_bound(instance, used, moves)
        if least != certificate.lower_bound:
            problems.append(
                f"expected lower bound {least} of replication from the dual prices, "
                f"got {certificate.lower_bound}"
            )
    verdict = ReplicationVerdict(cost=_price_of(instance, instance.steady, sets), lower_bound=least)
    return JudgedReplication(verdict, tuple(problems))


def _faults(instance: Instance, certificate: Certificate) -> Iterator[str]:
    """The numbers that the bound ignores, and caps that are not those of the policy."""
    yield from ignored_prices(instance, certificate)
    yield from wrong_caps(instance, certificate, topic_caps(instance))
    if certificate.weight > MOST_WEIGHT:
        yield f"expected a weight of at most {MOST_WEIGHT}, got {certificate.weight}"
