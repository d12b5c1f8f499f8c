"""Data points of sums in OTLP JSON, as the file exporter of the OpenTelemetry Collector writes it.

Goals, in order: no line is lost; a line of thousands of points is not copied for each of them. A
line is one export request:

```
{"resourceMetrics": [{"resource": {"attributes": [..]}, "scopeMetrics": [{"metrics": [
  {"name": "obi.network.flow.bytes", "sum": {"aggregationTemporality": 1, "dataPoints": [
    {"startTimeUnixNano": "1793534400000000000", "timeUnixNano": "1793534460000000000",
     "asInt": "1000", "attributes": [{"key": "src.address", "value": {"stringValue": ..}}, ..]}]}}
]}]}]}
```

Numbers of 64 bits are texts in this JSON; numbers in their place are read, too.

What this does not do: read gauges, histograms or Protocol Buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.ingest.text_lines import CHARSET, LINE
from rackwise.pipeline.schemas import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

MARK = "resourceMetrics"
JSON = "malformed:json"
MOST_DIGITS = 19
LONGEST_LINE = 2**25
"""Bytes; a collector sends at most 4 MiB, which have fewer bytes than their JSON."""
_METRIC = (
    "struct<name: string, sum: struct<aggregationTemporality: string, dataPoints: array<string>>>"
)
_REQUEST = (
    f"{MARK} array<struct<resource: string, "
    f"scopeMetrics: array<struct<metrics: array<{_METRIC}>>>>>, _bad string"
)
"""Resources and points stay JSON, because Python reads their attributes in less time than Spark."""


def metric_points(lines: DataFrame, names: Sequence[str]) -> DataFrame:
    """A row for each data point of a sum of these names, and for each line that is no request.

    `source_file`, `fault`, `metric`, `temporality`, `resource` as JSON, and `raw`: the point as
    JSON, or the line.
    """
    value, request = F.col("value"), F.col("request")
    is_short = F.octet_length(value) <= LONGEST_LINE
    is_text = is_short & F.is_valid_utf8(value)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    is_request = request.getField("_bad").isNull() & request.getField(MARK).isNotNull()
    fault = F.when(~is_short, LINE).when(~F.is_valid_utf8(value), CHARSET).when(~is_request, JSON)
    line = F.left(F.make_valid_utf8(value), F.lit(LONGEST_TEXT))
    place = ("source_file", "fault", "line")
    parsed = lines.where(F.trim(value) != "").select(
        *("source_file", "value"),
        F.from_json(F.when(is_text, value), _REQUEST, options).alias("request"),
    )
    # An array is exploded as a column of its own, so that its elements have no copy of it.
    arrays = parsed.select("source_file", "value", fault.alias("fault"), "request").select(
        *("source_file", "fault"),
        F.when(F.col("fault").isNotNull(), line).alias("line"),
        F.when(F.col("fault").isNull(), request.getField(MARK)).alias("array"),
    )
    resources = arrays.select(*place, F.explode_outer("array").alias("one")).select(
        *place, F.col("one.resource"), F.col("one.scopeMetrics")
    )
    scopes = resources.select(*place, "resource", F.explode_outer("scopeMetrics").alias("one"))
    metrics = scopes.select(*place, "resource", F.col("one.metrics").alias("array")).select(
        *(*place, "resource"),
        F.explode_outer(F.filter("array", lambda one: one["name"].isin(*names))).alias("one"),
    )
    sums = metrics.select(
        *(*place, "resource"),
        F.col("one.name").alias("metric"),
        F.col("one.sum.aggregationTemporality").alias("temporality"),
        F.col("one.sum.dataPoints").alias("array"),
    )
    own = ("metric", "temporality", "resource")
    points = sums.select(*place, *own, F.explode_outer("array").alias("point"))
    return points.where(F.coalesce("point", "fault").isNotNull()).select(
        "source_file", "fault", *own, F.coalesce("line", "point").alias("raw")
    )


def point_attributes(point: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of a point or of a resource as texts, without empty ones.

    >>> port = {"key": "dst.port", "value": {"intValue": "9092"}}
    >>> zone = {"key": "dst.zone", "value": {"stringValue": ""}}
    >>> point_attributes({"attributes": [port, zone]})
    {'dst.port': '9092'}
    """
    found = {}
    for one in point.get("attributes") or ():
        value = one.get("value") or {}
        text = value.get("stringValue", value.get("intValue"))
        if text not in {None, ""}:
            found[str(one.get("key"))] = str(text)
    return found


def point_value(point: Mapping[str, Any]) -> str | None:
    """The value of a point as text; a real number without a fraction as a whole number.

    >>> [point_value(one) for one in ({"asInt": "5"}, {"asDouble": 1e6}, {"asDouble": 0.5}, {})]
    ['5', '1000000', '0.5', None]
    """
    if "asInt" in point:
        return str(point["asInt"])
    real = point.get("asDouble")
    if isinstance(real, float) and real.is_integer():
        return str(int(real))
    return None if real is None else str(real)


def whole_number(value: object) -> int | None:
    """A text of digits as a number of 64 bits; None for others.

    >>> whole_number("1793534400000000000"), whole_number("noon"), whole_number(2**64)
    (1793534400000000000, None, None)
    """
    text = str(value)
    is_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return int(text) if is_number and int(text) < 2**63 else None
