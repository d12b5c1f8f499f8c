"""Cheapest flows by several costs, which are merged if they fit and else used in turn."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import OptimumTooLarge
from rackwise.core.planning.search.lexicographic_flow import (
    Arcs,
    cheapest,
    cheapest_face,
    merge,
    node_prices,
    rounded,
    settled_cost,
)
from rackwise.core.solver import COST_LIMIT, FlowStopped, Network, cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.search.lexicographic_flow import Cost, Solve

PAIRS = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (0, 2)]


def arcs_of(capacities: list[int]) -> Arcs:
    tails, heads = np.array(PAIRS, dtype=np.int64).T
    supplies = np.array([1, 2, 0, 0, 0, -3], dtype=np.int64)
    return Arcs(tails, heads, np.array(capacities, dtype=np.int64), supplies, 6, 0)


def all_flows(arcs: Arcs) -> list[tuple[int, ...]]:
    key = tuple(arcs.capacities.tolist())
    if key not in FLOWS:
        FLOWS[key] = _all_flows(arcs)
    return FLOWS[key]


FLOWS: dict[tuple[int, ...], list[tuple[int, ...]]] = {}


def _all_flows(arcs: Arcs) -> list[tuple[int, ...]]:
    found = []
    for flow in product(*(range(int(most) + 1) for most in arcs.capacities)):
        net = np.zeros(6, dtype=np.int64)
        np.add.at(net, arcs.tails, flow)
        np.subtract.at(net, arcs.heads, flow)
        if (net == arcs.supplies).all():
            found.append(flow)
    return found


def made(costs: Sequence[NDArray[np.int64]]) -> list[Cost]:
    return [lambda cost=cost: cost for cost in costs]  # type: ignore[misc]


def never_stop() -> bool:
    return False


COSTS = st.lists(st.integers(-2, 3), min_size=len(PAIRS), max_size=len(PAIRS))


@given(st.tuples(COSTS, COSTS, COSTS), st.sampled_from(["narrow", "wide"]))
def test_costs_are_minimised_in_order(costs: tuple[list[int], ...], numbers: str) -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    columns = [np.array(cost, dtype=np.int64) for cost in costs]
    if numbers == "wide":
        columns = [column * 2**52 + (column % 2) for column in columns]
    flow = cheapest(arcs, made(columns), should_stop=never_stop)
    reached = tuple(int(column @ flow) for column in columns)
    assert reached == min(
        tuple(int(column @ np.array(one)) for column in columns) for one in all_flows(arcs)
    )


def rejecting_above(most: int) -> Callable[[Network], np.ndarray]:
    """A solver that accepts costs up to `most` only."""

    def solve(network: Network) -> np.ndarray:
        if int(np.abs(network.costs).max(initial=0)) > most:
            raise OptimumTooLarge("too large")
        return cheapest_flow(network)

    return solve


LARGE = st.lists(st.integers(-(2**40), 2**40), min_size=len(PAIRS), max_size=len(PAIRS))
NEAR = st.lists(st.integers(2**40 - 3, 2**40), min_size=len(PAIRS), max_size=len(PAIRS))


@given(LARGE | NEAR, st.integers(9, 30))
def test_costs_that_the_solver_rejects_are_still_exact(costs: list[int], bits: int) -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    cost = np.array(costs, dtype=np.int64)
    flow = cheapest(arcs, made([cost]), should_stop=never_stop, solve=rejecting_above(2**bits))
    assert int(cost @ flow) == min(int(cost @ np.array(one)) for one in all_flows(arcs))


def test_solver_that_rejects_everything_is_not_called_forever() -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    cost = np.arange(len(PAIRS), dtype=np.int64) * 2**40
    with pytest.raises(OptimumTooLarge):
        cheapest(arcs, made([cost]), should_stop=never_stop, solve=rejecting_above(0))


def stopped_in(number: int, solver: Solve = cheapest_flow) -> Solve:
    """A solver that is stopped in its flow of this number, from 1 on."""
    left = [number]

    def solve(network: Network) -> np.ndarray:
        if left[0] == 1:
            raise FlowStopped
        found = solver(network)
        left[0] -= 1
        return found

    return solve


def test_solver_that_is_stopped_later_leaves_the_flow_of_the_first_cost() -> None:
    """Costs so large that each is a flow of its own."""
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    rising = np.arange(len(PAIRS), dtype=np.int64) * 2**40 + 1
    costs = made([rising, rising[::-1]])
    first = cheapest(arcs, costs[:1], should_stop=never_stop)
    found = cheapest(arcs, costs, should_stop=never_stop, solve=stopped_in(2))
    assert (rising @ found) == (rising @ first)
    with pytest.raises(FlowStopped):
        cheapest(arcs, costs, should_stop=never_stop, solve=stopped_in(1))


def test_solver_that_is_stopped_in_the_exact_cost_leaves_the_flow_of_the_rounded_one() -> None:
    """The plan had the cheapest set of each partition, whatever the loads."""
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    cost = np.arange(len(PAIRS), dtype=np.int64) * 2**40 + 1
    other = cost[::-1]
    for costs in ([cost], [cost, other]):
        solve = stopped_in(2, rejecting_above(2**9))
        face = cheapest_face(arcs, made(costs), should_stop=never_stop, solve=solve)
        assert tuple(face.flow) in all_flows(arcs)
        # A path has up to 14 arcs with a cost, each rounded up by less than 2**36.
        least = min(int(cost @ np.array(one)) for one in all_flows(arcs))
        assert least <= cost @ face.flow < least + 3 * 14 * 2**36
        assert not face.is_open.any()


def test_flow_of_narrow_capacities_is_wide_wherever_the_solver_is_stopped() -> None:
    wide = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    arcs = wide._replace(capacities=wide.capacities.astype(np.int8))
    cost = np.arange(len(PAIRS), dtype=np.int64) * 2**40 + 1
    for number in range(2, 9):
        solve = stopped_in(number, rejecting_above(2**9))
        found = cheapest(arcs, made([cost, cost[::-1]]), should_stop=never_stop, solve=solve)
        assert found.dtype == np.int64
        assert tuple(found) in all_flows(wide)


@given(st.tuples(COSTS, COSTS))
def test_face_contains_exactly_the_cheapest_flows(costs: tuple[list[int], ...]) -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    columns = [np.array(cost, dtype=np.int64) for cost in costs]
    face = cheapest_face(arcs, made(columns), should_stop=never_stop)
    weight = [tuple(int(column @ np.array(one)) for column in columns) for one in all_flows(arcs)]
    for one, reached in zip(all_flows(arcs), weight, strict=True):
        is_on_face = bool((face.is_open | (np.array(one) == face.flow)).all())
        assert is_on_face == (reached == min(weight))


def test_later_costs_are_skipped_after_a_stop() -> None:
    arcs = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])
    first = np.array([2**54, 2**54 + 1, 0, 0, 0, 0, 0, 0, 1], dtype=np.int64)
    second = np.array([0, 0, 2**54 + 1, 0, 2**54, 0, 0, 0, 0], dtype=np.int64)
    stopped = cheapest(arcs, made([first, second]), should_stop=lambda: True)
    best = cheapest(arcs, made([first, second]), should_stop=never_stop)
    assert int(first @ stopped) == int(first @ best)
    assert int(second @ stopped) >= int(second @ best)


class TestSettledCosts:
    """`The cost above the least that the units of each row pay anyway.`"""

    ARCS = arcs_of([1, 1, 2, 1, 1, 3, 2, 1, 1])._replace(supplies=np.zeros(6, dtype=np.int64))
    COST = np.array([7, 9, 4, 4, 6, 2, 1, 0, 8], dtype=np.int64)

    def test_rows_from_the_first_node(self) -> None:
        is_open = np.ones(len(PAIRS), dtype=np.bool_)
        found = settled_cost(self.ARCS, is_open, self.COST)
        assert found.tolist() == [0, 1, 1, 0, 1, 0, 0, 0, 1]

    def test_closed_arcs_do_not_count(self) -> None:
        is_open = np.array([True, False, True, True, False, True, True, True, False])
        found = settled_cost(self.ARCS._replace(rows=0), is_open, self.COST)
        assert found.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]

    def test_shared_nodes_keep_their_costs(self) -> None:
        is_open = np.ones(len(PAIRS), dtype=np.bool_)
        found = settled_cost(self.ARCS._replace(rows=6), is_open, self.COST)
        assert found.tolist() == self.COST.tolist()


class TestMerging:
    def test_costs_that_fit_are_merged(self) -> None:
        costs = [np.array([4, 0, 8]), np.array([0, 0, 0]), np.array([0, -3, 3])]
        assert len(merge(made(costs), 3, 9)) == 1

    def test_costs_that_do_not_fit_stay_separate(self) -> None:
        costs = [np.array([1, 0, 1]), np.array([2**47, 2**47 + 1, 0]), np.array([0, 1, 0])]
        assert len(merge(made(costs), 3, 99)) == 2

    def test_zero_costs_are_one_cost(self) -> None:
        [zero] = merge(made([np.zeros(3, dtype=np.int64)] * 2), 3, 9)
        assert zero.values().tolist() == [0, 0, 0]

    def test_cost_that_exceeds_64_bits_on_a_path_is_rounded_up(self) -> None:
        cost = np.array([2**60, 2**60 + 1, 1, 0, -(2**60)])
        assert rounded(cost, 5).tolist() == [2**55, 2**55 + 1, 1, 0, -(2**55)]
        [found] = merge(made([cost]), 99, 5)
        assert int(np.abs(found.values()).max()) * 200 < COST_LIMIT


def test_closed_arcs_have_no_prices() -> None:
    arcs = arcs_of([1] * len(PAIRS))
    zero = np.zeros(len(PAIRS), dtype=np.int64)
    assert not node_prices(arcs, np.zeros(len(PAIRS), dtype=np.bool_), zero, zero).any()
