"""Columns of every table of the pipeline, once; the comment of a column gives its unit or shape.

Bronze is what a source gave, silver is facts with integer codes, gold is what people read. Codes
are dense from 1 in the sorted order of the names, 0 = unknown, and are valid inside one run only;
gold holds names, never codes. Racks are codes of whole paths.
"""

from __future__ import annotations

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

KINDS = ("produce", "fetch", "replicate", "other")
"""Kind code -> name: clients write, clients read, brokers copy, neither."""
PRODUCE, FETCH, REPLICATE, _ = range(len(KINDS))

SOURCES = ("", "flow log", "rates", "otlp", "request log", "model", "telemetry")
"""Source code -> name."""

QUALITIES = ("measured", "apportioned", "estimated")
"""Quality code -> name."""
MEASURED, APPORTIONED, ESTIMATED = range(len(QUALITIES))

LONGEST_TEXT = 4096
"""Characters of a text that are kept: of a name, of a malformed row."""
UNKNOWN_TOPIC = "(unknown)"
UNKNOWN_GROUP = "(unknown)"
UNKNOWN_RACK = "(unknown)"

USD = DecimalType(18, 9)
"""Dollars, exact to the nano."""

_INT, _LONG, _STRING, _BOOL = IntegerType(), LongType(), StringType(), BooleanType()


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


BROKER = _table(
    cluster=_INT,
    broker=_INT,
    broker_id=_INT,
    rack=_INT,
    addresses=ArrayType(_STRING),
    ports=ArrayType(_INT),
    is_fenced=_BOOL,
    selector=_STRING,
    valid_from=TimestampType(),
    valid_to=TimestampType(),
)
TOPIC = _table(cluster=_INT, topic=_INT, name=_STRING, min_isr=_INT, retention_bytes=_LONG)
PARTITION = _table(
    cluster=_INT,
    topic=_INT,
    partition=_INT,
    replicas=ArrayType(_INT),  # broker codes, preferred leader first, adding replicas removed
    leader=_INT,  # broker code, 0 = none
    isr=ArrayType(_INT),
    bytes=_LONG,
    valid_from=TimestampType(),
    valid_to=TimestampType(),
)
MEMBER = _table(
    cluster=_INT,
    client_group=_INT,
    member_id=_STRING,
    client_id=_STRING,
    address=_STRING,
    rack=_INT,
    topic=_INT,
    partitions=ArrayType(_INT),
)
RACK = _table(rack=_INT, path=_STRING, depth=ByteType(), l1=_INT, l2=_INT, l3=_INT, l4=_INT)
CLUSTER = _table(cluster=_INT, name=_STRING, cluster_id=_STRING)
CLIENT = _table(client=_INT, client_group=_STRING)
SNAPSHOT = _table(
    cluster=_INT,
    file=_STRING,
    fingerprint=_STRING,  # SHA-256 of the content
    taken_at=TimestampType(),
    valid_from=TimestampType(),  # the first hour it speaks for
    valid_to=TimestampType(),  # null: still speaks
)

FLOW_FACT = _table(
    window_start=TimestampType(),
    window_s=_INT,
    day=_INT,  # days since 1970-01-01, UTC
    cluster=_INT,
    kind=ByteType(),
    source=ByteType(),
    quality=ByteType(),
    client_ip=_LONG,  # IPv4 as 0..2^32-1, of IPv6 a digest below -1; null where not known
    client=_INT,
    client_rack=_INT,
    broker=_INT,
    broker_rack=_INT,
    peer=_INT,  # the receiving broker of a replicate flow, whose sender is `broker`; 0 otherwise
    peer_rack=_INT,
    topic=_INT,
    partition=_INT,
    bytes=_LONG,
    packets=_LONG,
)
QUARANTINE = _table(source_file=_STRING, row_offset=_LONG, reason=_STRING, bytes=_LONG, raw=_STRING)

VPC_NUMBERS = ("srcport", "dstport", "protocol", "packets", "bytes", "start", "end")
VPC_REQUIRED = (
    *("interface_id", "srcaddr", "dstaddr"),
    *VPC_NUMBERS,
    *("action", "log_status"),
)
_PLACE = {
    "raw": _STRING,  # the line, at most 4096 characters; null for Parquet
    "source_file": _STRING,
    "row_offset": _LONG,  # row of a Parquet file, from 0; null for text
}
BRONZE_VPC = _table(
    **dict.fromkeys(VPC_REQUIRED, _STRING),  # numbers are integers where the file has integers
    pkt_srcaddr=_STRING,
    pkt_dstaddr=_STRING,
    flow_direction=_STRING,
    malformed=_STRING,  # why a line is no row; null where it is one
    **_PLACE,
)

FLOW_INPUT = _table(
    cluster=_STRING,
    window_start=TimestampType(),
    window_s=_INT,
    kind=_STRING,
    client_address=_STRING,
    client_id=_STRING,
    client_group=_STRING,
    client_rack=_STRING,
    broker_id=_INT,
    peer_broker_id=_INT,
    topic=_STRING,
    partition=_INT,
    bytes=_LONG,
    packets=_LONG,
    source=_STRING,
    emitter=_STRING,
    revision=_INT,
)
_TOLD = {
    "principal": _STRING,  # the user that a client is to its broker, where its source says so
    "outcome": _STRING,  # what its source has settled of a row; null where it is to be judged
}
BRONZE_INPUT = StructType([*FLOW_INPUT.fields, *_table(**_TOLD, **_PLACE).fields])
BRONZE_REQUEST = _table(
    window_start=TimestampType(),  # when the request was finished
    kind=_STRING,
    client_address=_STRING,
    client_id=_STRING,
    client_rack=_STRING,
    broker_address=_STRING,  # the broker's end of the connection
    broker_port=_INT,
    peer_broker_id=_INT,  # the replica that fetches
    topic_name=_STRING,
    topic_id=_STRING,
    partition=_INT,
    bytes=_LONG,
    emitter=_STRING,  # the request: its connection and number there
    **_TOLD,
    **_PLACE,
)
FLOW_INPUT_REQUIRED = ("cluster", "window_start", "kind", "broker_id", "bytes")

TRAFFIC = _table(
    day=_INT,
    cluster=_INT,
    kind=ByteType(),
    topic=_INT,
    client=_INT,
    from_rack=_INT,
    to_rack=_INT,
    quality=ByteType(),
    bytes=_LONG,
)
WEIGHT = _table(
    basis=_INT,  # what the set of weights speaks of, see `traffic.BY_CLIENT` and its like
    place=_LONG,  # which one: packed cluster, kind, client; an address; a pair of brokers
    topic=_INT,
    client=_INT,  # the client group that the share goes to
    weight=_LONG,
)

CROSS_RACK = _table(
    day=DateType(),
    cluster=_STRING,
    kind=_STRING,
    topic=_STRING,
    client_group=_STRING,
    from_rack=_STRING,
    to_rack=_STRING,
    level=_INT,  # 0 local, 1.. the level crossed, -1 a side is unknown
    level_name=_STRING,
    bytes=_LONG,
    usd_out=USD,  # null where no price row covers the level
    usd_in=USD,
    usd=USD,
    price_row=_STRING,
    quality=_STRING,
)
_ROLL_UP = {
    "bytes_local": _LONG,
    "bytes_cross": _LONG,
    "bytes_unknown": _LONG,
    "usd": USD,
    "share": DoubleType(),  # of all usd of the run; of all bytes where nothing is priced
}
BY_TOPIC = _table(cluster=_STRING, topic=_STRING, **_ROLL_UP)
BY_GROUP = _table(cluster=_STRING, client_group=_STRING, **_ROLL_UP)
BY_PAIR = _table(cluster=_STRING, from_rack=_STRING, to_rack=_STRING, **_ROLL_UP)
BY_LEVEL = _table(cluster=_STRING, level=_INT, level_name=_STRING, **_ROLL_UP)
BY_DAY = _table(cluster=_STRING, day=DateType(), **_ROLL_UP)
BY_KIND = _table(cluster=_STRING, kind=_STRING, **_ROLL_UP)
MATRIX = _table(
    cluster=_STRING,
    level=_INT,
    level_name=_STRING,
    from_rack=_STRING,  # the ancestor at that level
    to_rack=_STRING,
    bytes=_LONG,
    usd=USD,  # of what crosses at that level or a coarser one
)

SAVINGS = _table(
    cluster=_STRING,
    topic=_STRING,  # null where a row speaks of all
    client_group=_STRING,
    saving=_STRING,  # follower-fetch, assignment, producing or leader-moves
    view=_STRING,  # alone, waterfall; stock: the step of assignment by the stock assignor
    eps=DoubleType(),  # of producing: a rack takes at most 1 + eps times its even part
    bytes_saved=_LONG,  # of bytes that cross; below 0 where more cross
    usd_saved=USD,  # null where nothing has a price
    usd_saved_30d=USD,
    load_factor=DoubleType(),  # of producing: the fullest rack over its even part
    condition=_STRING,  # what the saving requires, or why it is not applied
    quality=_STRING,
)

FINDING = _table(
    cluster=_STRING,
    rule=_STRING,
    severity=_STRING,
    topic=_STRING,
    partition=_INT,
    broker=_INT,
    level=_STRING,
    wanted=_STRING,
    had=_STRING,
    message=_STRING,
)
BLAST = _table(
    cluster=_STRING,
    rack=_STRING,
    level=_INT,
    partitions_offline=_LONG,
    partitions_below_min_isr=_LONG,
    leaders_lost=_LONG,
    top_survivor_leader_share=DoubleType(),
    replicas_lost=_LONG,
    bytes_to_restore=_LONG,  # null where a size is not known
    cross_bytes_to_restore=_LONG,
    usd_to_restore=USD,
    groups_lost=_LONG,
    member_share_lost=DoubleType(),
)

_OUTCOME = {
    "cluster": _STRING,
    "goal": _STRING,
    "status": _STRING,  # planned, infeasible, refused, failed; the rest is null where not planned
    "minimise": _STRING,  # moves, bytes or usd
    "moves": _LONG,  # replicas copied
    "partitions": _LONG,  # whose set changes
    "partitions_at_least": _LONG,  # in any plan of this cost
    "leader_changes": _LONG,
    "repair_moves": _LONG,  # what the rules alone force
    "bytes": _LONG,  # null where a size is not known
    "cross_bytes": _LONG,
    "usd": USD,  # once, for copying; null where a size or a price is not known
    "unknown_sizes": _LONG,
    "solver": _STRING,
    "reason": _STRING,  # why there is no plan; null where there is one
    "hint": _STRING,
    "sha256": _STRING,  # of the plan
}
_MOVE = _table(
    topic=_STRING,
    partition=_INT,
    before=ArrayType(_INT),  # broker ids, preferred leader first
    after=ArrayType(_INT),
    is_leader_change=_BOOL,
    bytes=_LONG,  # of one replica
    cross_bytes=_LONG,
    usd=USD,
    reasons=ArrayType(_STRING),  # rules that it mends
)
PLANNED = _table(
    **_OUTCOME,
    is_sound=_BOOL,  # legal, fair, and no other problem
    prices=ArrayType(_table(broker=_INT, price=_LONG)),  # of the certificate, by broker id
    topic_prices=ArrayType(_table(topic=_STRING, broker=_INT, cap=_LONG, price=_LONG)),
    groups=ArrayType(
        _table(brokers=ArrayType(_INT), low=ArrayType(_LONG), high=ArrayType(_LONG), total=_LONG)
    ),
    moved=ArrayType(_MOVE),
    file=BinaryType(),  # what the plan file holds
)
PLAN_SUMMARY = _table(
    **_OUTCOME,
    cost=_LONG,  # in replicas, bytes or nano-dollars, counted from the moves
    lower_bound=_LONG,  # of any plan, added up by Spark from the certificate's prices
    gap=_LONG,
    verdict=_STRING,  # proved, or the gap
    file=_STRING,  # below the output folder
)
PLAN = StructType([StructField("cluster", _STRING), *_MOVE.fields])
