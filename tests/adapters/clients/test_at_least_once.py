"""The law of at-least-once delivery catches what it names."""

from __future__ import annotations

import pytest

from at_least_once import Ledger, Notes

T_0 = ("t", 0)


@pytest.fixture
def ledger():
    made = Ledger()
    made.given("a", [T_0])
    made.read("a", T_0, [(0, "x"), (1, "y")])
    made.committed("a", [(T_0, 1)])
    return made


def test_what_was_not_committed_may_be_read_again(ledger):
    ledger.given("b", [T_0])
    ledger.read("b", T_0, [(1, "y"), (3, "z")])
    assert (ledger.broken, ledger.twice()) == ([], 1)
    assert ledger.has_read("xyz")
    assert not ledger.has_read("xyzw")


def test_what_was_committed_may_not(ledger):
    ledger.given("b", [T_0])
    ledger.read("b", T_0, [(0, "x")])
    assert ledger.broken == ["b reads ('t', 0) 0, 1 is next"]


def test_nothing_may_be_read_twice_in_a_stay(ledger):
    ledger.read("a", T_0, [(1, "y")])
    assert ledger.broken == ["a reads ('t', 0) 1, 2 is next"]


def test_what_a_killed_member_wrote_down_counts(ledger, tmp_path):
    path = tmp_path / "notes"
    notes = Notes(path)
    notes.given("c", [T_0])
    notes.read("c", T_0, [(5, "z")])
    notes.committed("c", [(T_0, 6)])
    notes._file.write(b"('read', 'c', ")
    notes._file.close()
    ledger.absorb(path)
    assert ledger.has_read("xyz")
    ledger.given("b", [T_0])
    ledger.read("b", T_0, [(5, "z")])
    assert ledger.broken == ["b reads ('t', 0) 5, 6 is next"]
