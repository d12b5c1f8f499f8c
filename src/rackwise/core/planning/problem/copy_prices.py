"""The cost of a new replica of each partition in each rack.

A new replica copies the whole partition from its leader. Its cost depends on the minimised
quantity, and otherwise only on the partition and the finest rack of the broker:

```
moves    1
bytes    size of the partition
usd      price of the size out of the leader's rack and into the broker's, each rounded
         0 inside one rack
```

The price is the row of the level at which the two racks part, in the region of the leader's rack.
If a partition has no leader, the first live in-sync replica counts as the leader. If there is none,
nothing can be copied and nothing is charged.

Limits: this module does not choose between price rows (`core.traffic` does), or add up a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidPrices, InvalidSnapshot
from rackwise.core.text import counted, escaped
from rackwise.core.traffic import REGION, price_of, usd_nano

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.model import Minimise
    from rackwise.core.traffic import Price
    from rackwise.core.view import View

KIND = "replicate"
"""The kind of traffic whose price applies to copies."""
_SAFE = 2**61
"""Products below it stay inside int64 when two of them are added."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CopyPrices:
    """Nano-dollars per `gb` bytes between finest racks, int64 [from, to]; 0 inside one rack."""

    out: NDArray[np.int64]
    """Price of leaving the first rack for the second."""
    into: NDArray[np.int64]
    """Price of entering the second rack from the first."""
    gb: NDArray[np.int64]
    """Bytes to which the prices refer."""

    @classmethod
    def of(cls, view: View, prices: Sequence[Price], day: date) -> CopyPrices:
        """From price rows of one provider.

        Raises `InvalidPrices` if a level that copies cross has no price, or two.
        """
        tree = view.tree
        leaves = len(tree.names[-1])
        out, into = np.zeros((2, leaves, leaves), dtype=np.int64)
        gb = np.ones((leaves, leaves), dtype=np.int64)
        is_priced = np.zeros((leaves, leaves), dtype=np.bool_)
        names, regions = _regions(view)
        for level, level_name in enumerate(view.levels):
            up = tree.ancestors(tree.depth - 1, level)
            differs = (up[:, None] != up[None, :]) & ~is_priced
            is_priced |= differs
            for region in np.unique(regions[differs.any(axis=1)]).tolist():
                price = _price(prices, names[region], level_name, day)
                chosen = differs & (regions == region)[:, None]
                out[chosen] = price.nano_usd_per_gb_out
                into[chosen] = price.nano_usd_per_gb_in
                gb[chosen] = price.gb_bytes
        return cls(out=out, into=into, gb=gb)

    def nano(
        self, sizes: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Nano-dollars of copying `sizes` bytes; `source`, `target`: finest racks, -1 = free."""
        gb = self.gb[source, target]
        return np.where(
            (source < 0) | (target < 0),
            0,
            _usd_nano(sizes, self.out[source, target], gb)
            + _usd_nano(sizes, self.into[source, target], gb),
        )


def _regions(view: View) -> tuple[Sequence[str | None], NDArray[np.int64]]:
    """The names of the regions and the region of each finest rack; one unnamed region if none."""
    tree = view.tree
    if REGION not in view.levels:
        return (None,), np.zeros(len(tree.names[-1]), dtype=np.int64)
    level = view.levels.index(REGION)
    names = [name.rpartition("/")[2] for name in tree.names[level]]
    return names, tree.ancestors(tree.depth - 1, level)


def _price(prices: Sequence[Price], region: str | None, level: str, day: date) -> Price:
    choice = price_of(prices, region=region, level=level, kind=KIND, day=day)
    if choice is None:
        provider = escaped(prices[0].provider) if prices else "no provider"
        raise InvalidPrices(
            f"expected a price of replication across level {escaped(level)}, "
            f"got no such row of {provider}",
            wanted=level,
            had="no row",
            hint="add a row to the table of --prices, name the levels in the policy as the table "
            "does (racks.levels), or minimise moves without --provider",
        )
    return choice.price


def _usd_nano(
    sizes: NDArray[np.int64], price: NDArray[np.int64], gb: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`traffic.usd_nano` for columns."""
    if int(price.max(initial=0)) * int(gb.max(initial=1)) * 2 < _SAFE:
        whole, rest = sizes // gb, sizes % gb
        return whole * price + (2 * rest * price + gb) // (2 * gb)
    rows = zip(sizes.tolist(), price.tolist(), gb.tolist(), strict=True)
    return np.array([usd_nano(*row) for row in rows], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CopyCosts:
    """The cost of a new replica of each partition in each finest rack."""

    minimise: Minimise
    size: NDArray[np.int64]
    """Bytes of each partition, or 1, int64 [partitions]."""
    source: NDArray[np.int64]
    """Finest rack to copy from, int64 [partitions], -1 = none."""
    leaves: int
    """Number of finest racks."""
    prices: CopyPrices | None = None
    """Prices if dollars are minimised."""

    @classmethod
    def of(cls, view: View, minimise: Minimise, prices: Sequence[Price], leaves: int) -> CopyCosts:
        """Raises `InvalidSnapshot` if sizes are needed and unknown, `InvalidPrices`."""
        rows = len(view.table)
        if minimise == "moves":
            none = np.full(rows, -1, dtype=np.int64)
            return cls(
                minimise=minimise, size=np.ones(rows, dtype=np.int64), source=none, leaves=leaves
            )
        _check_sizes(view, minimise)
        table = None
        if minimise == "usd":
            table = CopyPrices.of(view, prices, date.fromisoformat(view.cluster.taken_at[:10]))
        return cls(
            minimise=minimise,
            size=view.table.bytes,
            source=sources(view),
            leaves=leaves,
            prices=table,
        )

    def at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a new replica of each row in the rack that is aligned with it."""
        if self.prices is None:
            return self.size[rows]
        return self.prices.nano(self.size[rows], self.source[rows], leaves)


def _check_sizes(view: View, minimise: Minimise) -> None:
    unknown = int((view.table.bytes < 0).sum())
    if unknown:
        raise InvalidSnapshot(
            f"expected the size of every partition to minimise {minimise}, "
            f"got no size of {unknown} of {counted(len(view.table), 'partition')}",
            wanted=len(view.table),
            had=len(view.table) - unknown,
            hint="plan with --minimise moves, or take the snapshot again when every broker answers",
        )


def sources(view: View) -> NDArray[np.int64]:
    """The finest rack from which a new replica of each partition is copied, int64, -1 = unknown.

    It is that of the leader; without one, of the first live in-sync replica in list order.
    """
    leaf = view.tree.nodes[-1].astype(np.int64)
    found: NDArray[np.int64] = leaf[view.tree.places(view.table.leader)]
    missing = np.flatnonzero(view.table.leader < 0)
    live = dict(zip(view.tree.brokers.tolist(), view.live.tolist(), strict=False))
    for row in missing.tolist():
        in_sync = set(view.table.isr.row(row))
        heirs = (b for b in view.table.replicas.row(row) if b in in_sync and live.get(b, False))
        heir = next(heirs, None)
        if heir is not None:
            found[row] = leaf[view.tree.places(np.array([heir], dtype=np.int32))[0]]
    return found
