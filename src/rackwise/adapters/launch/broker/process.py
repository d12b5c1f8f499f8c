"""The process of the broker: started without a shell, signalled, and awaited.

```
systemd, container ──TERM──> rackwise ──TERM──> COMMAND        its own process group
                   <──status─         <──status─
```

Between start and end, signals that are meant for the broker go to the broker: TERM, INT, HUP, USR1
and USR2 are sent on to its process group, so a script in between cannot swallow them. Ctrl-C at the
terminal reaches only rackwise, which sends it on once. The child inherits no descriptor except
stdout and stderr: a lock on an inherited file would outlive this process. On Linux the child gets
SIGTERM when this process ends (`dies_with_parent.py`).

The environment of the child has `RACKWISE_BROKER_ID`. `{broker.id}` in an argument becomes the id.
NOTIFY_SOCKET is removed, because rackwise reports readiness itself.
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

from rackwise.adapters import dies_with_parent
from rackwise.core.errors import InvalidConfig, ServerDied
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Self

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ID_PLACEHOLDER = "{broker.id}"
STOP_S = 60.0
"""A child that still runs this long after SIGTERM is killed."""
KILL_S = 10.0
LOOK_S = 1.0
"""The longest time until a signal is sent on."""


def check_command(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise `InvalidConfig` if the command cannot be found. Starts nothing."""
    if not command:
        raise InvalidConfig(
            "expected a command after --, got none",
            wanted="COMMAND",
            had="",
            hint="add -- bin/kafka-server-start.sh server.properties",
        )
    if shutil.which(command[0], path=environment.get("PATH", os.defpath)) is None:
        raise InvalidConfig(
            f"invalid command: expected an executable file, got {escaped(command[0])!r}",
            wanted="an executable file",
            had=command[0],
            hint="use the full path, and check the mode of the file",
        )


def with_id(command: Sequence[str], broker_id: int) -> tuple[str, ...]:
    """Return the command with the id in place of `{broker.id}`.

    >>> with_id(("start", "--override", "node.id={broker.id}"), 7)
    ('start', '--override', 'node.id=7')
    """
    return tuple(each.replace(ID_PLACEHOLDER, str(broker_id)) for each in command)


class Child:
    """One run of a command. `with Child(...) as child` starts it and never leaves it behind.

    `command` is the argument vector, `environment` the environment of this process. Signals are
    sent on only if the main thread starts the child, because other threads receive none.
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
        """The process id, which is also its group id; None before the start."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the child. From now on it receives the signals. Raises `InvalidConfig`."""
        check_command(self.command, self._environment)
        self._install_handlers()
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
            self._restore_handlers()
            raise
        for number in self._early:
            self.send(number)

    def status(self, timeout_s: float = 0.0) -> int | None:
        """Return the exit status, 128 + n for signal n; None if it still runs after that time."""
        if self._process is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        status = self._process.returncode
        return status if status is None or status >= 0 else 128 - status

    def wait(self) -> int:
        """Wait for the end, however long, and return the exit status as `status` does.

        A signal that another thread gets, or that arrives between Python's last check and a system
        call, is handled only after that call. No call lasts longer than `LOOK_S`.
        """
        while self._process is not None and self.status() is None:
            self._wait_a_while()
        return self.status() or 0

    def send(self, number: int) -> None:
        """Send a signal to the whole group. Does nothing after the end of the child."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def stop(self, timeout_s: float = STOP_S) -> int:
        """Send SIGTERM, and SIGKILL after `timeout_s`; return the status. Raises `ServerDied`."""
        self.send(signal.SIGTERM)
        if self.status(timeout_s) is None:
            self.send(signal.SIGKILL)
        status = self.status(KILL_S)
        if status is None:
            raise ServerDied(
                f"the command still runs {KILL_S:.0f} s after SIGKILL",
                wanted="ended",
                had="running",
                hint=f"inspect process {self.pid}",
            )
        return status

    def close(self) -> None:
        """Stop the child if it runs, and handle signals in this process again."""
        try:
            if self._process is not None and self.status() is None:
                self.stop()
        finally:
            self._restore_handlers()

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
        """Wait until the child has ended, at most `LOOK_S`."""
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

    def _install_handlers(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in FORWARDED:
            self._handlers[number] = signal.signal(number, self._send_on)

    def _restore_handlers(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # as signal.signal gave it
        self._handlers.clear()

    def _send_on(self, number: int, _frame: FrameType | None) -> None:
        """Send a signal on. Must not block: it runs between any two lines of this process."""
        if self._process is None:
            self._early.append(number)
        else:
            self.send(number)
