"""The tables of the page: what stands in each cell, its exact value, and the sums of the rows.

A table shows the first 50 rows it is given and says where the others are. Cells hold text only;
the page escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import (
    NOT_KNOWN,
    NOT_PRICED,
    NOT_THERE,
    bytes_text,
    count_of,
    count_text,
    name_text,
    share_text,
    usd_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Row = Mapping[str, Any]
    Kind = Literal["name", "number", "text", "severity"]
    Render = Callable[[Any], "Cell"]

ROWS: Final = 50
SUMMARY_FILE: Final = "summary.json"
KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` is shown, `exact` is what it was rounded from, None where nothing was."""

    text: str
    exact: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """`key` of the row, the head, how it is aligned, and what makes a cell of a value."""

    key: str
    head: str
    kind: Kind
    render: Render


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table ready to be written. `sums` are exact totals of the rows shown: name -> number."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: str | None = None
    sums: Mapping[str, object] = field(default_factory=dict)


def bytes_cell(count: int | None) -> Cell:
    """`1.15 GiB`, exactly `1234567890 bytes`; what is below a KiB is exact as it is."""
    if count is None:
        return Cell(NOT_KNOWN)
    return Cell(bytes_text(count), f"{count} bytes") if abs(count) >= KIB else Cell(str(count))


def usd_cell(usd: str | None) -> Cell:
    """`$1.23`, exactly `1.234567890 USD`; nothing is exact as it is."""
    return Cell(usd_text(usd), f"{usd} USD" if usd is not None and Decimal(usd) else None)


def share_cell(share: object) -> Cell:
    """`38.1 %`, to six digits `0.381234`; nothing and all are exact as they are."""
    if share is None:
        return Cell(NOT_THERE)
    exact = Decimal(str(share))
    return Cell(share_text(exact), None if exact in {0, 1} else f"{exact:.6f}")


def count_cell(count: int | None) -> Cell:
    """`12,345`."""
    return Cell(NOT_THERE if count is None else count_text(count))


def name_cell(name: object) -> Cell:
    """A name of the cluster, control and bidi characters shown by their codes."""
    return Cell(NOT_THERE if name is None else name_text(str(name)))


def name_column(key: str, head: str) -> Column:
    """A column of names."""
    return Column(key, head, "name", name_cell)


def bytes_column(key: str, head: str) -> Column:
    """A column of byte counts."""
    return Column(key, head, "number", bytes_cell)


def usd_column(key: str, head: str) -> Column:
    """A column of dollars."""
    return Column(key, head, "number", usd_cell)


def count_column(key: str, head: str) -> Column:
    """A column of counts."""
    return Column(key, head, "number", count_cell)


def share_column(key: str, head: str) -> Column:
    """A column of shares of 1."""
    return Column(key, head, "number", share_cell)


def severity_column() -> Column:
    """The column of severities; the page gives each its own sign."""
    return Column("severity", "Severity", "severity", name_cell)


def roll_up_columns(*, is_priced: bool) -> tuple[Column, ...]:
    """Bytes by crossing, dollars and share: the columns that every roll-up has."""
    return (
        bytes_column("bytes_cross", "Crossing"),
        bytes_column("bytes_local", "Local"),
        bytes_column("bytes_unknown", "Unknown"),
        *([usd_column("usd", "USD")] if is_priced else []),
        share_column("share", "Share"),
    )


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    count: int | None = None,
    file: str = SUMMARY_FILE,
    sums: Iterable[str] = (),
) -> Table:
    """The first rows of a list. `count`: how many there are in all; `file`: which holds them all.

    `sums` names the keys whose totals over the rows shown are given with the table.
    """
    shown = rows[:ROWS]
    rest = max(count or 0, len(rows)) - len(shown)
    return Table(
        id=f"table-{name}",
        caption=caption,
        columns=tuple(columns),
        rows=tuple(
            tuple(column.render(row.get(column.key)) for column in columns) for row in shown
        ),
        more=f"{count_of(rest, 'more row')} in {file}" if rest else None,
        sums={key.replace("_", "-"): total(row[key] for row in shown) for key in sums},
    )


def total(values: Iterable[int | str | None]) -> int | str | None:
    """The exact sum of what is known: of integers, or of dollars with nine digits.

    >>> total([1, None, 2]), total(["0.100000000", None, "0.200000000"]), total([None])
    (3, '0.300000000', None)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    if any(isinstance(value, str) for value in known):
        return f"{sum(map(Decimal, known), Decimal(0)):.9f}"
    return sum(int(value) for value in known)


def unit_cell(value: object) -> Cell:
    """A value of a price row, as the table of prices has it but for noughts behind the point.

    >>> unit_cell("0.010000000").text, unit_cell(1073741824).text, unit_cell("0.000000000").text
    ('0.01', '1073741824', '0')
    """
    text = NOT_PRICED if value is None else name_text(str(value))
    if "." in text and text.replace(".", "").isdecimal():
        text = text.rstrip("0").rstrip(".")
    return Cell(text)


ROLL_UP_SUMS: Final = ("bytes_cross", "bytes_local", "bytes_unknown", "usd")
