"""Expected rows, CPU seconds and wall time of a run, from samples of files and measured constants.

```
rows     footers of 20 Parquet files, first bytes of 20 text files -> rows per byte x all bytes
CPU      FIXED_CPU_S + files x CPU_S_PER_FILE
                     + millions of rows x CPU_S_PER_MILLION_ROWS, x TEXT_FACTOR for text
wall     CPU / cores   to   FIXED_CPU_S + the rest / cores, because few cores share the fixed part
```

The constants are those of `docs/reference/benchmarks.md`. They hold for VPC flow logs that tasks
read. Nothing is measured for files that Spark reads, so their time is not known.

Limits: the estimate is of the start of Spark and of the flow files. Plans, savings and findings
grow with the partitions of the fleet, and are not in it.
"""

from __future__ import annotations

import math
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from rackwise.pipeline.ingest.explain.model import Estimate
from rackwise.pipeline.ingest.text_lines import GZIP_WINDOW, column_names, header_in
from rackwise.pipeline.runtime.child_process import ChildFailed, ReaderEnded, in_child

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rackwise.pipeline.ingest.files import FlowFile

FIXED_CPU_S = 9
"""CPU seconds of `analyze` of 1,000 flows on Spark."""
CPU_S_PER_MILLION_ROWS = 0.5
"""CPU seconds of VPC flow logs in Parquet."""
TEXT_FACTOR = 2.2
"""CPU seconds of text / of Parquet, for the same rows."""
CPU_S_PER_FILE = 0.006
"""CPU seconds of a flow file in Parquet with two rows."""
MILLION = 1_000_000
SOURCE = "constants measured on two shared cores, see benchmarks"
MOST_SAMPLED = 20
"""Files of each kind that are opened."""
SAMPLE_BYTES = 2**16
"""Bytes of a text file that are read."""
UNREADABLE = (OSError, zlib.error, ReaderEnded, ChildFailed)
"""What the look at a damaged file raises."""


class FileSample(NamedTuple):
    """What some files of a kind have."""

    of: int
    """Number of files of the kind."""
    read: int
    """Number of files that were opened and could be read."""
    bytes: int
    """Bytes of these files that were looked at."""
    rows: int
    """Rows in these bytes."""
    columns: tuple[frozenset[str], ...]
    """Column names of each file with names, in lower case with `_`."""


def sample(files: Sequence[FlowFile], *, has_row_per_line: bool) -> FileSample:
    """Look at some of these local files, evenly spaced in their order, all Parquet or all text."""
    step = max(1, math.ceil(len(files) / MOST_SAMPLED))
    count, size, rows, columns = 0, 0, 0, []
    for file in files[::step]:
        try:
            if file.is_parquet:
                (footer,) = in_child(partial(_footer, file.place))
                found = file.size, max(0, footer["rows"][0].as_py())
                names = footer["names"][0].as_py()
            else:
                block, text = _first_bytes(file)
                found = (block, text.count(b"\n")) if has_row_per_line else (0, 0)
                header = header_in(text)
                names = column_names(header.decode(errors="replace")) if header else ()
        except UNREADABLE:  # the run says what is wrong with the file
            continue
        count, size, rows = count + 1, size + found[0], rows + found[1]
        if names:
            columns.append(frozenset(name.replace("-", "_").lower() for name in names))
    return FileSample(len(files), count, size, rows, tuple(columns))


def _footer(place: str, _: object) -> list[pa.RecordBatch]:
    """One row: the rows of a Parquet file and the names of its columns."""
    footer = parquet.read_metadata(place)
    names = footer.schema.to_arrow_schema().names
    return [pa.RecordBatch.from_pylist([{"rows": footer.num_rows, "names": names}])]


def rows_in(found: FileSample, size: int) -> int | None:
    """Rows of all files of a kind, which have so many bytes; None if nothing is known."""
    return round(size * found.rows / found.bytes) if found.bytes else None


def expected_rows(rows: int, samples: Collection[FileSample], *, is_text: bool) -> Estimate:
    """Rows of files of which these are samples; `is_text`: whether lines of text are counted."""
    opened, count = sum(found.read for found in samples), sum(found.of for found in samples)
    if opened == count and not is_text:
        return Estimate(low=rows, high=rows, quality="counted", source="footers of all files")
    source = f"rows per byte of {opened} of {count} files"
    return Estimate(low=rows, high=rows, quality="estimate", source=source)


def expected_cpu(rows: Estimate, of_text: int, *, files: int) -> Estimate:
    """CPU seconds of the run; `of_text`: rows of text files."""
    if rows.low is None:
        return unknown("the rows are not known")
    weighted = rows.low + (TEXT_FACTOR - 1) * of_text
    by_rows = weighted / MILLION * CPU_S_PER_MILLION_ROWS
    seconds = round(FIXED_CPU_S + by_rows + files * CPU_S_PER_FILE)
    return Estimate(low=seconds, high=seconds, quality="estimate", source=SOURCE)


def expected_wall(cpu: Estimate, cores: int | None) -> Estimate:
    """Seconds of the run on idle cores."""
    if cpu.low is None:
        return unknown("the CPU seconds are not known")
    if cores is None:
        return unknown("the number of cores is not known")
    return Estimate(
        low=math.ceil(cpu.low / cores),
        high=math.ceil(FIXED_CPU_S + (cpu.low - FIXED_CPU_S) / cores),
        quality="estimate",
        source="CPU seconds on idle cores, the fixed part on all cores or on one",
    )


def unknown(reason: str) -> Estimate:
    """A number that is not known."""
    return Estimate(low=None, high=None, quality="unknown", source=reason)


def _first_bytes(file: FlowFile) -> tuple[int, bytes]:
    """A number of bytes at the start of a text file, and their text."""
    with Path(file.place).open("rb") as content:
        block = content.read(SAMPLE_BYTES)
    if not file.is_gzip:
        return len(block), block
    member = zlib.decompressobj(GZIP_WINDOW)
    text = member.decompress(block)
    return len(block) - len(member.unused_data), text
