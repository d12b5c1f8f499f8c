"""Legal sets of limited goals are those of the slow definition."""

from __future__ import annotations

from itertools import combinations

from hypothesis import assume, given

from planning_problems import Problem, problems
from rackwise.core.errors import InvalidConfig, InvalidPolicy
from rackwise.core.model import Ragged


@given(problems(is_limited=True))
def test_legal_sets_are_those_of_the_slow_definition(problem: Problem) -> None:
    try:
        instance = problem.instance
    except (InvalidConfig, InvalidPolicy):
        assume(False)  # noqa: FBT003 (hypothesis)
    question = problem.question
    ids = instance.brokers.tolist()
    held = [list(instance.held.row(row)) for row in range(len(instance))]
    for row in range(len(instance)):
        sets = combinations(range(len(ids)), int(instance.replicas[row]))
        legal = {
            frozenset(ids[broker] for broker in chosen)
            for chosen in map(list, sets)
            if instance.legal(Ragged.of([*held[:row], chosen, *held[row + 1 :]]))[row]
        }
        assert legal == set(question.options[row])
