"""What the files of a night say: unsafe topics, plans, costs by day."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.adapters import files
from rackwise.core.audit import needs_racks, unchecked_placement
from rackwise.core.errors import InputError, InvalidConfig, RackwiseError
from rackwise.core.json.canonical import sha256_of
from rackwise.core.json.strict import parse
from rackwise.core.nightly.outcome import failed, failure_text, of_cluster
from rackwise.core.notices.changes import NightFacts
from rackwise.core.notices.costs import CostOfDay, day_cost
from rackwise.core.text import escaped
from rackwise.core.traffic import nano_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.cli.shell import Shell
    from rackwise.core.json.canonical import Json
    from rackwise.core.nightly.commands import NightLayout
    from rackwise.core.nightly.night import Night, NightlyState, StepName, StepRun
    from rackwise.core.planning.model import Plan


def cluster_facts(
    shell: Shell, layout: NightLayout, night: Night, name: str, costs: Sequence[CostOfDay]
) -> NightFacts:
    """What is known of a cluster tonight."""
    plan = _plan(shell, layout, night, name)
    unsafe, not_checked = _unsafe_topics(shell, layout, night, name)
    return NightFacts(
        failures=tuple(failure_text(run) for run in failed(of_cluster(night.runs, name))),
        unsafe=unsafe,
        not_checked=not_checked,
        lacks_racks=needs_racks(not_checked),
        cost=day_cost(costs, date.fromisoformat(night.day)),
        plan=None if plan is None else _fingerprint(plan),
        moves=0 if plan is None else len(plan.moves),
        plan_file=layout.plan(name, night.day),
    )


def costs_of(shell: Shell, result: Path) -> dict[str, list[CostOfDay]]:
    """Cluster -> the cost of each day in the published result; empty without a result."""
    if not (result / "manifest.json").exists():
        return {}
    try:
        published = files.read_published(result, max_bytes=shell.max_input)
        seen = {(each.cluster, each.day): each for each in published.days}
        found: dict[str, list[CostOfDay]] = {}
        for row in published.summary["history"]["clusters"]:
            place = seen.get((row["cluster"], row["day"]))
            found.setdefault(row["cluster"], []).append(
                CostOfDay(
                    day=date.fromisoformat(row["day"]),
                    nano_usd=nano_of(row["usd"]),
                    since=None if place is None else _time(place.since),
                    until=None if place is None else _time(place.until),
                )
            )
    except RackwiseError as error:
        shell.warn(f"the costs of earlier days are not known: {escaped(error.message)}")
        return {}
    return found


def night_figures(
    shell: Shell,
    layout: NightLayout,
    state: NightlyState,
    *,
    seconds: float,
    fleet: Sequence[StepRun],
) -> dict[str, Any]:
    """The figures of the metrics of a night."""
    night = state.night
    rows = []
    for name, memory in state.clusters.items():
        plan = _plan(shell, layout, night, name)
        rows.append(
            {
                "name": name,
                "failed": len(failed(of_cluster(night.runs, name))),
                "last_success": memory.last_success,
                "moves": None if plan is None else len(plan.moves),
            }
        )
    return {
        "began": night.began,
        "ended": night.ended,
        "last_success": state.last_success,
        "seconds": seconds,
        "exit": night.exit,
        "fleet_failed": len(failed(fleet)),
        "unsent": len(state.outbox),
        "clusters": rows,
    }


def _is_new(night: Night, step: StepName, name: str) -> bool:
    run = night.run_of(step, name)
    return run is not None and run.is_ok


def _unsafe_topics(
    shell: Shell, layout: NightLayout, night: Night, name: str
) -> tuple[tuple[str, ...] | None, dict[str, str]]:
    """Topics with a finding of severity error, and rules of that severity that were not checked.

    The topics are None if tonight's audit is not known. Of the rules: rule -> reason.
    """
    if not _is_new(night, "audit", name):
        return None, {}
    path = layout.audit(name, night.day)
    try:
        data = files.read_bytes(path, error=InvalidConfig, max_bytes=shell.max_input)
        document: Any = parse(data, where=path, error=InvalidConfig)
        rows: Sequence[Mapping[str, Any]] = document["findings"]
        found = {row["topic"] for row in rows if row["severity"] == "error" and row["topic"]}
        unchecked = unchecked_placement(document["not_checked"])
    except InputError as error:
        shell.warn(f"unsafe topics of {escaped(name)} are not known: {escaped(error.message)}")
        return None, {}
    return tuple(sorted(found)), unchecked


def _plan(shell: Shell, layout: NightLayout, night: Night, name: str) -> Plan | None:
    """Tonight's plan; None if it is not known."""
    if not _is_new(night, "plan", name):
        return None
    try:
        return files.read_plan(layout.plan(name, night.day), max_bytes=shell.max_input)
    except InputError as error:
        shell.warn(f"the plan of {escaped(name)} is not known: {escaped(error.message)}")
        return None


def _fingerprint(plan: Plan) -> str:
    """SHA-256 of the moves, in whatever order; an empty text for a plan without moves."""
    moves = sorted((each.topic, each.partition, each.after) for each in plan.moves)
    rows: list[Json] = [[topic, partition, [*after]] for topic, partition, after in moves]
    return sha256_of(rows) if rows else ""


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
