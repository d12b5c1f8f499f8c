"""Checks documents of `rackwise broker-id` against their schemas."""

from __future__ import annotations

from pathlib import Path

from json_schemas import check
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

FILE = Path(__file__).parents[1] / "docs" / "reference" / "broker-id.schema.json"
SCHEMA = parse(FILE.read_bytes(), where=FILE.name, error=InvalidConfig)


def check_document(document):
    """Law: a document names a format that has a schema, and conforms to that schema."""
    schema = SCHEMA["$defs"].get(document["format"])
    assert schema is not None, f"no schema for {document['format']}"
    check(document, schema, SCHEMA)
