"""The reverse of a plan: a plan that undoes what the first one did.

Goals, in order: restore the old lists in their order; undo the last move first; touch nothing that
was not done; report the cost before anything moves.

```
plan       orders-4  1,2,4 -> 1,3,4   12.4 GiB   done
           orders-5  2,3   -> 2,4                not done
reversed   orders-4  1,3,4 -> 1,2,4   12.4 GiB
```

The data is copied again, from the leader that the plan chose. The reverse plan has its own journal.
It need not be minimal or fair, so it carries no proof. Partitions that were added to the topic
since then do not prevent it.

A plan that was rolled back in part and then applied again has two reverse plans, one after the
other; `joined` reports them as one.

What this does not do: cancel moves that are running; that comes first.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.planning.model import Fair, Totals, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rackwise.core.applying.model import Outcome
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move, Plan, SeenBroker


def reverse_plan(plan: Plan, done: Collection[PartitionId]) -> Plan:
    """The plan that undoes the moves of `done`; its `sha256` is empty until it is written."""
    done_moves = frozenset(done)
    brokers = plan.made_from.brokers
    moves = tuple(
        _reverse_move(move, brokers)
        for move in reversed(plan.moves)
        if (move.topic, move.partition) in done_moves
    )
    return replace(
        plan,
        made_from=replace(plan.made_from, partitions=MappingProxyType({})),
        solver="rollback",
        moves=moves,
        totals=sum_totals(moves),
        fair=Fair(),
        certificates=(),
        verdict=Verdict(
            cost=sum(len(move.added) for move in moves),
            lower_bound=0,
            gap=sum(len(move.added) for move in moves),
            is_legal=False,
            is_fair=False,
        ),
        sha256="",
        left_alone=None,
        max_moves=None,
        later=(),
    )


def joined(first: Plan, second: Plan) -> Plan:
    """The second reverse plan with the moves of the first that it does not repeat, for a report."""
    repeated = {(move.topic, move.partition) for move in second.moves}
    others = tuple(move for move in first.moves if (move.topic, move.partition) not in repeated)
    return replace(second, moves=(*others, *second.moves))


def joined_outcome(first: Outcome, second: Outcome) -> Outcome:
    """The outcome of both reverse plans, of which the second was executed last."""
    return replace(
        second,
        classes={**first.classes, **second.classes},
        codes={**first.codes, **second.codes},
        not_elected={**first.not_elected, **second.not_elected},
        throttles_changed=tuple(sorted({*first.throttles_changed, *second.throttles_changed})),
        begun=first.begun + second.begun,
        has_written=first.has_written or second.has_written,
    )


def _reverse_move(move: Move, brokers: Mapping[int, SeenBroker]) -> Move:
    return replace(
        move,
        before=move.after,
        after=move.before,
        cross_bytes=_cross_bytes(move, brokers),
        usd_nano=None,
        reasons=("rollback",),
    )


def _cross_bytes(move: Move, brokers: Mapping[int, SeenBroker]) -> int | None:
    """Bytes that return from the rack of the leader; None where a rack or a size is unknown."""
    racks = [
        brokers[each].rack if each in brokers else None for each in (move.after[0], *move.removed)
    ]
    if not move.removed:
        return 0
    if move.bytes is None or None in racks:
        return None
    return sum(move.bytes for rack in racks[1:] if rack != racks[0])


def sum_totals(moves: tuple[Move, ...]) -> Totals:
    """The sums over moves, without dollars."""
    copies = [move for move in moves if move.added]
    return Totals(
        moves=sum(len(move.added) for move in moves),
        partitions=sum(set(move.before) != set(move.after) for move in moves),
        leader_changes=sum(move.before[0] != move.after[0] for move in moves),
        order_only=sum(set(move.before) == set(move.after) for move in moves),
        bytes=sum((move.bytes or 0) * len(move.added) for move in moves),
        cross_bytes=sum(move.cross_bytes or 0 for move in moves),
        unknown_sizes=sum(move.bytes is None for move in copies),
    )
