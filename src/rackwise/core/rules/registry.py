"""The table of audit rules, and `@rule`, which adds a rule to it.

A rule is one function of a `View` that yields findings as columns. `@rule` gives it a name, a
severity and a sentence, and says when the audit cannot check it:

```
@rule("offline", Severity.ERROR, "a partition has no leader")
def offline(view): ...

@rule("rack-missing", Severity.ERROR, "a live broker has no rack", unless=_why_allowed)
def rack_missing(view): ...
```

`core/rules/__init__.py` imports the files of rules; the order of its imports is the order of the
table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rackwise.core.findings import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwise.core.findings import FindingBatch, Severity
    from rackwise.core.view import View

RuleCheck: TypeAlias = "Callable[[View], Iterator[FindingBatch]]"
Reason: TypeAlias = "Callable[[View], str | None]"
"""Why a rule is not checked; None where it is checked."""


class Conditions(NamedTuple):
    """When a rule is checked."""

    unless: Reason
    """Why the rule is not checked at all, for this policy and cluster."""
    partly: Reason
    """Why the rule is not checked for some topics."""
    needs_fair_loads: bool
    """Whether the rule compares with `View.fair`, which a planner computes."""


RULES: RuleTable[RuleCheck] = RuleTable()
"""Rule name -> rule, in the order in which findings of one place are listed."""
CONDITIONS: dict[str, Conditions] = {}
"""Rule name -> when it is checked."""


def _never(_: View) -> None:
    return None


def rule(
    name: str,
    severity: Severity,
    sentence: str,
    *,
    unless: Reason = _never,
    partly: Reason = _never,
    needs_fair_loads: bool = False,
) -> Callable[[RuleCheck], RuleCheck]:
    """A decorator that adds a rule and the function that checks it; the function is unchanged."""
    CONDITIONS[name] = Conditions(unless, partly, needs_fair_loads)
    return RULES.rule(name, severity, sentence)
