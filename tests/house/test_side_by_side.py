"""Suites that run at the same time are shown in turn, and one failure fails the whole run."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "side_by_side.py"
WAITS = "import os\nwhile not os.path.exists('there'): pass\n"
CALLS = "open('there', 'w')\n"
PAUSES = "import signal\nsignal.pause()"


def command(code):
    return shlex.join([sys.executable, "-c", code])


def ran(folder, *codes):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(command, codes)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_they_run_at_once_and_are_shown_in_their_order(tmp_path):
    done = ran(
        tmp_path,
        f"print('one begins', flush=True)\n{WAITS}print('one ends')",
        f"import sys\nprint('two', file=sys.stderr, flush=True)\n{CALLS}",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["one begins", "one ends", "two"]


@pytest.mark.parametrize("failing", [(0,), (1,), (0, 1)])
def test_one_that_fails_is_named_and_the_others_go_on_to_their_end(tmp_path, failing):
    codes = [f"print({n}); raise SystemExit({7 if n in failing else 0})" for n in range(2)]
    done = ran(tmp_path, *codes)
    assert done.returncode == 1
    assert done.stdout == "0\n1\n"
    assert done.stderr.splitlines() == [f"failed: {command(codes[n])}" for n in failing]


def test_one_that_dies_of_a_signal_has_failed(tmp_path):
    done = ran(tmp_path, "import os\nos.kill(os.getpid(), 9)", "print('two')")
    assert (done.returncode, done.stdout) == (1, "two\n")


def test_more_than_a_pipe_holds_stops_nobody(tmp_path):
    done = ran(tmp_path, WAITS, f"print('y' * 1_000_000, flush=True)\n{CALLS}")
    assert (done.returncode, len(done.stdout)) == (0, 1_000_001)


def test_sigterm_is_passed_on_to_all(tmp_path):
    codes = [f"{WAITS}print('here', flush=True)\n{PAUSES}", f"{CALLS}{PAUSES}"]
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *map(command, codes)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err.count("failed: "), out) == (1, 2, "")
