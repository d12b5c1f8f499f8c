"""The rules of reading by name, one broken rule in one place, and what was not judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from rackwise.core.findings import Finding, Rule, Severity
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 3
"""Names that a reason lists."""

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
READING_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        row[0]: Rule(*row)
        for row in (
            ("reading-fetch-version", _E, "a broker is older than Fetch version 11 (Kafka 2.4)"),
            ("reading-broker-rack", _E, "a broker has no rack"),
            ("reading-rack-kinds", _W, "racks of brokers are names of several kinds"),
            ("reading-selector", _E, "a broker has no RackAwareReplicaSelector"),
            ("reading-client-rack", _E, "no broker is in the rack that a client names"),
            ("reading-probe", _E, "a leader does not send a client to the replica in its rack"),
            ("reading-member-rack", _W, "a member of a group tells no rack"),
            ("reading-protocol", _W, "a group's assignor on the broker does not heed racks"),
            ("reading-assignor", _W, "a group's assignor does not heed racks, or is not known"),
            ("reading-coverage", _I, "a topic has no replica in the rack of some of its readers"),
            ("reading-best", _I, "another assignment of a group would read more in its own racks"),
        )
    }
)
"""Rule name -> rule, in the order in which findings are listed: causes before effects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFinding(Finding):
    """A finding whose place may be a group or a client's rack; `hint` is what to do."""

    group: str | None = None
    client_rack: str | None = None
    hint: str

    @property
    @override
    def place(self) -> str:
        """`broker 4`, `group billing, topic orders`, `client rack use1-az1` or `cluster`."""
        named = (
            ("group", self.group),
            ("topic", self.topic),
            ("broker", self.broker),
            ("client rack", self.client_rack),
        )
        parts = [f"{noun} {escaped(str(name))}" for noun, name in named if name is not None]
        return ", ".join(parts) or "cluster"

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields and the message, for one JSON object."""
        own = {"group": self.group, "client_rack": self.client_rack, "hint": self.hint}
        return Finding.as_dict(self) | own


def finding(
    rule: str,
    *,
    wanted: str,
    had: str,
    hint: str,
    broker: int | None = None,
    topic: str | None = None,
    group: str | None = None,
    client_rack: str | None = None,
) -> ReadingFinding:
    """One finding, with the severity of its rule."""
    return ReadingFinding(
        rule=rule,
        severity=READING_RULES[rule].severity,
        topic=topic,
        partition=None,
        broker=broker,
        level=None,
        group=group,
        client_rack=client_rack,
        wanted=wanted,
        had=had,
        hint=hint,
    )


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule that was not judged, or not for `name`, and why."""

    rule: str
    why: str
    name: str | None = None


class ReadingFindings(Sequence[ReadingFinding]):
    """All findings of one diagnosis, by rule and then by place.

    `not_checked`: rule -> why it was not judged, or not everywhere.
    """

    def __init__(
        self, findings: Iterable[ReadingFinding] = (), unchecked: Iterable[Unchecked] = ()
    ) -> None:
        order = {name: place for place, name in enumerate(READING_RULES)}
        self._findings = tuple(sorted(findings, key=lambda each: (order[each.rule], _place(each))))
        self.not_checked = MappingProxyType(_reasons(unchecked))

    @override
    def __len__(self) -> int:
        return len(self._findings)

    @overload
    def __getitem__(self, index: int) -> ReadingFinding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ReadingFinding]: ...
    @override
    def __getitem__(self, index: int | slice) -> ReadingFinding | Sequence[ReadingFinding]:
        return self._findings[index]

    @override
    def __repr__(self) -> str:
        return f"ReadingFindings({dict(self.counts)}, not_checked={dict(self.not_checked)})"

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule -> number of its findings, rules without any left out, in the order of the rules."""
        found = Counter(each.rule for each in self._findings)
        return MappingProxyType({name: found[name] for name in READING_RULES if found[name]})


def names_text(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> names_text(["a", "b"]), names_text(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _place(each: ReadingFinding) -> tuple[str, str, int, str]:
    broker = -1 if each.broker is None else each.broker
    return (each.group or "", each.topic or "", broker, each.client_rack or "")


def _reasons(unchecked: Iterable[Unchecked]) -> dict[str, str]:
    """Rule -> its reasons, each with the names that it holds for, in the order of the rules."""
    names: dict[tuple[str, str], list[str]] = {}
    for each in unchecked:
        listed = names.setdefault((each.rule, each.why), [])
        if each.name is not None and each.name not in listed:
            listed.append(each.name)
    texts: dict[str, list[str]] = {}
    for (rule, why), listed in names.items():
        texts.setdefault(rule, []).append(f"{why}: {names_text(listed)}" if listed else why)
    return {name: "; ".join(texts[name]) for name in READING_RULES if name in texts}
