"""The price of the moves, and the daily price of replication before and after.

The moves. A new replica copies its partition from the leader's rack. `CopyPrices` prices it: out of
the leader's rack and into its own, each rounded, in whole nano-dollars; nothing inside one rack.
The dollars of a partition are the sum over the brokers it gains, those of a plan the sum over its
partitions.

Each day. Each follower copies the incoming bytes of the partition from the leader:

```
in 1 MB/s, leader /a, followers /b /c        cross 2 MB/s
a day is 86.4 GB for each follower           2 * (0.864 out + 0.864 in) = 3.456 dollars
```

Before the plan, the leader is the present one, and dead replicas copy nothing. After it, a
partition that moves is led by the first of its list; another partition keeps its leader. Without a
leader nothing is copied.

Unknown values stay unknown: if a size, a rate or a rack is missing, the dollars and bytes of its
partition are unknown. They are counted and never 0.

Limits: no prices of its own, and no estimated rates.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.model import Steady
from rackwise.core.planning.problem.copy_prices import CopyPrices, sources
from rackwise.core.traffic import usd_nano
from rackwise.core.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.traffic import Price

DAY_S = 86_400
"""Seconds of a day."""
_SAFE_RATE = (2**63 - 1) // DAY_S
"""Up to this many bytes per second, the bytes of a day fit into int64."""
UNKNOWN = -1
"""In columns of bytes and nano-dollars: not known."""


class CopyTotals(NamedTuple):
    """What each partition copies from other racks, and its price."""

    cross_bytes: NDArray[np.int64]
    """Bytes copied from another rack, int64 [rows], -1 = unknown."""
    usd_nano: NDArray[np.int64]
    """Nano-dollars of the copies, int64 [rows], -1 = unknown."""


def copy_prices(view: View, prices: Sequence[Price]) -> CopyPrices | None:
    """Prices between the racks of a cluster on the day of its snapshot; None without `prices`.

    `prices`: rows of one provider. Raises `InvalidPrices` if a level that copies cross has no
    price, or two.
    """
    if not prices:
        return None
    return CopyPrices.of(view, prices, date.fromisoformat(view.cluster.taken_at[:10]))


def copy_totals(
    view: View, rows: NDArray[np.int64], added: Ragged, prices: CopyPrices | None
) -> CopyTotals:
    """The cost of partitions that gain replicas: `added`, broker ids, for each of `rows`.

    Without prices all dollars are unknown, except for partitions that gain nothing.
    """
    leaf = view.tree.nodes[-1].astype(np.int64)
    source = sources(view)[rows][added.rows]
    target = leaf[view.tree.places(added.values)]
    sizes = view.table.bytes[rows][added.rows]
    is_known = (sizes >= 0) & (source >= 0) & (target >= 0)
    cross = np.where(is_known & (source != target), sizes, 0)
    nano = np.zeros(len(cross), dtype=np.int64)
    if prices is not None:
        nano[is_known] = prices.nano(sizes[is_known], source[is_known], target[is_known])
    return CopyTotals(
        _row_sums(added, cross, is_known),
        _row_sums(added, nano, is_known & (prices is not None)),
    )


def _row_sums(
    rows: Ragged, values: NDArray[np.int64], is_known: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The sum of each row, -1 if one of its values is unknown."""
    return np.where(View.sums(rows, ~is_known) > 0, UNKNOWN, View.sums(rows, values))


class Links(NamedTuple):
    """What followers copy from leaders: one element for each live follower, all int64 [links]."""

    rows: NDArray[np.int64]
    """Row of the partition, an index into the lists."""
    source: NDArray[np.int64]
    """Finest rack of the leader, -1 = unknown."""
    target: NDArray[np.int64]
    """Finest rack of the follower, -1 = unknown."""

    def take(self, chosen: NDArray[np.bool_]) -> Links:
        """Some of the links; `chosen`: bool [links]."""
        return Links(self.rows[chosen], self.source[chosen], self.target[chosen])

    @property
    def has_racks(self) -> NDArray[np.bool_]:
        """Whether both racks of each link are known: bool [links]."""
        return (self.source >= 0) & (self.target >= 0)


def follower_links(view: View, lists: Ragged, leaders: NDArray[np.int64]) -> Links:
    """The links of lists of broker ids; `leaders`: broker id of each list, -1 = none."""
    leaf = view.tree.nodes[-1].astype(np.int64)
    places = view.tree.places(lists.values)
    follows = (lists.values != leaders[lists.rows]) & (leaders >= 0)[lists.rows] & view.live[places]
    rows = lists.rows[follows]
    return Links(rows, leaf[view.tree.places(leaders)][rows], leaf[places[follows]])


def nano_per_day(prices: CopyPrices, links: Links, per_s: NDArray[np.int64]) -> int:
    """Nano-dollars per day of links with known racks; `per_s`: bytes per second of each."""
    large = per_s > _SAFE_RATE
    some = links.take(~large)
    found: int = sum(prices.nano(per_s[~large] * DAY_S, some.source, some.target).tolist())
    for at in np.flatnonzero(large).tolist():
        pair = int(links.source[at]), int(links.target[at])
        day, gb = int(per_s[at]) * DAY_S, int(prices.gb[pair])
        found += usd_nano(day, int(prices.out[pair]), gb) + usd_nano(
            day, int(prices.into[pair]), gb
        )
    return found


def steady_cost(
    view: View, lists: Ragged, leaders: NDArray[np.int64], prices: CopyPrices | None
) -> Steady:
    """The cost of replication, from lists and leaders of all partitions.

    `lists`: broker ids; `leaders`: broker ids, -1 = none. Partitions with an unknown rate or rack
    are counted and left out.
    """
    links = follower_links(view, lists, leaders)
    rates = view.table.bytes_in_per_s[links.rows]
    is_unknown = np.zeros(len(lists), dtype=np.bool_)
    is_unknown[links.rows[(rates < 0) | ~links.has_racks]] = True
    crosses = ~is_unknown[links.rows] & (links.source != links.target)
    links, per_s = links.take(crosses), rates[crosses]
    return Steady(
        cross_bytes_per_s=sum(per_s.tolist()),
        usd_nano_per_day=None if prices is None else nano_per_day(prices, links, per_s),
        unknown_rates=int(is_unknown.sum()),
    )


def steady_states(view: View, lists: Ragged, prices: CopyPrices | None) -> tuple[Steady, Steady]:
    """The cost before and after the plan.

    `lists`: broker ids of all partitions after the plan, preferred leader first.
    """
    leader, after = leaders_of(view, lists)
    return steady_cost(view, view.placed, leader, prices), steady_cost(view, lists, after, prices)


def leaders_of(view: View, lists: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The leader of each partition before and after a plan: broker ids, -1 = none, int64 [rows]."""
    before = view.table.leader.astype(np.int64)
    is_same = view.placed.equal_rows(lists)
    first = np.append(lists.values, UNKNOWN)[lists.offsets[:-1]].astype(np.int64)
    after = np.where(is_same, before, np.where(lists.lengths > 0, first, UNKNOWN))
    return before, after
