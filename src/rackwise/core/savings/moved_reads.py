"""The price of reads that a plan sends to other racks, from two snapshots.

Goals, in order: never state a change that is not known; add up as the bill does.

What each group read between the two snapshots (`core.meter`) goes on for 30 days, from the replica
that the owner of the partition reads before the plan, and after it:

```
orders-0    before 1/a 2/b    after 3/c 2/b    prices out and in: 0.01 + 0.01 per GB
group g, member in a, 1 MB/s     1/a -> a free     3/c -> a     2,592 GB    +51.84 dollars
group h, member in b, selector   2/b -> b free     2/b -> b free
```

Bytes are added up by route before they are priced. If the bytes, a rack or the price of one read is
not known, the sum is not known; the reason names the partitions and the cure.

Limits: consumers that commit nothing to Kafka are not seen. Groups stay where they are in the later
snapshot.

Source: KIP-392 (follower fetching).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.meter.places import LookPlaces, MeterCodes
from rackwise.core.meter.reads import reads
from rackwise.core.planning.outcome.changed import ChangedRows, unknown_reasons
from rackwise.core.planning.outcome.reads import (
    ReadChange,
    has_unread_configs,
    rows_read_elsewhere,
)
from rackwise.core.savings.tariff import Tariff
from rackwise.core.traffic import MONTH_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.meter.growth import Growth
    from rackwise.core.meter.looks import LookPair
    from rackwise.core.meter.places import RackOf
    from rackwise.core.model import Cluster, Ragged
    from rackwise.core.traffic import Price
    from rackwise.core.view import View

FETCH = "fetch"
"""The kind of traffic whose price applies to reads."""
SECOND_MS = 1000
GROUPS = "take two snapshots without --no-groups while the groups run"
RACKS = "set client.rack and broker.rack, or add --subnets FILE or --clients FILE"
CONFIGS = "grant Cluster:DescribeConfigs, so that rackwise snapshot reads the replica selector"
PRICES = "add rows of kind fetch to the table of --prices"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredReads:
    """The reads between two snapshots of the cluster of a plan, and their prices."""

    pair: LookPair
    """The plan was created from the second snapshot."""
    written: Growth
    """`growth(pair)`."""
    rack_of: RackOf
    """The rack of a member of a group."""
    prices: Sequence[Price]
    """Rows of one provider."""


def moved_reads(view: View, lists: Ragged, metered: MeteredReads) -> ReadChange:
    """The change of the price of reads from the placed lists to `lists`.

    `view`: of the second snapshot. `lists`: broker ids of every row.
    """
    changed = ChangedRows.of(view, lists)
    rows = rows_read_elsewhere(view, changed)
    if not len(rows):
        return ReadChange(0, None)
    if not metered.pair.second.groups:
        what = "the groups that read {} are not known"
        return ReadChange(None, unknown_reasons(view, rows, what, GROUPS)[0])
    moved = _moved(view, changed, rows, metered)
    reasons = _reasons(view, moved)
    if reasons:
        return ReadChange(None, "; ".join(reasons))
    return _priced(view, moved, metered)


class _Reads(NamedTuple):
    """What groups read of partitions whose readers may go elsewhere; one element per read."""

    row: NDArray[np.int64]
    """Row of the partition table."""
    bytes: NDArray[np.int64]
    """Not 0; -1 = not known."""
    ends: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    """Codes of racks: of the replica before and after, and of the reader; -1 = not known."""
    is_guess: NDArray[np.bool_]
    """Whether the replica depends on a configuration that was not read."""
    racks: tuple[str, ...]
    """Texts of racks by code."""


def _moved(
    view: View, changed: ChangedRows, rows: NDArray[np.int64], metered: MeteredReads
) -> _Reads:
    """The reads of `rows` without those that surely stay where they are."""
    pair = metered.pair
    read = reads(pair, metered.written)
    chosen = np.isin(read.row, rows) & (read.bytes != 0)
    row, bytes_ = read.row[chosen], read.bytes[chosen]
    codes = MeterCodes(pair)
    now = LookPlaces(pair, pair.second, metered.rack_of, codes)
    planned = replace(pair, second=_planned(pair.second, changed))
    then = LookPlaces(planned, planned.second, metered.rack_of, codes)
    _, reader, reported = now.owners(read.group[chosen], row)
    is_guess = (reported >= 0) & has_unread_configs(view)
    source, target = now.sources(row, reported), then.sources(row, reported)
    before, after = now.rack[source], then.rack[target]
    stays = (source == target) | ((before == after) & (before >= 0))
    some = is_guess | ~stays
    ends = before[some], after[some], reader[some]
    return _Reads(row[some], bytes_[some], ends, is_guess[some], codes.racks)


def _planned(cluster: Cluster, changed: ChangedRows) -> Cluster:
    """The cluster after the plan: the lists are placed and in sync, their first replicas lead."""
    table = cluster.partitions
    leader = table.leader.copy()
    leader[changed.rows] = changed.leaders[1]
    return replace(
        cluster,
        partitions=replace(
            table,
            leader=leader,
            replicas=table.replicas.replaced(changed.rows, changed.after),
            isr=table.isr.replaced(changed.rows, changed.after),
        ),
    )


def _reasons(view: View, moved: _Reads) -> list[str]:
    """Why the change is not known; empty if it is."""
    no_bytes = moved.bytes < 0
    no_rack = np.any([end < 0 for end in moved.ends], axis=0)
    causes = (
        (moved.is_guess, "the replicas that consumers of {} read are not known", CONFIGS),
        (no_bytes, "what groups read of {} is not known", GROUPS),
        (no_rack & ~no_bytes, "a rack of the reads of {} is not known", RACKS),
    )
    return [
        reason
        for chosen, what, cure in causes
        for reason in unknown_reasons(view, np.unique(moved.row[chosen]), what, cure)
    ]


def _priced(view: View, moved: _Reads, metered: MeteredReads) -> ReadChange:
    """The change of reads that are all known."""
    tariff = Tariff(metered.prices, view.levels)
    day = date.fromisoformat(view.cluster.taken_at[:10])
    month_ms, span_ms = MONTH_S * SECOND_MS, metered.pair.end_ms - metered.pair.start_ms
    before, after, reader = (end.tolist() for end in moved.ends)
    change = 0
    for sources, sign in ((before, -1), (after, 1)):
        routes = Counter[tuple[int, int]]()
        for source, target, bytes_ in zip(sources, reader, moved.bytes.tolist(), strict=True):
            routes[source, target] += bytes_
        for (source, target), bytes_ in routes.items():
            route = (day, FETCH, moved.racks[source], moved.racks[target])
            cost = tariff.cost(route, bytes_ * month_ms // span_ms)
            if cost.unpriced:
                return ReadChange(None, f"reads across racks have no price; {PRICES}")
            change += sign * cost.nano
    return ReadChange(change, None)
