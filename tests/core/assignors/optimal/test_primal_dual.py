"""The flow that a second implementation repeats: cheapest, and the same for the same order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.assignors.optimal.primal_dual import primal_dual_flow
from rackwise.core.errors import NoFlow
from rackwise.core.solver import Network

S, A, B, T = range(4)


def network(*arcs, supplies):
    """Arcs are (tail, head, capacity, cost)."""
    columns = np.array(arcs, dtype=np.int64).reshape(-1, 4).T
    return Network(
        tails=columns[0],
        heads=columns[1],
        capacities=columns[2],
        costs=columns[3],
        supplies=np.array(supplies, dtype=np.int64),
    )


def test_the_example_of_the_essay():
    arcs = [(S, A, 2, 0), (A, T, 9, 0), (S, B, 9, 1), (B, T, 9, 0)]
    assert primal_dual_flow(network(*arcs, supplies=[3, 0, 0, -3])).tolist() == [2, 2, 1, 1]


def test_among_equal_arcs_the_first_is_filled_first():
    arcs = [(S, B, 2, 5), (S, A, 2, 5), (A, T, 9, 0), (B, T, 9, 0)]
    assert primal_dual_flow(network(*arcs, supplies=[3, 0, 0, -3])).tolist() == [2, 1, 1, 2]


def test_a_unit_that_was_sent_is_sent_another_way():
    """Node 0 fills the only arc of node 1; both fit if it takes the dearer one."""
    arcs = [(0, 2, 1, 0), (0, 3, 1, 1), (1, 2, 1, 0), (2, 4, 1, 0), (3, 4, 1, 0)]
    flow = primal_dual_flow(network(*arcs, supplies=[1, 1, 0, 0, -2]))
    assert flow.tolist() == [0, 1, 1, 1, 1]


def test_an_arc_that_leads_nowhere_is_left():
    """A can pass on one unit; the second one turns back."""
    arcs = [(S, A, 2, 0), (S, B, 2, 0), (A, T, 1, 0), (B, T, 2, 0)]
    assert primal_dual_flow(network(*arcs, supplies=[3, 0, 0, -3])).tolist() == [1, 2, 1, 2]


def test_nothing_to_carry():
    assert primal_dual_flow(network((S, A, 1, 1), supplies=[0, 0])).tolist() == [0]


def test_arcs_that_cannot_carry_the_supplies():
    with pytest.raises(NoFlow, match="the arcs cannot carry 3 units"):
        primal_dual_flow(network((0, 1, 2, 0), supplies=[3, -3]))


def brute_cost(arcs, left, sink):
    """The least cost of all flows, one unit after the other; None if there is none."""
    source = next((node for node, units in enumerate(left) if units > 0), None)
    if source is None:
        return 0
    costs = []
    for number, (tail, head, room, cost) in enumerate(arcs):
        if tail == source and room:
            fewer = [*arcs[:number], (tail, head, room - 1, cost), *arcs[number + 1 :]]
            moved = list(left)
            moved[source] -= 1
            moved[head] += head != sink
            rest = brute_cost(fewer, moved, sink)
            if rest is not None:
                costs.append(cost + rest)
    return min(costs, default=None)


LAYERS = ((0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 4), (1, 4))


@given(
    capacities=st.lists(st.integers(0, 2), min_size=len(LAYERS), max_size=len(LAYERS)),
    costs=st.lists(st.integers(0, 3), min_size=len(LAYERS), max_size=len(LAYERS)),
    supplies=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_the_cost_is_the_least_of_all_flows(capacities, costs, supplies):
    arcs = [(*ends, *told) for ends, *told in zip(LAYERS, capacities, costs, strict=True)]
    left = [*supplies, 0, 0, 0]
    wanted = brute_cost(arcs, left, 4)
    drawn = network(*arcs, supplies=[*supplies, 0, 0, -sum(supplies)])
    if wanted is None:
        with pytest.raises(NoFlow):
            primal_dual_flow(drawn)
    else:
        flow = primal_dual_flow(drawn)
        assert (flow >= 0).all()
        assert (flow <= drawn.capacities).all()
        assert int(flow @ drawn.costs) == wanted
