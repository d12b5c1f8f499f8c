import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.model import Ragged

LISTS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4))
SHORT = st.lists(st.integers(0, 2), max_size=3)


class TestRagged:
    @given(LISTS)
    def test_rows_round_trip(self, lists):
        ragged = Ragged.of(lists)
        assert len(ragged) == len(lists)
        assert [ragged.row(i) for i in range(len(ragged))] == [tuple(row) for row in lists]
        assert ragged.lengths.tolist() == [len(row) for row in lists]
        assert ragged.rows.tolist() == [i for i, row in enumerate(lists) for _ in row]

    @given(LISTS)
    def test_the_first_value_of_each_row(self, lists):
        firsts = Ragged.of(lists).firsts
        assert firsts.tolist() == [row[0] if row else -1 for row in lists]

    @given(LISTS)
    def test_keeps_values(self, lists):
        ragged = Ragged.of(lists)
        kept = ragged.keep(ragged.values % 2 == 0)
        assert kept == Ragged.of([[v for v in row if v % 2 == 0] for row in lists])

    @given(LISTS, st.data())
    def test_takes_rows_in_any_order(self, lists, data):
        places = st.integers(0, len(lists) - 1) if lists else st.nothing()
        order = data.draw(st.lists(places))
        taken = Ragged.of(lists).take(Ragged.of([order]).values.astype("int64"))
        assert taken == Ragged.of([lists[i] for i in order])

    @given(st.lists(st.tuples(SHORT, SHORT), max_size=5))
    def test_equal_rows_and_values_in(self, pairs):
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        ours, others = Ragged.of(left), Ragged.of(right)
        assert ours.equal_rows(others).tolist() == [a == b for a, b in pairs]
        assert ours.values_in(others).tolist() == [value in b for a, b in pairs for value in a]

    @given(st.lists(SHORT, min_size=1), st.data())
    def test_rows_that_have_a_value(self, lists, data):
        wanted = data.draw(st.lists(st.tuples(st.integers(0, len(lists) - 1), st.integers(0, 2))))
        rows, values = np.array(wanted, dtype=np.int64).reshape(-1, 2).T
        found = Ragged.of(lists).has(rows, values).tolist()
        assert found == [value in lists[row] for row, value in wanted]

    def test_values_in_empty_rows(self):
        values = Ragged.of([[-1, 0], [2]])
        assert values.values_in(Ragged.empty(2)).tolist() == [False, False, False]
        assert values.values_in(Ragged.of([[], [2, -1]])).tolist() == [False, False, True]

    def test_empty(self):
        assert Ragged.empty(2) == Ragged.of([[], []])

    def test_equality(self):
        assert Ragged.of([[1], [2]]) != Ragged.of([[1, 2], []])
        assert Ragged.of([[1]]) != Ragged.of([[2]])
        assert Ragged.of([[1]]) != [[1]]
        with pytest.raises(TypeError, match="unhashable"):
            hash(Ragged.of([]))


def test_neighbouring_rows_are_rows_of_their_own():
    rows = Ragged.of([[1, 2], [], [3], [4, 5]])
    assert rows.part(slice(1, 3)) == Ragged.of([[], [3]])
    assert rows.part(slice(3, 9)) == Ragged.of([[4, 5]])
    assert len(rows.part(slice(0, 0))) == 0
