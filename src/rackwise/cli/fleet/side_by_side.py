"""Runs one command for several clusters at once, each within a time limit.

```
at most 2 at once     prod-eu  |-----|
limit 15 min          prod-us  |-- .. --x  no answer: reported as failed, its thread is abandoned
                      lab             |---|
```

A thread cannot be stopped. One that is abandoned is a daemon: it does not keep the process alive.
What it still writes is whole, because every file is written whole or not at all.
"""

# ruff: noqa: D102, ARG002 (what Shell says of a method holds here too)

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from rackwise.cli.shell import Shell
from rackwise.core.errors import MemoryExhausted, RackwiseError, Unreachable
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwise.core.json.codec import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShell(Shell):
    """The output of a command for one cluster of several: documents are kept, warnings named."""

    name: str
    outer: Shell
    documents: list[object] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits for the command any more."""

    @classmethod
    def within(cls, outer: Shell, name: str) -> ClusterShell:
        """A shell for one cluster with the settings of the whole run."""
        return cls(
            name=name,
            outer=outer,
            is_json=True,
            is_quiet=outer.is_quiet,
            is_debug=outer.is_debug,
            color=outer.color,
            max_input_text=outer.max_input_text,
        )

    @override
    def document(self, document: object, codec: Codec | None = None) -> None:
        self.documents.append(document)

    @override
    def data(self, text: str) -> None:
        """Drop it: data of several clusters would be no document."""

    @override
    def text(self, text: str) -> None:
        """Drop it: what a fleet shows are documents."""

    @override
    def note(self, text: str) -> None:
        if not self.is_over.is_set():
            self.outer.note(f"{self.name}: {text}")

    @override
    def warn(self, text: str) -> None:
        if not self.is_over.is_set():
            self.outer.warn(f"{self.name}: {text}")

    @override
    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show nothing: the run shows each cluster that ends."""
        yield lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """What became of the command for one cluster."""

    exit: int
    error: RackwiseError | None = None
    documents: tuple[object, ...] = ()


def run_side_by_side(
    shell: Shell,
    works: Mapping[str, Callable[[ClusterShell], int]],
    *,
    label: str,
    at_once: int,
    limit_s: float,
) -> dict[str, ClusterOutcome]:
    """Run each work in a thread of its own; cluster name -> what became of it, in order of `works`.

    `at_once`: threads that run at the same time; `limit_s`: seconds for each cluster. No error is
    raised: it is the outcome of its cluster.
    """
    ended: SimpleQueue[tuple[str, ClusterOutcome]] = SimpleQueue()
    waiting = deque(works.items())
    running: dict[str, tuple[float, ClusterShell]] = {}
    found: dict[str, ClusterOutcome] = {}
    with shell.progress(label, total=len(works)) as advance:
        while waiting or running:
            while waiting and len(running) < at_once:
                name, work = waiting.popleft()
                own = ClusterShell.within(shell, name)
                running[name] = (time.monotonic() + limit_s, own)
                threading.Thread(target=_run, args=(own, work, ended), daemon=True).start()
            for name, outcome in _next_ended(running, ended, limit_s):
                if running.pop(name, None) is None:
                    continue
                found[name] = outcome
                advance(1)
                said = "done" if outcome.error is None else "failed"
                shell.note(f"{name}: {said} ({len(found)} of {len(works)})")
    return {name: found[name] for name in works}


def _next_ended(
    running: Mapping[str, tuple[float, ClusterShell]],
    ended: SimpleQueue[tuple[str, ClusterOutcome]],
    limit_s: float,
) -> list[tuple[str, ClusterOutcome]]:
    """Wait for the next cluster that ends; where none does in time, those over their limit."""
    end = min(end for end, _ in running.values())
    try:
        return [ended.get(timeout=max(0.0, end - time.monotonic()))]
    except Empty:
        now = time.monotonic()
        late = [(name, own) for name, (end, own) in running.items() if end <= now]
    for _, own in late:
        own.is_over.set()
    return [(name, _timed_out(limit_s)) for name, _ in late]


def _timed_out(limit_s: float) -> ClusterOutcome:
    error = Unreachable(
        f"no result within {limit_s:g} s",
        wanted=f"a result within {limit_s:g} s",
        had="none",
        hint="run the command with --cluster for this cluster alone, or raise --cluster-timeout",
    )
    return ClusterOutcome(exit=error.exit_code, error=error)


def _run(
    own: ClusterShell,
    work: Callable[[ClusterShell], int],
    ended: SimpleQueue[tuple[str, ClusterOutcome]],
) -> None:
    try:
        outcome = ClusterOutcome(exit=work(own), documents=tuple(own.documents))
    except RackwiseError as error:
        outcome = ClusterOutcome(exit=error.exit_code, error=error)
    except Exception as error:  # noqa: BLE001 (it is the outcome of its cluster)
        if own.is_debug and not own.is_over.is_set():
            traceback.print_exc()
        summary = f"internal error: {type(error).__name__}: {error}".partition("\n")[0]
        hint = "run again with --debug and report the output"
        internal = RackwiseError(escaped(summary), hint=hint)
        outcome = ClusterOutcome(exit=1, error=MemoryExhausted.of(error) or internal)
    ended.put((own.name, outcome))
