"""The moves of a plan: what changes, why, and in which order it is executed.

The reasons of a move are the error rules that its partition breaks, by name. If it breaks none, the
reason is `topic-spread` or `replica-balance` for a set that changes, and `leader-balance` for a
list that only changes its order.

Order: first the moves that repair an error rule, then those that only empty drained brokers, then
the others; lists that keep their set come last. Within each, the most bytes come first, because
they take longest, then canonical order:

```
orders-4    spread-even        12 GB        1
orders-0    spread-even         3 GB        2
clicks-1    drained-broker     90 GB        3
clicks-7    replica-balance     1 GB        4
clicks-2    leader-balance      same set    5
```

Limits: this module does not choose lists.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.findings import Severity
from rackwise.core.planning.outcome.dollars import copy_prices, copy_totals
from rackwise.core.planning.outcome.move_columns import CodedValues, MoveColumns, names_in
from rackwise.core.rules import RULES
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, Ragged
    from rackwise.core.planning.model import Move
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.traffic import Price

DRAINED = "drained-broker"


class ListChanges(NamedTuple):
    """The rows whose list changes, in the order of their moves."""

    rows: NDArray[np.int64]
    before: Ragged
    """Broker ids before."""
    after: Ragged
    """Broker ids after."""
    added: Ragged
    """Brokers of `after` that are not in `before`."""
    is_order: NDArray[np.bool_]
    """Whether only the order changes, bool [rows]."""
    reasons: tuple[tuple[str, ...], ...]
    """The distinct sets of reasons."""
    reason: NDArray[np.int64]
    """Index into `reasons`, int64 [rows]."""


def counts_of(cluster: Cluster, moves: Sequence[Move]) -> Mapping[str, int]:
    """Topic with a move -> number of its partitions."""
    table = cluster.partitions
    counts = np.bincount(table.topic, minlength=len(table.topics))
    topics, codes = names_in(moves, "topic")
    moved = {topics[code] for code in np.flatnonzero(np.bincount(codes)).tolist()}
    return MappingProxyType(
        {
            topic: int(count)
            for topic, count in zip(table.topics, counts, strict=True)
            if topic in moved
        }
    )


def list_changes(instance: Instance, lists: Ragged) -> ListChanges:
    """The changes from the placed lists to `lists`, which holds broker ids of every row."""
    placed = instance.view.placed
    rows = np.flatnonzero(~placed.equal_rows(lists))
    before, after = placed.take(rows), lists.take(rows)
    added = after.keep(~after.values_in(before))
    is_order = (added.lengths == 0) & (before.lengths == after.lengths)
    reasons, reason = _reasons_of_rows(instance, rows, is_order)
    urgency = np.array([_urgency(names) for names in reasons], dtype=np.int64)[reason]
    urgency[is_order] = len(_URGENCIES)
    order = np.lexsort((rows, -instance.view.table.bytes[rows], urgency))
    return ListChanges(
        rows[order],
        before.take(order),
        after.take(order),
        added.take(order),
        is_order[order],
        reasons,
        reason[order],
    )


_URGENCIES = ("broken", "drained", "rest")


def _urgency(reasons: Sequence[str]) -> int:
    errors = [name for name in reasons if RULES[name].severity == Severity.ERROR]
    if not errors:
        return _URGENCIES.index("rest")
    return _URGENCIES.index("drained" if errors == [DRAINED] else "broken")


def moves_of(instance: Instance, change: ListChanges, prices: Sequence[Price]) -> MoveColumns:
    """The moves, in order; `prices`: rows of one provider, none = not priced."""
    view = instance.view
    table = view.table
    copies = copy_totals(view, change.rows, change.added, copy_prices(view, prices))
    topic = table.topic[change.rows].astype(np.int64)
    ids = tuple(
        None if (found := view.cluster.topics.get(name)) is None else found.id
        for name in table.topics
    )
    return MoveColumns(
        lists={"after": change.after, "before": change.before},
        numbers={
            "bytes": table.bytes[change.rows],
            "cross_bytes": copies.cross_bytes,
            "partition": table.partition[change.rows].astype(np.int64),
            "usd_nano": copies.usd_nano,
        },
        names={
            "reasons": CodedValues(change.reasons, change.reason),
            "topic": CodedValues(table.topics, topic),
            "topic_id": CodedValues(ids, topic),
        },
    )


def _reasons_of_rows(
    instance: Instance, rows: NDArray[np.int64], is_order: NDArray[np.bool_]
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int64]]:
    """The distinct reasons, and which of them each row has."""
    if not len(rows):
        return (), np.zeros(0, dtype=np.int64)
    view = instance.view
    policy = replace(view.policy, audit=replace(view.policy.audit, ignore=()))
    errors = [name for name, rule in RULES.items() if rule.severity == Severity.ERROR]
    findings = audit(view.cluster, policy, rules=(*errors, "leader-rack"))
    broken = np.zeros(len(rows), dtype=np.int64)
    for bit, name in enumerate(errors):
        if name in findings.by_rule:
            at = np.isin(rows, findings.by_rule[name].rows())
            broken[at & ~is_order] |= 1 << bit
    other = np.where(instance.is_capped[instance.topic[rows]], 1, 0)
    if "leader-rack" in findings.by_rule:
        other[is_order & np.isin(rows, findings.by_rule["leader-rack"].rows())] = 2
    code, examples = distinct([broken, np.where(broken > 0, 0, other), is_order.astype(np.int64)])
    texts = []
    for at in examples.tolist():
        names = tuple(name for bit, name in enumerate(errors) if broken[at] >> bit & 1)
        texts.append(names or (_soft_reason(int(other[at]), is_order=bool(is_order[at])),))
    return tuple(texts), code


def _soft_reason(other: int, *, is_order: bool) -> str:
    if is_order:
        return "leader-rack" if other == 2 else "leader-balance"  # noqa: PLR2004 (see above)
    return "topic-spread" if other else "replica-balance"
