"""The bill as values: sums of dollars and bytes, roll-ups, and the time they cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    from rackwise.core.traffic import Price


ROLL_UPS = {
    "by_topic": ("topic",),
    "by_group": ("client_group",),
    "by_pair": ("from_rack", "to_rack"),
    "by_level": ("level", "level_name"),
    "by_day": ("day",),
    "by_kind": ("kind",),
}
"""Name of a roll-up -> its key beside the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Bytes and dollars of `cross_rack` that are alike in what the summary tells apart."""

    cluster: str
    day: date
    kind: str
    quality: str
    level: int
    price_row: str | None
    bytes: int
    usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What traffic gave: rows of the gold tables, and since when until when it was seen.

    `roll_ups`: name -> rows of the table; `matrix`: rows of MATRIX; `precedence`: (cluster, day,
    kind, source) that was money; `seen`: first and last moment; `savings`: rows of SAVINGS.
    """

    standings: Sequence[Standing]
    roll_ups: Mapping[str, Sequence[Mapping[str, Any]]]
    matrix: Sequence[Mapping[str, Any]]
    precedence: Sequence[tuple[str, date, str, str]]
    seen: tuple[datetime, datetime]
    prices: Sequence[Price]
    savings: Sequence[Mapping[str, Any]] = ()
