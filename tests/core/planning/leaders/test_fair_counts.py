"""Fair numbers of leaders: the drawn example, groups by height and by exchange, cuts."""

import numpy as np
import pytest

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders import fair_counts
from rackwise.core.planning.leaders.fair_counts import fair_leader_loads, fair_numbers, mean_loads
from rackwise.core.planning.leaders.state import LeaderCandidates, LeaderChoice


def candidates_of(sets):
    """Candidates for these sets, all with cost 0."""
    brokers = max(broker for row in sets for broker in row) + 1
    rows = Ragged.of(sets)
    return LeaderCandidates.of(rows, np.zeros(len(rows.values), dtype=np.int64), brokers)


def even_out(sets, weights=None):
    """The choice after evening out from the first member of each row, and the fair loads."""
    candidates = candidates_of(sets)
    brokers = candidates.brokers
    choice = LeaderChoice(candidates, candidates.cheapest())
    return choice, fair_leader_loads(choice, weights or [1] * brokers)


def test_example_of_the_module_docstring():
    choice, fair = even_out([[0, 1], [0, 1], [0, 2], [0]])
    assert sorted(choice.loads.tolist()) == [1, 1, 2]
    assert fair.low.tolist() == [1, 1, 0]
    assert fair.high.tolist() == [2, 2, 1]
    assert fair.totals.tolist() == [3, 1]
    assert fair.needs.tolist() == [1, 1]
    assert fair.cuts == (((0, 1), 3), ((0, 1, 2), 4))


def test_brokers_with_many_exclusive_rows_are_a_group():
    _, fair = even_out([[0], [0], [0], [1, 2], [1, 2], [1, 2]])
    assert fair.group.tolist() == [0, 1, 1]
    assert fair.totals.tolist() == [3, 3]
    assert fair.high.tolist() == [3, 2, 2]
    assert fair.cuts == (((0,), 3), ((0, 1, 2), 6))


def test_path_over_other_brokers_evens_out():
    choice, fair = even_out([[0, 1], [0, 1], [0, 1], [1, 2], [1, 2], [2, 3]])
    assert choice.loads.max() == 2
    assert fair.high.tolist() == [2, 2, 2, 1]


def test_unreachable_broker_stays_below():
    _, fair = even_out([[0, 1], [0, 1], [0, 1], [0, 1], [2], [3]])
    assert fair.high.tolist() == [2, 2, 1, 1]
    assert fair.totals.tolist() == [4, 2]


def test_weights_join_brokers_with_free_moves():
    _, fair = even_out([[0, 1]] * 2 + [[2]] * 3, [1, 3, 1])
    assert fair.low.tolist() == [0, 1, 3]
    assert fair.high.tolist() == [1, 2, 3]
    assert fair.group.tolist() == [0, 0, 1]
    assert fair.totals.tolist() == [2, 3]


def test_cut_of_a_group_contains_all_busier_brokers():
    choice, fair = even_out([[0, 3], [1, 2, 3]], [1, 2, 2, 1])
    assert choice.leader.tolist() == [0, 1]
    assert fair.group.tolist() == [0, 1, 1, 0]
    assert fair.cuts == (((0, 3), 1), ((0, 1, 2, 3), 2))


def test_weights_without_ties_give_single_broker_groups():
    _, fair = even_out([[0, 1]] * 4, [1, 4])
    assert fair.low.tolist() == fair.high.tolist()
    assert fair.group.tolist() == [0, 1]


def test_weights_of_any_size_are_compared_exactly():
    large = 10**12
    _, fair = even_out([[0, 1]] * 3, [large, large + 1])
    assert fair.low.tolist() == fair.high.tolist() == [1, 2]


@pytest.mark.parametrize(("rows", "brokers"), [(7, 3), (6, 3), (0, 2), (0, 0)])
def test_mean_is_shared_by_all(rows, brokers):
    fair = mean_loads(rows, brokers)
    high = -(-rows // brokers) if brokers else 0
    assert fair.high.tolist() == [high] * brokers
    assert fair.totals.tolist() == [rows]
    assert fair.cuts == ((((tuple(range(brokers))), rows),) if rows else ())


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        ([[0, 1], [0, 1], [0, 2], [1, 2]], "rows lead in turn"),
        ([[0, 1], [0], [0, 1], [0, 1]], "rows go from the highest to the lowest"),
        ([[0, 1], [1, 2], [0, 2], [0, 3], [2]], "a chain passes a broker that has the mean"),
    ],
)
def test_fair_numbers_are_the_mean_if_sets_allow_it(sets, why):
    candidates = candidates_of(sets)
    fair = fair_numbers(candidates, [1] * candidates.brokers)
    mean = mean_loads(len(sets), candidates.brokers)
    assert (fair.low.tolist(), fair.high.tolist()) == (mean.low.tolist(), mean.high.tolist()), why
    assert fair.totals.tolist() == [len(sets)]


def test_nothing_is_searched_if_leaders_are_known_that_have_the_mean(monkeypatch):
    candidates = candidates_of([[0, 1], [0, 1], [0]])
    unfair = fair_numbers(candidates, [1, 1], known=np.array([3, 0]))
    monkeypatch.setattr(fair_counts, "_near_mean", lambda *_: pytest.fail("a search"))
    fair = fair_numbers(candidates, [1, 1], known=np.array([2, 1]))
    for each in (unfair, fair):
        assert (each.low.tolist(), each.high.tolist(), each.totals.tolist()) == (
            [1, 1],
            [2, 2],
            [3],
        )


def test_fair_numbers_of_unequal_weights_do_not_depend_on_known_leaders():
    candidates = candidates_of([[0, 1]] * 4)
    assert fair_numbers(candidates, [1, 3], known=np.array([2, 2])).high.tolist() == [1, 3]


def test_fair_numbers_are_those_of_the_fairest_choice_otherwise():
    sets = [[0], [0], [0], [1, 2], [1, 2], [1, 2]]
    assert fair_numbers(candidates_of(sets), [1, 1, 1]).totals.tolist() == [3, 3]
    assert fair_numbers(candidates_of([[0, 1]] * 4), [1, 3]).high.tolist() == [1, 3]
