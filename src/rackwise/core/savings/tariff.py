"""What traffic costs, by the rule of the bill, to the nano-dollar.

Bytes are added up to the rows of the bill (day, kind, topic, client group, quality, both racks)
before they are priced, so that today's traffic costs exactly what the bill says. The bill of some
traffic is computed once, however it is summed up afterwards.

What this does not do: guess a price. Bytes without a price in the table are counted separately.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwise.core.racks import Rack, crossing_level, levels_crossed
from rackwise.core.traffic import REGION, highest_price, price_of, usd_nano

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from typing import TypeAlias

    from rackwise.core.savings.model import RackTraffic
    from rackwise.core.traffic import Price

    Route: TypeAlias = tuple[date, str, str | None, str | None]
    """Day, kind, rack of the sender, rack of the receiver."""
    Bill: TypeAlias = Mapping["TariffRow", "CrossingCost"]


Key = TypeVar("Key")


class TariffRow(NamedTuple):
    """A row of the bill: every field of a flow except its bytes."""

    day: date
    kind: str
    topic: str
    client_group: str
    quality: str
    from_rack: str | None
    to_rack: str | None


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


class Tariff:
    """Prices by day, kind and racks; each is looked up once."""

    def __init__(
        self, prices: Sequence[Price], levels: Sequence[str], racks: Iterable[str | None] = ()
    ) -> None:
        """`prices`: rows of one provider. `levels`: names of the levels, coarsest first.

        `racks`: the racks that an end with an unknown rack may be in.
        """
        self._prices = prices
        self._levels = levels
        self._region = levels.index(REGION) if REGION in levels else None
        # a cache: route -> level that the route crosses, and its price
        self._known: dict[Route, tuple[int, Price | None]] = {}
        known = [Rack(rack) for rack in racks if rack is not None]
        self._regions = sorted({self._region_of(rack) for rack in known}, key=str) or [None]
        numbers = levels_crossed(known)
        crossed = [levels[number - 1] for number in numbers if number <= len(levels)]
        self._crossed = crossed or levels
        # a cache: route -> the highest price that the route may have
        self._highest: dict[Route, Price | None] = {}

    def cost(self, route: Route, bytes_: int) -> CrossingCost:
        """The cost of bytes on a route. Raises `InvalidPrices`."""
        if route not in self._known:
            self._known[route] = self._level_and_price(route)
        level, price = self._known[route]
        if level <= 0:
            return CrossingCost()
        if price is None:
            return CrossingCost(cross=bytes_, unpriced=bytes_)
        return CrossingCost(cross=bytes_, nano=_nano(bytes_, price))

    def highest_cost(self, route: Route, bytes_: int) -> CrossingCost:
        """The greatest cost of bytes on a route with an unknown rack. Raises `InvalidPrices`."""
        if route not in self._highest:
            day, kind, sender, _ = route
            self._highest[route] = highest_price(
                self._prices,
                regions=self._regions if sender is None else [self._region_of(Rack(sender))],
                levels=self._crossed,
                kind=kind,
                day=day,
            )
        price = self._highest[route]
        if price is None:
            return CrossingCost(cross=bytes_, unpriced=bytes_)
        return CrossingCost(cross=bytes_, nano=_nano(bytes_, price))

    def bill(self, traffic: RackTraffic) -> Bill:
        """The cost of some traffic, by bill row."""
        rows = Counter[TariffRow]()
        for key, bytes_ in traffic.items():
            rows[TariffRow(*key[:5], *key.ends)] += bytes_
        return {
            row: self.cost((row.day, row.kind, row.from_rack, row.to_rack), bytes_)
            for row, bytes_ in rows.items()
        }

    def _level_and_price(self, route: Route) -> tuple[int, Price | None]:
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


def costs_by(bill: Bill, by: Callable[[TariffRow], Key]) -> dict[Key, CrossingCost]:
    """The costs of a bill, summed up by a key of its rows."""
    found: defaultdict[Key, list[CrossingCost]] = defaultdict(list)
    for row, cost in bill.items():
        found[by(row)].append(cost)
    return {key: total_cost(costs) for key, costs in found.items()}


def total_cost(costs: Iterable[CrossingCost]) -> CrossingCost:
    """The sum of costs."""
    return CrossingCost(*map(sum, zip(*costs, strict=True)))
