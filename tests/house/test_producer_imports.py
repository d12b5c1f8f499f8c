"""Each producer plug-in uses public names of one client library, and of no other."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rackwise

CLIENTS = Path(rackwise.__file__).parent / "adapters" / "clients"
LIBRARIES = {
    "kafka_python.producer": "kafka",
    "aiokafka.producer": "aiokafka",
    "confluent.producer": "confluent_kafka",
}
SHARED = (
    *("steering", "topics", "rack_source"),
    *("confluent.settings", "confluent.statistics", "confluent.views"),
)


def imported(name):
    """Every module that a file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse((CLIENTS / f"{name.replace('.', '/')}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_every_producer_plug_in_is_checked():
    found = {f"{file.parent.name}.producer" for file in CLIENTS.glob("*/producer.py")}
    assert found == set(LIBRARIES)


@pytest.mark.parametrize("name", [*LIBRARIES, *SHARED])
def test_no_producer_reaches_into_a_client(name):
    assert not [each for each in imported(name) if each.endswith("clients.private")]


@pytest.mark.parametrize("name", [*LIBRARIES, *SHARED])
def test_a_plug_in_imports_its_own_client_and_no_other(name):
    found = {each.partition(".")[0] for each in imported(name)} & set(LIBRARIES.values())
    assert found <= {LIBRARIES.get(name)}


@pytest.mark.parametrize("name", LIBRARIES)
def test_without_its_client_a_plug_in_says_what_to_install(name):
    script = (
        f"import sys; sys.modules[{LIBRARIES[name]!r}] = None\n"
        "from rackwise.core.errors import MissingClientError\n"
        f"try: import rackwise.adapters.clients.{name}\n"
        "except MissingClientError as error: print(error.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pip install")
