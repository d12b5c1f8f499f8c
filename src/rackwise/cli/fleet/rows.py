"""What a command did with every cluster: one document, or a table with a row per cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rackwise.cli.fleet.documents import (
    CODEC,
    AuditedClusterDocument,
    ClusterErrorDocument,
    FleetAuditDocument,
    FleetPlanDocument,
    FleetSnapshotDocument,
    PlannedClusterDocument,
    TakenSnapshotDocument,
)
from rackwise.cli.tables import columns_text
from rackwise.core.errors import Conflict
from rackwise.core.rules import RULES
from rackwise.core.text import escaped
from rackwise.core.twins import TWINS_HINT, twins, twins_text
from rackwise.report.formats import sizes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.audit.documents import AuditDocument, SnapshotSummaryDocument
    from rackwise.cli.fleet.documents import FleetClusterDocument
    from rackwise.cli.fleet.side_by_side import ClusterOutcome
    from rackwise.cli.shell import Shell
    from rackwise.core.fleet_file import FleetFile
    from rackwise.core.planning.model import Plan

Row = TypeVar("Row", bound="FleetClusterDocument")
Outcomes = dict[str, "ClusterOutcome"]
"""Cluster name -> what became of it, in order of the fleet file."""

UNKNOWN = "?"
"""A figure of a cluster that failed."""


def show_snapshots(shell: Shell, fleet: FleetFile, outcomes: Outcomes) -> Outcomes:
    """Show the snapshots of a fleet; the outcomes, in which two names of one cluster fail."""
    taken: Mapping[str, SnapshotSummaryDocument | None] = _first_documents(outcomes)
    outcomes, warnings = without_twins(
        outcomes, {name: None if one is None else one.cluster_id for name, one in taken.items()}
    )
    rows = tuple(
        TakenSnapshotDocument(**_common(fleet, name, one), snapshot=taken[name])
        for name, one in outcomes.items()
    )
    document = FleetSnapshotDocument(fleet=fleet.name, warnings=warnings, clusters=rows)

    def cells(row: TakenSnapshotDocument) -> list[str]:
        one = row.snapshot
        if one is None:
            return [*[UNKNOWN] * 4, ""]
        counts = (one.brokers, one.racks, one.topics, one.partitions)
        return [*map(str, counts), escaped(one.file)]

    header = ("brokers", "racks", "topics", "partitions", "file")
    _show(shell, document, rows, header, cells)
    return outcomes


def show_audits(shell: Shell, fleet: FleetFile, outcomes: Outcomes) -> Outcomes:
    """Show the audits of a fleet; the outcomes, in which two names of one cluster fail."""
    audits: Mapping[str, AuditDocument | None] = _first_documents(outcomes)
    outcomes, warnings = without_twins(
        outcomes, {name: None if one is None else one.cluster_id for name, one in audits.items()}
    )
    rows = tuple(
        AuditedClusterDocument(**_common(fleet, name, one), audit=audits[name])
        for name, one in outcomes.items()
    )
    document = FleetAuditDocument(fleet=fleet.name, warnings=warnings, clusters=rows)
    severities = ("error", "warning", "info")

    def cells(row: AuditedClusterDocument) -> list[str]:
        one = row.audit
        if one is None:
            return [UNKNOWN] * 5
        found = [
            sum(count for rule, count in one.counts.items() if RULES[rule].severity == severity)
            for severity in severities
        ]
        losses = one.blast_radius
        offline = str(max(loss.offline for loss in losses)) if losses else UNKNOWN
        return [str(one.partitions), *map(str, found), offline]

    header = ("partitions", "errors", "warnings", "infos", "offline if a rack is lost")
    _show(shell, document, rows, header, cells)
    return outcomes


def show_plans(
    shell: Shell, fleet: FleetFile, outcomes: Outcomes, files: Mapping[str, Path]
) -> Outcomes:
    """Show the plans of a fleet, which are in `files`; the outcomes, as `show_snapshots`."""
    from rackwise.adapters.files import read_plan

    plans: dict[str, Plan | None] = {
        name: None if one.error is not None else read_plan(files[name], max_bytes=shell.max_input)
        for name, one in outcomes.items()
    }
    outcomes, warnings = without_twins(
        outcomes, {name: None if one is None else one.cluster_id for name, one in plans.items()}
    )
    rows = tuple(
        PlannedClusterDocument(
            **_common(fleet, name, one),
            file=None if plans[name] is None else str(files[name]),
            totals=None if plan is None else plan.totals,
        )
        for (name, one), plan in zip(outcomes.items(), plans.values(), strict=True)
    )
    document = FleetPlanDocument(fleet=fleet.name, warnings=warnings, clusters=rows)

    def cells(row: PlannedClusterDocument) -> list[str]:
        sums = row.totals
        if sums is None:
            return [*[UNKNOWN] * 4, ""]
        return [
            str(sums.moves),
            str(sums.partitions),
            str(sums.leader_changes),
            sizes_text(sums.bytes, sums.unknown_sizes),
            escaped(row.file or ""),
        ]

    header = ("replicas", "partitions", "leaders", "bytes", "file")
    _show(shell, document, rows, header, cells)
    return outcomes


def without_twins(
    outcomes: Outcomes, ids: Mapping[str, str | None]
) -> tuple[Outcomes, tuple[str, ...]]:
    """The outcomes, in which every name of a cluster with several names fails, and the warnings.

    `ids`: name -> cluster id; None: not known.
    """
    found, warnings = dict(outcomes), []
    for cluster_id, names in twins(ids).items():
        text = twins_text(cluster_id, names)
        warnings.append(f"{text}; {TWINS_HINT}")
        for name in names:
            found[name] = replace(found[name], exit=1, error=Conflict(text, hint=TWINS_HINT))
    return found, tuple(warnings)


def _first_documents(outcomes: Outcomes) -> dict[str, Any]:
    return {name: next(iter(one.documents), None) for name, one in outcomes.items()}


def _common(fleet: FleetFile, name: str, outcome: ClusterOutcome) -> dict[str, Any]:
    """The fields of a `FleetClusterDocument`, by name."""
    error = outcome.error
    return {
        "name": name,
        "owner": fleet.cluster(name).owner,
        "exit": outcome.exit,
        "error": None
        if error is None
        else ClusterErrorDocument(
            error=type(error).__name__, message=error.message, hint=error.hint
        ),
    }


def _show(
    shell: Shell,
    document: object,
    rows: Sequence[Row],
    header: Sequence[str],
    cells: Callable[[Row], Sequence[str]],
) -> None:
    """Print the document, or a table and the errors. `cells`: row -> text of each column."""
    if shell.is_json:
        shell.document(document, CODEC)
    else:
        has_owner = any(row.owner is not None for row in rows)
        lines = []
        for row in rows:
            owner = [escaped(row.owner or "")] if has_owner else []
            lines.append([row.name, *owner, *cells(row)])
        names = ["cluster", "owner"] if has_owner else ["cluster"]
        last = len(names) + len(header) - (header[-1] == "file")
        shell.text(columns_text([*names, *header], lines, numbers=range(len(names), last)))
    for row in rows:
        if row.error is not None:
            hint = "" if row.error.hint is None else f"; {escaped(row.error.hint)}"
            shell.warn(f"{row.name} failed: {escaped(row.error.message)}{hint}")
