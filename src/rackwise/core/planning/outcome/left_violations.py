"""The rules that partitions break after the plan of a limited goal.

A goal that names brokers or topics leaves the rest of the cluster as it is (`problem.goal_scope`).
So that nobody takes the plan for a repair, it states what it leaves, by the audit of the cluster
after its moves:

```
spread-even    5009 partitions, first orders-0, orders-1      left: the goal does not touch them
dead-replica      2 partitions, first clicks-4, clicks-9
```

Limits: only rules that other replica sets would keep; not `offline` or balance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.model import Ragged
from rackwise.core.planning.model import LeftViolation, is_limited
from rackwise.core.text import SHOWN_NAMES

if TYPE_CHECKING:
    from rackwise.core.planning.problem.instance import Instance

REPAIRABLE = (
    "replication",
    "dead-replica",
    "drained-broker",
    "pin",
    "spread-even",
    "spread-distinct",
    "spread-at-least",
    "rack-count",
)
"""The rules that a repair keeps, in listing order."""


def left_violations(instance: Instance, lists: Ragged) -> tuple[LeftViolation, ...]:
    """What partitions break after the plan; `lists`: broker ids of every row.

    Empty for a goal that repairs every partition.
    """
    if not is_limited(instance.goal):
        return ()
    view = instance.view
    nothing = Ragged.empty(len(lists))
    table = replace(view.table, replicas=lists, adding=nothing, removing=nothing)
    policy = replace(view.policy, audit=replace(view.policy.audit, ignore=()))
    found = audit(replace(view.cluster, partitions=table), policy, rules=REPAIRABLE).by_rule
    is_sized = np.array([bool(rules.replication) for rules in view.rules], dtype=np.bool_)
    left = []
    for rule in REPAIRABLE:
        if rule not in found:
            continue
        rows = np.unique(found[rule].rows())
        if rule == "replication":  # a repair changes no size that the policy does not set
            rows = rows[is_sized[view.row_rules[rows]]]
        if len(rows):
            names = tuple(view.table.name(row) for row in rows[:SHOWN_NAMES].tolist())
            left.append(LeftViolation(rule=rule, partitions=len(rows), examples=names))
    return tuple(left)
