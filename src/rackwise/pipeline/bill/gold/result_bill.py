"""The bill of all days of a result: those that this run computes, and those of earlier runs.

```
observed    traffic of flows, meter, rates      -> days of the result     step "gold: traffic"
own rows    traffic, prices -> cross_rack                                 step "gold: dollars"
whole       own rows and those of earlier runs  -> results, tables, bill  step "gold: roll-ups .."
            bill, the provider's own bill       -> comparison
```

A result whose days have no traffic has no bill.

What this does not do: compute one of these; each is a file of this folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rackwise.core.billed.comparison import notes as comparison_notes
from rackwise.core.history import covered_time
from rackwise.core.racks import level_names
from rackwise.core.traffic import ANY, REGION, named_levels
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.billed.comparison import billed_rows, compared
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing
from rackwise.pipeline.bill.focus import focus_csv, left_out_notes
from rackwise.pipeline.bill.gold.cross_rack import check_conserved, cross_rack
from rackwise.pipeline.bill.gold.days import result_days
from rackwise.pipeline.bill.gold.observed import TO_TRAFFIC, observe
from rackwise.pipeline.bill.gold.results import ResultOptions, all_results
from rackwise.pipeline.bill.gold.sources import source_names
from rackwise.pipeline.bill.gold.tables import bill, save_rows
from rackwise.pipeline.bill.meter import unmetered_rows
from rackwise.pipeline.bill.reconciliation import reconcile
from rackwise.pipeline.bill.savings import SavingOptions, month_seconds
from rackwise.pipeline.bill.standing import read_standing
from rackwise.pipeline.fleet.layouts import layout_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from rackwise.core.billed.comparison import BilledComparison
    from rackwise.core.history import StandingDay
    from rackwise.pipeline.bill.gold.inputs import BillInputs
    from rackwise.pipeline.bill.gold.observed import Observed
    from rackwise.pipeline.bill.gold.sources import Traffic
    from rackwise.pipeline.bill.model import Bill
    from rackwise.pipeline.bill.standing import StandingTraffic
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.runtime.engine import Engine, Rows

TO_DOLLARS, TO_RESULTS = "gold: dollars", "gold: roll-ups and savings"
STEPS = (TO_TRAFFIC, TO_DOLLARS, TO_RESULTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultBill:
    """The bill of a result."""

    bill: Bill | None
    """None if no day has traffic."""
    days: tuple[StandingDay, ...]
    """All days of the result, without the safety of those of this run."""
    levels: tuple[str, ...]
    """Names of the rack levels, coarsest first."""
    comparison: BilledComparison | None
    """With the provider's own bill; None if it is not given."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of CROSS_RACK of a result, and what they are billed by."""

    own: tuple[Rows, ...]
    """Those that this run computes; empty if it computes none."""
    standing: StandingTraffic | None
    """Those of earlier runs."""
    levels: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> list[Rows]:
        """All rows."""
        return [*([self.standing.rows] if self.standing else ()), *self.own]


def bill_result(
    engine: Engine,
    fleet: Fleet,
    facts: Silver | None,
    inputs: BillInputs,
    folder: str,
    *,
    begin: Callable[[str], None] = lambda _step: None,
) -> ResultBill:
    """The bill of a result; tables are written below `folder`, the folder of the run.

    `facts`: of the flow files; `begin` is called with the name of each of `STEPS` that has work.
    Raises `BytesLost`, `InvalidPrices`, `InvalidSubnets`, and `InvalidConfig` for a damaged table
    of an earlier run.
    """
    gold = f"{folder}/gold"
    seen = observe(engine, fleet, facts, inputs, gold, begin)
    days = result_days(
        seen.traffic,
        fleet,
        inputs.snapshots,
        folder,
        standing=inputs.standing,
        keep=inputs.keep_days,
    )
    standing = read_standing(
        engine, [each for each in days if each.tables != folder], inputs.prices
    )
    bill_of_days: Bill | None = None
    sums: Sequence[pa.Table] = ()
    notes = seen.notes
    if all(each.tables is None for each in days):
        levels = level_names(fleet.names.depth, inputs.level_names)
    else:
        rows = _priced(engine, fleet, seen.traffic, standing, inputs, gold, begin)
        levels = rows.levels
        begin(TO_RESULTS)
        tables = _results(engine, fleet, seen.traffic, rows, days, inputs)
        bill_of_days = _written(engine, fleet, seen, rows, tables, days, inputs, gold)
        sums = tables.get("compared", ())
        notes += rows.notes + left_out_notes(bill_of_days.standings)
    comparison = _compared(sums, bill_of_days, fleet, days, levels, inputs)
    if comparison is not None:
        notes += comparison_notes(comparison)
        save_rows(engine, billed_rows(comparison), f"{gold}/billed", schemas.BILLED)
    return ResultBill(
        bill=bill_of_days, days=days, levels=levels, comparison=comparison, notes=notes
    )


def _priced(
    engine: Engine,
    fleet: Fleet,
    traffic: Traffic | None,
    standing: StandingTraffic | None,
    inputs: BillInputs,
    gold: str,
    begin: Callable[[str], None],
) -> _Rows:
    """The rows of earlier runs, and the traffic of this run with its prices."""
    names = inputs.level_names
    if traffic is None:
        levels = level_names(fleet.names.depth, names)
        return _Rows(own=(), standing=standing, levels=levels)
    levels = named_levels(fleet.names.depth, names)
    used = [price for price in inputs.prices if price.level in {ANY, *levels}]
    notes: list[str] = []
    if REGION not in levels and any(price.region != ANY for price in used):
        notes.append(
            "prices of single regions are not used because no rack level is called region; "
            "name the levels with --levels"
        )
    begin(TO_DOLLARS)
    pricing = Pricing.of(
        fleet,
        CodedFleet.of(fleet),
        prices=inputs.prices,
        levels=levels,
        days=traffic.days,
        owners=inputs.owners,
    )
    own = cross_rack(engine, fleet, traffic, pricing, inputs.rates, folder=gold)
    notes += inputs.owners.notes(fleet.names.topics, fleet.names.clients)
    return _Rows(own=(own,), standing=standing, levels=levels, notes=tuple(notes))


def _results(
    engine: Engine,
    fleet: Fleet,
    traffic: Traffic | None,
    rows: _Rows,
    days: Sequence[StandingDay],
    inputs: BillInputs,
) -> dict[str, list[pa.Table]]:
    """The results of all clusters.

    If earlier runs computed some days, savings are at the prices of the last day with traffic.
    """
    covered = covered_time(days)
    with_traffic = [each.day for each in days if each.tables is not None]
    options = ResultOptions(
        levels=rows.levels,
        first=min(each.day for each in days) if inputs.keep_days else None,
        last=max([*with_traffic, *(traffic.days if traffic else ())]) if rows.standing else None,
        is_compared=inputs.report is not None,
        savings=SavingOptions(
            prices=inputs.prices,
            levels=rows.levels,
            seconds=month_seconds(covered[2], extrapolate=inputs.extrapolate) if covered else None,
            racks=tuple(fleet.codes.racks),
            eps=inputs.eps,
            unkeyed=inputs.unkeyed,
        ),
    )
    layouts = layout_table(fleet.latest, inputs.racks.member_racks())
    return all_results(engine, engine.union(rows.parts), layouts, options)


def _written(
    engine: Engine,
    fleet: Fleet,
    seen: Observed,
    rows: _Rows,
    tables: Mapping[str, Sequence[pa.Table]],
    days: Sequence[StandingDay],
    inputs: BillInputs,
    gold: str,
) -> Bill:
    """The bill, checked and written; `tables`: the results of all clusters."""
    sources = seen.traffic.billed if seen.traffic else ()
    if seen.traffic is not None:
        check_conserved(tables.get("places", ()), fleet, sources)
    of_earlier = rows.standing.prices if rows.standing else ()
    found = bill(
        engine,
        tables,
        days=days,
        precedence=[source_names(fleet, one) for one in sources],
        prices=[*dict.fromkeys([*inputs.prices, *of_earlier])],
        folder=gold,
    )
    unmetered = unmetered_rows(seen.looks.get("metered", {}).get("unmetered"))
    reconciled: list[dict[str, Any]] = []
    if seen.reconciled is not None:
        reconciled = reconcile(seen.looks, fleet, period=seen.reconciled)
    save_rows(engine, unmetered, f"{gold}/unmetered", schemas.UNMETERED)
    save_rows(engine, reconciled, f"{gold}/reconciliation", schemas.RECONCILIATION)
    return replace(
        found,
        charges=focus_csv(tables.get("charges", ()), found.prices),
        unmetered=unmetered,
        reconciliation=reconciled,
    )


def _compared(
    sums: Sequence[pa.Table],
    found: Bill | None,
    fleet: Fleet,
    days: Sequence[StandingDay],
    levels: Sequence[str],
    inputs: BillInputs,
) -> BilledComparison | None:
    """The traffic of all days against the provider's own bill; None if it is not given.

    `sums`: the `roll_ups.compared_sums` of all clusters.
    """
    if inputs.report is None:
        return None
    return compared(
        sums,
        inputs.report,
        fleet,
        days=days,
        prices=found.prices if found else (),
        precedence=found.precedence if found else (),
        levels=levels,
        region=inputs.billed_region,
    )
