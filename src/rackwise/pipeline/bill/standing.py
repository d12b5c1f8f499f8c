"""The traffic of the days that earlier runs computed, as rows of CROSS_RACK.

Each run keeps the rows that it billed, partitioned by day, and the prices that it used. A later run
reads the days that it does not replace and adds them to its own rows. It never writes to the tables
of an earlier run, so these days stay as they are to the byte:

```
run A   cross_rack/day=1    prod, test
        cross_rack/day=2    prod, test         only `test` still stands: prod 2 is of run B
run B   cross_rack/day=2    prod
run C   cross_rack/day=3    prod, test         reads day 1, `test` 2 from A and `prod` 2 from B
```

Dollars are those of the run that billed the day. A price row is called by its place in the table of
prices; where two runs have different prices at one place, the earlier one is called `ROW of RUN`.

What this does not do: choose which days stand (`core.history`); read findings of earlier runs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.owners import UNOWNED
from rackwise.core.traffic import NANO, Price
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.savings import FLOW
from rackwise.pipeline.ingest.files import escape_glob

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.history import StandingDay

GOLD = "gold"
"""Folder of the gold tables in the folder of a run."""
_KEYS = "_name string, _day date, _cluster string"


class StandingTraffic(NamedTuple):
    """The traffic of earlier runs."""

    rows: DataFrame
    """Rows of CROSS_RACK."""
    prices: tuple[Price, ...]
    """The prices of these rows; `Price.row` is unique among them and those of the run."""


def read_standing(
    spark: SparkSession, days: Iterable[StandingDay], prices: Sequence[Price]
) -> StandingTraffic | None:
    """The traffic of days that earlier runs computed; None if there is none.

    `prices`: those of the run itself.
    """
    by_tables: defaultdict[str, list[StandingDay]] = defaultdict(list)
    for each in days:
        if each.tables is not None:
            by_tables[each.tables].append(each)
    known = {price.row: price for price in prices}
    frames = []
    earlier: list[Price] = []
    for tables in sorted(by_tables):
        names = {}
        for price in _prices(spark, tables):
            row = price.row
            if known.setdefault(row, price) != price:
                row = f"{row} of {tables.rstrip('/').rpartition('/')[2]}"
                known[row] = replace(price, row=row)
            names[price.row] = row
            earlier.append(known[row])
        frames.append(_rows(spark, tables, by_tables[tables], names))
    if not frames:
        return None
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return StandingTraffic(whole, tuple(dict.fromkeys(earlier)))


def whole_bill(
    own: DataFrame | None, standing: StandingTraffic | None, *, first: date | None
) -> DataFrame:
    """The rows of all days of the result, in memory.

    `own`: the rows of this run, in memory; `first`: the first day that is kept; None keeps all.
    """
    if own is not None and standing is None and first is None:
        return own
    frames = [] if own is None else [own if first is None else own.where(F.col("day") >= first)]
    frames += [] if standing is None else [standing.rows]
    whole = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    return whole.cache()


def flows_of_savings(
    own: DataFrame | None, standing: StandingTraffic, clusters: Collection[str]
) -> DataFrame:
    """The traffic of all days for the savings of `clusters`, at the prices of the last day.

    Savings are about what to do next: by the last snapshot and by present prices. Days of earlier
    runs are therefore summed into the last day, which also keeps the rows few.
    """
    rows = standing.rows if own is None else own.unionByName(standing.rows)
    last = rows.agg(F.max("day").alias("last"))
    keys = [name for name in FLOW if name not in {"day", "bytes"}]
    return (
        rows.where(F.col("cluster").isin(sorted(clusters)))
        .groupBy("cluster", *keys)
        .agg(F.sum("bytes").alias("bytes"))
        .crossJoin(F.broadcast(last.select(F.col("last").alias("day"))))
    )


def _rows(
    spark: SparkSession, tables: str, days: Sequence[StandingDay], names: Mapping[str, str]
) -> DataFrame:
    """The rows of some days of a run, with the present names of clusters and price rows."""
    keys = spark.createDataFrame(
        [(each.name_in_tables, each.day, each.cluster) for each in days], _KEYS
    )
    stored = spark.read.schema(schemas.CROSS_RACK).parquet(
        escape_glob(f"{tables}/{GOLD}/cross_rack")
    )
    is_standing = (F.col("cluster") == F.col("_name")) & (F.col("day") == F.col("_day"))
    rows = stored.where(F.col("day").isin(sorted({each.day for each in days}))).join(
        F.broadcast(keys), is_standing
    )
    changed = {old: new for old, new in names.items() if old != new}
    price_row = F.col("price_row")
    for old, new in changed.items():
        price_row = F.when(F.col("price_row") == old, F.lit(new)).otherwise(price_row)
    columns = {
        "cluster": F.col("_cluster"),
        "owner": F.coalesce("owner", F.lit(UNOWNED)),
        "price_row": price_row,
    }
    return rows.select(
        *(columns.get(name, F.col(name)).alias(name) for name in schemas.CROSS_RACK.fieldNames())
    )


def price_rows(prices: Iterable[Price]) -> list[dict[str, Any]]:
    """Rows of PRICE."""
    return [
        {
            "provider": price.provider,
            "region": price.region,
            "level": price.level,
            "kind": price.kind,
            "usd_per_gb_out": Decimal(price.nano_usd_per_gb_out).scaleb(-9),
            "usd_per_gb_in": Decimal(price.nano_usd_per_gb_in).scaleb(-9),
            "gb_bytes": price.gb_bytes,
            "valid_from": price.valid_from,
            "valid_to": price.valid_to,
            "source": price.source,
            "is_checked": price.is_checked,
            "row": price.row,
        }
        for price in prices
    ]


def _prices(spark: SparkSession, tables: str) -> list[Price]:
    """The prices that a run used."""
    stored = spark.read.schema(schemas.PRICE).parquet(escape_glob(f"{tables}/{GOLD}/price"))
    return [
        Price(
            provider=row.provider,
            region=row.region,
            level=row.level,
            kind=row.kind,
            nano_usd_per_gb_out=int(row.usd_per_gb_out * NANO),
            nano_usd_per_gb_in=int(row.usd_per_gb_in * NANO),
            gb_bytes=row.gb_bytes,
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            source=row.source,
            is_checked=row.is_checked,
            row=row.row,
        )
        for row in stored.orderBy("row").collect()
    ]
