"""The price of the moves, and the daily price of replication before and after.

Once. A new replica copies its partition from the leader's rack, as `copying` prices it: out of the
leader's rack and into its own, each rounded, in whole nano-dollars; nothing inside one rack. A
partition's dollars are the sum over the brokers it gains, a plan's the sum over its partitions.

Day by day. Each follower copies what enters the partition from the leader, a day of it at a time:

```
in 1 MB/s, leader /a, followers /b /c        cross 2 MB/s
a day is 86.4 GB for each follower           2 * (0.864 out + 0.864 in) = 3.456 dollars
```

Before, the leader is the one now, and dead replicas copy nothing. After, a partition that moves is
led by the first of its list; one that does not is led as it is now. Without leader nothing is
copied.

What is not known stays so: a size, a rate or a rack that is missing makes dollars and bytes of its
partition unknown, counted and never 0.

What this does not do: know prices by heart, or guess rates.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.model import Steady
from rackwise.core.planning.problem.copy_prices import CopyPrices, sources
from rackwise.core.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.traffic import Price

DAY_S = 86_400
UNKNOWN = -1


class Copied(NamedTuple):
    """What each partition copies, int64 [rows]: from other racks, and its dollars; -1 = unknown."""

    cross_bytes: NDArray[np.int64]
    usd_nano: NDArray[np.int64]


def copy_prices(view: View, prices: Sequence[Price]) -> CopyPrices | None:
    """Prices between the racks of a cluster on the day it was looked at; None without any.

    `prices`: rows of one provider. Raises `InvalidPrices` where a level that copies cross has no
    price, or two.
    """
    if not prices:
        return None
    return CopyPrices.of(view, prices, date.fromisoformat(view.cluster.taken_at[:10]))


def copied(view: View, rows: NDArray[np.int64], added: Ragged, prices: CopyPrices | None) -> Copied:
    """What partitions cost that gain replicas: `added`, broker ids, for each of `rows`.

    Without prices all dollars are unknown, but for partitions that gain nothing.
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
    return Copied(
        _sums(added, cross, is_known),
        _sums(added, nano, is_known & (prices is not None)),
    )


def _sums(
    rows: Ragged, values: NDArray[np.int64], is_known: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Sum of each row, -1 where one of its values is not known."""
    return np.where(View.sums(rows, ~is_known) > 0, UNKNOWN, View.sums(rows, values))


def steady(
    view: View, lists: Ragged, leaders: NDArray[np.int64], prices: CopyPrices | None
) -> Steady:
    """What replication costs: `lists` of broker ids and the `leaders` of all partitions, -1 = none.

    Partitions of unknown rate, or with a rack that is not known, are counted and left out.
    """
    leaf = view.tree.nodes[-1].astype(np.int64)
    places = view.tree.places(lists.values)
    follows = (lists.values != leaders[lists.rows]) & (leaders >= 0)[lists.rows] & view.live[places]
    rows = lists.rows[follows]
    source = leaf[view.tree.places(leaders)][rows]
    target = leaf[places[follows]]
    rates = view.table.bytes_in_per_s[rows]
    is_vague = (rates < 0) | (source < 0) | (target < 0)
    vague = np.unique(rows[is_vague])
    crosses = ~np.isin(rows, vague) & (source != target)
    per_s, source, target = rates[crosses], source[crosses], target[crosses]
    nano = None
    if prices is not None:
        nano = sum(prices.nano(per_s * DAY_S, source, target).tolist())
    return Steady(
        cross_bytes_per_s=sum(per_s.tolist()), usd_nano_per_day=nano, unknown_rates=len(vague)
    )


def steady_states(view: View, lists: Ragged, prices: CopyPrices | None) -> tuple[Steady, Steady]:
    """Before and after; `lists`: broker ids of all partitions after, preferred leader first."""
    leader = view.table.leader.astype(np.int64)
    placed = view.placed
    is_same = placed.lengths == lists.lengths
    rows = np.flatnonzero(is_same)
    differ = placed.take(rows).values != lists.take(rows).values
    is_same[rows[np.unique(lists.take(rows).rows[differ])]] = False
    first = np.append(lists.values, UNKNOWN)[lists.offsets[:-1]].astype(np.int64)
    after = np.where(is_same, leader, np.where(lists.lengths > 0, first, UNKNOWN))
    return steady(view, placed, leader, prices), steady(view, lists, after, prices)
