"""Network metrics of OpenTelemetry eBPF Instrumentation (OBI) as rows of VPC flow logs: OTLP JSON.

Goals, in order: no value of a data point is guessed; no point is lost; each point is one row. The
file exporter of the OpenTelemetry Collector writes one export request a line:

```
{"resourceMetrics": [{"resource": {"attributes": [..]}, "scopeMetrics": [{"metrics": [
  {"name": "obi.network.flow.bytes", "sum": {"aggregationTemporality": 1, "dataPoints": [
    {"startTimeUnixNano": "1793534400000000000", "timeUnixNano": "1793534460000000000",
     "asInt": "1000", "attributes": [{"key": "src.address", "value": {"stringValue": ..}}, ..]}]}}
]}]}]}
```

| column of a row | data point |
|---|---|
| srcaddr dstaddr | `src.address`, `dst.address` |
| srcport dstport | `src.port`, `dst.port`; else `client.port`, `server.port` by `direction` |
| protocol | `transport` |
| src_zone dst_zone | `src.zone`, `dst.zone` |
| bytes start end | the value; `startTimeUnixNano`, `timeUnixNano` in whole seconds |
| flow_direction | egress if OBI is on the node of the source, ingress if on the destination's |

OBI runs on every node, so the nodes of both ends report a flow: the duplicates are those of VPC
flow logs (see `vpc_duplicates`). OBI runs on the node of an end if `obi.ip` is the node's address
(`k8s.src.node.ip`, `k8s.dst.node.ip`) or, on the network of the host, the address of the end.

`obi.network.flow.bytes` has all traffic and `obi.network.inter.zone.bytes` a part of it, so only
one counts: the first if it has addresses. Beyla, from which OBI comes, calls both `beyla.*`.

A sum is a delta or cumulative. A cumulative sum counts the difference to the point before. Let a
process export at 12:00, 12:01 and 12:02, before which it ran unseen:

```
series   12:00   12:01   12:02        counted                             reason of the first point
A        500     700     700          200 and 0                           baseline
B                        90           90, since 12:01
A again, with another start, or less than before: the whole value
```

The first points of a process count in whole if it started after the first point in the files.

The outcome of a row is the first of these that holds, else that of `vpc_facts`:

```
malformed:file line charset json     the line is no export request                   (quarantine)
other-metric                         the other of the two metrics counts
malformed:temporality                the sum is neither a delta nor cumulative
gateway                              OBI runs on the node of neither end
malformed:reporter                   it is not known on which node OBI runs
baseline                             the counter began before the files
```

What this does not do: scale up sampled packets; count packets; read Protocol Buffers.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.otlp_metrics import (
    JSON,
    MARK,
    metric_points,
    point_attributes,
    point_value,
    whole_number,
)
from rackwise.pipeline.ingest.parquet_files import with_schema
from rackwise.pipeline.ingest.text import marked_lines
from rackwise.pipeline.ingest.text_lines import FILE, OF_FILE
from rackwise.pipeline.ingest.vpc_files import PARTIAL
from rackwise.pipeline.ingest.vpc_rows import DIRECTIONS, NO_DATA, OK
from rackwise.pipeline.schemas import BRONZE_VPC, LONGEST_TEXT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

FLOW, INTER_ZONE = "network.flow.bytes", "network.inter.zone.bytes"
METRICS = tuple(f"{maker}.{name}" for maker in ("obi", "beyla") for name in (FLOW, INTER_ZONE))
HINT = (
    "export the metrics of OBI with the file exporter of the OpenTelemetry Collector, and enable "
    "the feature network or network_inter_zone"
)
TEMPORALITY, REPORTER = "malformed:temporality", "malformed:reporter"
OTHER_METRIC, GATEWAY, BASELINE = "other-metric", "gateway", "baseline"
DELTA = ("1", "AGGREGATION_TEMPORALITY_DELTA")
CUMULATIVE = ("2", "AGGREGATION_TEMPORALITY_CUMULATIVE")
PROTOCOLS = {"tcp": "6", "udp": "17"}
OTHER_PROTOCOL = "255"
"""A reserved number, for all protocols that are not in `PROTOCOLS`."""
NOT_REPORTED = "0"
"""Port of a client whose port is not known; no listener has it."""
SECOND_NS = 10**9
_DECODE = json.JSONDecoder().decode
NO_RECORDED_VALUE = 1
"""The bit of `flags` of a point without a value."""
NEEDED = {
    "srcaddr": "src.address",
    "dstaddr": "dst.address",
    "srcport": "src.port and dst.port",
    "protocol": "transport",
    "flow_direction": "obi.ip, k8s.src.node.ip and k8s.dst.node.ip",
}
"""Column that some row must have -> its attributes."""
COPIED = {
    "srcaddr": "src.address",
    "dstaddr": "dst.address",
    "src_zone": "src.zone",
    "dst_zone": "dst.zone",
}
"""Column -> its attribute."""
ENDS = (("k8s.src.node.ip", "src.address"), ("k8s.dst.node.ip", "dst.address"))
"""Attributes with the addresses of a node, of the source and of the destination."""
_VALUES = StructType(
    [
        *(
            StructField(name, StringType())
            for name in (
                *("source_file", "fault", "raw", "metric", "interface_id", *COPIED),
                *("srcport", "dstport", "protocol", "flow_direction", "bytes"),
                *("reporter", "series"),
            )
        ),
        *(StructField(name, LongType()) for name in ("number", "start_ns", "time_ns")),
        *(
            StructField(name, BooleanType())
            for name in ("is_delta", "is_cumulative", "is_empty", "has_node")
        ),
    ]
)
"""A data point. `metric` is `FLOW` or `INTER_ZONE`; `reporter` identifies a process, `series` a
counter of it, both only for cumulative sums, as `number`, the value. Times are since 1970."""


def read_obi_metrics(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of JSON lines; two actions.

    Raises `InvalidFlows` for files of another kind, and if no data point has the attributes that a
    row needs.
    """
    other = next((file for file in files if file.is_parquet), None)
    if other is not None:
        raise InvalidFlows(
            f"expected JSON lines of the OpenTelemetry Collector, got {escaped(other.uri)}",
            wanted="*.json",
            had=other.uri,
            hint="set --flow-format to the format of these files",
            where=other.uri,
        )
    lines, broken = marked_lines(spark, files, MARK, hint=HINT)
    rows = _rows(_values(metric_points(lines, METRICS)), files)
    strays = spark.createDataFrame(
        [(FILE, file.uri, OF_FILE) for file in broken],
        "malformed string, source_file string, row_offset long",
    )
    return rows.unionByName(with_schema(strays, BRONZE_VPC))


def _values(points: DataFrame) -> DataFrame:
    """`_VALUES` of `metric_points`."""
    return points.mapInArrow(_read, _VALUES)


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(_VALUES)
    for batch in batches:
        rows = [point_row(row) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def point_row(found: Mapping[str, str | None]) -> dict[str, Any]:
    """`_VALUES` of a row of `metric_points`."""
    row: dict[str, Any] = {"source_file": found["source_file"], "fault": found["fault"]}
    raw = found["raw"] or ""
    row["raw"] = raw[:LONGEST_TEXT]
    if row["fault"] is not None:
        return row
    try:
        point = _DECODE(raw)
        values = point_attributes(point)
        is_cumulative = found["temporality"] in CUMULATIVE
        resource = point_attributes(_DECODE(found["resource"] or "{}")) if is_cumulative else {}
    except (AttributeError, TypeError, ValueError, RecursionError):
        return row | {"fault": JSON}
    name = str(found["metric"])
    reporter = values.get("obi.ip", values.get("beyla.ip"))
    transport = values.get("transport", "").lower()
    row |= _ports(values) | {
        "metric": FLOW if name.endswith(FLOW) else INTER_ZONE,
        "is_delta": found["temporality"] in DELTA,
        "is_cumulative": is_cumulative,
        "is_empty": bool((whole_number(point.get("flags")) or 0) & NO_RECORDED_VALUE),
        "interface_id": reporter,
        "protocol": PROTOCOLS.get(transport, OTHER_PROTOCOL) if transport else None,
        "flow_direction": _direction(values, reporter),
        "has_node": any(node in values for node, _ in ENDS),
        "bytes": point_value(point),
        "start_ns": whole_number(point.get("startTimeUnixNano")),
        "time_ns": whole_number(point.get("timeUnixNano")),
        **{column: values.get(key) for column, key in COPIED.items()},
    }
    if is_cumulative:
        process = [name, sorted(resource.items()), reporter]
        row["number"] = whole_number(row["bytes"])
        row["reporter"] = _digest(process)
        row["series"] = _digest([process, sorted(values.items())])
    return row


def _ports(values: Mapping[str, str]) -> dict[str, str | None]:
    """The ports of source and destination; None if the listener's port is not known."""
    source, target = values.get("src.port"), values.get("dst.port")
    if source is None or target is None:
        server = values.get("server.port")
        source = target = None
        if server not in {None, NOT_REPORTED}:
            client = values.get("client.port", NOT_REPORTED)
            roles = {"request": (client, server), "response": (server, client)}
            source, target = roles.get(values.get("direction", ""), (None, None))
    return {"srcport": source, "dstport": target}


def _direction(values: Mapping[str, str], reporter: str | None) -> str | None:
    """Which end OBI is on; None for neither."""
    for direction, ends in zip(DIRECTIONS, ENDS, strict=True):
        if reporter is not None and reporter in [values.get(end) for end in ends]:
            return direction
    return None


def _digest(parts: Sequence[Any]) -> str:
    """Equal for equal parts."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _rows(values: DataFrame, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of `_values`; an action. Raises `InvalidFlows`."""
    found = (
        values.where(F.col("metric").isNotNull())
        .groupBy("metric")
        .agg(
            *(F.count(name).alias(name) for name in NEEDED),
            F.count_if("is_cumulative").alias("cumulative"),
            F.min("time_ns").alias("first_ns"),
            F.max("raw").alias("raw"),
        )
        .collect()
    )
    seen = {row.metric: row for row in found}
    has_flows = FLOW in seen and (seen[FLOW].srcaddr > 0 or INTER_ZONE not in seen)
    metric = FLOW if has_flows else INTER_ZONE
    if metric in seen:
        _check_attributes(seen[metric], files)
    if any(row.cumulative for row in found):
        firsts = [row.first_ns for row in found if row.first_ns is not None]
        values = _with_differences(values, min(firsts, default=0))
    else:
        values = values.withColumn("is_baseline", F.lit(0) == 1)
    return with_schema(_bronze(values, metric), BRONZE_VPC)


def _check_attributes(seen: Row, files: Sequence[FlowFile]) -> None:
    """Raise `InvalidFlows` if no point of the metric has a needed attribute."""
    lacking = [attributes for name, attributes in NEEDED.items() if not seen[name]]
    if lacking:
        section = "obi_" + seen.metric.replace(".", "_")
        had = ", ".join(re.findall(r'"key" ?: ?"([^"]+)"', seen.raw)) or "none"
        raise InvalidFlows(
            f"expected data points of obi.{seen.metric} with {', '.join(lacking)} in "
            f"{escaped(files[0].uri)}, got {escaped(had)}",
            wanted=", ".join(lacking),
            had=had,
            hint=f"add them to attributes.select.{section}.include of OBI",
            where=files[0].uri,
        )


def _with_differences(values: DataFrame, first_ns: int) -> DataFrame:
    """The same with cumulative sums as differences, and `is_baseline`.

    `first_ns`: time of the first point in the files.
    """
    number, start, time = (F.col(name) for name in ("number", "start_ns", "time_ns"))
    earlier = (
        Window.partitionBy("series", "start_ns")
        .orderBy("time_ns", "number")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    exports = (
        Window.partitionBy("reporter", "start_ns")
        .orderBy("time_ns")
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    known = F.when(number.isNotNull() & time.isNotNull(), F.struct("time_ns", "number"))
    before = F.col("_before")
    told = values.withColumns(
        {
            "_before": F.last(known, ignorenulls=True).over(earlier),
            "_export": F.max("time_ns").over(exports),
        }
    )
    since = F.coalesce(
        before.getField("time_ns"), F.col("_export"), F.when(start >= first_ns, start)
    )
    is_growth = F.coalesce(number >= before.getField("number"), F.lit(0) == 1)
    counted = F.when(is_growth, number - before.getField("number")).otherwise(number)
    is_sum = F.col("is_cumulative")
    return told.select(
        *(name for name in values.columns if name not in {"bytes", "start_ns"}),
        # A value that is no number stays as it is, so that it is malformed.
        F.when(is_sum & number.isNotNull(), counted.cast("string"))
        .otherwise(F.col("bytes"))
        .alias("bytes"),
        F.when(is_sum, since).otherwise(start).alias("start_ns"),
        F.coalesce(is_sum & since.isNull(), F.lit(0) == 1).alias("is_baseline"),
    )


def _bronze(values: DataFrame, metric: str) -> DataFrame:
    """The columns of `BRONZE_VPC` that the metrics have; `metric`: the one that counts."""
    direction = F.col("flow_direction")
    outcome = F.coalesce(
        F.col("fault"),
        F.when(F.col("metric") != metric, OTHER_METRIC),
        F.when(~(F.col("is_delta") | F.col("is_cumulative")), TEMPORALITY),
        F.when(
            direction.isNull(),
            F.when(F.col("interface_id").isNotNull() & F.col("has_node"), GATEWAY).otherwise(
                REPORTER
            ),
        ),
        F.when(F.col("is_baseline"), BASELINE),
    )
    has_bytes = ~(F.col("is_baseline") | F.col("is_empty"))
    computed = {
        "bytes": F.when(has_bytes, F.col("bytes")),
        "start": _second("start_ns"),
        "end": _second("time_ns"),
        "action": F.lit("ACCEPT"),
        "log_status": F.when(F.col("is_empty"), NO_DATA).otherwise(OK),
        "flow_direction": direction.alias("flow_direction", metadata={PARTIAL: False}),
        "malformed": outcome,
        "row_offset": F.lit(None).cast("long"),
    }
    kept = ("interface_id", *COPIED, "srcport", "dstport", "protocol", "raw", "source_file")
    return values.select(
        *kept,
        *(column.alias(name) for name, column in computed.items()),
    )


def _second(name: str) -> Column:
    """Whole seconds of a column in nanoseconds, as text."""
    nanos = F.col(name)
    return ((nanos - nanos % SECOND_NS) / SECOND_NS).cast("bigint").cast("string")
