"""The first actions of a run, from its audit, plans and bill, for `core.actions`.

What this does not do: rank or word an action (`core.actions` does).
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from rackwise.core.actions import (
    ClusterPlaces,
    ClusterRisk,
    PossibleSaving,
    Unmeasured,
    first_actions,
)
from rackwise.core.savings.model import (
    ALONE,
    ASSIGNMENT,
    PRODUCING,
    UNKNOWN_NAME,
    USUAL_EPS,
)
from rackwise.core.traffic import exact_usd_text, nano_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwise.core.actions import Action
    from rackwise.core.model import Cluster
    from rackwise.pipeline.audit.findings import ClusterFindings
    from rackwise.pipeline.bill.model import Bill
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.plans.fleet_plans import Plans

SUBJECTS = {ASSIGNMENT: "client_group", PRODUCING: "topic"}
"""Saving -> the column that names what changes; other savings change a whole cluster."""
MONEY = ("usd_once", "usd_monthly", "saves_low", "saves_high")


def actions_part(
    latest: Sequence[Snapshot],
    audits: Sequence[ClusterFindings],
    blast: Sequence[Mapping[str, Any]],
    plans: Plans | None,
    bill: Bill | None,
) -> list[dict[str, Any]]:
    """The actions in the summary, the most urgent first.

    `latest`: the last snapshot of each cluster of this run; clusters of earlier runs have no
    action. `blast`: rows of BLAST.
    """
    places = {one.name: ClusterPlaces(one.name, one.file, _server(one.cluster)) for one in latest}
    planned = {row["cluster"]: row for row in plans.rows} if plans else {}
    unknown = _unattributed(bill)
    found = first_actions(
        list(_repairs(places, audits, blast, planned)),
        list(_savings(places, bill.savings if bill else ())),
        [
            Unmeasured(
                places=place,
                unattributed=unknown.get(name, 0),
                has_unknown_plan=_is_unknown(planned.get(name, {})),
            )
            for name, place in places.items()
        ],
    )
    return [_document(one) for one in found]


def _server(cluster: Cluster) -> str | None:
    """The address of the first live broker that has one."""
    found = (
        f"{broker.host}:{broker.port}"
        for broker in cluster.brokers
        if broker.is_live and broker.host is not None and broker.port is not None
    )
    return next(found, None)


def _repairs(
    places: Mapping[str, ClusterPlaces],
    audits: Iterable[ClusterFindings],
    blast: Iterable[Mapping[str, Any]],
    planned: Mapping[str, Mapping[str, Any]],
) -> Iterator[ClusterRisk]:
    losses: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in blast:
        losses[row["cluster"]].append(row)
    for one in audits:
        worst = _worst_loss(losses[one.cluster])
        plan = planned.get(one.cluster, {})
        yield ClusterRisk(
            places=places[one.cluster],
            offline=worst["partitions_offline"] if worst else 0,
            rack=worst["rack"] if worst else None,
            unsafe=len(one.findings.rows("error")),
            moves=plan.get("moves"),
            file=plan.get("file"),
            reason=plan.get("reason"),
            usd_once=nano_of(plan.get("usd")),
            usd_monthly=nano_of(plan.get("monthly_usd")),
        )


def _worst_loss(losses: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The rack whose loss takes most partitions offline, without the only rack of a level."""
    levels = [row["level"] for row in losses]
    some = [row for row in losses if levels.count(row["level"]) > 1]
    return min(some, key=lambda row: (-row["partitions_offline"], row["rack"]), default=None)


def _is_unknown(plan: Mapping[str, Any]) -> bool:
    """Whether a plan with prices has an unknown monthly change."""
    return bool(plan.get("moves")) and plan.get("usd") is not None and plan["monthly_usd"] is None


def _savings(
    places: Mapping[str, ClusterPlaces], rows: Iterable[Mapping[str, Any]]
) -> Iterator[PossibleSaving]:
    """Each change alone, summed over what it changes."""
    groups: defaultdict[tuple[str, str, str | None], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        column = SUBJECTS.get(row["saving"])
        subject = row[column] if column else None
        is_usual = row["eps"] is None or row["eps"] == USUAL_EPS
        is_own = row["cluster"] in places  # a result keeps the rows of clusters of earlier runs
        if is_own and row["view"] == ALONE and is_usual and subject != UNKNOWN_NAME:
            groups[row["cluster"], row["saving"], subject].append(row)
    for (cluster, saving, subject), part in groups.items():
        lows = [row["usd_low_30d"] for row in part]
        highs = [row["usd_high_30d"] for row in part]
        known = [low for low in lows if low is not None]
        yield PossibleSaving(
            places=places[cluster],
            saving=saving,
            subject=subject,
            low=nano_of(sum(known, Decimal(0))) if known else None,
            high=None if None in highs else nano_of(sum(highs, Decimal(0))),
        )


def _unattributed(bill: Bill | None) -> dict[str, int]:
    """Cluster -> bytes across racks of no known topic."""
    if bill is None:
        return {}
    topics = bill.roll_ups["by_topic"].table
    rows = topics.filter(pc.equal(topics["topic"], UNKNOWN_NAME))
    return dict(zip(rows["cluster"].to_pylist(), rows["bytes_cross"].to_pylist(), strict=True))


def _document(one: Action) -> dict[str, Any]:
    amounts = {name: getattr(one, name) for name in MONEY}
    return {
        "kind": one.kind,
        "cluster": one.cluster,
        "title": one.title,
        "why": one.why,
        "partitions_offline": one.partitions_offline,
        **{
            f"{name}_usd" if not name.startswith("usd") else name: (
                None if nano is None else exact_usd_text(nano)
            )
            for name, nano in amounts.items()
        },
        "steps": [step._asdict() for step in one.steps],
    }
