"""The broker's process under us: started without a shell, signalled, watched to its end.

```
systemd, container ──TERM──> rackwise ──TERM──> COMMAND        its own process group
                   <──status─         <──status─
```

Between spawn and end a signal that is meant for the broker is the broker's: TERM, INT, HUP, USR1
and USR2 go on to its process group, so that a script between us and it does not swallow them. A
Ctrl-C of the terminal reaches us alone, and through us the command, once. The child inherits no
descriptor but stdout and stderr: a lock on a file that it inherited would outlive us. On Linux it
gets SIGTERM when we are gone (`dies_with_parent.py`).

`RACKWISE_BROKER_ID` is in its environment, `{broker.id}` in an argument becomes the id, and
NOTIFY_SOCKET is taken away: readiness is ours to tell.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from rackwise.adapters.launch.broker import dies_with_parent
from rackwise.core.errors import InvalidConfig, ServerDied
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Self

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
PLACE_OF_ID = "{broker.id}"
STOP_S = 60.0
"""A child that has not ended this long after SIGTERM is killed, where we have to leave it."""
KILL_S = 10.0
LOOK_S = 1.0
"""A signal is passed on this late at the latest."""


def check_command(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise `InvalidConfig` where the command cannot be found; nothing is started."""
    if not command:
        raise InvalidConfig(
            "expected a command after --, got none",
            wanted="COMMAND",
            had="",
            hint="-- bin/kafka-server-start.sh server.properties",
        )
    if shutil.which(command[0], path=environment.get("PATH", os.defpath)) is None:
        raise InvalidConfig(
            f"invalid command: expected an executable file, got {escaped(command[0])!r}",
            wanted="an executable file",
            had=command[0],
            hint="give its whole path, and look at its mode",
        )


def with_id(command: Sequence[str], broker_id: int) -> tuple[str, ...]:
    """The command with the id where it says `{broker.id}`.

    >>> with_id(("start", "--override", "node.id={broker.id}"), 7)
    ('start', '--override', 'node.id=7')
    """
    return tuple(each.replace(PLACE_OF_ID, str(broker_id)) for each in command)


class Child:
    """One run of a command; `with Child(...) as child` starts it and never leaves it behind.

    `command`: its argument vector; `environment`: ours, as a mapping. Signals are passed on where
    the main thread starts it: another thread gets none.
    """

    def __init__(
        self, command: Sequence[str], *, broker_id: int, environment: Mapping[str, str]
    ) -> None:
        self.command = with_id(command, broker_id)
        self._environment = {
            **{name: value for name, value in environment.items() if name != "NOTIFY_SOCKET"},
            "RACKWISE_BROKER_ID": str(broker_id),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._handlers: dict[signal.Signals, object] = {}

    @property
    def pid(self) -> int | None:
        """Its process id, which is its group's too; None before it was started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it; signals are its own from before it exists. Raises `InvalidConfig`."""
        check_command(self.command, self._environment)
        self._take_signals()
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the operator's own command)
                [
                    sys.executable,
                    "-I",
                    "-S",
                    dies_with_parent.__file__,
                    str(os.getpid()),
                    *self.command,
                ],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                close_fds=True,
                process_group=0,
            )
        except BaseException:
            self._give_signals_back()
            raise
        for number in self._early:
            self.send(number)

    def status(self, timeout_s: float = 0.0) -> int | None:
        """What it ended with, 128 + n for signal n; None where it still runs after that time."""
        if self._process is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        status = self._process.returncode
        return status if status is None or status >= 0 else 128 - status

    def wait(self) -> int:
        """Wait for its end, however long; its status as `status` gives it.

        A signal that another thread gets, or that comes between Python's last look for one and a
        system call, is heard only after that call: none lasts longer than `LOOK_S`.
        """
        while self._process is not None and self.status() is None:
            self._wait_a_while()
        return self.status() or 0

    def send(self, number: int) -> None:
        """Signal its whole group; nothing where it has ended."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def stop(self, timeout_s: float = STOP_S) -> int:
        """SIGTERM, then SIGKILL after `timeout_s`; its status. Raises `ServerDied`."""
        self.send(signal.SIGTERM)
        if self.status(timeout_s) is None:
            self.send(signal.SIGKILL)
        status = self.status(KILL_S)
        if status is None:
            raise ServerDied(
                f"the command still runs {KILL_S:.0f} s after SIGKILL",
                wanted="ended",
                had="running",
                hint=f"look at process {self.pid}",
            )
        return status

    def close(self) -> None:
        """Stop it where it runs, and hear signals ourselves again."""
        try:
            if self._process is not None and self.status() is None:
                self.stop()
        finally:
            self._give_signals_back()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _wait_a_while(self) -> None:
        """Until the child has ended, but no longer than `LOOK_S`."""
        if self._process is None:
            return
        if not hasattr(os, "pidfd_open"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_S)
            return
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self._process.pid)
            try:
                poller = select.poll()
                poller.register(handle, select.POLLIN)
                poller.poll(LOOK_S * 1000)
            finally:
                os.close(handle)

    def _take_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in PASSED_ON:
            self._handlers[number] = signal.signal(number, self._pass_on)

    def _give_signals_back(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # as signal.signal gave it
        self._handlers.clear()

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        """Not a method that may block: it runs between two lines of whatever we do."""
        if self._process is None:
            self._early.append(number)
        else:
            self.send(number)
