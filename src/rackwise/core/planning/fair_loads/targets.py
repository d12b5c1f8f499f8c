"""Fair loads: how many replicas each broker should hold, and why nothing fairer exists.

Goals, in order: the sum of load^2 / weight over the brokers is the least that legal sets can have;
ranges and totals state the fair loads for a check, and cuts that it can sum up prove them; no
solver is needed.

Constraints. Fairness is over brokers, not racks: a rack with more brokers holds more. Every row may
have any of its legal sets; what it holds now does not matter here.

The algorithm. There is a closed form in two cases: all brokers can hold the same share of every
partition, or the rules fix how many replicas each rack holds. Then floor and ceiling of the mean
are fair, because a flow that exists in fractions also exists in whole units. Otherwise the loads
are divided. First the total is shared by weight as if there were no rules. If a flow reaches these
loads, they are fair. If not, the minimum cut names the brokers that cannot be filled. These brokers
get as much as the rules allow, and both parts are shared again.

```
3 partitions on /a 1 2, /b 3, /c 4 5, each rack holds one of each
shared          2 2 2 2 1       a flow reaches 8: broker 3 must take 3, so the others cannot be full
divided         1 2 4 5 get 6   2 1 2 1          broker 3 gets 3
groups          3: high 3, total 3      1 2 4 5: high 2, total 6
cut             broker 3 must hold 3 or more: the other racks take at most 2 per partition
```

Fair loads differ only in which brokers of a group are at `high` and which are below it. A broker's
`high` is its load, or one more where an exchange of equal cost can bring one more. With equal
weights a group is all brokers of one `high`; with weights, brokers that such exchanges join.

Cuts. Take the brokers whose load is above a threshold, and all brokers to which exchanges can pass
a replica from them. No exchange leaves this set, so its brokers together hold the least number of
replicas that legal sets allow. Each threshold gives one such set, and the sets are nested. They
prove fairness: to make loads fairer, a replica would have to leave one of the sets.

Fair loads always exist. Assume that every row has a legal set. Each topic alone has a fair
placement, and the caps of a topic are the greatest loads of its fair placements. So these
placements of all topics together keep all caps. Among the placements that keep all caps, the
fairest one has loads within the ranges, with or without slack. Therefore only a row without a legal
set makes a plan infeasible.

Limits: this module chooses no sets, and does not know what reaching the loads costs. Sources:
Groenevelt, "Two algorithms for maximizing a separable concave function over a polymatroid feasible
region" (1991); Fujishige, "Lexicographically optimal base of a polymatroid" (1980).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.fair_loads.aggregate import SOURCE, AggregateNetwork, aggregates_of
from rackwise.core.planning.fair_loads.ranges import Ranges, even_shares, ranges_of, weight_steps
from rackwise.core.planning.model import Cut, Fair
from rackwise.core.policy import Slack
from rackwise.core.text import names_text

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.fair_loads.aggregate import Aggregate
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass

_MAX_NAMED_RACKS = 6
"""Maximum racks that the reason of a cut names, so that it stays one readable sentence."""


class Targets(NamedTuple):
    """The loads that the sets of a plan must reach."""

    ranges: Ranges | None
    """The ranges of the loads; None if they need not be even."""
    caps: Mapping[int, NDArray[np.int64]]
    """Topic of the table -> most replicas of it on each broker, int64 [B]."""


def targets_of(instance: Instance) -> Targets:
    """Fair loads and topic caps of an instance in which every row has a legal set."""
    caps = topic_caps(instance)
    balance = instance.view.policy.balance.replicas
    if balance == "off":
        return Targets(None, caps)
    ranges = _ranges(instance, aggregates_of(instance), caps)
    if isinstance(balance, Slack):
        ranges = ranges.with_slack(balance.replicas)
    return Targets(ranges, caps)


def fair_of(instance: Instance, targets: Targets) -> Fair:
    """The targets as a value, with broker ids and topic names instead of indexes."""
    ids = instance.brokers
    names = instance.view.table.topics
    shared: dict[int, Mapping[int, int]] = {}
    by_topic: dict[str, Mapping[int, int]] = {}
    for topic, caps in targets.caps.items():
        if id(caps) not in shared:
            shared[id(caps)] = MappingProxyType(dict(zip(ids.tolist(), caps.tolist(), strict=True)))
        by_topic[names[topic]] = shared[id(caps)]
    ranges = targets.ranges
    return Fair(
        groups=() if ranges is None else ranges.groups(ids),
        cuts=() if ranges is None else tuple(cut_value(instance, *cut) for cut in ranges.cuts),
        topic_caps=MappingProxyType(by_topic),
    )


def topic_caps(instance: Instance) -> Mapping[int, NDArray[np.int64]]:
    """The most replicas of each capped topic on each broker: its `high` if the topic were alone."""
    if not instance.is_capped.any():
        return {}
    topic = instance.topic
    order = np.argsort(topic, kind="stable")
    bounds = np.searchsorted(topic[order], np.arange(len(instance.is_capped) + 1))
    known: dict[frozenset[tuple[Aggregate, int]], NDArray[np.int64]] = {}
    caps: dict[int, NDArray[np.int64]] = {}
    for number in np.flatnonzero(instance.is_capped).tolist():
        rows = order[bounds[number] : bounds[number + 1]]
        aggregates = aggregates_of(instance, rows, by_topic=False)
        key = frozenset(aggregates.items())
        if key not in known:
            known[key] = _ranges(instance, aggregates, {}).high
        caps[number] = known[key]
    return caps


def _ranges(
    instance: Instance, aggregates: Counter[Aggregate], caps: Mapping[int, NDArray[np.int64]]
) -> Ranges:
    closed_form = _closed_form(instance, aggregates)
    if closed_form is not None:
        return closed_form.exact()
    network = AggregateNetwork(instance, aggregates, caps)
    loads = _fair_loads(network, weight_steps(instance.weights).tolist())
    network.fill(loads)
    found = ranges_of(
        loads,
        instance.weights,
        lambda starts: network.network.reached(2 + b for b in starts)[2 : 2 + len(loads)],
    )
    return found.exact()


def _closed_form(instance: Instance, aggregates: Mapping[Aggregate, int]) -> Ranges | None:
    """Floor and ceiling of the mean, of all brokers or of each rack; None where not fair."""
    is_plain = instance.is_open.all() and not any(aggregate.pins for aggregate in aggregates)
    if not is_plain or len({*instance.weights.tolist()}) != 1:
        return None
    sizes: dict[int, int] = {}
    for aggregate, size in aggregates.items():
        sizes[aggregate.class_number] = sizes.get(aggregate.class_number, 0) + size
    classes = [(instance.classes[number], size) for number, size in sizes.items()]
    below = np.bincount(instance.leaf, minlength=instance.leaves).astype(np.int64)
    total = sum(class_.replicas * size for class_, size in classes)
    brokers = len(instance.brokers)
    if all(_may_be_uniform(class_, below) for class_, _ in classes):
        zeros = np.zeros(brokers, dtype=np.int64)
        high = -(-total // brokers)
        return Ranges(zeros, zeros + max(0, high - 1), zeros + high, (total,))
    if not all((class_.low[-1] == class_.high[-1]).all() for class_, _ in classes):
        return None
    held = sum((class_.low[-1] * size for class_, size in classes), np.zeros_like(below))
    high_of = -(-held // np.maximum(below, 1))
    return _ranges_of_fixed_racks(high_of[instance.leaf], held, instance.leaf, high_of)


def _may_be_uniform(class_: PartitionClass, below: NDArray[np.int64]) -> bool:
    """Whether all brokers may hold the same share of a partition; `below`: brokers of each leaf."""
    brokers = int(below.sum())
    if not class_.has_boxes or class_.replicas > brokers:
        return False
    for level in range(len(class_.up)):
        share = class_.replicas * class_.at(level, below)
        if ((share < class_.low[level] * brokers) | (share > class_.high[level] * brokers)).any():
            return False
    return True


def _ranges_of_fixed_racks(
    high: NDArray[np.int64],
    held: NDArray[np.int64],
    leaf: NDArray[np.int64],
    high_of: NDArray[np.int64],
) -> Ranges:
    """Groups of brokers by `high`, where the rules fix the number of replicas in each rack."""
    levels = sorted(set(high.tolist()), reverse=True)
    group = np.array([levels.index(most) for most in high.tolist()], dtype=np.int64)
    is_used = np.bincount(leaf, minlength=len(held)) > 0
    totals = [int(held[is_used & (high_of == most)].sum()) for most in levels]
    cuts = [
        (np.flatnonzero(group <= number), sum(totals[: number + 1]))
        for number in range(len(levels) - 1)
    ]
    return Ranges(group, np.maximum(high - 1, 0), high, tuple(totals), tuple(cuts))


def _fair_loads(network: AggregateNetwork, step: Sequence[int]) -> list[int]:
    """One fair vector of loads, by dividing the loads at cuts."""
    loads = [0] * len(step)
    below: set[int] = set()
    filled = 0
    blocks = [(list(range(len(step))), network.supply)]
    while blocks:
        block, total = blocks.pop()
        wanted = even_shares(total, [step[b] for b in block])
        limits = [network.supply if b in below else 0 for b in range(len(step))]
        for b, load in zip(block, wanted, strict=True):
            limits[b] = load
        flow = network.fill(limits)
        if flow == filled + total:
            for b, load in zip(block, wanted, strict=True):
                loads[b] = load
            below.update(block)
            filled += total
            continue
        seen = network.network.reached([SOURCE])
        short = [b for b in block if not seen[2 + b]]
        rest = [b for b in block if seen[2 + b]]
        capacity = flow - filled - sum(limits[b] for b in rest)
        blocks += [(rest, total - capacity), (short, capacity)]
    return loads


def cut_value(instance: Instance, inside: NDArray[np.int64], least: int) -> Cut:
    """The value of a cut and its reason.

    The value is the most that the racks outside, or the brokers, can take.
    """
    ids = instance.brokers
    outside = np.setdiff1d(np.arange(len(ids)), inside)
    leaves = np.unique(instance.leaf[outside])
    is_whole = not np.isin(instance.leaf[inside], leaves).any()
    takes = sorted({_most_outside(instance, class_, leaves) for class_ in instance.classes})
    has_boxes = all(class_.has_boxes for class_ in instance.classes)
    is_bounded_by_racks = (
        is_whole and has_boxes and not len(instance.pins.values) and instance.is_open.all()
    )
    if is_bounded_by_racks and len(takes) == 1:
        verb = "takes" if len(leaves) == 1 else "take"
        racks = [instance.tree.names[-1][leaf] for leaf in leaves[:_MAX_NAMED_RACKS].tolist()]
        names = names_text(racks, most=_MAX_NAMED_RACKS, of=len(leaves))
        reason = f"{names} {verb} at most {takes[0]} per partition"
    else:
        reason = "the rules let the other brokers take no more"
    return Cut(brokers=tuple(sorted(ids[inside].tolist())), least=least, reason=reason)


def _most_outside(instance: Instance, class_: PartitionClass, leaves: NDArray[np.int64]) -> int:
    """The most replicas of one partition in these finest racks together."""
    inside = np.ones(instance.leaves, dtype=np.bool_)
    inside[leaves] = False
    low, high = class_.low[-1], class_.high[-1]
    return min(class_.replicas - int(low[inside].sum()), int(high[leaves].sum()))
