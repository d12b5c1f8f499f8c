"""Without ortools only the best assignment fails, and its error says what to install."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys

sys.modules["ortools"] = None

from rackwise.core import errors, solver
from rackwise.core.assignors import (
    Member,
    assign_cooperative,
    assign_optimal,
    assign_range,
    assign_roundrobin,
    assign_sticky,
    evaluate,
)

members = {"m1": Member(topics=("t",), rack="a"), "m2": Member(topics=("t",), rack="b")}
racks = {"t": [["a"], ["b"]]}
for assign in (assign_range, assign_roundrobin, assign_sticky, assign_cooperative):
    made = assign(members, racks)
    print(evaluate(made, members, racks).partitions)
for wanting in (solver.require_solver, lambda: assign_optimal(members, racks)):
    try:
        wanting()
    except errors.MissingDependency as error:
        print(error, error.hint, error.exit_code, isinstance(error, ImportError), sep="|")
try:
    assign_optimal({}, racks)
except errors.InvalidMember:
    print("input is looked at first")
"""
SAID = "ortools is not installed; plans and optimal assignments require it"
HINT = "pip install rackwise"


@pytest.fixture(scope="module")
def lines():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_other_assignors_and_evaluate_work(lines):
    assert lines[:4] == ["2"] * 4


def test_the_error_names_the_pip_command(lines):
    assert lines[4:6] == [f"{SAID}|{HINT}|1|True"] * 2


def test_invalid_input_is_reported_first(lines):
    assert lines[6:] == ["input is looked at first"]


def test_importing_the_assignors_loads_no_solver():
    program = "import sys, rackwise.core.assignors; sys.exit('ortools' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
