"""The first signal asks, the second ends; a wait ends at once; handlers are as they were after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.usage.stopping import SIGNALS, Stopping, end_on_signal
from small_clusters import small_cluster


@pytest.mark.parametrize("number", SIGNALS)
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


def test_under_nohup_a_closed_terminal_stops_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            stop.wait(1)
            assert not stop.is_asked
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("writes", "code"), [(True, 3), (False, 130)])
def test_the_second_signal_ends_at_once(writes, code):
    script = (
        "import os, signal, sys\n"
        "from rackwise.cli.usage.stopping import Stopping\n"
        "with Stopping() as stop:\n"
        f"    stop.wrote() if {writes} else None\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    sys.exit(77)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == code


HELD = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "import rackwise.core.planning.plan as front\n"
    "from rackwise.cli.main import run\n"
    "def plan(*_, **__):\n"
    "    print('begun', file=sys.stderr, flush=True)\n"
    "    sum(range(10**10))\n"
    "front.plan = plan\n"
    "sys.exit(run(sys.argv[1:]))\n"
)
"""A search in C that lets no other thread and no handler of Python run, as ortools does."""
SOON_S = 20.0


@pytest.mark.parametrize("number", SIGNALS)
def test_a_search_that_holds_python_ends_at_once_and_leaves_nothing(number, tmp_path):
    out = tmp_path / "plan.json"
    snapshot = tmp_path / "snapshot.json"
    write_snapshot(small_cluster({1: "/a", 2: "/b"}, {"t-0": [1], "t-1": [1]}), snapshot)
    words = ["plan", "balance", "--snapshot", str(snapshot), "--out", str(out)]
    command = [sys.executable, "-c", HELD, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "begun\n"
        process.send_signal(number)
        try:
            assert process.wait(timeout=SOON_S) == -number
        finally:
            process.kill()
        assert process.stderr.read() == ""
    assert not out.exists()


class TestEndedAtOnce:
    def test_handlers_are_as_they_were_after_it(self):
        before = [signal.getsignal(number) for number in SIGNALS]
        with end_on_signal():
            assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_DFL}
        assert [signal.getsignal(number) for number in SIGNALS] == before

    def test_what_is_ignored_stays_so(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with end_on_signal():
                assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)

    def test_another_thread_leaves_handlers_alone(self):
        seen = []

        def look():
            with end_on_signal():
                seen.append(signal.getsignal(signal.SIGINT))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert seen == [signal.getsignal(signal.SIGINT)]
