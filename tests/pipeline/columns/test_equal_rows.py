"""Rows with equal keys, compared with a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rackwise.pipeline.columns import equal_rows as module
from rackwise.pipeline.columns.equal_rows import equal_rows

LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 3)


def by_dictionary(rows):
    """The group of each row, and the first row of each group."""
    known: dict = {}
    groups = [known.setdefault(row, len(known)) for row in rows]
    return groups, [groups.index(group) for group in range(len(known))]


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[LONGS] * width))))
def test_groups_are_those_of_a_dictionary_in_order_of_first_rows(rows):
    width = len(rows[0]) if rows else 1
    keys = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(width)]
    groups, firsts = equal_rows(keys, len(rows))
    assert (groups.tolist(), firsts.tolist()) == by_dictionary(rows)


def test_rows_that_share_slots_are_told_apart(monkeypatch):
    """Many more keys than slots: each round leaves most rows open."""
    monkeypatch.setattr(module, "LARGEST", 8)
    keys = np.random.default_rng(5).integers(0, 300, 2_000)
    others = (keys % 3).astype(np.int8)
    groups, firsts = equal_rows([others, keys], len(keys))
    assert (groups.tolist(), firsts.tolist()) == by_dictionary(keys.tolist())


def test_without_keys_all_rows_are_equal():
    assert [found.tolist() for found in equal_rows([], 3)] == [[0, 0, 0], [0]]
    assert [found.tolist() for found in equal_rows([], 0)] == [[], []]
