"""VPC flow logs of Google Cloud as rows of VPC flow logs: JSON lines, or Parquet from BigQuery.

Goals, in order: no value of an entry is guessed; no line is lost; each entry is one row. A sink of
Cloud Logging writes one `LogEntry` a line; a table that BigQuery exports has the same fields:

```
{"jsonPayload": {"connection": {"src_ip": "10.0.0.7", "src_port": 40000, "dest_ip": "10.0.1.9",
  "dest_port": 9092, "protocol": 6}, "reporter": "SRC", "bytes_sent": "1000", "packets_sent": "7",
  "start_time": "2026-11-01T12:00:00.25Z", "end_time": "2026-11-01T12:00:05.5Z",
  "src_instance": {"zone": "us-east4-a", ..}, "dest_instance": {"zone": "us-east4-b", ..}, ..}, ..}
```

| column of a row | field of `jsonPayload` |
|---|---|
| srcaddr srcport dstaddr dstport protocol | `connection`; of a pod, the address of the pod |
| bytes packets | `bytes_sent`, `packets_sent`: from source to destination |
| start end | `start_time`, `end_time`, in whole seconds |
| flow_direction | `reporter`: SRC is egress, DEST is ingress |
| src_zone dst_zone | `src_instance.zone`, `dest_instance.zone` |

So the duplicates are those of VPC flow logs: a flow that both ends report is counted once (see
`vpc_duplicates`). The outcome of a row is the first of these that holds, else that of `vpc_facts`:

```
malformed:line charset json reporter      the line is no entry of a flow log    (quarantine)
gateway                                   a VPN tunnel or an interconnect reports the flow
```

A gateway reports flows that an instance in the network reports as well.

Google samples packets and scales the bytes up, so all bytes are estimates.

What this does not do: read geographic or other annotations; read `json_payload` of Log Analytics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import FractionalType, StructType, TimestampType

from rackwise.pipeline.ingest.parquet_files import (
    check_columns,
    check_type,
    read_parquet,
    with_schema,
)
from rackwise.pipeline.ingest.text import marked_lines
from rackwise.pipeline.ingest.text_lines import CHARSET, FILE, LINE, LONGEST_LINE, OF_FILE
from rackwise.pipeline.ingest.vpc_files import PARTIAL
from rackwise.pipeline.ingest.vpc_rows import DIRECTIONS, OK
from rackwise.pipeline.schemas import BRONZE_VPC, LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

PAYLOAD = "jsonPayload"
HINT = "export VPC flow logs from Cloud Logging to a bucket, or set --flow-format"
JSON, REPORTER = "malformed:json", "malformed:reporter"
GATEWAY = "gateway"
REPORTERS = dict(zip(("SRC", "DEST"), DIRECTIONS, strict=True))
"""Value of `reporter` -> direction of the flow at the interface."""
GATEWAYS = ("SRC_GATEWAY", "DEST_GATEWAY")
FIELDS = {
    "srcaddr": ("connection", "src_ip"),
    "dstaddr": ("connection", "dest_ip"),
    "srcport": ("connection", "src_port"),
    "dstport": ("connection", "dest_port"),
    "protocol": ("connection", "protocol"),
    "packets": ("packets_sent",),
    "bytes": ("bytes_sent",),
    "start": ("start_time",),
    "end": ("end_time",),
    "reporter": ("reporter",),
    "src_zone": ("src_instance", "zone"),
    "dst_zone": ("dest_instance", "zone"),
}
"""Column -> path in the payload."""
_ENTRY = (
    f"{PAYLOAD} struct<connection: struct<src_ip: string, src_port: string, dest_ip: string, "
    "dest_port: string, protocol: string>, reporter: string, bytes_sent: string, "
    "packets_sent: string, start_time: string, end_time: string, src_instance: "
    "struct<zone: string>, dest_instance: struct<zone: string>>, _bad string"
)
_INSTANT = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)\z"


def read_gcp_logs(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of text and Parquet files.

    Raises `UnfitColumns`, and `InvalidFlows` if no line of the text files is an entry.
    """
    parquet = [file for file in files if file.is_parquet]
    if len(parquet) == len(files) > 0:
        return _exported_rows(spark, parquet)
    lines, broken = marked_lines(
        spark, [file for file in files if not file.is_parquet], PAYLOAD, hint=HINT
    )
    strays = spark.createDataFrame(
        [(FILE, file.uri, OF_FILE) for file in broken],
        "malformed string, source_file string, row_offset long",
    )
    rows = entry_rows(lines).unionByName(with_schema(strays, BRONZE_VPC))
    return rows.unionByName(_exported_rows(spark, parquet)) if parquet else rows


def entry_rows(lines: DataFrame) -> DataFrame:
    """`schemas.BRONZE_VPC` of lines: `value` and `source_file`."""
    value = F.col("value")
    is_short = F.octet_length(value) <= LONGEST_LINE
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    entries = lines.where(F.trim(value) != "").select(
        "source_file",
        F.lit(None).cast("long").alias("row_offset"),
        F.left(F.make_valid_utf8(value), F.lit(LONGEST_TEXT)).alias("raw"),
        F.when(~is_short, LINE).when(~F.is_valid_utf8(value), CHARSET).alias("fault"),
        F.from_json(F.when(is_short & F.is_valid_utf8(value), value), _ENTRY, options).alias(
            "entry"
        ),
    )
    entry = F.col("entry")
    payload = entry.getField(PAYLOAD)
    is_entry = entry.getField("_bad").isNull() & payload.isNotNull()
    parsed = entries.withColumn("payload", F.when(is_entry, payload))
    fault = F.coalesce("fault", F.when(F.col("payload").isNull(), JSON))
    return _rows(parsed.withColumn("fault", fault))


def _exported_rows(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of Parquet files. Raises `UnfitColumns`, `InvalidFlows`."""
    raw, where = read_parquet(spark, files, wanted=(PAYLOAD.lower(),)), files[0].uri
    check_columns(raw.columns, (PAYLOAD,), where)
    field = raw.schema[PAYLOAD]
    if not isinstance(field.dataType, StructType):
        check_type(field, ("struct<connection: struct<..>, ..>",), where)
    parsed = raw.select(
        "source_file",
        "row_offset",
        F.lit(None).cast("string").alias("raw"),
        F.when(F.col(PAYLOAD).isNull(), JSON).alias("fault"),
        F.col(PAYLOAD).alias("payload"),
    )
    return _rows(parsed)


def _rows(parsed: DataFrame) -> DataFrame:
    """`schemas.BRONZE_VPC` of `payload`, `fault`, `raw`, `source_file` and `row_offset`."""
    values = {name: _text_at(parsed, path) for name, path in FIELDS.items()}
    reporter = values["reporter"]
    direction = F.lit(None).cast("string")
    for name, word in REPORTERS.items():
        direction = F.when(reporter == name, word).otherwise(direction)
    outcome = F.coalesce(
        "fault", F.when(reporter.isin(*GATEWAYS), GATEWAY), F.when(direction.isNull(), REPORTER)
    )
    computed = values | {
        "start": _seconds(values["start"]),
        "end": _seconds(values["end"]),
        "action": F.lit("ACCEPT"),
        "log_status": F.lit(OK),
        "flow_direction": direction.alias("flow_direction", metadata={PARTIAL: False}),
        "malformed": outcome,
        **{name: F.col(name) for name in ("raw", "source_file", "row_offset")},
    }
    rows = parsed.select(
        *(column.alias(name) for name, column in computed.items() if name in BRONZE_VPC.names)
    )
    return with_schema(rows, BRONZE_VPC)


def _text_at(parsed: DataFrame, path: Sequence[str]) -> Column:
    """A field of the payload as text; null where the payload has no such field."""
    column, kind = F.col("payload"), parsed.schema["payload"].dataType
    for name in path:
        if not isinstance(kind, StructType) or name not in kind.names:
            return F.lit(None).cast("string")
        column, kind = column.getField(name), kind[name].dataType
    if isinstance(kind, TimestampType):
        return F.date_format(column, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
    if isinstance(kind, FractionalType):
        # BigQuery has ports as floats, because numbers of JSON are floats.
        whole = column.try_cast("bigint")
        is_whole = whole.cast("double") == column
        return F.when(is_whole, whole.cast("string")).otherwise(column.cast("string"))
    return column.cast("string")


def _seconds(time: Column) -> Column:
    """The epoch second of an RFC 3339 time as text; null for other texts."""
    return F.unix_seconds(F.when(time.rlike(_INSTANT), time).try_cast("timestamp")).cast("string")
