"""Moves as columns: a sequence of the same moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import (
    CodedValues,
    MoveColumns,
    columns_of,
    joined,
    lists_in,
    names_in,
    numbers_in,
)

MOVES = tuple(
    Move(
        topic=topic,
        partition=partition,
        topic_id=None if topic == "b" else "id",
        before=(1, 2),
        after=(1, 3, 4)[: 2 + partition],
        bytes=7,
        cross_bytes=None,
        usd_nano=0,
        reasons=("replica-balance",) * partition,
    )
    for topic in "ab"
    for partition in range(2)
)
COLUMNS = columns_of(MOVES)


def test_it_is_a_sequence_of_the_moves():
    assert len(COLUMNS) == 4
    assert list(COLUMNS) == list(MOVES)
    assert (COLUMNS[1], COLUMNS[-1], COLUMNS[1:3]) == (MOVES[1], MOVES[-1], MOVES[1:3])
    assert MOVES[2] in COLUMNS
    assert COLUMNS.moves is COLUMNS.moves
    assert repr(COLUMNS) == repr(MOVES)


def test_some_moves_in_another_order():
    assert COLUMNS.take(np.array([3, 0])) == (MOVES[3], MOVES[0])
    assert COLUMNS.take(np.array([], dtype=np.int64)) == ()


def test_moves_by_partition():
    others = [*MOVES[::-1], replace(MOVES[0], topic="B")]
    assert columns_of(others).by_partition() == (others[-1], *MOVES)
    assert columns_of(()).by_partition() == ()


def test_joined_moves():
    others = (replace(MOVES[3], partition=5, topic="c"), *MOVES[:2])
    assert joined(MOVES, others) == (*MOVES, *others)
    assert joined(COLUMNS, ()) == MOVES
    assert joined(MOVES, others).names["topic"].values == ("a", "b", "c")


def test_added_replicas_and_reasons():
    assert COLUMNS.added.tolist() == [len(move.added) for move in MOVES]
    reasons = [("b",), ("c", "a"), ("b",), ("a",)]
    moves = [replace(move, reasons=each) for move, each in zip(MOVES, reasons, strict=True)]
    assert [*columns_of(moves).reason_counts.items()] == [("b", 2), ("c", 1), ("a", 2)]
    assert columns_of(()).reason_counts == {}


def test_columns_of_columns_are_the_same():
    assert columns_of(COLUMNS) is COLUMNS
    assert lists_in(COLUMNS, "after") == lists_in(MOVES, "after")
    assert numbers_in(COLUMNS, "bytes").tolist() == numbers_in(MOVES, "bytes").tolist()
    assert names_in(COLUMNS, "topic").equals(names_in(MOVES, "topic"))


def test_equal_moves():
    assert columns_of(MOVES) == COLUMNS == MOVES
    assert MOVES == COLUMNS
    assert columns_of(()) == ()
    assert list(MOVES) != COLUMNS


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "c"},
        {"partition": 9},
        {"topic_id": "other"},
        {"before": (2, 1)},
        {"after": (1, 5)},
        {"bytes": None},
        {"cross_bytes": 1},
        {"usd_nano": None},
        {"reasons": ("leader-balance",)},
    ],
)
def test_one_other_value_makes_other_moves(change):
    others = (replace(MOVES[0], **change), *MOVES[1:])
    assert columns_of(others) != COLUMNS
    assert columns_of(others) != COLUMNS
    assert others != COLUMNS


def test_another_order_or_number_makes_other_moves():
    assert columns_of(MOVES[::-1]) != COLUMNS
    assert columns_of(MOVES[1:]) != COLUMNS


def test_a_value_may_have_several_codes():
    names = CodedValues((None, "id", None), np.array([1, 1, 0, 2]))
    assert (
        MoveColumns(COLUMNS.lists, COLUMNS.numbers, {**COLUMNS.names, "topic_id": names}) == MOVES
    )
    assert names.equals(COLUMNS.names["topic_id"])
    assert COLUMNS.names["topic_id"].equals(names)
