"""Facts out of the canonical format: names become codes, and every row has its fate.

Names meet codes by a digest, so that each join is one of integers; the name itself is then
compared, so that two names of one digest are never taken for each other:

```
topic     xxhash64        codes frame                    fact
orders    -81..07    ->   -81..07  orders  12       ->   12
odd name  55..3      ->   not there                 ->   0, unknown
```

The fate is what the source has settled, else the first that holds: `malformed:<column>`,
`other-day`, `superseded`, `kept`. Malformed are, in this order: a cluster that is none of the
fleet; a window_start that is missing or not from 1970-01-01 to 2149-06-06; a window_s below zero or
above a day; a kind other than produce, fetch, replicate, other; a client_address that is no
address; a client_rack that is no rack; a broker or peer broker id that the cluster does not have; a
partition, bytes or packets below zero; an unknown source.

What an emitter said of a window it may say again with a higher revision. That replaces all it said
before, so rows of a lower revision than the highest are superseded; a missing one is 0.

The client's rack is the first that answers: the fact's own, the table of clients (by client id,
then by group, then by principal), a group member at its address, its subnet.

What this does not do: make codes for names that the fleet does not have; `names` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.racks import MAX_LEVELS
from rackwise.pipeline.address_columns import with_addresses
from rackwise.pipeline.addresses import keyed
from rackwise.pipeline.clock import DAY_S, LAST_SECOND, day_of, is_within
from rackwise.pipeline.listeners import is_estimated, with_brokers
from rackwise.pipeline.log_facts import ESTIMATED, KEPT, MEASURED, REPLICATE
from rackwise.pipeline.members import member_racks
from rackwise.pipeline.racks import with_rack_of
from rackwise.pipeline.schemas import FLOW_FACT, FLOW_INPUT, KINDS, SOURCES
from rackwise.pipeline.traffic import CLUSTER_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from pyspark.sql import Column, DataFrame

    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.racks import Buckets

BROKER_BITS = 32
RAW_CHARACTERS = 4096
MALFORMED = "malformed:"
DEFAULT_SOURCE = "telemetry"
_PRINTABLE = r"[^/\p{C}\p{Z}]| "
RACK = rf"^(/|({_PRINTABLE})({_PRINTABLE}|/)*|(/({_PRINTABLE})+){{1,{MAX_LEVELS}}})\z"
"""What `core.racks` reads as a rack."""
NAMED = ("client_rack", "client_group", "topic")


def input_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    days: tuple[date, date] | None,
    clients: Mapping[str, Mapping[str, Rack]],
) -> DataFrame:
    """`schemas.FLOW_FACT`, reason, place and `same` of every row of `schemas.BRONZE_INPUT`.

    `days`: first and last day, both kept. `clients`: `client_id`, `client_group` or `principal` ->
    name -> rack. Rows are `same` when they are equal in all columns.
    """
    rows = with_addresses(_read(bronze), {"client": F.col("client_address")})
    coded = _with_brokers(_with_codes(_with_best(rows, bronze), fleet, clients), fleet)
    judged = coded.withColumn("reason", _reason(days))
    is_client = (F.col("kind_code") != REPLICATE) & F.col("cluster").isNotNull()
    asked = (
        judged.drop("cluster")
        .withColumnsRenamed({"cluster_code": "cluster"})
        .withColumns(
            {
                "ip": F.when(is_client, F.col("client_ip")),
                "prefix": F.when(is_client, F.col("client_prefix")),
                "told_rack": F.when(is_client, F.col("told_rack")),
            }
        )
    )
    placed = _with_client_rack(asked.drop("client_rack"), fleet, buckets)
    is_malformed = F.col("reason").startswith(MALFORMED)
    line = F.coalesce("raw", F.left(F.to_json("same"), F.lit(RAW_CHARACTERS)))
    raw = F.when(is_malformed, line).alias("raw")
    return placed.select(*_facts(), "reason", "source_file", "row_offset", raw, "same")


def names(bronze: DataFrame) -> DataFrame:
    """The names in rows that need codes, each once: `what, cluster, name`.

    `what` is client_rack, client_group or topic; `cluster` is set for topics alone.
    """
    none = F.lit(None).cast("string")
    found = F.array(
        *(
            F.struct(
                F.lit(what).alias("what"),
                (F.col("cluster") if what == "topic" else none).alias("cluster"),
                F.col(what).alias("name"),
            )
            for what in NAMED
            if what in bronze.columns
        )
    )
    return (
        bronze.select(F.explode(found).alias("found"))
        .select("found.*")
        .where(F.col("name").isNotNull())
        .distinct()
    )


def _read(bronze: DataFrame) -> DataFrame:
    """Times as seconds, codes of words, and the row as it came in `same`."""
    source = F.coalesce("source", F.lit(DEFAULT_SOURCE))
    return bronze.select(
        "*",
        F.unix_seconds("window_start").alias("start"),
        _place_of(F.col("kind"), KINDS).alias("kind_code"),
        _place_of(source, SOURCES[1:], first=1).alias("source_code"),
        F.struct(*FLOW_INPUT.names).alias("same"),
    ).drop("source")


def _with_best(rows: DataFrame, bronze: DataFrame) -> DataFrame:
    """Adds `best`, the highest revision of what a row is part of; null where none is above 0."""
    said = F.xxhash64("emitter", F.unix_micros("window_start"))
    best = (
        bronze.where((F.col("revision") > 0) & F.col("emitter").isNotNull())
        .groupBy(said.alias("_said"))
        .agg(F.max("revision").alias("best"))
    )
    key = F.when(F.col("emitter").isNotNull(), said)
    return rows.withColumn("_said", key).join(F.broadcast(best), "_said", "left").drop("_said")


def _place_of(word: Column, words: tuple[str, ...], *, first: int = 0) -> Column:
    code = F.when(word == words[0], first)
    for place, other in enumerate(words[1:], start=first + 1):
        code = code.when(word == other, place)
    return code


def _with_codes(
    rows: DataFrame, fleet: Fleet, clients: Mapping[str, Mapping[str, Rack]]
) -> DataFrame:
    """Adds `cluster_code` (null where unknown), `topic_code`, `client_code`, and `told_rack`."""
    codes = fleet.codes
    racks = {
        what: {name: codes.rack(rack) for name, rack in clients.get(what, {}).items()}
        for what in ("client_id", "client_group", "principal")
    }
    for column, into, known in (
        ("cluster", "cluster_code", codes.clusters),
        ("topic", "topic_code", codes.topics),
        ("client_group", "client_code", codes.clients),
        ("client_rack", "_own_rack", codes.racks),
        ("client_id", "_id_rack", racks["client_id"]),
        ("client_group", "_group_rack", racks["client_group"]),
        ("principal", "_principal_rack", racks["principal"]),
    ):
        rows = _coded(rows, column, into, known)
    told = ("_own_rack", "_id_rack", "_group_rack", "_principal_rack")
    return rows.withColumn("told_rack", F.coalesce(*told)).drop(*told)


def _coded(rows: DataFrame, column: str, into: str, known: Mapping[str, int]) -> DataFrame:
    """Adds `into`, the code of the name in `column`; null where it is not known."""
    frame = rows.sparkSession.createDataFrame(
        list(known.items()), f"_{into}_name string, _{into}_code int"
    ).withColumn(f"_{into}_key", F.xxhash64(f"_{into}_name"))
    found = rows.withColumn(f"_{into}_key", F.xxhash64(column)).join(
        F.broadcast(frame), f"_{into}_key", "left"
    )
    is_same = F.col(f"_{into}_name") == F.col(column)
    return found.withColumn(into, F.when(is_same, F.col(f"_{into}_code"))).drop(
        f"_{into}_key", f"_{into}_name", f"_{into}_code"
    )


def _with_brokers(rows: DataFrame, fleet: Fleet) -> DataFrame:
    """Adds `broker`, `peer` (null where unknown) and what is known of them, `_near` and `_far`."""
    known = fleet.codes
    brokers = rows.sparkSession.createDataFrame(
        [(known.clusters[cluster], id_, code) for (cluster, id_), code in known.brokers.items()],
        "_in int, _id int, _code int",
    ).select(_broker_key(F.col("_in"), F.col("_id")).alias("_key"), "_code")
    for column, into, found in (
        ("broker_id", "broker", "_near"),
        ("peer_broker_id", "peer", "_far"),
    ):
        key = _broker_key(F.col("cluster_code"), F.col(column))
        frame = brokers.withColumnsRenamed({"_code": into})
        rows = rows.withColumn("_key", key).join(F.broadcast(frame), "_key", "left").drop("_key")
        rows = with_brokers(rows, fleet, F.col(into), F.col("start"), into=found)
    return rows


def _broker_key(cluster: Column, broker_id: Column) -> Column:
    return F.shiftleft(cluster.cast("long"), BROKER_BITS).bitwiseOR(broker_id.cast("long"))


def _with_client_rack(facts: DataFrame, fleet: Fleet, buckets: Buckets) -> DataFrame:
    """Adds `client_rack` by `ip` and `prefix` (null: no client) and `cluster`; 0 = unknown."""
    kept = facts.columns
    placed = with_rack_of(facts, F.col("ip"), F.col("prefix"), buckets, into="client_rack")
    said = [(ip, cluster, rack) for (ip, cluster), rack in member_racks(fleet).items()]
    members = facts.sparkSession.createDataFrame(said, "ip long, cluster int, _member_rack int")
    key = keyed(F.col("ip"), F.col("cluster"), CLUSTER_BITS).alias("_member_key")
    return (
        placed.select("*", key)
        .join(F.broadcast(members.select(key, "_member_rack")), "_member_key", "left")
        .select(*kept, F.coalesce("_member_rack", "client_rack").alias("client_rack"))
    )


def _reason(days: tuple[date, date] | None) -> Column:
    def is_below_zero(name: str) -> Column:
        return F.col(name) < 0

    reason = (
        F.when(F.col("fate").isNotNull(), F.col("fate"))
        .when(F.col("cluster_code").isNull(), "malformed:cluster")
        .when(
            F.col("start").isNull() | ~F.col("start").between(0, LAST_SECOND),
            "malformed:window_start",
        )
        .when(~F.col("window_s").between(0, DAY_S), "malformed:window_s")
        .when(F.col("kind_code").isNull(), "malformed:kind")
        .when(
            F.col("client_address").isNotNull() & F.col("client_ip").isNull(),
            "malformed:client_address",
        )
        .when(~F.col("client_rack").rlike(RACK), "malformed:client_rack")
        .when(F.col("broker").isNull(), "malformed:broker_id")
        .when(
            F.col("peer_broker_id").isNotNull() & F.col("peer").isNull(),
            "malformed:peer_broker_id",
        )
        .when(is_below_zero("partition"), "malformed:partition")
        .when(F.col("bytes").isNull() | is_below_zero("bytes"), "malformed:bytes")
        .when(is_below_zero("packets"), "malformed:packets")
        .when(F.col("source_code").isNull(), "malformed:source")
    )
    if days is not None:
        reason = reason.when(~is_within(F.col("start"), days), "other-day")
    is_old = F.coalesce("revision", F.lit(0)) < F.col("best")
    return reason.when(is_old, "superseded").otherwise(KEPT)


def _facts() -> list[Column]:
    """The columns of `schemas.FLOW_FACT`; of a row that is not kept they may be null."""
    at, near, far = F.col("start"), F.col("_near"), F.col("_far")
    is_copy = F.col("kind_code") == REPLICATE
    is_guess = F.coalesce(is_estimated(near, at), F.lit(0) == 1) | F.coalesce(
        is_copy & is_estimated(far, at), F.lit(0) == 1
    )
    zero = F.lit(0)
    values = {
        "window_s": F.coalesce("window_s", zero),
        "day": day_of(at),
        "kind": F.col("kind_code"),
        "source": F.col("source_code"),
        "quality": F.when(is_guess, ESTIMATED).otherwise(MEASURED),
        "client_ip": F.col("ip"),
        "client": F.coalesce("client_code", zero),
        "client_rack": F.coalesce(F.nullif("told_rack", zero), "client_rack"),
        "broker_rack": F.coalesce(near.getField("rack"), zero),
        "peer": F.when(is_copy, F.coalesce("peer", zero)).otherwise(zero),
        "peer_rack": F.when(is_copy, F.coalesce(far.getField("rack"), zero)).otherwise(zero),
        "topic": F.coalesce("topic_code", zero),
        "bytes": F.when(F.col("bytes") >= 0, F.col("bytes")),
    }
    return [
        values.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FLOW_FACT.fields
    ]
