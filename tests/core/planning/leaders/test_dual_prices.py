"""Dual prices of leaders, and choices that change along a path."""

from __future__ import annotations

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.dual_prices import dual_prices_of_leaders
from rackwise.core.planning.leaders.fair_counts import mean_loads
from rackwise.core.planning.leaders.state import FAR, LeaderCandidates, LeaderChoice


def choice_of(sets: list[list[int]], preferred: list[int], columns: list[int]) -> LeaderChoice:
    """A choice with these columns as leaders; each set is ascending."""
    rows = Ragged.of(sets)
    costs = (rows.values != np.array(preferred)[rows.rows]).astype(np.int64)
    candidates = LeaderCandidates.of(rows, costs, max(map(max, sets)) + 1)
    return LeaderChoice(candidates, np.array(columns))


def test_example_of_the_module_docstring() -> None:
    choice = choice_of([[0, 1], [0, 2], [0, 1, 2]], [0, 0, 0], [1, 1, 0])
    fair = mean_loads(3, 3)
    prices = dual_prices_of_leaders(choice, fair)
    assert prices.tolist() == [1, 0, 0]
    assert choice.candidates.bound(prices) - fair.price_term(prices) == choice.cost.sum() == 2


def test_prices_within_a_pool_are_those_of_its_last_replica() -> None:
    choice = choice_of([[0, 1], [0, 1], [0, 1]], [0, 0, 0], [0, 0, 1])
    fair = mean_loads(3, 2)
    prices = dual_prices_of_leaders(choice, fair)
    assert choice.candidates.bound(prices) - fair.price_term(prices) == choice.cost.sum() == 1


def test_rows_move_along_a_path() -> None:
    choice = choice_of([[0, 1], [0, 2]], [0, 0], [0, 0])
    assert choice.step_costs(0).tolist() == [0, 1, 1]
    assert choice.step_costs(1).tolist() == [FAR, 0, FAR]
    choice.move_rows([0, 1], 5)
    assert choice.loads.tolist() == [1, 1, 0]
    assert choice.cost.tolist() == [1, 0]
    assert choice.step_costs(0).tolist() == [0, FAR, 1]
    assert choice.step_costs(1).tolist() == [-1, 0, FAR]
