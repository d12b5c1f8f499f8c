"""What a run finds about the safety of its clusters: findings, rack losses, plans.

```
clusters of this run   audited, their losses computed, planned     gold/finding, blast, plan, ..
of earlier runs alone  their findings stay in the table            gold/finding
```

What this does not do: decide which clusters stay (`earlier`); plan a cluster (`fleet_plans`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rackwise.pipeline import schemas
from rackwise.pipeline.audit.blast import blast_rows, blast_table
from rackwise.pipeline.audit.findings import audit_fleet, finding_table
from rackwise.pipeline.audit.ranked import findings_part
from rackwise.pipeline.audit.safe_days import with_safety
from rackwise.pipeline.fleet.cluster_names import names_by_text
from rackwise.pipeline.fleet.snapshots import last_day
from rackwise.pipeline.plans.earlier import (
    read_earlier,
    with_earlier_findings,
    with_earlier_plans,
)
from rackwise.pipeline.plans.fleet_plans import PROOF, STEP, plan_clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.history import StandingDay
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price
    from rackwise.pipeline.audit.findings import ClusterFindings
    from rackwise.pipeline.bill.gold.result_bill import ResultBill
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.rack_tables import RackTables
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.plans.earlier import EarlierClusters, EarlierResult
    from rackwise.pipeline.plans.fleet_plans import Plans
    from rackwise.pipeline.plans.task import Planning
    from rackwise.pipeline.runtime.engine import Engine

TO_FINDINGS, TO_LOSSES = "gold: findings", "gold: blast radius"
STEPS = (TO_FINDINGS, TO_LOSSES, STEP, PROOF)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyInputs:
    """What clusters are judged by and planned for; each is as in `request.AnalyzeRequest`."""

    snapshots: tuple[Snapshot, ...]
    policy: Policy
    named_policy: Policy
    """The policy whose rack levels have the names that prices refer to."""
    prices: tuple[Price, ...]
    """Rows of one provider."""
    racks: RackTables
    earlier: EarlierResult | None
    planning: Planning | None
    """None creates no plans."""
    most: int
    each: int
    """This and `most`: the length of the lists of findings, as in `findings_part`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """What a run finds about the safety of its clusters."""

    audits: Sequence[ClusterFindings]
    ranked: Mapping[str, Any]
    """The result of `findings_part`, with the clusters that only earlier runs audited."""
    days: tuple[StandingDay, ...]
    """All days of the result, with the safety of those of this run."""
    losses: Sequence[Mapping[str, Any]]
    """Rows of BLAST of this run."""
    plans: Plans | None
    """Of this run; None if no plans are requested."""
    all_plans: Plans | None
    """Of this run and of the clusters that only earlier runs read."""
    earlier: EarlierClusters | None
    """The clusters that only earlier runs read."""


def judge_safety(
    engine: Engine,
    fleet: Fleet,
    billed: ResultBill,
    inputs: SafetyInputs,
    folder: str,
    *,
    begin: Callable[[str, str], None] = lambda _step, _which: None,
) -> Safety:
    """Audit, lose each rack, and plan; tables are written below `folder`, the folder of the run.

    `begin` is called as by `plan_clusters`, with each of `STEPS` that has work. Raises
    `InvalidPolicy`, `InvalidPrices`, `BytesLost`, and `InvalidConfig` for a damaged table of an
    earlier run.
    """
    snapshots = inputs.snapshots
    begin(TO_FINDINGS, "")
    audits = audit_fleet(fleet, inputs.policy)
    earlier = read_earlier(engine, inputs.earlier, billed.days, {*names_by_text(snapshots)})
    ranked = _ranked(engine, audits, earlier, inputs, folder)
    days = with_safety(billed.days, snapshots, audits, inputs.policy, folder)
    begin(TO_LOSSES, "")
    losses = _losses(engine, fleet, billed, inputs, folder)
    plans = _plans(engine, fleet, inputs, folder, begin)
    return Safety(
        audits=audits,
        ranked=ranked,
        days=days,
        losses=losses,
        plans=plans,
        all_plans=with_earlier_plans(plans, earlier),
        earlier=earlier,
    )


def _ranked(
    engine: Engine,
    audits: Sequence[ClusterFindings],
    earlier: EarlierClusters | None,
    inputs: SafetyInputs,
    folder: str,
) -> dict[str, Any]:
    """The findings in the summary. Their table ends here: a large cluster has millions."""
    table = with_earlier_findings(finding_table(audits), earlier)
    engine.save(table, f"{folder}/gold/finding", schemas.FINDING)
    return findings_part(table, most=inputs.most, each=inputs.each)


def _losses(
    engine: Engine, fleet: Fleet, billed: ResultBill, inputs: SafetyInputs, folder: str
) -> list[dict[str, Any]]:
    """Rows of BLAST, at the prices of the last day with traffic."""
    with_traffic = [one.day for one in billed.bill.standings] if billed.bill else []
    losses = blast_rows(
        fleet,
        inputs.named_policy,
        prices=inputs.prices,
        day=max(with_traffic, default=last_day(inputs.snapshots)),
        rack_of=inputs.racks.member_racks(),
    )
    engine.save(blast_table(losses), f"{folder}/gold/blast", schemas.BLAST)
    return losses


def _plans(
    engine: Engine,
    fleet: Fleet,
    inputs: SafetyInputs,
    folder: str,
    begin: Callable[[str, str], None],
) -> Plans | None:
    """The plans of all clusters; None if none are requested."""
    if inputs.planning is None:
        return None
    planning = replace(
        inputs.planning,
        policy=inputs.named_policy,
        prices=inputs.prices,
        rack_of=inputs.racks.member_racks(),
    )
    return plan_clusters(engine, fleet, planning, folder, snapshots=inputs.snapshots, begin=begin)
