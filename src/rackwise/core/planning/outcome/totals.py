"""The totals of a plan, and the number of partitions that any plan of its cost must change.

The moves that the rules alone force are those of the cheapest legal sets without regard to loads;
the other moves are required by balance. The number of changed partitions is no linear cost, so a
plan states a bound:

```
no cheapest set leaves it unchanged   under the certificate's prices     12 partitions
the moves that these 12 can take      at most, in their cheapest sets    14 of 20
6 moves are left, at most 3 each      ceil(6 / 3)                         2 partitions more
```

Limits: this module does not find a plan that changes so few.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.planning.model import Add, Drain, Replace, SetReplication, Totals
from rackwise.core.planning.outcome.dollars import copy_prices, copy_totals, steady_states
from rackwise.core.planning.outcome.monthly import monthly_change
from rackwise.core.planning.problem.cheapest_sets import BrokerPrices, cheapest_sets
from rackwise.core.planning.problem.copy_prices import CopyCosts
from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.view import View, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.outcome.moves import ListChanges
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.traffic import Price


def totals_of(
    instance: Instance,
    change: ListChanges,
    lists: Ragged,
    *,
    offers: BrokerPrices,
    sets: Ragged,
    prices: Sequence[Price],
    is_at_bound: bool,
) -> Totals:
    """Sums over the moves; `lists`: broker ids of every row after, `sets`: usable brokers.

    `offers`: the certificate's prices; `is_at_bound`: as in `fewest_touched`.
    """
    forced = forced_moves(instance)
    found = leader_totals(instance, change, lists, prices)
    return replace(
        found,
        goal_moves=_goal_moves(instance, change),
        repair_moves=forced,
        balance_moves=found.moves - forced,
        partitions_at_least=fewest_touched(instance, offers, sets, is_at_bound=is_at_bound),
    )


def leader_totals(
    instance: Instance, change: ListChanges, lists: Ragged, prices: Sequence[Price]
) -> Totals:
    """The sums that need no proof: all of them if the sets stay unchanged."""
    view = instance.view
    tariff = copy_prices(view, prices)
    copies = copy_totals(view, change.rows, change.added, tariff)
    counts = change.added.lengths
    sizes = view.table.bytes[change.rows]
    before, after = steady_states(view, lists, tariff)
    return Totals(
        moves=int(counts.sum()),
        partitions=int((~change.is_order).sum()),
        leader_changes=int((_first_brokers(change.before) != _first_brokers(change.after)).sum()),
        order_only=int(change.is_order.sum()),
        bytes=_exact_sum(sizes.clip(min=0) * counts),
        unknown_sizes=int(((sizes < 0) & (counts > 0)).sum()),
        cross_bytes=_exact_sum(copies.cross_bytes.clip(min=0)),
        usd_nano=None if tariff is None else _exact_sum(copies.usd_nano.clip(min=0)),
        steady_before=before,
        steady_after=after,
        monthly=monthly_change(view, lists, tariff),
    )


def _goal_moves(instance: Instance, change: ListChanges) -> int | None:
    """Replicas that are added for the goal itself; None if it names no brokers and no topics.

    A partition that the goal touches may add more than the goal asks for, to keep the rules.
    """
    goal, added = instance.goal, change.added.lengths
    if isinstance(goal, Add):
        return int(np.isin(change.added.values, [id_ for id_, _ in goal.brokers]).sum())
    if isinstance(goal, Drain | Replace):
        brokers = goal.brokers if isinstance(goal, Drain) else [old for old, _ in goal.pairs]
        leaving = View.sums(change.before, np.isin(change.before.values, brokers))
        return int(np.minimum(added, leaving).sum())
    if isinstance(goal, SetReplication):
        growth = (change.after.lengths - change.before.lengths).clip(min=0)
        return int(np.minimum(added, growth)[instance.is_touched[change.rows]].sum())
    return None


def _first_brokers(rows: Ragged) -> NDArray[np.int64]:
    found = np.append(rows.values, np.int32(-1))[rows.offsets[:-1]]
    return np.where(rows.lengths > 0, found, -1).astype(np.int64)


def _exact_sum(values: NDArray[np.int64]) -> int:
    return sum(values.tolist())


def forced_moves(instance: Instance) -> int:
    """The number of replicas that the rules alone force to be copied, whatever the loads."""
    moves = with_unit_costs(instance)
    alike, examples = _alike_rows(moves)
    values = cheapest_sets(moves, BrokerPrices.flat(moves), rows=examples).values
    return _exact_sum(values[examples] * alike)


def _alike_rows(instance: Instance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows have to copy as many replicas as an example, and the examples, ascending.

    Rows are alike if they are of one class, and hold as many replicas on open and on closed brokers
    of each finest rack. A row with pins is only like itself.
    """
    is_alone = instance.pins.lengths > 0
    counts, examples = [np.ones(int(is_alone.sum()), np.int64)], [np.flatnonzero(is_alone)]
    others = np.flatnonzero(~is_alone)
    for rows in parts(others, instance.leaves) if len(others) else ():
        held = instance.held.take(rows)
        is_closed = ~instance.is_open[held.values]
        tables = [held] if not is_closed.any() else [held.keep(~is_closed), held.keep(is_closed)]
        columns = [column for some in tables for column in instance.leaf_counts(some).T]
        frozen = instance.is_frozen[rows].astype(np.int64)
        code, first = distinct([instance.class_of[rows], frozen, *columns])
        counts.append(np.bincount(code))
        examples.append(rows[first])
    both = np.stack([np.concatenate(counts), np.concatenate(examples)])
    alike, rows = both[:, np.argsort(both[1])]
    return alike, rows


def with_unit_costs(instance: Instance) -> Instance:
    """The same instance with a cost of one for every new replica."""
    if instance.minimise == "moves":
        return instance
    ones = np.ones(len(instance), dtype=np.int64)
    none = np.full(len(instance), -1, dtype=np.int64)
    costs = CopyCosts(minimise="moves", size=ones, source=none, leaves=instance.leaves)
    return replace(instance, minimise="moves", costs=costs)


def fewest_touched(
    instance: Instance, offers: BrokerPrices, sets: Ragged, *, is_at_bound: bool
) -> int:
    """The partitions whose set changes in every plan of this cost, as far as the prices show.

    `sets`: those of the plan. `is_at_bound`: whether the plan is legal, fair and at the bound that
    the prices give; then each of its sets is the cheapest of its partition under the prices.
    """
    brokers = sets.values.astype(np.int64)
    is_new = ~instance.holds(sets.rows, brokers)
    if is_at_bound:
        copied = np.zeros(len(brokers), dtype=np.int64)
        copied[is_new] = instance.cost_at(sets.rows[is_new], instance.leaf[brokers[is_new]])
        least = View.sums(sets, _prices_at(offers, sets.rows, brokers) + copied)
    else:
        least = cheapest_sets(instance, offers).values
    is_unchanged = _is_legal_unchanged(instance)
    stays = np.zeros(len(instance), dtype=np.bool_)
    rows = np.flatnonzero(is_unchanged)
    if len(rows):
        kept = instance.held.take(rows)
        stays[rows] = (
            View.sums(kept, _prices_at(offers, rows[kept.rows], kept.values)) == least[rows]
        )
    forced = np.flatnonzero(~stays)
    moves = int(is_new.sum())
    room = _exact_sum(instance.replicas[forced])
    widest = int(instance.replicas.max(initial=1))
    return len(forced) + max(0, -(-(moves - room) // max(widest, 1)))


def _prices_at(
    offers: BrokerPrices, rows: NDArray[np.int64], brokers: NDArray[np.signedinteger[Any]]
) -> NDArray[np.int64]:
    """The price of the aligned broker for each row, int64 [rows]."""
    prices: NDArray[np.int64] = offers.table[offers.row_class[rows], brokers]
    return prices


def _is_legal_unchanged(instance: Instance) -> NDArray[np.bool_]:
    """Rows whose placed set is legal unchanged: bool [rows]."""
    is_whole = instance.held.lengths == instance.view.placed.lengths
    rows = np.flatnonzero(is_whole & (instance.held.lengths == instance.replicas))
    found = np.zeros(len(instance), dtype=np.bool_)
    found[rows] = instance.legal(instance.held)[rows]
    return found | instance.is_frozen
