"""The first moves of a plan as text, in aligned columns, and how many there are more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.cli.plan.move_text import MOVES_SHOWN, moves_text
from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import MoveColumns, columns_of

MIB = 2**20
MOVE = Move(
    topic="orders", partition=4, topic_id=None, before=(1, 2, 4), after=(1, 3, 4), bytes=None
)


def moves(count):
    return tuple(replace(MOVE, partition=number) for number in range(count))


def test_a_move_is_a_line_and_its_columns_are_aligned():
    text = moves_text(
        (
            replace(MOVE, reasons=("spread-even",), bytes=3 * MIB, cross_bytes=MIB),
            replace(MOVE, topic="a", partition=11, before=(1,), after=(2, 3), bytes=MIB),
            replace(MOVE, after=(2, 1, 4), reasons=("leader-balance", "dead-replica")),
            replace(MOVE, topic="z\u202e", bytes=None),
        ),
        has_color=False,
    )
    assert text.splitlines() == [
        "~ orders-4   1,2,4 -> 1,3,4  spread-even                  3.00 MiB, 1.00 MiB cross",
        "~ a-11       1     -> 2,3    -                            2.00 MiB",
        "~ orders-4   1,2,4 -> 2,1,4  leader-balance dead-replica  nothing to copy",
        "~ z\\u202e-4  1,2,4 -> 1,3,4  -                            size unknown",
    ]
    assert text.endswith("\n")


def test_colour_is_in_the_mark_alone():
    line = moves_text((MOVE,), has_color=True)
    assert line == "\x1b[33m~\x1b[0m orders-4  1,2,4 -> 1,3,4  -  size unknown\n"


def test_no_moves_have_no_text():
    assert moves_text((), has_color=True) == ""


@pytest.mark.parametrize("count", [MOVES_SHOWN, MOVES_SHOWN + 1, 1000])
def test_twenty_moves_are_shown_and_the_others_are_counted(count):
    lines = moves_text(moves(count), has_color=False).splitlines()
    assert [line.split()[1] for line in lines[:MOVES_SHOWN]] == [f"orders-{n}" for n in range(20)]
    rest = f"and {count - 20} more of {count} moves; --json and the file of --out have all"
    assert lines[MOVES_SHOWN:] == [rest] * (count > MOVES_SHOWN)


def test_a_move_that_is_not_shown_becomes_no_object(monkeypatch):
    made = []
    all_of = MoveColumns.moves.fget
    counted = property(lambda columns: made.append(len(columns)) or all_of(columns))
    columns = columns_of(moves(1000))
    monkeypatch.setattr(MoveColumns, "moves", counted)
    assert moves_text(columns, has_color=False).count("\n") == MOVES_SHOWN + 1
    assert made == [MOVES_SHOWN]
