"""`rackwise status`: where every move of a plan stands; reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from rackwise.cli.applied import Site, at_site
from rackwise.cli.applied_text import class_lines, classes_text, key_text, partition_rows
from rackwise.cli.apply_meter import progress_text
from rackwise.cli.apply_options import Bootstrap, PlanFile, Target
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig

if TYPE_CHECKING:
    from rackwise.core.applying.status import Status

FORMAT = "rackwise.status/1"


def status(
    context: typer.Context,
    plan: PlanFile,
    bootstrap_server: Bootstrap,
    client_config: ClientConfig = None,
) -> int:
    """Say of each move of a plan whether it is done, moving, not begun, or changed by others.

    Works without a journal too; then what moves is nobody's that is known here. Reads only.
    Exit: 0 all done, 2 not yet, 1 error.
    """
    shell: Shell = context.obj
    target = Target(path=plan, bootstrap=bootstrap_server, client_config=client_config)
    with at_site(shell, target, is_reading=True) as site:
        found = _looked(site)
        _show(shell, site, found)
    return 0 if found.is_done and not found.throttles else 2


def _looked(site: Site) -> Status:
    """What the journal says, and what the cluster shows now."""
    from rackwise.core.applying.status import status_of

    which = [(move.topic, move.partition) for move in site.plan.moves]
    return status_of(site.plan, site.lines, site.world.look(which))


def _show(shell: Shell, site: Site, found: Status) -> None:
    if shell.is_json:
        shell.document(_document(site, found))
        return
    lines = [classes_text(found.classes.values()), progress_text(found)]
    lines += class_lines(found.classes, {}, {})
    lines += [f"throttle  {key_text(key)}" for key in sorted(found.throttles)]
    shell.text("\n".join(lines))


def _document(site: Site, found: Status) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "plan": site.plan.sha256,
        "cluster_id": site.plan.cluster_id,
        "moves": len(found.classes),
        "counts": dict(found.counts),
        "partitions": partition_rows(found.classes, {}, {}),
        "bytes": found.bytes,
        "bytes_left": found.left.total,
        "unknown_sizes": found.left.unknown,
        "eta_s": found.eta.seconds,
        "bound_by": found.eta.bound_by,
        "throttles": [list(key) for key in sorted(found.throttles)],
        "has_journal": bool(site.journal.entries),
    }
