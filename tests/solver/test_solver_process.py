"""A flow that is searched in a process of its own, and ends at a given time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rackwise.adapters import solver_process
from rackwise.adapters.solver_process import solver_until
from rackwise.core.errors import NoFlow, WorldError
from rackwise.core.solver import FlowStopped, Network, cheapest_flow

ROWS, BROKERS, WIDTH = 20_000, 100, 10
"""Each row sends a unit to one of `WIDTH` brokers."""
LONG_S = 60.0


def network(room=ROWS // BROKERS + 10):
    """A network of 200,100 arcs; `room`: units that a broker takes."""
    rng = np.random.default_rng(1)
    rows, brokers = np.arange(ROWS), ROWS + np.arange(BROKERS)
    arcs = ROWS * WIDTH
    supplies = np.zeros(ROWS + BROKERS + 1, dtype=np.int64)
    supplies[:ROWS], supplies[-1] = 1, -ROWS
    return Network(
        tails=np.concatenate([np.repeat(rows, WIDTH), brokers]),
        heads=np.concatenate(
            [ROWS + rng.integers(0, BROKERS, arcs), np.full(BROKERS, len(supplies) - 1)]
        ),
        capacities=np.concatenate([np.ones(arcs, dtype=np.int64), np.full(BROKERS, room)]),
        costs=np.concatenate([rng.integers(0, 1000, arcs), np.zeros(BROKERS, dtype=np.int64)]),
        supplies=supplies,
    )


def in_time():
    return solver_until(time.monotonic() + LONG_S)


def test_the_flow_is_that_of_the_solver():
    drawn = network()
    assert len(drawn.tails) > solver_process.MOST_ARCS_HERE
    assert (in_time()(drawn) == cheapest_flow(drawn)).all()


def test_a_small_network_needs_no_process(monkeypatch):
    monkeypatch.setattr(solver_process, "MOST_ARCS_HERE", 10**9)
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    drawn = network()
    assert (solver_until(0.0)(drawn) == cheapest_flow(drawn)).all()


def test_it_ends_at_the_time_while_the_solver_runs(monkeypatch, tmp_path):
    """`--time-limit` waited for the end of the flow."""
    script = tmp_path / "slow.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    drawn = network(room=ROWS)
    began = time.monotonic()
    with pytest.raises(FlowStopped):
        solver_until(began + 3)(drawn)
    assert 3 <= time.monotonic() - began < LONG_S / 2
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_network_without_a_flow_has_the_error_of_the_solver():
    with pytest.raises(NoFlow, match=r"the arcs cannot carry 20000 units"):
        in_time()(network(room=1))


def test_a_process_that_is_killed_is_an_error(monkeypatch, tmp_path):
    script = tmp_path / "killed.sh"
    script.write_text("#!/bin/sh\nkill -9 $$\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(WorldError, match=r"was ended by signal 9$"):
        in_time()(network())


def test_without_its_parent_it_ends_soon_after_the_time():
    command = [sys.executable, "-P", "-m", solver_process.__name__, "1", "1", "0.5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(timeout=LONG_S) == -signal.SIGALRM
