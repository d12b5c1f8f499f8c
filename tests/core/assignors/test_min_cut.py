"""The least cut of a network, against all of its cuts."""

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.assignors.min_cut import min_cut

NODES = 5
ARCS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=12)


def all_cuts(arcs):
    """(value, the source's side) of each cut of node 0 from node 1."""
    for size in range(NODES - 1):
        for others in combinations(range(2, NODES), size):
            side = frozenset({0, *others})
            yield sum(room for a, b, room in arcs if a in side and b not in side), side


@given(ARCS)
def test_it_is_the_smallest_of_the_least(arcs):
    least = min(value for value, _ in all_cuts(arcs))
    smallest = frozenset.intersection(*(side for value, side in all_cuts(arcs) if value == least))
    assert min_cut(NODES, arcs, 0, 1) == (least, smallest)


def test_the_drawn_network():
    source, sink, x, y = range(4)
    arcs = [(source, x, 5), (source, y, 7), (x, sink, 9), (y, sink, 2)]
    assert min_cut(4, arcs, source, sink) == (7, {source, y})


def test_a_path_that_has_to_be_taken_back_whichever_arc_is_tried_first():
    source, sink, a, b, c, d = range(6)
    ends = [(b, c, 1), (c, sink, 1), (d, sink, 1)]
    for first in permutations([(source, a, 1), (source, b, 1), (a, c, 1), (a, d, 1)]):
        assert min_cut(6, [*first, *ends], source, sink) == (2, {source})
