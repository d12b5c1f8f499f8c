"""The findings of a small check as a list, and the rules that it could not check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, overload

from rackwise.core.findings.finding import NONE, Finding, Rule
from rackwise.core.override import override
from rackwise.core.text import names_text

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_ASKED_FOR: Final = "not asked for"
"""Why a rule was not checked that the caller did not name."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule that was not checked, or not for one subject."""

    rule: str
    why: str
    subject: str | None = None
    """`group billing` or `broker 4`; None where the rule was not checked at all."""


class FindingList(Sequence[Finding]):
    """The findings of a small check, by rule and then by place."""

    def __init__(
        self, rules: Mapping[str, Rule], found: Iterable[Finding | Unchecked] = ()
    ) -> None:
        """`rules`: in listing order; `found`: in any order."""
        results = list(found)
        order = {name: number for number, name in enumerate(rules)}
        self._rules = tuple(rules)
        self._findings = tuple(
            sorted(
                (each for each in results if isinstance(each, Finding)),
                key=lambda each: (order[each.rule], _place_key(each)),
            )
        )
        self.not_checked = MappingProxyType(
            _reasons(self._rules, (each for each in results if isinstance(each, Unchecked)))
        )
        """Rule name -> why it was not checked, or not everywhere."""

    @override
    def __len__(self) -> int:
        return len(self._findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    @override
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self._findings[index]

    @override
    def __repr__(self) -> str:
        return f"FindingList({dict(self.counts)}, not_checked={dict(self.not_checked)})"

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule name -> number of findings, in listing order; rules without any are left out."""
        found = Counter(each.rule for each in self._findings)
        return MappingProxyType({name: found[name] for name in self._rules if found[name]})


def _place_key(each: Finding) -> tuple[str, str, str, int, str]:
    broker = NONE if each.broker is None else each.broker
    return (
        each.where or "",
        each.group or "",
        each.topic or "",
        broker,
        each.client_rack or "",
    )


def _reasons(rules: Sequence[str], unchecked: Iterable[Unchecked]) -> dict[str, str]:
    """Rule name -> its reasons, each with its subjects."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for each in unchecked:
        listed = subjects.setdefault((each.rule, each.why), [])
        if each.subject is not None and each.subject not in listed:
            listed.append(each.subject)
    texts: dict[str, list[str]] = {}
    for (rule, why), listed in subjects.items():
        texts.setdefault(rule, []).append(f"{why}: {names_text(listed)}" if listed else why)
    return {name: "; ".join(texts[name]) for name in rules if name in texts}
