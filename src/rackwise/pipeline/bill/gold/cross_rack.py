"""Bills the traffic of a run, one cluster at a time: rows of CROSS_RACK.

What this does not do: read the rows of earlier runs (`bill.standing`); add up (`results`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from rackwise.pipeline.bill.cost import price_traffic
from rackwise.pipeline.bill.gold.results import MOST_TASKS
from rackwise.pipeline.bill.gold.sources import source_names
from rackwise.pipeline.bill.traffic import (
    ROW,
    TRAFFIC,
    apportion,
    columns_of,
    merge_sources,
    traffic,
    traffic_task,
    with_precedence,
)
from rackwise.pipeline.bill.weights import (
    fleet_weights,
    merged,
    metered_task,
    modelled_weights,
    seen_weights,
)
from rackwise.pipeline.columns.groups import summed_longs
from rackwise.pipeline.ingest.row_outcomes import check_bytes
from rackwise.pipeline.schemas import CROSS_RACK, WEIGHT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.traffic import Rates
    from rackwise.pipeline.bill.coded_fleet import CodedFleet
    from rackwise.pipeline.bill.cost import Pricing
    from rackwise.pipeline.bill.gold.sources import SourceSum, Traffic
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.runtime.engine import Engine, Rows


def cross_rack(
    engine: Engine,
    fleet: Fleet,
    found: Traffic,
    pricing: Pricing,
    rates: Rates,
    *,
    folder: str,
) -> Rows:
    """CROSS_RACK, written below `folder` and read back."""
    has_unnamed = any(one.unnamed for one in found.billed)

    def billed(rows: pa.Table, weights: pa.Table) -> pa.Table:
        return bill_cluster(rows, weights if has_unnamed else None, pricing)

    rows = _traffic_rows(engine, found, pricing.fleet)
    if has_unnamed:
        shares = _weight_rows(engine, fleet, found, pricing.fleet, rates)
    else:
        shares = engine.table(arrow_schema(WEIGHT).empty_table(), WEIGHT)
    gold = engine.by_cluster(rows, shares, billed, CROSS_RACK, tasks=_task_count(fleet))
    path = f"{folder}/cross_rack"
    engine.write(gold, path, CROSS_RACK, by=["day"])
    return engine.read_own(path, CROSS_RACK)


def _task_count(fleet: Fleet) -> int:
    return min(len(fleet.latest), MOST_TASKS)


def _traffic_rows(engine: Engine, found: Traffic, fleet: CodedFleet) -> Rows:
    """TRAFFIC of all sources, added up by task."""
    rows = []
    if found.logged is not None:
        work = traffic_task(fleet, lambda batch: batch)
        rows.append(engine.map(found.logged, work, TRAFFIC))
    if found.metered is not None:
        work = traffic_task(fleet, found.metered.codes.facts)
        rows.append(engine.map(found.metered.flows, work, TRAFFIC))
    if found.modelled is not None:
        rows.append(engine.table(traffic(found.modelled, fleet), TRAFFIC))
    return engine.union(rows)


def _weight_rows(
    engine: Engine, fleet: Fleet, found: Traffic, coded: CodedFleet, rates: Rates
) -> Rows:
    """WEIGHT of snapshots, rates and the meter."""
    known = [fleet_weights(fleet, rates)]
    if found.modelled is not None:
        unseen = {*fleet.codes.clusters.values()} - found.seen_by_meter
        known.append(modelled_weights(found.modelled, unseen))
    rows = [engine.table(pa.concat_tables(known), WEIGHT)]
    if found.metered is not None:
        work = metered_task(coded, found.metered.codes.facts)
        rows.append(engine.map(found.metered.flows, work, WEIGHT))
    return engine.union(rows)


def bill_cluster(rows: pa.Table, weights: pa.Table | None, pricing: Pricing) -> pa.Table:
    """CROSS_RACK of one cluster or of several; `rows`: TRAFFIC of all sources, in any parts.

    `weights`: WEIGHT of snapshots, rates and the meter; None spreads no bytes over topics.
    """
    if not len(rows):
        return arrow_schema(CROSS_RACK).empty_table()
    billed, others = with_precedence(summed_longs(columns_of(rows, (*ROW, "bytes")), ROW))
    if weights is None:
        kept = merge_sources(billed)
    else:
        every = merged(weights, seen_weights(others))
        kept = apportion(billed, every, pricing.fleet.brokers)
    return price_traffic(kept, pricing)


def check_conserved(places: Sequence[pa.Table], fleet: Fleet, billed: Sequence[SourceSum]) -> None:
    """Check the sums of CROSS_RACK against the traffic of the same run.

    `places`: bytes by `PLACE` of all days of the result; days that this run did not compute are
    left out. Raises `BytesLost` if the bytes of a cluster, day and kind differ.
    """
    wanted = {source_names(fleet, one)[:3]: one.bytes for one in billed}
    own = {place[:2] for place in wanted}
    had = {
        (row["cluster"], row["day"], row["kind"]): row["bytes"]
        for part in places
        for row in part.to_pylist()
        if (row["cluster"], row["day"]) in own
    }
    named = [
        {f"{kind} of {cluster} on {day}": bytes_ for (cluster, day, kind), bytes_ in sums.items()}
        for sums in (wanted, had)
    ]
    check_bytes("cross_rack", *named)
