"""One server process: started under a guard, signalled, watched, with its log."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING

from rackwise.adapters.sandbox import guard
from rackwise.core.errors import ServerDied

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STOP_S = 30.0
"""A server that has not ended this long after SIGTERM is killed."""
KILL_S = 10.0
HINT_LINES = 15
HINT_LOOKS_AT = 1000
LINE_LENGTH = 300


class ServerProcess:
    """A Java server that can be started and stopped repeatedly; its output goes to one log file.

    `name` is its name in messages (`broker 3`); `command` is its argument vector.
    """

    def __init__(self, *, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.command = tuple(command)
        self.folder = folder
        self.log = folder / "server.log"
        self.pid: int | None = None
        self.should_run = False
        self.is_paused = False
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether its process exists, paused or not yet ready included."""
        return self._guard is not None and self._guard.poll() is None

    @property
    def has_died(self) -> bool:
        """Whether it ended by itself: started, and not stopped or killed since."""
        return self.should_run and not self.is_running

    @property
    def is_awake(self) -> bool:
        """Whether it runs and is not paused."""
        return self.is_running and not self.is_paused

    @property
    def exit_status(self) -> int | None:
        """Exit status of the last process, 128 + n for signal n; None while it runs."""
        status = None if self._guard is None else self._guard.poll()
        return status if status is None or status >= 0 else 128 - status

    def start(self) -> None:
        """Start the process; it is ready later. Does nothing while it runs. Raises `ServerDied`."""
        if self.is_running:
            return
        self.close()
        self.should_run, self.is_paused = True, False
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(  # noqa: S603 (the command is ours)
                [sys.executable, "-I", "-S", guard.__file__, *self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        pid = self._guard.stdout.readline() if self._guard.stdout is not None else b""
        if not pid:
            self._guard.wait(KILL_S)
            raise self.death_error()
        self.pid = int(pid)

    def stop(self, timeout_s: float = STOP_S) -> None:
        """SIGTERM and wait; SIGKILL after `timeout_s`. A paused server is resumed first."""
        self.should_run = False
        self._send(signal.SIGTERM)
        self.resume()
        if not self._has_ended(timeout_s):
            self.kill()

    def send_sigkill(self) -> None:
        """SIGKILL without waiting, for many servers at once."""
        self.should_run = self.is_paused = False
        self._send(signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL and wait. Raises `ServerDied` if the process does not end."""
        self.send_sigkill()
        if not self._has_ended(KILL_S):
            raise ServerDied(
                f"{self.name} still exists {KILL_S:.0f} s after SIGKILL",
                hint=f"look at process {self.pid}",
            )

    def pause(self) -> None:
        """SIGSTOP: the server keeps its sockets and answers nothing."""
        self.is_paused = True
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.is_paused = False
        self._send(signal.SIGCONT)

    def close(self) -> None:
        """Kill the process and free the pipes."""
        if self._guard is None:
            return
        self.kill()
        for pipe in (self._guard.stdin, self._guard.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def log_tail(self, lines: int) -> list[str]:
        """The last log lines, oldest first; empty before the first output."""
        try:
            with self.log.open(encoding="utf-8", errors="replace") as log:
                return [line.rstrip("\n")[:LINE_LENGTH] for line in deque(log, maxlen=lines)]
        except FileNotFoundError:
            return []

    def death_error(self) -> ServerDied:
        """The error for a server that ended by itself; its hint has the last log lines."""
        return ServerDied(
            f"{self.name} ended by itself with exit status {self.exit_status}",
            wanted="running",
            had=f"exit status {self.exit_status}",
            hint=self.log_hint(),
            where=str(self.log),
        )

    def log_hint(self) -> str:
        """The last log lines as a hint, without indented lines (stack frames and settings)."""
        lines = [line for line in self.log_tail(HINT_LOOKS_AT) if not line.startswith("\t")]
        return "\n".join([f"the last lines of {self.log}:", *lines[-HINT_LINES:]])

    def _send(self, number: signal.Signals) -> None:
        if self._guard is None or self._guard.stdin is None or not self.is_running:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._guard.stdin.fileno(), b"%d\n" % number)

    def _has_ended(self, timeout_s: float) -> bool:
        if self._guard is None:
            return True
        try:
            self._guard.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True
