"""The fair numbers of leaders of given sets, as groups of brokers and the cuts that prove them.

The numbers do not depend on who leads, so a checker recomputes them without a solver:

```
may lead  1 2   1 2   2 3        groups   1 2 3: one each
may lead  1 2   1 2   1 2   3    groups   1 2: one or two each, three together   3: one
                                 cut      1 2 must lead 3
```

Limits: this module does not choose leaders (`choose`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.eligible import electable
from rackwise.core.planning.leaders.fair_counts import LeaderLoads, fair_numbers
from rackwise.core.planning.leaders.state import LeaderCandidates
from rackwise.core.planning.model import BrokerGroup, Cut
from rackwise.core.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance

UNIT = "leader changes"
"""The unit of a certificate of leaders."""

Weights: TypeAlias = Mapping[int, int] | None
"""Broker -> share of the leaders; None = all alike."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairLeaders:
    """The fair numbers of leaders; groups and cuts of `fair` hold indexes into `brokers`."""

    brokers: NDArray[np.int64]
    """Brokers that may lead something, ascending, int64 [brokers]."""
    fair: LeaderLoads
    """The fair numbers, aligned with `brokers`."""


def fair_leaders_of(
    instance: Instance, sets: Ragged, leaders: NDArray[np.int64] | None = None
) -> FairLeaders:
    """The fair numbers of leaders for sets of usable brokers, whatever the leaders.

    `leaders`: a usable broker for each row, or -1: leaders that may be fair, which saves time.
    """
    members = electable(instance, sets).sets
    weights = dict(enumerate(instance.weights.tolist()))
    brokers, rows_led, candidates = candidate_table(
        members, np.zeros(len(members.values), dtype=np.int64)
    )
    known = None
    if leaders is not None and members.has(rows_led, leaders[rows_led]).all():
        known = np.bincount(leaders[rows_led], minlength=len(instance.brokers))[brokers]
    fair = fair_numbers(candidates, weights_of(brokers, weights), known=known)
    return FairLeaders(brokers=brokers, fair=fair)


def leader_groups(instance: Instance, found: FairLeaders) -> tuple[BrokerGroup, ...]:
    """The fair numbers of leaders as groups of broker ids; a broker that may lead nothing has 0."""
    fair = found.fair
    groups = [
        _group(instance, found, fair.group == number, total)
        for number, total in enumerate(fair.totals.tolist())
        if len(fair.group)
    ]
    idle = np.delete(instance.brokers, found.brokers).tolist()
    if idle:
        nothing = (0,) * len(idle)
        groups.append(BrokerGroup(brokers=tuple(sorted(idle)), low=nothing, high=nothing, total=0))
    return tuple(groups)


def leader_cuts(instance: Instance, found: FairLeaders) -> tuple[Cut, ...]:
    """The cuts that prove the fair numbers of leaders, as broker ids."""
    ids = instance.brokers[found.brokers]
    return tuple(_cut(ids[list(inside)], least) for inside, least in found.fair.cuts)


def candidate_table(
    sets: Ragged, costs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], LeaderCandidates]:
    """Brokers that may lead something, rows with a possible leader, and both as a table."""
    is_member = np.bincount(sets.values) > 0
    brokers = np.flatnonzero(is_member)
    numbers = (np.cumsum(is_member, dtype=np.int32) - np.int32(1))[sets.values]
    rows_led = np.flatnonzero(sets.lengths > 0)
    candidates = LeaderCandidates.of(
        Ragged(sets.offsets, numbers).take(rows_led), costs, len(brokers)
    )
    return brokers, rows_led, candidates


def weights_of(brokers: NDArray[np.int64], weights: Weights) -> list[int]:
    """The weight of each broker, 1 if it has none."""
    return [1 if weights is None else weights.get(broker, 1) for broker in brokers.tolist()]


def _group(
    instance: Instance, found: FairLeaders, inside: NDArray[np.bool_], total: int
) -> BrokerGroup:
    ids = instance.brokers[found.brokers[inside]]
    order = np.argsort(ids)
    return BrokerGroup(
        brokers=tuple(ids[order].tolist()),
        low=tuple(found.fair.low[inside][order].tolist()),
        high=tuple(found.fair.high[inside][order].tolist()),
        total=total,
    )


def _cut(ids: NDArray[np.int64], least: int) -> Cut:
    brokers = tuple(sorted(ids.tolist()))
    return Cut(
        brokers=brokers,
        least=least,
        reason=f"nobody else may lead {counted(least, 'partition')}",
    )
