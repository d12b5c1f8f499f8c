"""The check of a plan's leaders: fair, and with the fewest changes.

The check is that of replicas (`certificate`, `fair_replicas`) with one leader for each partition in
place of a set, the brokers that may lead in place of the legal sets, and a cost of 1 for a change:

```
may lead        1 2    1 2    2 3        first of the lists   1 2 2        before   1 1 2
loads           1: 1   2: 2   3: 0       2 could pass one to 3, which costs less: not fair
prices 0        least  0 + 0 + 0         the second row changes: gap 1, unless fairness requires it
```

The lower bound sums up the least price and cost of each partition, less the terms of the groups. A
leadership can be passed on from a leader to every broker that may lead its partition.

Limits: this module checks no sets, and not the order behind the leader.

Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2022).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.leaders.eligible import electable
from rackwise.core.planning.proof.applied import index_of_brokers
from rackwise.core.planning.proof.bound import ignored_prices
from rackwise.core.planning.proof.dual_prices import LoadLimits, group_term, valid_prices
from rackwise.core.planning.proof.fair_replicas import group_problems, possible_improvements
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Certificate
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.proof.fair_replicas import Reach


class LeadersVerdict(NamedTuple):
    """The result of the check of leaders."""

    cost: int
    """The number of leaders that change."""
    lower_bound: int
    """The least number of leaders that change in any fair choice."""
    problems: tuple[str, ...]
    """One sentence per fault."""


def judge_leaders(
    instance: Instance, sets: Ragged, lists: Ragged, certificate: Certificate | None
) -> LeadersVerdict:
    """Judge the first broker of each list (ids) as the leader of a set of usable brokers."""
    candidates, preferred = electable(instance, sets)
    rows_led = np.flatnonzero(candidates.lengths > 0)
    leader = first_brokers(instance, lists)
    problems = list(_unelectable(instance, candidates, leader, rows_led))
    cost = int((leader != preferred)[rows_led].sum())
    if certificate is None:
        return LeadersVerdict(cost, 0, (*problems, "expected a certificate of leaders, got none"))
    problems += (f"leaders: {text}" for text in _ignored(instance, certificate))
    group_faults = group_problems(instance, certificate.groups)
    prices = valid_prices(instance.brokers, certificate.prices)
    changes = (candidates.values != preferred[candidates.rows]) + prices[candidates.values]
    least = _least_of_rows(candidates, changes)
    groups = () if group_faults else certificate.groups
    bound = least - sum(group_term(group, instance.brokers, prices) for group in groups)
    if bound != certificate.lower_bound:
        written = certificate.lower_bound
        problems.append(
            f"expected lower bound {bound} from the dual prices of leaders, got {written}"
        )
    if problems or group_faults:
        return LeadersVerdict(cost, bound, (*problems, *group_faults))
    loads = np.bincount(leader[rows_led], minlength=len(instance.brokers)).astype(np.int64)
    limits = LoadLimits.of(instance, certificate.groups, {})
    fairness_problems = [
        *_outside(instance, loads, limits),
        *possible_improvements(
            instance, loads, limits, _reach_by_exchanges(instance, candidates, leader)
        ),
    ]
    return LeadersVerdict(cost, bound, tuple(f"leaders: {text}" for text in fairness_problems))


def first_brokers(instance: Instance, lists: Ragged) -> NDArray[np.int64]:
    """Index of the first broker of each list, -1 if it is not usable or the list is empty."""
    first = np.where(lists.lengths > 0, lists.offsets[:-1], -1)
    return index_of_brokers(instance, np.append(lists.values, np.int32(-1))[first])


def _unelectable(
    instance: Instance,
    candidates: Ragged,
    leader: NDArray[np.int64],
    rows_led: NDArray[np.int64],
) -> Iterator[str]:
    is_eligible = np.zeros(len(candidates), dtype=np.bool_)
    is_eligible[candidates.rows[candidates.values == leader[candidates.rows]]] = True
    for row in rows_led[~is_eligible[rows_led]].tolist():
        had = int(instance.brokers[leader[row]]) if leader[row] >= 0 else "an unusable one"
        yield f"{instance.name(row)}: expected an eligible leader, got {had}"


def _ignored(instance: Instance, certificate: Certificate) -> Iterator[str]:
    """The prices that the bound of leaders ignores: also those of topics, which have no caps."""
    yield from ignored_prices(instance, replace(certificate, topic_prices=()))
    for one in certificate.topic_prices:
        yield f"expected no dual price of a topic, got {one.price} of topic {one.topic}"


def _least_of_rows(rows: Ragged, values: NDArray[np.int64]) -> int:
    """The sum, over rows that hold something, of the least of their values."""
    starts = rows.offsets[:-1][rows.lengths > 0]
    return int(np.minimum.reduceat(values, starts).sum()) if len(starts) else 0


def _outside(instance: Instance, loads: NDArray[np.int64], limits: LoadLimits) -> Iterator[str]:
    totals = np.bincount(limits.group, loads, len(limits.totals)).astype(np.int64)
    if (totals != limits.totals).any():
        wanted, had = (", ".join(map(str, each.tolist())) for each in (limits.totals, totals))
        yield f"expected groups of brokers that lead {wanted} in all, got {had}"
    for broker in np.flatnonzero((loads < limits.low) | (loads > limits.high)).tolist():
        low, high = limits.low[broker], limits.high[broker]
        wanted = counted(high, "partition") if low == high else f"{low} to {high} partitions"
        yield f"expected {wanted} led by broker {instance.brokers[broker]}, got {loads[broker]}"


def _reach_by_exchanges(instance: Instance, candidates: Ragged, leader: NDArray[np.int64]) -> Reach:
    """The brokers to which leaderships can be passed on, over any chain."""
    brokers = len(instance.brokers)
    # Whether a leadership can go from one broker to another in one step, bool [from, to].
    is_one_step = np.eye(brokers, dtype=np.bool_)
    is_one_step[leader[candidates.rows], candidates.values] = True

    def reach(starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        seen = starts
        further: NDArray[np.bool_] = np.asarray(is_one_step[starts].any(axis=0))
        while (further != seen).any():
            seen, further = further, np.asarray(is_one_step[further].any(axis=0))
        return seen

    return reach
