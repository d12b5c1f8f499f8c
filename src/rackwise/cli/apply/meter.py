"""The progress of a run on stderr: partitions, bytes, rate, time left, and the limiting broker.

A terminal shows a bar; otherwise a line is printed every ten seconds. Partitions of unknown size
are counted separately.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rackwise.cli.apply.text import rate_text
from rackwise.cli.shell import LINE_EVERY_S, QUIET_S
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.model import ApplyState
    from rackwise.core.applying.status import Status

DRAW_EVERY_S = 0.2
WIDE = 110
BAR_WIDTH, SHORT_BAR = 20, 6
"""Columns of the bar, on a wide terminal and on another."""
GAPS = 2
"""Columns between the label, the bar and the text."""


class RunMeter:
    """Receives each state of a run and shows its progress from time to time."""

    def __init__(self, shell: Shell, label: str) -> None:
        self._shell = shell
        self._label = label
        self._started = time.monotonic()
        self._printed_s = self._started - LINE_EVERY_S + QUIET_S
        self._pauses: tuple[str, ...] = ()
        self._request: str | None = None
        self._rejected: str | None = None
        self._bar: Any = None
        self._room = 0

    def update(self, state: ApplyState) -> None:
        """Show the state after one step."""
        if state.rate_rejected not in {None, self._rejected}:
            why = escaped(state.rate_rejected or "")
            self._shell.warn(
                f"the throttle is not set on all brokers, the {self._label} goes on: {why}"
            )
        self._rejected = state.rate_rejected
        if self._shell.is_quiet:
            return
        if state.pauses != self._pauses:
            self._pauses = state.pauses
            reasons = "; ".join(state.pauses)
            self._shell.note(
                f"paused, starting no new move: {reasons}" if reasons else "continuing"
            )
        if state.rate_request not in {None, self._request}:
            self._request = state.rate_request
            self._shell.note(f"throttle: {rate_text(state.rate or 0)} at each broker from now on")
        now = time.monotonic()
        if now - self._started < QUIET_S:
            return
        from rackwise.core.applying.status import status_of_run

        is_terminal = sys.stderr.isatty()
        if now - self._printed_s < (DRAW_EVERY_S if is_terminal else LINE_EVERY_S):
            return
        self._printed_s = now
        if is_terminal:
            self._draw(status_of_run(state))
        else:
            self._shell.note(f"{self._label}: {progress_text(status_of_run(state))}")

    def _draw(self, status: Status) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            console = Console(stderr=True, no_color=not self._shell.has_color(stderr=True))
            bar_width = BAR_WIDTH if console.width >= WIDE else SHORT_BAR
            self._room = console.width - bar_width - len(self._label) - GAPS
            self._bar = Progress(
                TextColumn(self._label, markup=False),
                BarColumn(bar_width=bar_width),
                TextColumn("{task.description}", markup=False),
                console=console,
                transient=True,
            )
            self._bar.add_task("", total=max(1, _in_all(status)))
            self._bar.start()
        text = progress_in_width(status, self._room)
        self._bar.update(self._bar.task_ids[0], completed=_over(status), description=text)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def progress_text(status: Status, *, has_bound: bool = True) -> str:
    """`12/40 partitions, 3.20 GiB of 9.60 GiB left, 50.0 MiB/s, 66 s left (incoming of broker 4)`.

    With unknown sizes: `left: 3.20 GiB and 2 partitions of unknown size, at least 66 s left`.
    Partitions that are not part of this run are not counted.
    """
    from rackwise.report.formats import bytes_text, sizes_text

    left = status.left
    parts = [
        f"{_over(status)}/{_in_all(status)} partitions",
        f"left: {sizes_text(left.total, left.unknown)}"
        if left.unknown
        else f"{bytes_text(left.total)} of {bytes_text(status.bytes)} left",
    ]
    if status.bytes_per_s:
        parts.append(f"{bytes_text(status.bytes_per_s)}/s")
    if status.eta.seconds:
        bound = f" ({status.eta.bound_by})" if has_bound else ""
        least = "at least " if left.unknown else ""
        parts.append(f"{least}{status.eta.seconds} s left{bound}")
    return ", ".join(parts)


def progress_in_width(status: Status, room: int) -> str:
    """The same in this many columns: without the limiting broker, then cut."""
    whole, short = (progress_text(status, has_bound=has_bound) for has_bound in (True, False))
    if len(whole) <= room:
        return whole
    return short if len(short) <= room else f"{short[: max(0, room - 1)]}…"


def _over(status: Status) -> int:
    """Partitions for which nothing is left to do."""
    return _in_all(status) - sum(status.counts.get(each, 0) for each in ("not_started", "moving"))


def _in_all(status: Status) -> int:
    return len(status.classes) - status.counts.get("dropped", 0)
