"""Our rows equal upstream's on random requests: a few in each run, many in the exhaustive profile.

The exhaustive profile draws them from the seed that pytest-randomly prints; `--randomly-seed=N`
repeats them.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from cases import LINES
from placement_cases import alternate_case, kip36_case, striped_case

from golden import answered
from placements import our_answer

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
PARTS = 4
ASKED = [
    ("place.kip36", kip36_case, 20_000),
    ("place.striped", striped_case, 6_000),
    ("place.alternate", alternate_case, 2_000),
]
A_FEW = 40
"""One in so many is asked where the profile is not exhaustive."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 879


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("operation", "drawn", "count"), ASKED, ids=[name for name, *_ in ASKED])
def test_our_rows_and_refusals_are_upstreams(oracles, seed, operation, drawn, count, part):
    rng = Random(f"{seed} {part}")
    oracle = oracles[LINES[operation]]
    for number in range(count // PARTS // (1 if IS_EXHAUSTIVE else A_FEW)):
        case = drawn(rng)
        told = f"seed {seed}, part {part}, case {number}"
        assert our_answer(operation, case) == answered(oracle, operation, case), told
