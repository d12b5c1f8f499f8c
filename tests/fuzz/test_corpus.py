"""Inputs that once broke a reader are read or rejected; so are a few new ones in every run."""

from __future__ import annotations

import pytest
from hypothesis import given

from fuzz.broken_inputs import broken, examples, found
from fuzz.run import check, find
from hostile_readers import READERS
from rackwise.core.errors import InputError

REJECTING = {"JKS store"}
"""Readers of entries and keys that are hostile, whatever they are given."""


@pytest.mark.parametrize("name", sorted(READERS.keys() - REJECTING))
def test_every_reader_reads_its_examples(name):
    for data in examples()[name]:
        READERS[name](data)


@pytest.mark.parametrize("name", READERS)
def test_what_was_found_once_is_read_or_rejected(name):
    for data in found(name):
        check(name, data)


@pytest.mark.parametrize("name", READERS)
def test_broken_inputs_are_read_or_rejected(name):
    given(broken(name))(lambda data: check(name, data))()


def test_a_reader_that_breaks_is_found_and_its_input_minimised(monkeypatch):
    def breaking(data):
        if b"\0" in data:
            raise IndexError("a fault of ours")
        raise InputError("rejected")

    monkeypatch.setitem(READERS, "rack", breaking)
    _, (data, error) = find("rack", seconds=60, first_seed=1)
    assert isinstance(error, IndexError)
    assert b"\0" in data
    assert len(data) <= 2 * len(b"use1-az1")
