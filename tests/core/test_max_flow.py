"""Maximum flows and minimum cuts, against all cuts of small networks."""

from __future__ import annotations

import random
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.max_flow import FlowNetwork, min_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.max_flow import Arc

NODES = 5
ARCS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=12)


def test_flow_equals_cut() -> None:
    network = FlowNetwork(4)
    arcs = [(0, 1, 3), (0, 2, 2), (1, 2, 5), (1, 3, 2), (2, 3, 3)]
    numbers = [network.add_arc(*arc) for arc in arcs]
    assert network.push(0, 3) == 5
    assert network.residuals[numbers[0] + 1] == 3
    assert network.push(0, 3) == 0


def test_arcs_added_later_increase_the_flow() -> None:
    network = FlowNetwork(2)
    middle = network.add_node()
    first = network.add_arc(0, middle, 1)
    network.add_arc(middle, 1, 4)
    assert network.push(0, 1) == 1
    network.reset(first, 2)
    assert network.push(0, 1) == 2


def test_reached_nodes_are_one_side_of_a_cut() -> None:
    network = FlowNetwork(4)
    network.add_arc(0, 1, 9)
    network.add_arc(1, 2, 1)
    network.add_arc(2, 3, 9)
    network.push(0, 3)
    assert network.reached([0]) == [True, True, False, False]
    assert network.reached([2]) == [True, True, True, True]


def test_random_networks_match_the_smallest_cut() -> None:
    draw = random.Random(7)
    for _ in range(60):
        nodes = draw.randint(2, 6)
        arcs = [
            (draw.randrange(nodes), draw.randrange(nodes), draw.randint(0, 4)) for _ in range(9)
        ]
        network = FlowNetwork(nodes)
        for arc in arcs:
            network.add_arc(*arc)
        cuts = [
            sum(c for a, b, c in arcs if side >> a & 1 and not side >> b & 1)
            for side in range(1 << nodes)
            if side & 1 and not side >> (nodes - 1) & 1
        ]
        assert network.push(0, nodes - 1) == min(cuts)


def all_cuts(arcs: list[Arc]) -> Iterator[tuple[int, frozenset[int]]]:
    """(capacity, source side) of each cut that separates node 0 from node 1."""
    for size in range(NODES - 1):
        for others in combinations(range(2, NODES), size):
            side = frozenset({0, *others})
            yield sum(room for a, b, room in arcs if a in side and b not in side), side


@given(ARCS)
def test_cut_is_the_smallest_minimum_cut(arcs: list[Arc]) -> None:
    least = min(value for value, _ in all_cuts(arcs))
    smallest = frozenset.intersection(*(side for value, side in all_cuts(arcs) if value == least))
    assert min_cut(NODES, arcs, 0, 1) == (least, smallest)


def test_example_of_the_module_docstring() -> None:
    source, sink, x, y = range(4)
    arcs = [(source, x, 5), (source, y, 7), (x, sink, 9), (y, sink, 2)]
    assert min_cut(4, arcs, source, sink) == (7, frozenset({source, y}))


def test_flow_is_rerouted_in_any_arc_order() -> None:
    source, sink, a, b, c, d = range(6)
    ends = [(b, c, 1), (c, sink, 1), (d, sink, 1)]
    for first in permutations([(source, a, 1), (source, b, 1), (a, c, 1), (a, d, 1)]):
        assert min_cut(6, [*first, *ends], source, sink) == (2, frozenset({source}))
