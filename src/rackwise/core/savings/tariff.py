"""What traffic costs, by the rule of the bill, to the nano-dollar.

Bytes are added up to the rows of the bill (day, kind, topic, client group, quality, both racks)
before they are priced, so that today's traffic costs exactly what the bill says.

Columns. `RatesOfRoutes` gives each route a rate, which is a number. Each different route is looked
up once, and the bytes of all rows are priced at once:

```
day 1  fetch  a -> a    rate 0   free
day 1  fetch  a -> b    rate 2   the first price that was found
day 2  fetch  a -> /us  rate 1   no price
```

A price per GB is applied to whole GB and to the rest, so that no product is larger than needed:
with `bytes = q * gb + r`, `usd_nano(bytes)` is `q * price + usd_nano(r)`.

What this does not do: guess a price. Bytes without a price in the table are counted separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rackwise.core.racks import Rack, crossing_level, levels_crossed
from rackwise.core.savings.model import PRODUCE
from rackwise.core.savings.traffic.columns import packed, run_starts, run_sums
from rackwise.core.traffic import REGION, highest_price, price_of, usd_nano

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes, Exact
    from rackwise.core.traffic import Price

    Route: TypeAlias = tuple[date, str, str | None, str | None]
    """Day, kind, rack of the sender, rack of the receiver."""

FREE: Final = 0
"""The rate of bytes that do not cross racks."""
UNPRICED: Final = 1
"""The rate of bytes that cross racks and have no price."""


class CrossingCost(NamedTuple):
    """What crossing costs."""

    cross: int = 0
    """Bytes that cross racks."""
    unpriced: int = 0
    """Bytes of these that have no price."""
    nano: int = 0
    """Nano-dollars of the bytes that have a price."""

    def plus(self, other: CrossingCost) -> CrossingCost:
        """The sum of this cost and another one."""
        return CrossingCost(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: CrossingCost) -> CrossingCost:
        """The difference of this cost and another one."""
        return CrossingCost(*(a - b for a, b in zip(self, other, strict=True)))


NO_COST: Final = CrossingCost()


class Tariff:
    """Prices by day, kind and racks."""

    def __init__(
        self, prices: Sequence[Price], levels: Sequence[str], racks: Iterable[str | None] = ()
    ) -> None:
        """`prices`: rows of one provider. `levels`: names of the levels, coarsest first.

        `racks`: the racks that an end with an unknown rack may be in.
        """
        self._prices = prices
        self._levels = levels
        self._region = levels.index(REGION) if REGION in levels else None
        known = [Rack(rack) for rack in racks if rack is not None]
        self._regions = sorted({self._region_of(rack) for rack in known}, key=str) or [None]
        numbers = levels_crossed(known)
        crossed = [levels[number - 1] for number in numbers if number <= len(levels)]
        self._crossed = crossed or levels

    def cost(self, route: Route, bytes_: int) -> CrossingCost:
        """The cost of bytes on a route. Raises `InvalidPrices`."""
        level, price = self.level_and_price(route)
        if level <= 0:
            return CrossingCost()
        if price is None:
            return CrossingCost(cross=bytes_, unpriced=bytes_)
        return CrossingCost(cross=bytes_, nano=_nano(bytes_, price))

    def highest_price(self, route: Route) -> Price | None:
        """The highest price on a route with an unknown rack. Raises `InvalidPrices`."""
        day, kind, sender, _ = route
        return highest_price(
            self._prices,
            regions=self._regions if sender is None else [self._region_of(Rack(sender))],
            levels=self._crossed,
            kind=kind,
            day=day,
        )

    def level_and_price(self, route: Route) -> tuple[int, Price | None]:
        """The level that a route crosses, and its price. Raises `InvalidPrices`."""
        day, kind, sender, receiver = route
        a, b = (None if rack is None else Rack(rack) for rack in (sender, receiver))
        level = crossing_level(a, b)
        if level <= 0 or a is None:
            return level, None
        name = self._levels[level - 1]
        choice = price_of(self._prices, region=self._region_of(a), level=name, kind=kind, day=day)
        return level, None if choice is None else choice.price

    def _region_of(self, rack: Rack) -> str | None:
        """The region of a rack; None where no level is called `region`, or the path is shorter."""
        if self._region is None or self._region >= len(rack.levels):
            return None
        return rack.levels[self._region]


def _nano(bytes_: int, price: Price) -> int:
    rates = (price.nano_usd_per_gb_out, price.nano_usd_per_gb_in)
    return sum(usd_nano(bytes_, rate, price.gb_bytes) for rate in rates)


class Costs(NamedTuple):
    """The costs of many bytes; columns of one length, with the fields of `CrossingCost`."""

    cross: Exact
    unpriced: Exact
    nano: Exact

    @classmethod
    def zero(cls, rows: int, dtype: type) -> Costs:
        """Nothing for each row."""
        return cls(*(np.zeros(rows, dtype=dtype) for _ in cls._fields))

    def minus(self, other: Costs) -> Costs:
        """The difference, row by row."""
        return Costs(*(a - b for a, b in zip(self, other, strict=True)))

    def joined(self, other: Costs, join: Callable[[Exact, Exact], Exact]) -> Costs:
        """Both, row by row: `np.minimum`, `np.maximum`."""
        return Costs(*(join(a, b) for a, b in zip(self, other, strict=True)))

    def where(self, chosen: NDArray[np.bool_], other: Costs) -> Costs:
        """The costs of the rows that `chosen` marks, and the other costs of all others."""
        return Costs(*(np.where(chosen, a, b) for a, b in zip(self, other, strict=True)))

    def rows(self, rows: Codes | NDArray[np.bool_]) -> Costs:
        """The costs of some rows."""
        return Costs(*(column[rows] for column in self))

    def add_at(self, rows: Codes, more: Costs) -> None:
        """Add costs to some rows, in place; a row may stand in `rows` several times."""
        for column, values in zip(self, more, strict=True):
            np.add.at(column, rows, values)

    def most_at(self, rows: Codes, costs: Sequence[Costs]) -> None:
        """Raise some rows to the costs given, in place; `rows`: of all of these costs."""
        for column, *values in zip(self, *costs, strict=True):
            np.maximum.at(column, rows, np.concatenate(values))

    def by(self, unit: Codes, units: int) -> Costs:
        """The sums of the rows of each unit."""
        sums = Costs.zero(units, self.cross.dtype.type)
        sums.add_at(unit, self)
        return sums

    def any(self) -> NDArray[np.bool_]:
        """Whether a row is not 0."""
        found: NDArray[np.bool_] = (self.cross != 0) | (self.unpriced != 0) | (self.nano != 0)
        return found

    def one(self, row: int) -> CrossingCost:
        """The cost of one row."""
        return CrossingCost(*(int(column[row]) for column in self))

    def each(self) -> Iterator[CrossingCost]:
        """The cost of each row."""
        return map(CrossingCost, *(column.tolist() for column in self))

    @property
    def whole(self) -> CrossingCost:
        """The sum of all rows."""
        return CrossingCost(*(int(column.sum()) for column in self))


class RatesOfRoutes:
    """The rates of routes, and the costs of bytes at these rates."""

    def __init__(self, tariff: Tariff, names: TrafficNames, dtype: type) -> None:
        """`dtype`: of bytes and of costs."""
        self._tariff = tariff
        self._names = names
        self.dtype = dtype
        # rate -> nano-dollars per GB out and in, and bytes of a GB
        self._rates: dict[tuple[int, int, int], int] = {}
        # caches: code of a route -> its rate
        self._of: dict[int, int] = {}
        self._highest: dict[int, int] = {}

    def of(self, day: Codes, kind: int, sender: Codes, receiver: Codes) -> Codes:
        """The rates of routes; `FREE` if a rack is not known. Raises `InvalidPrices`."""
        return self._found(self._of, self._rate, day, kind, sender, receiver)

    def highest(self, day: Codes, kind: int, sender: Codes, receiver: Codes) -> Codes:
        """The highest rates that bytes of an unknown rack may have. Raises `InvalidPrices`."""
        return self._found(self._highest, self._highest_rate, day, kind, sender, receiver)

    def cost(self, rate: Codes, bytes_: Exact) -> Costs:
        """The cost of bytes at rates."""
        table: Exact = np.array([(0, 0, 1), (0, 0, 1), *self._rates], dtype=self.dtype)
        gb = table[rate, 2]
        whole, rest = bytes_ // gb, bytes_ % gb
        nano = sum(
            whole * price + (2 * rest * price + gb) // (2 * gb)
            for price in (table[rate, 0], table[rate, 1])
        )
        return Costs(np.where(rate == FREE, 0, bytes_), np.where(rate == UNPRICED, bytes_, 0), nano)

    @property
    def count(self) -> int:
        """More than any rate that was found so far."""
        return len(self._rates) + UNPRICED + 1

    def of_chunk(self, chunk: Chunk, lanes: Lanes) -> tuple[Codes, Costs]:
        """The lanes of the rows of the bill of a chunk, and their costs."""
        racks = len(self._names.racks) + 1
        lane = chunk.lane - chunk.lane[:1]
        code = packed((lane, chunk.near + 1, chunk.far + 1), (len(lanes.day), racks, racks))
        starts = run_starts(code)
        part = chunk.part(starts)._replace(bytes=run_sums(chunk.bytes, starts))
        rate = self.of(lanes.day[part.lane], part.kind, *self.ends(part))
        return part.lane, self.cost(rate, part.bytes)

    def ends(self, chunk: Chunk) -> tuple[Codes, Codes]:
        """The racks of the senders and of the receivers."""
        is_produced = self._names.kinds[chunk.kind] == PRODUCE
        return (chunk.far, chunk.near) if is_produced else (chunk.near, chunk.far)

    def _found(
        self,
        known: dict[int, int],
        find: Callable[[Route], int],
        day: Codes,
        kind: int,
        sender: Codes,
        receiver: Codes,
    ) -> Codes:
        names, racks = self._names, len(self._names.racks) + 1
        code = day.astype(np.int64) * len(names.kinds) + kind
        code = (code * racks + sender + 1) * racks + receiver + 1
        different, first, row = np.unique(code, return_index=True, return_inverse=True)
        rates = []
        for one, at in zip(different.tolist(), first.tolist(), strict=True):
            if one not in known:
                racks_of = (names.rack(int(end[at])) for end in (sender, receiver))
                known[one] = find((names.days[day[at]], names.kinds[kind], *racks_of))
            rates.append(known[one])
        return np.array(rates, dtype=np.int64)[row]

    def _rate(self, route: Route) -> int:
        level, price = self._tariff.level_and_price(route)
        return FREE if level <= 0 else self._number(price)

    def _highest_rate(self, route: Route) -> int:
        return self._number(self._tariff.highest_price(route))

    def _number(self, price: Price | None) -> int:
        if price is None:
            return UNPRICED
        key = (price.nano_usd_per_gb_out, price.nano_usd_per_gb_in, price.gb_bytes)
        return self._rates.setdefault(key, self.count)


ROWS = 2**40
"""More rows than fit into memory; the costs of each may be rounded up by two nano-dollars."""


def greatest_cost(prices: Sequence[Price], bytes_: int) -> int:
    """More than any sum or product in the costs of some bytes, however they are divided."""
    most = bytes_
    for price in prices:
        rate = max(price.nano_usd_per_gb_out, price.nano_usd_per_gb_in) + 1
        whole = 2 * rate * (bytes_ // price.gb_bytes + 1)
        most = max(most, whole + ROWS, 2 * price.gb_bytes * rate)
    return 2 * most
