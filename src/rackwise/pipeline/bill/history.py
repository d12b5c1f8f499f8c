"""The history in the summary: a line per day of all clusters, and one per cluster and day.

Unknown values are null: dollars without a price, bytes of a day without traffic, unsafe partitions
of a day without a snapshot. A change compares a day with the day seven days before it.

What this does not do: decide which days stand, or compare weeks (`core.history`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from rackwise.core.history import WEEK, DayTotals, change, sum_days, week_change
from rackwise.core.traffic import exact_usd_text, known_sum, nano_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rackwise.core.history import StandingDay, WeekChange
    from rackwise.pipeline.bill.model import Standing


def history_part(days: Sequence[StandingDay], standings: Iterable[Standing]) -> dict[str, Any]:
    """`history` of the summary. `standings`: the bytes and dollars of all days."""
    rows = day_rows(days, standings)
    lines = sum_days(row for _, row in rows)
    by_day = {line.day: line for line in lines}
    return {
        "days": [{**_line(line), **_changes(line, by_day.get(line.day - WEEK))} for line in lines],
        "clusters": [{"cluster": cluster, **_line(row)} for cluster, row in rows],
        "week": _week(week_change(lines)),
    }


def history_csv(
    days: Sequence[StandingDay], standings: Iterable[Standing]
) -> tuple[tuple[str, ...], Iterator[list[object]]]:
    """Columns and rows of `csv/history.csv`: a line per cluster and day."""
    lines = [{"cluster": cluster, **_line(row)} for cluster, row in day_rows(days, standings)]
    return ("cluster", *_line(DayTotals(day=date.min))), ([*line.values()] for line in lines)


def day_rows(
    days: Iterable[StandingDay], standings: Iterable[Standing]
) -> list[tuple[str, DayTotals]]:
    """The figures of each cluster and day, by cluster and day."""
    rows = {
        each.place: DayTotals(
            day=each.day, partitions=each.partitions, partitions_unsafe=each.partitions_unsafe
        )
        for each in days
    }
    parts: dict[tuple[str, date], list[Standing]] = {}
    for one in standings:
        parts.setdefault((one.cluster, one.day), []).append(one)
    for place, part in parts.items():
        rows[place] = replace(
            rows.get(place, DayTotals(day=place[1])),
            bytes_local=sum(one.bytes for one in part if one.level == 0),
            bytes_cross=sum(one.bytes for one in part if one.level > 0),
            bytes_unknown=sum(one.bytes for one in part if one.level < 0),
            usd_nano=known_sum(nano_of(one.usd) for one in part if one.bytes),
        )
    return [(cluster, rows[cluster, day]) for cluster, day in sorted(rows)]


def _line(row: DayTotals) -> dict[str, Any]:
    return {
        "day": row.day.isoformat(),
        "bytes_local": row.bytes_local,
        "bytes_cross": row.bytes_cross,
        "bytes_unknown": row.bytes_unknown,
        "cross_share": row.cross_share,
        "usd": _usd(row.usd_nano),
        "partitions": row.partitions,
        "partitions_unsafe": row.partitions_unsafe,
    }


def _changes(row: DayTotals, before: DayTotals | None) -> dict[str, Any]:
    """What changed in seven days: dollars relatively, share and partitions by their difference."""
    if before is None:
        return dict.fromkeys(("usd_change", "cross_share_change", "partitions_unsafe_change"))
    return {
        "usd_change": change(row.usd_nano, before.usd_nano),
        "cross_share_change": _difference(row.cross_share, before.cross_share),
        "partitions_unsafe_change": _difference(row.partitions_unsafe, before.partitions_unsafe),
    }


def _week(week: WeekChange) -> dict[str, Any]:
    return {
        "days": week.days,
        "from": _day(week.first_day),
        "to": _day(week.last_day),
        "usd": _usd(week.usd_nano),
        "usd_before": _usd(week.usd_nano_before),
        "usd_change": change(week.usd_nano, week.usd_nano_before),
        "cross_share": week.cross_share,
        "cross_share_before": week.cross_share_before,
        "partitions_unsafe": week.partitions_unsafe,
        "partitions_unsafe_before": week.partitions_unsafe_before,
        "reason": week.reason,
    }


def _usd(nano: int | None) -> str | None:
    return None if nano is None else exact_usd_text(nano)


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else round(after - before, 6)
