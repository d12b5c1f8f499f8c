"""Flow formats by name, and their rows as facts: one row in, one row out, with its reason.

```
vpc gcp azure tgw obi -> vpc_facts                         \
canonical             -> canonical_facts                    flow_facts -> schemas.FLOW_FACT,
request-log           -> request_flows -> canonical_facts  /   reason, source_file, row_offset, raw
```

No row is dropped here: rows in = rows kept + rows of each other reason, and the same holds for
bytes. Lookups are by integers, in tables that fit in memory. A row that finds nothing stays.

Several lookups read the same rows. Without `persist`, Spark reads and parses the files again for
each of them.

To add a format: write a subclass of `InputFormat` in a file of this package, and add one line to
`FORMATS`. The command line, its help and the reference read the formats from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import InvalidConfig, InvalidFlows
from rackwise.core.text import alternatives, escaped
from rackwise.pipeline.ingest.formats.azure import AzureFormat
from rackwise.pipeline.ingest.formats.base import FactOptions, InputFormat
from rackwise.pipeline.ingest.formats.canonical import CanonicalFormat
from rackwise.pipeline.ingest.formats.gcp import GcpFormat
from rackwise.pipeline.ingest.formats.obi import ObiFormat
from rackwise.pipeline.ingest.formats.request_log import RequestLogFormat
from rackwise.pipeline.ingest.formats.tgw import TgwFormat
from rackwise.pipeline.ingest.formats.vpc import VpcFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput, Persist
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.parquet_files import UnfitColumns
    from rackwise.pipeline.ingest.vpc_duplicates import Side

__all__ = [
    "CANONICAL",
    "DEFAULT",
    "FORMATS",
    "InputFormat",
    "facts_of",
    "flow_facts",
    "input_format",
    "read_bronze",
    "read_flows",
    "with_all_columns",
]

Dedupe = Literal["side", "exact"]

FORMATS: Mapping[str, InputFormat] = {
    each.name: each
    for each in (
        VpcFormat(),
        CanonicalFormat(),
        RequestLogFormat(),
        GcpFormat(),
        AzureFormat(),
        TgwFormat(),
        ObiFormat(),
    )
}
"""Name -> format, in the order of the help."""
DEFAULT = VpcFormat.name
CANONICAL = CanonicalFormat.name


def input_format(name: str) -> InputFormat:
    """The format of a name. Raises `InvalidConfig` for a name that no format has."""
    if name not in FORMATS:
        raise InvalidConfig(
            f"invalid --flow-format: expected {alternatives([*FORMATS])}, got {escaped(name)}",
            wanted=", ".join(FORMATS),
            had=name,
            hint="choose one of these for --flow-format",
        )
    return FORMATS[name]


def read_flows(spark: SparkSession, paths: Sequence[str], format: str) -> DataFrame:  # noqa: A002 (the word of the command line)
    """Bronze rows of flow files, with all columns of the format's bronze schema.

    This is an action; for text it reads the lines once. Raises `InvalidFlows` for a path that does
    not exist, and for a file that lacks a required column or has one of another type.
    """
    from rackwise.pipeline.ingest.files import flow_files

    return with_all_columns(read_bronze(spark, flow_files(spark, paths), format), format)


def read_bronze(spark: SparkSession, files: Sequence[FlowFile], format: str) -> DataFrame:  # noqa: A002
    """Bronze rows of listed files, without columns that no file has.

    A column that no file has is left out because each column costs time on the way to Python.
    """
    from rackwise.pipeline.ingest.parquet_files import UnfitColumns

    try:
        return input_format(format).read(spark, files)
    except UnfitColumns as error:
        raise invalid_columns(error) from None


def with_all_columns(rows: DataFrame, format: str) -> DataFrame:  # noqa: A002
    """Rows of `read_bronze` with all columns of the bronze schema; a missing one is null."""
    from rackwise.pipeline.ingest.parquet_files import with_schema

    return with_schema(rows, input_format(format).bronze_schema())


def flow_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    format: str,  # noqa: A002
    side: Side = "auto",
    dedupe: Dedupe = "side",
    days: tuple[date, date] | None = None,
    clients: Mapping[str, Mapping[str, Rack]] | None = None,
    persist: Persist | None = None,
) -> DataFrame:
    """`schemas.FLOW_FACT`, then `reason`, `source_file`, `row_offset`, `raw`, for every bronze row.

    `bronze`: rows of `read_flows` or `read_bronze` of the same `format`. `side`: which of two rows
    of one flow counts, see `vpc_duplicates`. `dedupe`: `exact` also counts equal rows once, at the
    price of a shuffle. `days`: first and last day to keep, both included. `clients`: `client_id`,
    `client_group` or `principal` -> name -> rack. `persist`: receives rows that several lookups
    read, and a name, and returns the same rows; it may store them.

    `reason` is `kept`, or why a row does not count (`InputFormat.reasons`). `bytes` has a value
    wherever the row has a number; `raw` is the row as text for malformed rows, else null. Other
    columns of a row that is not kept may be null.
    """
    options = FactOptions(
        side=side, days=days, clients=clients or {}, is_exact=dedupe == "exact", persist=persist
    )
    given = input_format(format).fact_input(bronze, fleet, buckets, options)
    return facts_of(given, fleet, options, format=format)


def facts_of(
    given: FactInput,
    fleet: Fleet,
    options: FactOptions,
    *,
    format: str,  # noqa: A002
) -> DataFrame:
    """The rows of `flow_facts`."""
    from rackwise.pipeline.ingest.facts import without_equal_rows

    facts = input_format(format).facts(given, fleet, options)
    if options.is_exact:
        facts = options.store(without_equal_rows(facts), "flow_row")
    return facts.drop("same")


def invalid_columns(error: UnfitColumns) -> InvalidFlows:
    """The error for a file of other columns; its hint names the format that fits them."""
    own = [name for name in error.columns if name not in {"source_file", "row_offset"}]
    hint = "add the missing columns to the format of the flow log"
    for each in FORMATS.values():
        required = {name.lower() for name in each.required_columns()}
        if required and required <= {name.lower() for name in own}:
            hint = f"use --flow-format {each.name}"
    return InvalidFlows(
        f"invalid columns of {escaped(error.where)}: expected {' '.join(error.required)}, got "
        f"{error.fault}, but {' '.join(escaped(name) for name in own)}",
        wanted=" ".join(error.required),
        had=" ".join(own),
        hint=hint,
        where=error.where,
    )
