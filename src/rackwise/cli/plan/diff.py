"""`rackwise diff`: compares two snapshots, plans or reassignments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from rackwise.cli.shell import Shell
from rackwise.cli.source import PolicyFile
from rackwise.core.errors import InvalidPlan

if TYPE_CHECKING:
    from rackwise.cli.plan.documents import (
        BrokerStateDocument,
        DiffDocument,
        ReplicaListsDocument,
        RuleNotComparedDocument,
    )
    from rackwise.core.planning.diff import Comparable, Diff, FindingsDiff, ReplicaLists
    from rackwise.core.policy import Policy
    from rackwise.core.racks import Rack

FileKind: TypeAlias = Literal["snapshot", "plan", "reassignment"]
"""The kinds of file. A reassignment has no `format` key."""
SNAPSHOT: Final = "snapshot"
PLAN: Final = "plan"
REASSIGNMENT: Final = "reassignment"

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
        sides: list[tuple[FileKind, Comparable]] = []
        for path in (a, b):
            sides.append(read_side(path, max_bytes=shell.max_input))
            advance(1)
        found = compare(sides[0][1], sides[1][1], _policy(shell, policy, sides))
        advance(1)
    if shell.is_json:
        from rackwise.cli.plan.documents import CODEC

        shell.document(_document(found, sides[0][0], sides[1][0]), CODEC)
    else:
        from rackwise.cli.plan.diff_text import diff_text

        shell.text(diff_text(found, has_color=shell.has_color()))
    return 0 if found.is_equal else 2


def read_side(path: Path, *, max_bytes: int) -> tuple[FileKind, Comparable]:
    """Read a file; return its kind, given by its `format` key, and its content.

    Raises `InvalidConfig` for a path that is not a readable regular file, and `InvalidSnapshot`,
    `InvalidPlan` or `InvalidRack` for invalid content.
    """
    from rackwise.adapters import files

    data = files.read_bytes(path, error=InvalidPlan, max_bytes=max_bytes)
    found = _FORMAT.search(data)
    kind = found[1].decode() if found else REASSIGNMENT
    if kind == SNAPSHOT:
        return SNAPSHOT, files.parse_snapshot(data, where=str(path))
    if kind == PLAN:
        return PLAN, files.parse_plan(data, where=str(path))
    return REASSIGNMENT, files.parse_placement(data, where=str(path))


def _policy(shell: Shell, path: Path | None, sides: list[tuple[FileKind, Comparable]]) -> Policy:
    from rackwise.core.policy import DEFAULT_POLICY

    if path is None:
        return DEFAULT_POLICY
    from rackwise.adapters import files

    if any(kind != SNAPSHOT for kind, _ in sides):
        shell.warn("--policy has no effect: only two snapshots are audited")
    return files.read_policy(path, max_bytes=shell.max_input).policy


def _document(found: Diff, a: FileKind, b: FileKind) -> DiffDocument:
    from rackwise.cli.documents import finding_rows
    from rackwise.cli.plan.documents import (
        BrokerDiffDocument,
        DiffDocument,
        PartitionDiffDocument,
        TotalDiffDocument,
    )

    findings = found.findings
    return DiffDocument(
        a=a,
        b=b,
        is_equal=found.is_equal,
        partitions=tuple(
            PartitionDiffDocument(
                topic=each.topic,
                partition=each.partition,
                what=each.what,
                a=_lists_document(each.a),
                b=_lists_document(each.b),
            )
            for each in found.partitions
        ),
        brokers=tuple(
            BrokerDiffDocument(
                id=each.id,
                what=each.what,
                a=_broker_document(each.a),
                b=_broker_document(each.b),
            )
            for each in found.brokers
        ),
        fixed=None if findings is None else finding_rows(findings.fixed),
        introduced=None if findings is None else finding_rows(findings.introduced),
        maybe_fixed=None if findings is None else finding_rows(findings.maybe_fixed),
        maybe_introduced=None if findings is None else finding_rows(findings.maybe_introduced),
        not_compared=None if findings is None else not_compared_rows(findings),
        not_checked=None if findings is None else findings.not_checked,
        totals={total.name: TotalDiffDocument(a=total.a, b=total.b) for total in found.totals},
    )


def not_compared_rows(found: FindingsDiff) -> tuple[RuleNotComparedDocument, ...]:
    """The rules that were not compared, as rows of a document."""
    from rackwise.cli.plan.documents import RuleNotComparedDocument

    return tuple(
        RuleNotComparedDocument(rule=each.rule, a=each.a, b=each.b) for each in found.not_compared
    )


def _lists_document(lists: ReplicaLists | None) -> ReplicaListsDocument | None:
    from rackwise.cli.plan.documents import ReplicaListsDocument

    if lists is None:
        return None
    return ReplicaListsDocument(after=lists.after, before=lists.before, leader=lists.leader)


def _broker_document(broker: tuple[Rack | None, bool] | None) -> BrokerStateDocument | None:
    from rackwise.cli.plan.documents import BrokerStateDocument

    if broker is None:
        return None
    rack, is_live = broker
    return BrokerStateDocument(rack=None if rack is None else rack.text, is_live=is_live)
