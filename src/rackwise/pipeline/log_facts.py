"""Facts out of VPC flow logs: who talked to whom, in which racks, and the fate of every row.

The fate is the first that holds, and every row has one:

```
malformed:<column>           see flow_logs                                   (quarantine)
nodata skipdata rejected     log status NODATA; SKIPDATA; action not ACCEPT
not-kafka                    neither end is a listener of a broker, over TCP
other-day                    starts outside the days asked for
duplicate-side               the other side has logged it too, see sides
kept                         else
```

The kind follows from who is who. A listener is an address and port of a broker; the other end is a
broker when its address is one of the same cluster:

```
other end -> listener     produce       or replicate, sender = the other broker
listener -> other end     fetch         or replicate, sender = the listener's broker
```

Bytes are wire bytes, so what clients send with fetch requests counts as produce. The client's rack
is that of a group member at its address, else that of its subnet, else unknown.

What this does not do: tell the topic (`traffic.apportion` spreads bytes over topics).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.addresses import never_null, with_addresses
from rackwise.pipeline.clock import day_of, is_within
from rackwise.pipeline.flow_logs import OWN, read_rows
from rackwise.pipeline.listeners import (
    address_key,
    by_address,
    by_listener,
    is_estimated,
    listener_key,
)
from rackwise.pipeline.racks import with_rack_of
from rackwise.pipeline.schemas import FLOW_FACT, KINDS, SOURCES
from rackwise.pipeline.sides import (
    day_key,
    logged_addresses,
    with_direction,
    with_duplicates,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.racks import Buckets
    from rackwise.pipeline.sides import Side

Once: TypeAlias = "Callable[[DataFrame, str], DataFrame]"

TCP = 6
PRODUCE, FETCH, REPLICATE = (KINDS.index(kind) for kind in ("produce", "fetch", "replicate"))
MEASURED, ESTIMATED = 0, 2
CLIENT = ("ip", "prefix")
KEPT = "kept"
PLACE = ("reason", "source_file", "row_offset", "raw")


def log_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    side: Side,
    days: tuple[date, date] | None,
    is_told: bool,
    once: Once,
) -> DataFrame:
    """`schemas.FLOW_FACT`, `PLACE` and `same` of every row of `schemas.BRONZE_VPC`.

    `days`: first and last day, both kept. `is_told`: every row with data says its direction. The
    column `same` is equal for rows that are equal in interface, ends, times, direction, bytes and
    packets. `once`: see `flows.flow_facts`.
    """
    rows = read_rows(bronze)
    rows = once(rows.drop(*OWN) if is_told else rows, "row")
    rows = with_direction(rows, fleet, is_told=is_told)
    if not is_told:
        rows = once(rows, "row_of_side")
    placed = with_client_rack(_with_ends(rows, fleet), fleet, buckets)
    judged = _with_duplicates(placed, rows, side, once)
    return judged.select(*_facts(), _reason(days).alias("reason"), *PLACE[1:], _same())


def as_planned(df: DataFrame, name: str) -> DataFrame:  # noqa: ARG001 (the shape of `Once`)
    """Nothing is stored: Spark plans, and computes, the rows wherever they are needed."""
    return df


def with_client_rack(facts: DataFrame, fleet: Fleet, buckets: Buckets) -> DataFrame:
    """Adds `client_rack` by `ip` and `prefix` (null: no client) and `cluster`; 0 = unknown."""
    kept = facts.columns
    placed = with_rack_of(facts, F.col("ip"), F.col("prefix"), buckets, into="client_rack")
    if not _has_members(fleet):
        return placed
    key = address_key(F.col("ip"), F.col("cluster"))
    return (
        placed.select("*", key.alias("_member_key"))
        .join(F.broadcast(_member_racks(fleet)), "_member_key", "left")
        .select(*kept, F.coalesce("_member_rack", "client_rack").alias("client_rack"))
    )


def _has_members(fleet: Fleet) -> bool:
    """Whether a group member's rack and address are known; members are of the last snapshots."""
    return any(
        member.rack is not None and member.address
        for snapshot in fleet.latest
        for group in snapshot.cluster.groups
        for member in group.members
    )


def _member_racks(fleet: Fleet) -> DataFrame:
    """Key of an address within a cluster -> rack of the members there, where they agree."""
    members = with_addresses(
        fleet.members.where("rack != 0").select("cluster", "rack", "address"),
        {"_member": F.col("address")},
    )
    key = address_key(F.col("_member_ip"), F.col("cluster"))
    racks = members.groupBy(never_null(key).alias("_member_key")).agg(
        F.min("rack").alias("_member_rack"), F.max("rack").alias("_other_rack")
    )
    return racks.where(F.col("_member_rack") == F.col("_other_rack")).drop("_other_rack")


def _with_ends(rows: DataFrame, fleet: Fleet) -> DataFrame:
    """Adds cluster, kind, the listener's and the other broker, and the client's address."""
    listeners, at = by_listener(fleet), F.col("start")
    keys = {
        end: F.when(F.col("protocol") == TCP, listener_key(F.col(f"{end}_ip"), F.col(f"{end}port")))
        for end in ("dst", "src")
    }
    found = listeners.join(rows, keys["dst"], at, into="_dst")
    found = listeners.join(found, keys["src"], at, into="_src")
    is_to = F.col("_dst").isNotNull()
    heard = found.select(
        *rows.columns,
        is_to.alias("_to"),
        F.coalesce("_dst", "_src").alias("_near"),
        *(F.when(is_to, F.col(f"src_{n}")).otherwise(F.col(f"dst_{n}")).alias(n) for n in CLIENT),
    )
    key = address_key(F.col("ip"), F.col("_near.cluster"))
    other = by_address(fleet).join(heard, key, at, into="_far")
    is_copy = F.coalesce(F.col("_far.broker") != F.col("_near.broker"), F.lit(0) == 1)
    kind = F.when(is_copy, REPLICATE).when(F.col("_to"), PRODUCE).otherwise(FETCH)
    is_client = F.col("_near").isNotNull() & ~is_copy
    return other.select(
        *rows.columns,
        *("_to", "_near", "_far"),
        F.col("_near.cluster").alias("cluster"),
        kind.alias("kind"),
        *(F.when(is_client, F.col(n)).alias(n) for n in CLIENT),
    )


def _with_duplicates(placed: DataFrame, rows: DataFrame, side: Side, once: Once) -> DataFrame:
    if side != "auto":
        return with_duplicates(placed, side)
    key = F.when(~F.col("is_egress"), day_key(F.col("src_ip"), F.col("start")))
    logged = once(logged_addresses(rows), "logged").withColumn("is_duplicate", F.lit(1) == 1)
    return placed.withColumn("_logged", key).join(F.broadcast(logged), "_logged", "left")


def _facts() -> list[Column]:
    """The columns of `schemas.FLOW_FACT`; of a row that is not kept they may be null."""
    is_copy, is_to = F.col("kind") == REPLICATE, F.col("_to")
    near, far = F.col("_near"), F.col("_far")
    sender = F.when(is_copy & is_to, far).otherwise(near)
    receiver = F.when(is_copy, F.when(is_to, near).otherwise(far))
    at = F.col("start")
    is_guess = is_estimated(near, at) | (is_copy & is_estimated(far, at))
    values = {
        "window_start": F.timestamp_seconds(at),
        "window_s": F.when(F.col("malformed").isNull(), F.col("end") - at),
        "day": day_of(at),
        "source": F.lit(SOURCES.index("flow log")),
        "quality": F.when(is_guess, ESTIMATED).otherwise(MEASURED),
        "client_ip": F.when(F.col("ip") >= 0, F.col("ip")),
        "client": F.lit(0),
        "broker": sender.getField("broker"),
        "broker_rack": sender.getField("rack"),
        "peer": F.coalesce(receiver.getField("broker"), F.lit(0)),
        "peer_rack": F.coalesce(receiver.getField("rack"), F.lit(0)),
        "topic": F.lit(0),
        "partition": F.lit(None),
    }
    return [
        values.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FLOW_FACT.fields
    ]


def _reason(days: tuple[date, date] | None) -> Column:
    status, action = F.col("log_status"), F.col("action")
    reason = (
        F.when(F.col("malformed").isNotNull(), F.col("malformed"))
        .when(status == "NODATA", "nodata")
        .when(status == "SKIPDATA", "skipdata")
        .when(action.isNull() | (action != "ACCEPT"), "rejected")
        .when(F.col("_near").isNull(), "not-kafka")
    )
    if days is not None:
        reason = reason.when(~is_within(F.col("start"), days), "other-day")
    return reason.when(F.col("is_duplicate"), "duplicate-side").otherwise(KEPT)


def _same() -> Column:
    return F.struct(
        *("interface", "src_ip", "dst_ip", "srcport", "dstport", "protocol"),
        *("start", "end", "is_egress", "bytes", "packets"),
    ).alias("same")
