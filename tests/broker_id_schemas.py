"""Documents of `rackwise broker-id` against their schema, with the few words that it uses."""

from __future__ import annotations

from pathlib import Path

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

FILE = Path(__file__).parents[1] / "docs" / "reference" / "broker-id.schema.json"
SCHEMA = parse(FILE.read_bytes(), where=FILE.name, error=InvalidConfig)
TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def check_document(document):
    """Law: a document has a schema, which is that of its format, and keeps to it."""
    schema = SCHEMA["$defs"].get(document["format"])
    assert schema is not None, f"no schema for {document['format']}"
    _check(document, schema, "$")


def _check(value, schema, path):
    if "$ref" in schema:
        _check(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
        return
    if "anyOf" in schema:
        told = [_told(value, each, path) for each in schema["anyOf"]]
        assert None in told, told
        return
    if "enum" in schema:
        assert value in schema["enum"], f"{path}: {value!r}"
    if "const" in schema:
        assert value == schema["const"], f"{path}: {value!r}"
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(TYPES[each](value) for each in types), f"{path}: {value!r} is no {types}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value), f"{path}: {sorted(value)}"
        assert set(value) <= set(properties), f"{path}: {sorted(set(value) - set(properties))}"
        for name, each in value.items():
            _check(each, properties[name], f"{path}.{name}")
    if isinstance(value, list):
        for index, each in enumerate(value):
            _check(each, schema["items"], f"{path}[{index}]")


def _told(value, schema, path):
    try:
        _check(value, schema, path)
    except AssertionError as error:
        return str(error)
    return None
