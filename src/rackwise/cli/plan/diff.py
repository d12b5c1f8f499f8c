"""`rackwise diff`: compares two snapshots, plans or reassignments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.shell import Shell
from rackwise.cli.source import PolicyFile
from rackwise.core.errors import InvalidPlan

if TYPE_CHECKING:
    from rackwise.core.planning.diff import BrokerDiff, Comparable, Diff, PartitionDiff
    from rackwise.core.policy import Policy

FORMAT = "rackwise.diff/1"
SNAPSHOT, PLAN, REASSIGNMENT = "snapshot", "plan", "reassignment"
"""The kinds of file. A reassignment has no `format` key."""

_FORMAT = re.compile(rb'"format"\s*:\s*"rackwise\.(snapshot|plan)/[0-9]+"')


def diff(
    context: typer.Context,
    a: Annotated[
        Path, typer.Argument(metavar="A", help="A snapshot, a plan or a reassignment JSON.")
    ],
    b: Annotated[
        Path,
        typer.Argument(metavar="B", help="The file to compare A with. It may be of another kind."),
    ],
    policy: PolicyFile = None,
) -> int:
    """Compare replica lists, leaders, brokers, findings and totals of two files.

    Two snapshots are audited under --policy. Reads only. Exit codes: 0 equal, 2 different, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.core.planning.diff import diff as compare

    with shell.progress("diff", total=3) as advance:
        sides: list[tuple[str, Comparable]] = []
        for path in (a, b):
            sides.append(read_side(path, max_bytes=shell.max_input))
            advance(1)
        found = compare(sides[0][1], sides[1][1], _policy(shell, policy, sides))
        advance(1)
    if shell.is_json:
        shell.document(_document(found, [kind for kind, _ in sides]))
    else:
        from rackwise.cli.plan.diff_text import diff_text

        shell.text(diff_text(found, has_color=shell.has_color()))
    return 0 if found.is_equal else 2


def read_side(path: Path, *, max_bytes: int) -> tuple[str, Comparable]:
    """Read a file; return its kind, which its `format` key tells, and its content.

    Raises `InvalidConfig` for a path that is not a readable regular file, and `InvalidSnapshot`,
    `InvalidPlan` or `InvalidRack` for invalid content.
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


def _policy(shell: Shell, path: Path | None, sides: list[tuple[str, Comparable]]) -> Policy:
    from rackwise.core.policy import DEFAULT_POLICY

    if path is None:
        return DEFAULT_POLICY
    from rackwise.adapters import files

    if any(kind != SNAPSHOT for kind, _ in sides):
        shell.warn("--policy has no effect: only two snapshots are audited")
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
