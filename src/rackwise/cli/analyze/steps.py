"""Shows the steps of `rackwise analyze` on stderr while they run.

A step is one line when it is done. While it runs, a terminal shows its last state, and each other
stderr gets a line every ten seconds:

```
3/12 silver: flow facts: 41 of 160 tasks, 1,310,720 rows, 104,857 rows/s, 12 s     while it runs
3/12 silver: flow facts  5,250,000 rows, 109,375 rows/s, 48 s                      when it is done
```

Tasks are those of the Spark jobs that run now. Rows are those of finished tasks; without a driver
in this process (Spark Connect), rows are known when the step is done.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rackwise.cli.shell import LINE_EVERY_S, QUIET_S
from rackwise.report.formats import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.cli.shell import Shell
    from rackwise.pipeline.runtime.running import Jobs, Reading

LOOK_EVERY_S = 1.0
COLUMNS = 80
"""Columns of a terminal that does not tell its width."""


class Steps:
    """The running step and its state; see `shown_steps`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._jobs: Jobs | None = None
        self._name: str | None = None
        self._since = self._last_line = 0.0
        self._drawn = 0
        self._lock = threading.Lock()

    def begin(self, number: int, of: int, name: str) -> None:
        """End the running step and begin another one."""
        self.end()
        self.wait_for(f"{number}/{of} {name}")

    def wait_for(self, name: str) -> None:
        """Show work that is no step; a caller ends it with `abandon`."""
        with self._lock:
            self._since = self._last_line = time.monotonic()
            self._name = name

    def end(self) -> None:
        """Print the line of the running step."""
        reading = self._reading()
        with self._lock:
            if self._name is not None:
                seconds = time.monotonic() - self._since
                parts = [*_rows(reading, seconds), f"{seconds:.0f} s"]
                self._erase()
                self._shell.note(f"{self._name}  {', '.join(parts)}")
            self._name = None

    def abandon(self) -> None:
        """Forget the running step, which ended without a result."""
        with self._lock:
            self._erase()
            self._name = None

    def watch(self, jobs: Jobs) -> None:
        """Ask these jobs for the state of a step."""
        self._jobs = jobs

    def show(self) -> None:
        """Show the state of the running step, if it is time."""
        name, now, is_drawn = self._name, time.monotonic(), sys.stderr.isatty()
        wait = QUIET_S if is_drawn else LINE_EVERY_S
        last = self._since if is_drawn else self._last_line
        if name is None or self._shell.is_quiet or now - last < wait:
            return
        reading = self._reading()  # may take a while: it asks Spark
        with self._lock:
            if self._name is not name:
                return
            self._last_line = now
            line = running_line(name, reading, now - self._since)
            if is_drawn:
                self._draw(line[: _columns() - 1])
            else:
                self._shell.note(line)

    def _reading(self) -> Reading | None:
        return self._jobs.look() if self._jobs else None

    def _draw(self, line: str) -> None:
        with suppress(OSError):
            sys.stderr.write(f"\r{line.ljust(self._drawn)}")
            sys.stderr.flush()
        self._drawn = len(line)

    def _erase(self) -> None:
        if self._drawn:
            self._draw("")
            with suppress(OSError):
                sys.stderr.write("\r")


@contextmanager
def shown_steps(shell: Shell) -> Iterator[Steps]:
    """Steps that are shown in the block; a thread looks at the running one each second."""
    steps, is_over = Steps(shell), threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            steps.show()

    thread = threading.Thread(target=look, name="rackwise-steps", daemon=True)
    thread.start()
    try:
        yield steps
    finally:
        is_over.set()
        thread.join(LOOK_EVERY_S)
        steps.abandon()


def running_line(name: str, reading: Reading | None, seconds: float) -> str:
    """The state of a running step.

    >>> running_line("7/11 gold: findings", None, 12.3)
    '7/11 gold: findings: 12 s'
    """
    parts = _rows(reading, seconds)
    if reading and reading.tasks:
        parts.insert(0, f"{reading.done:,} of {count_of(reading.tasks, 'task')}")
    return f"{name}: {', '.join([*parts, f'{seconds:.0f} s'])}"


def _rows(reading: Reading | None, seconds: float) -> list[str]:
    """The rows and their rate; none if the rows are not known."""
    if reading is None or reading.rows is None:
        return []
    rate = reading.rows / seconds if seconds > 0 else 0
    return [count_of(reading.rows, "row"), f"{rate:,.0f} rows/s"]


def _columns() -> int:
    with suppress(OSError, ValueError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    return COLUMNS
