"""The check of a plan's loads: fair, within groups that hold every fair load.

A replica that leaves broker b decreases the sum of squares over weights by the leaving price of b.
A replica that arrives increases it by the coming price:

```
leaving   (2 load - 1) / weight          coming   (2 load + 1) / weight
```

Loads are fair if no chain of exchanges passes a replica from a broker to one whose coming price is
lower than the leaving price of the first. If the two prices are equal, the loads after the exchange
are as fair: then both brokers must be in one group, with room for it.

Cuts show which brokers a replica can reach. A cut is a set of brokers and the least number of
replicas that legal sets put on them together: the lower bound with a price of 1 inside and free
copies. A cut is tight if its brokers hold exactly that number. No exchange leaves a tight cut.

```
/a 1 2, /b 3, one replica in each rack       loads 2 2 | 4
cut {3}, tight: every partition has a replica in /b, and only broker 3 is there
3 -> 1 would pay (7 > 5), but it leaves the cut
```

With topic caps, cuts are not enough and the exchange graph is searched instead. With slack, loads
may differ from the fair ones, so the fair loads and their cuts are recomputed and compared.

Limits: this module checks no sets, costs or leaders.

Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2022).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.fair_loads.ranges import weight_steps
from rackwise.core.planning.fair_loads.targets import fair_of, targets_of, topic_caps
from rackwise.core.planning.problem.cheapest_sets import NEVER, BrokerPrices, cheapest_sets
from rackwise.core.planning.proof.dual_prices import LoadLimits, is_valid_group
from rackwise.core.planning.proof.exchange_graph import ExchangeGraph, PricedSets
from rackwise.core.policy import Slack
from rackwise.core.text import counted, names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import BrokerGroup, Certificate, Cut
    from rackwise.core.planning.problem.instance import Instance

    Reach = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]

_BROKERS_SHOWN = 12
"""The most brokers of a group that a problem names."""


def fairness_problems(
    instance: Instance, sets: Ragged, certificate: Certificate, *, is_legal: bool
) -> list[str]:
    """The faults of loads, caps, groups and cuts: one sentence each.

    `sets`: brokers of every row, ascending; the exchange graph is used only if they are legal.
    """
    caps = topic_caps(instance)
    problems = [*_exceeded_caps(instance, sets, caps), *wrong_caps(instance, certificate, caps)]
    balance = instance.view.policy.balance.replicas
    if balance == "off":
        if certificate.groups:
            problems.append(
                "expected no groups of brokers, because the policy does not ask for even loads"
            )
        return problems
    group_faults = group_problems(instance, certificate.groups)
    if group_faults:
        return problems + group_faults
    problems += _outside(instance, sets, certificate.groups)
    loads = instance.loads(sets)
    reach_by_exchanges = (
        _reach_by_exchanges(instance, sets, caps)
        if caps and certificate.cuts and is_legal
        else None
    )
    if isinstance(balance, Slack):
        wanted = fair_of(instance, targets_of(instance))
        cuts = [cut for cut in certificate.cuts if cut not in wanted.cuts]
        problems += _tight_cuts(instance, cuts, loads, reach_by_exchanges)[1]
        if wanted.groups != certificate.groups:
            problems.append("expected groups of the fair loads plus the slack, got others")
        return problems
    tight_cuts, wrong = _tight_cuts(instance, certificate.cuts, loads, reach_by_exchanges)
    problems += wrong
    limits = LoadLimits.of(instance, certificate.groups, {})
    brokers = len(instance.brokers)
    found = list(possible_improvements(instance, loads, limits, _reach_within_cuts(brokers, ())))
    if found:
        found = list(
            possible_improvements(instance, loads, limits, _reach_within_cuts(brokers, tight_cuts))
        )
    if found and is_legal:
        found = list(
            possible_improvements(
                instance, loads, limits, _reach_by_exchanges(instance, sets, caps)
            )
        )
    return problems + found


def _exceeded_caps(
    instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
) -> Iterator[str]:
    if not caps:
        return
    width = len(instance.brokers)
    keys = instance.topic[sets.rows].astype(np.int64) * width + sets.values
    topics = len(instance.is_capped)
    placed = np.bincount(keys, minlength=topics * width).reshape(topics, width)
    for topic, cap in sorted(caps.items()):
        for broker in np.flatnonzero(placed[topic] > cap).tolist():
            most = int(cap[broker])
            yield (
                f"expected at most {counted(most, 'replica')} of topic "
                f"{instance.view.table.topics[topic]} on broker {instance.brokers[broker]}, "
                f"got {placed[topic, broker]}"
            )


def wrong_caps(
    instance: Instance, certificate: Certificate, caps: Mapping[int, NDArray[np.int64]]
) -> Iterator[str]:
    """The caps of a certificate that are not those of the policy: one sentence each."""
    codes = {name: code for code, name in enumerate(instance.view.table.topics)}
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    for one in certificate.topic_prices:
        if one.topic not in codes or one.broker not in index:
            continue
        real = caps.get(codes[one.topic])
        if real is None:
            yield f"expected no cap of topic {one.topic}, got {one.cap} on broker {one.broker}"
        elif real[index[one.broker]] != one.cap:
            yield (
                f"expected the cap {real[index[one.broker]]} of topic {one.topic} "
                f"on broker {one.broker}, got {one.cap}"
            )


def group_problems(instance: Instance, groups: Sequence[BrokerGroup]) -> list[str]:
    """Groups that do not hold every usable broker once, or whose numbers are impossible."""
    problems: list[str] = []
    seen = sorted(id_ for group in groups for id_ in group.brokers)
    if seen != sorted(instance.brokers.tolist()):
        problems.append("expected groups that contain every usable broker once")
    problems += [
        f"expected a low and a high of each broker and a total between them in the group of "
        f"{_brokers(group.brokers)}"
        for group in groups
        if not is_valid_group(group)
    ]
    return problems


def _brokers(brokers: Sequence[int]) -> str:
    """`broker 4`, `brokers 4, 5`; of many brokers the first ones."""
    return f"broker{'s' * (len(brokers) > 1)} {names_text(brokers, most=_BROKERS_SHOWN)}"


def _outside(instance: Instance, sets: Ragged, groups: Sequence[BrokerGroup]) -> Iterator[str]:
    """Loads outside the ranges and totals of their groups."""
    loads = dict(zip(instance.brokers.tolist(), instance.loads(sets).tolist(), strict=True))
    for group in groups:
        for id_, low, high in zip(group.brokers, group.low, group.high, strict=True):
            if not low <= loads[id_] <= high:
                wanted = counted(low, "replica") if low == high else f"{low} to {high} replicas"
                yield f"expected {wanted} on broker {id_}, got {loads[id_]}"
        total = sum(loads[id_] for id_ in group.brokers)
        if total != group.total:
            wanted = counted(group.total, "replica")
            yield f"expected {wanted} on {_brokers(group.brokers)} in all, got {total}"


def _tight_cuts(
    instance: Instance,
    cuts: Sequence[Cut],
    loads: NDArray[np.int64],
    reach_by_exchanges: Reach | None,
) -> tuple[list[NDArray[np.bool_]], list[str]]:
    """The brokers of each tight cut, and the faults of the other cuts.

    With topic caps more replicas may be forced than legal sets force. Then a cut is valid if no
    replica can be passed on out of it.
    """
    free = _with_free_copies(instance)
    tight_cuts: list[NDArray[np.bool_]] = []
    problems: list[str] = []
    for cut in cuts:
        inside = np.isin(instance.brokers, cut.brokers)
        load = int(loads[inside].sum())
        least = int(
            cheapest_sets(free, BrokerPrices.flat(free, inside.astype(np.int64))).values.sum()
        )
        if reach_by_exchanges is not None and not (reach_by_exchanges(inside) & ~inside).any():
            least = load
        if int(inside.sum()) != len(cut.brokers):
            problems.append(f"expected a cut of usable brokers, got {_brokers(cut.brokers)}")
        elif least < cut.least:
            problems.append(
                f"expected a cut of {counted(least, 'replica')} on {_brokers(cut.brokers)}, "
                f"got {cut.least}"
            )
        elif least == load:
            tight_cuts.append(inside)
    return tight_cuts, problems


def _with_free_copies(instance: Instance) -> Instance:
    """The same instance with free copies."""
    costs = replace(instance.costs, size=np.zeros_like(instance.costs.size), prices=None)
    return replace(instance, costs=costs)


def _reach_within_cuts(brokers: int, cuts: Sequence[NDArray[np.bool_]]) -> Reach:
    """The brokers that a replica can reach without leaving any of these sets of brokers."""
    reached = np.ones((brokers, brokers), dtype=np.bool_)
    for inside in cuts:
        reached &= ~(inside[:, None] & ~inside[None, :])
    return lambda starts: np.asarray(reached[starts].any(axis=0))


def _reach_by_exchanges(
    instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
) -> Reach:
    """The brokers that a replica can reach along exchanges of these sets."""
    capped = np.array(sorted(caps), dtype=np.int64)
    limits = np.array([caps[topic] for topic in capped.tolist()]).reshape(
        len(capped), len(instance.brokers)
    )
    code = np.zeros(len(instance.is_capped) + 1, dtype=np.int64)
    code[capped] = 1 + np.arange(len(capped))
    placement = PricedSets.of(_with_free_copies(instance), sets, row_class=code[instance.topic])
    graph = ExchangeGraph.of(placement, len(capped) + 1)
    shape = (len(capped) + 1, len(instance.brokers))
    placed = np.bincount(placement.nodes, minlength=shape[0] * shape[1]).reshape(shape)

    # Row 0 of `distance` is topics without caps, the other rows are capped topics: [classes, B].
    # A replica changes from a capped topic to others only on a broker with room under the cap.
    def reach(starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        distance = np.full(shape, NEVER, dtype=np.int64)
        distance[0, starts] = 0
        while True:
            nearer = graph.relax(distance)
            below = np.where(placed[1:] < limits, nearer[1:], NEVER)
            nearer[0] = np.minimum(nearer[0], below.min(axis=0, initial=NEVER))
            above = np.where(placed[1:] > 0, nearer[0], NEVER)
            nearer[1:] = np.minimum(nearer[1:], above)
            if (nearer == distance).all():
                return np.asarray(distance[0] == 0)
            distance = nearer

    return reach


def possible_improvements(
    instance: Instance, loads: NDArray[np.int64], limits: LoadLimits, reach: Reach
) -> Iterator[str]:
    """Exchanges that would make loads fairer, or as fair and outside the groups."""
    step = weight_steps(instance.weights)
    leaving, coming = (2 * loads - 1) * step, (2 * loads + 1) * step
    gives, takes = loads > limits.low, loads < limits.high
    ids = instance.brokers
    for starts in _starts_of_equal_price(limits.group, gives, leaving, loads > 0):
        first = int(np.flatnonzero(starts)[0])
        seen = reach(starts)
        price = leaving[first]
        better = np.flatnonzero(seen & (coming < price))
        for broker in better[:1].tolist():
            yield (
                f"expected fair loads, got {loads[first]} on broker {ids[first]}, which could pass "
                f"one to broker {ids[broker]} with {loads[broker]}"
            )
        joined = takes & (limits.group == limits.group[first]) & gives[first]
        alike = np.flatnonzero(seen & (coming == price) & ~starts & ~joined)
        for broker in alike[:1].tolist():
            yield (
                f"expected groups of all fair loads, got none with one more on broker "
                f"{ids[broker]} and one less on broker {ids[first]}"
            )


def _starts_of_equal_price(
    group: NDArray[np.int64],
    gives: NDArray[np.bool_],
    leaving: NDArray[np.int64],
    busy: NDArray[np.bool_],
) -> Iterator[NDArray[np.bool_]]:
    """Brokers of one group and one leaving price; brokers that may give are separate."""
    alike: dict[tuple[int, bool, int], list[int]] = {}
    for broker in np.flatnonzero(busy).tolist():
        key = (int(group[broker]), bool(gives[broker]), int(leaving[broker]))
        alike.setdefault(key, []).append(broker)
    for members in alike.values():
        starts = np.zeros(len(group), dtype=np.bool_)
        starts[members] = True
        yield starts
