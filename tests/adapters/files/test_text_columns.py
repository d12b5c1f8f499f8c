"""Rows of canonical JSON from columns: the same text as that of each value alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import text_columns
from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells, text_table
from rackwise.core.json.canonical import canonical_json
from rackwise.core.model import UNKNOWN, Ragged

NUMBERS = st.integers(-(2**63), 2**63 - 1)
IDS = st.lists(st.integers(0, 2**31 - 1), max_size=5)


def lines(*parts, rows):
    return joined_rows([*parts, b"\n"], rows).decode().split("\n")[:-1]


@given(st.lists(NUMBERS | st.sampled_from([0, 9, 10, UNKNOWN, -(2**63)]), min_size=1))
def test_numbers_are_decimal_and_what_is_unknown_is_null(numbers):
    cells = number_cells(np.array(numbers, dtype=np.int64))
    assert lines(cells, rows=len(numbers)) == [
        "null" if number == UNKNOWN else str(number) for number in numbers
    ]


@given(st.lists(IDS, min_size=1))
def test_lists_have_no_spaces(lists):
    cells = list_cells(Ragged.of(lists))
    assert lines(cells, rows=len(lists)) == [canonical_json(one) for one in lists]


def test_texts_may_have_any_width():
    cells = text_table(['"ü"', b"null", ""])[np.array([1, 0, 2, 0])]
    assert lines(b"{", cells, b"}", rows=4) == ["{null}", '{"ü"}', "{}", '{"ü"}']


def test_no_row_is_no_text():
    assert joined_rows([b"{", number_cells(np.zeros(0, dtype=np.int64)), b"}"], 0) == b""


@pytest.mark.parametrize("size", [1, 20, 64])
def test_rows_are_whole_across_blocks(monkeypatch, size):
    monkeypatch.setattr(text_columns, "_BLOCK_BYTES", size)
    numbers = np.arange(23)
    assert lines(b"<", number_cells(numbers), b">", rows=23) == [f"<{n}>" for n in range(23)]
