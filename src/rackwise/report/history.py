"""The days of a result: lines of cost, crossing share and safety, and week over week.

A value that is not known is `not known` in the table and a gap in the chart. If nothing can be
compared with the week before, the section says why and what to do.

What this does not do: compare weeks; the summary has the changes.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final

from rackwise.report import charts
from rackwise.report.formats import NOT_KNOWN, count_of, count_text, share_text, usd_text
from rackwise.report.sections import Block
from rackwise.report.sentences import is_priced
from rackwise.report.tables import (
    Cell,
    Column,
    bytes_column,
    count_column,
    name_column,
    share_column,
    table,
    usd_column,
)

if TYPE_CHECKING:
    from rackwise.report.sentences import Row, Summary

_TENTH: Final = Decimal("0.1")
FILE: Final = "csv/history.csv"
TABLE: Final = "table-history"


def section(summary: Summary, *, least: int = 2) -> Block | None:
    """The chart and the table of all days, newest first; None for fewer than `least` days."""
    rows = summary["history"]["days"]
    if len(rows) < least:
        return None
    priced = is_priced(summary)
    columns = (
        name_column("day", "Day (UTC)"),
        *([usd_column("usd", "USD")] if priced else []),
        *([Column("usd_change", "In 7 days", "number", percent_change_cell)] if priced else []),
        bytes_column("bytes_cross", "Crossing"),
        share_column("cross_share", "Share that crosses"),
        count_column("partitions_unsafe", "Not rack-safe"),
        Column("partitions_unsafe_change", "In 7 days", "number", difference_cell),
    )
    shown = table(
        "history",
        "Days, newest first",
        columns,
        rows[::-1],
        file=FILE if FILE in summary["csv"] else "summary.json",
        sums=("bytes_cross", *(("usd",) if priced else ())),
    )
    return Block("Day by day", charts.history(rows, is_priced=priced), shown, is_of_fleet=False)


def week(summary: Summary) -> str:
    """Week over week as sentences."""
    row = summary["history"]["week"]
    if row["reason"] is not None:
        return f"Week over week is {NOT_KNOWN}: {row['reason']}"
    since = "1 day is" if row["days"] == 1 else f"{row['days']} days are"
    start = f"Week over week, {row['from']} to {row['to']} ({since} compared)"
    return "; ".join((start, *_changes(row)))


def week_changes(summary: Summary) -> str:
    """The changes of `week` alone, for one line."""
    row = summary["history"]["week"]
    return "; ".join(_changes(row)) or f"{NOT_KNOWN}: {row['reason']}"


def _changes(row: Row) -> tuple[str, ...]:
    return () if row["reason"] is not None else (*_cost(row), *_share(row), *_safety(row))


def _cost(row: Row) -> tuple[str, ...]:
    if row["usd"] is None:
        return ()
    text = percent_change_cell(row["usd_change"]).text
    return (f"{usd_text(row['usd'])} after {usd_text(row['usd_before'])} ({text})",)


def _share(row: Row) -> tuple[str, ...]:
    if row["cross_share"] is None or row["cross_share_before"] is None:
        return ()
    before = share_text(row["cross_share_before"])
    return (f"{share_text(row['cross_share'])} of the bytes cross racks after {before}",)


def _safety(row: Row) -> tuple[str, ...]:
    after, before = row["partitions_unsafe"], row["partitions_unsafe_before"]
    if after is None or before is None:
        return ()
    return (f"{count_of(after, 'partition')} not rack-safe after {count_text(before)}",)


def percent_change_cell(change: float | None) -> Cell:
    """A relative change in per cent, with its sign; never rounded to 0 %.

    >>> [percent_change_cell(value).text for value in (0.25, -0.0312, -0.0001, 0, None)]
    ['+25.0 %', '-3.1 %', '-<0.1 %', '0 %', 'not known']
    """
    if change is None:
        return Cell(NOT_KNOWN)
    exact = Decimal(str(change))
    if not exact:
        return Cell("0 %", value="0")
    tenths = (exact * 100).quantize(_TENTH, rounding=ROUND_HALF_UP)
    text = f"{tenths:+,} %" if tenths else f"{'+' if exact > 0 else '-'}<{_TENTH} %"
    return Cell(text, f"{exact:.6f}", f"{exact:f}")


def difference_cell(count: int | None) -> Cell:
    """A difference of counts, with its sign.

    >>> [difference_cell(value).text for value in (1200, -3, 0, None)]
    ['+1,200', '-3', '0', 'not known']
    """
    if count is None:
        return Cell(NOT_KNOWN)
    return Cell(f"{int(count):+,}" if count else "0", value=str(int(count)))
