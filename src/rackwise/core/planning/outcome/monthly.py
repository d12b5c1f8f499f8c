"""What a plan does to the monthly bill: replication, and the reads of consumers.

Replication. The change is what followers copy from leaders in other racks after the plan, less what
they copy before, in 30 days (`dollars` has both states). Only partitions whose list changes can
change it, so only their rates have to be known:

```
t-0   1/a 2/b 9 (dead)   ->  1/a 2/b 3/c     rate 1 MB/s     one copy more: +51.84 dollars
t-1   1/a 2/b            ->  1/a 5/b         rate unknown    as many copies for the same price: 0
t-2   1/a 4/a            ->  1/a 5/b         rate unknown    not known, and so is the sum
```

Reads. The change is 0, or not known from one snapshot (`reads`).

Unknown values stay unknown: a sum with an unknown part is None, with a reason that names the
partitions and the cure. It is never 0.

Limits: this module does not choose lists, and does not price copies of the moves (`dollars` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import PriceCapRefused
from rackwise.core.planning.model import MonthlyChange
from rackwise.core.planning.outcome.changed import ChangedRows, unknown_reasons
from rackwise.core.planning.outcome.dollars import (
    DAY_S,
    Links,
    follower_links,
    nano_per_day,
)
from rackwise.core.planning.outcome.move_columns import lists_in, names_in, numbers_in
from rackwise.core.planning.outcome.reads import read_change
from rackwise.core.traffic import MONTH_S, exact_dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Move, Totals
    from rackwise.core.planning.problem.copy_prices import CopyPrices
    from rackwise.core.view import View

MONTH_DAYS = MONTH_S // DAY_S
"""Days of a month."""
NO_PRICES = "the plan has no prices; plan again with --provider"
MEASURE = "take the snapshot with rackwise snapshot --measure 60s, and plan again"


def check_price_cap(totals: Totals, cap_nano: int) -> None:
    """Raise `PriceCapRefused` unless replication is known to cost at most the cap more per month.

    `totals`: of a plan with prices. A plan that moves nothing changes nothing.
    """
    monthly = totals.monthly
    change = None if monthly is None else monthly.replication_usd_nano
    cap = exact_dollars(cap_nano)
    if change is None:
        reason = None if monthly is None else monthly.replication_reason
        raise PriceCapRefused(
            f"expected a plan that adds at most {cap} per {MONTH_DAYS} days to replication, "
            f"got a plan whose change is not known: {reason or 'it has none'}",
            wanted=cap_nano,
            hint=MEASURE,
        )
    if change > cap_nano:
        raise PriceCapRefused(
            f"expected a plan that adds at most {cap} per {MONTH_DAYS} days to replication, "
            f"got a plan that adds {exact_dollars(change)}, "
            f"{exact_dollars(change - cap_nano)} above the cap",
            wanted=cap_nano,
            had=change,
            hint="raise --price-cap, or relax the rule that requires the replicas",
        )


def lists_after(view: View, moves: Sequence[Move]) -> Ragged:
    """The replica lists of all partitions after the moves of a plan: broker ids.

    `moves`: of a plan for the cluster of `view`, so its table has each of their partitions, and no
    partition has two moves. This is not checked; moves of a plan file may break it.
    """
    table = view.table
    codes = {name: code for code, name in enumerate(table.topics)}
    names, topic = names_in(moves, "topic")
    code = np.array([codes[name] for name in names], dtype=np.int64)[topic]
    # One key for topic and partition: the table is sorted by both.
    width = int(table.partition.max(initial=0)) + 1
    keys = table.topic.astype(np.int64) * width + table.partition
    rows = np.searchsorted(keys, code * width + numbers_in(moves, "partition"))
    return view.placed.replaced(rows, lists_in(moves, "after"))


def monthly_change(view: View, lists: Ragged, prices: CopyPrices | None) -> MonthlyChange:
    """The change from the placed lists to `lists`, which holds broker ids of every row."""
    changed = ChangedRows.of(view, lists)
    links = tuple(
        follower_links(view, some, leaders)
        for some, leaders in zip((changed.before, changed.after), changed.leaders, strict=True)
    )
    rates = view.table.bytes_in_per_s[changed.rows]
    no_rack = np.zeros(len(rates), dtype=np.bool_)
    for some in links:
        no_rack[some.rows[~some.has_racks]] = True
    no_rack &= rates != 0
    no_rate = (rates < 0) & ~no_rack & ~_copies_the_same(links, len(rates), prices)
    is_known = ~no_rack & ~no_rate
    reads = read_change(view, changed)
    reasons = [
        *unknown_reasons(view, changed.rows[no_rate], "the rate of {} is not known", MEASURE),
        *unknown_reasons(
            view,
            changed.rows[no_rack],
            "a rack of {} is not known",
            "set broker.rack on every broker",
        ),
    ]
    priced = [NO_PRICES] if prices is None else []
    sums = [_sums(some, np.where(is_known, rates, 0), prices) for some in links]
    (cross_before, nano_before), (cross_after, nano_after) = sums
    return MonthlyChange(
        replication_cross_bytes=None if reasons else (cross_after - cross_before) * MONTH_S,
        replication_usd_nano=None if reasons or priced else (nano_after - nano_before) * MONTH_DAYS,
        replication_reason="; ".join([*reasons, *priced]) or None,
        unknown_rates=int((~is_known).sum()),
        reads_usd_nano=reads.usd_nano,
        reads_reason=reads.reason,
    )


def _copies_the_same(
    links: tuple[Links, ...], rows: int, prices: CopyPrices | None
) -> NDArray[np.bool_]:
    """Rows whose followers copy over as many links of each price before and after: bool [rows]."""
    crossing = [some.take(some.has_racks & (some.source != some.target)) for some in links]
    codes = _price_codes(crossing, prices)
    kinds = int(codes.max(initial=0)) + 1
    cells = np.concatenate([some.rows for some in crossing]) * kinds + codes
    before, after = np.split(cells, [len(crossing[0].rows)])
    counts = [np.bincount(side, minlength=rows * kinds) for side in (before, after)]
    same: NDArray[np.bool_] = (counts[0] == counts[1]).reshape(rows, kinds).all(axis=1)
    return same


def _price_codes(links: list[Links], prices: CopyPrices | None) -> NDArray[np.int64]:
    """A code for the price of each link, those of the first side before those of the second."""
    source = np.concatenate([some.source for some in links])
    target = np.concatenate([some.target for some in links])
    if prices is None:
        return np.zeros(len(source), dtype=np.int64)
    terms = [column[source, target] for column in (prices.out, prices.into, prices.gb)]
    codes: NDArray[np.int64] = np.unique(np.stack(terms), axis=1, return_inverse=True)[1]
    return codes.reshape(-1)


def _sums(links: Links, rates: NDArray[np.int64], prices: CopyPrices | None) -> tuple[int, int]:
    """Bytes per second that cross racks, and nano-dollars per day; `rates`: of each row."""
    some = links.take(links.has_racks & (links.source != links.target))
    per_s = rates[some.rows]
    nano = 0 if prices is None else nano_per_day(prices, some, per_s)
    return sum(per_s.tolist()), nano
