"""The tables of the page: the text of each cell, its exact value, and the sums of the rows.

The page has the first 50 rows of a table as elements and its other rows packed; a script adds them,
sorts and filters. Without scripts the table names the file with the other rows. Cells hold plain
text; the page escapes it.

```
text         exact                value         sorts as
1.15 GiB     1234567890 bytes     1234567890    1234567890
12,345       -                    -             12345        the text is exact
not known    -                    -             last, in both directions
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import (
    NOT_KNOWN,
    NOT_THERE,
    bytes_text,
    change_text,
    count_of,
    count_text,
    name_text,
    share_text,
    usd_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Row = Mapping[str, Any]
    Kind = Literal["name", "number", "text", "severity", "file", "cluster"]
    Render = Callable[[Any], "Cell"]

ROWS: Final = 50
"""Maximum rows that are elements of the page; its script adds the others."""
SUMMARY_FILE: Final = "summary.json"
KIB: Final = 1024
RANKS: Final = ("", "info", "warning", "error")
_FILE: Final = re.compile(r"(csv|plans)/[A-Za-z0-9_][A-Za-z0-9._-]{0,120}|summary\.json", re.ASCII)


def is_file(name: str) -> bool:
    """Whether the page may link a name: a file in the folder of the report, and nothing else.

    >>> is_file("csv/by_topic.csv"), is_file("javascript:alert(1)"), is_file("csv/../../x")
    (True, False, False)
    """
    return _FILE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell."""

    text: str
    exact: str | None = None
    """The value before rounding; None if the text is exact."""
    value: str | None = None
    """The number by which the cell sorts; None if the text is that number or no number is known."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    key: str
    """Key of the value in a row."""
    head: str
    """Heading."""
    kind: Kind
    """Decides the alignment and the style."""
    render: Render
    """Value -> cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that is ready to render."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """The first rows."""
    packed: tuple[tuple[Cell, ...], ...] = ()
    """The rows of the page after the first."""
    count: int = 0
    """Number of all rows, those that only the file has included."""
    file: str = SUMMARY_FILE
    """The file with all rows."""
    sums: Mapping[str, object] = field(default_factory=dict)
    """Name -> exact total of the rows of the page."""

    @property
    def every(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows of the page."""
        return self.rows + self.packed

    @property
    def more(self) -> str | None:
        """How many rows come after the first; None if there are none."""
        rest = self.count - len(self.rows)
        return count_of(rest, "more row") if rest else None


def bytes_cell(count: int | None) -> Cell:
    """`1.15 GiB`, exactly `1234567890 bytes`; a count below 1 KiB needs no exact value.

    >>> bytes_cell(512)
    Cell(text='512 bytes', exact=None, value='512')
    """
    if count is None:
        return Cell(NOT_KNOWN)
    if abs(count) < KIB:
        return Cell(bytes_text(count), value=str(count))
    return Cell(bytes_text(count), f"{count} bytes", str(count))


def usd_cell(usd: str | None) -> Cell:
    """`$1.23`, exactly `1.234567890 USD`; zero needs no exact value."""
    return Cell(usd_text(usd), f"{usd} USD" if usd is not None and Decimal(usd) else None, usd)


def usd_change_cell(usd: str | None) -> Cell:
    """`+$1.23`, exactly `1.230000001 USD`; zero needs no exact value."""
    return Cell(change_text(usd), f"{usd} USD" if usd is not None and Decimal(usd) else None, usd)


def share_cell(share: object) -> Cell:
    """`38.1 %`, to six digits `0.381234`; 0 % and 100 % need no exact value."""
    if share is None:
        return Cell(NOT_KNOWN)
    exact = Decimal(str(share))
    return Cell(share_text(exact), None if exact in {0, 1} else f"{exact:.6f}", f"{exact:f}")


def count_cell(count: int | None) -> Cell:
    """`12,345`."""
    return Cell(count_text(count))


def name_cell(name: object) -> Cell:
    """A name from the cluster; control and bidi characters appear as their codes."""
    return Cell(NOT_THERE if name is None else name_text(str(name)))


def severity_cell(severity: str) -> Cell:
    """A severity, which sorts as it ranks: the worst is the greatest.

    >>> severity_cell("error").value, severity_cell("info").value, severity_cell("other").value
    ('3', '1', '0')
    """
    rank = RANKS.index(severity) if severity in RANKS else 0
    return Cell(name_text(severity), value=str(rank))


def file_column(key: str, head: str) -> Column:
    """A column of files of the run, which the page links."""
    return Column(key, head, "file", name_cell)


def name_column(key: str, head: str) -> Column:
    """A column of names."""
    return Column(key, head, "name", name_cell)


def bytes_column(key: str, head: str) -> Column:
    """A column of byte counts."""
    return Column(key, head, "number", bytes_cell)


def usd_column(key: str, head: str) -> Column:
    """A column of dollars."""
    return Column(key, head, "number", usd_cell)


def usd_columns(*, is_range: bool) -> tuple[Column, ...]:
    """One column of dollars, or two if dollars are not known exactly."""
    if is_range:
        return (
            Column("usd", "USD, at least", "number", usd_cell),
            Column("usd_high", "USD, at most", "number", usd_cell),
        )
    return (usd_column("usd", "USD"),)


def count_column(key: str, head: str) -> Column:
    """A column of counts."""
    return Column(key, head, "number", count_cell)


def share_column(key: str, head: str, *, none: str = NOT_KNOWN) -> Column:
    """A column of shares of 1. `none`: the text of a row without one."""
    return Column(
        key, head, "number", lambda each: Cell(none) if each is None else share_cell(each)
    )


def severity_column() -> Column:
    """The column of severities; the page adds a sign for each severity."""
    return Column("severity", "Severity", "severity", severity_cell)


def roll_up_columns(*, is_priced: bool, is_range: bool) -> tuple[Column, ...]:
    """The columns of every roll-up: bytes by crossing, dollars and share.

    `is_range`: whether the dollars of the run are not known exactly.
    """
    return (
        bytes_column("bytes_cross", "Crossing"),
        bytes_column("bytes_local", "Local"),
        bytes_column("bytes_unknown", "Unknown"),
        *(usd_columns(is_range=is_range) if is_priced else ()),
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
    """The rows of a list. `count`: number of all rows; `file`: the file with all rows.

    `sums` names the keys for which the table has totals over the rows of the page.
    """
    cells = tuple(tuple(column.render(row.get(column.key)) for column in columns) for row in rows)
    return Table(
        id=f"table-{name}",
        caption=caption,
        columns=tuple(columns),
        rows=cells[:ROWS],
        packed=cells[ROWS:],
        count=max(count or 0, len(rows)),
        file=file,
        sums={key.replace("_", "-"): total(row[key] for row in rows) for key in sums},
    )


def total(values: Iterable[int | str | None]) -> int | str | None:
    """The exact sum of the known values: integers, or dollars with nine digits.

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
    """A value of a price row as in the table of prices, without trailing zeros after the point.

    >>> unit_cell("0.010000000").text, unit_cell(1073741824).text, unit_cell("0.000000000").text
    ('0.01', '1073741824', '0')
    """
    text = NOT_KNOWN if value is None else name_text(str(value))
    if "." in text and text.replace(".", "").isdecimal():
        text = text.rstrip("0").rstrip(".")
    return Cell(text)


ROLL_UP_SUMS: Final = ("bytes_cross", "bytes_local", "bytes_unknown", "usd")
