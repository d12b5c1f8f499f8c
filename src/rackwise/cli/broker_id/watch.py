"""`rackwise broker-id watch`: the daemon that sees ids go missing."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rackwise.cli.broker_id.options import (
    Bootstrap,
    CommandConfig,
    Place,
    ServerProperties,
    StoreConfigFile,
    StoreUrl,
    opened,
)
from rackwise.cli.shell import Shell, Terminated
from rackwise.core.errors import Unreachable
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from types import FrameType

    from rackwise.adapters.launch.operator import Garbage
    from rackwise.core.errors import RackwiseError
    from rackwise.core.identity.watch import Watching

RESCAN_S = 3600.0
PATIENCE_S = 5.0
"""So long a read may hang, and with it the answer to SIGTERM."""


def watch(
    context: typer.Context,
    gc_every: Annotated[
        float | None,
        typer.Option(metavar="S", min=1, help="Delete garbage each S seconds; by default never."),
    ] = None,
    rescan: Annotated[
        float, typer.Option(metavar="S", min=1, help="Read all topics each S seconds.")
    ] = RESCAN_S,
    session_timeout: Annotated[
        float, typer.Option(metavar="S", min=1, help="Of the session with the store.")
    ] = 10.0,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """Watch for ids that go missing, and write down since when; runs until SIGTERM.

    Several may run, one leads. Prints a line for each change, under --json one document. Goes on
    where the store was away. Exit: 0 after SIGTERM, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    from rackwise.adapters.clock import monotonic_ms
    from rackwise.adapters.launch import operator
    from rackwise.adapters.launch.watch import watch as watch_store

    teller = _Teller(shell)
    is_over = False

    def end(number: int, _frame: FrameType | None) -> None:
        """At rest the next round ends it, so that no write is cut; a second signal ends it now."""
        nonlocal is_over
        is_over = True
        signal.signal(number, signal.SIG_DFL)

    before = signal.signal(signal.SIGTERM, end)
    try:
        with opened(
            shell,
            place,
            read_only=False,
            session_timeout_s=session_timeout,
            patience_s=PATIENCE_S,
        ) as (opened_store, view):
            due_ms = monotonic_ms()

            def each_round() -> None:
                nonlocal due_ms
                if is_over:
                    _end()
                if gc_every is None or monotonic_ms() < due_ms:
                    return
                due_ms = monotonic_ms() + int(gc_every * 1000)
                for each in operator.garbage(
                    opened_store, view, apply=True, has_registrations=not place.is_kraft
                ):
                    teller.collected(each)

            watch_store(
                opened_store,
                view,
                name=f"{os.uname().nodename} {os.getpid()}",
                rescan_ms=int(rescan * 1000),
                tell=teller.rested,
                each_round=each_round,
                trouble=teller.trouble,
            )
    except Terminated:
        shell.note("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _end() -> NoReturn:
    raise Terminated


@dataclass(slots=True)
class _Teller:
    """Tells what has changed since it was last told."""

    shell: Shell
    is_leading: bool | None = None
    missing: frozenset[int] = field(default_factory=frozenset)
    outlived: frozenset[str] = field(default_factory=frozenset)

    def trouble(self, error: RackwiseError) -> None:
        """Warn, once until it is over."""
        name = f"{type(error).__name__} {error.where}"
        if name not in self.outlived:
            self.outlived |= {name}
            self.shell.warn(f"{escaped(error.message)}; {error.hint}; watch goes on")

    def rested(self, state: Watching) -> None:
        """Tell of the lead and of ids, where they are not as before."""
        if any(name.startswith(Unreachable.__name__) for name in self.outlived):
            self.shell.note("the store answers again")
        self.outlived = frozenset()
        is_leading = state.led is not None
        if is_leading != self.is_leading:
            self.is_leading = is_leading
            self._tell("leads" if is_leading else "follows", None, None)
        if not is_leading:
            self.missing = frozenset()
            return
        for each in sorted(state.missing - self.missing):
            self._tell("missing", each, None)
        for each in sorted(self.missing - state.missing):
            self._tell("returned", each, None)
        self.missing = state.missing

    def collected(self, found: Garbage) -> None:
        """Tell of a mapping that was deleted."""
        if found.is_deleted:
            self._tell("collected", found.mapping.broker_id, found.mapping.key)

    def _tell(self, kind: str, number: int | None, key: str | None) -> None:
        if self.shell.is_json:
            from rackwise.cli.broker_id.text import WATCHED

            self.shell.document({"format": WATCHED, "type": kind, "id": number, "key": key})
            return
        of = "" if number is None else f" id {number}"
        self.shell.text(f"{kind}{of}" + ("" if key is None else f" of {escaped(key)}"))
