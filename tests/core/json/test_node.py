"""The root of a document: its format and version decide whether anything else is read."""

from __future__ import annotations

import json

import pytest

from rackwise.core.errors import InvalidPlan
from rackwise.core.json.node import document

MISTAKEN = "is it the right file for this option?"


def read(value):
    return document(json.dumps(value).encode(), where="f", error=InvalidPlan, format="rackwise.x/2")


def refused(value):
    with pytest.raises(InvalidPlan) as raised:
        read(value)
    return raised.value


def test_a_document_of_the_format_is_read():
    value = {"format": "rackwise.x/2", "moves": [1]}
    root = read(value)
    assert root.value == value
    assert (root.path, root.at("moves").at(0).path) == ("$", "$.moves[0]")


@pytest.mark.parametrize("version", ["3", "10"])
def test_a_newer_version_asks_to_upgrade(version):
    error = refused({"format": f"rackwise.x/{version}"})
    assert error.message == f"invalid f at $.format: expected format 2, got {version}"
    assert (error.wanted, error.had, error.where) == ("2", version, "$.format")
    assert error.hint == "upgrade Rackwise, a newer one wrote this file"


def test_an_older_version_asks_to_write_the_file_again():
    error = refused({"format": "rackwise.x/1"})
    assert error.message == "invalid f at $.format: expected format 2, got 1"
    assert error.hint == "write the file again with this Rackwise"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"format": "rackwise.y/2"}, '"rackwise.y/2"'),
        ({"format": "rackwise.y/3"}, '"rackwise.y/3"'),
        ({"format": "rackwise.x/two"}, '"rackwise.x/two"'),
        ({"format": "rackwise.x/1234567890"}, '"rackwise.x/1234567890"'),
        ({"format": "rackwise.x"}, '"rackwise.x"'),
        ({"format": "a\x1bb"}, r'"a\x1bb"'),
        ({"format": 2}, "none"),
        ({}, "none"),
        ([], "none"),
    ],
)
def test_another_format_asks_whether_it_is_the_right_file(value, shown):
    error = refused(value)
    assert error.message == f"invalid f at $.format: expected format rackwise.x/2, got {shown}"
    assert error.hint == MISTAKEN
