"""What flows cost: the bill's own rule, to the nano-dollar.

Bytes are added up to the rows that the bill has (day, kind, topic, client group, quality, both
racks) before a price is put on them, so that today's flows cost what the bill says. A bill is made
once for a state, whatever it is added up by.

What this does not do: put a price where the table has none; such bytes are counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwise.core.racks import Rack, crossing_level
from rackwise.core.traffic import REGION, price_of, usd_nano

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from typing import TypeAlias

    from rackwise.core.savings.model import State
    from rackwise.core.traffic import Price

    Way: TypeAlias = tuple[date, str, str | None, str | None]
    Bill: TypeAlias = Mapping["Row", "Sum"]


Key = TypeVar("Key")


class Row(NamedTuple):
    """A row of the bill: all that a flow has but its bytes."""

    day: date
    kind: str
    topic: str
    client_group: str
    quality: str
    from_rack: str | None
    to_rack: str | None


class Sum(NamedTuple):
    """Bytes that cross racks, those of them without a price, and nano-dollars."""

    cross: int = 0
    unpriced: int = 0
    nano: int = 0

    def less(self, other: Sum) -> Sum:
        """What the other one is less than this one."""
        return Sum(*(a - b for a, b in zip(self, other, strict=True)))


class Tariff:
    """Prices by day, kind and racks, each looked up once. `prices`: rows of one provider."""

    def __init__(self, prices: Sequence[Price], levels: Sequence[str]) -> None:
        self._prices = prices
        self._levels = levels
        self._region = levels.index(REGION) if REGION in levels else None
        self._known: dict[Way, tuple[int, Price | None]] = {}

    def cost(self, way: Way, bytes_: int) -> Sum:
        """What bytes cost on a day, of a kind, from a rack to another. Raises `InvalidPrices`."""
        if way not in self._known:
            self._known[way] = self._found(way)
        level, price = self._known[way]
        if level <= 0:
            return Sum()
        if price is None:
            return Sum(cross=bytes_, unpriced=bytes_)
        sides = (price.nano_usd_per_gb_out, price.nano_usd_per_gb_in)
        nano = sum(usd_nano(bytes_, side, price.gb_bytes) for side in sides)
        return Sum(cross=bytes_, nano=nano)

    def bill(self, state: State) -> Bill:
        """What the bytes of a state cost, row by row."""
        rows = Counter[Row]()
        for place, bytes_ in state.items():
            rows[Row(*place[:5], *place.ends)] += bytes_
        return {
            row: self.cost((row.day, row.kind, row.from_rack, row.to_rack), bytes_)
            for row, bytes_ in rows.items()
        }

    def _found(self, way: Way) -> tuple[int, Price | None]:
        day, kind, sender, receiver = way
        a, b = (None if rack is None else Rack(rack) for rack in (sender, receiver))
        level = crossing_level(a, b)
        if level <= 0 or a is None:
            return level, None
        region = None
        if self._region is not None and self._region < len(a.levels):
            region = a.levels[self._region]
        name = self._levels[level - 1]
        choice = price_of(self._prices, region=region, level=name, kind=kind, day=day)
        return level, None if choice is None else choice.price


def sums(bill: Bill, by: Callable[[Row], Key]) -> dict[Key, Sum]:
    """A bill, added up by what `by` says of its rows."""
    found: defaultdict[Key, list[Sum]] = defaultdict(list)
    for row, cost in bill.items():
        found[by(row)].append(cost)
    return {key: total(costs) for key, costs in found.items()}


def total(costs: Iterable[Sum]) -> Sum:
    """All of them together."""
    return Sum(*map(sum, zip(*costs, strict=True)))
