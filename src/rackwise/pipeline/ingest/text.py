"""Flow logs as text that Spark reads: a header splits lines into columns; bad lines are kept.

Goals, in order: no line is lost; each bad line has its file and line number; no file stops the run,
for example a line of 10 MB, another charset, a second header or half a gzip member.

One pass searches for headers: lines that contain both `srcaddr` and `dstaddr`. The first header in
a file counts; a further header is a bad row. Files with equal headers are then read together:

```
a.log   version ... bytes start end        -> group 1: 14 columns        a.log line 1   header
        2 ... 840 1795 1855                                              a.log line 2   row
        version ... bytes start end                                      a.log line 3   bad row
b.log   bytes srcaddr dstaddr ...          -> group 2: 8 columns
```

A truncated gzip file makes the read fail. Then each gzip file is read alone. Each file that fails
becomes one bad row (`malformed:file`), and the run continues without it.

Spark gives no line numbers, so rows have none. `with_line_numbers` finds those of bad rows only, in
one more pass over the files that have bad rows.

What this does not do: read files that tasks can open (`text_tasks`); check values (`vpc_rows`);
write anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.text_lines import (
    CHARSET,
    COLUMNS,
    FILE,
    HEADER,
    LINE,
    LONGEST_LINE,
    OF_FILE,
    column_names,
    is_whole_gzip,
)
from rackwise.pipeline.runtime.failures import failure_line, spark_failures
from rackwise.pipeline.schemas import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A text file with its header."""

    file: FlowFile
    columns: tuple[str, ...]
    """Column names of the header."""
    pasted: tuple[tuple[str, int], ...]
    """Further header lines in the file, and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Readable text files, and unreadable ones."""

    files: tuple[TextFile, ...]
    broken: tuple[FlowFile, ...]
    """Gzip files that cannot be decompressed."""


def find_headers(spark: SparkSession, files: Sequence[FlowFile]) -> Texts:
    """Find the headers of text files; an action.

    Raises `InvalidFlows` for a file with lines and no header, and when files cannot be read for
    another reason than a broken gzip member.
    """
    headers, files, broken = _read_intact(spark, files, lambda whole: _headers(spark, whole))
    for file in files:
        if file.uri not in headers:
            first = _lines(spark, [file]).where(F.trim("value") != "").limit(1).collect()
            check_header(file, first[0].value if first else None)
    return Texts(
        files=tuple(_text_file(file, headers[file.uri]) for file in files if file.uri in headers),
        broken=broken,
    )


def check_header(file: FlowFile, first: str | None) -> None:
    """Reject a file without a header; `first`: its first line, None if it is empty."""
    if first is not None:
        had = escaped(first[:200])
        raise InvalidFlows(
            f'expected a header line with srcaddr and dstaddr in {escaped(file.uri)}, got "{had}"',
            wanted="version account-id interface-id srcaddr dstaddr ...",
            had=had,
            hint="put the header of the flow log first, or set --flow-format",
            where=file.uri,
        )


def marked_lines(
    spark: SparkSession, files: Sequence[FlowFile], mark: str, *, hint: str
) -> tuple[DataFrame, tuple[FlowFile, ...]]:
    """`value, source_file` of all lines of text files that can be read, and the files that cannot.

    `hint`: what to do when no line has the mark.

    An action. Raises `InvalidFlows` when no line of any file has the mark, and when files cannot be
    read for another reason than a broken gzip member.
    """

    def first_mark(whole: Sequence[FlowFile]) -> list[Row]:
        if not whole:
            return []
        marked = F.col("value").contains(mark)
        counts = (F.count_if(marked).alias("marked"), F.max(F.left("value", F.lit(200))))
        return _lines(spark, whole).agg(*counts).collect()

    counts, whole, broken = _read_intact(spark, files, first_mark)
    if counts and not counts[0].marked:
        had = escaped(counts[0][1] or "")
        raise InvalidFlows(
            f'expected lines with "{mark}" in {escaped(whole[0].uri)}, got one that begins "{had}"',
            wanted=mark,
            had=had,
            hint=hint,
            where=whole[0].uri,
        )
    place = F.col("_metadata.file_path").alias("source_file")
    empty = spark.createDataFrame([], "value string, source_file string")
    return _lines(spark, whole).select("value", place) if whole else empty, broken


def _read_intact(
    spark: SparkSession,
    files: Sequence[FlowFile],
    look: Callable[[Sequence[FlowFile]], Answer],
) -> tuple[Answer, Sequence[FlowFile], tuple[FlowFile, ...]]:
    """The result of `look` for the intact files, these files, and the broken gzip files."""
    try:
        return look(files), files, ()
    except spark_failures() as error:
        broken = _broken(spark, [file for file in files if file.is_gzip])
        if not broken:
            raise _unreadable(error, files) from error
    whole = [file for file in files if file not in broken]
    try:
        return look(whole), whole, broken
    except spark_failures() as other:
        raise _unreadable(other, whole) from other


def text_rows(spark: SparkSession, texts: Texts, columns: Sequence[str]) -> DataFrame:
    """The rows of text files: `columns` as text, null where a file has none, and their place.

    `malformed`: reason or null; `raw`: the line; `source_file`; `row_offset`: null (see
    `with_line_numbers`), or 0 for a row that represents a whole file.
    """
    groups: dict[tuple[str, ...], list[FlowFile]] = {}
    for text in texts.files:
        groups.setdefault(text.columns, []).append(text.file)
    rows = _strays(spark, texts, columns)
    for header, files in groups.items():
        rows = rows.unionByName(_rows(spark, header, files, columns))
    return rows


def with_line_numbers(spark: SparkSession, bad: DataFrame, files: Sequence[FlowFile]) -> DataFrame:
    """Rows of `schemas.QUARANTINE` with line numbers in `row_offset` where it was null.

    Lines are counted from 1. Of equal lines the last ones are named. An action when there is such a
    row, else none of its own.
    """
    unplaced = bad.where(F.col("row_offset").isNull())
    uris = {row.source_file for row in unplaced.select("source_file").distinct().collect()}
    mine = [file for file in files if file.uri in uris and not file.is_parquet]
    if not uris:
        return bad
    nth = Window.partitionBy("source_file", "raw").orderBy("reason")
    key = ["source_file", "raw", "nth"]
    numbered = (
        unplaced.drop("row_offset")
        .withColumn("nth", F.row_number().over(nth))
        .join(_line_numbers(spark, mine, unplaced), key, "left")
        .withColumnsRenamed({"line": "row_offset"})
    )
    return bad.where(F.col("row_offset").isNotNull()).unionByName(numbered.select(bad.columns))


def _unreadable(error: Exception, files: Sequence[FlowFile]) -> InvalidFlows:
    had = failure_line(error)
    hint = "read the files one by one to find the damaged one"
    # The sinks of Google Cloud write such names; Hadoop takes the colon of a local file for a URI.
    if any(file.has_local_colon for file in files):
        hint = "rename local files whose names have a colon, or read them from their bucket"
    return InvalidFlows(
        f"expected flow files that can be read, got an error from Spark: {had}",
        wanted="readable files",
        had=had,
        hint=hint,
    )


def _lines(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    return spark.read.option("ignoreCorruptFiles", "false").text([file.pattern for file in files])


def _is_header(value: Column) -> Column:
    is_short = F.octet_length(value) <= LONGEST_LINE
    return is_short & value.contains("srcaddr") & value.contains("dstaddr")


def _headers(spark: SparkSession, files: Sequence[FlowFile]) -> dict[str, list[tuple[str, int]]]:
    """File -> its header lines and how often each occurs, in order of appearance."""
    if not files:
        return {}
    place = F.struct(F.col("_metadata.file_block_start"), F.monotonically_increasing_id())
    found = (
        _lines(spark, files)
        .where(_is_header(F.col("value")))
        .select(F.col("_metadata.file_path").alias("file"), "value", place.alias("place"))
        .groupBy("file", "value")
        .agg(F.min("place").alias("place"), F.count("*").alias("count"))
        .orderBy("file", "place")
        .collect()
    )
    headers: dict[str, list[tuple[str, int]]] = {}
    for row in found:
        headers.setdefault(row.file, []).append((row.value, row["count"]))
    return headers


def _text_file(file: FlowFile, headers: Sequence[tuple[str, int]]) -> TextFile:
    (header, count), *others = headers
    return TextFile(
        file=file,
        columns=column_names(header),
        pasted=tuple((line, n) for line, n in ((header, count - 1), *others) if n),
    )


def _rows(
    spark: SparkSession, header: Sequence[str], files: Sequence[FlowFile], columns: Sequence[str]
) -> DataFrame:
    value = F.col("value")
    lines = _lines(spark, files).where((F.trim(value) != "") & ~_is_header(value))
    is_short = F.octet_length(value) <= LONGEST_LINE
    cut = lines.select(
        F.left(F.make_valid_utf8(value), F.lit(LONGEST_TEXT)).alias("raw"),
        F.when(is_short & F.is_valid_utf8(value), F.split(value, " ", -1)).alias("cells"),
        is_short.alias("is_short"),
        F.col("_metadata.file_path").alias("source_file"),
    )
    reason = (
        F.when(~F.col("is_short"), LINE)
        .when(F.col("cells").isNull(), CHARSET)
        .when(F.size("cells") != len(header), COLUMNS)
    )
    cell = {name: F.get("cells", F.lit(i)) for i, name in enumerate(header)}
    is_whole = F.size("cells") == len(header)
    return cut.select(
        *(_cell(cell.get(name), is_whole).alias(name) for name in columns),
        reason.alias("malformed"),
        *("raw", "source_file"),
        F.lit(None).cast("long").alias("row_offset"),
    )


def _cell(cell: Column | None, is_whole: Column) -> Column:
    return F.lit(None).cast("string") if cell is None else F.when(is_whole, cell)


def _strays(spark: SparkSession, texts: Texts, columns: Sequence[str]) -> DataFrame:
    """A row for each pasted header and each broken file."""
    rows: list[tuple[str, str | None, str, int | None, int]] = [
        (HEADER, line[:LONGEST_TEXT], text.file.uri, None, count)
        for text in texts.files
        for line, count in text.pasted
    ]
    rows += [(FILE, None, file.uri, OF_FILE, 1) for file in texts.broken]
    strays = spark.createDataFrame(
        rows, "malformed string, raw string, source_file string, row_offset long, count long"
    ).select("*", F.explode(F.sequence(F.lit(1).cast("long"), F.col("count"))))
    return strays.select(
        *(F.lit(None).cast("string").alias(name) for name in columns),
        *("malformed", "raw", "source_file", "row_offset"),
    )


def _broken(spark: SparkSession, files: Sequence[FlowFile]) -> tuple[FlowFile, ...]:
    """The gzip files that cannot be decompressed."""
    if not files:
        return ()
    contents = spark.read.format("binaryFile").load([file.pattern for file in files])
    verdicts = (
        contents.select(F.col("_metadata.file_path").alias("file"), "content")
        .mapInArrow(_unpacks, "file string, is_broken boolean")
        .where("is_broken")
        .collect()
    )
    names = {row.file for row in verdicts}
    return tuple(file for file in files if file.uri in names)


def _unpacks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        verdicts = [not is_whole_gzip(content.as_buffer()) for content in batch.column("content")]
        yield pa.RecordBatch.from_arrays(
            [batch.column("file"), pa.array(verdicts, pa.bool_())], names=["file", "is_broken"]
        )


def _line_numbers(spark: SparkSession, files: Sequence[FlowFile], bad: DataFrame) -> DataFrame:
    """`source_file, raw, nth, line` of the lines equal to a row of `bad`, last lines first."""
    lines = _lines(spark, files).select(
        F.col("_metadata.file_path").alias("source_file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("id"),
        F.left(F.make_valid_utf8("value"), F.lit(LONGEST_TEXT)).alias("raw"),
    )
    earlier = (
        Window.partitionBy("source_file")
        .orderBy("block")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    blocks = (
        lines.groupBy("source_file", "block")
        .agg(F.min("id").alias("first"), F.count("*").alias("count"))
        .withColumn("before", F.coalesce(F.sum("count").over(earlier), F.lit(0)))
    )
    last_first = Window.partitionBy("source_file", "raw").orderBy(F.desc("line"))
    return (
        lines.join(bad.select("source_file", "raw").distinct(), ["source_file", "raw"])
        .join(blocks, ["source_file", "block"])
        .select("source_file", "raw", (F.expr("before + id - first") + 1).alias("line"))
        .withColumn("nth", F.row_number().over(last_first))
    )
