"""The replica sets of a cluster after the moves of a plan, and the faults of the moves.

Only the lists of the moves are used:

```
move            orders-4  [1 2 7] -> [1 2 3]
row of the table          its placed list is 1 2 7, so the move starts from the present state
after                     the set {1 2 3}, in indexes of usable brokers; judged by `Instance.legal`
```

A row without a move keeps its replicas and is judged as well: a broken rule that the plan leaves
broken is a problem of the plan, unless the goal does not touch the partition. A row that the goal
does not touch must keep its list. Replicas on brokers that are not usable are in no other legal
set.

Limits: costs, loads and the order within a list are not checked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.expected import with_steady_costs
from rackwise.core.planning.model import Leaders
from rackwise.core.planning.outcome.move_columns import (
    all_moves,
    lists_in,
    names_in,
    numbers_in,
)
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Move, Plan
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price


FROZEN_MOVED = "expected no move of a frozen partition"
"""The fault of a list that must stay as it is."""


class AppliedMoves(NamedTuple):
    """The replica lists of every row after the moves."""

    sets: Ragged
    """Usable brokers of each row, indexes, ascending."""
    lists: Ragged
    """Broker ids of each row, in list order."""
    problems: tuple[str, ...]
    """One sentence per fault of a move."""
    illegal: tuple[str, ...]
    """One sentence per row whose set is not legal."""


class AppliedPlan(NamedTuple):
    """The problem of a plan, and the lists after its moves."""

    instance: Instance
    after: AppliedMoves


def apply_plan(
    cluster: Cluster, policy: Policy, plan: Plan, *, prices: Sequence[Price] = ()
) -> AppliedPlan:
    """Apply all moves of a plan. Raises what `instance_of` raises.

    `prices`: price rows of one provider, required if the plan is about dollars.
    """
    instance = instance_of(cluster, policy, plan.goal, minimise=plan.minimise, prices=prices)
    instance = with_steady_costs(instance, prices)
    keeps_sets = isinstance(plan.goal, Leaders)
    return AppliedPlan(instance, apply_moves(instance, all_moves(plan), keeps_sets=keeps_sets))


def apply_moves(
    instance: Instance, moves: Sequence[Move], *, keeps_sets: bool = False
) -> AppliedMoves:
    """The sets after all moves; repeated moves of a partition, and moves of none, are left out.

    `keeps_sets`: only unchanged sets are legal.
    """
    rows, problems = _rows_of_moves(instance, moves)
    placed = instance.view.placed
    known = np.flatnonzero(rows >= 0)
    rows_moved = rows[known]
    before, after = (lists_in(moves, name) for name in ("before", "after"))
    if len(known) < len(moves):
        before, after = before.take(known), after.take(known)
    stale = np.flatnonzero(~before.equal_rows(placed.take(rows_moved))).tolist()
    problems += [_stale_move(instance, int(rows_moved[at]), moves[int(known[at])]) for at in stale]
    stays = known[before.equal_rows(after)].tolist()
    problems += [
        f"{_name(move)}: expected a changed list, got {_list(move.after)} before and after"
        for move in map(moves.__getitem__, stays)
    ]
    moved = placed.replaced(rows_moved, after)
    sets, misplaced = _usable(instance, moved)
    changed = np.flatnonzero(instance.is_frozen & ~moved.equal_rows(placed)).tolist()
    if keeps_sets:
        problems += [f"{instance.name(row)}: {FROZEN_MOVED}" for row in changed]
        held, _ = _usable(instance, placed)
        bad = ~(sets.equal_rows(held) & _sort_rows(moved).equal_rows(_sort_rows(placed)))
        reasons = [
            f"{instance.name(row)}: expected the same brokers, got others"
            for row in np.flatnonzero(bad).tolist()
        ]
        return AppliedMoves(sets, moved, tuple(problems), tuple(reasons))
    is_legal = instance.legal(sets)
    is_legal[misplaced[~instance.is_frozen[misplaced]]] = False
    is_legal[changed] = False
    wrong = np.flatnonzero(~is_legal).tolist()
    illegal = tuple(f"{instance.name(row)}: {_fault(instance, moved, row)}" for row in wrong)
    return AppliedMoves(sets, moved, tuple(problems), illegal)


def _name(move: Move) -> str:
    return f"{escaped(move.topic)}-{move.partition}"


def _list(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _stale_move(instance: Instance, row: int, move: Move) -> str:
    had = _list(instance.view.placed.row(row))
    return f"{_name(move)}: the move expects {_list(move.before)} before, the cluster has {had}"


def _rows_of_moves(
    instance: Instance, moves: Sequence[Move]
) -> tuple[NDArray[np.int64], list[str]]:
    """The row of each move, -1 if there is none or an earlier move has it."""
    table = instance.view.table
    codes = {name: code for code, name in enumerate(table.topics)}
    width = np.int64(2**32)
    keys = table.topic * width + table.partition
    names, name_of = names_in(moves, "topic")
    topics = np.array([codes.get(name, -1) for name in names], dtype=np.int64)[name_of]
    wanted = topics * width + np.minimum(numbers_in(moves, "partition"), 2**31)
    found = np.searchsorted(keys, wanted)
    rows = np.where(np.append(keys, -1)[found] == wanted, found, -1)
    problems = [
        f"{_name(moves[at])}: no such partition" for at in np.flatnonzero(rows < 0).tolist()
    ]
    first = np.unique(rows, return_index=True)[1]
    again = np.ones(len(rows), dtype=np.bool_)
    again[first] = False
    again &= rows >= 0
    problems += [f"{_name(moves[at])}: moved twice" for at in np.flatnonzero(again).tolist()]
    rows[again] = -1
    return rows, problems


def _sort_rows(rows: Ragged) -> Ragged:
    """Each row sorted. Row and value are sorted as one number, ten times as fast as two keys."""
    # The stable sort is a merge sort that uses what is in order, as the keys are from row to row.
    keys = np.sort(rows.rows << 32 | rows.values, kind="stable")
    return Ragged(rows.offsets, (keys & 0xFFFF_FFFF).astype(np.int32))


def _usable(instance: Instance, lists: Ragged) -> tuple[Ragged, NDArray[np.int64]]:
    """Lists of ids as ascending indexes of usable brokers, and the rows that contain other ids."""
    found = index_of_brokers(instance, lists.values)
    known = found >= 0
    usable = Ragged(lists.offsets, found.astype(np.int32)).keep(known)
    return _sort_rows(usable), np.flatnonzero(usable.lengths < lists.lengths)


def index_of_brokers(instance: Instance, ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Index of the usable broker with each id, int64 [ids]; -1 = no usable broker has the id."""
    tree = instance.view.tree
    # The last place is that of ids that the cluster does not list.
    index = np.full(len(tree.brokers) + 1, -1, dtype=np.int64)
    index[tree.places(instance.brokers)] = np.arange(len(instance.brokers))
    return index[tree.places(ids)]


def _fault(instance: Instance, lists: Ragged, row: int) -> str:
    """Why the list of one row is not legal."""
    return next(_faults(instance, lists.row(row), row))


def _faults(instance: Instance, brokers: Sequence[int], row: int) -> Iterator[str]:
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    if instance.is_frozen[row]:
        yield FROZEN_MOVED
    wanted = int(instance.replicas[row])
    if len(set(brokers)) < len(brokers):
        yield f"expected distinct brokers, got {_list(brokers)}"
    if unusable := [id_ for id_ in brokers if id_ not in index]:
        yield f"expected usable brokers, got {_list(unusable)}"
    if len(brokers) != wanted:
        yield f"expected {counted(wanted, 'replica')}, got {_list(brokers)}"
    held, inside = instance.held.row(row), {index.get(id_, -1) for id_ in brokers}
    if missing := [b for b in instance.pins.row(row) if b not in inside]:
        pinned = instance.brokers[missing].tolist()
        yield f"expected a replica on {_list(pinned)}, got {_list(brokers)}"
    if closed := [id_ for id_ in brokers if _is_closed(instance, index.get(id_, -1), held)]:
        yield f"expected brokers that accept new replicas, got {_list(closed)}"
    yield f"the rules of its racks do not allow {_list(brokers)}"


def _is_closed(instance: Instance, broker: int, held: Sequence[int]) -> bool:
    return broker >= 0 and not instance.is_open[broker] and broker not in held
