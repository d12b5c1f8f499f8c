"""A flow that is searched in a process of its own, and ends at a given time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from process_states import is_alive, state
from rackwise.adapters import solver_process
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.adapters.solver_process import solver_until
from rackwise.core.errors import MissingDependency, NoFlow, OptimumTooLarge, WorldError
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


def script(tmp_path, text):
    """A shell script as the interpreter of the other process."""
    found = tmp_path / "python.sh"
    found.write_text(f"#!/bin/sh\n{text}\n")
    found.chmod(0o700)
    return str(found)


def slow(tmp_path):
    """A process that writes its id, and no flow."""
    return script(
        tmp_path, f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid\nexec sleep 600"
    )


def test_it_ends_at_the_time_while_the_solver_runs(monkeypatch, tmp_path):
    """`--time-limit` waited for the end of the flow."""
    monkeypatch.setattr(sys, "executable", slow(tmp_path))
    drawn = network(room=ROWS)
    began = time.monotonic()
    with pytest.raises(FlowStopped):
        solver_until(began + 3)(drawn)
    assert 3 <= time.monotonic() - began < LONG_S / 2
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_interrupt_ends_the_process_and_its_clock(monkeypatch, tmp_path):
    """A caller that catches it waited for the time limit when it ended."""
    pid = tmp_path / "pid"

    def interrupt(*_):
        assert wait_until_true(pid.exists, LONG_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "executable", slow(tmp_path))
    monkeypatch.setattr(solver_process, "_exchange", interrupt)
    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        in_time()(network())
    assert wait_until_true(lambda: not is_alive(int(pid.read_text())), LONG_S)
    assert wait_until_true(lambda: threads >= set(threading.enumerate()), LONG_S)


PARENT = """
import subprocess, time
from rackwise.adapters import solver_process
from test_solver_process import in_time, network

def never_send(process, _):
    # The other process reads on after the end of this one.
    holder = subprocess.Popen(["sleep", "600"], pass_fds=[process.stdin.fileno()])
    print(process.pid, holder.pid, flush=True)
    time.sleep(600)

solver_process._exchange = never_send
in_time()(network())
"""


AT_ONCE_S = LONG_S / 4 if sys.platform == "linux" else LONG_S + solver_process.LATE_S + 15
"""How soon it ends after its parent. Only Linux can tie the two: elsewhere the time limit does."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_parent(number):
    """It went on for the rest of the time limit."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])},
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        pid, holder = map(int, parent.stdout.readline().split())
        try:
            assert wait_until_true(lambda: state(pid) == "S", LONG_S)
            parent.send_signal(number)
            assert parent.wait(LONG_S) == -number
            assert wait_until_true(lambda: not is_alive(pid), AT_ONCE_S)
        finally:
            os.kill(holder, signal.SIGKILL)


def test_a_network_without_a_flow_has_the_error_of_the_solver():
    with pytest.raises(NoFlow, match=r"the arcs cannot carry 20000 units"):
        in_time()(network(room=1))


def test_costs_that_are_too_large_have_the_error_of_the_solver():
    drawn = network()
    drawn.costs[0] = 2**61
    with pytest.raises(OptimumTooLarge) as here:
        cheapest_flow(drawn)
    with pytest.raises(OptimumTooLarge) as there:
        in_time()(drawn)
    assert there.value.as_dict() == here.value.as_dict()


def test_a_missing_solver_is_named(monkeypatch, tmp_path):
    (tmp_path / "ortools.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MissingDependency, match="ortools is not installed") as error:
        in_time()(network())
    assert error.value.hint == "pip install rackwise"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("printf 'Traceback\\nMemoryError\\n\\n' >&2; exit 1", "exit code 1: MemoryError$"),
        ("exit 2", "exit code 2: no message$"),
    ],
)
def test_a_process_that_fails_is_an_error(monkeypatch, tmp_path, text, told):
    """The flow was searched here, without a limit."""
    monkeypatch.setattr(sys, "executable", script(tmp_path, text))
    monkeypatch.setattr(solver_process, "cheapest_flow", None)
    with pytest.raises(WorldError, match=f"^the process that searches ended with {told}") as error:
        in_time()(network())
    assert error.value.hint == "omit --time-limit to search without this process"


def test_a_process_that_is_killed_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", script(tmp_path, "kill -9 $$"))
    with pytest.raises(WorldError, match=r"was ended by signal 9$"):
        in_time()(network())


def test_without_its_parent_it_ends_soon_after_the_time():
    """Where the system cannot end it with its parent."""
    numbers = (str(os.getpid()), "1", "1", "0.5")
    command = [sys.executable, "-P", "-m", solver_process.__name__, *numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(timeout=LONG_S) == -signal.SIGALRM
