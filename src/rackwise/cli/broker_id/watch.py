"""`rackwise broker-id watch`: a daemon that records which ids are missing."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.broker_id.options import (
    SessionTimeout,
    StoreOptions,
    open_cluster,
)
from rackwise.cli.shell import Shell, Terminated
from rackwise.cli.usage.stopping import not_ignored
from rackwise.core.errors import Unreachable
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from types import FrameType

    from rackwise.adapters.launch.operator import Garbage
    from rackwise.cli.broker_id.documents import WatchEventName
    from rackwise.core.errors import RackwiseError
    from rackwise.core.identity.watch import Watching

RESCAN_S = 3600.0
PATIENCE_S = 5.0
"""The longest time that a read may hang. SIGTERM takes effect after it."""


@with_option_groups()
def watch(
    context: typer.Context,
    gc_every: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=1,
            help="Every S seconds, delete the mappings that broker-id gc lists. The default "
            "is never.",
        ),
    ] = None,
    rescan: Annotated[
        float, typer.Option(metavar="S", min=1, help="Read all topics every S seconds.")
    ] = RESCAN_S,
    session_timeout: SessionTimeout = 10.0,
    *,
    options: StoreOptions,
) -> int:
    """Record which ids are missing, and since when. Runs until SIGTERM.

    Several watchers may run; one of them is the leader. Prints a line for each change,
    or a document with --json. Continues when an unreachable store is reachable again. Exit codes: 0
    after SIGTERM or SIGHUP, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.adapters.clock import monotonic_ms
    from rackwise.adapters.launch import operator
    from rackwise.adapters.launch.watch import run_watcher

    printer = _ChangePrinter(shell)
    is_stopping = False

    def stop(number: int, _frame: FrameType | None) -> None:
        """End at the next check, so that no write is cut. A second signal ends the process now."""
        nonlocal is_stopping
        is_stopping = True
        signal.signal(number, signal.SIG_DFL)

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGTERM, *not_ignored([signal.SIGHUP]))
    }
    try:
        with open_cluster(
            shell,
            options,
            read_only=False,
            session_timeout_s=session_timeout,
            patience_s=PATIENCE_S,
        ) as (opened_store, view):
            due_ms = monotonic_ms()

            def check_stop() -> None:
                nonlocal due_ms
                if is_stopping:
                    _terminate()
                if gc_every is None or monotonic_ms() < due_ms:
                    return
                due_ms = monotonic_ms() + int(gc_every * 1000)
                for each in operator.garbage(
                    opened_store, view, apply=True, has_registrations=not options.is_kraft
                ):
                    printer.print_deleted(each)

            run_watcher(
                opened_store,
                view,
                name=f"{os.uname().nodename} {os.getpid()}",
                rescan_ms=int(rescan * 1000),
                on_rest=printer.print_changes,
                check_stop=check_stop,
                on_error=printer.warn_once,
            )
    except Terminated:
        shell.note("stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _terminate() -> NoReturn:
    raise Terminated


@dataclass(slots=True)
class _ChangePrinter:
    """Prints what has changed since it printed last."""

    shell: Shell
    is_leading: bool | None = None
    missing: frozenset[int] = field(default_factory=frozenset)
    ongoing: frozenset[str] = field(default_factory=frozenset)

    def warn_once(self, error: RackwiseError) -> None:
        """Warn of an error, and not again until it is over."""
        name = f"{type(error).__name__} {error.where}"
        if name not in self.ongoing:
            self.ongoing |= {name}
            self.shell.warn(f"{escaped(error.message)}; {error.hint}; the watcher continues")

    def print_changes(self, state: Watching) -> None:
        """Print a change of the lead, and ids that are newly missing or back."""
        if any(name.startswith(Unreachable.__name__) for name in self.ongoing):
            self.shell.note("the store answers again")
        self.ongoing = frozenset()
        is_leading = state.led is not None
        if is_leading != self.is_leading:
            self.is_leading = is_leading
            self._print("leads" if is_leading else "follows", None, None)
        if not is_leading:
            self.missing = frozenset()
            return
        for each in sorted(state.missing - self.missing):
            self._print("missing", each, None)
        for each in sorted(self.missing - state.missing):
            self._print("returned", each, None)
        self.missing = state.missing

    def print_deleted(self, found: Garbage) -> None:
        """Print a mapping that was deleted."""
        if found.is_deleted:
            self._print("collected", found.mapping.broker_id, found.mapping.key)

    def _print(self, kind: WatchEventName, number: int | None, key: str | None) -> None:
        if self.shell.is_json:
            from rackwise.cli.broker_id.documents import IdWatchDocument

            self.shell.document(IdWatchDocument(type=kind, id=number, key=key))
            return
        of = "" if number is None else f" id {number}"
        self.shell.text(f"{kind}{of}" + ("" if key is None else f" of {escaped(key)}"))
