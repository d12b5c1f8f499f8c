"""Placements and requests as values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise import Placement
from rackwise.core.errors import InvalidAssignment
from rackwise.core.placement import Load

ROWS = st.integers(0, 50).flatmap(
    lambda first: st.lists(
        st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), min_size=1, max_size=6
    ).map(lambda rows: dict(enumerate(rows, start=first)))
)


class TestPlacement:
    @given(ROWS)
    def test_of_rows_gives_them_back(self, rows):
        placement = Placement.of(rows)
        assert placement.as_dict() == rows
        assert {partition: list(placement[partition]) for partition in placement} == rows
        assert placement.lengths.tolist() == [len(row) for row in rows.values()]
        assert placement.leaders.tolist() == [row[0] for row in rows.values()]
        assert (len(placement), placement.first) == (len(rows), min(rows))

    def test_rows_may_come_in_any_order_and_short_ones_are_padded(self):
        placement = Placement.of({4: [1], 3: [2, 5]})
        assert placement.rows.tolist() == [[2, 5], [1, -1]]
        assert placement.rows.dtype == np.int32
        assert placement.first == 3

    def test_a_gap_between_partitions_is_refused(self):
        with pytest.raises(InvalidAssignment) as caught:
            Placement.of({0: [1], 1: [1], 3: [1]})
        assert str(caught.value) == "invalid rows: expected partition 2, got 3"

    def test_no_rows_are_an_empty_placement(self):
        placement = Placement.of({})
        assert (len(placement), placement.first, placement.as_dict()) == (0, 0, {})

    def test_rows_are_read_only_and_the_givers_array_is_not(self):
        given_rows = np.array([[1, 2]], dtype=np.int32)
        placement = Placement(rows=given_rows)
        with pytest.raises(ValueError, match="read-only"):
            placement.rows[0, 0] = 5
        given_rows[0, 0] = 5

    def test_rows_of_one_dimension_are_refused(self):
        with pytest.raises(InvalidAssignment) as caught:
            Placement(rows=np.array([1, 2]))
        assert str(caught.value) == "invalid rows: expected 2 dimensions, got 1"

    @pytest.mark.parametrize("partition", [4, 7, -1])
    def test_a_partition_outside_is_a_key_error(self, partition):
        placement = Placement(rows=np.array([[1], [2]]), first=5)
        assert placement[6] == (2,)
        with pytest.raises(KeyError):
            placement[partition]

    def test_numbers_are_pythons_own(self):
        placement = Placement(rows=np.array([[1, 2], [3, 4]]))
        assert type(placement[0][0]) is int
        assert {type(id_) for row in placement.as_dict().values() for id_ in row} == {int}

    def test_equality_is_by_rows_and_first(self):
        one = Placement(rows=np.array([[1, 2]]))
        assert one == Placement.of({0: [1, 2]})
        assert one != Placement.of({1: [1, 2]})
        assert one != Placement.of({0: [2, 1]})
        assert one != "1:2"


def test_a_load_is_nothing_where_nothing_is_said():
    assert dict(Load().replicas) == dict(Load().leaders) == {}
