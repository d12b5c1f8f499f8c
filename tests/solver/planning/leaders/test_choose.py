"""Leaders are fair, change as little as possible, are proved and do not depend on input order."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leader_cases import LeaderCase, check_leaders, leader_cases
from rackwise.core.errors import InvalidConfig
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import choose_leaders
from rackwise.core.planning.leaders.state import MOST_COST
from vectors import planner_vectors


def test_example_of_the_module_docstring():
    chosen = LeaderCase(sets=[[0, 1], [0, 1], [1, 2]], preferred=[0, 0, -1]).chosen()
    assert chosen.leader.tolist() == [0, 1, 2]
    assert chosen.changes == chosen.cost == chosen.lower_bound == 2
    assert chosen.loads.tolist() == [1, 1, 1]


def test_partition_without_eligible_broker_has_no_leader():
    chosen = LeaderCase(sets=[[], [3]], preferred=[-1, 3]).chosen()
    assert chosen.leader.tolist() == [-1, 3]
    assert chosen.brokers.tolist() == [3]
    assert chosen.changes == 0


@pytest.mark.parametrize("sets", [[], [[]]])
def test_nothing_to_choose(sets):
    chosen = LeaderCase(sets=sets, preferred=[-1] * len(sets)).chosen()
    assert chosen.leader.tolist() == [-1] * len(sets)
    assert (chosen.cost, chosen.lower_bound, chosen.fair.cuts) == (0, 0, ())


def test_kept_leaders_stay_and_only_the_others_even_out():
    case = LeaderCase(sets=[[0, 1], [0, 2], [0, 1, 2]], preferred=[0, 0, 9], keeps=True)
    assert case.chosen().leader.tolist() == [0, 0, 1]


def test_broker_of_double_weight_leads_twice_as_much():
    case = LeaderCase(sets=[[0, 1]] * 6, preferred=[0] * 6, weights={0: 2})
    assert Counter(case.chosen().leader.tolist()) == {0: 4, 1: 2}


def test_equal_weights_are_no_weights():
    case = LeaderCase(sets=[[0, 1], [0, 1], [0, 2]], preferred=[0, 0, 0])
    heavy = case._replace(weights={0: 7, 1: 7, 2: 7})
    assert heavy.chosen().fair.totals.tolist() == case.chosen().fair.totals.tolist() == [3]


def test_cost_decides_among_fair_choices():
    costs = [{0: 5, 1: 1}, {0: 2, 1: 1}]
    case = LeaderCase(sets=[[0, 1], [0, 1]], preferred=[0, 1], costs=costs)
    chosen = case.chosen()
    assert chosen.leader.tolist() == [1, 0]
    assert chosen.cost == chosen.lower_bound == 3
    assert chosen.changes == 2


def test_cost_too_large_to_add_up_is_rejected():
    sets = Ragged.of([[0]])
    for cost in (MOST_COST, -MOST_COST):
        at_most = choose_leaders(sets, np.array([0]), cost=np.array([cost]))
        assert at_most.cost == at_most.lower_bound == cost
        with pytest.raises(InvalidConfig, match="expected at most") as caught:
            choose_leaders(sets, np.array([0]), cost=np.array([cost * 2]))
        assert caught.value.hint == "give costs in a coarser unit"


def test_ties_go_to_the_first_partitions_and_the_first_brokers():
    case = LeaderCase(sets=[[0, 2]] * 2 + [[1, 3]] * 2, preferred=[0, 0, 1, 1])
    assert case.chosen().leader.tolist() == [0, 2, 1, 3]
    anew = LeaderCase(sets=[[0, 1, 2]] * 3, preferred=[-1] * 3)
    assert anew.chosen().leader.tolist() == [0, 1, 2]


def test_price_term_is_the_greatest_cost_of_fair_numbers():
    fair = LeaderCase(sets=[[0, 1, 2]] * 4, preferred=[0] * 4).chosen().fair
    assert (fair.low.tolist(), fair.high.tolist(), fair.totals.tolist()) == ([1] * 3, [2] * 3, [4])
    assert fair.price_term(np.array([3, 5, -1])) == 3 + 5 - 1 + 5


def check_bound_at(case, chosen, prices):
    """Checks that prices of the eligible brokers give a lower bound."""
    least = 0
    brokers = chosen.brokers.tolist()
    for row, (members, before) in enumerate(zip(case.sets, case.preferred, strict=True)):
        may_lead = [before] if case.keeps and before in members else members
        costs = {b: b != before for b in members} if case.costs is None else case.costs[row]
        least += min(costs[b] + int(prices[brokers.index(b)]) for b in may_lead)
    assert least - chosen.fair.price_term(prices) <= chosen.cost


@given(
    leader_cases(),
    st.lists(st.integers(-3, 3), min_size=5, max_size=5),
    st.randoms(use_true_random=False),
)
def test_no_choice_is_fairer_or_cheaper_whatever_the_order_of_members(case, prices, rng):
    chosen = case.chosen()
    check_leaders(case, chosen)
    check_bound_at(case, chosen, np.array(prices[: len(chosen.brokers)], dtype=np.int64))
    order = [rng.sample(row, len(row)) for row in case.sets]
    assert case._replace(sets=order).chosen().leader.tolist() == chosen.leader.tolist()


@given(leader_cases())
def test_choosing_again_changes_nothing(case):
    first = case.chosen()
    again = case._replace(preferred=first.leader.tolist(), costs=None).chosen()
    assert again.leader.tolist() == first.leader.tolist()
    assert again.changes == 0


def fair_sets(rng):
    """Sets of one size that put floor or ceiling of the mean on every broker."""
    brokers = rng.randint(1, 12)
    size = rng.randint(1, min(brokers, 4))
    rows = rng.randint(1, 60)
    loads = [0] * brokers
    sets = []
    for _ in range(rows):
        order = sorted(range(brokers), key=lambda b: (loads[b], rng.random()))
        chosen = order[:size]
        for broker in chosen:
            loads[broker] += 1
        sets.append(chosen)
    return brokers, sets


def test_fair_sets_of_one_size_have_leaders_at_floor_and_ceiling():
    for seed in range(400):
        rng = random.Random(seed)
        brokers, sets = fair_sets(rng)
        loads = Counter(broker for row in sets for broker in row)
        assert max(loads.values()) - min(loads[b] for b in range(brokers)) <= 1, seed
        case = LeaderCase(sets=sets, preferred=[rng.choice(row) for row in sets])
        counts = Counter(case.chosen().leader.tolist())
        floor, rest = divmod(len(sets), brokers)
        wanted = [floor] * (brokers - rest) + [floor + 1] * rest
        assert sorted(counts[b] for b in range(brokers)) == wanted, seed


SOLVED = [
    pytest.param(vector, answer, id=f"{vector['name']}-{minimised}")
    for vector in planner_vectors()["plans"]
    for minimised, answer in vector["expect"].items()
    if answer["feasible"]
]


def vector_case(vector, answer):
    """The leader stage of a vector: the sets of its plan, brokers by (rack path, id)."""
    order = sorted((rack.encode(), int(id_)) for id_, rack in vector["brokers"].items())
    index = {id_: number for number, (_, id_) in enumerate(order)}
    usable = {id_ for _, id_ in order} - set(vector.get("dead", ()))
    return LeaderCase(
        sets=[sorted(index[id_] for id_ in row[2]) for row in answer["plan"]],
        preferred=[index[row[2][0]] if row[2][0] in usable else -1 for row in vector["partitions"]],
        keeps=answer["leaders"]["rule"] == "keep",
    )


@pytest.mark.parametrize(("vector", "answer"), SOLVED)
def test_sets_of_the_vectors_get_their_leaders(vector, answer):
    case = vector_case(vector, answer)
    chosen = case.chosen()
    counts = Counter(chosen.leader.tolist())
    assert sum(count**2 for count in counts.values()) == answer["leaders"]["sum_of_squares"]
    assert chosen.changes == answer["leaders"]["changes"]
    check_leaders(case, chosen)
