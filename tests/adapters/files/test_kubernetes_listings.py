"""Listings of Kubernetes whose kinds are no texts."""

from __future__ import annotations

import json

import pytest

from rackwise.adapters.files.tables.kubernetes import parse_kubernetes
from rackwise.core.errors import InvalidAddresses


@pytest.mark.parametrize("kind", [[], {}, ["List"], 7, None])
def test_a_kind_that_is_no_text_is_no_list(kind):
    document = json.dumps({"kind": kind, "items": []}).encode()
    with pytest.raises(InvalidAddresses, match="expected a list of nodes and pods, got no kind"):
        parse_kubernetes(document, where="file")


@pytest.mark.parametrize("kind", [[], {}, ["Node"], 7, None])
def test_an_object_whose_kind_is_no_text_is_ignored_as_other_kinds_are(kind):
    node = {"kind": "Node", "metadata": {"name": "n1"}}
    document = json.dumps({"kind": "List", "items": [{"kind": kind}, node]}).encode()
    found = parse_kubernetes(document, where="file")
    assert [each.name for each in found.nodes] == ["n1"]
    assert not found.pods
