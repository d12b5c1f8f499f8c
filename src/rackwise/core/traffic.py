"""Prices and rates: the price of bytes at the level that they cross, and exact sums of dollars.

Goals, in order: every byte is in exactly one row; dollars are exact, and every computation of them
gives the same result; a missing, ambiguous or extrapolated price is reported and never replaced by
a default.

Constraints. Bytes and dollars are integers. A price is nano-dollars per GB (`usd * 10^9`). A GB is
`gb_bytes` bytes: 2^30 or 10^9, as the provider defines it. So:

```
usd_nano = floor((2 * bytes * price + gb_bytes) / (2 * gb_bytes))        half up
    27 bytes at 0.02 per 2^30 bytes: (2*27*20000000 + 2^30) / 2^31 = 1.0029..  -> 1 nano-dollar
```

Choosing a price. A row fits a flow if each of its region, kind and level is that of the flow or
`*`. Of the rows that are valid on the day (`valid_from <= day < valid_to`), the most specific row
is used; region counts before kind, and kind before level:

```
region     kind       level   out          zone fetch in eu-1:   row 3 (region beats kind)
*          *          zone    0.01         zone replicate, any:  row 2 (kind beats `*`)
*          replicate  *       0            zone fetch in us-1:   row 1
eu-1       *          zone    0.02
```

Two equally specific rows on one day are an error. A day after the end of the last row, or in a gap
between rows, is an error too. A day before the oldest row uses that row and is marked as
extrapolated. A level without any row is not an error: its bytes have no price, which does not mean
that they are free.

The highest price. A rack that is not known is one of the racks of the run, so its bytes may cross
any level at which two of these differ, or none. `highest_price` is the most expensive row that may
apply to them: the upper end of their cost.

Sums that are not known. `known_sum` adds what is known. A sum is None if nothing in it is known,
and also if it would be 0 while a part is not known: 0 means that there is nothing to pay.

Apportioning bytes. `apportion` gives each weight `floor(total * w / W)` bytes. The remaining bytes
go one each to the largest remainders, earlier first: `100` over `1 1 1` is `34 33 33`. The sum is
always the total.

What this does not do: contain prices; read price files; decide which bytes cross (see
`core.racks.crossing_level`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, overload

from rackwise.core.errors import InvalidPrices, InvalidRates
from rackwise.core.racks import level_names
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

Key = TypeVar("Key", bound=tuple[str, ...])
Amount = TypeVar("Amount", int, float, Decimal)
"""Bytes, a share, or dollars."""

NANO = 10**9
"""Nano-dollars in a dollar."""

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic that keeps every digit; Python's usual context rounds to 28 digits."""

MONTH_S = 30 * 86_400
"""The month of 30-day figures, in seconds."""

MAX_RATE = 10**12
"""The maximum bytes per second of a topic, so that the bytes of 100 days fit into 63 bits."""

LEAST_S = 3_600
"""The shortest observation that is extrapolated to a month by default, in seconds."""

ANY = "*"
"""In a price row: any region, level or kind."""

REGION = "region"
"""The level whose names are the regions of a price table."""

PRECEDENCE = ("flow log", "otlp", "telemetry", "request log", "meter", "rates", "model")
"""Sources, most trusted first; only the first that has a cluster, day and kind is billed for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One row of a price table."""

    provider: str
    region: str
    """Region of the sender, or `ANY`."""
    level: str
    """Name of the level that is crossed, or `ANY`."""
    kind: str
    """produce, fetch, replicate, other, or `ANY`."""
    nano_usd_per_gb_out: int
    """What the sender pays per `gb_bytes` bytes, in nano-dollars."""
    nano_usd_per_gb_in: int
    """What the receiver pays per `gb_bytes` bytes, in nano-dollars."""
    gb_bytes: int
    """Bytes of a GB of this provider."""
    valid_from: date
    """The first day."""
    valid_to: date | None
    """The day after the last day; None for no end."""
    source: str
    """Where the price was published."""
    is_checked: bool
    """Whether the price was compared with its source."""
    row: str
    """The row as text, for messages."""

    @property
    def specificity(self) -> tuple[bool, bool, bool]:
        """Region before kind before level; greater is more specific."""
        return (self.region != ANY, self.kind != ANY, self.level != ANY)

    def fits(self, *, region: str | None, level: str, kind: str) -> bool:
        """Whether the row applies to such flows, on any day."""
        return (
            self.region in {ANY, region} and self.level in {ANY, level} and self.kind in {ANY, kind}
        )

    @property
    def nano_usd_per_byte(self) -> Fraction:
        """What sender and receiver pay per byte together, in nano-dollars."""
        return Fraction(self.nano_usd_per_gb_out + self.nano_usd_per_gb_in, self.gb_bytes)

    def is_valid_on(self, day: date) -> bool:
        """Whether the row is valid on the day."""
        return self.valid_from <= day and (self.valid_to is None or day < self.valid_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChoice:
    """The price of a flow."""

    price: Price
    is_extrapolated: bool
    """Whether the day is before the oldest row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRow:
    """One row of a rates table. A topic may have several rows, one per group."""

    cluster: str
    topic: str
    bytes_in_per_s: int | None = None
    """Bytes per second that are produced to the topic; equal or None in all rows of a topic."""
    client_group: str | None = None
    bytes_out_per_s: int | None = None
    """Bytes per second that the group reads from the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The rates of all topics and groups."""

    ins: Mapping[tuple[str, str], int]
    """(cluster, topic) -> bytes per second that are produced."""
    outs: Mapping[tuple[str, str, str], int]
    """(cluster, topic, group) -> bytes per second that the group reads."""


def usd_nano(bytes_: int, nano_per_gb: int, gb_bytes: int) -> int:
    """Nano-dollars for bytes at a price per `gb_bytes` bytes, rounded half up.

    >>> usd_nano(26, 20_000_000, 2**30), usd_nano(27, 20_000_000, 2**30)
    (0, 1)
    """
    return (2 * bytes_ * nano_per_gb + gb_bytes) // (2 * gb_bytes)


def usd_of(nano: int | None) -> Decimal | None:
    """The exact dollars of nano-dollars; None, which is not known, stays None.

    >>> usd_of(420_000_000), usd_of(-1), usd_of(None)
    (Decimal('0.420000000'), Decimal('-1E-9'), None)
    """
    return None if nano is None else Decimal(f"{nano}e-9")


@overload
def nano_of(usd: Decimal | str) -> int: ...
@overload
def nano_of(usd: None) -> None: ...
def nano_of(usd: Decimal | str | None) -> int | None:
    """The nano-dollars of exact dollars; None, which is not known, stays None.

    Digits after the ninth decimal are left out, not rounded. Raises `decimal.InvalidOperation` if
    a text is not a number.

    >>> nano_of("0.42"), nano_of(Decimal("-0.0000000019")), nano_of(None)
    (420000000, -1, None)
    """
    return None if usd is None else int(Decimal(usd).scaleb(9, _EXACT))


def exact_usd_text(nano: int) -> str:
    """Dollars with nine digits: `0.420000000`.

    >>> exact_usd_text(420_000_000), exact_usd_text(-1)
    ('0.420000000', '-0.000000001')
    """
    whole, rest = divmod(abs(nano), NANO)
    return f"{'-' if nano < 0 else ''}{whole}.{rest:09d}"


def exact_dollars(nano: int) -> str:
    """Dollars with every digit, at least two of them decimals.

    >>> exact_dollars(1_234_500_000_000), exact_dollars(-4_472_208)
    ('$1,234.50', '-$0.004472208')
    """
    whole, rest = divmod(abs(nano), NANO)
    digits = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{'-' if nano < 0 else ''}${whole:,}.{digits}"


def per_month(nano: int, observed_s: int) -> int:
    """Nano-dollars per 30 days, from the nano-dollars of `observed_s` seconds; rounded half up."""
    return (2 * nano * MONTH_S + observed_s) // (2 * observed_s)


def apportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Each weight's share of a total, in whole bytes; the sum of the shares is the total.

    Raises `InvalidRates` if all weights are 0. Source: Hamilton's method.

    >>> apportion(100, (1, 1, 1)), apportion(7, (3, 3, 1))
    ((34, 33, 33), (3, 3, 1))
    """
    whole = sum(weights)
    if whole <= 0:
        raise InvalidRates(
            f"expected weights above 0 to apportion {total} bytes, got {len(weights)} that are 0",
            wanted="a sum above 0",
            had=whole,
            hint="give a rate above 0 to at least one topic",
        )
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return tuple(shares)


def named_levels(depth: int, names: Sequence[str]) -> tuple[str, ...]:
    """The names of `depth` levels, coarsest first; a single level without a name is `zone`.

    Raises `InvalidPrices` if several levels have too few names, because prices refer to names.
    """
    if len(names) < depth and depth > 1:
        raise InvalidPrices(
            f"expected names of {depth} rack levels to price them, got {len(names)}",
            wanted=depth,
            had=len(names),
            hint="name them coarsest first, for example --levels region,zone",
        )
    return level_names(depth, names)


def prices_of(prices: Iterable[Price], provider: str) -> tuple[Price, ...]:
    """The rows of one provider. Raises `InvalidPrices` if there are none."""
    rows = tuple(prices)
    kept = tuple(price for price in rows if price.provider == provider)
    if not kept:
        had = ", ".join(sorted({escaped(price.provider) for price in rows})) or "none"
        raise InvalidPrices(
            f'expected prices of provider "{escaped(provider)}", got a table of {had}',
            wanted=provider,
            had=had,
            hint="choose another --provider, or add rows to the table of --prices",
        )
    return kept


def price_of(
    prices: Sequence[Price], *, region: str | None, level: str, kind: str, day: date
) -> PriceChoice | None:
    """The price of flows of a kind that cross a level on a day; None where no row fits.

    `prices` are rows of one provider; `region` is None where racks name none. Raises
    `InvalidPrices` when two rows are equally specific, and when the day lies in a gap or after the
    last row's end.
    """
    fitting = [price for price in prices if price.fits(region=region, level=level, kind=kind)]
    if not fitting:
        return None
    valid = [price for price in fitting if price.is_valid_on(day)]
    if valid:
        return PriceChoice(price=_most_specific(valid, level, day), is_extrapolated=False)
    oldest = min(price.valid_from for price in fitting)
    if day < oldest:
        rows = [price for price in fitting if price.valid_from == oldest]
        return PriceChoice(price=_most_specific(rows, level, day), is_extrapolated=True)
    raise _not_covered(fitting, level, day)


def highest_price(
    prices: Sequence[Price],
    *,
    regions: Sequence[str | None],
    levels: Sequence[str],
    kind: str,
    day: date,
) -> Price | None:
    """The most expensive price that bytes may have if the rack of one end is not known.

    `regions`: the regions that may be that of the sender; `levels`: the levels that the bytes may
    cross. None if one of them has no price, because such bytes could cost any amount. Raises what
    `price_of` raises.
    """
    choices = [
        price_of(prices, region=region, level=level, kind=kind, day=day)
        for level in levels
        for region in regions
    ]
    known = [choice.price for choice in choices if choice is not None]
    if not known or len(known) < len(choices):
        return None
    return max(known, key=lambda price: price.nano_usd_per_byte)


def known_sum(values: Iterable[Amount | None], *, is_whole: bool = True) -> Amount | None:
    """The sum of the known values; None if none is known, or if it is 0 and a part is not known.

    `is_whole`: whether the values are all there is to add.

    >>> known_sum([2, None]), known_sum([0, None]), known_sum([0, 0]), known_sum([])
    (2, None, 0, None)
    """
    every = list(values)
    known = [value for value in every if value is not None]
    if not known:
        return None
    whole = sum(known[1:], known[0])
    return whole if whole or (is_whole and len(known) == len(every)) else None


def _most_specific(valid: Sequence[Price], level: str, day: date) -> Price:
    best = max(price.specificity for price in valid)
    rows = [price for price in valid if price.specificity == best]
    if len(rows) > 1:
        first, second = sorted(escaped(price.row) for price in rows)[:2]
        raise InvalidPrices(
            f"expected one price for level {escaped(level)} on {day}, got two that fit equally: "
            f"{first} and {second}",
            wanted=1,
            had=len(rows),
            hint="delete one of the two, or end the older one (valid_to) where the newer begins",
            where=first,
        )
    return rows[0]


def _not_covered(fitting: Sequence[Price], level: str, day: date) -> InvalidPrices:
    """The error for a day that no row covers; it has the row before, and the row after, if any."""
    before = max(
        (price for price in fitting if price.valid_from <= day),
        key=lambda price: (price.valid_to or price.valid_from, price.specificity, price.row),
    )
    after = min(
        (price for price in fitting if price.valid_from > day),
        key=lambda price: (price.valid_from, price.specificity, price.row),
        default=None,
    )
    around = f"the row before ends {before.valid_to} ({escaped(before.row)})"
    if after is not None:
        around += f", the next begins {after.valid_from} ({escaped(after.row)})"
    return InvalidPrices(
        f"no price for level {escaped(level)} on {day}: {around}",
        wanted=str(day),
        had=around,
        hint=f"add to the table of --prices: {csv_line(before, level=level, day=day)}",
        where=before.row,
    )


def csv_line(like: Price, *, level: str, day: date) -> str:
    """A line for a price table, with placeholders for the two prices and the source."""
    cells = (
        like.provider,
        like.region,
        level,
        like.kind,
        "<out>",
        "<in>",
        str(like.gb_bytes),
        str(day),
        "",
        "<source>",
        "true",
    )
    return ",".join(escaped(cell) for cell in cells)


def rates_of(rows: Iterable[RateRow]) -> Rates:
    """The rates of the rows, by topic and by group.

    Raises `InvalidRates` if two rows have different rates for one topic or one group.
    """
    ins: dict[tuple[str, str], int] = {}
    outs: dict[tuple[str, str, str], int] = {}
    for row in rows:
        topic = (row.cluster, row.topic)
        if row.bytes_in_per_s is not None:
            _add_rate(ins, topic, row.bytes_in_per_s, f"topic {escaped(row.topic)}")
        if row.client_group is not None and row.bytes_out_per_s is not None:
            _add_rate(
                outs,
                (*topic, row.client_group),
                row.bytes_out_per_s,
                f"group {escaped(row.client_group)} of topic {escaped(row.topic)}",
            )
    return Rates(ins=ins, outs=outs)


def _add_rate(rates: dict[Key, int], key: Key, rate: int, what: str) -> None:
    if not 0 <= rate <= MAX_RATE:
        raise InvalidRates(
            f"invalid rate of {what}: expected 0 to {MAX_RATE} bytes per second, got {rate}",
            wanted=f"0..{MAX_RATE}",
            had=rate,
            hint="write rates in bytes per second",
        )
    first = rates.setdefault(key, rate)
    if first != rate:
        raise InvalidRates(
            f"expected one rate for {what}, got {first} and {rate}",
            wanted=first,
            had=rate,
            hint="give the topic's bytes_in_per_s once, or the same in each of its rows",
        )
