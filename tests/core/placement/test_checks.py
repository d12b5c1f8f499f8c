"""What a stranger's placer may not return."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from placements import racked
from rackwise import place
from rackwise.core.errors import InvalidPlacer, PartialRacks

BROKERS = racked("a", "b", "c")


@dataclass
class Stranger:
    rows: Any
    name: str = "x"

    def place(self, _request, /):
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


def int32(*rows):
    return np.array(rows, dtype=np.int32)


def test_rows_that_a_topic_can_have_are_taken():
    made = place(BROKERS, 2, 2, placer=Stranger(int32((2, 0), (1, 2))), first_partition=7)
    assert made.as_dict() == {7: [2, 0], 8: [1, 2]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((2, 2)), 'invalid rows of placer "x": expected int32 [2, 2], got float64 [2, 2]'),
        (int32((0, 1)), 'invalid rows of placer "x": expected int32 [2, 2], got int32 [1, 2]'),
        (int32(0, 1), 'invalid rows of placer "x": expected int32 [2, 2], got int32 [2]'),
        ([[0, 1], [1, 2]], 'invalid rows of placer "x": expected int32 [2, 2], got list'),
        (None, 'invalid rows of placer "x": expected int32 [2, 2], got NoneType'),
        (
            int32((0, 1), (1, 3)),
            'placer "x" put partition 8 on broker 3, which is not in the request',
        ),
        (
            int32((0, 1), (-1, 2)),
            'placer "x" put partition 8 on broker -1, which is not in the request',
        ),
        (int32((0, 1), (2, 2)), 'placer "x" put partition 8 twice on one broker: 2:2'),
        (KeyError("rack"), "placer \"x\" raised KeyError: 'rack'"),
    ],
)
def test_rows_that_no_topic_can_have_are_refused(rows, message):
    with pytest.raises(InvalidPlacer) as caught:
        place(BROKERS, 2, 2, placer=Stranger(rows), first_partition=7)
    assert str(caught.value) == message


def test_repeats_are_found_between_any_two_columns():
    rows = int32((2, 1, 0), (0, 1, 0))
    with pytest.raises(InvalidPlacer, match="partition 1 twice on one broker: 0:1:0"):
        place(BROKERS, 2, 3, placer=Stranger(rows))


def test_what_raised_in_a_stranger_is_the_cause():
    failure = ZeroDivisionError("by zero")
    with pytest.raises(InvalidPlacer) as caught:
        place(BROKERS, 1, 1, placer=Stranger(failure))
    assert caught.value.__cause__ is failure


def test_a_strangers_own_refusal_passes():
    with pytest.raises(PartialRacks, match="expected racks"):
        place(BROKERS, 1, 1, placer=Stranger(PartialRacks("expected racks, got none are there")))


@pytest.mark.parametrize("placer", ["kip36", Stranger, object()])
def test_what_is_no_placer_is_refused(placer):
    with pytest.raises(InvalidPlacer) as caught:
        place(BROKERS, 1, 1, placer=placer)
    assert "expected an object with a name and a method place" in str(caught.value)
    assert "Kip36(start=0)" in caught.value.hint
