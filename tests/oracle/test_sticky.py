"""Our sticky assignments equal upstream's, of both lines, wherever those are valid.

Where upstream assigns a partition to a member that does not subscribe, the verbatim algorithm does
the same, and ours is valid. The exhaustive profile draws groups from the seed that pytest-randomly
prints; `--randomly-seed=N` repeats them.
"""

from __future__ import annotations

import os
from functools import partial
from random import Random

import pytest
from group_cases import group_case, only_what_exists

from assignments import check_sticky_answers, consumer_vectors, members_of, verbatim_sticky
from golden import GROUP_LINES
from oracle import OracleError

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
PARTS = 4
COUNT = 10_000
A_FEW = 40
"""One in so many is asked where the profile is not exhaustive."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 429


def upstreams(oracle, case, operation):
    return oracle.ask(operation, case)["partitions"]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("line", GROUP_LINES)
def test_our_assignments_are_upstreams_where_those_are_lawful(oracles, seed, line, part):
    rng = Random(f"{seed} {part}")
    for number in range(COUNT // PARTS // (1 if IS_EXHAUSTIVE else A_FEW)):
        case = only_what_exists(group_case(rng))
        where = f"seed {seed}, part {part}, case {number}"
        check_sticky_answers(case, partial(upstreams, oracles[line], case), where)


@pytest.mark.parametrize("line", GROUP_LINES)
def test_upstream_throws_where_its_answer_is_missing(oracles, line):
    (case,) = [c for c in consumer_vectors("upstream_defects") if c["id"] == "null-pointer"]
    blank = {"rack": None, "instance": None}
    asked = {"topics": case["topics"], "members": [blank | member for member in case["members"]]}
    assert verbatim_sticky(members_of(case["members"]), case["topics"]) is None
    with pytest.raises(OracleError, match="NullPointerException"):
        oracles[line].ask("assign.sticky", asked)
