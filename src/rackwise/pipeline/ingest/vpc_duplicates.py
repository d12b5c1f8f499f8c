"""Which side logged a flow, and which of two rows of one flow is the duplicate.

A flow between two logged interfaces has two rows in the logs: egress at the sender, ingress at the
receiver. The own address of a row is its source if the row is egress, and its destination if the
row is ingress. Let E be the own addresses of all rows of a day. A row is a duplicate if it is
ingress and its source is in E, because the source logged the same flow.

```
K logged, U not        own     source in E        bytes
K -> broker egress     K                          1000   kept
K -> broker ingress    broker  K yes              1000   duplicate
U -> broker ingress    broker  U no                500   kept
broker -> K egress     broker                      700   kept
broker -> K ingress    K       broker yes          700   duplicate
```

Flow logs before version 5 have no direction. In these logs, the own address of an interface is the
address that all its rows have. Let `lo` and `hi` be the lesser and the greater address of a row.
Only the greatest `lo` or the least `hi` can be in all rows; a second pass checks which of them is:

- One: it is the own address.
- Both: all rows of the interface have the same two addresses. An address belongs to one interface
  only, so an address that certainly belongs to another interface is excluded. If two interfaces
  have the same two addresses, the first gets the broker's address and the second gets the other.
- None: the interface only forwards, and its rows count as ingress.

The values `egress` and `broker` select a side without this search: the side of the sender, or the
side of the broker (between two brokers, the sender).

What this does not do: remove rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.columns.addresses import address_number, keyed, never_null
from rackwise.pipeline.columns.clock import day_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet

Side = Literal["auto", "egress", "broker"]

DAY_BITS = 24
DUPLICATE = "duplicate-side"
"""The reason of a row whose flow the other side logged."""


def with_direction(rows: DataFrame, fleet: Fleet) -> DataFrame:
    """Rows of `vpc_facts` with `is_egress` and `own_ip` also where their log has no direction.

    `own_ip` is null where it is not known.
    """
    found = rows.join(F.broadcast(_own_addresses(rows, fleet)), "interface", "left")
    is_sender = F.col("own_src_ip") == F.col("_own")
    inferred = F.when(is_sender, F.col("src_ip")).when(
        F.col("own_dst_ip") == F.col("_own"), F.col("dst_ip")
    )
    has_direction = F.col("is_egress").isNotNull()
    return found.withColumns(
        {
            "is_egress": F.coalesce("is_egress", is_sender, F.lit(0) == 1),
            "own_ip": F.when(has_direction, F.col("own_ip")).otherwise(inferred),
        }
    ).drop("_own")


def with_duplicates(rows: DataFrame, side: Side) -> DataFrame:
    """Adds `is_duplicate` to rows that have `is_egress`, `own_ip`, and for `broker` also `kind`."""
    is_ingress = ~F.col("is_egress")
    if side == "egress":
        return rows.withColumn("is_duplicate", is_ingress)
    if side == "broker":
        is_produce = F.col("kind") == 0
        return rows.withColumn(
            "is_duplicate", F.when(is_produce, F.col("is_egress")).otherwise(is_ingress)
        )
    raise ValueError(f"expected egress or broker, got {side}")


def logged_addresses(rows: DataFrame) -> DataFrame:
    """E as the column `_logged`: each key of a day and own address once; -1 for no own address."""
    key = day_key(F.col("own_ip"), F.col("start"))
    return rows.select(never_null(key).alias("_logged")).distinct()


def day_key(ip: Column, start: Column) -> Column:
    """A long that identifies an address and the day of an epoch second."""
    return keyed(ip, day_of(start), DAY_BITS)


def _own_addresses(rows: DataFrame, fleet: Fleet) -> DataFrame:
    """`interface`, `_own`: the address that all rows of each interface have."""
    source, target = F.col("own_src_ip"), F.col("own_dst_ip")
    has_both = source.isNotNull() & target.isNotNull()
    bounds = rows.groupBy("interface").agg(
        F.max(F.when(has_both, F.least(source, target))).alias("_a"),
        F.min(F.when(has_both, F.greatest(source, target))).alias("_b"),
    )
    is_in_all = {
        f"_is{name}": F.min(F.when(has_both, (source == F.col(name)) | (target == F.col(name))))
        for name in ("_a", "_b")
    }
    checked = (
        rows.join(F.broadcast(bounds), "interface", "left")
        .groupBy("interface", "_a", "_b")
        .agg(*(is_in.alias(name) for name, is_in in is_in_all.items()))
    )
    both = F.col("_is_a") & F.col("_is_b") & (F.col("_a") != F.col("_b"))
    certain = checked.where(~both).select(
        "interface",
        F.when(F.col("_is_a"), F.col("_a")).when(F.col("_is_b"), F.col("_b")).alias("_own"),
    )
    return certain.unionByName(_assign_pairs(checked.where(both), certain, fleet))


def _assign_pairs(pairs: DataFrame, certain: DataFrame, fleet: Fleet) -> DataFrame:
    """Assign one address to each interface whose rows have the same two addresses."""
    owned = certain.select(never_null(F.col("_own")).alias("_ip")).distinct()
    numbers = {address_number(text)[0] for b in fleet.seen_brokers for text in b.addresses}
    brokers = pairs.sparkSession.createDataFrame([(n,) for n in sorted(numbers)], "_ip long")
    candidates = (
        pairs.select("interface", "_a", "_b", F.explode(F.array("_a", "_b")).alias("_ip"))
        .join(F.broadcast(owned.withColumn("_is_owned", F.lit(1))), "_ip", "left")
        .join(F.broadcast(brokers.withColumn("_is_broker", F.lit(1))), "_ip", "left")
    )
    preference = F.struct(
        F.coalesce("_is_owned", F.lit(0)), -F.coalesce("_is_broker", F.lit(0)), F.col("_ip")
    )
    ranked = candidates.groupBy("interface", "_a", "_b").agg(
        F.array_sort(F.collect_list(preference)).alias("_preferences")
    )
    nth = F.row_number().over(Window.partitionBy("_a", "_b").orderBy("interface")) - 1
    chosen = F.get("_preferences", F.least(nth, F.lit(1)))
    return ranked.select("interface", chosen.getField("_ip").alias("_own"))
