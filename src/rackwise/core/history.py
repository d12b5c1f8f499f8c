"""The history of a bill: which run computed each day of each cluster, and what the days say.

Goals, in order: what a run did not compute stays as it is; the time that a bill covers is exact,
so that "per 30 days" is right; a change from week to week compares equal days.

A result consists of days: one for each cluster and day. A run replaces the days that it computed
and keeps the others. Traffic and safety are computed apart, because a snapshot has no traffic, and
flow logs have no replicas:

```
                 prod 1 Nov           prod 2 Nov           test 2 Nov
before           run A  0 unsafe      run A  0 unsafe      run A  3 unsafe
run B computed                        traffic, 2 unsafe
run C computed   5 unsafe
after            run A  5 unsafe      run B  2 unsafe      run A  3 unsafe
```

The time that a bill covers. A day that stands covers the part of it that its run observed. A day
without traffic counts if a run observed the days before and after it:

```
run A    |------|      .      |------|     1 and 3 Nov have rows; 2 Nov is observed and has none
run B                         |---|        3 Nov again, but only its first half
covers   1 Nov    2 Nov (A)   half of 3 Nov (B)
```

Week over week. Each of the last seven days is compared with the day seven days before it. Days
without a partner are left out, so both sums are of equally many days of the week.

What this does not do: read or write a result (`adapters.files.publishing`), or its tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

WEEK = timedelta(days=7)
_DAY = timedelta(days=1)
DIGITS = 6
"""Digits of a share and of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingDay:
    """One day of one cluster in a result."""

    cluster: str
    """Cluster name."""
    day: date
    """The day, in UTC."""
    cluster_id: str | None = None
    """Cluster id; None if unknown."""
    tables: str | None = None
    """Where the tables of the run are that computed the traffic; None if no run did."""
    name_in_tables: str | None = None
    """The name that the cluster has in these tables."""
    since: datetime | None = None
    """Start of the time that the run observed."""
    until: datetime | None = None
    """End of the time that the run observed."""
    partitions: int | None = None
    """Number of partitions in the last snapshot up to the day; None without one."""
    partitions_unsafe: int | None = None
    """Number of them with a finding of severity error; None without a snapshot, or if no rule found
    one and a rule could not be checked."""

    @property
    def place(self) -> tuple[str, date]:
        """What identifies the day in a result."""
        return self.cluster, self.day


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTotals:
    """The figures of one day, of one cluster or of all; dollars are nano-dollars."""

    day: date
    bytes_local: int | None = None
    """None if the traffic of the day is not known."""
    bytes_cross: int | None = None
    bytes_unknown: int | None = None
    usd_nano: int | None = None
    """None without traffic or without a price."""
    partitions: int | None = None
    partitions_unsafe: int | None = None
    """None without a snapshot up to the day, or if it could not be checked."""

    @property
    def cross_share(self) -> float | None:
        """Share of the bytes that cross racks; None if there are no bytes.

        >>> DayTotals(day=date(2026, 11, 1), bytes_local=3, bytes_cross=1).cross_share
        0.25
        """
        known = (self.bytes_local, self.bytes_cross, self.bytes_unknown)
        total = sum(bytes_ or 0 for bytes_ in known)
        return round((self.bytes_cross or 0) / total, DIGITS) if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekChange:
    """The last week compared with the week before it, over the days that both have."""

    days: int = 0
    """Number of days of the week that are compared."""
    first_day: date | None = None
    """First day of the last week that is compared."""
    last_day: date | None = None
    """Last day of the last week that is compared."""
    usd_nano: int | None = None
    usd_nano_before: int | None = None
    cross_share: float | None = None
    cross_share_before: float | None = None
    partitions_unsafe: int | None = None
    """On the last of these days."""
    partitions_unsafe_before: int | None = None
    """Seven days before the last of these days."""
    reason: str | None = None
    """Why nothing is compared; None if something is."""


def merge_days(
    old: Iterable[StandingDay], new: Iterable[StandingDay], *, keep: int | None = None
) -> tuple[StandingDay, ...]:
    """The days of a result after a run, by cluster and day.

    `old`: the days before; `new`: the days that the run computed; `keep`: the number of days to
    keep, up to the last day of all; None keeps all.
    """
    found: dict[tuple[str, date], StandingDay] = {}
    for each in (*old, *new):
        before = found.get(each.place)
        found[each.place] = each if before is None else _replaced(before, each)
    first = first_kept_day(found.values(), keep)
    return tuple(found[place] for place in sorted(found) if place[1] >= first)


def first_kept_day(days: Iterable[StandingDay], keep: int | None) -> date:
    """The first of the last `keep` days; the first possible day if all are kept."""
    last = max((each.day for each in days), default=date.min)
    if keep is None or last.toordinal() <= keep:
        return date.min
    return last - timedelta(days=keep - 1)


def _replaced(before: StandingDay, after: StandingDay) -> StandingDay:
    traffic = after if after.tables is not None else before
    safety = after if after.partitions is not None else before
    return replace(
        after,
        cluster_id=after.cluster_id or before.cluster_id,
        tables=traffic.tables,
        name_in_tables=traffic.name_in_tables,
        since=traffic.since,
        until=traffic.until,
        partitions=safety.partitions,
        partitions_unsafe=safety.partitions_unsafe,
    )


def rename_clusters(
    days: Iterable[StandingDay], names: Mapping[str, str]
) -> tuple[StandingDay, ...]:
    """The days with the present names of their clusters; `names`: cluster id -> name."""
    return tuple(
        replace(each, cluster=names.get(each.cluster_id or "", each.cluster)) for each in days
    )


def covered_time(days: Iterable[StandingDay]) -> tuple[datetime, datetime, int] | None:
    """First and last moment that the traffic covers, and the covered seconds; None without traffic.

    The seconds are at least 1.
    """
    by_day: dict[date, set[tuple[datetime, datetime]]] = {}
    for each in days:
        if each.since is not None and each.until is not None:
            by_day.setdefault(each.day, set()).add((each.since, each.until))
    if not by_day:
        return None
    spans = {span for found in by_day.values() for span in found}
    parts: list[tuple[datetime, datetime]] = []
    for day in _days(min(by_day), max(by_day)):
        parts += _union(_clipped(by_day.get(day, spans), day))
    if not parts:  # a run of one moment
        moment = min(start for start, _ in spans)
        return moment, moment, 1
    covered = sum((end - start for start, end in parts), timedelta())
    return parts[0][0], parts[-1][1], max(1, int(covered.total_seconds()))


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def _clipped(
    spans: Iterable[tuple[datetime, datetime]], day: date
) -> Iterator[tuple[datetime, datetime]]:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    end = start + _DAY
    for since, until in spans:
        if max(since, start) < min(until, end):
            yield max(since, start), min(until, end)


def _union(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    joined: list[tuple[datetime, datetime]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def sum_days(rows: Iterable[DayTotals]) -> tuple[DayTotals, ...]:
    """The figures of each day, summed over its rows, by day.

    Dollars and bytes are those of the rows that have them. Partitions are None if a row of the day
    does not know them: a sum without a cluster would look like an improvement.
    """
    by_day: dict[date, list[DayTotals]] = {}
    for row in rows:
        by_day.setdefault(row.day, []).append(row)
    return tuple(
        DayTotals(
            day=day,
            bytes_local=_sum_known(row.bytes_local for row in by_day[day]),
            bytes_cross=_sum_known(row.bytes_cross for row in by_day[day]),
            bytes_unknown=_sum_known(row.bytes_unknown for row in by_day[day]),
            usd_nano=_sum_known(row.usd_nano for row in by_day[day]),
            partitions=_sum_all(row.partitions for row in by_day[day]),
            partitions_unsafe=_sum_all(row.partitions_unsafe for row in by_day[day]),
        )
        for day in sorted(by_day)
    )


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _sum_all(values: Iterable[int | None]) -> int | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def change(after: float | None, before: float | None) -> float | None:
    """The relative change, such as 0.25 for a quarter more; None if it is not known.

    >>> change(5, 4), change(3, 4), change(3, 0), change(0, 0), change(None, 4)
    (0.25, -0.25, None, 0.0, None)
    """
    if after is None or before is None:
        return None
    if not before:
        return None if after else 0.0
    return round(after / before - 1, DIGITS)


def week_change(days: Sequence[DayTotals]) -> WeekChange:
    """The last seven days against the seven days before; `days`: one row per day."""
    known = {row.day: row for row in days if row.bytes_cross is not None}
    if not known:
        return WeekChange(reason="no day has traffic; add flow logs, request logs or rates")
    last = max(known)
    pairs = [
        (known[day], known[day - WEEK])
        for day in _days(last - WEEK + _DAY, last)
        if day in known and day - WEEK in known
    ]
    if not pairs:
        return WeekChange(
            reason="no day of the last week has traffic seven days earlier; run rackwise analyze "
            "for each day into the same folder"
        )
    after = _total([row for row, _ in pairs])
    before = _total([row for _, row in pairs])
    is_priced = all(None not in (a.usd_nano, b.usd_nano) for a, b in pairs)
    return WeekChange(
        days=len(pairs),
        first_day=pairs[0][0].day,
        last_day=pairs[-1][0].day,
        usd_nano=after.usd_nano if is_priced else None,
        usd_nano_before=before.usd_nano if is_priced else None,
        cross_share=after.cross_share,
        cross_share_before=before.cross_share,
        partitions_unsafe=pairs[-1][0].partitions_unsafe,
        partitions_unsafe_before=pairs[-1][1].partitions_unsafe,
    )


def _total(rows: Sequence[DayTotals]) -> DayTotals:
    (whole,) = sum_days(replace(row, day=rows[0].day) for row in rows)
    return whole
