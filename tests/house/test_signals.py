"""The suites pass if signals are ignored: in the background of a shell, or under `nohup`."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CHILD = "import signal, sys; print(signal.getsignal(int(sys.argv[1])) is signal.SIG_IGN)"
PARENT = f"""
import subprocess, sys
sys.path.insert(0, {str(TESTS)!r})
import conftest
subprocess.run([sys.executable, "-c", {CHILD!r}, sys.argv[1]], check=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_what_the_tests_start_does_not_inherit_an_ignored_signal(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(int(number))], stdout=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(number, before)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "False\n")
