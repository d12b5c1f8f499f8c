"""The text of a plan's moves, written from columns: that of each move alone, in aligned columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.cli.plan.move_text import _size_codes, moves_text
from rackwise.cli.tables import aligned_lines, arrow_column, size_text
from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import MoveColumns, columns_of
from rackwise.core.text import escaped

LARGEST = 2**63 - 1
UNITS = [2 ** (10 * power) for power in range(6)]
EDGES = [
    size
    for unit in UNITS
    for tenths in (1, 10, 11, 19, 20, 10239, 10240)
    for edge in (unit * tenths // 10, unit * (2 * tenths + 1) // 20)
    for size in (max(edge - 1, 0), edge, edge + 1)
]
SIZES = (
    st.sampled_from([0, 1, *EDGES, LARGEST])
    | st.integers(0, 2**53)
    | st.integers(0, LARGEST)
    | st.none()
)
LISTS = st.lists(st.integers(0, 300), min_size=1, max_size=4, unique=True).map(tuple)
NAMES = st.sampled_from(["a", "orders", "\u202e", "z\u00fcge", "\U0001f680", "a\0b"])
MOVES = st.builds(
    Move,
    topic=NAMES,
    partition=st.integers(0, 2**31 - 1) | st.integers(0, 9),
    topic_id=st.none(),
    before=LISTS,
    after=LISTS,
    bytes=SIZES,
    cross_bytes=SIZES,
    reasons=st.lists(NAMES, max_size=2).map(tuple),
)


def copied_text(move):
    added = len(move.added)
    if not added:
        return "nothing to copy"
    if move.bytes is None:
        return "size unknown"
    text = size_text(move.bytes * added)
    return text if move.cross_bytes is None else f"{text}, {size_text(move.cross_bytes)} cross"


def plain_text(moves, mark):
    """One Python text for each cell."""
    lists = arrow_column(
        [tuple(",".join(map(str, ids)) for ids in (move.before, move.after)) for move in moves]
    )
    rows = [
        (
            f"{escaped(move.topic)}-{move.partition}",
            arrow,
            " ".join(map(escaped, move.reasons)) or "-",
            copied_text(move),
        )
        for move, arrow in zip(moves, lists, strict=True)
    ]
    return "".join(f"{line}\n" for line in aligned_lines(rows, mark=mark))


@given(st.lists(MOVES, min_size=1, max_size=8), st.booleans())
def test_it_is_the_text_of_each_move(moves, has_color):
    mark = "\x1b[33m~\x1b[0m " if has_color else "~ "
    assert moves_text(moves, has_color=has_color) == plain_text(moves, mark)


def test_no_moves_have_no_text():
    assert moves_text((), has_color=True) == ""


def test_no_move_becomes_an_object(monkeypatch):
    move = Move(topic="a", partition=0, topic_id=None, before=(1,), after=(2,), bytes=1)
    columns = columns_of([replace(move, partition=number) for number in range(9)])
    monkeypatch.setattr(MoveColumns, "moves", property(lambda _: pytest.fail("an object")))
    assert moves_text(columns, has_color=False).count("\n") == 9


@given(st.lists(st.sampled_from(EDGES) | st.integers(0, 2**53), min_size=1))
def test_sizes_of_one_number_have_one_text(sizes):
    codes = _size_codes(np.array(sizes, dtype=np.float64)).tolist()
    texts = {}
    for size, code in zip(sizes, codes, strict=True):
        assert texts.setdefault(code, size_text(size)) == size_text(size)


def test_numbers_are_few():
    sizes = np.arange(2**30, 2**31, 4099)
    assert len({*_size_codes(sizes.astype(np.float64)).tolist()}) < 50
