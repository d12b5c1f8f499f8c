"""One class per name, no file without a subject, and folders with a limited number of entries."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import rackwise

SOURCE = Path(rackwise.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
NO_SUBJECT = {"values", "front", "reading", "utils", "util", "helpers", "common", "misc"}

PLUG_INS = {
    "RackAssignor",
    "RackAwareProducer",
    "RackOptimal",
    "RackRange",
    "RackRoundRobin",
    "RackSticky",
    "RackCooperativeSticky",
}
"""One for each client library, under the name that its users know."""

MOST_ENTRIES = {
    "core/planning": 12,
    "core/identity": 8,
    "core/assignors": 10,
    "pipeline": 16,
    "cli": 18,
}
"""Folder -> files and folders on one level, `__init__.py` and `__main__.py` not counted."""


def test_a_class_name_exists_once():
    homes = defaultdict(list)
    for file in FILES:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(SOURCE)))
    doubled = {name: where for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in doubled.items() if name not in PLUG_INS} == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_is_named_after_what_it_holds(file):
    assert file.stem not in NO_SUBJECT


@pytest.mark.parametrize("folder", MOST_ENTRIES)
def test_a_folder_fits_at_a_glance(folder):
    entries = [
        each.name
        for each in (SOURCE / folder).iterdir()
        if each.name not in {"__pycache__", "__init__.py", "__main__.py"}
    ]
    assert len(entries) <= MOST_ENTRIES[folder], sorted(entries)
