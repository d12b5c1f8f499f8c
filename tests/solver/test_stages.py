"""Cheapest flows by several costs: merged where they fit, one after the other where they do not."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.planning.stages import Arcs, cheapest, fitting, merge, prices
from rackwise.core.solver import MOST

PAIRS = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (0, 2)]


def arcs_of(capacities: list[int]) -> Arcs:
    tails, heads = np.array(PAIRS, dtype=np.int64).T
    supplies = np.array([1, 2, 0, 0, 0, -3], dtype=np.int64)
    return Arcs(tails, heads, np.array(capacities, dtype=np.int64), supplies, 6)


def all_flows(arcs: Arcs) -> list[tuple[int, ...]]:
    found = []
    for flow in product(*(range(int(most) + 1) for most in arcs.capacities)):
        net = np.zeros(6, dtype=np.int64)
        np.add.at(net, arcs.tails, flow)
        np.subtract.at(net, arcs.heads, flow)
        if (net == arcs.supplies).all():
            found.append(flow)
    return found


def never() -> bool:
    return False


COSTS = st.lists(st.integers(-2, 3), min_size=len(PAIRS), max_size=len(PAIRS))


@given(st.tuples(COSTS, COSTS, COSTS), st.sampled_from(["narrow", "wide"]))
def test_first_things_first(costs: tuple[list[int], ...], numbers: str) -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    columns = [np.array(cost, dtype=np.int64) for cost in costs]
    if numbers == "wide":
        columns = [column * 2**52 + (column % 2) for column in columns]
    flow = cheapest(arcs, columns, should_stop=never)
    reached = tuple(int(column @ flow) for column in columns)
    assert reached == min(
        tuple(int(column @ np.array(one)) for column in columns) for one in all_flows(arcs)
    )


def test_lesser_costs_are_left_out_when_it_is_to_stop() -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    first = np.array([2**54, 2**54 + 1, 0, 0, 0, 0, 0, 0, 1], dtype=np.int64)
    second = np.array([0, 0, 2**54 + 1, 0, 2**54, 0, 0, 0, 0], dtype=np.int64)
    stopped = cheapest(arcs, [first, second], should_stop=lambda: True)
    best = cheapest(arcs, [first, second], should_stop=never)
    assert int(first @ stopped) == int(first @ best)
    assert int(second @ stopped) >= int(second @ best)


class TestMerging:
    def test_neighbours_that_fit_are_one(self) -> None:
        costs = [np.array([4, 0, 8]), np.array([0, 0, 0]), np.array([0, -3, 3])]
        assert len(merge(costs, 3, 9)) == 1

    def test_what_does_not_fit_stays_apart(self) -> None:
        costs = [np.array([1, 0, 1]), np.array([2**50, 2**50 + 1, 0]), np.array([0, 1, 0])]
        assert len(merge(costs, 3, 99)) == 2

    def test_nothing_to_choose_is_one_flow_at_no_cost(self) -> None:
        [zero] = merge([np.zeros(3, dtype=np.int64)] * 2, 3, 9)
        assert zero.tolist() == [0, 0, 0]

    def test_too_large_a_cost_is_rounded_up(self) -> None:
        found = fitting(np.array([2**60, 2**60 + 1, 1, 0, -(2**60)]), 99)
        assert found.tolist() == [2**55, 2**55 + 1, 1, 0, -(2**55)]
        assert int(np.abs(found).max()) * 100 < MOST


def test_closed_arcs_have_no_prices() -> None:
    arcs = arcs_of([1] * len(PAIRS))
    zero = np.zeros(len(PAIRS), dtype=np.int64)
    assert not prices(arcs, np.zeros(len(PAIRS), dtype=np.bool_), zero, zero).any()
