"""The brokers that may lead each partition, given its replica set.

```
leader_racks /a /b, no_lead 2
set     1 /a   2 /a   3 /b     1         the first rack with a broker that may lead
        2 /a   3 /b   4 /c     3         2 must not lead
        4 /c   5 /c            4 5       in none of the racks: any broker
        2 /a                   2         one broker must lead
even    1 2 3, 1 led before    1 2 3     with `keep`: 1
```

A frozen partition keeps its list: its present leader alone may lead, and none if that one is not
usable.

A replacing broker leads what the replaced broker led. Brokers that are not usable, dead or to be
drained, lead nothing.

Limits: this module does not choose a leader. Solver and certificate both read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.model import Replace
from rackwise.core.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.problem.instance import Instance


class Electable(NamedTuple):
    """The brokers that may lead each row, and the previous leaders."""

    sets: Ragged
    """Usable brokers that may lead each row, ascending."""
    preferred: NDArray[np.int64]
    """The previous leader, int64 [rows]; -1 = not usable, so any leader is a change."""


def electable(instance: Instance, sets: Ragged) -> Electable:
    """The brokers that may lead, for `sets` of usable brokers of each row."""
    preferred = instance.preferred
    found = may_lead(instance, sets)
    if instance.view.policy.balance.leaders != "even":
        found = _reduce_to_broker(found, preferred)
    if isinstance(instance.goal, Replace):
        index = {id_: number for number, id_ in enumerate(instance.brokers.tolist())}
        for old, new in instance.goal.pairs:
            heir = np.where(instance.view.preferred == old, index.get(new, -1), -1)
            found = _reduce_to_broker(found, heir)
    frozen = np.flatnonzero(instance.is_frozen)
    if len(frozen):
        members = sets.take(frozen)
        stays = members.values == preferred[frozen][members.rows]
        found = found.replaced(frozen, members.keep(stays))
    return Electable(found, preferred)


def may_lead(instance: Instance, sets: Ragged) -> Ragged:
    """The members of each set that may lead; a rule that leaves no member is ignored."""
    brokers = instance.brokers
    found = _keep_where_any(
        sets, ~np.isin(brokers, instance.view.policy.brokers.no_lead)[sets.values]
    )
    places = instance.view.tree.places(brokers)
    for code, rules in enumerate(instance.view.rules):
        is_decided = instance.view.row_rules != code
        for rack in rules.leader_racks:
            inside = instance.view.below(rack)[places][found.values]
            chosen = inside & ~is_decided[found.rows]
            is_decided = is_decided | (View.sums(found, chosen) > 0)
            found = _keep_where_any(found, chosen)
    return found


def _keep_where_any(sets: Ragged, is_kept: NDArray[np.bool_]) -> Ragged:
    """Each row without its unwanted members, unless all members are unwanted."""
    some = View.sums(sets, is_kept) > 0
    return sets.keep(is_kept | ~some[sets.rows])


def _reduce_to_broker(sets: Ragged, brokers: NDArray[np.int64]) -> Ragged:
    """Each row reduced to the aligned broker if it contains that broker."""
    return _keep_where_any(sets, sets.values == brokers[sets.rows])
