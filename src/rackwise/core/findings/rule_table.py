"""The rules of one check, and the decorator that adds a rule with the function that checks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from rackwise.core.errors import InvalidConfig
from rackwise.core.findings.finding import Finding, Rule, Severity
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterator

CheckFn = TypeVar("CheckFn", bound=Callable[..., object])


class RuleTable(Mapping[str, Rule], Generic[CheckFn]):
    """The rules of one check by name, in listing order, each with the function that checks it."""

    def __init__(self, *rules: Rule) -> None:
        self._rules: dict[str, Rule] = {}
        self._checks: dict[str, CheckFn] = {}
        for rule in rules:
            self.add(rule)

    def rule(self, name: str, severity: Severity, sentence: str) -> Callable[[CheckFn], CheckFn]:
        """A decorator that adds a rule and the function that checks it; the function is unchanged.

        Raises `InvalidConfig` for a name that the table has.
        """

        def register(check: CheckFn) -> CheckFn:
            self.add(Rule(name, severity, sentence))
            self._checks[name] = check
            return check

        return register

    def add(self, rule: Rule) -> None:
        """Add a rule that no function of the table checks.

        Raises `InvalidConfig` for a name that the table has.
        """
        if rule.name in self._rules:
            raise InvalidConfig(
                f"expected each rule once, got {rule.name} twice",
                wanted="a new name",
                had=rule.name,
                hint="give the second rule another name",
            )
        self._rules[rule.name] = rule

    @override
    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._rules, key=lambda name: self[name].severity == Severity.INFO))

    @override
    def __len__(self) -> int:
        return len(self._rules)

    @property
    def checks(self) -> Mapping[str, CheckFn]:
        """Rule name -> the function that checks it, in listing order."""
        return {name: self._checks[name] for name in self if name in self._checks}

    def finding(
        self,
        rule: str,
        *,
        wanted: str,
        had: str,
        hint: str,
        severity: Severity | None = None,
        topic: str | None = None,
        broker: int | None = None,
        group: str | None = None,
        client_rack: str | None = None,
        where: str | None = None,
    ) -> Finding:
        """A finding of a rule; its severity is the rule's unless another one is given."""
        return Finding(
            rule=rule,
            severity=severity or self[rule].severity,
            topic=topic,
            broker=broker,
            group=group,
            client_rack=client_rack,
            where=where,
            wanted=wanted,
            had=had,
            hint=hint,
        )
