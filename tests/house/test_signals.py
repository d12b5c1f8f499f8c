"""The suites pass where SIGINT is ignored: in the background of a shell, or under `nohup`."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASE = "tests/cli/test_main.py::TestSignals::test_ctrl_c_while_packages_load_shows_no_traceback"


def test_a_test_of_ctrl_c_passes_where_sigint_is_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", CASE],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
