"""Documents in pieces: the text is that of `json.dumps`, and no long list is whole in memory."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.json.pieces import BLOCK, FEW, json_pieces
from rackwise.core.text import escaped_json

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)


def whole(value):
    return escaped_json(json.dumps(value, ensure_ascii=False, sort_keys=True))


@given(VALUES)
def test_the_pieces_are_the_text_of_json(value):
    assert "".join(json_pieces(value)) == whole(value)


@pytest.mark.parametrize("size", [0, 1, FEW, FEW + 1, BLOCK, BLOCK + 1])
def test_an_iterator_is_an_array_wherever_it_is(size):
    rows = [{"name": f"\u2028{number}", "at": number} for number in range(size)]
    for wrap in (lambda it: it, lambda it: {"b": it, "a": [1]}, lambda it: [{"runs": [it]}, 2]):
        assert "".join(json_pieces(wrap(iter(rows)))) == whole(wrap(rows))


def test_many_members_are_encoded_at_once():
    rows = {str(number): [number] for number in range(FEW + 1)}
    assert [*json_pieces(rows)] == [whole(rows)]


def test_values_are_taken_in_blocks():
    taken = []

    def rows():
        for number in range(3 * BLOCK):
            taken.append(number)
            yield number

    pieces = json_pieces(rows())
    assert next(pieces) == "["
    next(pieces)
    assert len(taken) == BLOCK


def test_not_a_number_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(json_pieces({"a": float("nan")}))
