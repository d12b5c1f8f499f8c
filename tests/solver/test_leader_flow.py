"""Leaders by flow: the same cost as by exchange, and what the solver cannot add up."""

import numpy as np
import pytest
from hypothesis import given

from leader_cases import LeaderCase, check_leaders, leader_cases
from rackwise.core.errors import NoFlow
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.by_flow import cheapest_leaders
from rackwise.core.planning.leaders.fair_counts import mean_loads
from rackwise.core.planning.leaders.state import MOST_COST, Candidates


@given(leader_cases())
def test_both_ways_find_the_least_cost(case):
    flow, exchange = case.chosen("flow"), case.chosen("exchange")
    check_leaders(case, flow)
    assert flow.cost == exchange.cost
    assert flow.fair.totals.tolist() == exchange.fair.totals.tolist()


def test_nobody_to_choose():
    assert LeaderCase(sets=[[]], preferred=[-1]).chosen("flow").leader.tolist() == [-1]


def test_rows_of_a_type_take_brokers_in_rising_order():
    case = LeaderCase(sets=[[0, 1, 2]] * 3, preferred=[-1] * 3)
    assert case.chosen("flow").leader.tolist() == [0, 1, 2]


def test_loads_that_sets_do_not_allow_have_no_flow():
    sets = Ragged.of([[0], [0], [1]])
    candidates = Candidates.of(sets, np.zeros(3, dtype=np.int64), 2)
    with pytest.raises(NoFlow):
        cheapest_leaders(candidates, mean_loads(4, 2))


def test_the_largest_costs_that_are_taken_fit_into_the_solver():
    costs = [{0: MOST_COST, 1: MOST_COST - 1}, {0: MOST_COST, 1: -MOST_COST}]
    case = LeaderCase(sets=[[0, 1]] * 2, preferred=[0, 1], costs=costs)
    check_leaders(case, case.chosen("flow"))
