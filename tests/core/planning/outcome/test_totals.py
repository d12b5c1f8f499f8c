"""Forced moves, counted once for all rows that are alike."""

from __future__ import annotations

from hypothesis import assume, given

from planning_problems import problems
from rackwise.core.planning.outcome.totals import forced_moves, with_unit_costs
from rackwise.core.planning.problem.cheapest_sets import BrokerPrices, cheapest_sets


@given(problems())
def test_forced_moves_are_those_of_each_row(problem):
    assume(problem.question.brokers and not problem.question.impossible)
    moves = with_unit_costs(problem.instance)
    each = cheapest_sets(moves, BrokerPrices.flat(moves)).values
    assert forced_moves(problem.instance) == sum(each.tolist())


@given(problems(is_limited=True))
def test_frozen_rows_force_nothing(problem):
    assume(problem.question.brokers and not problem.question.impossible)
    moves = with_unit_costs(problem.instance)
    each = cheapest_sets(moves, BrokerPrices.flat(moves)).values
    assert forced_moves(problem.instance) == sum(each.tolist())
