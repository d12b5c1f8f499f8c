"""Core reads no file and prints nothing, also where no import shows it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "rackwise"
BANNED = {"open", "print", "input", "eval", "exec", "__import__"}


def relative(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def calls(text: str) -> set[str]:
    return {
        node.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and node.id in BANNED
    }


@pytest.mark.parametrize("file", sorted((SOURCE / "core").rglob("*.py")), ids=relative)
def test_core_calls_nothing_that_touches_the_world(file):
    assert calls(file.read_text()) == set()


def test_the_walk_sees_a_planted_call():
    assert calls("def f():\n    return open('x')") == {"open"}


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=relative)
def test_every_module_opens_with_a_docstring(file):
    assert ast.get_docstring(ast.parse(file.read_text()))
