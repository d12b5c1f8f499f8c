"""Plans by one flow of all racks: the laws of plans, judged by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from planner_vectors import Draws, generated_cluster
from planning_problems import PRICES, check_planned, problems
from rackwise.core.planning.model import Repair
from rackwise.core.planning.plan import plan
from small_clusters import small_cluster


@given(problems())
def test_no_placement_is_cheaper_with_either_solver(problem):
    found = check_planned(problem, "flow")
    other = check_planned(problem, "auto")
    assert (found and found.verdict) == (other and other.verdict)


@pytest.mark.parametrize("bits", [40, 46])
def test_large_partitions_are_planned_to_the_byte(bits):
    cluster = generated_cluster("messy", 24, 3, 300, 3)
    draw = Draws()
    sizes = np.array([2**bits - draw(2**16) for _ in range(300)])
    table = replace(cluster.partitions, bytes=sizes)
    found = plan(replace(cluster, partitions=table), minimise="bytes", solver="flow")
    assert found.verdict.text == "proved"


@pytest.mark.parametrize("solver", ["flow", "auto"])
@pytest.mark.parametrize("minimise", ["moves", "bytes", "usd"])
def test_repair_does_not_copy_valid_partitions_for_free(minimise, solver):
    racks = {1: "/e/a", 2: "/e/a", 3: "/w/b"}
    cluster = small_cluster(racks, {"t-0": [1, 3], "t-1": [1, 3]}, sizes={"t-0": 0, "t-1": 0})
    found = plan(cluster, goal=Repair(), minimise=minimise, prices=PRICES, solver=solver)
    assert found.moves == ()
