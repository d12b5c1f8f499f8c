"""What an audit finds: the rules by name, one broken rule in one place, and many of them at once.

A cluster of a million partitions may break a rule in a third of them, so `Findings` keeps columns:
one row per finding, the two texts kept once per distinct pair. A `Finding` is made when it is asked
for.

```
rule          row  level   text     texts
spread-even   17   zone    0        0: wanted "/a 1, /b 1"    had "/a 2, /b 0"
spread-even   40   zone    0        1: wanted "live brokers only"    had "5"
dead-replica  41   -       1
```

Order: findings about the cluster or a broker first, then by topic (those about the whole topic
before its partitions), partition, rule in the order of `RULES`, level, rack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from rackwise.core.errors import AuditFailed, InvalidConfig
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import PartitionTable

NONE = -1
"""In the columns: no partition, topic, broker or level."""


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


Threshold: TypeAlias = Literal["error", "warning", "info", "never"]
"""A severity and all that is worse; `never` is nothing at all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the audit; `sentence` says when it is broken."""

    name: str
    severity: Severity
    sentence: str


def _rules(*rows: tuple[str, Severity, str]) -> Mapping[str, Rule]:
    return MappingProxyType({row[0]: Rule(*row) for row in rows})


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
RULES: Mapping[str, Rule] = _rules(
    ("rack-missing", _E, "a live broker has no rack"),
    ("rack-depth", _W, "a rack path is shorter than the deepest one"),
    ("spread-even", _E, "a rack holds more or fewer replicas of a partition than an even share"),
    ("spread-distinct", _E, "two replicas of a partition are in one rack"),
    ("spread-at-least", _E, "a partition is in fewer racks than the policy wants"),
    ("rack-count", _E, "a rack holds another number of replicas than the policy counts for it"),
    ("replication", _E, "a partition has another number of replicas than the policy or its topic"),
    ("dead-replica", _E, "a replica is on a broker that is not live"),
    ("drained-broker", _E, "a replica is on a broker that should hold nothing"),
    ("pin", _E, "a broker that should hold a partition does not"),
    ("offline", _E, "a partition has no leader"),
    ("under-min-isr", _E, "fewer live replicas are in sync than min.insync.replicas"),
    ("under-replicated", _W, "fewer replicas are in sync than are placed"),
    ("at-min-isr", _W, "the loss of one more replica stops writes with acks=all"),
    ("rack-loss-offline", _W, "the loss of one rack takes a partition offline"),
    ("rack-loss-min-isr", _W, "the loss of one rack stops writes with acks=all"),
    ("leader-rack", _W, "the preferred leader is where the policy wants none"),
    ("replica-balance", _W, "a broker holds more or fewer replicas than its fair share"),
    ("leader-balance", _W, "a broker is preferred leader more or less often than is fair"),
    ("topic-spread", _W, "a broker holds more replicas of a topic than its fair share"),
    ("throttle-left", _W, "a replication throttle is set and nothing is reassigning"),
    ("not-preferred-leader", _I, "the leader is not the first replica of the list"),
    ("reassigning", _I, "replicas are being added or removed"),
    ("unequal-racks", _I, "a rack has so few brokers that its rules force more load on them"),
    ("size-unknown", _I, "the size of a partition is not known"),
    ("not-visible", _I, "a part of the cluster could not be read"),
)
"""Rule name -> rule, in the order in which findings of one partition are listed."""

_PLACE = {name: place for place, name in enumerate(RULES)}
_NAMES = tuple(RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken rule in one place; None where the place is the whole topic or cluster.

    `wanted` and `had` are short texts with numbers, in the same order of racks or brokers.
    """

    rule: str
    severity: Severity
    topic: str | None
    partition: int | None
    broker: int | None
    level: str | None
    wanted: str
    had: str

    @property
    def place(self) -> str:
        """`orders-1`, `topic orders`, `broker 4`, `topic orders on broker 4` or `cluster`."""
        if self.topic is not None and self.partition is not None:
            return f"{escaped(self.topic)}-{self.partition}"
        topic = "" if self.topic is None else f"topic {escaped(self.topic)}"
        broker = "" if self.broker is None else f"broker {self.broker}"
        return " on ".join(filter(None, (topic, broker))) or "cluster"

    @property
    def message(self) -> str:
        """`orders-1: spread-even at az: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0`."""
        level = "" if self.level is None else f" at {escaped(self.level)}"
        return f"{self.place}: {self.rule}{level}: wanted {self.wanted}; had {self.had}"

    def as_dict(self) -> dict[str, Any]:
        """The fields and the message, for one JSON object."""
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "topic": self.topic,
            "partition": self.partition,
            "broker": self.broker,
            "level": self.level,
            "wanted": self.wanted,
            "had": self.had,
            "message": self.message,
        }


Texts: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of wanted and had."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Findings of one rule, at one level, as columns of equal length; a column left out is NONE.

    `text`: index into `texts`; `row`: of the partition table; `topic`: index into its names;
    `broker`: id; `minor`: what orders findings that are alike in all else.
    """

    rule: str
    texts: Texts
    text: NDArray[np.int64]
    level: int = NONE
    row: NDArray[np.int64] | None = None
    topic: NDArray[np.int64] | None = None
    broker: NDArray[np.int64] | None = None
    minor: NDArray[np.int64] | None = None


_COLUMNS = ("rule", "level", "row", "topic", "broker", "text")


class Findings(Sequence[Finding]):
    """All findings of one audit, in order; behaves as a sequence of `Finding`.

    `not_checked`: rule -> why it was not judged, or not everywhere.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[np.int64]],
        texts: Texts,
        *,
        table: PartitionTable,
        levels: Sequence[str],
        not_checked: Mapping[str, str],
    ) -> None:
        self._columns = columns
        self._texts = texts
        self._table = table
        self._levels = tuple(levels)
        self.not_checked = MappingProxyType(dict(not_checked))

    @classmethod
    def of(
        cls,
        batches: Iterable[Batch],
        *,
        table: PartitionTable,
        levels: Sequence[str],
        not_checked: Mapping[str, str],
    ) -> Findings:
        """From batches in any order; `levels`: names, coarsest first."""
        texts: list[tuple[str, str]] = []
        parts: dict[str, list[NDArray[np.int64]]] = {name: [] for name in (*_COLUMNS, "minor")}
        for batch in batches:
            count = len(batch.text)
            nothing = np.full(count, NONE, dtype=np.int64)
            row = nothing if batch.row is None else batch.row
            topic = nothing if batch.topic is None else batch.topic
            parts["rule"].append(np.full(count, _PLACE[batch.rule], dtype=np.int64))
            parts["level"].append(np.full(count, batch.level, dtype=np.int64))
            parts["row"].append(row)
            parts["topic"].append(topic if batch.row is None else table.topic[row].astype(np.int64))
            parts["broker"].append(nothing if batch.broker is None else batch.broker)
            parts["text"].append(batch.text + len(texts))
            parts["minor"].append(nothing if batch.minor is None else batch.minor)
            texts.extend(batch.texts)
        columns = {
            name: np.concatenate(part) if part else np.zeros(0, dtype=np.int64)
            for name, part in parts.items()
        }
        order = np.lexsort(
            [columns[name] for name in ("minor", "broker", "level", "rule")]
            + [_sort_key(columns, table)]
        )
        return cls(
            {name: columns[name][order] for name in _COLUMNS},
            texts,
            table=table,
            levels=levels,
            not_checked=not_checked,
        )

    @override
    def __len__(self) -> int:
        return len(self._columns["rule"])

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
            yield from self._values(slice(start, start + step))

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    @override
    def __getitem__(self, index: int | slice) -> Finding | Findings:
        if isinstance(index, slice):
            return self._only(index)
        place = range(len(self))[index]
        return next(self._values(slice(place, place + 1)))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Rule -> number of its findings, rules without any left out, in the order of `RULES`."""
        numbers = np.bincount(self._columns["rule"], minlength=len(_NAMES)).tolist()
        return MappingProxyType({_NAMES[i]: n for i, n in enumerate(numbers) if n})

    @cached_property
    def by_rule(self) -> Mapping[str, Findings]:
        """Rule -> its findings, rules without any left out, in the order of `RULES`."""
        rules = self._columns["rule"]
        return MappingProxyType({name: self._only(rules == _PLACE[name]) for name in self.counts})

    def of_severity(self, severity: Severity | Threshold) -> Findings:
        """Those of exactly this severity."""
        return self._only(self._are({_severity(severity)}))

    def at_least(self, severity: Severity | Threshold) -> Findings:
        """Those of this severity or worse; none for `never`."""
        return self._only(self._are(_from(severity)))

    def rows(self, severity: Severity | Threshold = "info") -> NDArray[np.int64]:
        """Rows of the partition table with a finding of this severity or worse, rising."""
        rows = self._columns["row"][self._are(_from(severity))]
        return np.unique(rows[rows != NONE])

    def raise_if_any(self, severity: Severity | Threshold = "info") -> None:
        """Raise `AuditFailed` if there is a finding of this severity or worse."""
        found = self.at_least(severity)
        if len(found):
            raise AuditFailed(
                f"expected no finding of severity {severity} or worse, got {len(found)}",
                findings=found,
                hint=found[0].message,
            )

    def _are(self, severities: set[Severity]) -> NDArray[np.bool_]:
        wanted = np.array([RULES[name].severity in severities for name in _NAMES])
        return np.take(wanted, self._columns["rule"])

    def _only(self, which: slice | NDArray[np.bool_]) -> Findings:
        return Findings(
            {name: column[which] for name, column in self._columns.items()},
            self._texts,
            table=self._table,
            levels=self._levels,
            not_checked=self.not_checked,
        )

    def _values(self, which: slice) -> Iterator[Finding]:
        rule, level, row, topic, broker, text = (self._columns[name][which] for name in _COLUMNS)
        partition = np.full(len(row), NONE)
        partition[row != NONE] = self._table.partition[row[row != NONE]]
        for r, n, p, t, b, x in zip(
            rule.tolist(),
            level.tolist(),
            partition.tolist(),
            topic.tolist(),
            broker.tolist(),
            text.tolist(),
            strict=True,
        ):
            name = _NAMES[r]
            wanted, had = self._texts[x]
            yield Finding(
                rule=name,
                severity=RULES[name].severity,
                topic=None if t == NONE else self._table.topics[t],
                partition=None if p == NONE else p,
                broker=None if b == NONE else b,
                level=None if n == NONE else self._levels[n],
                wanted=wanted,
                had=had,
            )


def _sort_key(columns: Mapping[str, NDArray[np.int64]], table: PartitionTable) -> NDArray[np.int64]:
    """-1 for the cluster, else twice the first row that it is about, odd for a partition."""
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


def _from(name: str) -> set[Severity]:
    """The severity and the worse ones; none for `never`."""
    order = list(Severity)
    return set() if name == "never" else set(order[: order.index(_severity(name)) + 1])
