"""Days and hours of epoch seconds by integer division: always UTC, in any session time zone."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

if TYPE_CHECKING:
    from pyspark.sql import Column

HOUR_S = 3600
DAY_S = 86_400
DAY_BITS = 16
"""Bits of a day in packed keys."""
LAST_SECOND = (DAY_S << DAY_BITS) - 1
"""The last second of 2149-06-06, the last day that fits `DAY_BITS`; later times are rejected."""
EPOCH = date(1970, 1, 1)
"""Day 0."""


def hour_of(at: Column) -> Column:
    """Hours since 1970-01-01 UTC of an epoch second; bigint."""
    return F.call_function("div", at, F.lit(HOUR_S))


def day_of(at: Column) -> Column:
    """Days since 1970-01-01 UTC of an epoch second; bigint."""
    return F.call_function("div", at, F.lit(DAY_S))


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return (day - EPOCH).days


def day_at(number: int) -> date:
    """The inverse of `day_number`."""
    return EPOCH + timedelta(days=number)
