"""An audit as JUnit XML: GitLab, Jenkins and others show it as tests.

```
rule without findings        a test case that passed
rule that was not checked    a test case that was skipped, with the reason
finding that fails           a test case of its own with a failure, as readers show one per case
other findings               a test case that passed, with the finding as its output
```

Source: the JUnit XML that Maven Surefire writes: testsuites, testsuite, testcase, failure, skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from rackwise.core.text import escaped
from rackwise.report.gate.model import message_text, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.findings import Finding
    from rackwise.report.gate.model import GateReport


def junit_pieces(report: GateReport) -> Iterator[str]:
    """One XML document, a line at a time: a large cluster has more than fits into memory."""
    numbers = {name: len(report.by_rule.get(name, ())) for name in report.rules}
    failures = sum(
        number for name, number in numbers.items() if report.rules[name].severity in report.failing
    )
    skipped = sum(not number and name in report.not_checked for name, number in numbers.items())
    tests = sum(max(number, 1) for number in numbers.values())
    counts = f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'
    name = quoteattr(f"rackwise audit of {escaped(report.source)}")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites {counts}>\n"
    yield f"  <testsuite name={name} {counts}>\n"
    for rule in report.rules:
        for case in _cases(report, rule, report.by_rule.get(rule, ())):
            yield f"    {case}\n"
    yield "  </testsuite>\n</testsuites>"


def _cases(report: GateReport, name: str, own: Sequence[Finding]) -> Iterator[str]:
    rule = report.rules[name]
    whole = f"<testcase classname={quoteattr(name)} name={quoteattr(escaped(rule.sentence))}"
    if not own and name in report.not_checked:
        reason = quoteattr(escaped(report.not_checked[name]))
        yield f"{whole}><skipped message={reason}/></testcase>"
    elif not own:
        yield f"{whole}/>"
    for finding in own:
        yield _case(report, finding)


def _case(report: GateReport, finding: Finding) -> str:
    name = quoteattr(escaped(place_text(finding)))
    head = f"<testcase classname={quoteattr(finding.rule)} name={name}"
    message = message_text(finding)
    if finding.severity not in report.failing:
        return f"{head}><system-out>{escape(message)}</system-out></testcase>"
    kind = quoteattr(str(finding.severity))
    return (
        f"{head}><failure type={kind} message={quoteattr(message)}>{escape(message)}</failure>"
        "</testcase>"
    )
