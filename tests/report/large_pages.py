"""Documents and pages that several files of tests only read: each is made once in a process.

The page of a fleet takes seconds to make. A test that edits a document makes its own.
"""

from functools import cache
from typing import Any

from rackwise.report import html
from report.summaries import hostile, summary

FLEET = {"racks": ("/eu/a", "/eu/b", "/us/a"), "levels": ("region", "zone"), "topics": 2}
CLUSTERS = 200
CASES: dict[str, dict[str, Any]] = {
    "a week": {"topics": 24, "days": 7},
    "fleet": {"clusters": CLUSTERS, "days": 2, **FLEET},
    "hostile": {"topics": 12, "days": 3, "named": hostile},
    "harmless": {"topics": 12, "days": 3},
    "no traffic": {"has_traffic": False},
}


@cache
def document_of(name: str) -> dict[str, Any]:
    """The summary of a case; nobody edits it."""
    return summary(**CASES[name])


@cache
def text_of(name: str) -> str:
    """The page of a case."""
    return html.render(document_of(name))
