"""The server-side assignors in Java choose the partitions that their Python functions choose.

The exhaustive profile draws groups from the seed that pytest-randomly prints.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from server_cases import server_case

from assignments import given, members_of
from rackwise.core.assignors.optimal.on_server import assign_on_server

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
FEW, MANY = 300, 10_000


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 848


def check_equal(oracle, seed, count):
    rng = Random(seed)
    for number in range(count):
        case = server_case(rng)
        told = oracle.ask("server.optimal", case)["partitions"]
        ours = assign_on_server(members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"


def test_rack_optimal_in_java_and_in_python_choose_the_same_partitions(oracles, seed):
    check_equal(oracles["4.3.1"], seed, FEW)


@pytest.mark.long
def test_10_000_groups(oracles, request):
    check_equal(oracles["4.3.1"], request.config.getoption("randomly_seed"), MANY)
