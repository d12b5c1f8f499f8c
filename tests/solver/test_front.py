"""Which path makes a plan, with ortools and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwise.core.errors import MissingDependency
from rackwise.core.planning import plan as front
from rackwise.core.planning.plan import plan
from rackwise.core.policy import Policy
from rackwise.core.solver import solver_version
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.planning.model import Solver

RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
SINGLE = small_cluster(RACKS, {"t-0": [1, 3], "t-1": [1, 3]})
DOUBLE = small_cluster(RACKS, {"t-0": [1, 2], "t-1": [1, 3]})
COUPLED = small_cluster(RACKS, {"t-0": [1], "t-1": [1]})
VERSION = solver_version()


@pytest.mark.parametrize(
    ("lists", "solver", "path"),
    [
        (SINGLE, "auto", "closed form"),
        (DOUBLE, "auto", f"racks apart, ortools {VERSION}"),
        (COUPLED, "auto", f"flow, ortools {VERSION}"),
        (SINGLE, "flow", f"flow, ortools {VERSION}"),
        (SINGLE, "exchange", "exchange"),
    ],
)
def test_path_is_told(lists: object, solver: Solver, path: str) -> None:
    assert plan(lists, Policy(), solver=solver).solver == path


def test_without_ortools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "solver_version", lambda: None)
    assert plan(SINGLE).solver == "closed form"
    assert plan(DOUBLE).solver == "exchange"
    assert plan(COUPLED).solver == "exchange"


def test_flow_wants_ortools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ortools", None)
    monkeypatch.setitem(__import__("sys").modules, "ortools.graph.python", None)
    assert solver_version() is None
    with pytest.raises(MissingDependency):
        plan(COUPLED, solver="flow")
