"""Traffic to dollars: which level each row crosses, its price that day, and the roll-ups.

Goals, in order:

1. Each row costs the same as in `core.traffic.usd_nano`, to the nano-dollar.
2. The dollars of a level without a price are null, never zero. A sum is null as well, if it would
   be zero while a part of it is null.
3. Names are joined only here, after the aggregate, because its result is small.

Levels. The row of each rack has the codes of its ancestors. The level of a pair is the first column
at which both codes are known and differ:

```
from        to          l1     l2     level     (region,zone)
/eu/a       /eu/b       = eu   a<>b   2         the price of `zone`
/eu/a       /us/a       eu<>us        1         the price of `region`
/eu/a       /eu/a       =      =      0         local, free
/eu/a       unknown                  -1         unknown: no dollars, at most the highest price
```

A pair of a rack and its own ancestor is local. Its quality is estimated, because the ancestor does
not identify a rack below it.

On the driver, `core.traffic` chooses the price of each day, kind, level and region of the sender.
The prices are joined as a small table. Regions are the names at the level called `region`.

A row with an unknown rack costs nothing or up to the highest price of its kind and day
(`core.traffic.highest_price`): `usd` is null and `usd_high` has that amount. Its unknown rack is
one of the racks of the run. For all other rows, `usd_high` is `usd`.

What this does not do: choose between price rows (`core.traffic.price_of`); read them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import (
    ByteType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from rackwise.core.owners import NO_OWNERS, UNOWNED
from rackwise.core.racks import MAX_LEVELS, Rack, levels_crossed
from rackwise.core.traffic import REGION, highest_price, price_of
from rackwise.pipeline import schemas
from rackwise.pipeline.columns.clock import EPOCH, day_number
from rackwise.pipeline.schemas import (
    ESTIMATED,
    KINDS,
    QUALITIES,
    UNKNOWN_GROUP,
    UNKNOWN_RACK,
    UNKNOWN_TOPIC,
    USD,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from rackwise.core.owners import Owners
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet

    _PriceRow: TypeAlias = tuple[int, int, int, int, int, int, int, str]
    """A row of `_PRICE`."""

LOCAL, UNKNOWN = 0, -1

_PRICE = StructType(
    [
        StructField("day", IntegerType()),
        StructField("kind", ByteType()),
        StructField("level", IntegerType()),
        StructField("region", IntegerType()),
        StructField("nano_out", LongType()),
        StructField("nano_in", LongType()),
        StructField("gb_bytes", LongType()),
        StructField("price_row", StringType()),
    ]
)


def price_traffic(
    traffic: DataFrame,
    fleet: Fleet,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    days: Sequence[date],
    owners: Owners = NO_OWNERS,
) -> DataFrame:
    """CROSS_RACK: names, levels, dollars and owners of TRAFFIC.

    `prices`: rows of one provider; `levels`: names, coarsest first; `days`: days of the traffic.
    Raises `InvalidPrices` for an ambiguous row and for a day that no row covers.
    """
    region = levels.index(REGION) + 1 if REGION in levels else 0
    regions = _regions(fleet, region)
    located = _with_racks(traffic, fleet, region)
    chosen = traffic.sparkSession.createDataFrame(
        [
            *_price_rows(regions, prices=prices, levels=levels, days=days),
            *_highest_rows(
                regions,
                prices=prices,
                levels=_levels_crossed(fleet, levels),
                days=days,
            ),
        ],
        _PRICE,
    )
    is_vague = (F.col("level") == LOCAL) & (F.col("from_rack") != F.col("to_rack"))
    joined = located.join(F.broadcast(chosen), ["day", "kind", "level", "region"], "left")
    quality = F.when(is_vague, F.lit(ESTIMATED)).otherwise(F.col("quality"))
    is_located = F.col("level") != UNKNOWN
    usd_out, usd_in = (usd(F.col("bytes"), F.col(nano)) for nano in ("nano_out", "nano_in"))
    usd_both = (usd_out + usd_in).cast(USD)
    columns = {
        "day": F.date_add(F.lit(EPOCH), F.col("day")),
        "cluster": F.col("cluster_name"),
        "kind": _name_at(KINDS, F.col("kind")),
        "topic": F.coalesce("topic_name", F.lit(UNKNOWN_TOPIC)),
        "client_group": F.coalesce("client_group", F.lit(UNKNOWN_GROUP)),
        "owner": F.coalesce("topic_owner", "group_owner", F.lit(UNOWNED)),
        "from_rack": F.coalesce("from_path", F.lit(UNKNOWN_RACK)),
        "to_rack": F.coalesce("to_path", F.lit(UNKNOWN_RACK)),
        "level": F.col("level"),
        "level_name": _name_at(("unknown", "local", *levels), F.col("level") + 1),
        "bytes": F.col("bytes"),
        "usd_out": F.when(is_located, usd_out),
        "usd_in": F.when(is_located, usd_in),
        "usd": F.when(is_located, usd_both),
        "usd_high": usd_both,
        "price_row": F.when(is_located, F.col("price_row")),
        "quality": _name_at(QUALITIES, quality),
    }
    return _with_names(joined, fleet, owners).select(
        *(columns[name].alias(name) for name in schemas.CROSS_RACK.fieldNames())
    )


def level(from_rack: Sequence[Column], to_rack: Sequence[Column], is_known: Column) -> Column:
    """The level at which two racks differ, from their ancestor codes; equal to `crossing_level`."""
    crossing = F.when(~is_known, F.lit(UNKNOWN))
    for number, (a, b) in enumerate(zip(from_rack, to_rack, strict=True), start=1):
        crossing = crossing.when((a != 0) & (b != 0) & (a != b), F.lit(number))
    return crossing.otherwise(F.lit(LOCAL))


def usd_nano(bytes_: Column, nano_per_gb: Column, gb_bytes: Column) -> Column:
    """Nano-dollars, rounded half up, as long; equal to `core.traffic.usd_nano`."""
    gb = gb_bytes.cast(DecimalType(19, 0))
    twice = (bytes_.cast(DecimalType(19, 0)) * F.lit(Decimal(2))).cast(DecimalType(20, 0))
    amount = twice * nano_per_gb.cast(DecimalType(17, 0))
    return F.call_function("div", amount + gb, gb * F.lit(Decimal(2)))


def usd(bytes_: Column, nano_per_gb: Column) -> Column:
    """Dollars of a row with a level: 0 if the row is local, null if it has no price."""
    nano = usd_nano(bytes_, nano_per_gb, F.col("gb_bytes"))
    dollars = (nano.cast(DecimalType(19, 0)) * F.lit(Decimal("0.000000001"))).cast(USD)
    return F.when(F.col("level") == LOCAL, F.lit(Decimal(0)).cast(USD)).otherwise(dollars)


def roll_up(cross_rack: DataFrame, keys: Mapping[str, Sequence[str]]) -> DataFrame:
    """Bytes and dollars per cluster and each of several keys, in one pass.

    `keys`: name of a roll-up -> its columns in addition to the cluster. The result has one row per
    roll-up (`roll_up`), cluster and key; the columns of other keys are null. Roll-ups are in the
    order of `keys`. In each roll-up, the largest row is first. `share` is the share of the dollars
    of the run. If the run has no dollars, `share` is the share of its bytes. Dollars are null if
    they are not known, and so is their share.
    """
    columns = ["cluster", *dict.fromkeys(column for key in keys.values() for column in key)]
    level_, bytes_ = F.col("level_crossed"), F.col("bytes")
    whole = cross_rack.agg(
        F.sum("usd").cast("double").alias("all_usd"), F.sum("bytes").alias("all_bytes")
    )
    counted = (level_ == LOCAL, level_ > LOCAL, level_ == UNKNOWN)
    names = ("bytes_local", "bytes_cross", "bytes_unknown")
    rows = (
        cross_rack.withColumn("level_crossed", F.col("level"))
        .groupingSets([["cluster", *key] for key in keys.values()], *columns)
        .agg(
            F.grouping_id().alias("grouping"),
            *(
                F.sum(F.when(which, bytes_).otherwise(F.lit(0).cast("long"))).alias(name)
                for name, which in zip(names, counted, strict=True)
            ),
            _known_sum("usd").alias("usd"),
            F.when(F.count_if(F.col("usd_high").isNull()) == 0, F.sum("usd_high"))
            .cast(USD)
            .alias("usd_high"),
        )
    )
    has_usd = F.coalesce("all_usd", F.lit(0.0)) > 0
    own_bytes = F.col("bytes_local") + F.col("bytes_cross") + F.col("bytes_unknown")
    share = F.when(has_usd, F.col("usd").cast("double") / F.col("all_usd")).otherwise(
        F.try_divide(own_bytes.cast("double"), F.col("all_bytes").cast("double"))
    )
    place = F.lit(None).cast("int")
    for number, key in enumerate(keys.values()):
        left_out = "".join("01"[column not in {"cluster", *key}] for column in columns)
        place = F.when(F.col("grouping") == int(left_out, 2), number).otherwise(place)
    return (
        rows.crossJoin(F.broadcast(whole))
        .withColumn("place", place)
        .orderBy("place", F.desc_nulls_last("usd"), F.desc("bytes_cross"), *columns)
        .select(
            _name_at(list(keys), F.col("place")).alias("roll_up"),
            *columns,
            *names,
            "usd",
            "usd_high",
            share.alias("share"),
        )
    )


def _known_sum(column: str) -> Column:
    """The sum of dollars; null if it is zero and a part is null. See `core.traffic.known_sum`."""
    whole = F.sum(column).cast(USD)
    return F.when((whole != 0) | (F.count_if(F.col(column).isNull()) == 0), whole)


def matrix(cross_rack: DataFrame, levels: Sequence[str]) -> DataFrame:
    """MATRIX: bytes and dollars between the ancestors at each level, including local pairs."""
    number = F.explode(F.sequence(F.lit(1), F.lit(max(len(levels), 1))))
    crossing = F.col("level")
    at = F.col("at")
    is_local = crossing.between(LOCAL, LOCAL) | (crossing > at)
    zero = F.lit(Decimal(0)).cast(USD)
    return (
        cross_rack.withColumn("at", number)
        .withColumn("paid", F.when(is_local, zero).otherwise(F.col("usd")))
        .groupBy(
            "cluster",
            F.col("at").alias("at"),
            _ancestor("from_rack", at).alias("from_rack"),
            _ancestor("to_rack", at).alias("to_rack"),
        )
        .agg(
            F.sum("bytes").alias("bytes"),
            _known_sum("paid").alias("usd"),
        )
        .select(
            "cluster",
            at.alias("level"),
            _name_at(levels, at - 1).alias("level_name"),
            *("from_rack", "to_rack", "bytes", "usd"),
        )
        .orderBy("cluster", "level", "from_rack", "to_rack")
    )


def _ancestor(rack: str, depth: Column) -> Column:
    path = F.col(rack)
    cut = F.substring_index(path, "/", 2)
    for number in range(2, MAX_LEVELS + 1):
        cut = F.when(depth == number, F.substring_index(path, "/", number + 1)).otherwise(cut)
    return F.when(path.startswith("/"), cut).otherwise(path)


def _name_at(names: Sequence[str], index: Column) -> Column:
    return F.get(F.array(*map(F.lit, names)), index.cast("int"))


def _with_racks(traffic: DataFrame, fleet: Fleet, region: int) -> DataFrame:
    """Adds paths, level and the region code of the sender; 0 if no level is called `region`."""
    depths = [f"l{depth}" for depth in range(1, MAX_LEVELS + 1)]
    joined = traffic
    for end in ("from", "to"):
        racks = fleet.racks.select(
            F.col("rack").alias(f"{end}_rack"),
            F.col("path").alias(f"{end}_path"),
            *(F.col(depth).alias(f"{end}_{depth}") for depth in depths),
        )
        joined = joined.join(F.broadcast(racks), f"{end}_rack", "left")
    crossing = level(
        [F.col(f"from_{depth}") for depth in depths],
        [F.col(f"to_{depth}") for depth in depths],
        F.col("from_path").isNotNull() & F.col("to_path").isNotNull(),
    )
    code = F.coalesce(f"from_l{region}", F.lit(0)) if region else F.lit(0)
    return joined.withColumns({"level": crossing, "region": code})


def _with_names(rows: DataFrame, fleet: Fleet, owners: Owners) -> DataFrame:
    """Adds names, and the owners of topic and group where a row of the table matches."""
    topic_owners = owners.of_topics(fleet.names.topics)
    group_owners = owners.of_groups(fleet.names.clients)
    clusters = fleet.clusters.select("cluster", F.col("name").alias("cluster_name"))
    topics = fleet.topics.select("cluster", "topic", F.col("name").alias("topic_name"))
    named = (
        rows.join(F.broadcast(clusters), "cluster", "left")
        .join(F.broadcast(topics), ["cluster", "topic"], "left")
        .join(F.broadcast(fleet.clients), "client", "left")
    )
    named = _with_owner(named, "topic", fleet.codes.topics, topic_owners)
    return _with_owner(named, "client", fleet.codes.clients, group_owners, into="group_owner")


def _with_owner(
    rows: DataFrame,
    code: str,
    codes: Mapping[str, int],
    owners: Mapping[str, str],
    into: str = "topic_owner",
) -> DataFrame:
    """Adds `into`, the owner of the name with the code in a column; null without an owner."""
    if not owners:
        return rows.withColumn(into, F.lit(None).cast("string"))
    found = [(codes[name], owner) for name, owner in owners.items()]
    frame = rows.sparkSession.createDataFrame(found, f"{code} int, {into} string")
    return rows.join(F.broadcast(frame), code, "left")


def _regions(fleet: Fleet, depth: int) -> list[tuple[int, str | None]]:
    """The code and the name of each region at that depth of the racks.

    Code 0 has no name: it is the region of senders whose rack is unknown or has no region.
    """
    regions: list[tuple[int, str | None]] = [(0, None)]
    if depth:
        regions += [
            (code, rack.levels[-1])
            for path, code in fleet.codes.racks.items()
            if len((rack := Rack(path)).levels) == depth
        ]
    return regions


def _levels_crossed(fleet: Fleet, levels: Sequence[str]) -> Sequence[str]:
    """The names of the levels at which racks of the run differ; all levels if none do."""
    numbers = levels_crossed(map(Rack, fleet.codes.racks))
    return [levels[number - 1] for number in numbers if number <= len(levels)] or levels


def _price_rows(
    regions: Sequence[tuple[int, str | None]],
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    days: Sequence[date],
) -> list[_PriceRow]:
    """A row for every day, kind, level and region that has a price.

    Prices for any region apply to code 0.
    """
    rows = []
    for day in sorted(days):
        for kind, kind_name in enumerate(KINDS):
            for number, level_name in enumerate(levels, start=1):
                for code, name in regions:
                    choice = price_of(
                        prices, region=name, level=level_name, kind=kind_name, day=day
                    )
                    if choice is not None:
                        rows.append(_price_row((day_number(day), kind, number, code), choice.price))
    return rows


def _highest_rows(
    regions: Sequence[tuple[int, str | None]],
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    days: Sequence[date],
) -> list[_PriceRow]:
    """A row with the highest price for every day, kind and region, for bytes of an unknown rack.

    A sender of code 0 may be in any region.
    """
    named = [name for _, name in regions if name is not None]
    rows = []
    for day in sorted(days):
        for kind, kind_name in enumerate(KINDS):
            for code, name in regions:
                price = highest_price(
                    prices,
                    regions=[name] if code or not named else named,
                    levels=levels,
                    kind=kind_name,
                    day=day,
                )
                if price is not None:
                    rows.append(_price_row((day_number(day), kind, UNKNOWN, code), price))
    return rows


def _price_row(key: tuple[int, int, int, int], price: Price) -> _PriceRow:
    out, in_ = price.nano_usd_per_gb_out, price.nano_usd_per_gb_in
    return (*key, out, in_, price.gb_bytes, price.row)
