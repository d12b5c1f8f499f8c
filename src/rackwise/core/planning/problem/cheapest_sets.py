"""The cheapest legal set of every partition, given a price of each broker.

Goals, in order: exact integers; a million partitions in a few passes over arrays; no solver.

Given prices of brokers (which may differ by topic), a set costs the prices of its brokers plus the
copy costs of those that do not hold the partition yet. Legal sets fill boxes: every rack, at every
level, takes between `low` and `high` replicas. The cheapest such set is built from below:

```
                        /e 1..2                    prices of brokers, copies included
             /e/a 0..1        /e/b 0..1            /e/a  3 5    /e/b  4 9
sorted       3                4                    the cheapest `high` of each rack
first low    -                -                    forced at any price
the rest     3                4                    offered upwards, cheapest first
/e           forced 3 (its low is 1), offers 4
```

A node forces what its low requires beyond that of its children, and offers what its high leaves. At
the root, low and high are the number of replicas. This is exact, because the offers of the children
rise in price. Pinned brokers come first in their rack, and are forced.

Under `at_least` the brokers of a set are chosen one by one: first the pins; then, for each level,
coarsest first, the cheapest broker of a rack that holds none, until enough racks hold one; then the
cheapest of all.

Limits: no sums over partitions, and no loads.

Source: legal sets are the bases of a matroid, for which the greedy choice is the cheapest (Edmonds,
"Matroids and the greedy algorithm", 1971).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.view import View, blocks, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass

NEVER = 2**57
"""The price of a broker that cannot be taken, above the price of any legal set.

Prices and costs are below 2^50, so a legal set of up to 64 brokers costs less.
"""

_CELLS = 1 << 21
"""Numbers in the widest array of one chunk of rows: 16 MiB of int64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BrokerPrices:
    """The price of each broker, which may differ between classes of partitions."""

    table: NDArray[np.int64]
    """Prices, int64 [classes, brokers]."""
    row_class: NDArray[np.int64]
    """Row of `table` for each partition, int64 [partitions]."""

    @classmethod
    def flat(cls, instance: Instance, prices: NDArray[np.int64] | None = None) -> BrokerPrices:
        """One price for each broker, whatever the topic; None is 0."""
        table = np.zeros((1, len(instance.brokers)), dtype=np.int64)
        if prices is not None:
            table[0] = prices
        return cls(table=table, row_class=np.zeros(len(instance), dtype=np.int64))

    @classmethod
    def by_topic(
        cls,
        instance: Instance,
        prices: NDArray[np.int64],
        topic_prices: Mapping[tuple[int, int], int],
    ) -> BrokerPrices:
        """One price for each broker, and what some topics add to it.

        `prices`: int64 [brokers]; `topic_prices`: (topic of the table, broker) -> price to add.
        """
        topics = sorted({topic for topic, _ in topic_prices})
        row_class = np.zeros(len(instance.view.table.topics) + 1, dtype=np.int64)
        row_class[topics] = 1 + np.arange(len(topics))
        table = np.repeat(prices[None, :], len(topics) + 1, axis=0)
        if topic_prices:
            cells = np.array(list(topic_prices), dtype=np.int64)
            table[row_class[cells[:, 0]], cells[:, 1]] += list(topic_prices.values())
        return cls(table=table, row_class=row_class[instance.topic])


class CheapestSets(NamedTuple):
    """The cheapest set of each partition and its value."""

    values: NDArray[np.int64]
    """Cost of each set with its prices, int64 [partitions]."""
    sets: Ragged
    """Brokers of each set, ascending; empty unless requested."""


def cheapest_sets(
    instance: Instance,
    offers: BrokerPrices,
    *,
    with_sets: bool = False,
    rows: NDArray[np.int64] | None = None,
) -> CheapestSets:
    """The cheapest legal set of each partition; ties go to held brokers, then to canonical order.

    `rows`: only these partitions, rising; the values of the others mean nothing. The value is
    `NEVER` or more if there is no legal set; its brokers then mean nothing. Prices and costs are
    below 2^50.
    """
    values = np.where(instance.replicas > 0, NEVER, 0)
    offsets = np.zeros(len(instance) + 1, dtype=np.int64)
    np.cumsum(instance.replicas, out=offsets[1:])
    chosen = np.zeros(offsets[-1] if with_sets else 0, dtype=np.int32)
    for chunk in _chunks(instance, offers, rows):
        solve = _cheapest_in_boxes if chunk.class_.has_boxes else _cheapest_at_least
        found = solve(chunk, with_sets=with_sets)
        values[chunk.rows] = found.forced
        if with_sets:
            ids = np.sort(found.forced_ids[:, : chunk.class_.replicas], axis=1)
            chosen[offsets[chunk.rows][:, None] + np.arange(ids.shape[1])] = ids
    values[instance.lost_pins] = NEVER
    frozen = np.flatnonzero(instance.is_frozen)
    values[frozen] = _held_values(instance, offers, frozen)
    if with_sets:
        held = instance.held.take(frozen)
        places = np.repeat(offsets[frozen] - held.offsets[:-1], held.lengths)
        chosen[places + np.arange(len(held.values))] = held.values
    return CheapestSets(values, Ragged(offsets, chosen) if with_sets else Ragged.empty(len(values)))


def _held_values(
    instance: Instance, offers: BrokerPrices, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The cost of what rows hold, int64 [rows]."""
    held = instance.held.take(rows)
    owners, brokers = rows[held.rows], held.values.astype(np.int64)
    prices = offers.table[offers.row_class[owners], brokers]
    return View.sums(held, prices + instance.held_cost_at(owners, instance.leaf[brokers]))


class _Chunk(NamedTuple):
    """Rows of one class, with equal numbers of holders and of pins in each rack."""

    instance: Instance
    offers: BrokerPrices
    class_: PartitionClass
    rows: NDArray[np.int64]
    own: NDArray[np.int64]
    """Brokers with their own price: holders of the row, then pins; int64 [rows, width], -1 = none.
    """
    own_price: NDArray[np.int64]
    """The price of each of `own`, int64 [rows, width]."""
    pinned: NDArray[np.bool_]
    """Whether each of `own` must be in the set, bool [rows, width]."""

    @property
    def classes(self) -> NDArray[np.int64]:
        """The row of the price table of each row, [rows, 1]."""
        return self.offers.row_class[self.rows][:, None]

    def copy_costs(self, leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a copy of each row to finest racks [rows, any]."""
        rows = np.repeat(self.rows, leaf.shape[1])
        return self.instance.cost_at(rows, leaf.ravel()).reshape(leaf.shape)


def _chunks(
    instance: Instance, offers: BrokerPrices, rows: NDArray[np.int64] | None
) -> Iterator[_Chunk]:
    active = np.flatnonzero(~instance.is_frozen)
    if rows is not None:
        active = rows[~instance.is_frozen[rows]]
    if not len(active):
        return
    codes, examples = distinct([instance.class_of[active], _pin_codes(instance, active)])
    for code, example in enumerate(active[examples].tolist()):
        class_ = instance.classes[int(instance.class_of[example])]
        if not class_.is_possible or not class_.replicas:
            continue
        width = sum(map(len, class_.low)) if class_.has_boxes else len(instance.brokers)
        of_code = active[codes == code]
        for same, (held, pins) in blocks(instance.held, instance.pins, rows=of_code):
            step = max(1, _CELLS // (width + held.shape[1] + 1))
            for at in range(0, len(same), step):
                part = slice(at, at + step)
                yield _chunk(instance, offers, class_, same[part], (held[part], pins[part]))


def _pin_codes(instance: Instance, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """A code for each row: equal for rows with pins in the same racks, 0 for rows without pins."""
    codes = np.zeros(len(rows), dtype=np.int64)
    known: dict[tuple[int, ...], int] = {(): 0}
    pins = instance.pins.take(rows)
    for at in np.flatnonzero(pins.lengths).tolist():
        racks = tuple(sorted(instance.leaf[list(pins.row(at))].tolist()))
        codes[at] = known.setdefault(racks, len(known))
    return codes


def _chunk(
    instance: Instance,
    offers: BrokerPrices,
    class_: PartitionClass,
    rows: NDArray[np.int64],
    index: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> _Chunk:
    held = instance.held.values[index[0]].astype(np.int64)
    pins = instance.pins.values[index[1]].astype(np.int64)
    held_prices = offers.table[offers.row_class[rows][:, None], held]
    if instance.kept is not None:
        wide = np.repeat(rows, held.shape[1])
        held_costs = instance.held_cost_at(wide, instance.leaf[held].ravel())
        held_prices = held_prices + held_costs.reshape(held.shape)
    same = held[:, :, None] == pins[:, None, :]
    chunk = _Chunk(instance, offers, class_, rows, held, held_prices, same.any(axis=2))
    if not pins.shape[1]:
        return chunk
    is_new = ~same.any(axis=1)
    price = offers.table[chunk.classes, pins] + chunk.copy_costs(instance.leaf[pins])
    price[~instance.is_open[pins]] = NEVER
    return chunk._replace(
        own=np.concatenate([held, np.where(is_new, pins, -1)], axis=1),
        own_price=np.concatenate([held_prices, np.where(is_new, price, NEVER)], axis=1),
        pinned=np.concatenate([chunk.pinned, is_new], axis=1),
    )


class _RackOffers(NamedTuple):
    """The prices of the brokers below a node, by row."""

    taken: int
    """The number of forced replicas."""
    forced: NDArray[np.int64]
    """Price of the forced replicas together, int64 [rows]."""
    forced_ids: NDArray[np.int64]
    """Their brokers, [rows, taken]; no columns unless requested."""
    offers: NDArray[np.int64]
    """Prices of further replicas, ascending, int64 [rows, more]."""
    ids: NDArray[np.int64]
    """The brokers of `offers`; no columns unless requested."""

    def force_and_limit(self, low: int, high: int) -> _RackOffers:
        """Force up to `low`, and offer no more than `high`; offers need not be sorted before."""
        more, most = max(0, low - self.taken), max(0, high - self.taken)
        if more > self.offers.shape[1]:
            return self._pad_offers(more - self.offers.shape[1]).force_and_limit(low, high)
        if most == 1 and self.offers.shape[1]:  # the first of the least, without sorting the others
            order = self.offers.argmin(axis=1, keepdims=True)
        else:
            order = np.argsort(self.offers, axis=1, kind="stable")[:, :most]
        offers = np.take_along_axis(self.offers, order, axis=1)
        ids = np.take_along_axis(self.ids, order, axis=1) if self.ids.shape[1] else self.ids
        return _RackOffers(
            taken=max(self.taken, low),
            forced=self.forced + offers[:, :more].sum(axis=1) + NEVER * (self.taken > high),
            forced_ids=np.concatenate([self.forced_ids, ids[:, :more]], axis=1),
            offers=offers[:, more:],
            ids=ids[:, more:],
        )

    def _pad_offers(self, columns: int) -> _RackOffers:
        """The same, padded with offers that no node can take."""
        wide = ((0, 0), (0, columns))
        return self._replace(
            offers=np.pad(self.offers, wide, constant_values=NEVER),
            ids=np.pad(self.ids, wide) if self.ids.shape[1] else self.ids,
        )


def _cheapest_in_boxes(chunk: _Chunk, *, with_sets: bool) -> _RackOffers:
    """The root of the tree of boxes: what it forces is the cheapest set."""
    class_, finest = chunk.class_, len(chunk.class_.up) - 1
    nodes = {
        leaf: _rack_offers(chunk, leaf, with_sets=with_sets)
        for leaf in range(len(class_.up[finest]))
        if class_.high[finest][leaf]
    }
    for level in range(finest - 1, -1, -1):
        above: dict[int, _RackOffers] = {}
        first_leaf = np.searchsorted(class_.up[level + 1], np.arange(len(class_.low[level + 1])))
        parents = class_.up[level][first_leaf]
        for parent in np.unique(parents).tolist():
            children = np.flatnonzero(parents == parent).tolist()
            below = [nodes[child] for child in children if child in nodes]
            if below and class_.high[level][parent]:
                box = int(class_.low[level][parent]), int(class_.high[level][parent])
                above[parent] = _join_offers(below).force_and_limit(*box)
        nodes = above
    return _join_offers(list(nodes.values())).force_and_limit(class_.replicas, class_.replicas)


def _join_offers(nodes: list[_RackOffers]) -> _RackOffers:
    return _RackOffers(
        taken=sum(node.taken for node in nodes),
        forced=np.sum([node.forced for node in nodes], axis=0),
        forced_ids=np.concatenate([node.forced_ids for node in nodes], axis=1),
        offers=np.concatenate([node.offers for node in nodes], axis=1),
        ids=np.concatenate([node.ids for node in nodes], axis=1),
    )


def _rack_offers(chunk: _Chunk, leaf: int, *, with_sets: bool) -> _RackOffers:
    """The brokers of one finest rack: pins are forced, the cheapest others offered."""
    class_, rows = chunk.class_, len(chunk.rows)
    no_ids = np.zeros((rows, 0), dtype=np.int64)
    low, high = int(class_.low[-1][leaf]), int(class_.high[-1][leaf])
    here = (chunk.own >= 0) & (chunk.instance.leaf[chunk.own] == leaf)
    pinned = here & chunk.pinned
    pins = int(pinned[0].sum())
    prices = np.where(here & ~pinned, chunk.own_price, NEVER)
    ids = chunk.own
    if pins < high:
        more, more_ids = _new_broker_offers(chunk, leaf, high)
        prices = np.concatenate([prices, more], axis=1)
        ids = np.concatenate([ids, more_ids], axis=1) if with_sets else ids
    forced_ids = no_ids
    if pins and with_sets:
        forced_ids = chunk.own[pinned].reshape(rows, pins)
    return _RackOffers(
        taken=pins,
        forced=np.where(pinned, chunk.own_price, 0).sum(axis=1),
        forced_ids=forced_ids,
        offers=prices,
        ids=ids if with_sets else no_ids,
    ).force_and_limit(low, high)


def _new_broker_offers(
    chunk: _Chunk, leaf: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cheapest brokers of a finest rack that hold nothing of the row: prices and brokers.

    If the rack takes one replica, holders need not be left out: their own replica costs less.
    """
    instance, table = chunk.instance, chunk.offers.table
    brokers = np.flatnonzero((instance.leaf == leaf) & instance.is_open)
    most = min(len(brokers), 1 if high == 1 else high + chunk.own.shape[1])
    order = np.argsort(table[:, brokers], axis=1, kind="stable")[:, :most]
    ids = brokers[order][chunk.offers.row_class[chunk.rows]]
    copy_costs = instance.cost_at(chunk.rows, np.full(len(chunk.rows), leaf))
    prices = table[chunk.classes, ids] + copy_costs[:, None]
    if high > 1:
        for column in range(chunk.own.shape[1]):
            prices[ids == chunk.own[:, column : column + 1]] = NEVER
    return prices, ids


def _cheapest_at_least(chunk: _Chunk, *, with_sets: bool) -> _RackOffers:
    """Sets under `at_least`, chosen one by one from all brokers."""
    instance, class_, rows = chunk.instance, chunk.class_, len(chunk.rows)
    brokers = np.arange(len(instance.brokers))
    table = chunk.offers.table[chunk.offers.row_class[chunk.rows]]
    prices = table + chunk.copy_costs(np.broadcast_to(instance.leaf, (rows, len(brokers))))
    prices[:, ~instance.is_open] = NEVER
    is_own = chunk.own >= 0
    # Held brokers need no copy: their own price replaces it. prices: int64 [rows, brokers].
    at, column = np.nonzero(is_own)
    prices[at, chunk.own[is_own]] = chunk.own_price[is_own]
    taken = np.zeros(prices.shape, dtype=np.bool_)
    at, column = np.nonzero(chunk.pinned)
    taken[at, chunk.own[at, column]] = True
    for level, wanted in enumerate(class_.at_least):
        nodes = class_.up[level][instance.leaf]
        # racks: whether each broker is below each node, bool [nodes, brokers].
        racks = nodes[None, :] == np.arange(len(class_.low[level]))[:, None]
        for _ in range(wanted):
            covered = taken @ racks.T  # whether the row has a replica there, bool [rows, nodes]
            short = np.flatnonzero(covered.sum(axis=1) < wanted)
            free = np.where(covered[short][:, nodes], NEVER * 2, prices[short])
            taken[short, free.argmin(axis=1)] = True
    for _ in range(class_.replicas):
        short = np.flatnonzero(taken.sum(axis=1) < class_.replicas)
        free = np.where(taken[short], NEVER * 2, prices[short])
        taken[short, free.argmin(axis=1)] = True
    forced = np.where(taken, prices, 0).sum(axis=1)
    forced += NEVER * (taken.sum(axis=1) > class_.replicas)
    ids = np.argsort(~taken, axis=1, kind="stable") if with_sets else taken[:, :0].astype(np.int64)
    return _RackOffers(class_.replicas, forced, ids, prices[:, :0], ids[:, :0])
