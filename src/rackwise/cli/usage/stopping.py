"""SIGINT, SIGTERM and SIGHUP: their effect on commands that write and on commands that compute.

A terminal that is closed sends SIGHUP, which ends a command as SIGTERM does. Under `nohup` SIGHUP
is ignored, and stays so.

The first signal asks a command that writes to stop; the second ends it. The handler only records
the signal and writes a byte into a pipe, which ends a wait at once.

The first signal ends a command that computes: while a solver in C runs, Python runs no handler.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, TracebackType
    from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = 3
"""The exit code if something was written."""


def not_ignored(numbers: Iterable[signal.Signals]) -> tuple[signal.Signals, ...]:
    """Those of these signals that nobody told the process to ignore, as `nohup` does."""
    return tuple(each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN)


class Stopping:
    """Handles these signals inside a `with` block, in the main thread."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._has_written = False
        self._before: dict[int, object] = {}
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    @property
    def is_asked(self) -> bool:
        """Whether a signal arrived."""
        return self._number is not None

    @property
    def code(self) -> int:
        """The exit code of a run that a signal ended."""
        if self._has_written or self._number is None:
            return STOPPED
        return 128 + self._number

    def wrote(self) -> None:
        """Record that something was written outside this process."""
        self._has_written = True

    def wait(self, ms: int) -> None:
        """Wait at most this long. A signal ends the wait; an earlier signal does not shorten it."""
        if not self.is_asked:
            select.select([self._reader], [], [], ms / 1000)
        elif ms:
            select.select([], [], [], ms / 1000)

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, *not_ignored([signal.SIGHUP])):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._reader)
        os.close(self._writer)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.is_asked:
            os._exit(self.code)
        self._number = number
        with suppress(OSError):
            os.write(self._writer, b"!")


@contextmanager
def end_on_signal() -> Iterator[None]:
    """Let a signal end the process while the block computes and writes nothing.

    The operating system ends it, without waiting for Python. An ignored signal stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_DFL) for number in not_ignored(SIGNALS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
