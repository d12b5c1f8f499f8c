"""Every fault that the system must survive has a test whose docstring begins with its number.

A test with the docstring `F7: ...` or `F7, F8: ...` covers these faults; the docstring of a class
counts for its tests.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NUMBERS = re.compile(r"((?:F\d+, )*F\d+): ")
FAULTS = range(1, 32)


def told_by(source: str) -> set[int]:
    """The faults that the tests of a file cover."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not _is_test(node):
            continue
        if match := NUMBERS.match(ast.get_docstring(node) or ""):
            found |= {int(each[1:]) for each in match[1].split(", ")}
    return found


def _is_test(node: ast.FunctionDef | ast.ClassDef) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name.startswith("test_")
    return node.name.startswith("Test") and any(
        isinstance(each, ast.FunctionDef) and _is_test(each) for each in node.body
    )


@pytest.fixture(scope="module")
def tested() -> set[int]:
    files = sorted(TESTS.rglob("test_*.py"))
    return set().union(*(told_by(each.read_text()) for each in files))


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_a_test(tested: set[int], fault: int) -> None:
    assert fault in tested, f"no test has a docstring that begins with F{fault}:"


def test_no_test_is_of_a_fault_that_is_none(tested: set[int]) -> None:
    assert tested <= set(FAULTS)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('def test_a():\n    """F7: deleted."""', {7}),
        ('def test_a():\n    """F7, F12: deleted."""', {7, 12}),
        ('class TestA:\n    """F7: deleted."""\n    def test_a(self): pass', {7}),
        ('class TestA:\n    """F7: no test in it."""', set()),
        ('def helper():\n    """F7: no test."""', set()),
        ('def test_a():\n    """Of F7: it does not begin with it."""', set()),
        ('"""F7: a whole file."""\ndef test_a(): pass', set()),
    ],
)
def test_what_counts_as_a_test_of_a_fault(source: str, wanted: set[int]) -> None:
    assert told_by(source) == wanted
