"""Our assignments equal upstream's, of both lines, on random groups with any member ids.

The exhaustive profile draws them from the seed that pytest-randomly prints; `--randomly-seed=N`
repeats them.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from group_cases import coordinated_case, group_case

from assignments import our_assignment
from golden import GROUP_LINES, answered

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
PARTS = 4
COUNT = 10_000
A_FEW = 40
"""One in so many is asked where the profile is not exhaustive."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 881


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("line", GROUP_LINES)
@pytest.mark.parametrize("operation", ["assign.range", "assign.roundrobin"])
def test_our_assignments_are_upstreams(oracles, seed, operation, line, part):
    rng = Random(f"{seed} {part}")
    for number in range(COUNT // PARTS // (1 if IS_EXHAUSTIVE else A_FEW)):
        case = group_case(rng)
        told = f"seed {seed}, part {part}, case {number}"
        assert our_assignment(operation, case) == answered(oracles[line], operation, case), told


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("operation", ["coordinator.range", "coordinator.uniform"])
def test_our_assignments_are_those_of_the_group_coordinator(oracles, seed, operation, part):
    rng = Random(f"{seed} {part}")
    for number in range(COUNT // PARTS // (1 if IS_EXHAUSTIVE else A_FEW)):
        case = coordinated_case(rng)
        told = f"seed {seed}, part {part}, case {number}"
        upstream = answered(oracles["4.3.1"], operation, case)
        assert our_assignment(operation, case) == upstream, told
