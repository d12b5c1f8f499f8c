"""Exchanges between brokers: what is too much goes where something lacks, or is refused."""

import numpy as np
import pytest

from rackwise.core.errors import NoFlow
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.by_exchange import bring, prices_of
from rackwise.core.planning.leaders.fair_counts import LeaderLoads, mean_loads
from rackwise.core.planning.leaders.state import FAR, Candidates, Leading


def leading_of(sets, preferred):
    rows = Ragged.of(sets)
    costs = (rows.values != np.array(preferred)[rows.rows]).astype(np.int64)
    candidates = Candidates.of(rows, costs, max(map(max, sets)) + 1)
    return Leading(candidates, candidates.cheapest())


def test_the_drawn_example():
    leading = leading_of([[0, 1], [0, 2], [0, 1, 2]], [0, 0, 0])
    bring(leading, mean_loads(3, 3))
    assert leading.loads.tolist() == [1, 1, 1]
    assert leading.cost.sum() == 2
    assert prices_of(leading, mean_loads(3, 3)).tolist() == [1, 0, 0]


def test_what_no_path_leads_to_is_refused():
    leading = leading_of([[0], [0], [1, 2]], [0, 0, 1])
    with pytest.raises(NoFlow, match="1 partition cannot go where a leader is lacking") as caught:
        bring(leading, mean_loads(3, 3))
    assert caught.value.had == 1


def test_pools_pass_on_what_brokers_may_hold_more():
    sets = [[0, 1]] * 4 + [[2, 3]] * 2
    wanted = LeaderLoads(
        low=np.array([1, 1, 0, 0]),
        high=np.array([2, 2, 2, 2]),
        group=np.array([0, 0, 1, 1]),
        totals=np.array([4, 2]),
        cuts=(),
    )
    leading = leading_of(sets, [0, 0, 0, 0, 2, 2])
    bring(leading, wanted)
    assert leading.loads.tolist() == [2, 2, 2, 0]
    assert leading.cost.sum() == 2


def test_a_pool_that_lacks_is_filled_through_a_broker_below_its_high():
    wanted = LeaderLoads(
        low=np.array([0, 0, 0]),
        high=np.array([1, 1, 3]),
        group=np.array([0, 0, 1]),
        totals=np.array([2, 1]),
        cuts=(),
    )
    leading = leading_of([[0, 2], [1, 2], [2]], [2, 2, 2])
    bring(leading, wanted)
    assert leading.loads.tolist() == [1, 1, 1]


def test_rows_move_on_the_arcs_of_today():
    leading = leading_of([[0, 1], [0, 2]], [0, 0])
    assert leading.step(0).tolist() == [0, 1, 1]
    assert leading.step(1).tolist() == [FAR, 0, FAR]
    leading.go([0, 1], 5)
    assert leading.loads.tolist() == [1, 1, 0]
    assert leading.step(0).tolist() == [0, FAR, 1]
    assert leading.step(1).tolist() == [-1, 0, FAR]
    assert leading.movable(1, 0, change=-1).tolist() == [0]
    assert leading.movable(1, 0, change=0).tolist() == []
