"""What a plan leaves as it is: the number of frozen partitions, and the rules that stay broken.

A goal that names brokers or topics leaves the rest of the cluster alone (`problem.goal_scope`), and
a policy can exclude topics. So that nobody takes the plan for a repair, it states what it leaves,
by the audit of the cluster after its moves:

```
frozen         5735 partitions
spread-even    5009 partitions, first orders-0, orders-1      the goal does not touch them
dead-replica      2 partitions, first clicks-4, clicks-9
```

Limits: only rules that other replica sets would keep; not `offline` or balance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.model import Ragged
from rackwise.core.planning.model import LeftAlone, LeftViolation, is_limited
from rackwise.core.text import SHOWN_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.planning.problem.instance import Instance

LIST_RULES: Final = (
    "replication",
    "dead-replica",
    "drained-broker",
    "pin",
    "spread-even",
    "spread-distinct",
    "spread-at-least",
    "rack-count",
)
"""The audit rules about the replica set of one partition, in listing order."""


def left_alone_of(instance: Instance, lists: Ragged) -> LeftAlone | None:
    """What a plan leaves as it is; `lists`: broker ids of every row after it.

    None if nothing is frozen or stays broken.
    """
    frozen = int(instance.is_frozen.sum())
    if not frozen and not is_limited(instance.goal):
        return None
    broken = tuple(_broken(instance, lists))
    return LeftAlone(partitions=frozen, broken=broken) if frozen or broken else None


def _broken(instance: Instance, lists: Ragged) -> Iterator[LeftViolation]:
    """The rules that partitions break after the plan; of another goal, those of frozen ones."""
    view = instance.view
    is_left = instance.is_frozen | is_limited(instance.goal)
    nothing = Ragged.empty(len(lists))
    table = replace(view.table, replicas=lists, adding=nothing, removing=nothing)
    policy = replace(view.policy, audit=replace(view.policy.audit, ignore=()))
    found = audit(replace(view.cluster, partitions=table), policy, rules=LIST_RULES).by_rule
    is_sized = np.array([bool(rules.replication) for rules in view.rules], dtype=np.bool_)
    for rule in LIST_RULES:
        if rule not in found:
            continue
        rows = np.unique(found[rule].rows())
        rows = rows[is_left[rows]]
        if rule == "replication":  # a repair changes no size that the policy does not set
            rows = rows[is_sized[view.row_rules[rows]]]
        if len(rows):
            names = tuple(view.table.name(row) for row in rows[:SHOWN_NAMES].tolist())
            yield LeftViolation(rule=rule, partitions=len(rows), examples=names)
