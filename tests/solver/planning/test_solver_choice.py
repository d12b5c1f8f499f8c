"""Which solver a plan uses, with ortools and without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from rackwise.core.errors import MissingDependency
from rackwise.core.planning.plan import plan
from rackwise.core.policy import Policy
from rackwise.core.solver import solver_version
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Solver

RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
SINGLE = small_cluster(RACKS, {"t-0": [1, 3], "t-1": [1, 3]})
DOUBLE = small_cluster(RACKS, {"t-0": [1, 2], "t-1": [1, 3]})
COUPLED = small_cluster(RACKS, {"t-0": [1], "t-1": [1]})
LED = small_cluster(RACKS, {f"t-{i}": [1, 3] for i in range(8)})
"""Two brokers must lead less than before."""

VERSION = solver_version()


@pytest.mark.parametrize(
    ("lists", "solver", "path"),
    [
        (SINGLE, "auto", "closed form"),
        (DOUBLE, "auto", f"flow per rack, ortools {VERSION}"),
        (COUPLED, "auto", f"flow, ortools {VERSION}"),
        (SINGLE, "flow", f"flow, ortools {VERSION}"),
    ],
)
def test_plan_reports_its_solver(lists: object, solver: Solver, path: str) -> None:
    assert plan(lists, Policy(), solver=solver).solver == path


@pytest.fixture
def no_ortools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.graph.python", None)


@pytest.mark.usefixtures("no_ortools")
@pytest.mark.parametrize(
    ("cluster", "solver"),
    [(SINGLE, "flow"), (DOUBLE, "auto"), (COUPLED, "auto"), (COUPLED, "flow"), (LED, "auto")],
)
def test_a_plan_requires_ortools(cluster: Cluster, solver: Solver) -> None:
    assert solver_version() is None
    with pytest.raises(MissingDependency, match="ortools is not installed") as caught:
        plan(cluster, solver=solver)
    assert caught.value.hint == "pip install rackwise"


@pytest.mark.usefixtures("no_ortools")
def test_plan_without_flow_needs_no_ortools() -> None:
    assert plan(SINGLE).verdict.text == "proved"
