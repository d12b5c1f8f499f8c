"""`rackwise diff`: what differs between two snapshots, plans or reassignments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidPlan

if TYPE_CHECKING:
    from rackwise.core.planning.diff import BrokerDiff, Diff, PartitionDiff, Side
    from rackwise.core.policy import Policy

FORMAT = "rackwise.diff/1"
SNAPSHOT, PLAN, REASSIGNMENT = "snapshot", "plan", "reassignment"
"""What a side can be; a reassignment names no format."""

_FORMAT = re.compile(rb'"format"\s*:\s*"rackwise\.(snapshot|plan)/[0-9]+"')


def diff(
    context: typer.Context,
    a: Annotated[Path, typer.Argument(metavar="A", help="A snapshot, plan or reassignment JSON.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one; kinds may differ.")],
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What two snapshots are audited under, TOML."),
    ] = None,
) -> int:
    """Compare replica lists, leaders, brokers, findings and totals of two files.

    Reads only. Exit: 0 equal, 2 they differ, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.core.planning.diff import diff as compare

    with shell.progress("diff", total=3) as advance:
        sides: list[tuple[str, Side]] = []
        for path in (a, b):
            sides.append(side_of(path, max_bytes=shell.max_input))
            advance(1)
        wanted = _policy(shell, policy, sides)
        found = compare(sides[0][1], sides[1][1], wanted)
        advance(1)
    if shell.is_json:
        shell.document(_document(found, [kind for kind, _ in sides]))
    else:
        from rackwise.cli.plan.diff_text import diff_text

        shell.text(diff_text(found, has_color=shell.has_color()))
    return 0 if found.is_equal else 2


def side_of(path: Path, *, max_bytes: int) -> tuple[str, Side]:
    """What kind of file it is, told by its `format`, and what is in it.

    Raises `InvalidConfig` where the path is no readable regular file, `InvalidSnapshot`,
    `InvalidPlan`, `InvalidRack` where the content is not what it says.
    """
    from rackwise.adapters import files

    data = files.read_bytes(path, error=InvalidPlan, max_bytes=max_bytes)
    found = _FORMAT.search(data)
    kind = found[1].decode() if found else REASSIGNMENT
    if kind == SNAPSHOT:
        return kind, files.parse_snapshot(data, where=str(path))
    if kind == PLAN:
        return kind, files.parse_plan(data, where=str(path))
    return kind, files.parse_placement(data, where=str(path))


def _policy(shell: Shell, path: Path | None, sides: list[tuple[str, Side]]) -> Policy:
    from rackwise.core.policy import DEFAULT_POLICY

    if path is None:
        return DEFAULT_POLICY
    from rackwise.adapters import files

    if any(kind != SNAPSHOT for kind, _ in sides):
        shell.warn("--policy is for two snapshots; nothing is audited of other files")
    return files.read_policy(path, max_bytes=shell.max_input).policy


def _document(found: Diff, kinds: list[str]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "a": kinds[0],
        "b": kinds[1],
        "is_equal": found.is_equal,
        "partitions": [_partition(each) for each in found.partitions],
        "brokers": [_broker(each) for each in found.brokers],
        "fixed": [finding.as_dict() for finding in found.fixed],
        "introduced": [finding.as_dict() for finding in found.introduced],
        "totals": {total.name: {"a": total.a, "b": total.b} for total in found.totals},
    }


def _partition(each: PartitionDiff) -> dict[str, Any]:
    sides = {
        side: None
        if lists is None
        else {
            "after": list(lists.after),
            "before": None if lists.before is None else list(lists.before),
            "leader": lists.leader,
        }
        for side, lists in (("a", each.a), ("b", each.b))
    }
    return {"topic": each.topic, "partition": each.partition, "what": each.what, **sides}


def _broker(each: BrokerDiff) -> dict[str, Any]:
    sides = {
        side: None
        if seen is None
        else {"rack": None if seen[0] is None else seen[0].text, "is_live": seen[1]}
        for side, seen in (("a", each.a), ("b", each.b))
    }
    return {"id": each.id, "what": each.what, **sides}
