"""The first signal asks, the second ends; a wait ends at once; handlers are as they were after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from rackwise.cli.stopping import Stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_wait_and_is_remembered(number):
    before = signal.getsignal(number)
    with Stopping() as stop:
        assert not stop.is_asked
        sender = threading.Timer(0.05, os.kill, (os.getpid(), number))
        sender.start()
        stop.wait(10**7)
        assert stop.is_asked
        assert stop.code == 128 + number
        stop.wait(1)
        stop.wrote()
        assert stop.code == 3
        sender.join()
    assert signal.getsignal(number) is before


def test_without_a_signal_a_wait_comes_to_its_end():
    with Stopping() as stop:
        stop.wait(1)
        stop.wait(0)
        assert not stop.is_asked
        assert stop.code == 3


@pytest.mark.parametrize(("writes", "code"), [(True, 3), (False, 130)])
def test_the_second_signal_ends_at_once(writes, code):
    script = (
        "import os, signal, sys\n"
        "from rackwise.cli.stopping import Stopping\n"
        "with Stopping() as stop:\n"
        f"    stop.wrote() if {writes} else None\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    sys.exit(77)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == code
