"""Differences between two clusters, plans or reassignments: partitions, findings, totals.

Two inputs of any kind can be compared: a cluster (its placed lists), a plan (the lists before and
after its moves), or the lists of Kafka's reassignment JSON.

```
a              b              difference
1 2 3, led 1   1 2 4, led 1   set        another broker
1 2 3          2 1 3          order      the same brokers in another order
1 2 3, led 1   1 2 3, led 2   leader     the same list, another current leader
1 2 3          -              missing    in one input only
```

A plan or a reassignment does not change the partitions that it does not name, so these do not
differ from a cluster. If two plans move a partition to the same list from different lists, it
differs: the plans were made from different clusters.

Findings are compared by rule and place, without their numbers. A rack that holds one replica too
many in one cluster and two in the other is the same finding. A finding is fixed only if its rule
was checked in `b`, and introduced only if its rule was checked in `a`:

```
spread-even   a            b            orders-0 only in a     orders-0 only in b
checked       yes          yes          fixed                  introduced
checked       yes          no           not known              introduced
checked       no           yes          fixed                  not known
```

A rule that was not checked in some places counts as not checked. Two audits that leave out the same
for the same reason are compared as if both had checked it.

Limits: this module does not say which input is better.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.model import UNKNOWN, Cluster
from rackwise.core.planning.model import MonthlyChange, Plan, Steady, Totals
from rackwise.core.policy import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.findings import Findings
    from rackwise.core.model import PartitionId, PartitionTable, Ragged
    from rackwise.core.racks import Rack

    PartitionRow: TypeAlias = "tuple[str, int, ReplicaLists | None, ReplicaLists | None]"

ListsByPartition: TypeAlias = "Mapping[PartitionId, tuple[int, ...]]"
"""(topic, partition) -> brokers, preferred leader first."""

Comparable: TypeAlias = "Cluster | Plan | ListsByPartition"
"""What can be compared."""

Difference: TypeAlias = Literal["set", "order", "leader", "before", "missing"]
"""How a partition differs; the first that holds, `missing` before all."""


@dataclass(frozen=True, slots=True)
class ReplicaLists:
    """The lists of one partition in one input."""

    after: tuple[int, ...]
    before: tuple[int, ...] | None = None
    """The list before the move; None if the input is no plan."""
    leader: int | None = None
    """The current leader; None without one, or if an input is no cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDiff:
    """A partition that differs."""

    topic: str
    partition: int
    what: Difference
    a: ReplicaLists | None
    """The lists in the first input; None if it does not contain the partition."""
    b: ReplicaLists | None
    """The lists in the second input; None if it does not contain the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDiff:
    """A broker that one input lacks, or that is dead or in another rack in one of them."""

    id: int
    what: Literal["missing", "rack", "live"]
    """How the broker differs; the first that holds."""
    a: tuple[Rack | None, bool] | None
    """(rack, is live) in the first cluster; None if it does not list the broker."""
    b: tuple[Rack | None, bool] | None
    """(rack, is live) in the second cluster; None if it does not list the broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNotCompared:
    """A rule that only one of two audits checked, or that they did not check for other reasons."""

    rule: str
    a: str | None
    """Why the first audit did not check it, or not everywhere; None if it did."""
    b: str | None
    """Why the second audit did not check it, or not everywhere; None if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsDiff:
    """The findings that only one of two audits has."""

    fixed: Findings
    """Findings that only the first audit has, of rules that the second one checked."""
    introduced: Findings
    """Findings that only the second audit has, of rules that the first one checked."""
    maybe_fixed: Findings
    """Findings that only the first audit has, of rules that the second one did not check."""
    maybe_introduced: Findings
    """Findings that only the second audit has, of rules that the first one did not check."""
    not_compared: tuple[RuleNotCompared, ...]
    """The rules of the last two, with or without findings, in listing order."""
    not_checked: Mapping[str, str]
    """Rules that neither audit checked, or not everywhere, for the same reason; rule -> reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalDiff:
    """One total of two plans."""

    name: str
    """Its name in `Totals`; `steady_before.cross_bytes_per_s` for a nested one."""
    a: int | None
    """The total of the first plan; None if it is unknown."""
    b: int | None
    """The total of the second plan; None if it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """All differences between two inputs `a` and `b`."""

    partitions: tuple[PartitionDiff, ...] = ()
    """Partitions that differ, in canonical order."""
    brokers: tuple[BrokerDiff, ...] = ()
    """Brokers that differ, in order of their ids."""
    findings: FindingsDiff | None = None
    """The findings that only one cluster has; None unless both inputs are clusters."""
    totals: tuple[TotalDiff, ...] = ()
    """All totals of two plans, equal ones included."""

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference, and each rule was compared."""
        found = self.findings
        return not (
            self.partitions
            or self.brokers
            or (found and (found.fixed or found.introduced or found.not_compared))
        ) and all(total.a == total.b for total in self.totals)


def diff(a: Comparable, b: Comparable, policy: Policy = DEFAULT_POLICY) -> Diff:
    """The differences. `policy`: the rules under which two clusters are audited.

    Raises what `audit` raises.
    """
    brokers: tuple[BrokerDiff, ...] = ()
    findings: FindingsDiff | None = None
    totals: tuple[TotalDiff, ...] = ()
    if isinstance(a, Cluster) and isinstance(b, Cluster):
        brokers = tuple(_brokers(a, b))
        findings = compare_findings(audit(a, policy), audit(b, policy))
    if isinstance(a, Plan) and isinstance(b, Plan):
        totals = compare_totals(a.totals, b.totals)
    return Diff(
        partitions=tuple(_partitions(a, b)),
        brokers=brokers,
        findings=findings,
        totals=totals,
    )


def compare_findings(a: Findings, b: Findings) -> FindingsDiff:
    """The findings that only one of two audits has; the numbers in a finding are not compared."""
    left, right = a.not_checked, b.not_checked
    differing = [rule.name for rule in a.rules if left.get(rule.name) != right.get(rule.name)]
    fixed, maybe_fixed = a.beyond(b).split(name for name in differing if name in right)
    introduced, maybe_introduced = b.beyond(a).split(name for name in differing if name in left)
    return FindingsDiff(
        fixed=fixed,
        introduced=introduced,
        maybe_fixed=maybe_fixed,
        maybe_introduced=maybe_introduced,
        not_compared=tuple(
            RuleNotCompared(rule=name, a=left.get(name), b=right.get(name)) for name in differing
        ),
        not_checked={name: why for name, why in left.items() if right.get(name) == why},
    )


def compare_totals(a: Totals, b: Totals) -> tuple[TotalDiff, ...]:
    """Every total of both plans, steady state included, in the order of `Totals`."""
    left, right = _numbers(a), _numbers(b)
    return tuple(
        TotalDiff(name=name, a=left.get(name), b=right.get(name)) for name in {**left, **right}
    )


def _numbers(totals: Totals) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for field in fields(totals):
        value = getattr(totals, field.name)
        if isinstance(value, Steady | MonthlyChange):
            found |= {
                f"{field.name}.{part.name}": getattr(value, part.name)
                for part in fields(value)
                if not part.name.endswith("_reason")
            }
        elif field.name not in {"steady_before", "steady_after", "monthly"}:
            found[field.name] = value
    return found


def _brokers(a: Cluster, b: Cluster) -> Iterator[BrokerDiff]:
    left = {broker.id: (broker.rack, broker.is_live) for broker in a.brokers}
    right = {broker.id: (broker.rack, broker.is_live) for broker in b.brokers}
    for id_ in sorted({*left, *right}):
        one, other = left.get(id_), right.get(id_)
        if one is None or other is None:
            yield BrokerDiff(id=id_, what="missing", a=one, b=other)
        elif one[0] != other[0]:
            yield BrokerDiff(id=id_, what="rack", a=one, b=other)
        elif one[1] != other[1]:
            yield BrokerDiff(id=id_, what="live", a=one, b=other)


def _partitions(a: Comparable, b: Comparable) -> Iterator[PartitionDiff]:
    rows = (
        _differing_partitions(a, b)
        if isinstance(a, Cluster) and isinstance(b, Cluster)
        else _named_partitions(a, b)
    )
    for topic, partition, one, other in rows:
        what = _difference_of(one, other)
        if what is not None:
            yield PartitionDiff(topic=topic, partition=partition, what=what, a=one, b=other)


def _difference_of(a: ReplicaLists | None, b: ReplicaLists | None) -> Difference | None:
    if a is None or b is None:
        return "missing"
    if a.after != b.after:
        return "order" if sorted(a.after) == sorted(b.after) else "set"
    if a.leader != b.leader:
        return "leader"
    return None if None in {a.before, b.before} or a.before == b.before else "before"


def _named_partitions(a: Comparable, b: Comparable) -> Iterator[PartitionRow]:
    left, right = _lists_of(a), _lists_of(b)
    named_by = [lists for side, lists in ((a, left), (b, right)) if not isinstance(side, Cluster)]
    for topic, partition in sorted(
        {key for lists in named_by for key in lists},
        key=lambda key: (key[0].encode("utf-8", "surrogatepass"), key[1]),
    ):
        key = (topic, partition)
        yield topic, partition, left.get(key), right.get(key)


def _lists_of(side: Comparable) -> Mapping[PartitionId, ReplicaLists]:
    if isinstance(side, Plan):
        return {
            (move.topic, move.partition): ReplicaLists(after=move.after, before=move.before)
            for move in side.moves
        }
    if isinstance(side, Cluster):
        placed = side.partitions.placed
        return {
            (row.topic, row.partition): ReplicaLists(after=placed.row(i))
            for i, row in enumerate(side.partitions)
        }
    return {key: ReplicaLists(after=tuple(brokers)) for key, brokers in side.items()}


def _differing_partitions(a: Cluster, b: Cluster) -> Iterator[PartitionRow]:
    """Partitions of two clusters that differ in some column."""
    tables = (a.partitions, b.partitions)
    names = sorted(
        {*a.partitions.topics, *b.partitions.topics},
        key=lambda name: name.encode("utf-8", "surrogatepass"),
    )
    rank = {name: number for number, name in enumerate(names)}
    left, right = (_partition_keys(table, rank) for table in tables)
    keys, in_a, in_b = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    placed = tuple(table.placed for table in tables)
    differ = ~placed[0].take(in_a).equal_rows(placed[1].take(in_b))
    differ |= tables[0].leader[in_a] != tables[1].leader[in_b]
    for key in np.union1d(keys[differ], np.setxor1d(left, right, assume_unique=True)).tolist():
        yield (
            names[key >> 32],
            key & 0xFFFFFFFF,
            *map(_lists_of_key, tables, placed, (left, right), (key, key)),
        )


def _partition_keys(table: PartitionTable, rank: Mapping[str, int]) -> NDArray[np.int64]:
    ranks = np.array([rank[name] for name in table.topics], dtype=np.int64)
    keys: NDArray[np.int64] = ranks[table.topic] << 32 | table.partition
    return keys


def _lists_of_key(
    table: PartitionTable, placed: Ragged, keys: NDArray[np.int64], key: int
) -> ReplicaLists | None:
    row = int(np.searchsorted(keys, key))
    if row == len(keys) or int(keys[row]) != key:
        return None
    leader = int(table.leader[row])
    return ReplicaLists(after=placed.row(row), leader=None if leader == UNKNOWN else leader)
