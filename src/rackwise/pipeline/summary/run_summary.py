"""The summary of a run: the document of its clusters, and what earlier runs found of others.

What this does not do: compute a value of the document (`document`).
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from rackwise.pipeline.bill.billed.comparison import billed_part
from rackwise.pipeline.fleet.cluster_names import name_notes
from rackwise.pipeline.ingest.row_outcomes import RowOutcomes
from rackwise.pipeline.plans.actions import actions_part
from rackwise.pipeline.plans.earlier import with_earlier
from rackwise.pipeline.summary.bill_sums import cross_by_cluster
from rackwise.pipeline.summary.document import document, plans_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.bill.gold.result_bill import ResultBill
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.plans.safety import Safety
    from rackwise.pipeline.request import AnalyzeRequest


def run_summary(
    request: AnalyzeRequest,
    run: str,
    fleet: Fleet,
    outcomes: RowOutcomes | None,
    billed: ResultBill,
    safety: Safety,
    *,
    report: CostReport | None,
    csv: Iterable[str],
    engine_versions: Mapping[str, str],
    notes: Iterable[str],
) -> dict[str, Any]:
    """The summary.

    `run`: the id of the run; `outcomes`: of flow rows; None without flow files; `report`: the
    provider's own bill; `csv`: names of the CSV files; `notes`: all but those of the snapshots.
    """
    own = document(
        run_id=run,
        fleet=fleet,
        snapshots=request.snapshots,
        levels=billed.levels,
        audits=safety.audits,
        ranked=safety.ranked,
        blast=safety.losses,
        bill=billed.bill,
        days=safety.days,
        outcomes=outcomes or RowOutcomes(),
        options=request.options,
        extrapolate=request.extrapolate,
        versions={
            "rackwise": request.version,
            **engine_versions,
            "python": platform.python_version(),
        },
        failed=request.failed,
        notes=[*_snapshot_notes(request, fleet), *notes],
    )
    return with_earlier(own, safety.earlier, cross_by_cluster(billed.bill)) | {
        "billed": billed_part(billed.comparison, report),
        "plans": plans_part(safety.all_plans),
        "actions": actions_part(
            fleet.latest, safety.audits, safety.losses, safety.plans, billed.bill
        ),
        "csv": [f"csv/{name}.csv" for name in csv],
    }


def _snapshot_notes(request: AnalyzeRequest, fleet: Fleet) -> list[str]:
    return name_notes(request.snapshots) + [
        f"{snapshot.name}: {note.kind}: {note.text}"
        for snapshot in fleet.latest
        for note in snapshot.cluster.notes
    ]
