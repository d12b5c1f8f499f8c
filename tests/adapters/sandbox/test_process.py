"""Servers under a guard, with small programs in place of Java."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from process_states import is_alive, state
from rackwise.adapters.sandbox import guard
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.core.errors import ServerDied

SLEEP = [shutil.which("sleep"), "600"]
PARENT = """
import os, sys
from pathlib import Path
from rackwise.adapters.sandbox.process import ServerProcess
servers = [ServerProcess(name=n, command={command}, folder=Path({folder!r})) for n in "ab"]
for server in servers:
    server.start()
heir = os.fork() if {forks} else None
if heir != 0:
    print(*(server.pid for server in servers), *([heir] if heir else []), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def serve(tmp_path):
    """Make servers that end with the test: `serve(command)`."""
    made = []

    def serve(command):
        made.append(ServerProcess(name="broker 3", command=command, folder=tmp_path))
        return made[-1]

    yield serve
    for server in made:
        server.close()


@pytest.fixture
def parent(tmp_path):
    """A process that starts two servers: gives it, and the pids it printed."""
    started = []

    def parent(*, forks):
        text = PARENT.format(command=SLEEP, folder=str(tmp_path), forks=forks)
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        return process, [int(pid) for pid in process.stdout.readline().split()]

    yield parent
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)


class TestLifeOfAServer:
    def test_it_starts_and_stops_and_starts_again_as_another_process(self, serve):
        server = serve(SLEEP)
        assert not server.is_running
        assert server.exit_status is None
        server.start()
        first = server.pid
        assert server.is_running
        server.start()
        assert server.pid == first
        server.stop()
        assert not server.is_running
        assert server.exit_status == 128 + signal.SIGTERM
        assert not is_alive(first)
        server.start()
        assert server.is_running
        assert server.pid != first

    def test_killed_here_it_has_not_died_killed_by_another_it_has(self, serve):
        server = serve(SLEEP)
        server.start()
        server.kill()
        assert server.exit_status == 128 + signal.SIGKILL
        assert not server.has_died
        server.start()
        os.kill(server.pid, signal.SIGKILL)
        assert wait_until_true(lambda: server.has_died, 10)
        assert server.exit_status == 128 + signal.SIGKILL

    def test_paused_it_stands_still_and_hears_a_stop_all_the_same(self, serve):
        server = serve(SLEEP)
        server.start()
        server.pause()
        assert wait_until_true(lambda: state(server.pid) == "T", 10)
        assert server.is_running
        assert not server.is_awake
        server.resume()
        assert wait_until_true(lambda: state(server.pid) == "S", 10)
        assert server.is_awake
        server.pause()
        server.stop()
        assert server.exit_status == 128 + signal.SIGTERM

    def test_a_server_that_ignores_sigterm_is_killed(self, serve):
        server = serve(["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"])
        server.start()
        assert wait_until_true(lambda: server.log_tail(1) == ["ready"], 10)
        server.stop(timeout_s=0.2)
        assert server.exit_status == 128 + signal.SIGKILL

    def test_the_children_of_a_server_end_with_it(self, serve):
        server = serve(["/bin/sh", "-c", "sleep 600 & echo $!; wait"])
        server.start()
        assert wait_until_true(lambda: len(server.log_tail(1)) == 1, 10)
        child = int(server.log_tail(1)[0])
        assert is_alive(child)
        server.kill()
        assert wait_until_true(lambda: not is_alive(child), 10)

    def test_ctrl_c_does_not_reach_it(self, serve):
        server = serve(SLEEP)
        server.start()
        assert os.getpgid(server.pid) == server.pid
        assert os.getsid(server.pid) != os.getsid(0)


class TestDeath:
    def test_the_error_has_status_and_last_lines_without_frames(self, serve, tmp_path):
        say = r"printf 'early\nERROR no such setting\n\tat kafka.Kafka\nCaused by: 7\n' >&2; exit 3"
        server = serve(["/bin/sh", "-c", say])
        server.start()
        assert wait_until_true(lambda: server.has_died, 10)
        error = server.death_error()
        assert error.message == "broker 3 ended by itself with exit status 3"
        assert (error.wanted, error.had) == ("running", "exit status 3")
        assert error.where == str(tmp_path / "server.log")
        assert error.hint.splitlines() == [
            f"the last lines of {tmp_path / 'server.log'}:",
            "early",
            "ERROR no such setting",
            "Caused by: 7",
        ]

    def test_a_program_that_is_not_there_is_told_at_the_start(self, serve):
        server = serve(["/no/such/java", "-version"])
        with pytest.raises(ServerDied) as caught:
            server.start()
        assert "No such file or directory: '/no/such/java'" in caught.value.hint

    def test_the_log_goes_on_over_restarts_and_its_tail_is_bounded(self, serve):
        server = serve(["/bin/sh", "-c", "echo one; echo two; echo three"])
        assert server.log_tail(5) == []
        for times in (1, 2):
            server.start()
            assert wait_until_true(lambda: server.has_died, 10)
            assert server.log_tail(10) == ["one", "two", "three"] * times
        assert server.log_tail(2) == ["two", "three"]


class TestNothingIsLeftRunning:
    def test_when_the_parent_is_killed(self, parent):
        process, pids = parent(forks=False)
        assert len(pids) == 2
        assert all(is_alive(pid) for pid in pids)
        process.kill()
        assert wait_until_true(lambda: not any(is_alive(pid) for pid in pids), 10)

    def test_when_the_parent_is_killed_and_a_fork_of_it_holds_the_pipes(self, parent):
        process, (*pids, heir) = parent(forks=True)
        process.kill()
        assert wait_until_true(lambda: not any(is_alive(pid) for pid in pids), 10)
        assert is_alive(heir)

    def test_when_the_parent_ends_without_a_word(self, parent):
        process, pids = parent(forks=False)
        process.stdin.close()
        assert process.wait(10) == 0
        assert wait_until_true(lambda: not any(is_alive(pid) for pid in pids), 10)

    if sys.platform == "linux":

        def test_when_the_guard_itself_is_killed(self, serve):
            server = serve(SLEEP)
            server.start()
            server._guard.kill()
            assert wait_until_true(lambda: not is_alive(server.pid), 10)


def test_the_guard_needs_nothing_but_the_standard_library():
    source = Path(guard.__file__).read_text(encoding="utf-8")
    assert "rackwise" not in source
