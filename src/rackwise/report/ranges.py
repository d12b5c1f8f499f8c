"""Amounts that are known exactly, as a range, or not at all, as text.

```
least    greatest
3        3           $3.00
3        5           $3.00 to $5.00
-        5           up to $5.00
3        -           at least $3.00
-        -           not known
```

A dash is None, an unknown number. What this does not do: compute amounts.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from rackwise.report.formats import NOT_KNOWN, NOT_THERE, bytes_text, duration_text, usd_text
from rackwise.report.tables import Cell, Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    Summary = Mapping[str, Any]
    Row = Mapping[str, Any]

SEPARATOR: Final = "; "
"""Between the reasons in one text."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest amount as text, both rounded in the same way."""

    low: str | None
    """None where not known."""
    high: str | None
    """None where not known."""
    value: str | None = None
    """The greatest known amount before rounding, by which a column sorts."""

    @property
    def is_exact(self) -> bool:
        """Whether both are known and shown with the same text."""
        return self.low is not None and self.low == self.high

    def phrase(self, *, between: str = "{} to {}", at_most: str = "up to {}") -> str:
        """The range in words; `between` and `at_most` are patterns."""
        if self.low is not None and self.high is not None:
            return self.low if self.is_exact else between.format(self.low, self.high)
        if self.high is not None:
            return at_most.format(self.high)
        return NOT_KNOWN if self.low is None else f"at least {self.low}"


def usd_range(row: Row, low: str, high: str) -> Range:
    """The dollars of two keys of a row."""
    first, last = (None if row[key] is None else usd_text(row[key]) for key in (low, high))
    return Range(first, last, _greatest(row, low, high))


def cost_of(row: Row) -> Range:
    """The cost of a row of a roll-up over the time observed."""
    return usd_range(row, "usd", "usd_high")


def bytes_range(row: Row, low: str, high: str) -> Range:
    """The bytes of two keys of a row."""
    first, last = (None if row[key] is None else bytes_text(row[key]) for key in (low, high))
    return Range(first, last, _greatest(row, low, high))


def _greatest(row: Row, low: str, high: str) -> str | None:
    known = row[low] if row[high] is None else row[high]
    return None if known is None else str(known)


def month(summary: Summary) -> str:
    """The end of the keys of dollars: `_30d`, or empty if they are not extrapolated."""
    return "_30d" if summary["verdict"]["reason_30d"] is None else ""


def period(summary: Summary) -> str:
    """The time that the dollars belong to."""
    if month(summary):
        return "per 30 days"
    return f"in {duration_text(summary['observed']['seconds'])} observed"


def cost(summary: Summary) -> Range:
    """The cost of the run."""
    end = month(summary)
    return usd_range(summary["verdict"], f"usd{end}", f"usd_high{end}")


def saved(row: Row, end: str) -> Range:
    """The dollars that a row of savings saves; `end`: the end of the keys, see `month`."""
    return usd_range(row, f"usd_low{end}", f"usd_high{end}")


def saved_amount(summary: Summary) -> tuple[Range, str]:
    """What all changes together save, and of what time: dollars if any are known, else bytes."""
    total = summary["savings"]["total"]
    amount = saved(total, month(summary))
    if amount.low is not None or amount.high is not None:
        return amount, period(summary)
    observed = duration_text(summary["observed"]["seconds"])
    return bytes_range(total, "bytes_low", "bytes_high"), f"of {observed} observed"


def is_nothing(row: Row) -> bool:
    """Whether a row of savings is known to save nothing."""
    return row["bytes_low"] == row["bytes_high"] == 0 and not Decimal(row["usd_low"] or 0)


def reasons(text: str | None) -> tuple[str, ...]:
    """The reasons in a text."""
    return tuple(text.split(SEPARATOR)) if text else ()


def range_cell(value: Range | None) -> Cell:
    """A range as text; a dash where there is none."""
    return Cell(NOT_THERE) if value is None else Cell(value.phrase(), value=value.value)


def range_column(key: str, head: str) -> Column:
    """A column of values of the type `Range`."""
    return Column(key, head, "number", range_cell)


def with_ranges(row: Row) -> Row:
    """A row of savings with the ranges `bytes`, `usd` and `usd_30d`."""
    return {
        **row,
        "bytes": bytes_range(row, "bytes_low", "bytes_high"),
        "usd": saved(row, ""),
        "usd_30d": saved(row, "_30d"),
    }
