"""`rackwise throttles`: every replication throttle of a cluster, and its owner."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from rackwise.cli.apply.journal_lines import read_lines
from rackwise.cli.apply.options import Bootstrap
from rackwise.cli.apply.text import key_text
from rackwise.cli.shell import Shell
from rackwise.cli.source import CommandConfig, connected, utc_now
from rackwise.cli.usage.stopping import STOPPED, Stopping
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.adapters.files.journal import Journal
    from rackwise.adapters.kafka.applying.world import World
    from rackwise.cli.apply.documents import ThrottleDocument
    from rackwise.core.applying.model import Entry, ThrottleKey

Owner: TypeAlias = Literal["ours", "changed since", "not ours"]
"""Whether a run of this tool set a throttle."""
OURS: Final = "ours"
CHANGED: Final = "changed since"
THEIRS: Final = "not ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleRow:
    """One throttle that is set."""

    key: ThrottleKey
    value: str
    owner: Owner
    plan: str | None = None
    """SHA-256 of the plan whose journal has the key; None: no journal has it."""


def throttles(
    context: typer.Context,
    bootstrap_server: Bootstrap,
    command_config: CommandConfig = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Clear the throttles that runs of this tool left.")
    ] = False,
) -> int:
    """List the replication throttles of the cluster, and which of them this tool has left.

    Exit codes: 0 no throttle of this tool is left, 2 some are left, 3 some could not be cleared, 1
    error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.state_folder import cluster_folder, locked, state_home

    with ExitStack() as stack:
        admin = stack.enter_context(connected(bootstrap_server, command_config))
        from rackwise.adapters.kafka.applying.world import World

        world = World(admin=admin)
        folder = cluster_folder(state_home(os.environ), world.cluster_id() or "")
        if restore and folder.exists():
            stack.enter_context(locked(folder, since=utc_now(), command="throttles"))
        journals = _journals(stack, folder)
        if restore:
            _restore(world, journals)
        rows = _rows(world, _ledger(journals))
        left = sum(row.owner == OURS for row in rows) or len(_ledger(journals))
    _show(shell, rows)
    if not left:
        return 0
    return STOPPED if restore else 2


def _journals(stack: ExitStack, folder: Path) -> list[Journal]:
    """The journals in a cluster's folder, in the order of their names. Raises `InvalidPlan`."""
    from rackwise.adapters.files.journal import open_journal

    return [
        stack.enter_context(closing(open_journal(folder, path.stem)))
        for path in sorted(folder.glob("*.journal"))
    ]


def _ledger(journals: list[Journal]) -> dict[ThrottleKey, tuple[Entry, str]]:
    """Key -> our entry of it, and the plan of that entry."""
    from rackwise.core.applying.start import history_of

    return {
        key: (entry, journal.path.stem)
        for journal in journals
        for key, entry in history_of(read_lines(journal)).ledger.items()
    }


def _restore(world: World, journals: list[Journal]) -> None:
    """Clear the throttles of each journal. Raises the errors of the cluster."""
    from rackwise.adapters.kafka.applying.driver import drive
    from rackwise.core.applying.start import start_restore

    with Stopping() as stop:
        for journal in journals:
            state = start_restore(read_lines(journal))
            if state.ledger and not stop.is_asked:
                drive(state, world, journal, stop=stop, at=utc_now, on_state=lambda _: None)


def _rows(world: World, ledger: Mapping[ThrottleKey, tuple[Entry, str]]) -> list[ThrottleRow]:
    rows = []
    for key, value in sorted(world.all_throttles().items()):
        entry, plan = ledger.get(key, (None, None))
        owner: Owner = THEIRS if entry is None else OURS if value in entry.ours else CHANGED
        rows.append(ThrottleRow(key=key, value=value, owner=owner, plan=plan))
    return rows


def _show(shell: Shell, rows: list[ThrottleRow]) -> None:
    if shell.is_json:
        from rackwise.cli.apply.documents import ThrottlesDocument

        shell.document(ThrottlesDocument(throttles=tuple(map(_document, rows))))
        return
    lines = [
        f"{key_text(row.key)}  {escaped(row.value)}  {row.owner}"
        + (f", plan {row.plan[:12]}" if row.plan else "")
        for row in rows
    ]
    shell.text("\n".join(lines) or "no throttle is set")


def _document(row: ThrottleRow) -> ThrottleDocument:
    from rackwise.cli.apply.documents import ThrottleDocument

    return ThrottleDocument(
        kind=row.key.kind,
        name=row.key.name,
        key=row.key.key,
        value=row.value,
        owner=row.owner,
        plan=row.plan,
    )
