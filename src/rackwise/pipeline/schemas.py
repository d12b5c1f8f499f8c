"""Columns of every table of the pipeline: name, type, and the meaning with its unit.

Bronze tables have the values of a source, silver tables have facts with integer codes, and gold
tables have the results that people read. Codes are dense from 1 in the sorted order of the names,
and 0 means unknown. A code is valid in one run only, so gold tables have names and no codes. A rack
is the code or the text of its whole path. Times are in UTC.

The reference page of the tables is generated from here.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rackwise.core.racks import MAX_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

KINDS = ("produce", "fetch", "replicate", "other")
"""Kind code -> name. Clients produce and fetch, and brokers replicate."""
PRODUCE, FETCH, REPLICATE, _ = range(len(KINDS))

SOURCES = ("", "flow log", "rates", "otlp", "request log", "model", "telemetry", "meter")
"""Source code -> name."""

QUALITIES = ("measured", "apportioned", "estimated", "metered")
"""Quality code -> name."""
MEASURED, APPORTIONED, ESTIMATED, METERED = range(len(QUALITIES))

LONGEST_TEXT = 4096
"""The maximum number of characters of a stored text, such as a name or a malformed row."""
UNKNOWN_TOPIC = "(unknown)"
UNKNOWN_GROUP = "(unknown)"
UNKNOWN_RACK = "(unknown)"

USD = DecimalType(18, 9)
"""Dollars with nine digits, so that sums of nano-dollars are exact."""

_INT, _LONG, _STRING, _BOOL = IntegerType(), LongType(), StringType(), BooleanType()
_INT_LIST = ArrayType(_INT)

_Columns: TypeAlias = "Mapping[str, tuple[DataType, str]]"

MEANINGS: dict[str, dict[str, str]] = {}
"""Table -> column -> meaning, with the unit of numbers."""


def _table(table: str, /, **columns: tuple[DataType, str]) -> StructType:
    """The schema of a table; `columns`: name -> type and meaning."""
    MEANINGS[table] = {name: meaning for name, (_, meaning) in columns.items()}
    return StructType([StructField(name, kind) for name, (kind, _) in columns.items()])


def _struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


# Spark 4.0 and 4.1 always give instants the zone UTC, and have no parameter for it.
_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


def arrow_schema(columns: StructType) -> pa.Schema:
    """The Arrow schema of columns, with instants in UTC, in every Spark 4."""
    return to_arrow_schema(columns, **_IN_UTC)


_VALIDITY: _Columns = {
    "valid_from": (TimestampType(), "first hour that the snapshot covers"),
    "valid_to": (TimestampType(), "first hour of the next snapshot; null for the last snapshot"),
}

BROKER = _table(
    "broker",
    cluster=(_INT, "cluster code"),
    broker=(_INT, "broker code"),
    broker_id=(_INT, "`broker.id` in the cluster"),
    rack=(_INT, "rack code"),
    addresses=(ArrayType(_STRING), "IP addresses"),
    ports=(_INT_LIST, "port of the listener; empty if unknown"),
    is_fenced=(_BOOL, "whether the controller has fenced the broker"),
    selector=(_STRING, "`replica.selector.class`; null if not set"),
    **_VALIDITY,
)
TOPIC = _table(
    "topic",
    cluster=(_INT, "cluster code"),
    topic=(_INT, "topic code"),
    name=(_STRING, "topic name"),
    min_isr=(_INT, "`min.insync.replicas`; null if unknown"),
    retention_bytes=(_LONG, "`retention.bytes`, in bytes; null if unknown"),
)
PARTITION = _table(
    "partition",
    cluster=(_INT, "cluster code"),
    topic=(_INT, "topic code"),
    partition=(_INT, "partition number"),
    replicas=(_INT_LIST, "broker codes, preferred leader first; without replicas being added"),
    leader=(_INT, "broker code; 0 for no leader"),
    isr=(_INT_LIST, "broker codes of the in-sync replicas"),
    bytes=(_LONG, "bytes of one replica; null if unknown"),
    **_VALIDITY,
)
MEMBER = _table(
    "member",
    cluster=(_INT, "cluster code"),
    client_group=(_INT, "client group code"),
    member_id=(_STRING, "member id"),
    client_id=(_STRING, "`client.id`"),
    address=(_STRING, "IP address of the client; null if unknown"),
    rack=(_INT, "code of the rack that the member reports"),
    topic=(_INT, "code of an assigned topic; 0 if the member has no partition"),
    partitions=(_INT_LIST, "numbers of the assigned partitions of the topic"),
)
RACK = _table(
    "rack",
    rack=(_INT, "rack code"),
    path=(_STRING, "the whole path, such as `/eu/a`"),
    depth=(ByteType(), "number of levels"),
    l1=(_INT, "code of the ancestor at level 1, the coarsest"),
    **{
        f"l{level}": (_INT, f"code of the ancestor at level {level}; 0 if the path is shorter")
        for level in range(2, MAX_LEVELS + 1)
    },
)
CLUSTER = _table(
    "cluster",
    cluster=(_INT, "cluster code"),
    name=(_STRING, "name of the cluster: of its snapshots, else of its files, else its id"),
    cluster_id=(_STRING, "cluster id; null if unknown"),
)
CLIENT = _table(
    "client",
    client=(_INT, "client group code"),
    client_group=(_STRING, "name of the client group"),
)
SNAPSHOT = _table(
    "snapshot",
    cluster=(_INT, "cluster code"),
    file=(_STRING, "path of the file"),
    fingerprint=(_STRING, "SHA-256 of the content"),
    taken_at=(TimestampType(), "when the snapshot was taken"),
    **_VALIDITY,
)

FLOW_FACT = _table(
    "flow_fact",
    window_start=(TimestampType(), "start of the flow or of the window"),
    window_s=(_INT, "duration, in seconds"),
    day=(_INT, "days since 1970-01-01"),
    cluster=(_INT, "cluster code"),
    kind=(ByteType(), "0 produce, 1 fetch, 2 replicate, 3 other"),
    source=(ByteType(), "code of the source of the row: 1 flow log, 2 rates, 6 telemetry, ..."),
    quality=(ByteType(), "0 measured, 1 apportioned, 2 estimated, 3 metered"),
    client_ip=(
        _LONG,
        "IPv4 address from 0 to 2^32 - 1; digest of an IPv6 address, below -1; null if unknown",
    ),
    client=(_INT, "client group code"),
    client_rack=(_INT, "rack code of the client"),
    broker=(_INT, "broker code; of a replicate flow, the sender"),
    broker_rack=(_INT, "rack code of the broker"),
    peer=(_INT, "broker code of the receiver of a replicate flow; else 0"),
    peer_rack=(_INT, "rack code of the peer"),
    topic=(_INT, "topic code"),
    partition=(_INT, "partition number; null if unknown"),
    bytes=(_LONG, "bytes"),
    packets=(_LONG, "packets; null if unknown"),
)
FLOW_SUM = _table(
    "flow_sum",
    **{
        name: (FLOW_FACT[name].dataType, MEANINGS["flow_fact"][name])
        for name in FLOW_FACT.names
        if name not in {"window_start", "window_s", "client_ip", "partition", "bytes", "packets"}
    },
    client_ip=(_LONG, "address of the client, as in flow_fact, where group members are; else null"),
    rows=(_LONG, "rows of flow files"),
    bytes=(_LONG, "bytes"),
)
_ROW_PLACE: _Columns = {
    "raw": (_STRING, "the line, at most 4096 characters; null for Parquet"),
    "source_file": (_STRING, "URI of the file"),
    "row_offset": (_LONG, "row of a Parquet file, from 0; null for text"),
}
QUARANTINE = _table(
    "quarantine",
    source_file=(_STRING, "URI of the file"),
    row_offset=(_LONG, "row of a Parquet file, from 0; line of a text file, from 1; 0 = the file"),
    reason=(_STRING, "`malformed:` and the first column or check that failed"),
    bytes=(_LONG, "bytes of the row; null if they are not a number"),
    raw=(_STRING, "the row as text, at most 4096 characters"),
)

_VPC: _Columns = {
    "interface_id": (_STRING, "id of the network interface that logged the flow"),
    "srcaddr": (_STRING, "source address at the interface"),
    "dstaddr": (_STRING, "destination address at the interface"),
    "srcport": (_STRING, "source port"),
    "dstport": (_STRING, "destination port"),
    "protocol": (_STRING, "IANA protocol number; 6 is TCP"),
    "packets": (_STRING, "packets of the flow"),
    "bytes": (_STRING, "bytes of the flow"),
    "start": (_STRING, "start, in epoch seconds"),
    "end": (_STRING, "end, in epoch seconds"),
    "action": (_STRING, "ACCEPT or REJECT"),
    "log_status": (_STRING, "OK, NODATA or SKIPDATA"),
}
"""Numbers are strings from text files, and strings or integers from Parquet files."""
VPC_NUMBERS = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")
VPC_REQUIRED = tuple(_VPC)
BRONZE_VPC = _table(
    "bronze_vpc",
    **_VPC,
    pkt_srcaddr=(_STRING, "source address of the packet, as behind NAT"),
    pkt_dstaddr=(_STRING, "destination address of the packet, as behind NAT"),
    flow_direction=(_STRING, "egress or ingress, as seen by the interface"),
    az_id=(_STRING, "zone of the interface, as `use1-az1`; null if the log does not name it"),
    src_zone=(_STRING, "zone of the sender; null if the log does not name it"),
    dst_zone=(_STRING, "zone of the receiver; null if the log does not name it"),
    malformed=(_STRING, "why a line is not a row; else null"),
    **_ROW_PLACE,
)

_FLOW_INPUT: _Columns = {
    "cluster": (_STRING, "cluster id or cluster name"),
    "window_start": (TimestampType(), "start of the window"),
    "window_s": (_INT, "duration of the window, in seconds"),
    "kind": (_STRING, "produce, fetch, replicate or other"),
    "client_address": (_STRING, "IP address of the client"),
    "client_id": (_STRING, "`client.id`"),
    "client_group": (_STRING, "consumer group"),
    "client_rack": (_STRING, "rack of the client"),
    "broker_id": (_INT, "id of the broker; of a replicate flow, the sender"),
    "peer_broker_id": (_INT, "id of the receiver of a replicate flow"),
    "topic": (_STRING, "topic name"),
    "partition": (_INT, "partition number"),
    "bytes": (_LONG, "bytes in the window"),
    "packets": (_LONG, "packets in the window"),
    "source": (_STRING, "source of the row; `telemetry` if null"),
    "emitter": (_STRING, "sender of the row; it may send a window again"),
    "revision": (_INT, "a higher revision of a window replaces a lower one; 0 if null"),
}
FLOW_INPUT = _table("flow_input", **_FLOW_INPUT)
FLOW_INPUT_REQUIRED = ("cluster", "window_start", "kind", "broker_id", "bytes")
_PRESET: _Columns = {
    "principal": (_STRING, "principal of the client, if the source reports it"),
    "outcome": (_STRING, "reason that the source has set; null if the row is still to be checked"),
}
BRONZE_INPUT = _table("bronze_input", **_FLOW_INPUT, **_PRESET, **_ROW_PLACE)
BRONZE_REQUEST = _table(
    "bronze_request",
    window_start=(TimestampType(), "when the broker finished the request"),
    kind=(_STRING, "produce, fetch or replicate"),
    client_address=(_STRING, "IP address of the client"),
    client_id=(_STRING, "`client.id`"),
    client_rack=(_STRING, "rack that a client sends with a Fetch"),
    broker_address=(_STRING, "IP address at the broker's end of the connection"),
    broker_port=(_INT, "port at the broker's end of the connection"),
    peer_broker_id=(_INT, "id of the replica that sends a Fetch"),
    topic_name=(_STRING, "topic name, if the request has it"),
    topic_id=(_STRING, "topic id, if the request has it"),
    partition=(_INT, "partition number"),
    bytes=(_LONG, "bytes of the records in the partition"),
    emitter=(_STRING, "connection, and number of the request on it"),
    **_PRESET,
    **_ROW_PLACE,
)

WEIGHT = _table(
    "weight",
    cluster=(_LONG, "cluster code"),
    basis=(
        _LONG,
        "1 client group, 2 address, 3 pair, 4 read at a broker, 5 led, 6 copied, 7 size",
    ),
    place=(_LONG, "packed cluster, kind and client; address and broker; broker; or pair"),
    day=(_LONG, "days since 1970-01-01; 0 = every day"),
    topic=(_LONG, "topic code"),
    client=(_LONG, "code of the client group that gets the share"),
    weight=(_LONG, "weight, from 1"),
)

CROSS_RACK = _table(
    "cross_rack",
    day=(DateType(), "day, in UTC"),
    cluster=(_STRING, "cluster name"),
    kind=(_STRING, "produce, fetch, replicate or other"),
    topic=(_STRING, "topic name, or `(unknown)`"),
    client_group=(_STRING, "client group, or `(unknown)`"),
    owner=(_STRING, "owner of the topic, else of the client group, else `(unowned)`"),
    from_rack=(_STRING, "rack of the sender, or `(unknown)`"),
    to_rack=(_STRING, "rack of the receiver, or `(unknown)`"),
    level=(_INT, "level that the bytes cross, from 1; 0 local, -1 a rack is unknown"),
    level_name=(_STRING, "name of the level, `local` or `unknown`"),
    bytes=(_LONG, "bytes"),
    usd_out=(USD, "dollars for sending; null without a price"),
    usd_in=(USD, "dollars for receiving; null without a price"),
    usd=(USD, "`usd_out` + `usd_in`"),
    usd_high=(
        USD,
        "dollars at most: `usd`, or the highest price if a rack is unknown; null without a price",
    ),
    price_row=(_STRING, "the price row that was used; null without a price"),
    quality=(_STRING, "measured, metered, apportioned or estimated"),
)
PRICE = _table(
    "price",
    provider=(_STRING, "provider"),
    region=(_STRING, "region of the sender, or `*`"),
    level=(_STRING, "name of the level that is crossed, or `*`"),
    kind=(_STRING, "produce, fetch, replicate, other, or `*`"),
    usd_per_gb_out=(USD, "dollars that the sender pays per GB"),
    usd_per_gb_in=(USD, "dollars that the receiver pays per GB"),
    gb_bytes=(_LONG, "bytes of a GB of this provider"),
    valid_from=(DateType(), "first day"),
    valid_to=(DateType(), "day after the last day; null for no end"),
    source=(_STRING, "where the price was published"),
    is_checked=(_BOOL, "whether somebody compared the price with its source"),
    row=(_STRING, "the price row, as in `cross_rack`"),
)
_SUMS: _Columns = {
    "bytes_local": (_LONG, "bytes that cross no level"),
    "bytes_cross": (_LONG, "bytes that cross a level"),
    "bytes_unknown": (_LONG, "bytes with an unknown rack"),
    "usd": (USD, "dollars, at least; null if none are known"),
    "usd_high": (USD, "dollars, at most; null if a row may have any cost"),
    "share": (
        DoubleType(),
        "share of `usd` in the dollars of the run; of its bytes if nothing has a price",
    ),
}
_CLUSTER_NAME: _Columns = {"cluster": (_STRING, "cluster name")}
BY_TOPIC = _table("by_topic", **_CLUSTER_NAME, topic=(_STRING, "topic name"), **_SUMS)
BY_GROUP = _table("by_group", **_CLUSTER_NAME, client_group=(_STRING, "client group"), **_SUMS)
BY_OWNER = _table("by_owner", **_CLUSTER_NAME, owner=(_STRING, "owner"), **_SUMS)
BY_PAIR = _table(
    "by_pair",
    **_CLUSTER_NAME,
    from_rack=(_STRING, "rack of the sender"),
    to_rack=(_STRING, "rack of the receiver"),
    **_SUMS,
)
BY_LEVEL = _table(
    "by_level",
    **_CLUSTER_NAME,
    level=(_INT, "level that the bytes cross, from 1; 0 local, -1 a rack is unknown"),
    level_name=(_STRING, "name of the level, `local` or `unknown`"),
    **_SUMS,
)
BY_DAY = _table("by_day", **_CLUSTER_NAME, day=(DateType(), "day, in UTC"), **_SUMS)
BY_KIND = _table(
    "by_kind",
    **_CLUSTER_NAME,
    kind=(_STRING, "produce, fetch, replicate or other"),
    **_SUMS,
)
MATRIX = _table(
    "matrix",
    **_CLUSTER_NAME,
    level=(_INT, "level of the two racks, from 1, the coarsest"),
    level_name=(_STRING, "name of the level"),
    from_rack=(_STRING, "sender's ancestor at that level"),
    to_rack=(_STRING, "receiver's ancestor at that level"),
    bytes=(_LONG, "bytes, local bytes included"),
    usd=(USD, "dollars of the bytes that cross this level or a coarser one; null without a price"),
)

UNMETERED = _table(
    "unmetered",
    **_CLUSTER_NAME,
    kind=(_STRING, "produce (and what is replicated of it) or fetch"),
    topic=(_STRING, "topic name"),
    client_group=(_STRING, "the group that reads; null for produce"),
    reason=(_STRING, "short name of the reason"),
    cause=(_STRING, "why the bytes are not known"),
    cure=(_STRING, "what makes them known"),
    partitions=(_LONG, "greatest number of partitions in a pair of snapshots"),
    seconds=(_LONG, "time of these pairs"),
)
RECONCILIATION = _table(
    "reconciliation",
    **_CLUSTER_NAME,
    day=(DateType(), "day, in UTC"),
    from_broker=(_INT, "id of the broker that sends"),
    to_broker=(_INT, "id of the broker that receives"),
    flow_bytes_per_s=(
        _LONG,
        "replicated bytes per second by flow logs; null if they do not have the pair",
    ),
    meter_bytes_per_s=(
        _LONG,
        "replicated bytes per second by the meter; null if it does not have the pair",
    ),
    ratio=(DoubleType(), "the first divided by the second; null if the second is 0 or one is null"),
    is_off=(_BOOL, "whether the two differ by more than 10 %; null if one is null"),
)
BILLED = _table(
    "billed",
    day=(DateType(), "day, in UTC"),
    region=(_STRING, "region of AWS"),
    billed_bytes=(_LONG, "bytes between zones that AWS billed, both ends; null if not known"),
    billed_usd=(USD, "unblended dollars of these bytes; null if not known"),
    kafka_bytes=(_LONG, "bytes that Kafka moved between zones, both ends; null if not known"),
    kafka_bytes_high=(_LONG, "the same, at most: bytes with an unknown zone count as well"),
    kafka_usd=(USD, "dollars of `kafka_bytes` by the price table; null if not known"),
    share=(DoubleType(), "`kafka_bytes` / `billed_bytes`; null if the day is not compared"),
    share_high=(DoubleType(), "`kafka_bytes_high` / `billed_bytes`, likewise"),
    reason=(_STRING, "why a value is null or a range, each with its cure; null if all are known"),
)

_SAVED: _Columns = {
    "bytes_low": (_LONG, "bytes that no longer cross, at least; null if nothing is proved"),
    "bytes_high": (_LONG, "bytes that no longer cross, at most; negative if more bytes cross"),
    "bytes_saved": (_LONG, "bytes that no longer cross; null if only a range is known"),
    "usd_low": (USD, "dollars saved in the observed time, at least; null if nothing is proved"),
    "usd_high": (USD, "dollars saved in the observed time, at most; null without a price"),
    "usd_saved": (USD, "dollars saved in the observed time; null if only a range is known"),
    "usd_low_30d": (USD, "`usd_low` in 30 days; null if that is not extrapolated"),
    "usd_high_30d": (USD, "`usd_high` in 30 days; null if that is not extrapolated"),
    "usd_saved_30d": (USD, "`usd_saved` in 30 days; null if that is not extrapolated"),
}
"""Zero is written only if it is known to be zero."""
SAVINGS = _table(
    "savings",
    **_CLUSTER_NAME,
    topic=(_STRING, "topic name; null if the row is about all topics"),
    client_group=(_STRING, "client group; null if the row is about all groups"),
    saving=(
        _STRING,
        "follower-fetch, assignment, producing or leader-moves; all in the view total",
    ),
    view=(
        _STRING,
        "alone; waterfall; stock: assignment by the stock assignor; total: the whole waterfall",
    ),
    eps=(DoubleType(), "producing: a rack takes at most 1 + eps times its even share"),
    **_SAVED,
    reason=(_STRING, "why a value is null or a range, each with its cure; null if all are known"),
    load_factor=(DoubleType(), "producing: load of the fullest rack divided by its even share"),
    condition=(_STRING, "what the saving requires, or why it is not applied"),
    quality=(_STRING, "estimated"),
)

FINDING = _table(
    "finding",
    **_CLUSTER_NAME,
    rule=(_STRING, "name of the broken rule"),
    severity=(_STRING, "error, warning or info"),
    topic=(_STRING, "topic; null if the finding is not about one"),
    partition=(_INT, "partition number; null if the finding is not about one"),
    broker=(_INT, "broker id; null if the finding is not about one"),
    level=(_STRING, "level of racks at which the rule was checked"),
    wanted=(_STRING, "the expected value"),
    had=(_STRING, "the value that was found"),
    message=(_STRING, "the finding as a sentence"),
)
BLAST = _table(
    "blast",
    **_CLUSTER_NAME,
    rack=(_STRING, "the rack that is lost"),
    level=(_INT, "its level, from 1, the coarsest"),
    partitions_offline=(_LONG, "partitions without a live in-sync replica"),
    partitions_below_min_isr=(_LONG, "partitions with fewer than `min.insync.replicas`"),
    leaders_lost=(_LONG, "partitions whose leader is in the rack"),
    top_survivor_leader_share=(DoubleType(), "share of the leaders on the busiest live broker"),
    replicas_lost=(_LONG, "replicas in the rack"),
    bytes_to_restore=(_LONG, "bytes of the lost replicas; null if a size is unknown"),
    cross_bytes_to_restore=(_LONG, "bytes of them copied from outside; null if unknown"),
    usd_to_restore=(USD, "dollars of that copy; null if a size or a price is unknown"),
    groups_lost=(_LONG, "groups whose members are all in the rack"),
    member_share_lost=(DoubleType(), "share of the group members that are in the rack"),
)

_PLAN_OUTCOME: _Columns = {
    **_CLUSTER_NAME,
    "goal": (_STRING, "repair or balance"),
    "status": (_STRING, "planned, infeasible, refused or failed; only planned rows have numbers"),
    "minimise": (_STRING, "moves, bytes or usd"),
    "moves": (_LONG, "replicas to copy"),
    "partitions": (_LONG, "partitions whose replica set changes"),
    "partitions_at_least": (_LONG, "partitions that change in any plan of this cost"),
    "leader_changes": (_LONG, "partitions with another preferred leader"),
    "repair_moves": (_LONG, "moves that the rules alone require"),
    "bytes": (_LONG, "bytes to copy; null if a size is unknown"),
    "cross_bytes": (_LONG, "bytes to copy from another rack; null if a size is unknown"),
    "usd": (USD, "one-time dollars of the copy; null if a size or a price is unknown"),
    "unknown_sizes": (_LONG, "moved partitions of unknown size"),
    "monthly_cross_bytes": (_LONG, "bytes that replication adds across racks in 30 days, or null"),
    "monthly_usd": (USD, "dollars that replication adds in 30 days, below 0 if it gets cheaper"),
    "monthly_reason": (_STRING, "why the monthly change is null, and what makes it known"),
    "monthly_unknown_rates": (_LONG, "moved partitions whose monthly change is unknown"),
    "monthly_reads_usd": (USD, "dollars that reads of groups add in 30 days; null if unknown"),
    "monthly_reads_reason": (_STRING, "why the change of reads is null, and what makes it known"),
    "solver": (_STRING, "name of the solver"),
    "reason": (_STRING, "why there is no plan; null if there is one"),
    "hint": (_STRING, "what to do if there is no plan"),
    "sha256": (_STRING, "hash of the plan"),
}
_MOVE: _Columns = {
    "topic": (_STRING, "topic name"),
    "partition": (_INT, "partition number"),
    "before": (_INT_LIST, "broker ids before the move, preferred leader first"),
    "after": (_INT_LIST, "broker ids after the move, preferred leader first"),
    "is_leader_change": (_BOOL, "whether the preferred leader changes"),
    "bytes": (_LONG, "bytes of one replica; null if unknown"),
    "cross_bytes": (_LONG, "bytes to copy from another rack; null if unknown"),
    "usd": (USD, "one-time dollars of the copy; null without a price"),
    "reasons": (ArrayType(_STRING), "rules that the move repairs"),
}
PLANNED = _table(
    "planned",
    **_PLAN_OUTCOME,
    is_sound=(_BOOL, "whether the plan is legal and fair and has no other problem"),
    prices=(
        ArrayType(_struct(broker=_INT, price=_LONG)),
        "dual prices of the certificate, by broker id",
    ),
    topic_prices=(
        ArrayType(_struct(topic=_STRING, broker=_INT, cap=_LONG, price=_LONG)),
        "dual prices of a topic's replicas on a broker",
    ),
    groups=(
        ArrayType(
            _struct(brokers=_INT_LIST, low=ArrayType(_LONG), high=ArrayType(_LONG), total=_LONG)
        ),
        "groups of brokers of the certificate, with the bounds of each broker",
    ),
    moved=(
        ArrayType(_struct(**{name: kind for name, (kind, _) in _MOVE.items()})),
        "rows of `plan`",
    ),
    file=(BinaryType(), "content of the plan file"),
)
PLAN_SUMMARY = _table(
    "plan_summary",
    **_PLAN_OUTCOME,
    cost=(_LONG, "cost counted from the moves, in replicas, bytes or nano-dollars"),
    lower_bound=(_LONG, "lower bound of the cost of any plan, summed by Spark; null if none"),
    gap=(_LONG, "`cost` - `lower_bound`"),
    verdict=(_STRING, "`proved`, `not proved`, or `gap` and its size"),
    file=(_STRING, "path of the plan file below the output folder"),
)
PLAN = _table("plan", **_CLUSTER_NAME, **_MOVE)
