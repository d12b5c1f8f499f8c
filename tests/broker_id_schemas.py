"""Checks documents of `rackwise broker-id` against their schemas."""

from __future__ import annotations

from pathlib import Path

from json_schemas import check
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

SCHEMAS = Path(__file__).parents[1] / "docs" / "reference" / "schemas"


def check_document(document):
    """Law: a document names a format that has a schema, and conforms to that schema."""
    name = document["format"].removeprefix("rackwise.").removesuffix("/1")
    file = SCHEMAS / f"{name}.schema.json"
    assert file.exists(), f"no schema for {document['format']}"
    schema = parse(file.read_bytes(), where=file.name, error=InvalidConfig)
    check(document, schema, schema)
