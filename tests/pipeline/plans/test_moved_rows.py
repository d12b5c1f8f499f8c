"""Moves as Arrow columns: the rows and the costs of the moves one by one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from rackwise.core.errors import InvalidPrices
from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import columns_of
from rackwise.pipeline.plans.moved_rows import moved_rows, moves_cost
from rackwise.pipeline.schemas import PLANNED, arrow_schema

ROWS = arrow_schema(PLANNED).field("moved").type.value_type
LISTS = st.lists(st.integers(0, 6), max_size=4, unique=True).map(tuple)
NUMBERS = st.none() | st.integers(0, 10**17)
MOVES = st.lists(
    st.builds(
        Move,
        topic=st.sampled_from(["orders", "\u00e9", "a"]),
        partition=st.integers(0, 9),
        topic_id=st.none() | st.just("id"),
        before=LISTS,
        after=LISTS,
        bytes=NUMBERS,
        cross_bytes=NUMBERS,
        usd_nano=NUMBERS,
        reasons=st.sampled_from([(), ("spread-even",), ("dead-replica", "spread-even")]),
    ),
    max_size=6,
)
"""Moves, some without a broker before or after."""


def row_of(move: Move) -> dict[str, object]:
    usd = None if move.usd_nano is None else Decimal(move.usd_nano).scaleb(-9)
    return {
        "topic": move.topic,
        "partition": move.partition,
        "before": list(move.before),
        "after": list(move.after),
        "is_leader_change": move.before[:1] != move.after[:1],
        "bytes": move.bytes,
        "cross_bytes": move.cross_bytes,
        "usd": usd,
        "reasons": list(move.reasons),
    }


@given(MOVES)
def test_each_move_is_a_row(moves: list[Move]) -> None:
    for some in (moves, columns_of(moves)):
        found = moved_rows(some, ROWS)
        found.validate(full=True)
        assert found.type == ROWS
        assert found.to_pylist() == [row_of(move) for move in moves]


@given(MOVES, st.integers(0, 3))
def test_the_cost_of_the_rows_is_that_of_the_moves(moves: list[Move], first: int) -> None:
    """Also of a part of them, as a row of a batch has it."""
    rows, some = moved_rows(moves, ROWS)[first:], moves[first:]
    assert moves_cost(rows, "moves") == sum(len(move.added) for move in some)
    assert moves_cost(rows, "bytes") == sum(len(move.added) * (move.bytes or 0) for move in some)
    assert moves_cost(rows, "usd") == sum(move.usd_nano or 0 for move in some)


def test_copies_for_a_billion_dollars_are_rejected() -> None:
    move = Move(
        topic="t", partition=0, topic_id=None, before=(1,), after=(2,), bytes=7, usd_nano=10**18
    )
    with pytest.raises(InvalidPrices, match="got more for 7 bytes"):
        moved_rows([move], ROWS)
