"""Cheapest flows by ortools, and the networks that are rejected."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import MissingDependency, NoFlow, OptimumTooLarge
from rackwise.core.solver import COST_LIMIT, Network, cheapest_flow, check_size, require_solver


def network(*arcs, supplies):
    """Arcs are (tail, head, capacity, cost)."""
    tails, heads, capacities, costs = np.array(arcs, dtype=np.int64).reshape(-1, 4).T
    return Network(
        tails=tails,
        heads=heads,
        capacities=capacities,
        costs=costs,
        supplies=np.array(supplies, dtype=np.int64),
    )


def test_example_of_the_module_docstring():
    drawn = network((0, 1, 2, 1), (1, 2, 2, 1), (0, 2, 9, 5), supplies=[3, 0, -3])
    flow = cheapest_flow(drawn)
    assert flow.tolist() == [2, 2, 1]
    assert flow.dtype == np.int64


def test_negative_cost_is_a_gain():
    assert cheapest_flow(network((0, 1, 1, -5), (0, 1, 5, 2), supplies=[2, -2])).tolist() == [1, 1]


def test_no_supplies():
    assert cheapest_flow(network(supplies=[0])).tolist() == []
    assert cheapest_flow(network((0, 1, 1, 1), supplies=[0, 0])).tolist() == [0]


@pytest.mark.parametrize("supplies", [[3, 0, -3], [1, 0, -2], [0, 1, -1]])
def test_impossible_demands_are_rejected(supplies):
    with pytest.raises(NoFlow, match=r"the arcs cannot carry \d units?"):
        cheapest_flow(network((0, 2, 2, 1), supplies=supplies))


def test_costs_are_rejected_before_they_overflow():
    largest = (COST_LIMIT - 1) // 2
    assert cheapest_flow(network((0, 1, 1, largest // 2**8), supplies=[1, -1])).tolist() == [1]
    for cost in (largest + 1, -largest - 1):
        with pytest.raises(OptimumTooLarge, match=r"a sum below 2\^62") as caught:
            cheapest_flow(network((0, 1, 1, cost), supplies=[1, -1]))
        assert caught.value.hint == "use level_costs or coarser weights"


def test_costs_that_the_solver_rejects_are_reported():
    with pytest.raises(OptimumTooLarge):
        cheapest_flow(network((0, 1, 1, COST_LIMIT // 2 - 1), supplies=[1, -1]))


def test_error_gives_the_size_as_a_power_of_two():
    check_size(COST_LIMIT - 1)
    with pytest.raises(OptimumTooLarge, match=r"got up to 2\^63"):
        check_size(COST_LIMIT)


def test_missing_solver_names_its_package(monkeypatch):
    require_solver()
    monkeypatch.setitem(sys.modules, "ortools.graph.python", None)
    with pytest.raises(MissingDependency, match="ortools is not installed") as caught:
        require_solver()
    assert caught.value.hint == "pip install rackwise"


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(-3, 9)
        ).filter(lambda arc: arc[0] < arc[1]),
        max_size=6,
    ),
    st.integers(0, 4),
)
def test_flow_is_valid_and_cheapest(arcs, units):
    asked = network(*arcs, supplies=[units, 0, 0, -units])
    costs = {}
    flows = [[]]
    for _, _, capacity, _ in arcs:
        flows = [[*flow, more] for flow in flows for more in range(capacity + 1)]
    for flow in flows:
        balance = [0, 0, 0, 0]
        for (tail, head, _, _), carried in zip(arcs, flow, strict=True):
            balance[tail] += carried
            balance[head] -= carried
        if balance == [units, 0, 0, -units]:
            costs[tuple(flow)] = sum(
                arc[3] * carried for arc, carried in zip(arcs, flow, strict=True)
            )
    if costs:
        assert costs[tuple(cheapest_flow(asked).tolist())] == min(costs.values())
    else:
        with pytest.raises(NoFlow):
            cheapest_flow(asked)
