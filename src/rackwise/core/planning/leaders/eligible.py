"""The brokers that may lead each partition, given its replica set.

```
leader_racks /a /b, no_lead 2
set     1 /a   2 /a   3 /b     1         the first rack that holds one who may lead
        2 /a   3 /b   4 /c     3         2 must not
        4 /c   5 /c            4 5       in none of the racks: free
        2 /a                   2         somebody must
even    1 2 3, 1 led before    1 2 3     with `keep`: 1
```

Where a broker is replaced, the new one leads what the old one led. Brokers that are not usable,
dead or to be drained, lead nothing.

What this does not do: choose. Solver and certificate both read this.
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
    """`sets`: usable brokers that may lead each row, rising; `preferred`: who led before.

    `preferred` is int64 [rows], -1 = a broker that is not usable: any leader is a change then.
    """

    sets: Ragged
    preferred: NDArray[np.int64]


def electable(instance: Instance, sets: Ragged) -> Electable:
    """Who may lead, when `sets`, usable brokers of each row, hold the partitions."""
    preferred = instance.preferred
    found = may_lead(instance, sets)
    if instance.view.policy.balance.leaders != "even":
        found = _alone_where_in(found, preferred)
    if isinstance(instance.goal, Replace):
        index = {id_: number for number, id_ in enumerate(instance.brokers.tolist())}
        for old, new in instance.goal.pairs:
            heir = np.where(instance.view.preferred == old, index.get(new, -1), -1)
            found = _alone_where_in(found, heir)
    return Electable(found, preferred)


def may_lead(instance: Instance, sets: Ragged) -> Ragged:
    """Those members of each set that the policy lets lead; rules that leave nobody are passed."""
    brokers = instance.brokers
    found = _where_any(sets, ~np.isin(brokers, instance.view.policy.brokers.no_lead)[sets.values])
    places = instance.view.tree.places(brokers)
    for code, rules in enumerate(instance.view.rules):
        is_settled = instance.view.row_rules != code
        for rack in rules.leader_racks:
            inside = instance.view.below(rack)[places][found.values]
            chosen = inside & ~is_settled[found.rows]
            is_settled = is_settled | (View.sums(found, chosen) > 0)
            found = _where_any(found, chosen)
    return found


def _where_any(sets: Ragged, wanted: NDArray[np.bool_]) -> Ragged:
    """Each row without what is not wanted, if anything is; else as it is."""
    some = View.sums(sets, wanted) > 0
    return sets.keep(wanted | ~some[sets.rows])


def _alone_where_in(sets: Ragged, brokers: NDArray[np.int64]) -> Ragged:
    """Rows that hold the broker beside them hold nothing else."""
    return _where_any(sets, sets.values == brokers[sets.rows])
