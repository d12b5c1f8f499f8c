"""Arrow columns as numpy arrays and back, with nulls, slices and every width."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.pipeline.columns.arrays import (
    TextColumn,
    binary_values,
    cut_texts,
    filled,
    flags,
    is_valid,
    keep_freed_memory,
    longs,
    nullable,
    one_value,
)
from rackwise.pipeline.schemas import LONGEST_TEXT

CELLS = st.lists(st.none() | st.integers(-3, 3), max_size=40)
FLAGS = st.lists(st.none() | st.booleans(), max_size=40)
WIDTHS = st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint16()])


@given(CELLS, st.integers(0, 9), WIDTHS)
def test_integers_are_those_of_a_list(cells, skipped, kind):
    cells = [cell and abs(cell) for cell in cells] if kind == pa.uint16() else cells
    column = pa.array([*[None] * skipped, *cells], kind).slice(skipped)
    assert is_valid(column).tolist() == [cell is not None for cell in cells]
    assert filled(column, 7).tolist() == [7 if cell is None else cell for cell in cells]
    assert longs(column).tolist() == [-1 if cell is None else max(cell, -1) for cell in cells]
    assert filled(column, 7).dtype == longs(column).dtype == np.int64


@given(FLAGS, st.integers(0, 9))
def test_booleans_are_those_of_a_list(cells, skipped):
    column = pa.array([*[True] * skipped, *cells], pa.bool_()).slice(skipped)
    assert flags(column).tolist() == [bool(cell) for cell in cells]


@given(st.lists(st.tuples(st.integers(-1, 2), st.booleans()), max_size=40))
def test_nulls_are_where_a_value_is_not_known(rows):
    values = np.array([value for value, _ in rows], dtype=np.int64)
    is_known = np.array([known for _, known in rows], dtype=np.bool_)
    for numbers in (values, values.astype(np.int32), np.repeat(values, 2)[::2]):
        found = nullable(numbers, is_known)
        assert found.to_pylist() == [value if known else None for value, known in rows]
        assert nullable(numbers).to_pylist() == [v if v >= 0 else None for v, _ in rows]
    of_flags = nullable(values > 0, is_known)
    assert of_flags.to_pylist() == [value > 0 if known else None for value, known in rows]
    of_flags.validate(full=True)


@given(
    st.lists(st.none() | st.sampled_from("abcdefg-"), max_size=40),
    st.sets(st.sampled_from("abcdefg")),
)
def test_texts_are_found_by_their_codes(cells, searched):
    cells_of = [None if cell == "-" else cell for cell in cells]
    for column in (pa.array(cells, pa.string()), pa.array(cells, pa.string()).dictionary_encode()):
        texts = TextColumn.of(column, missing="-")
        assert texts.is_any(*searched).tolist() == [cell in searched for cell in cells_of]
        assert texts.coded().to_pylist() == cells_of
        numbers = texts.numbers({"a": 4, "b": 9}, unknown=-2).tolist()
        assert numbers == [{"a": 4, "b": 9}.get(cell, -2) for cell in cells_of]


@pytest.mark.parametrize("is_coded", [False, True])
def test_long_texts_that_are_not_utf8_are_cut(is_coded):
    column = pa.array([b"\xff" * (LONGEST_TEXT + 1), b"a", None]).cast(pa.string(), safe=False)
    cut = cut_texts(column.dictionary_encode() if is_coded else column)
    assert cut.to_pylist() == ["\ufffd" * LONGEST_TEXT, "a", None]


@given(st.lists(st.none() | st.binary(max_size=5), max_size=6), st.integers(0, 6))
def test_binary_values_are_read_back(values, skipped):
    column = pa.chunked_array([one_value(value) for value in values], pa.binary())
    part = column.combine_chunks().slice(skipped)
    assert part.to_pylist() == values[skipped:]
    found = [None if value is None else value.to_pybytes() for value in binary_values(part)]
    assert found == values[skipped:]


def test_large_binary_values_are_read_too():
    column = pa.array([b"abc", None, b"defg"], pa.large_binary())
    found = [None if value is None else value.to_pybytes() for value in binary_values(column)]
    assert found == [b"abc", None, b"defg"]


def test_a_binary_value_is_not_copied():
    value = b"x" * 100
    (found,) = binary_values(one_value(value))
    assert found.address == pa.py_buffer(value).address


PAGES = """
import resource
from rackwise.adapters.memory import return_memory
from rackwise.pipeline.columns.arrays import keep_freed_memory
return_memory()
{first}
block = b"x" * 8_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    del block
    block = b"x" * 8_000_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""Prints how many new pages some blocks took, each of which follows a freed one of its size."""


def new_pages(first):
    command = [sys.executable, "-c", PAGES.format(first=first)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def test_the_next_batch_gets_the_memory_of_the_last_one():
    """Also after `analyze` has told the C library to return freed memory; glibc alone keeps it."""
    is_kept = new_pages("keep_freed_memory()") * 10 < new_pages("")
    assert is_kept == hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


def test_other_c_libraries_have_no_such_call(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    keep_freed_memory()
