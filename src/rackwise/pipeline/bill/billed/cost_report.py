"""Reads AWS Cost and Usage Reports: the lines for transfer between zones, summed by day.

Goals, in order: a damaged or foreign file is an error, never a smaller bill; every form that AWS
writes is read; the lines stay in Spark, only sums come to the driver.

The forms differ in the names of columns. Without signs and capital letters they are equal:

```
report, CSV                 report, Parquet or CUR 2.0
lineItem/UsageType          line_item_usage_type          usage type, billing code in front
lineItem/UsageAmount        line_item_usage_amount        GB, both ends count
lineItem/UnblendedCost      line_item_unblended_cost      dollars
lineItem/UsageStartDate     line_item_usage_start_date    start of an hour, a day or a month
lineItem/LineItemType       line_item_line_item_type      Usage, Credit, Refund, Tax, ..
```

`UsageEndDate`, `CurrencyCode`, `pricing/unit` and the region of the product are read where they
exist. Files with equal columns are read together, so files of different months may differ.

A line of CSV with too few or too many cells is an error, because a cut file would look like a
cheaper month. Two files with the same sums are an error, too: AWS keeps each version of a report,
and a folder may hold the same month twice.

What this does not do: compare (`core.billed.comparison`); apply credits, discounts or taxes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType, StructField, StructType

from rackwise.core.billed.comparison import USAGE, BilledLines
from rackwise.core.billed.zones import REGIONAL, region_of_usage
from rackwise.core.errors import InvalidBilled
from rackwise.core.text import alternatives, escaped, names_text
from rackwise.pipeline.ingest.files import FlowFile, files_at
from rackwise.pipeline.runtime.failures import failure_line, spark_failures
from rackwise.pipeline.runtime.stores.filesystems import check_no_password

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

PARQUET: Final = (".parquet", ".parq")
TEXT: Final = (".csv", ".csv.gz")
REQUIRED: Final = {
    "usage_type": "lineItem/UsageType",
    "line_type": "lineItem/LineItemType",
    "amount": "lineItem/UsageAmount",
    "cost": "lineItem/UnblendedCost",
    "start": "lineItem/UsageStartDate",
}
"""Value of a line -> the column that has it."""
_TEXT: Final = ("string",)
_TIMES: Final = (*_TEXT, "timestamp", "timestamp_ntz", "date")
_NUMBERS: Final = (*_TEXT, "decimal", "double", "float", "bigint", "int", "smallint", "tinyint")
_TYPES: Final = {
    "usage_type": _TEXT,
    "line_type": _TEXT,
    "amount": _NUMBERS,
    "cost": _NUMBERS,
    "start": _TIMES,
}
"""Value of a line -> types of Spark, without digits, that its column may have."""
OPTIONAL: Final = {
    "end": ("lineItem/UsageEndDate",),
    "currency": ("lineItem/CurrencyCode",),
    "unit": ("pricing/unit",),
    "region": ("product/regionCode", "product/region", "product/fromRegionCode"),
}
"""Value of a line -> columns that may have it; the first that is not empty counts."""
GB_UNITS: Final = frozenset({"", "gb", "gbs", "gigabytes"})
AMOUNT: Final = "decimal(28,15)"
"""More digits than AWS writes; the sum of 10^10 such numbers fits into a decimal."""
_BROKEN: Final = "_broken_line"
_LAST_MOMENT: Final = "INTERVAL 1 MICROSECOND"
_SHOWN_COLUMNS: Final = 5
_KEYS: Final = ("file", "usage_type", "region", "line_type", "currency", "unit", "day", "last_day")
_COLUMNS_HINT: Final = (
    "give an AWS Cost and Usage Report (CSV or Parquet), with its columns unchanged"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport:
    """The lines of a bill for transfer between zones."""

    files: tuple[FlowFile, ...]
    lines: tuple[BilledLines, ...]


def cost_report_files(
    spark: SparkSession, paths: Sequence[str]
) -> tuple[tuple[FlowFile, ...], tuple[str, ...]]:
    """The files of a report at paths (files, folders, globs), and the other files; an action.

    Other files are neither CSV nor Parquet, such as manifests. Raises `InvalidBilled` if there is
    no file, and for a ZIP file, which Spark does not read.
    """
    check_no_password("--billed", paths, InvalidBilled)
    try:
        files = files_at(spark, paths)
    except spark_failures() as error:
        had = ", ".join(escaped(path) for path in paths)
        raise InvalidBilled(
            f"invalid --billed: expected files at {had}, got none: Spark reports "
            f"{failure_line(error)}",
            wanted="files, folders or globs",
            had=had,
            hint="check the paths of --billed; a remote path needs its scheme, such as s3a://",
        ) from error
    for file in files:
        if file.path.lower().endswith(".zip"):
            _wrong(file.path, "CSV, gzip or Parquet", "a ZIP file", "unzip the file")
    kept = tuple(file for file in files if file.path.lower().endswith((*PARQUET, *TEXT)))
    if not kept:
        had = escaped(files[0].path) if files else "no file with content"
        where = ", ".join(paths)
        _wrong(where, "files *.csv, *.csv.gz or *.parquet", had, _COLUMNS_HINT)
    return kept, tuple(file.path for file in files if file not in kept)


def read_cost_report(spark: SparkSession, files: Sequence[FlowFile]) -> CostReport:
    """The lines of the files, summed in Spark; an action.

    Raises `InvalidBilled` for a file that is damaged, has other columns or a wrong value, and for
    two files with the same lines.
    """
    frames = [
        _lines(spark, group, columns)
        for columns, group in sorted(_by_columns(spark, files).items())
    ]
    whole = reduce(lambda one, other: one.unionByName(other), frames)
    sums = (
        whole.groupBy(*_KEYS)
        .agg(
            F.count("*").alias("lines"),
            F.sum("gb").alias("gb"),
            F.sum("usd").alias("usd"),
            F.min(F.when(F.col("gb").isNull(), F.coalesce("amount", F.lit("")))).alias("no_gb"),
            F.min(F.when(F.col("usd").isNull(), F.coalesce("cost", F.lit("")))).alias("no_usd"),
            F.min(F.when(F.col("day").isNull(), F.coalesce("start", F.lit("")))).alias("no_day"),
            F.min(F.when(F.col("last_day").isNull(), F.col("end"))).alias("no_end"),
            F.min(_BROKEN).alias("broken"),
        )
        .orderBy(*_KEYS)
    )
    try:
        rows = sums.collect()
    except spark_failures() as error:
        _unreadable(files, error)
    for row in rows:
        _check(row)
    _check_repeated(rows)
    lines = [
        BilledLines(
            region=region_of_usage(row.usage_type, row.region),
            day=row.day,
            last_day=max(row.day, row.last_day),
            line_type=row.line_type or "",
            currency=(row.currency or "").upper(),
            lines=row.lines,
            gb=row.gb,
            usd=row.usd,
        )
        for row in rows
    ]
    return CostReport(files=tuple(files), lines=tuple(lines))


def _by_columns(
    spark: SparkSession, files: Sequence[FlowFile]
) -> Mapping[tuple[tuple[str, str], ...], list[FlowFile]]:
    """The files with equal columns and types; all columns of CSV are text."""
    found: defaultdict[tuple[tuple[str, str], ...], list[FlowFile]] = defaultdict(list)
    for file in files:
        try:
            if _is_parquet(file):
                schema = spark.read.parquet(file.pattern).schema
            else:
                schema = spark.read.options(header="true", escape='"').csv(file.pattern).schema
            columns = tuple((each.name, each.dataType.simpleString()) for each in schema.fields)
        except spark_failures() as error:
            _unreadable([file], error)
        kinds = {_plain_name(name): kind for name, kind in columns}
        for value, column in REQUIRED.items():
            kind = kinds.get(_plain_name(column))
            if kind is None:
                names = names_text([name for name, _ in columns], most=_SHOWN_COLUMNS)
                _wrong(file.path, f"a column {column}", names or "no columns", _COLUMNS_HINT)
            if kind.partition("(")[0] not in _TYPES[value]:
                wanted = f"{alternatives(_TYPES[value])} in column {column}"
                _wrong(file.path, wanted, kind, _COLUMNS_HINT)
        # the kind of file is a part of the key: files of one group are read by one reader
        found[(("", "parquet" if _is_parquet(file) else "csv"), *columns)].append(file)
    return found


def _lines(
    spark: SparkSession, files: Sequence[FlowFile], columns: Sequence[tuple[str, str]]
) -> DataFrame:
    """The lines for transfer between zones, and broken lines, as they are aggregated."""
    (_, kind), *own = columns
    patterns = [file.pattern for file in files]
    if kind == "parquet":
        rows = spark.read.option("ignoreCorruptFiles", "false").parquet(*patterns)
        broken = F.lit(None).cast("string")
    else:
        text = [StructField(name, StringType()) for name, _ in own]
        rows = (
            spark.read.schema(StructType([*text, StructField(_BROKEN, StringType())]))
            .options(
                header="true",
                escape='"',
                multiLine="true",
                mode="PERMISSIVE",
                columnNameOfCorruptRecord=_BROKEN,
                columnPruning="false",
            )
            .option("ignoreCorruptFiles", "false")
            .csv(patterns)
        )
        broken = F.col(_BROKEN)
    places = {}
    for name, _ in reversed(own):
        places[_plain_name(name)] = F.col(f"`{name.replace('`', '``')}`")
    value = {name: places[_plain_name(column)] for name, column in REQUIRED.items()}
    for name, choices in OPTIONAL.items():
        value[name] = _first([places[key] for key in map(_plain_name, choices) if key in places])
    usage = value["usage_type"]
    is_regional = (usage == REGIONAL) | usage.endswith(f"-{REGIONAL}")
    start, end = (value[name].try_cast("timestamp") for name in ("start", "end"))
    day = F.to_date(start)
    is_fit = broken.isNull()
    made = {
        "file": F.col("_metadata.file_path"),
        "usage_type": F.when(is_fit, usage),
        "region": F.when(is_fit, value["region"].cast("string")),
        "line_type": F.when(is_fit, value["line_type"].cast("string")),
        "currency": F.when(is_fit, value["currency"].cast("string")),
        "unit": F.when(is_fit, value["unit"].cast("string")),
        "day": F.when(is_fit, day),
        "last_day": F.when(
            is_fit,
            F.when(value["end"].isNull(), day).otherwise(F.to_date(end - F.expr(_LAST_MOMENT))),
        ),
        "gb": _number(value["amount"]),
        "usd": _number(value["cost"]),
        "amount": value["amount"].cast("string"),
        "cost": value["cost"].cast("string"),
        "start": value["start"].cast("string"),
        "end": value["end"].cast("string"),
        _BROKEN: broken,
    }
    return rows.where(is_regional | ~is_fit).select(
        *(column.alias(name) for name, column in made.items())
    )


def _first(columns: Sequence[Column]) -> Column:
    """The first of some columns of text that is not empty."""
    texts = [F.when(F.trim(column.cast("string")) != "", column) for column in columns]
    return F.coalesce(*texts) if texts else F.lit(None).cast("string")


def _number(column: Column) -> Column:
    return column.try_cast(AMOUNT)


def _plain_name(column: str) -> str:
    """The name without signs and capital letters: equal in all forms of the report.

    >>> _plain_name("lineItem/UsageType") == _plain_name("line_item_usage_type")
    True
    """
    return "".join(letter for letter in column.lower() if letter.isalnum())


def _is_parquet(file: FlowFile) -> bool:
    return file.path.lower().endswith(PARQUET)


def _check(row: Row) -> None:
    """Raise `InvalidBilled` for lines with a value that is wrong."""
    if row.broken is not None:
        had = f"a line that begins {escaped(row.broken[:60])!r}"
        _wrong(row.file, "as many cells as columns in each line", had, "download the file again")
    for column, had in (("amount", row.no_gb), ("cost", row.no_usd)):
        if had is not None:
            _wrong(f"{row.file}, column {REQUIRED[column]}", "a number", _shown(had), _VALUE_HINT)
    for name, had in (
        ("lineItem/UsageStartDate", row.no_day),
        ("lineItem/UsageEndDate", row.no_end),
    ):
        if had is not None:
            wanted = "a time such as 2026-11-01T00:00:00Z"
            _wrong(f"{row.file}, column {name}", wanted, _shown(had), _VALUE_HINT)
    if row.line_type == USAGE and (row.unit or "").lower() not in GB_UNITS:
        hint = "export the report again; Rackwise reads transfer in GB only"
        _wrong(f"{row.file}, column pricing/unit", "GB", _shown(row.unit), hint)


_VALUE_HINT: Final = "download the file again, and do not edit it in a spreadsheet"


def _shown(text: str) -> str:
    return f'"{escaped(text[:60])}"' if text else "an empty cell"


def _check_repeated(rows: Iterable[Row]) -> None:
    """Raise `InvalidBilled` if two files have the same sums of the same lines."""
    by_file: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    for row in rows:
        if row.line_type == USAGE:
            by_file[row.file].append((row.usage_type, row.day, row.last_day, row.lines, row.gb))
    seen: dict[tuple[tuple[object, ...], ...], str] = {}
    for file, sums in by_file.items():
        first = seen.setdefault(tuple(sorted(sums, key=str)), file)
        if first != file:
            hint = "give one version of each month; AWS keeps each version of a report in a folder"
            _wrong(file, "lines that no other file has", f"those of {escaped(first)}", hint)


def _unreadable(files: Sequence[FlowFile], error: Exception) -> NoReturn:
    where = files[0].path if len(files) == 1 else f"{len(files)} files"
    had = f"an error from Spark: {failure_line(error)}"
    _wrong(where, "a readable CSV, gzip or Parquet file", had, "download the file again")


def _wrong(where: str, wanted: str, had: str, hint: str) -> NoReturn:
    raise InvalidBilled(
        f"invalid bill {escaped(where)}: expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
        hint=hint,
        where=where,
    )
