"""Steps as processes: their exit codes, their words, their end."""

import os
import signal
import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from rackwise.adapters.clock import monotonic_ms
from rackwise.adapters.nightly_steps import (
    TIMED_OUT,
    StepNotStarted,
    StepProcess,
    cause_of,
    close_all,
)
from rackwise.core.errors import WorldError

PATIENCE_MS = 60_000


def step(tmp_path, *words):
    return StepProcess(words, environ=os.environ, scratch=tmp_path, now_ms=monotonic_ms())


def end_of(process, limit_ms=PATIENCE_MS):
    while (found := process.ended(monotonic_ms(), limit_ms=limit_ms)) is None:
        time.sleep(0.02)
    return found


@pytest.fixture
def silent():
    """The address of a server that accepts connections and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_what_a_step_prints_is_kept_and_leaves_no_file(tmp_path):
    found = end_of(step(tmp_path, "--version"))
    assert (found.exit, found.reason) == (0, None)
    assert found.stdout.startswith(b"rackwise ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_the_reason_is_the_error_and_its_hint_is_kept_beside_it(tmp_path, words):
    found = end_of(step(tmp_path, *words, "audit", "--snapshot", str(tmp_path / "no.json")))
    assert found.exit == 1
    assert found.reason is not None
    assert found.reason.startswith("error: ")
    assert "no.json" in found.reason
    source = end_of(step(tmp_path, *words, "audit"))
    assert source.reason.startswith("error: expected exactly one of --snapshot and ")
    assert source.hint.startswith("--snapshot FILE reads a file, ")


@pytest.mark.parametrize(
    ("stderr", "reason", "hint"),
    [
        ("", None, None),
        ("hint: x\n", "hint: x", None),
        ("Killed\n", "Killed", None),
        ("error: first\nhint: one\nerror: last\n", "error: last", None),
        ("hint: one\nerror: last\nhint: two\nmore\n", "error: last", "two"),
        ("error: last\nmore\nhint: two\n", "error: last", None),
        ('{"message": "m", "hint": "h"}\n', "error: m", "h"),
        ('{"message": "m", "hint": null}\n', "error: m", None),
        ('{"message": "m", "hint": 7}\n', "error: m", None),
        ("{torn\nhint: h\n", "{torn", "h"),
        (f"error: {'x' * 500}\nhint: {'y' * 500}\n", f"error: {'x' * 393}", "y" * 400),
    ],
)
def test_the_hint_is_that_of_the_last_error(stderr, reason, hint):
    assert cause_of(stderr) == (reason, hint)


def test_a_step_that_takes_too_long_is_ended(tmp_path, silent):
    words = ("snapshot", "--bootstrap-server", silent, "--out", str(tmp_path / "s.json"))
    found = end_of(step(tmp_path, *words), limit_ms=200)
    assert (found.exit, found.reason) == (TIMED_OUT, "it did not end within 0.2 s")
    assert not (tmp_path / "s.json").exists()


def test_a_step_ended_by_a_signal_has_its_number(tmp_path, silent):
    words = ("snapshot", "--bootstrap-server", silent, "--out", str(tmp_path / "s.json"))
    process = step(tmp_path, *words)
    process._process.send_signal(signal.SIGKILL)
    assert end_of(process).exit == 128 + signal.SIGKILL


def test_closing_ends_the_step(tmp_path, silent):
    words = ("snapshot", "--bootstrap-server", silent, "--out", str(tmp_path / "s.json"))
    process = step(tmp_path, *words)
    process.close()
    assert process._process.poll() is not None


def test_a_folder_that_takes_no_file_is_an_error_of_the_world(tmp_path):
    with pytest.raises(WorldError, match="cannot start a step"):
        step(tmp_path / "gone", "--version")


def test_a_step_that_the_system_does_not_start_is_an_error_and_leaves_no_open_file(tmp_path):
    before = sorted(path.name for path in Path("/proc/self/fd").iterdir())
    with pytest.raises(StepNotStarted, match="started no process: Argument list too long"):
        step(tmp_path, "x" * 2**20)
    assert sorted(path.name for path in Path("/proc/self/fd").iterdir()) == before


def test_steps_that_are_closed_together_are_all_asked_before_any_is_waited_for(tmp_path, silent):
    words = ("snapshot", "--bootstrap-server", silent, "--out", str(tmp_path / "s.json"))
    first, second = step(tmp_path, *words), step(tmp_path, *words)
    asked = []
    for each in (first, second):
        terminate, close = each.terminate, each.close
        each.terminate = lambda each=each, do=terminate: (asked.append(each), do())
        each.close = lambda limit_s, do=close: (asked.append("wait"), do(limit_s))
    close_all([first, second])
    assert asked[:3] == [first, second, "wait"]
    assert [each._process.poll() is None for each in (first, second)] == [False, False]
