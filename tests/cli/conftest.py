"""A topic on a real cluster of either kind that is gone after each test, and commands on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"


@pytest.fixture
def admin(admin):
    from kafka_topics import NAME
    from kafka_traffic import delete

    yield admin
    delete(admin, NAME)


@pytest.fixture(
    params=[
        pytest.param("kraft_cluster", marks=pytest.mark.kafka),
        pytest.param("zookeeper_cluster", marks=[pytest.mark.zookeeper, pytest.mark.long]),
    ]
)
def kraft_first(request):
    """Each of the two clusters; Kafka 3.9 for `make long`."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The folder of locks and journals, not there yet."""
    folder = tmp_path / "state"
    monkeypatch.setenv("RACKWISE_STATE", str(folder))
    return folder


@pytest.fixture
def called(cluster, capsys, state):  # noqa: ARG001 (where its journal is)
    """Run a command on the cluster: its exit code, stdout and stderr."""
    from rackwise.cli.main import run

    def call(verb, *words):
        code = run([verb, *words, "--bootstrap-server", cluster.bootstrap])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(autouse=True)
def declared_documents(monkeypatch):
    """Read each document that a command of this process prints with the form that declares it."""
    from rackwise.cli import documents
    from rackwise.core.errors import InvalidSummary
    from rackwise.core.json.faults import Faults
    from rackwise.core.json.node import JsonNode
    from rackwise.core.json.strict import parse

    write = documents.as_json

    def write_and_read(document, codec=documents.DOCUMENTS):
        written = write(document, codec)
        text = json.dumps(written, ensure_ascii=False).encode()
        parsed = parse(text, where="document", error=InvalidSummary)
        faults = Faults("document", InvalidSummary)
        codec.object(type(document)).read(JsonNode(parsed, faults))
        faults.raise_if_any()
        return written

    monkeypatch.setattr(documents, "as_json", write_and_read)


@pytest.fixture(autouse=True)
def documents_with_schemas(monkeypatch):
    """Check that each document that a command of this process prints has a schema in the docs."""
    from dataclasses import is_dataclass

    from rackwise.cli.shell import Shell

    show = Shell.document

    def show_described(shell, document, codec=None):
        is_declared = is_dataclass(document)
        title = document.format if is_declared else document.get("format")
        if is_declared or title is not None:
            name = title.removeprefix("rackwise.").removesuffix("/1")
            assert (SCHEMAS / f"{name}.schema.json").exists(), f"no schema of {title}"
        show(shell, document, codec)

    monkeypatch.setattr(Shell, "document", show_described)
