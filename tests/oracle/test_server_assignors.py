"""The server-side assignors in Java choose the partitions that their Python functions choose.

The exhaustive profile draws groups from the seed that pytest-randomly prints.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from server_cases import server_case

from assignments import given, members_of
from rackwise.core.assignors import assign_on_server, assign_sticky_on_server

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
FEW, MANY = 300, 10_000
ASSIGNORS = {"server.optimal": assign_on_server, "server.sticky": assign_sticky_on_server}
"""By the oracle's operations."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 848


def check_equal(oracle, operation, seed, count):
    rng = Random(seed)
    for number in range(count):
        case = server_case(rng)
        told = oracle.ask(operation, case)["partitions"]
        ours = ASSIGNORS[operation](members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"


@pytest.mark.parametrize("operation", ASSIGNORS)
def test_java_and_python_choose_the_same_partitions(oracles, operation, seed):
    check_equal(oracles["4.3.1"], operation, seed, FEW)


@pytest.mark.long
@pytest.mark.parametrize("operation", ASSIGNORS)
def test_10_000_groups(oracles, operation, request):
    check_equal(oracles["4.3.1"], operation, request.config.getoption("randomly_seed"), MANY)
