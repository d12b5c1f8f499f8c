"""An audit as workflow commands of GitHub Actions, which it shows as annotations.

GitHub shows ten annotations of each level in one step. So the first ten of each level are commands,
and a last line counts all.

In a message `%`, CR and LF are escaped; in a title also `:` and `,`.

Source: GitHub's documentation of workflow commands, and `command.ts` of its toolkit for escapes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rackwise.core.audit import unchecked_placement
from rackwise.core.findings import Severity
from rackwise.core.text import counted, escaped
from rackwise.report.gate.model import message_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.report.gate.model import GateReport

COMMANDS_OF_SEVERITIES = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}
SHOWN = 10
"""Annotations of one level that GitHub shows in a step."""
_IN_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_DATA, ":": "%3A", ",": "%2C"}


def github_pieces(report: GateReport) -> Iterator[str]:
    """Commands, one a line, and a line that counts the findings."""
    for severity, command in COMMANDS_OF_SEVERITIES.items():
        own = (finding for finding in report.findings if finding.severity == severity)
        for finding in islice(own, SHOWN):
            title = property_text(f"rackwise {finding.rule}")
            yield f"::{command} title={title}::{data_text(message_text(finding))}\n"
    failing = sum(
        len(own)
        for name, own in report.by_rule.items()
        if report.rules[name].severity in report.failing
    )
    number = len(unchecked_placement(report.not_checked).keys() & report.rules.keys())
    unchecked = f"; {counted(number, 'rule')} of severity error not checked" if number else ""
    yield (
        f"rackwise audit of {escaped(report.source)}: {counted(len(report.findings), 'finding')}, "
        f"{failing} of them failing{unchecked}"
    )


def data_text(text: str) -> str:
    r"""A message of a command.

    >>> data_text("100 %\nof a:b")
    '100 %25%0Aof a:b'
    """
    return _escaped(text, _IN_DATA)


def property_text(text: str) -> str:
    """A property of a command.

    >>> property_text("100 %, a:b")
    '100 %25%2C a%3Ab'
    """
    return _escaped(text, _IN_PROPERTY)


def _escaped(text: str, codes: dict[str, str]) -> str:
    return "".join(codes.get(character, character) for character in text)
