"""The section of plans: what each plan repairs, what it costs, and whether it is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.core.traffic import usd_of
from rackwise.report.formats import (
    bytes_text,
    count_of,
    count_text,
    name_text,
    usd_text,
)
from rackwise.report.sentences import is_fleet, monthly_change
from rackwise.report.tables import (
    Cell,
    Column,
    Table,
    bytes_column,
    count_column,
    file_column,
    name_column,
    table,
    usd_change_cell,
    usd_column,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.report.sentences import Row, Summary

FILE: Final = "csv/plans.csv"
NOT_REQUESTED: Final = "No plans were requested (--no-plans)"
GOALS: Final[Mapping[str, str]] = {
    "repair": "Goal repair: every partition that breaks a rule is repaired, and nothing else moves",
    "balance": "Goal balance: no rule is broken, and brokers have even loads",
}


def planned_rows(summary: Summary) -> Sequence[Row]:
    """Clusters with a plan, in descending order of moves."""
    rows = [row for row in _rows(summary) if row["status"] == "planned"]
    return sorted(rows, key=lambda row: (-row["moves"], row["cluster"]))


def _rows(summary: Summary) -> Sequence[Row]:
    part = summary["plans"]
    return part["rows"] if part else ()


def plans(summary: Summary) -> Table:
    """One plan per row: its proof, what moves, and the one-time cost."""
    columns = (
        *([name_column("cluster", "Cluster")] if is_fleet(summary) else []),
        name_column("verdict", "Proof"),
        count_column("moves", "Replicas to move"),
        Column("bound", "No plan below", "number", _bound_cell),
        count_column("partitions", "Partitions that change"),
        count_column("leader_changes", "New leaders"),
        bytes_column("bytes", "To copy"),
        bytes_column("cross_bytes", "Crossing part"),
        usd_column("usd", "USD once"),
        Column("monthly_usd", "Replication per 30 days", "number", usd_change_cell),
        Column("monthly_reads_usd", "Reads per 30 days", "number", usd_change_cell),
        file_column("file", "Plan file"),
    )
    rows = [
        {**row, "bound": (row["minimise"], row["lower_bound"])} for row in planned_rows(summary)
    ]
    return table(
        "plans",
        "Plans and their proofs",
        columns,
        rows,
        file=FILE,
        sums=("moves",),
    )


def _bound_cell(bound: tuple[str, int | None]) -> Cell:
    """The lower bound, in the unit of the plan's objective."""
    minimise, count = bound
    if count is None or minimise == "moves":
        return Cell(count_text(count))
    text = bytes_text(count) if minimise == "bytes" else usd_text(usd_of(count))
    return Cell(text, value=str(count))


def unplanned(summary: Summary) -> Table:
    """Clusters without a plan, and the reason."""
    columns = (
        name_column("cluster", "Cluster"),
        name_column("status", "Outcome"),
        name_column("reason", "Why"),
        name_column("hint", "What to do"),
    )
    rows = [row for row in _rows(summary) if row["status"] != "planned"]
    return table("unplanned", "Clusters without a plan", columns, rows, file=FILE)


def outcome(summary: Summary, *, has_dollars: bool = True) -> str:
    """A sentence: what all plans together move and cost, and whether that is proved."""
    part = summary["plans"]
    missing = part["clusters"] - part["planned"]
    without = f"no plan for {count_of(missing, 'cluster')}"
    if not part["planned"]:
        return without
    clauses = [
        f"{part['goal']} moves {count_of(part['moves'], 'replica')}"
        + _price(part, has_dollars=has_dollars)
    ]
    if part["proved"] == part["planned"]:
        clauses.append("proved: no plan costs less")
    else:
        clauses.append(
            f"{count_text(part['proved'])} of {count_of(part['planned'], 'plan')} proved"
        )
    return "; ".join([*clauses, *([without] if missing else [])])


def _price(part: Row, *, has_dollars: bool) -> str:
    """The one-time cost of the moves and the change of the monthly bill, as far as known."""
    known = [bytes_text(part["bytes"])] if part["bytes"] is not None else []
    if has_dollars and part["usd"] is not None:
        known.append(f"{usd_text(part['usd'])} once")
    if has_dollars and known:
        known.append(monthly_change(part))
    return f" ({', '.join(known)})" if known and part["moves"] else ""


def monthly_notes(summary: Summary) -> tuple[str, ...]:
    """Why the monthly change of replication or reads is not known, and what would make it known."""
    part = summary["plans"]
    if part is None:
        return ()
    return tuple(
        f"The change of {what} in 30 days is not known for {count_of(monthly['unknown'], 'plan')}. "
        f"{name_text(monthly['reason'])}"
        for what, monthly in (("replication", part["monthly"]), ("reads", part["monthly_reads"]))
        if monthly["unknown"]
    )


def commands(summary: Summary) -> tuple[str, ...]:
    """Commands that prove and execute the first plan; other plans differ in the file name only."""
    files = [name_text(row["file"]) for row in planned_rows(summary) if row["moves"]][:1]
    return tuple(
        line
        for file in files
        for line in (
            f"rackwise proof {file} --snapshot SNAPSHOT",
            f"rackwise apply {file} --bootstrap-server HOST:PORT --throttle 50MB",
        )
    )
