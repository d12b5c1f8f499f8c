"""Our sticky assignments are upstream's, of both lines, wherever those are lawful.

Where upstream gives a partition to a member that does not subscribe, the verbatim algorithm does
the same, and ours is lawful. The exhaustive profile draws groups from the seed that pytest-randomly
prints; `--randomly-seed=N` repeats them.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from group_cases import group_case

from assignments import consumer_vectors, members_of
from assignments import given as told
from golden import SETS
from laws import check_assignment
from oracle import OracleError
from rackwise.core.assignors.constrained import constrained
from rackwise.core.assignors.cooperative import assign_cooperative
from rackwise.core.assignors.general import general
from rackwise.core.assignors.owned import NOBODY, Group, Owned
from rackwise.core.assignors.sticky import _look_the_same, assign_sticky

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
PARTS = 4
COUNT = 10_000
A_FEW = 40
"""One in so many is asked where the profile is not exhaustive."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 429


def only_what_exists(case):
    """The case without owned partitions that a topic does not have: upstream counts those."""
    sizes = {topic: len(partitions) for topic, partitions in case["topics"].items()}
    members = [
        member | {"owned": [tp for tp in member["owned"] if tp[1] < sizes.get(tp[0], 0)]}
        for member in case["members"]
    ]
    return case | {"members": members}


def verbatim(members, racks):
    """What upstream's algorithm gives, lawful or not; None where it throws or has no end."""
    group = Group.of(members, racks)
    owned = Owned.of(group)
    if _look_the_same(group):
        holders, _ = constrained(group, owned)
    else:
        holders = general(group, owned, lawful=False)
    return None if NOBODY in holders else group.assignment(members, holders).partitions


def upstreams(oracle, operation, case):
    answer = oracle.ask(operation, case)["partitions"]
    return {name: tuple(sorted(mine)) for name, mine in told(answer).items()}


def plain(partitions):
    return {name: tuple(sorted(mine)) for name, mine in partitions.items()}


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("line", SETS)
def test_our_assignments_are_upstreams_where_those_are_lawful(oracles, seed, line, part):
    rng = Random(f"{seed} {part}")
    for number in range(COUNT // PARTS // (1 if IS_EXHAUSTIVE else A_FEW)):
        case = only_what_exists(group_case(rng))
        where = f"seed {seed}, part {part}, case {number}"
        members, racks = members_of(case["members"]), case["topics"]
        ours, withheld = assign_sticky(members, racks), assign_cooperative(members, racks)
        wanted = verbatim(members, racks)
        if wanted is not None:
            assert plain(wanted) == upstreams(oracles[line], "assign.sticky", case), where
        if ours.partitions == wanted:
            had = upstreams(oracles[line], "assign.cooperative", case)
            for name, mine in plain(withheld.partitions).items():
                more = set(had[name]) - set(mine)
                assert not set(mine) - set(had[name]), where
                assert more <= withheld.withheld.keys() & set(members[name].owned), where
        else:
            check_assignment(ours, members, {topic: len(racks[topic]) for topic in racks})


@pytest.mark.parametrize("line", SETS)
def test_upstream_throws_where_its_answer_is_missing(oracles, line):
    (case,) = [c for c in consumer_vectors("upstream_defects") if c["id"] == "null-pointer"]
    blank = {"rack": None, "instance": None}
    asked = {"topics": case["topics"], "members": [blank | member for member in case["members"]]}
    assert verbatim(members_of(case["members"]), case["topics"]) is None
    with pytest.raises(OracleError, match="NullPointerException"):
        oracles[line].ask("assign.sticky", asked)
