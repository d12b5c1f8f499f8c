"""Replica lists: the leader, then kept replicas in their old order, then new ones.

```
before  1 2 3     set  2 3 4    leader 3     list  3 2 4
before  2 1 5     set  1 2 6    leader 2     list  2 1 6
replace 2=6       1 2 3                      list  1 6 3, 6 takes the place of 2
```

With `failover` the second place is chosen as well, so that the leaders that a dying broker leaves
behind are spread evenly. This is another choice of leaders, among the remaining members of each
set, in which the second of the list changes as rarely as possible. It is made only if leaders must
be even too.

If only leaders are chosen, lists keep all their brokers, dead ones included. So do frozen lists.

Limits: this module does not choose sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import ChosenLeaders, choose_leaders
from rackwise.core.planning.leaders.eligible import electable, may_lead
from rackwise.core.planning.leaders.fair_groups import UNIT, leader_cuts, leader_groups
from rackwise.core.planning.model import Certificate, Leaders, Replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance


class ChosenLists(NamedTuple):
    """The replica lists of all partitions, and the choice of their leaders."""

    lists: Ragged
    """Broker ids of each partition, preferred leader first."""
    leaders: ChosenLeaders


def choose_lists(instance: Instance, sets: Ragged) -> ChosenLists:
    """Leaders for sets of usable brokers, and the replica lists that result.

    Raises `MissingDependency` without ortools.
    """
    candidates, preferred = electable(instance, sets)
    weights = dict(enumerate(instance.weights.tolist()))
    chosen = choose_leaders(candidates, preferred, weights=weights)
    placed = instance.view.placed
    members = placed if isinstance(instance.goal, Leaders) else _broker_ids(instance, sets)
    lists = _order_lists(instance, members, [chosen.leader])
    balance = instance.view.policy.balance
    if balance.failover and balance.leaders == "even":
        second = _second_replicas(instance, sets, chosen.leader, lists, weights)
        lists = _order_lists(instance, members, [chosen.leader, second])
    frozen = np.flatnonzero(instance.is_frozen)
    if len(frozen):
        lists = lists.replaced(frozen, placed.take(frozen))
    return ChosenLists(lists, chosen)


def leader_certificate(instance: Instance, chosen: ChosenLeaders) -> Certificate:
    """The proof that no leaders of these sets change less."""
    ids = instance.brokers[chosen.brokers]
    return Certificate(
        objective="leaders",
        unit=UNIT,
        groups=leader_groups(instance, chosen),
        cuts=leader_cuts(instance, chosen),
        prices={
            **dict.fromkeys(instance.brokers.tolist(), 0),
            **dict(zip(ids.tolist(), chosen.prices.tolist(), strict=True)),
        },
        lower_bound=chosen.lower_bound,
    )


def _broker_ids(instance: Instance, sets: Ragged) -> Ragged:
    return Ragged(sets.offsets, instance.brokers[sets.values].astype(np.int32))


def _order_lists(instance: Instance, members: Ragged, firsts: list[NDArray[np.int64]]) -> Ragged:
    """Members in list order: `firsts` (usable brokers or -1), then kept members, then new ones."""
    ids = np.append(instance.brokers, -1)
    place = _old_places(instance, members)
    for turn, first in enumerate(firsts):
        is_first = members.values == ids[first][members.rows]
        place[is_first] = turn - len(firsts)
    order = np.lexsort((place, members.rows))
    return Ragged(members.offsets, members.values[order])


def _old_places(instance: Instance, members: Ragged) -> NDArray[np.int64]:
    """The place of each member in the list before; new members last, in canonical order.

    A broker that replaces another has its place.
    """
    placed = instance.view.placed
    before = placed.values.astype(np.int64)
    if isinstance(instance.goal, Replace):
        for old, new in instance.goal.pairs:
            before[placed.values == old] = new
    width = int(max(before.max(initial=0), members.values.max(initial=0))) + 1
    # (row, broker) as one number; `found` is the index of each member in the placed values.
    keys = placed.rows * width + before
    order = np.argsort(keys, kind="stable")
    wanted = members.rows * width + members.values
    at = np.searchsorted(keys[order], wanted)
    found = np.append(order, 0)[at]
    is_kept = np.append(keys[order], -1)[at] == wanted
    longest = int(placed.lengths.max(initial=0))
    by_id = np.argsort(instance.brokers)
    canonical = by_id[np.searchsorted(instance.brokers[by_id], members.values[~is_kept])]
    places = found - placed.offsets[members.rows]
    places[~is_kept] = longest + canonical
    return places


def _second_replicas(
    instance: Instance,
    sets: Ragged,
    leader: NDArray[np.int64],
    lists: Ragged,
    weights: Mapping[int, int],
) -> NDArray[np.int64]:
    """The heir of each leader, spread evenly: usable brokers, -1 if there is none."""
    is_free = ~instance.is_frozen[sets.rows]
    others = may_lead(instance, sets.keep((sets.values != leader[sets.rows]) & is_free))
    index = {id_: number for number, id_ in enumerate(instance.brokers.tolist())}
    has_second = lists.lengths > 1
    ids = np.append(lists.values, -1)[np.where(has_second, lists.offsets[:-1] + 1, -1)]
    known, which = np.unique(ids, return_inverse=True)
    second = np.array([index.get(id_, -1) for id_ in known.tolist()], dtype=np.int64)[which]
    return choose_leaders(others, second, weights=weights).leader
