"""Traffic to dollars: which level each row crosses, its price that day, and its names.

Goals, in order:

1. Each row costs the same as in `core.traffic.usd_nano`, to the nano-dollar.
2. The dollars of a level without a price are null, never zero.
3. Names are joined only here, after the aggregate, because its result is small.

Levels. The row of each rack has the codes of its ancestors. The level of a pair is the first column
at which both codes are known and differ:

```
from        to          l1     l2     level     (region,zone)
/eu/a       /eu/b       = eu   a<>b   2         the price of `zone`
/eu/a       /us/a       eu<>us        1         the price of `region`
/eu/a       /eu/a       =      =      0         local, free
/eu/a       unknown                  -1         unknown: no dollars, at most the highest price
```

A pair of a rack and its own ancestor is local. Its quality is estimated, because the ancestor does
not identify a rack below it.

On the driver, `core.traffic` chooses the price of each day, kind, level and region of the sender.
Tasks get the prices as a small table. Regions are the names at the level called `region`.

A row with an unknown rack costs nothing or up to the highest price of its kind and day
(`core.traffic.highest_price`): `usd` is null and `usd_high` has that amount. Its unknown rack is
one of the racks of the run. For all other rows, `usd_high` is `usd`.

What this does not do: choose between price rows (`core.traffic.price_of`); read them; add up
(`roll_ups`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.owners import NO_OWNERS, UNOWNED
from rackwise.core.racks import Rack, levels_crossed
from rackwise.core.traffic import REGION, highest_price, price_of
from rackwise.pipeline.bill.coded_fleet import CodedFleet, named
from rackwise.pipeline.bill.exact import check_amounts, usd_nanos
from rackwise.pipeline.bill.traffic import KEPT, columns_of
from rackwise.pipeline.columns.clock import day_number
from rackwise.pipeline.schemas import (
    CROSS_RACK,
    ESTIMATED,
    KINDS,
    QUALITIES,
    UNKNOWN_GROUP,
    UNKNOWN_RACK,
    UNKNOWN_TOPIC,
    arrow_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from rackwise.core.owners import Owners
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet

LOCAL, UNKNOWN = 0, -1
USD_TYPE = pa.decimal128(18, 9)
"""`schemas.USD` in Arrow."""


class PriceRow(NamedTuple):
    """A price for all bytes of a day, kind, level and region of the sender."""

    day: int
    """Days since 1970-01-01."""
    kind: int
    level: int
    region: int
    """Rack code of the region; 0 where a rack names none."""
    nano_out: int
    nano_in: int
    gb_bytes: int
    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What makes rows of CROSS_RACK of traffic; sent to tasks."""

    fleet: CodedFleet
    prices: tuple[PriceRow, ...]
    levels: tuple[str, ...]
    """Names of the levels, coarsest first."""
    region: int
    """The level called `region`, from 1; 0 if there is none."""
    topic_owners: pa.Array
    """The owner of each topic; null without one."""
    group_owners: pa.Array
    """The owner of each client group; null without one."""

    @classmethod
    def of(
        cls,
        fleet: Fleet,
        coded: CodedFleet,
        *,
        prices: Sequence[Price],
        levels: Sequence[str],
        days: Sequence[date],
        owners: Owners = NO_OWNERS,
    ) -> Pricing:
        """`prices`: rows of one provider; `levels`: coarsest first; `days`: days of the traffic.

        Raises `InvalidPrices` for an ambiguous row and for a day that no row covers.
        """
        region = levels.index(REGION) + 1 if REGION in levels else 0
        regions = _regions(fleet, region)
        crossed = _levels_crossed(fleet, levels)
        return cls(
            fleet=coded,
            prices=(
                *_price_rows(regions, prices=prices, levels=levels, days=days),
                *_highest_rows(regions, prices=prices, levels=crossed, days=days),
            ),
            levels=tuple(levels),
            region=region,
            topic_owners=_owned(fleet.names.topics, owners.of_topics(fleet.names.topics)),
            group_owners=_owned(fleet.names.clients, owners.of_groups(fleet.names.clients)),
        )


def price_traffic(traffic: pa.Table, pricing: Pricing) -> pa.Table:
    """CROSS_RACK: names, levels, dollars and owners of traffic by `KEPT`."""
    fleet = pricing.fleet
    row = columns_of(traffic, (*KEPT, "bytes"))
    sender, receiver = row["from_rack"], row["to_rack"]
    crossed = levels_of(fleet, sender, receiver)
    region = fleet.ancestors[sender, pricing.region - 1] if pricing.region else 0 * sender
    place = _price_places(pricing.prices, row["day"], row["kind"], crossed, region)
    dollars = _dollars(pricing.prices, place, crossed, row["bytes"])
    is_unknown = crossed == UNKNOWN
    quality = np.where((crossed == LOCAL) & (sender != receiver), ESTIMATED, row["quality"])
    price_rows = pa.array([each.row for each in pricing.prices], pa.string())
    columns = {
        "day": pa.array(row["day"].astype(np.int32)).cast(pa.date32()),
        "cluster": named(row["cluster"], fleet.clusters),
        "kind": _name_at(KINDS, row["kind"]),
        "topic": pc.fill_null(named(row["topic"], fleet.topics), UNKNOWN_TOPIC),
        "client_group": pc.fill_null(named(row["client"], fleet.clients), UNKNOWN_GROUP),
        "owner": pc.coalesce(
            named(row["topic"], pricing.topic_owners),
            named(row["client"], pricing.group_owners),
            pa.scalar(UNOWNED),
        ),
        "from_rack": pc.fill_null(named(sender, fleet.racks), UNKNOWN_RACK),
        "to_rack": pc.fill_null(named(receiver, fleet.racks), UNKNOWN_RACK),
        "level": crossed,
        "level_name": _name_at(("unknown", "local", *pricing.levels), crossed + 1),
        "bytes": row["bytes"],
        **{
            name: pc.if_else(pa.array(is_unknown), pa.scalar(None, USD_TYPE), dollars[name])
            for name in ("usd_out", "usd_in", "usd")
        },
        "usd_high": dollars["usd"],
        "price_row": price_rows.take(pa.array(place, mask=is_unknown | (place < 0))),
        "quality": _name_at(QUALITIES, quality),
    }
    schema = arrow_schema(CROSS_RACK)
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def levels_of(
    fleet: CodedFleet, sender: NDArray[np.int64], receiver: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The level at which two racks differ, by their codes; equal to `core.racks.crossing_level`."""
    a, b = fleet.ancestors[sender], fleet.ancestors[receiver]
    is_crossed = (a != 0) & (b != 0) & (a != b)
    first = np.where(is_crossed.any(axis=1), is_crossed.argmax(axis=1) + 1, LOCAL)
    return np.where((sender != 0) & (receiver != 0), first, UNKNOWN)


def _price_places(
    prices: Sequence[PriceRow],
    day: NDArray[np.int64],
    kind: NDArray[np.int64],
    crossed: NDArray[np.int64],
    region: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The place of the price of each row, -1 for none; shape (n,)."""
    known = np.array([each[:4] for each in prices], dtype=np.int64).reshape(-1, 4)
    asked = np.column_stack([day, kind, crossed, region])
    keys, codes = np.unique(np.concatenate([known, asked]), axis=0, return_inverse=True)
    codes = codes.ravel()
    place = np.full(len(keys), -1)
    place[codes[: len(known)]] = np.arange(len(known))
    return place[codes[len(known) :]]


def _dollars(
    prices: Sequence[PriceRow],
    place: NDArray[np.int64],
    crossed: NDArray[np.int64],
    bytes_: NDArray[np.int64],
) -> dict[str, pa.Array]:
    """What is paid for each row: 0 if the row is local, null if it has no price."""
    is_local = crossed == LOCAL
    is_priced = (place >= 0) & ~is_local
    rows = np.flatnonzero(is_priced)
    gb = np.array([each.gb_bytes for each in prices], dtype=np.int64)[place[rows]]
    amounts = {}
    for name, nanos in (
        ("usd_out", [each.nano_out for each in prices]),
        ("usd_in", [each.nano_in for each in prices]),
    ):
        amount = np.zeros(len(place), dtype=np.int64)
        amount[rows] = usd_nanos(bytes_[rows], np.array(nanos, dtype=np.int64)[place[rows]], gb)
        amounts[name] = amount
    amounts["usd"] = amounts["usd_out"] + amounts["usd_in"]
    check_amounts(amounts["usd"], bytes_)
    return {name: as_usd(amount, is_priced | is_local) for name, amount in amounts.items()}


def as_usd(nano: NDArray[np.int64], is_known: NDArray[np.bool_]) -> pa.Array:
    """Nano-dollars as `schemas.USD`; null where not known."""
    # The digits of nano-dollars are those of dollars with nine decimals: the low longs of 128 bits.
    words = np.column_stack([nano, nano >> 63])
    valid = pa.array(is_known).buffers()[1] if len(nano) else None
    return pa.Array.from_buffers(USD_TYPE, len(nano), [valid, pa.py_buffer(words)])


def _name_at(names: Sequence[str], index: NDArray[np.int64]) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(index))


def _owned(names: Sequence[str], owners: Mapping[str, str]) -> pa.Array:
    return pa.array([owners.get(name) for name in names], pa.string())


def _regions(fleet: Fleet, depth: int) -> list[tuple[int, str | None]]:
    """The code and the name of each region at that depth of the racks.

    Code 0 has no name: it is the region of senders whose rack is unknown or has no region.
    """
    regions: list[tuple[int, str | None]] = [(0, None)]
    if depth:
        regions += [
            (code, rack.levels[-1])
            for path, code in fleet.codes.racks.items()
            if len((rack := Rack(path)).levels) == depth
        ]
    return regions


def _levels_crossed(fleet: Fleet, levels: Sequence[str]) -> Sequence[str]:
    """The names of the levels at which racks of the run differ; all levels if none do."""
    numbers = levels_crossed(map(Rack, fleet.codes.racks))
    return [levels[number - 1] for number in numbers if number <= len(levels)] or levels


def _price_rows(
    regions: Sequence[tuple[int, str | None]],
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    days: Sequence[date],
) -> list[PriceRow]:
    """A row for every day, kind, level and region that has a price.

    Prices for any region apply to code 0.
    """
    rows = []
    for day in sorted(days):
        for kind, kind_name in enumerate(KINDS):
            for number, level_name in enumerate(levels, start=1):
                for code, name in regions:
                    choice = price_of(
                        prices, region=name, level=level_name, kind=kind_name, day=day
                    )
                    if choice is not None:
                        rows.append(_price_row((day_number(day), kind, number, code), choice.price))
    return rows


def _highest_rows(
    regions: Sequence[tuple[int, str | None]],
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    days: Sequence[date],
) -> list[PriceRow]:
    """A row with the highest price for every day, kind and region, for bytes of an unknown rack.

    A sender of code 0 may be in any region.
    """
    known = [name for _, name in regions if name is not None]
    rows = []
    for day in sorted(days):
        for kind, kind_name in enumerate(KINDS):
            for code, name in regions:
                price = highest_price(
                    prices,
                    regions=[name] if code or not known else known,
                    levels=levels,
                    kind=kind_name,
                    day=day,
                )
                if price is not None:
                    rows.append(_price_row((day_number(day), kind, UNKNOWN, code), price))
    return rows


def _price_row(key: tuple[int, int, int, int], price: Price) -> PriceRow:
    out, in_ = price.nano_usd_per_gb_out, price.nano_usd_per_gb_in
    return PriceRow(*key, out, in_, price.gb_bytes, price.row)
