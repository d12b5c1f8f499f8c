"""CSV tables as people write them: rows by column name, each with its line.

Goals, in order: no cell is read into the wrong column; errors name `file:line` and the column;
changes by spreadsheets (a byte order mark, CRLF, blank lines at the end) are accepted.

Rules: UTF-8, comma, quotes as in RFC 4180. The first row names the columns, in any order, each
once; unknown columns are rejected. Each row has as many cells. Blanks around a cell are removed.
Control characters are rejected. The first error is raised, the others are counted.

What this does not do: guess another separator; read Parquet (see the pipeline).
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.node import CONTROL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rackwise.core.errors import InputError


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row: its cells by column, and its line, from 1."""

    cells: dict[str, str]
    line: int
    faults: Faults

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    @property
    def where(self) -> str:
        """`prices.csv:3`."""
        return f"{self.faults.file}:{self.line}"

    def wrong(self, column: str, wanted: str, *, hint: str | None = None) -> None:
        """Record that something else is expected in a column."""
        had = self[column]
        self.faults.add(
            Fault(
                place=f":{self.line}",
                sentence=f"{column}: expected {wanted}, got "
                f"{quoted(had) if had else 'an empty cell'}",
                wanted=wanted,
                had=had,
                hint=hint,
            )
        )


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The rows of a table; the caller ends with `faults.raise_if_any()`."""

    rows: tuple[CsvRow, ...]
    faults: Faults


def table_of(
    data: bytes,
    *,
    where: str,
    error: type[InputError],
    required: Sequence[str],
    optional: Collection[str] = (),
) -> CsvTable:
    """Parse a CSV table. Raises `error` for other content and for a missing column."""
    faults = Faults(where, error)
    lines = _lines(decoded(data, faults), faults)
    header, line = next(lines, ([], 1))
    columns = _columns(header, line, required, optional, faults)
    rows = []
    for cells, at in lines:
        if len(cells) != len(columns):
            faults.add(
                Fault(
                    place=f":{at}",
                    sentence=f"expected {len(columns)} cells, got {len(cells)}",
                    wanted=len(columns),
                    had=len(cells),
                    hint="put a cell that holds a comma between quotes",
                )
            )
            continue
        row = CsvRow(dict(zip(columns, cells, strict=True)), at, faults)
        for column in columns:
            if CONTROL.search(row[column]):
                row.wrong(column, "text without control characters")
        rows.append(row)
    return CsvTable(tuple(rows), faults)


def decoded(data: bytes, faults: Faults) -> str:
    """The text of a table, without a byte order mark. Raises `faults.error` if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise faults.last(
            Fault(
                place=f":{line}",
                sentence=f"expected UTF-8, got byte 0x{data[error.start]:02x}",
                wanted="UTF-8",
                had=f"0x{data[error.start]:02x}",
                hint="save the table as CSV in UTF-8",
            )
        ) from None


def _syntax_fault(line: int, had: str) -> Fault:
    """The fault of a table that the csv module cannot read."""
    sentence = f"expected CSV, got a syntax error: {had}"
    hint = "close each quote, and double a quote within quotes"
    if "limit" in had:
        sentence = (
            f"expected cells of at most {csv.field_size_limit():,} characters, got a longer one"
        )
        hint = f"shorten the cell; if it is not that long, a quote is not closed: {hint}"
    return Fault(place=f":{line}", sentence=sentence, wanted="CSV", had=had, hint=hint)


def _lines(text: str, faults: Faults) -> Iterator[tuple[list[str], int]]:
    """The rows that are not blank, each with its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise faults.last(_syntax_fault(begins, str(error))) from None
        if cells is None:
            return
        cells = [cell.strip(" ") for cell in cells]
        if any(cells):
            yield cells, begins
        begins = reader.line_num + 1


def _columns(
    header: Sequence[str],
    line: int,
    required: Sequence[str],
    optional: Collection[str],
    faults: Faults,
) -> Sequence[str]:
    known = [*required, *optional]
    missing = [column for column in required if column not in header]
    unknown = [column for column in header if column not in known]
    if not missing and not unknown and len(set(header)) == len(header):
        return header
    had = ",".join(header)
    what = (
        f"missing column {quoted(missing[0])}"
        if missing
        else f"unknown column {quoted(unknown[0])}"
        if unknown
        else "expected each column once, got one twice"
    )
    raise faults.last(
        Fault(
            place=f":{line}",
            sentence=f"{what}; the header is {quoted(had)}",
            wanted=",".join(known),
            had=had,
            hint=f"begin the table with the line {','.join(known)}",
        )
    )
