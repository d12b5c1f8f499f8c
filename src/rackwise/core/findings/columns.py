"""The findings of an audit as columns: a row for each finding, each pair of texts stored once.

```
rule          row  level   text     texts
spread-even   17   zone    0        0: wanted "/a 1, /b 1"    had "/a 2, /b 0"
spread-even   40   zone    0        1: wanted "live brokers only"    had "5"
dead-replica  41   -       1
```

An audit of a million partitions may find a rule broken in a third of them. A `Finding` is therefore
created when it is read.

Order of `Findings`: findings about the cluster or a broker come first. The others are ordered by
topic (those about the whole topic before its partitions), partition, rule, level and rack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from rackwise.core.errors import AuditFailed, InvalidConfig
from rackwise.core.findings.finding import NONE, Finding, Rule, Severity, Threshold
from rackwise.core.override import override
from rackwise.core.text import escaped
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import PartitionTable

Texts: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of wanted and had."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FindingBatch:
    """Findings of one rule at one level, as columns of equal length; a missing column is all NONE.

    A rule function yields batches; `Findings.of` joins them.
    """

    rule: str
    texts: Texts
    text: NDArray[np.int64]
    """Index into `texts`."""
    level: int = NONE
    row: NDArray[np.int64] | None = None
    """Row of the partition table."""
    topic: NDArray[np.int64] | None = None
    """Index into the table's topic names."""
    broker: NDArray[np.int64] | None = None
    """Broker id."""
    minor: NDArray[np.int64] | None = None
    """Orders findings that are equal in everything else."""

    @classmethod
    def of_brokers(cls, rule: str, brokers: Sequence[int], texts: Texts) -> FindingBatch:
        """One finding for each broker id; `texts`: in the same order."""
        return cls(
            rule=rule,
            texts=texts,
            text=np.arange(len(brokers)),
            broker=np.array(brokers, dtype=np.int64),
        )

    @classmethod
    def of_cluster(cls, rule: str, wanted: str, had: str, *, level: int = NONE) -> FindingBatch:
        """One finding about the whole cluster."""
        return cls(rule=rule, texts=[(wanted, had)], text=np.zeros(1, dtype=np.int64), level=level)


_COLUMNS = ("rule", "level", "row", "topic", "broker", "text")


class Findings(Sequence[Finding]):
    """All findings of one audit, in order; a sequence of `Finding` values."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[np.int32]],
        texts: Texts,
        *,
        rules: Sequence[Rule],
        table: PartitionTable,
        levels: Sequence[str],
        not_checked: Mapping[str, str],
    ) -> None:
        self.columns = columns
        """`rule`, `level`, `row`, `topic`, `broker` and `text`, each int32 [findings].

        Ids of brokers; of the others an index into `rules`, `levels`, the partition table, its
        topics and `texts`; NONE where it does not apply.
        """
        self.texts = texts
        self.rules = tuple(rules)
        self.table = table
        self.levels = tuple(levels)
        self.not_checked = MappingProxyType(dict(not_checked))
        """Rule name -> why it was not checked, or not everywhere."""

    @classmethod
    def of(
        cls,
        batches: Iterable[FindingBatch],
        *,
        rules: Mapping[str, Rule],
        table: PartitionTable,
        levels: Sequence[str],
        not_checked: Mapping[str, str],
    ) -> Findings:
        """From batches in any order. `rules`: in listing order; `levels`: names, coarsest first."""
        numbers = {name: number for number, name in enumerate(rules)}
        texts: list[tuple[str, str]] = []
        # int32: a cluster of a million partitions may have several million findings.
        parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in (*_COLUMNS, "minor")}
        for batch in batches:
            topic = batch.topic if batch.row is None else table.topic[batch.row]
            for name, column in (
                ("rule", numbers[batch.rule]),
                ("level", batch.level),
                ("row", batch.row),
                ("topic", topic),
                ("broker", batch.broker),
                ("text", batch.text + len(texts)),
                ("minor", batch.minor),
            ):
                part = np.empty(len(batch.text), dtype=np.int32)
                part[:] = NONE if column is None else column
                parts[name].append(part)
            texts.extend(batch.texts)
        columns = {
            name: np.concatenate([np.zeros(0, dtype=np.int32), *parts.pop(name)])
            for name in tuple(parts)
        }
        order = np.lexsort(
            [columns[name] for name in ("minor", "broker", "level", "rule")]
            + [_sort_key(columns, table)]
        )
        return cls(
            {name: columns[name][order] for name in _COLUMNS},
            texts,
            rules=tuple(rules.values()),
            table=table,
            levels=levels,
            not_checked=not_checked,
        )

    @override
    def __len__(self) -> int:
        return len(self.columns["rule"])

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Findings):
            return NotImplemented
        return self.not_checked == other.not_checked and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @override
    def __repr__(self) -> str:
        return f"Findings({dict(self.counts)}, not_checked={dict(self.not_checked)})"

    @override
    def __iter__(self) -> Iterator[Finding]:
        step = 1 << 16
        for start in range(0, len(self), step):
            yield from self._create_findings(slice(start, start + step))

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    @override
    def __getitem__(self, index: int | slice) -> Finding | Findings:
        if isinstance(index, slice):
            return self._select(index)
        place = range(len(self))[index]
        return next(self._create_findings(slice(place, place + 1)))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Rule name -> number of findings, in listing order; rules without any are left out."""
        numbers = np.bincount(self.columns["rule"], minlength=len(self.rules)).tolist()
        return MappingProxyType(
            {rule.name: n for rule, n in zip(self.rules, numbers, strict=True) if n}
        )

    @cached_property
    def by_rule(self) -> Mapping[str, Findings]:
        """Rule name -> its findings, in listing order; rules without any are left out."""
        numbers = self.columns["rule"]
        return MappingProxyType(
            {
                rule.name: self._select(numbers == number)
                for number, rule in enumerate(self.rules)
                if rule.name in self.counts
            }
        )

    def of_severity(self, severity: Severity | Threshold) -> Findings:
        """The findings of exactly this severity."""
        return self._select(self._has_severity({_severity(severity)}))

    def at_least(self, severity: Severity | Threshold) -> Findings:
        """The findings of this severity or worse; none for `never`."""
        return self._select(self._has_severity(_severities_from(severity)))

    def worst_first(self) -> Findings:
        """The same findings, those of the worst severity first."""
        ranks = np.array([list(Severity).index(rule.severity) for rule in self.rules])
        return self._select(np.argsort(ranks[self.columns["rule"]], kind="stable"))

    def beyond(self, others: Findings) -> Findings:
        """The findings that exceed those of the same rule and place in another audit.

        A place is a topic, partition, broker and level, by name; the texts are not compared.
        """
        if not len(self):
            return self
        numbers: dict[tuple[str, str], int] = {}
        both = zip(self._places(numbers), others._places(numbers), strict=True)
        code, examples = distinct([np.concatenate(columns) for columns in both])
        mine = code[: len(self)]
        counts = np.bincount(code[len(self) :], minlength=len(examples))
        order = np.argsort(mine, kind="stable")
        starts = np.searchsorted(mine[order], mine[order])
        is_more = np.zeros(len(self), dtype=np.bool_)
        is_more[order] = np.arange(len(self)) - starts >= counts[mine[order]]
        return self._select(is_more)

    def split(self, rules: Iterable[str]) -> tuple[Findings, Findings]:
        """The findings of all other rules, and those of these rules."""
        names = {*rules}
        wanted = np.array([rule.name in names for rule in self.rules])
        is_chosen = np.take(wanted, self.columns["rule"])
        return self._select(~is_chosen), self._select(is_chosen)

    def rows(self, severity: Severity | Threshold = "info") -> NDArray[np.int64]:
        """Rows of the partition table with a finding of this severity or worse, rising."""
        rows = self.columns["row"][self._has_severity(_severities_from(severity))]
        rows = rows[rows != NONE]
        # Several times as fast as `np.unique`, as the rows of a table are dense.
        is_found = np.zeros(int(rows.max(initial=-1)) + 1, dtype=np.bool_)
        is_found[rows] = True
        return np.flatnonzero(is_found)

    def raise_if_any(self, severity: Severity | Threshold = "info") -> None:
        """Raise `AuditFailed` if there is a finding of this severity or worse."""
        found = self.at_least(severity)
        if len(found):
            raise AuditFailed(
                f"expected no finding of severity {severity} or worse, got {len(found)}",
                findings=found,
                hint=found[0].message,
            )

    def _places(self, numbers: dict[tuple[str, str], int]) -> list[NDArray[np.int32]]:
        """Rule, level, topic, broker and partition of each finding, each int32 [findings].

        `numbers`: number of each (kind, name) of a rule, level or topic; new names are added.
        """
        found = []
        for kind, names in (
            ("rule", [rule.name for rule in self.rules]),
            ("level", self.levels),
            ("topic", self.table.topics),
        ):
            codes = [numbers.setdefault((kind, name), len(numbers)) for name in names]
            found.append(np.array([*codes, NONE], dtype=np.int32)[self.columns[kind]])
        partitions = np.append(self.table.partition, np.int32(NONE))
        return [*found, self.columns["broker"], partitions[self.columns["row"]]]

    def _has_severity(self, severities: set[Severity]) -> NDArray[np.bool_]:
        wanted = np.array([rule.severity in severities for rule in self.rules])
        return np.take(wanted, self.columns["rule"])

    def _select(self, which: slice | NDArray[np.bool_] | NDArray[np.int64]) -> Findings:
        return Findings(
            {name: column[which] for name, column in self.columns.items()},
            self.texts,
            rules=self.rules,
            table=self.table,
            levels=self.levels,
            not_checked=self.not_checked,
        )

    def _create_findings(self, which: slice) -> Iterator[Finding]:
        rule, level, row, topic, broker, text = (self.columns[name][which] for name in _COLUMNS)
        partition = np.full(len(row), NONE)
        partition[row != NONE] = self.table.partition[row[row != NONE]]
        # One short name per column: rule, level, partition, topic, broker, text.
        for r, n, p, t, b, x in zip(
            rule.tolist(),
            level.tolist(),
            partition.tolist(),
            topic.tolist(),
            broker.tolist(),
            text.tolist(),
            strict=True,
        ):
            rule_of_row = self.rules[r]
            wanted, had = self.texts[x]
            yield Finding(
                rule=rule_of_row.name,
                severity=rule_of_row.severity,
                topic=None if t == NONE else self.table.topics[t],
                partition=None if p == NONE else p,
                broker=None if b == NONE else b,
                level=None if n == NONE else self.levels[n],
                wanted=wanted,
                had=had,
            )


def _sort_key(columns: Mapping[str, NDArray[np.int32]], table: PartitionTable) -> NDArray[np.int64]:
    """-1 for the cluster, 2 * row for a topic, 2 * row + 1 for a partition.

    The row of a topic is its first row in the partition table.
    """
    row, topic = columns["row"], columns["topic"]
    first = np.searchsorted(table.topic, topic) * 2
    return np.where(row != NONE, row * 2 + 1, np.where(topic != NONE, first, NONE))


def _severity(name: str) -> Severity:
    if name not in set(Severity):
        raise InvalidConfig(
            f"expected a severity of {', '.join(Severity)}, got {escaped(name)}",
            wanted=", ".join(Severity),
            had=name,
        )
    return Severity(name)


def _severities_from(name: str) -> set[Severity]:
    """The severity of this name and all worse ones; none for `never`."""
    order = list(Severity)
    return set() if name == "never" else set(order[: order.index(_severity(name)) + 1])
