"""The results of each cluster: sums, roll-ups, matrix, charges and savings of its CROSS_RACK.

What this does not do: join clusters, or write tables (`tables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rackwise.pipeline.bill.focus import charges
from rackwise.pipeline.bill.model import ROLL_UPS
from rackwise.pipeline.bill.roll_ups import compared_sums, matrix, roll_up, standings
from rackwise.pipeline.bill.savings import FLOW, savings_table
from rackwise.pipeline.columns.groups import summed
from rackwise.pipeline.columns.packed_tables import PACKED, packed_tables, unpacked_tables
from rackwise.pipeline.fleet.layouts import LAYOUT
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from datetime import date

    from rackwise.pipeline.bill.savings import SavingOptions
    from rackwise.pipeline.runtime.engine import Engine, Rows

MOST_TASKS = 256
"""Maximum number of partitions by cluster; each task has several clusters of a larger fleet."""
PLACE = ("cluster", "day", "kind")
"""The columns by which bytes of CROSS_RACK are checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What the results of a cluster depend on besides its rows; sent to tasks."""

    levels: tuple[str, ...]
    """Names of the levels, coarsest first."""
    savings: SavingOptions
    first: date | None = None
    """The first day that is kept; None keeps all."""
    last: date | None = None
    """The day at whose prices savings of all days are computed; None: each day at its own."""
    is_compared: bool = False
    """Whether the traffic is compared with the provider's bill."""


def results(rows: pa.Table, layout: pa.Table, options: ResultOptions) -> dict[str, pa.Table]:
    """Name -> table, of one cluster; `rows`: CROSS_RACK of all days.

    `layout`: the row of the cluster in `layout_table`; no row for a cluster without a snapshot in
    this run, which has no savings. `places` has the bytes of all rows by `PLACE`, `standing` those
    of the kept days by `STANDING`.
    """
    if not len(rows):
        return {}
    first = options.first
    kept = rows if first is None else rows.filter(pc.greater_equal(rows["day"], pa.scalar(first)))
    found = {
        "places": summed(rows, PLACE),
        "standing": standings(kept),
        **{name: roll_up(kept, key) for name, key in ROLL_UPS.items()},
        "matrix": matrix(kept, options.levels),
        "charges": charges(kept, options.levels),
    }
    if options.is_compared:
        found["compared"] = compared_sums(kept)
    if len(layout):
        flows = kept if options.last is None else _of_one_day(rows, options.last)
        found["savings"] = savings_table(flows.select(FLOW), layout, options.savings)
    return found


def _of_one_day(rows: pa.Table, day: date) -> pa.Table:
    """The bytes of all days as those of one day.

    Savings are about what to do next: by the last snapshot and by present prices. Days of earlier
    runs are therefore summed into the last day, which also keeps the rows few.
    """
    found = summed(rows, [name for name in FLOW if name not in {"day", "bytes"}])
    return found.append_column("day", pa.array([day] * len(found), pa.date32()))


def all_results(
    engine: Engine, whole: Rows, layouts: pa.Table, options: ResultOptions
) -> dict[str, list[pa.Table]]:
    """Name -> the `results` of each cluster.

    `whole`: rows of CROSS_RACK of all days; `layouts`: of the clusters of this run.
    """

    def work(rows: pa.Table, layout: pa.Table) -> pa.Table:
        batches = packed_tables(results(rows, layout, options))
        return pa.Table.from_batches(batches, schema=arrow_schema(PACKED))

    own = engine.table(layouts, LAYOUT)
    tasks = min(len(layouts), MOST_TASKS)
    found = engine.by_cluster(whole, own, work, PACKED, tasks=tasks)
    return unpacked_tables(engine.collect(found))
