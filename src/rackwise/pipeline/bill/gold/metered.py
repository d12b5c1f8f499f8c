"""The flows that the meter of a run finds between snapshots, stored.

They are read twice: for the first look, and for the bill.

What this does not do: meter a pair of snapshots (`core.meter`); divide pairs into tasks
(`bill.meter`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rackwise.pipeline.bill.meter import (
    METERED_FLOW,
    MeterNames,
    meter_flows,
    meter_period,
    meter_runs,
)
from rackwise.pipeline.columns.clock import day_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.pipeline.bill.gold.inputs import BillInputs
    from rackwise.pipeline.bill.meter import MeterRun
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.runtime.engine import Engine, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """What the meter found."""

    flows: Rows
    """The result of `meter_flows`, stored."""
    codes: MeterNames
    period: tuple[datetime, datetime]
    """Start and end of the time between the first and the last snapshot of all pairs."""


def runs_to_meter(
    inputs: BillInputs, fleet: Fleet, *, is_billed: bool
) -> tuple[tuple[MeterRun, ...], tuple[str, ...]]:
    """The snapshots that are metered, and a note if there are some that cannot be.

    `is_billed`: whether there is other traffic.
    """
    runs = meter_runs(inputs.snapshots) if inputs.parse else ()
    depth = fleet.names.depth
    if runs and not is_billed and len(inputs.level_names) < depth and depth > 1:
        note = (
            "the traffic between snapshots is not metered because the rack levels have no "
            "names to price them; name them with --levels, coarsest first"
        )
        return (), (note,)
    return runs, ()


def meter(
    engine: Engine,
    fleet: Fleet,
    runs: Sequence[MeterRun],
    inputs: BillInputs,
    rack_of: RackOf,
    folder: str,
) -> Metered:
    """What the meter finds, stored below `folder`; `rack_of`: the rack of a member of a group."""
    assert inputs.parse is not None, "runs exist only with a parser"  # noqa: S101
    flows = meter_flows(engine, runs, inputs.parse, rack_of)
    path = f"{folder}/metered_flow"
    engine.write(flows, path, METERED_FLOW)
    kept = engine.read_own(path, METERED_FLOW)
    days = inputs.days.bounds
    codes = MeterNames.of(fleet, (day_number(days[0]), day_number(days[1])) if days else None)
    start_s, end_s = meter_period(runs)
    period = (datetime.fromtimestamp(start_s, UTC), datetime.fromtimestamp(end_s, UTC))
    return Metered(flows=kept, codes=codes, period=period)
