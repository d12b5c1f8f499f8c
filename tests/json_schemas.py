"""JSON Schema, as far as the schemas of this project use it."""

from __future__ import annotations

import re

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
KNOWN = {
    *("$ref", "$schema", "$id", "$defs", "title", "description", "type", "enum", "const"),
    *("anyOf", "oneOf", "allOf", "properties", "required", "additionalProperties"),
    *("propertyNames", "items", "prefixItems", "minItems", "maxItems", "pattern", "minLength"),
    *("minimum", "maximum"),
}


def check(value, schema, root, path="$"):
    """Law: a value conforms to a schema; `root` holds the definitions."""
    assert set(schema) <= KNOWN, f"{path}: words that this checker does not know"
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    for each in schema.get("allOf", ()):
        check(value, each, root, path)
    for word, least, most in (("anyOf", 1, 99), ("oneOf", 1, 1)):
        if word in schema:
            faults = [fault(value, each, root, path) for each in schema[word]]
            assert least <= faults.count(None) <= most, f"{path}: {word}: {faults}"
    _check_kind(value, schema, path)
    if isinstance(value, dict):
        _check_object(value, schema, root, path)
    elif isinstance(value, list):
        _check_list(value, schema, root, path)


def _check_kind(value, schema, path):
    assert value in schema.get("enum", [value]), f"{path}: {value!r}"
    assert value == schema.get("const", value), f"{path}: {value!r}"
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(TYPES[each](value) for each in types), f"{path}: {value!r} is no {types}"
    if isinstance(value, str):
        pattern = schema.get("pattern", "")
        assert re.search(pattern, value), f"{path}: {value!r} does not fit {pattern}"
        assert len(value) >= schema.get("minLength", 0), f"{path}: {value!r}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), path


def fault(value, schema, root, path="$"):
    """The fault of a value, None if there is none."""
    try:
        check(value, schema, root, path)
    except AssertionError as error:
        return str(error) or path
    return None


def _check_object(value, schema, root, path):
    properties = schema.get("properties", {})
    assert set(schema.get("required", ())) <= set(value), f"{path}: {sorted(value)}"
    more = schema.get("additionalProperties", True)
    unknown = sorted(set(value) - set(properties))
    assert more is not False or not unknown, f"{path}: {unknown}"
    for name, each in value.items():
        if name in properties:
            check(each, properties[name], root, f"{path}.{name}")
        elif isinstance(more, dict):
            check(each, more, root, f"{path}.{name}")
        if "propertyNames" in schema:
            check(name, schema["propertyNames"], root, f"{path}.{name}")


def _check_list(value, schema, root, path):
    first = schema.get("prefixItems", [])
    assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), path
    for index, each in enumerate(value):
        form = first[index] if index < len(first) else schema.get("items", {})
        check(each, form, root, f"{path}[{index}]")
