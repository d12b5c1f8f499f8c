"""Only one file uses private names of Kafka's clients."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rackwise

CLIENTS = Path(rackwise.__file__).parent / "adapters" / "clients"
KNOWING = "private.py"
OWN = ("self", "cls")


def private_names(tree):
    """Attributes with an underscore of anything but `self`, also by string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id in OWN:
                continue
            if _is_private(node.attr):
                yield node.lineno, node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if node.func.id in {"getattr", "setattr", "hasattr"}:
                yield from ((node.lineno, text) for text in texts if _is_private(str(text)))


def _is_private(name):
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize(
    "file", sorted(CLIENTS.rglob("*.py")), ids=lambda file: str(file.relative_to(CLIENTS))
)
def test_only_private_touches_the_underscore_names_of_a_client(file):
    found = list(private_names(ast.parse(file.read_text())))
    assert bool(found) == (file.name == KNOWING), found


def test_the_search_finds_what_it_looks_for():
    tree = ast.parse("a._b\nself._c\nself._d._e\ngetattr(a, '_f')\na.__doc__")
    assert [name for _, name in private_names(tree)] == ["_b", "_e", "_f"]
