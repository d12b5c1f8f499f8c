"""The progress on stderr: lines without a terminal, a bar on one, nothing with --quiet."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace

import pytest

from rackwise.cli.apply import meter as apply_meter
from rackwise.cli.apply.meter import RunMeter, progress_in_width, progress_text
from rackwise.cli.shell import Shell
from rackwise.core.applying.model import Caps
from rackwise.core.applying.progress import Eta
from rackwise.core.applying.start import start
from rackwise.core.applying.status import status_of_run
from rackwise.core.planning.model import (
    Balance,
    Fair,
    MadeFrom,
    Move,
    Plan,
    Totals,
    Verdict,
)

SCRIPT = """
from rackwise.cli.apply import meter as apply_meter
from rackwise.cli.shell import Shell
from test_meter import state_with
apply_meter.QUIET_S = apply_meter.DRAW_EVERY_S = 0
meter = apply_meter.RunMeter(Shell(), "apply")
meter.update(state_with())
meter.update(state_with())
meter.close()
"""


def state_with(**changes):
    move = Move(topic="t", partition=0, topic_id="i", before=(1,), after=(2,), bytes=2**20)
    plan = Plan(
        cluster_id="c",
        made_from=MadeFrom(snapshot_sha256="", brokers={}, policy="", policy_sha256=""),
        goal=Balance(),
        minimise="moves",
        solver="by hand",
        moves=(move,),
        totals=Totals(),
        fair=Fair(),
        certificates=(),
        verdict=Verdict(cost=1, lower_bound=1, gap=0, is_legal=True, is_fair=True),
    )
    return replace(start(plan, Caps()), **changes)


@pytest.fixture
def at_once(monkeypatch):
    for name in ("QUIET_S", "LINE_EVERY_S"):
        monkeypatch.setattr(apply_meter, name, 0)


@pytest.mark.usefixtures("at_once")
def test_without_a_terminal_it_is_lines(capsys):
    meter = RunMeter(Shell(), "apply")
    meter.update(state_with())
    meter.update(state_with(pauses=("broker 4 is down", "t-0 is offline")))
    meter.update(state_with())
    meter.close()
    far = "apply: 0/1 partitions, 1.00 MiB of 1.00 MiB left"
    assert capsys.readouterr().err.splitlines() == [
        far,
        "paused, starting no new move: broker 4 is down; t-0 is offline",
        far,
        "continuing",
        far,
    ]


def test_a_rate_that_was_rejected_is_a_warning_once(capsys):
    meter = RunMeter(Shell(is_quiet=True), "cancel")
    for _ in range(2):
        meter.update(state_with(rate_rejected="Kafka rejected a throttle: X\n"))
    meter.update(state_with())
    meter.close()
    assert capsys.readouterr().err == (
        "warning: the throttle is not set on all brokers, the cancel goes on: "
        "Kafka rejected a throttle: X\\x0a\n"
    )


@pytest.mark.usefixtures("at_once")
def test_quiet_is_quiet(capsys):
    meter = RunMeter(Shell(is_quiet=True), "apply")
    meter.update(state_with(pauses=("broker 4 is down",)))
    meter.close()
    assert capsys.readouterr().err == ""


def test_a_short_run_says_nothing(capsys):
    meter = RunMeter(Shell(), "apply")
    meter.update(state_with())
    meter.close()
    assert capsys.readouterr().err == ""


def on_a_terminal(columns):
    """What a short run of the meter draws."""
    reader, writer = pty.openpty()
    path = [os.path.dirname(__file__), *sys.path]  # noqa: PTH120 (a text for the environment)
    environment = {"PYTHONPATH": os.pathsep.join(path), "TERM": "xterm", "COLUMNS": str(columns)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stderr=writer,
        check=False,
        env={**os.environ, **environment},
    )
    os.close(writer)
    printed = os.read(reader, 2**16).decode()
    os.close(reader)
    assert done.returncode == 0, printed
    return printed


def test_on_a_terminal_it_is_a_bar_that_goes_away():
    printed = on_a_terminal(120)
    assert "apply" in printed
    assert "0/1 partitions, 1.00 MiB of 1.00 MiB left" in printed
    assert "\x1b[2K" in printed, "the bar is taken away"


def test_on_a_narrow_terminal_the_words_stay_whole():
    printed = on_a_terminal(60)
    assert "apply \x1b" in printed, "the label is not cut"
    assert "0/1 partitions, 1.00 MiB of 1.00 MiB left" in printed


def test_what_does_not_fit_is_left_out_from_the_least_on():
    status = replace(
        status_of_run(state_with()), eta=Eta(seconds=65, bound_by="incoming of broker 2")
    )
    far = "0/1 partitions, 1.00 MiB of 1.00 MiB left, 65 s left"
    assert progress_in_width(status, 80) == f"{far} (incoming of broker 2)"
    assert progress_in_width(status, len(far)) == far
    assert progress_in_width(status, 20) == "0/1 partitions, 1.0…"


def test_what_is_not_of_this_run_is_not_counted():
    state = state_with()
    rest = replace(state.partitions["t", 0], class_="dropped")
    status = status_of_run(
        replace(
            state,
            moves={**state.moves, ("t", 1): state.moves["t", 0]},
            partitions={**state.partitions, ("t", 1): rest},
        )
    )
    assert progress_text(status) == "0/1 partitions, 1.00 MiB of 1.00 MiB left"
