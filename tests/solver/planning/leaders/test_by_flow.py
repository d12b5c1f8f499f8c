"""Leaders by flow: the cheapest choice, and impossible loads."""

import numpy as np
import pytest
from hypothesis import given

from leader_cases import LeaderCase, check_leaders, leader_cases
from rackwise.core.errors import NoFlow
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.by_flow import cheapest_leaders
from rackwise.core.planning.leaders.fair_counts import LeaderLoads, mean_loads
from rackwise.core.planning.leaders.state import MOST_COST, LeaderCandidates, LeaderChoice


def candidates_of(case):
    rows = [row for row, members in enumerate(case.sets) if members]
    paid = [
        int(broker != case.preferred[row]) if case.costs is None else case.costs[row][broker]
        for row in rows
        for broker in case.sets[row]
    ]
    brokers = sorted({broker for members in case.sets for broker in members})
    sets = [[brokers.index(broker) for broker in case.sets[row]] for row in rows]
    return LeaderCandidates.of(Ragged.of(sets), np.array(paid, dtype=np.int64), len(brokers))


@given(leader_cases())
def test_flow_is_as_cheap_as_the_best_choice(case):
    """Also where the cheapest leader of each row is fair and a plan needs no flow."""
    chosen = case._replace(keeps=False).chosen()
    candidates = candidates_of(case)
    if len(candidates.members):
        column = cheapest_leaders(candidates, chosen.fair)
        assert candidates.costs[np.arange(len(column)), column].sum() == chosen.cost


def test_brokers_pass_further_rows_to_their_group():
    case = LeaderCase(sets=[[0, 1]] * 4 + [[2, 3]] * 2, preferred=[0, 0, 0, 0, 2, 2])
    wanted = LeaderLoads(
        low=np.array([1, 1, 0, 0]),
        high=np.array([2, 2, 2, 2]),
        group=np.array([0, 0, 1, 1]),
        totals=np.array([4, 2]),
        cuts=(),
    )
    choice = LeaderChoice(candidates_of(case), cheapest_leaders(candidates_of(case), wanted))
    assert choice.loads.tolist() == [2, 2, 2, 0]
    assert choice.cost.sum() == 2


def test_a_group_is_filled_through_a_broker_below_its_high():
    case = LeaderCase(sets=[[0, 2], [1, 2], [2]], preferred=[2, 2, 2])
    wanted = LeaderLoads(
        low=np.array([0, 0, 0]),
        high=np.array([1, 1, 3]),
        group=np.array([0, 0, 1]),
        totals=np.array([2, 1]),
        cuts=(),
    )
    choice = LeaderChoice(candidates_of(case), cheapest_leaders(candidates_of(case), wanted))
    assert choice.loads.tolist() == [1, 1, 1]


def test_no_brokers():
    assert LeaderCase(sets=[[]], preferred=[-1]).chosen().leader.tolist() == [-1]


def test_rows_of_a_type_take_brokers_in_rising_order():
    case = LeaderCase(sets=[[0, 1, 2]] * 3, preferred=[-1] * 3)
    assert case.chosen().leader.tolist() == [0, 1, 2]


def test_impossible_loads_have_no_flow():
    for rows, sets in ((4, [[0], [0], [1]]), (3, [[0], [0], [1, 2]])):
        case = LeaderCase(sets=sets, preferred=[0, 0, 1])
        brokers = max(map(max, sets)) + 1
        with pytest.raises(NoFlow):
            cheapest_leaders(candidates_of(case), mean_loads(rows, brokers))


def test_largest_accepted_costs_fit_into_the_solver():
    costs = [{0: MOST_COST, 1: MOST_COST - 1}, {0: MOST_COST, 1: -MOST_COST}]
    case = LeaderCase(sets=[[0, 1]] * 2, preferred=[0, 1], costs=costs)
    check_leaders(case, case.chosen())
