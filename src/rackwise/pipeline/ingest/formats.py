"""Flow rows to facts: one row in, one row out, with the reason why it counts or does not.

```
flow_logs    ->  log_facts (sides)  \
                                     flow_facts  ->  schemas.FLOW_FACT + reason, source_file,
request_log  ->  input_facts        /                row_offset, raw
```

Nothing is dropped here: rows in = rows kept + rows of each other reason, and so for bytes. Lookups
are by integers, in tables that fit in memory, and a row that finds nothing stays.

Several questions go through the same rows: who is logged, whose interface it is, what the row
itself says. Without `once`, Spark reads and parses the flows anew for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.ingest.canonical_facts import input_facts
from rackwise.pipeline.ingest.facts import as_planned
from rackwise.pipeline.ingest.request_log import request_inputs
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.ingest.tables import PARTIAL
from rackwise.pipeline.ingest.vpc_facts import log_facts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from pyspark.sql import DataFrame

    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import Once
    from rackwise.pipeline.ingest.tables import FlowFormat
    from rackwise.pipeline.ingest.vpc_duplicates import Side

Dedupe = Literal["side", "exact"]


def flow_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    format: FlowFormat,  # noqa: A002 (the word of the command line)
    side: Side = "auto",
    dedupe: Dedupe = "side",
    days: tuple[date, date] | None = None,
    clients: Mapping[str, Mapping[str, Rack]] | None = None,
    once: Once = as_planned,
) -> DataFrame:
    """`schemas.FLOW_FACT`, then `reason`, `source_file`, `row_offset`, `raw`, for every bronze row.

    `bronze`: what `tables.read_flows` or `tables.bronze` gives for the same `format`. `side`: which
    of two rows of one flow counts, see `sides`. `dedupe`: `exact` also takes rows that are equal in
    interface, ends, times, direction, bytes and packets for one, at the price of a shuffle. `days`:
    first and last day to keep, both included. `clients`: `client_id`, `client_group` or `principal`
    -> name -> rack. `once`: is given rows that several lookups need and a name for them, gives the
    same rows back; it may store them.

    `reason` is `kept`, or why a row does not count; `bytes` is there wherever it is a number, `raw`
    is the row as text for malformed rows and null for all else. Of a row that is not kept the other
    columns may be null.
    """
    if format != "vpc":
        rows = bronze if format == "canonical" else request_inputs(bronze, fleet)
        facts = input_facts(
            rows,
            fleet,
            buckets,
            days=days,
            clients=clients or {},
            is_exact=dedupe == "exact",
            once=once,
        )
    else:
        facts = log_facts(
            bronze,
            fleet,
            buckets,
            side=side,
            days=days,
            is_told=_is_direction_told(bronze),
            is_exact=dedupe == "exact",
            once=once,
        )
    if dedupe == "exact":
        facts = once(_without_equals(facts), "flow_row")
    return facts.drop("same")


def _is_direction_told(bronze: DataFrame) -> bool:
    return not bronze.schema["flow_direction"].metadata.get(PARTIAL, True)


def _without_equals(facts: DataFrame) -> DataFrame:
    """Of rows to keep that are the same, the first stays; the others are `duplicate-row`."""
    same = Window.partitionBy("reason", "same").orderBy("source_file", "row_offset")
    is_again = (F.col("reason") == KEPT) & (F.row_number().over(same) > 1)
    return facts.withColumn("reason", F.when(is_again, "duplicate-row").otherwise(F.col("reason")))
