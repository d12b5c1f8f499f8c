"""The bill as values: sums of dollars and bytes, roll-ups, and the time that they cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    from rackwise.core.traffic import Price
    from rackwise.pipeline.columns.table_rows import TableRows


CsvTable: TypeAlias = "tuple[tuple[str, ...], Iterable[Sequence[object]]]"
"""Columns and rows of a CSV file."""

ROLL_UPS = {
    "by_topic": ("topic",),
    "by_group": ("client_group",),
    "by_owner": ("owner",),
    "by_pair": ("from_rack", "to_rack"),
    "by_level": ("level", "level_name"),
    "by_day": ("day",),
    "by_kind": ("kind",),
}
"""Name of a roll-up -> its key columns in addition to the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Bytes and dollars of the rows of `cross_rack` that have the same other fields."""

    cluster: str
    day: date
    kind: str
    quality: str
    level: int
    """The level that the bytes cross, from 1; 0 local, -1 a rack is unknown."""
    price_row: str | None
    """The price row that was used; None without a price."""
    bytes: int
    usd: Decimal | None
    """None without a price."""
    usd_high: Decimal | None
    """Dollars at most: the highest price if a rack is unknown; None without a price."""
    is_topic_known: bool
    is_group_known: bool
    """Whether the client group is known, or the bytes are not read by clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The bill of the traffic: rows of the gold tables, and the time that the traffic covers."""

    standings: Sequence[Standing]
    roll_ups: Mapping[str, TableRows]
    """Name -> rows of the table."""
    matrix: Iterable[Mapping[str, Any]]
    """Rows of MATRIX."""
    precedence: Sequence[tuple[str, date, str, str]]
    """The billed source of each cluster, day and kind: (cluster, day, kind, source)."""
    period: tuple[datetime, datetime]
    """The start and the end of the time that the traffic covers."""
    seconds: int
    """The seconds of it that are covered; days that no run observed are not."""
    prices: Sequence[Price]
    savings: Sequence[Mapping[str, Any]] = ()
    """Rows of SAVINGS."""
    unmetered: Sequence[Mapping[str, Any]] = ()
    """Rows of UNMETERED."""
    reconciliation: Sequence[Mapping[str, Any]] = ()
    """Rows of RECONCILIATION."""
    charges: CsvTable = ((), ())
    """The bill as a FOCUS dataset."""
