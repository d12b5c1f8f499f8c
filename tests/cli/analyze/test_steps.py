"""The steps of `rackwise analyze` on stderr: one line each, and a sign of life while one runs."""

from __future__ import annotations

import os
from contextlib import redirect_stderr
from io import StringIO
from time import monotonic, sleep

import pytest

from rackwise.cli.analyze import steps as module
from rackwise.cli.analyze.steps import running_line, shown_steps
from rackwise.cli.shell import Shell
from rackwise.pipeline.runtime.running import Reading


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Each wait is short."""
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.2)
    monkeypatch.setattr(module, "QUIET_S", 0.1)


def two_steps(shell, seconds):
    """Run two steps, the first of which takes so long."""
    with shown_steps(shell) as steps:
        steps.begin(1, 2, "snapshots")
        sleep(seconds)
        steps.begin(2, 2, "report")
        steps.end()


def told(shell, seconds):
    err = StringIO()
    with redirect_stderr(err):
        two_steps(shell, seconds)
    return err.getvalue().splitlines()


def test_a_short_step_is_one_line():
    assert told(Shell(), 0.0) == ["1/2 snapshots  0 s", "2/2 report  0 s"]


def test_a_long_step_has_a_line_per_interval_and_no_flood():
    begun = monotonic()
    lines = told(Shell(), 1.0)
    most = (monotonic() - begun) / 0.2
    running = [line for line in lines if line.startswith("1/2 snapshots: ")]
    assert 2 <= len(running) <= most
    assert lines == [*running, "1/2 snapshots  1 s", "2/2 report  0 s"]


def test_quiet_shows_nothing():
    assert told(Shell(is_quiet=True), 0.5) == []


def test_a_terminal_has_one_line_that_changes():
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as err, redirect_stderr(err):
        two_steps(Shell(), 0.3)
        shown = ""
        while "2/2 report  0 s\r\n" not in shown:
            shown += os.read(leader, 65536).decode()
    os.close(leader)
    drawn, last, rest = shown.replace("\r\n", "\n").split("\n")
    *states, final = drawn.split("\r")
    assert {state.strip() for state in states} == {"", "1/2 snapshots: 0 s"}
    assert (final, last, rest) == ("1/2 snapshots  0 s", "2/2 report  0 s", "")


def test_an_error_leaves_no_running_step():
    def failing():
        with shown_steps(Shell()) as steps:
            steps.begin(1, 2, "snapshots")
            raise OSError("full")

    err = StringIO()
    with redirect_stderr(err), pytest.raises(OSError, match="full"):
        failing()
    assert err.getvalue() == ""


def test_a_line_tells_tasks_rows_and_rate():
    name = "3/12 silver: flow facts"
    reading = Reading(done=41, tasks=160, rows=1_310_720)
    assert (
        running_line(name, reading, 12.5)
        == f"{name}: 41 of 160 tasks, 1,310,720 rows, 104,858 rows/s, 12 s"
    )
    assert running_line(name, Reading(done=0, tasks=4), 3.0) == f"{name}: 0 of 4 tasks, 3 s"
    assert running_line(name, Reading(rows=7), 0.0) == f"{name}: 7 rows, 0 rows/s, 0 s"
