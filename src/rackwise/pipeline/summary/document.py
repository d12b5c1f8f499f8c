"""The summary document of a run, `rackwise.summary/1`, which is the only input of a report.

The document is JSON: counts are integers, dollars are texts with nine digits, days and times are
ISO 8601, and unknown values are null. A long table has its first 1,000 rows and the first 20 of
every cluster; `rows` has the number of all rows, and the CSV files have all rows. Days, kinds and
levels are summed over all clusters and are complete. The same input gives the same document.

What this does not do: run Spark; see `job`. Write CSV files; see `csv_tables`.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rackwise.core.audit import sum_unsafe, unsafe_partitions
from rackwise.core.traffic import exact_usd_text, known_sum, nano_of
from rackwise.pipeline.bill.history import history_part
from rackwise.pipeline.bill.model import ROLL_UPS, Bill
from rackwise.pipeline.bill.reconciliation import reconciliation_part
from rackwise.pipeline.bill.savings import savings_part
from rackwise.pipeline.columns.table_rows import TableRows, leading_places
from rackwise.pipeline.summary.bill_sums import (
    cross_by_cluster,
    quality_part,
    totals_part,
    unattributed_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.history import StandingDay
    from rackwise.pipeline.audit.findings import ClusterFindings
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import FailedSnapshot, Snapshot
    from rackwise.pipeline.ingest.row_outcomes import RowOutcomes
    from rackwise.pipeline.plans.fleet_plans import Plans

FORMAT = "rackwise.summary/1"
SHOWN = 1_000
"""Maximum rows of a long table in the document, over all clusters."""
EACH = 20
"""Rows of a long table that the document has of every cluster, if there are so many."""
SUMMED = ("bytes_local", "bytes_cross", "bytes_unknown", "usd", "usd_high", "share")
"""Columns that are summed when rows of several clusters are merged."""
SHARE_DIGITS = 15
LISTED = ("by_topic", "by_group", "by_owner", "by_pair")
"""Roll-ups with a CSV file, whose rows belong to one cluster each; the others are merged."""


def document(
    *,
    run_id: str,
    fleet: Fleet,
    snapshots: Iterable[Snapshot],
    levels: Sequence[str],
    audits: Sequence[ClusterFindings],
    ranked: Mapping[str, Any],
    blast: Sequence[Mapping[str, Any]],
    bill: Bill | None,
    days: Sequence[StandingDay],
    outcomes: RowOutcomes,
    options: Mapping[str, Any],
    extrapolate: bool,
    versions: Mapping[str, str],
    failed: Iterable[FailedSnapshot],
    notes: Sequence[str],
) -> dict[str, Any]:
    """The document.

    `snapshots`: all readable snapshots; `ranked`: the result of `findings_part`, with the clusters
    that only earlier runs audited; `bill`: None if there is no traffic; `days`: all days of the
    result; `extrapolate`: whether less than one hour of traffic is extrapolated to 30 days.
    """
    return {
        "format": FORMAT,
        "run_id": run_id,
        "version": versions["rackwise"],
        "clusters": _clusters(fleet, snapshots, audits, bill),
        "levels": list(levels),
        "observed": _observed(bill) if bill else None,
        "verdict": {
            **_placement(fleet, audits),
            **totals_part(bill, outcomes, extrapolate=extrapolate),
        },
        "unattributed": unattributed_part(bill, extrapolate=extrapolate) if bill else None,
        "quality": {**quality_part(bill), **_rows_lost(outcomes)},
        "matrix": _plain_rows(bill.matrix) if bill else [],
        **{name: _plain_rows(_roll_up_rows(bill, name)) if bill else [] for name in ROLL_UPS},
        "unmetered": unmetered_part(bill.unmetered) if bill else None,
        "reconciliation": reconciliation_part(bill.reconciliation) if bill else None,
        "history": history_part(days, bill.standings if bill else ()),
        "savings": savings_part(bill.savings, most=SHOWN, each=EACH) if bill else None,
        "rows": _row_counts(bill, ranked),
        "findings": _findings_part(ranked, audits),
        "blast": _plain_rows(blast),
        "method": _method_part(bill, outcomes, options, versions),
        "failed": [_failed_part(one) for one in failed],
        "notes": list(notes),
    }


def plans_part(plans: Plans | None) -> dict[str, Any] | None:
    """The plans of all clusters and their sums; None if no plans were requested.

    Sums are over the existing plans. A sum is null if a value in it is unknown.
    """
    if plans is None:
        return None
    planned = [row for row in plans.rows if row["status"] == "planned"]
    dollars = [row["usd"] for row in planned]
    sizes = [row["bytes"] for row in planned]
    is_priced = planned and None not in dollars
    return {
        "goal": plans.goal,
        "clusters": len(plans.rows),
        "planned": len(planned),
        "proved": sum(row["verdict"] == "proved" for row in planned),
        "moves": sum(row["moves"] for row in planned),
        "partitions": sum(row["partitions"] for row in planned),
        "bytes": None if None in sizes else sum(sizes),
        "usd": exact_usd_text(nano_of(sum(dollars, Decimal(0)))) if is_priced else None,
        "monthly": _monthly_part(planned, "monthly_usd", "monthly_reason"),
        "monthly_reads": _monthly_part(planned, "monthly_reads_usd", "monthly_reads_reason"),
        "rows": _plain_rows(plans.rows),
    }


def _monthly_part(planned: Sequence[Mapping[str, Any]], usd: str, reason: str) -> dict[str, Any]:
    """The change of the monthly dollars of all plans: a sum, or the known part and a reason."""
    known = [row[usd] for row in planned if row[usd] is not None]
    unknown = [row for row in planned if row[usd] is None]
    total = plain(sum(known, Decimal(0))) if known else None
    return {
        "usd": None if unknown else total,
        "usd_known": total,
        "unknown": len(unknown),
        "reason": next((f"{row['cluster']}: {row[reason]}" for row in unknown), None),
    }


def unmetered_part(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the meter does not know: partitions by reason, and the largest rows."""
    by_reason: dict[str, dict[str, Any]] = {}
    for row in rows:
        reason = by_reason.setdefault(
            row["reason"],
            {name: row[name] for name in ("reason", "cause", "cure")} | {"partitions": 0},
        )
        reason["partitions"] += row["partitions"]
    ordered = sorted(rows, key=lambda row: -row["partitions"])
    return {
        "count": len(rows),
        "by_reason": sorted(by_reason.values(), key=lambda one: -one["partitions"]),
        "rows": [dict(row) for row in ordered[:SHOWN]],
    }


def plain(value: object) -> object:
    """A value for JSON: dollars with nine digits, days and times as ISO 8601."""
    if isinstance(value, Decimal):
        return exact_usd_text(nano_of(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.isoformat() if isinstance(value, date) else value


def _plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def _roll_up_rows(bill: Bill, name: str) -> Iterable[Mapping[str, Any]]:
    """The largest rows of a roll-up in `LISTED`; all rows of another, merged over clusters."""
    rows = bill.roll_ups[name]
    if name in LISTED:
        places = leading_places(rows.table["cluster"], most=SHOWN, each=EACH)
        return TableRows(rows.table.take(places))
    return _merge_clusters(rows, ROLL_UPS[name])


def _merge_clusters(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Merges rows with equal `keys`; the most expensive row is first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    added = [
        dict(zip(keys, place, strict=True))
        | {key: _merged(key, [row[key] for row in group]) for key in SUMMED}
        for place, group in groups.items()
    ]
    return sorted(
        added, key=lambda row: (-(row["usd"] or 0), -row["bytes_cross"], str(row[keys[0]]))
    )


def _merged(name: str, values: Sequence[Any]) -> Any:  # noqa: ANN401 (of bytes, dollars, shares)
    """The sum of a column; None if it is not known."""
    if name == "usd_high":
        return None if None in values else sum(values[1:], values[0])
    whole = known_sum(values)
    if not isinstance(whole, float):
        return whole
    return round(math.fsum(value for value in values if value is not None), SHARE_DIGITS)


def _clusters(
    fleet: Fleet,
    snapshots: Iterable[Snapshot],
    audits: Sequence[ClusterFindings],
    bill: Bill | None,
) -> list[dict[str, Any]]:
    counts = Counter(snapshot.name for snapshot in snapshots)
    unsafe = {one.cluster: unsafe_partitions(one.findings) for one in audits}
    cross = cross_by_cluster(bill)
    nothing = {
        **dict.fromkeys(("bytes_cross", "bytes_cross_unattributed"), 0 if bill else None),
        **dict.fromkeys(("usd", "usd_high")),
    }
    return [
        {
            "name": snapshot.name,
            "cluster_id": snapshot.cluster.cluster_id,
            "taken_at": plain(snapshot.taken_at),
            "snapshots": counts[snapshot.name],
            "brokers": len(snapshot.cluster.brokers),
            "racks": len({broker.rack for broker in snapshot.cluster.brokers if broker.rack}),
            "topics": len(snapshot.cluster.topics),
            "partitions": len(snapshot.cluster.partitions),
            "partitions_unsafe": unsafe.get(snapshot.name),
            **cross.get(snapshot.name, nothing),
        }
        for snapshot in fleet.latest
    ]


def _observed(bill: Bill) -> dict[str, Any]:
    return {"from": plain(bill.period[0]), "to": plain(bill.period[1]), "seconds": bill.seconds}


def _placement(fleet: Fleet, audits: Sequence[ClusterFindings]) -> dict[str, int | None]:
    return {
        "partitions": sum(len(snapshot.cluster.partitions) for snapshot in fleet.latest),
        "partitions_unsafe": sum_unsafe(unsafe_partitions(one.findings) for one in audits),
        "findings": sum(len(one.findings) for one in audits),
    }


def _rows_lost(outcomes: RowOutcomes) -> dict[str, Any]:
    return {
        "rows_quarantined": outcomes.rows_quarantined,
        "share_quarantined": outcomes.share_text,
        "rows_skipdata": outcomes.rows_of("skipdata"),
    }


def _row_counts(bill: Bill | None, ranked: Mapping[str, Any]) -> dict[str, Any]:
    """The number of all rows of each table that the document may cut."""
    return {
        **{name: len(bill.roll_ups[name]) if bill else 0 for name in LISTED},
        "findings": ranked["count"],
        "topics_with_findings": ranked["topics"],
    }


def _findings_part(ranked: Mapping[str, Any], audits: Sequence[ClusterFindings]) -> dict[str, Any]:
    return {
        "by_rule": ranked["by_rule"],
        "by_topic": ranked["by_topic"],
        "worst": ranked["worst"],
        "not_checked": [
            {"cluster": one.cluster, "rule": rule, "reason": reason}
            for one in audits
            for rule, reason in one.findings.not_checked.items()
        ],
    }


def _method_part(
    bill: Bill | None,
    outcomes: RowOutcomes,
    options: Mapping[str, Any],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """What the figures were computed from, and how."""
    return {
        "prices": _prices(bill) if bill else [],
        "outcomes": [
            {"reason": reason, "rows": rows, "bytes": bytes_}
            for reason, rows, bytes_ in outcomes.by_reason
        ],
        "rows_in": outcomes.rows_in,
        "bytes_in": outcomes.bytes_in,
        "files": [
            {"file": file, "rows": rows, "quarantined": quarantined}
            for file, rows, quarantined in outcomes.by_file
        ],
        "precedence": [
            {"cluster": cluster, "day": str(day), "kind": kind, "source": source}
            for cluster, day, kind, source in (bill.precedence[:SHOWN] if bill else ())
        ],
        "options": dict(options),
        "versions": dict(versions),
    }


def _prices(bill: Bill) -> list[dict[str, Any]]:
    """The price rows that were used, in their order."""
    first: dict[str, date] = {}
    for one in bill.standings:
        if one.price_row is not None:
            first[one.price_row] = min(one.day, first.get(one.price_row, one.day))
    return [
        {
            "provider": price.provider,
            "region": price.region,
            "level": price.level,
            "kind": price.kind,
            "usd_per_gb_out": exact_usd_text(price.nano_usd_per_gb_out),
            "usd_per_gb_in": exact_usd_text(price.nano_usd_per_gb_in),
            "gb_bytes": price.gb_bytes,
            "valid_from": plain(price.valid_from),
            "valid_to": plain(price.valid_to),
            "source": price.source,
            "is_checked": price.is_checked,
            "is_extrapolated": first[price.row] < price.valid_from,
            "row": price.row,
        }
        for price in bill.prices
        if price.row in first
    ]


def _failed_part(one: FailedSnapshot) -> dict[str, Any]:
    return {
        "snapshot": one.file,
        "error": type(one.error).__name__,
        "message": one.error.message,
        "hint": one.error.hint,
    }
