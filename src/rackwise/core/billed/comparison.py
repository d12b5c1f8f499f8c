"""Compares what AWS billed for transfer between zones with the bytes that Kafka moved there.

Goals, in order: no number that only looks like a share; every number that is not known has a
reason with cause and cure; sums are exact.

Unit of comparison: a day of a region. AWS bills both ends of a transfer, so 1 GB that crosses
counts as 2 GB, and a GB of the bill is 2^30 bytes:

```
bill      USE1-DataTransfer-Regional-Bytes, 2026-11-01      100 GB    $1.00
Kafka     31 GiB from one zone of us-east-1 to another       62 GB    $0.62      share 0.62
```

A day is compared only if it is whole on both sides:

- every cluster in the region has traffic of the whole day, except for up to 10 minutes: the last
  row of a flow log ends up to one aggregation interval before the day does;
- the traffic is observed, not modelled from rates, and has the prices of AWS;
- the bill has lines of the day, and none that covers more than a day.

Bytes with a rack that is not known, or that may be in another region, may cross zones or not. They
make the share a range: `kafka_bytes` to `kafka_bytes_high`.

What this does not do: read a bill; find out which bytes cross zones (`core.billed.zones`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Final

from rackwise.core.billed.zones import Crossing
from rackwise.core.text import are, counted
from rackwise.core.traffic import known_sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.history import StandingDay

GB: Final = 2**30
"""Bytes of a GB of the bill."""
ENDS: Final = 2
"""Both ends of a transfer are billed."""
WHOLE_S: Final = 86_400 - 600
"""Seconds of a day that are enough for a whole day: a flow log may end 10 minutes early."""
USAGE: Final = "Usage"
"""The type of lines that are compared; discounts, credits, refunds and taxes are left out."""
DOLLARS: Final = "USD"
SHARE_DIGITS: Final = 6
_DAY: Final = timedelta(days=1)
_EXACT: Final = Context(prec=60, rounding=ROUND_HALF_UP)

NO_LINES: Final = (
    "the bill has no transfer between zones in this region on this day: add the files of the whole "
    "month, after AWS has completed the day"
)
LONG_LINES: Final = (
    "lines of the bill cover more than one day: export the Cost and Usage Report with hourly or "
    "daily granularity"
)
NO_CLUSTER: Final = (
    "no cluster is in this region: add the snapshots and the traffic of its clusters, if it has any"
)
NO_ZONES: Final = (
    "the racks do not name zones of AWS: set broker.rack to zone ids such as use1-az1, or give the "
    "region with --billed-region"
)
MODELLED: Final = (
    "the traffic is modelled from rates, not observed: add flow logs, or snapshots that meter it"
)
OTHER_PROVIDER: Final = (
    "the traffic is priced as that of another provider, which AWS does not bill: analyze these "
    "clusters with --provider aws, or without --billed"
)
NO_TRAFFIC: Final = (
    "no traffic of these days is known: analyze flow logs or snapshots of these days"
)
NO_USAGE: Final = (
    "the bill has no usage of type DataTransfer-Regional-Bytes: give the files of all accounts in "
    "which brokers and clients run"
)
NO_REGION: Final = (
    "the billing code in front of the usage type is not a known region, and the line has no region "
    "column: export the report with product columns"
)
RACK: Final = "the rack of one end is not known: add --subnets FILE or --clients FILE"
CURRENCY: Final = "the bill is not in US dollars: its dollars are not known, compare its bytes"
NO_PRICE: Final = "no price row covers the levels crossed: add them to the table of --prices"
SEPARATOR: Final = "; "
ABOVE: Final = (
    "Kafka moved more bytes between zones than AWS billed: the bill may lack accounts or files, or "
    "may not be final; or the traffic is counted twice (see --side and --dedupe), or the racks of "
    "subnets are not those of the zones"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledLines:
    """Lines of the bill that have the same other fields."""

    region: str | None
    """None if the region is not known."""
    day: date
    last_day: date
    """The last day that the lines cover; `day` except in bills by month."""
    line_type: str
    """`Usage`, or another type of AWS; empty if the lines have none."""
    currency: str
    lines: int
    gb: Decimal
    """Usage of these lines; both ends count."""
    usd: Decimal
    """Unblended cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaBytes:
    """Bytes of one cluster on one day that have the same other fields."""

    cluster: str
    day: date
    region: str | None
    """None if the bytes may be in any region, or are between regions."""
    crossing: Crossing
    is_aws: bool
    """Whether the prices are those of AWS, or there is no price."""
    bytes: int
    usd_nano: int | None
    """Nano-dollars of both ends; None if not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledDay:
    """One day of one region; dollars are nano-dollars, bytes count both ends."""

    day: date
    region: str
    billed_bytes: int | None = None
    billed_usd_nano: int | None = None
    kafka_bytes: int | None = None
    """Bytes that cross zones for certain."""
    kafka_bytes_high: int | None = None
    """Bytes that cross zones at most."""
    kafka_usd_nano: int | None = None
    is_compared: bool = False
    reason: str | None = None
    """Why values are null or a range, each with its cure; None if all are known."""

    @property
    def share(self) -> float | None:
        """`kafka_bytes` divided by `billed_bytes`; None if the day is not compared."""
        return share_of(self.kafka_bytes, self.billed_bytes) if self.is_compared else None

    @property
    def share_high(self) -> float | None:
        """`kafka_bytes_high` divided by `billed_bytes`; None if the day is not compared."""
        return share_of(self.kafka_bytes_high, self.billed_bytes) if self.is_compared else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Lines of the bill that are not compared: their number and dollars, by reason."""

    reason: str
    lines: int
    usd_nano: int | None
    """None if the bill is not in US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledTotals:
    """The sums of all days that are compared."""

    days: int = 0
    """Number of days of regions."""
    billed_bytes: int | None = None
    billed_usd_nano: int | None = None
    kafka_bytes: int | None = None
    kafka_bytes_high: int | None = None
    kafka_usd_nano: int | None = None
    share: float | None = None
    share_high: float | None = None
    reason: str | None = None
    """Why nothing is compared, or why the share is a range."""
    finding: str | None = None
    """What a share above 1 may mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledComparison:
    """The whole comparison."""

    totals: BilledTotals
    days: tuple[BilledDay, ...]
    """By day and region."""
    left_out: tuple[LeftOut, ...]


@dataclass(slots=True)
class _Region:
    """The traffic of one region on one day."""

    cross: int = 0
    maybe: int = 0
    usd: list[int | None] = field(default_factory=list)
    has_other_provider: bool = False


def compare(
    lines: Sequence[BilledLines],
    kafka: Sequence[KafkaBytes],
    days: Iterable[StandingDay],
    *,
    located: Iterable[tuple[str, str]] = (),
    modelled: frozenset[tuple[str, date]] = frozenset(),
) -> BilledComparison:
    """The days of the bill and of the traffic.

    `days`: the days of the result, with the time that each covers; `located`: regions and the
    clusters with a broker in them; `modelled`: clusters and days whose traffic is modelled from
    rates.
    """
    covered = _covered(days)
    observed = {day for _, day in covered}
    usage = [one for one in lines if one.line_type == USAGE]
    clusters = _clusters_by_region(kafka, located)
    traffic = _traffic(kafka)
    bill: defaultdict[tuple[date, str], list[BilledLines]] = defaultdict(list)
    long: set[tuple[date, str]] = set()
    for one in usage:
        if one.region is not None and one.last_day > one.day:
            long |= {(day, one.region) for day in observed if one.day <= day <= one.last_day}
        elif one.region is not None and one.day in observed:
            bill[one.day, one.region].append(one)
    places = {*bill, *long}
    places |= {
        (day, region)
        for region, names in clusters.items()
        for cluster, day in covered
        if cluster in names
    }
    anywhere = {one.day for one in kafka if one.region is None and one.crossing is Crossing.MAYBE}
    rows = tuple(
        _day(
            day,
            region,
            None if (day, region) in long else bill.get((day, region)),
            traffic.get((day, region)),
            lost=_lost(
                day,
                clusters.get(region, frozenset()),
                covered,
                modelled,
                is_long=(day, region) in long,
                has_others=day in anywhere,
            ),
            others=traffic.get((day, None)),
        )
        for day, region in sorted(places)
    )
    return BilledComparison(
        totals=_totals(rows, has_usage=bool(usage)),
        days=rows,
        left_out=_left_out(lines, observed),
    )


def share_of(part: int | None, whole: int | None) -> float | None:
    """The share with six digits; None if it is not known, or if the whole is not above 0.

    >>> share_of(62, 100), share_of(1, 0), share_of(None, 1)
    (0.62, None, None)
    """
    if part is None or whole is None or whole <= 0:
        return None
    return round(part / whole, SHARE_DIGITS)


def _covered(days: Iterable[StandingDay]) -> dict[tuple[str, date], int]:
    """Cluster and day -> seconds of it that a run observed, for days with traffic."""
    found = {}
    for each in days:
        if each.tables is not None and each.since is not None and each.until is not None:
            start = datetime(each.day.year, each.day.month, each.day.day, tzinfo=UTC)
            span = min(each.until, start + _DAY) - max(each.since, start)
            found[each.place] = max(0, int(span.total_seconds()))
    return found


def _clusters_by_region(
    kafka: Iterable[KafkaBytes], located: Iterable[tuple[str, str]]
) -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for region, cluster in located:
        found[region].add(cluster)
    for one in kafka:
        if one.region is not None:
            found[one.region].add(one.cluster)
    return {region: frozenset(names) for region, names in found.items()}


def _traffic(kafka: Iterable[KafkaBytes]) -> Mapping[tuple[date, str | None], _Region]:
    """The traffic of each day and region; region None has the bytes that may be in any."""
    found: defaultdict[tuple[date, str | None], _Region] = defaultdict(_Region)
    for one in kafka:
        place = found[one.day, one.region]
        if one.crossing is Crossing.YES:
            place.cross += one.bytes
            place.usd.append(one.usd_nano if one.bytes else 0)
        elif one.crossing is Crossing.MAYBE:
            place.maybe += one.bytes
        place.has_other_provider |= not one.is_aws
    return found


def _lost(
    day: date,
    clusters: frozenset[str],
    covered: Mapping[tuple[str, date], int],
    modelled: frozenset[tuple[str, date]],
    *,
    is_long: bool,
    has_others: bool,
) -> list[str]:
    """Why the day cannot be compared; empty if it can."""
    found = [LONG_LINES] if is_long else []
    if not clusters:
        return [*found, NO_ZONES if has_others else NO_CLUSTER]
    for name in sorted(clusters):
        seconds = covered.get((name, day))
        if seconds is None:
            found.append(f"no traffic of cluster {name} is known on this day: add its flow logs")
        elif (name, day) in modelled:
            found.append(MODELLED)
        elif seconds < WHOLE_S:
            hours = f"{seconds / 3600:.1f}"
            found.append(
                f"the traffic of cluster {name} covers {hours} of 24 hours: add the rest of the day"
            )
    return list(dict.fromkeys(found))


def _day(
    day: date,
    region: str,
    bill: Sequence[BilledLines] | None,
    traffic: _Region | None,
    *,
    lost: Sequence[str],
    others: _Region | None,
) -> BilledDay:
    reasons = [*lost]
    has_cluster = NO_CLUSTER not in lost and NO_ZONES not in lost
    is_priced_by_aws = traffic is None or not traffic.has_other_provider
    if bill is None and LONG_LINES not in lost:
        reasons.append(NO_LINES)
    if not is_priced_by_aws:
        reasons.append(OTHER_PROVIDER)
    is_compared = not reasons
    is_in_dollars = bill is not None and all(one.currency in {"", DOLLARS} for one in bill)
    if bill is not None and not is_in_dollars:
        reasons.append(CURRENCY)
    low = high = usd = None
    if traffic is None and not lost:
        traffic = _Region()  # the day is whole, so nothing crossed
    if has_cluster and is_priced_by_aws and traffic is not None:
        low = ENDS * traffic.cross
        high = low + ENDS * (traffic.maybe + (others.maybe if others else 0))
        usd = known_sum(traffic.usd) if traffic.usd else 0
        reasons += [RACK] if high != low else []
        reasons += [NO_PRICE] if usd is None else []
    return BilledDay(
        day=day,
        region=region,
        billed_bytes=None if bill is None else _bytes(sum((one.gb for one in bill), Decimal(0))),
        billed_usd_nano=_nano(sum((one.usd for one in bill), Decimal(0)))
        if bill is not None and is_in_dollars
        else None,
        kafka_bytes=low,
        kafka_bytes_high=high,
        kafka_usd_nano=usd,
        is_compared=is_compared,
        reason=SEPARATOR.join(reasons) or None,
    )


def _bytes(gb: Decimal) -> int:
    """The bytes of GB of the bill, to the nearest byte.

    >>> _bytes(Decimal("1.5")), _bytes(Decimal("0.0000000005"))
    (1610612736, 1)
    """
    return int(_EXACT.to_integral_value(_EXACT.multiply(gb, Decimal(GB))))


def _nano(usd: Decimal) -> int:
    return int(_EXACT.to_integral_value(_EXACT.scaleb(usd, 9)))


def _totals(rows: Sequence[BilledDay], *, has_usage: bool) -> BilledTotals:
    compared = [row for row in rows if row.is_compared]
    if not compared:
        reasons = [row.reason for row in rows if row.reason is not None]
        return BilledTotals(reason=NO_USAGE if not has_usage else [*reasons, NO_TRAFFIC][0])
    billed = sum(row.billed_bytes or 0 for row in compared)
    low = sum(row.kafka_bytes or 0 for row in compared)
    high = sum(row.kafka_bytes_high or 0 for row in compared)
    share = share_of(low, billed)
    return BilledTotals(
        days=len(compared),
        billed_bytes=billed,
        billed_usd_nano=_sum_all([row.billed_usd_nano for row in compared]),
        kafka_bytes=low,
        kafka_bytes_high=high,
        kafka_usd_nano=_sum_all([row.kafka_usd_nano for row in compared]),
        share=share,
        share_high=share_of(high, billed),
        reason=RACK if high != low else None,
        finding=ABOVE if any((row.share or 0) > 1 for row in compared) else None,
    )


def _sum_all(values: Sequence[int | None]) -> int | None:
    """The sum; None if a value is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _left_out(lines: Iterable[BilledLines], observed: set[date]) -> tuple[LeftOut, ...]:
    """The lines that no day has, by reason, those with most lines first."""
    by_reason: defaultdict[str, list[BilledLines]] = defaultdict(list)
    for one in lines:
        if one.line_type != USAGE:
            name = one.line_type or "no type"
            by_reason[f"lines of type {name} are not usage; their dollars are not compared"].append(
                one
            )
        elif one.region is None:
            by_reason[NO_REGION].append(one)
        elif one.last_day > one.day:
            by_reason[LONG_LINES].append(one)
        elif one.day not in observed:
            by_reason[NO_TRAFFIC].append(one)
    found = [
        LeftOut(
            reason=reason,
            lines=sum(one.lines for one in group),
            usd_nano=_nano(sum((one.usd for one in group), Decimal(0)))
            if all(one.currency in {"", DOLLARS} for one in group)
            else None,
        )
        for reason, group in by_reason.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.lines, one.reason)))


def notes(comparison: BilledComparison) -> tuple[str, ...]:
    """What a reader of the report must know of the bill."""
    found = [
        f"--billed: {counted(one.lines, 'line')} of the bill {are(one.lines)} left out: "
        f"{one.reason}"
        for one in comparison.left_out
    ]
    if comparison.totals.finding is not None:
        found.append(f"--billed: {comparison.totals.finding}")
    if comparison.totals.days == 0:
        found.append(f"--billed: nothing is compared: {comparison.totals.reason}")
    return tuple(found)
