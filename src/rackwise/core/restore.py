"""Computes what it costs to restore all replicas after the loss of a rack, and which groups stop.

Goals, in order: exact money by the same rule as the bill; an unknown size or price makes the sum
unknown, never smaller; a million partitions cost a few array passes per level.

Rules. All brokers of a rack die and come back empty in the same rack. Each replica that they held
is copied from the nearest source: among the live replicas in sync outside the lost rack, the one
that differs from it at the finest level, and of equals the first in list order. The price is that
of replication across that level on the given day, from the source's region. If no source is left,
nothing is copied: the data is lost, which the blast radius reports.

```
lose /eu/a            replicas        nearest source    differs at
orders-0   1 GiB      /eu/a /eu/b     /eu/b             zone       0.02 usd
orders-1   2 GiB      /eu/a /us/a     /us/a             region     0.10 usd
orders-2   4 GiB      /eu/a           none              -          nothing to copy from
```

A group is lost if all its members are in the rack. Paths shorter than the deepest one are padded
with their last segment, as in the audit.

What this does not do: say where replicas would go if the rack never came back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.racks import padded, prefix
from rackwise.core.traffic import REGION, price_of, usd_nano
from rackwise.core.view import View, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack
    from rackwise.core.traffic import Price

PART_ROWS = 1 << 17
"""Partitions whose copies are computed at a time; each takes some numbers for two replicas."""
KIND = "replicate"
"""The kind of traffic whose price applies to copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackRestore:
    """What must be copied after the loss of one rack, and which groups it stops."""

    rack: str
    level: int
    """From 1, the coarsest."""
    cross_bytes: int | None
    """Bytes copied from outside the rack; None if a size is not known."""
    usd_nano: int | None
    """Their price in nano-dollars; None if a size or a price is not known."""
    groups_lost: int
    """Groups whose members are all in the rack."""
    members_lost: int
    """Members of groups in the rack."""
    members: int
    """Members of all groups."""


def rack_restores(
    cluster: Cluster,
    policy: Policy = DEFAULT_POLICY,
    *,
    prices: Sequence[Price],
    day: date,
    rack_of: Callable[[Group, GroupMember], Rack | None],
) -> Mapping[str, RackRestore]:
    """Rack -> what its loss costs, for every rack with a broker, at every level.

    `prices`: rows of one provider; `rack_of`: the rack of a group's member. Raises `InvalidPrices`
    for ambiguous rows and for a day without a price, `InvalidRack` if `rack_of` gives a malformed
    rack.
    """
    view = View(cluster, policy)
    tariff = _ReplicationPrices(view, prices, day)
    racks = [
        [_ancestors(view, rack_of(group, m)) for m in group.members] for group in cluster.groups
    ]
    found: dict[str, RackRestore] = {}
    for level, names in enumerate(view.tree.names):
        crossing, nanos = _sums(view, level, tariff)
        for node, name in enumerate(names):
            is_in = [[rack[level : level + 1] == (name,) for rack in group] for group in racks]
            found[name] = RackRestore(
                rack=name,
                level=level + 1,
                cross_bytes=crossing[node],
                usd_nano=nanos[node],
                groups_lost=sum(1 for members in is_in if members and all(members)),
                members_lost=sum(map(sum, is_in)),
                members=sum(map(len, is_in)),
            )
    return found


def _ancestors(view: View, rack: Rack | None) -> tuple[str, ...]:
    """Names of a rack and its ancestors, coarsest first; empty if the rack is not known."""
    if rack is None:
        return ()
    levels = padded(rack.levels, view.tree.depth)
    return tuple(prefix(levels, depth, is_path=rack.is_path) for depth in range(1, len(levels) + 1))


class _ReplicationPrices:
    """The prices of replication on one day, each looked up once."""

    def __init__(self, view: View, prices: Sequence[Price], day: date) -> None:
        self._view = view
        self._prices = prices
        self._day = day
        self._found: dict[tuple[int, str | None], Price | None] = {}
        self._region = view.levels.index(REGION) if REGION in view.levels else None

    def regions(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Node of each place's region; 0 if no level is called `region`."""
        if self._region is None:
            return np.zeros(len(places), dtype=np.int64)
        nodes: NDArray[np.int64] = self._view.tree.nodes[self._region].astype(np.int64)
        return nodes[places]

    def of(self, level: int, region: int) -> Price | None:
        """The price across a level, from 1, out of a region's node; None if there is no price."""
        name = None
        if self._region is not None:
            name = self._view.tree.names[self._region][region].rpartition("/")[2]
        key = (level, name)
        if key not in self._found:
            choice = price_of(
                self._prices,
                region=name,
                level=self._view.levels[level - 1],
                kind=KIND,
                day=self._day,
            )
            self._found[key] = None if choice is None else choice.price
        return self._found[key]


class _Copies(NamedTuple):
    """Copies of lost replicas that have a source, as columns of equal length."""

    node: NDArray[np.int64]
    """The lost rack."""
    source: NDArray[np.int64]
    """Place of the broker to copy from."""
    level: NDArray[np.int64]
    """The first level, from 1, at which the source's rack differs from the lost one."""
    bytes: NDArray[np.int64]
    """-1 = not known."""


def _sums(
    view: View, level: int, tariff: _ReplicationPrices
) -> tuple[list[int | None], list[int | None]]:
    """Bytes and nano-dollars of the copies into each node of a level."""
    count = len(view.tree.names[level])
    crossing: list[int | None] = [0] * count
    nanos: list[int | None] = [0] * count
    for copies in _copies(view, level):
        keys = np.stack([copies.node, copies.level, tariff.regions(copies.source)], axis=1)
        cases, which = np.unique(keys, axis=0, return_inverse=True)
        for number, (node, level_crossed, region) in enumerate(cases.tolist()):
            sizes = copies.bytes[which.ravel() == number]
            price = tariff.of(level_crossed, region)
            is_known = bool((sizes >= 0).all())
            crossing[node] = _known_sum(crossing[node], sum(sizes.tolist()) if is_known else None)
            nano = None if price is None or not is_known else _nano(sizes, price)
            nanos[node] = _known_sum(nanos[node], nano)
    return crossing, nanos


def _known_sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _nano(sizes: NDArray[np.int64], price: Price) -> int:
    """Nano-dollars for replicas of these sizes; each replica is rounded alone, out and in."""
    distinct, counts = np.unique(sizes, return_counts=True)
    return sum(
        count
        * (
            usd_nano(size, price.nano_usd_per_gb_out, price.gb_bytes)
            + usd_nano(size, price.nano_usd_per_gb_in, price.gb_bytes)
        )
        for size, count in zip(distinct.tolist(), counts.tolist(), strict=True)
    )


def _copies(view: View, level: int) -> Iterator[_Copies]:
    """The copies after the death of each node of a level, for groups of equally long lists."""
    nodes = view.tree.nodes.astype(np.int64)
    everything = np.arange(len(view.table))
    for start in range(0, len(everything), PART_ROWS):
        part = everything[start : start + PART_ROWS]
        yield from _copies_of(view, nodes, level, part)


def _copies_of(
    view: View, nodes: NDArray[np.int64], level: int, part: NDArray[np.int64]
) -> Iterator[_Copies]:
    """The copies of some rows; `nodes`: of each level and place."""
    for rows, (placed, isr) in blocks(view.placed, view.table.isr, rows=part):
        places = view.placed_places[placed]
        ids, in_sync = view.placed.values[placed], view.table.isr.values[isr]
        is_source = view.live[places] & (ids[:, :, None] == in_sync[:, None, :]).any(axis=2)
        own = nodes[level][places]
        # differs: int64 [rows, lost replica, source]; 0 where the source cannot be copied from.
        is_outside = (own[:, :, None] != own[:, None, :]) & (own >= 0)[:, None, :]
        differs = np.where(is_outside & is_source[:, None, :], _difference_level(nodes, places), 0)
        if not differs.shape[1]:
            continue
        nearest = differs.argmax(axis=2)
        depth = np.take_along_axis(differs, nearest[:, :, None], axis=2)[:, :, 0]
        row, lost = np.nonzero((depth > 0) & (own >= 0))
        yield _Copies(
            own[row, lost],
            places[row, nearest[row, lost]],
            depth[row, lost],
            view.table.bytes[rows[row]],
        )


def _difference_level(nodes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """First level, from 1, at which two replicas of a row differ, int64 [rows, replicas, replicas].

    0 if they are in the same rack.
    """
    differs = np.zeros((*places.shape, places.shape[1]), dtype=np.int64)
    for level in range(len(nodes) - 1, -1, -1):
        own = nodes[level][places]
        differs = np.where(own[:, :, None] != own[:, None, :], level + 1, differs)
    return differs
