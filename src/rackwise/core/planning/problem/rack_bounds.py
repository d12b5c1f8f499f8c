"""Bounds of the replicas that one partition can have in each rack, after its pinned replicas.

The bounds of a partition class are reduced for one partition: pinned replicas are subtracted from
every rack that holds them, and no bound exceeds the brokers that the partition may use there.

```
3 replicas over /a /b /c, boxes 1..1; pinned to 1 in /a      /a 0..0   /b 1..1   /c 1..1, two left
/b: both brokers excluded, none held                         /b 1..0   not possible
```

Bounds are then carried upwards: a rack holds at least what the racks in it must hold together, and
at most what they can hold. If no low bound exceeds its high bound, a legal set exists, because
racks are nested and the bounds are integers.

Limits: this module chooses no brokers, and treats each partition alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass


class RackBounds(NamedTuple):
    """The bounds of rows of one class."""

    low: tuple[NDArray[np.int64], ...]
    """Fewest replicas below each node, int64 [rows, nodes], by level."""
    high: tuple[NDArray[np.int64], ...]
    """Most replicas below each node, int64 [rows, nodes], by level."""
    units: NDArray[np.int64]
    """Replicas to place, int64 [rows]."""
    is_possible: NDArray[np.bool_]
    """Whether a legal set exists, bool [rows]."""


class RackCapacity(NamedTuple):
    """The brokers that rows may use in each finest rack, int64 [rows, leaves]."""

    pinned: NDArray[np.int64]
    """Pinned brokers."""
    free: NDArray[np.int64]
    """Brokers that are not pinned and may be in the row's set."""


def rack_capacity(instance: Instance, rows: NDArray[np.int64]) -> RackCapacity:
    """Pinned and free brokers of each row in each finest rack."""
    leaf, leaves = instance.leaf, instance.leaves
    pins = instance.pins.take(rows)
    pinned = _counts(pins.rows, leaf[pins.values], len(rows), leaves)
    all_open = np.bincount(leaf[instance.is_open], minlength=leaves).astype(np.int64)
    free = np.broadcast_to(all_open, (len(rows), leaves))
    if not instance.is_open.all():
        held = instance.held.take(rows)
        closed = ~instance.is_open[held.values]
        free = free + _counts(held.rows[closed], leaf[held.values[closed]], len(rows), leaves)
    if len(pins.values):
        is_usable_pin = instance.is_open[pins.values] | instance.holds(
            rows[pins.rows], pins.values.astype(np.int64)
        )
        free = free - _counts(
            pins.rows[is_usable_pin], leaf[pins.values[is_usable_pin]], len(rows), leaves
        )
    return RackCapacity(pinned, free)


def _counts(
    rows: NDArray[np.int64], columns: NDArray[np.int64], height: int, width: int
) -> NDArray[np.int64]:
    flat = np.bincount(rows * width + columns, minlength=height * width)
    return flat.reshape(height, width).astype(np.int64)


def rack_bounds(class_: PartitionClass, room: RackCapacity) -> RackBounds:
    """The bounds of rows of one class, carried upwards."""
    finest = len(class_.up) - 1
    units = class_.replicas - room.pinned.sum(axis=1)
    low: list[NDArray[np.int64]] = []
    high: list[NDArray[np.int64]] = []
    for level in range(finest, -1, -1):
        # least, most: int64 [rows, nodes of the level].
        pinned = class_.at(level, room.pinned)
        least = np.maximum(class_.low[level] - pinned, 0)
        most = class_.high[level] - pinned
        if level == finest:
            most = np.minimum(most, room.free)
        else:
            starts = _first_children(class_, level)
            least = np.maximum(least, np.add.reduceat(low[-1], starts, axis=1))
            most = np.minimum(most, np.add.reduceat(high[-1], starts, axis=1))
        low.append(least)
        high.append(most)
    is_possible = np.full(len(units), class_.is_possible)
    for least, most in zip(low, high, strict=True):
        is_possible &= (least <= most).all(axis=1)
    is_possible &= (low[-1].sum(axis=1) <= units) & (units <= high[-1].sum(axis=1))
    if not class_.has_boxes:
        is_possible &= _can_reach_at_least(class_, room)
    return RackBounds(tuple(reversed(low)), tuple(reversed(high)), units, is_possible)


def _first_children(class_: PartitionClass, level: int) -> NDArray[np.int64]:
    """The first node, one level finer, of each node."""
    finer = class_.up[level + 1]
    first_leaf = np.flatnonzero(np.diff(class_.up[level], prepend=-1))
    return finer[first_leaf]


def fresh_racks(
    class_: PartitionClass, pinned: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[np.int64]]]:
    """The distinct racks that a row must still reach, for each level with `at_least`.

    Coarsest level first: the level, its racks without a pinned broker [rows, nodes], and how many
    of these must get a replica. `pinned`: of each row in each finest rack.
    """
    for level, wanted in enumerate(class_.at_least):
        if wanted:
            has = class_.at(level, pinned) > 0
            yield level, ~has, np.maximum(wanted - has.sum(axis=1), 0)


def _can_reach_at_least(class_: PartitionClass, room: RackCapacity) -> NDArray[np.bool_]:
    """Whether the remaining units can bring the distinct racks up to `at_least` at every level."""
    left = class_.replicas - room.pinned.sum(axis=1)
    most = np.zeros_like(left)
    is_enough = room.free.sum(axis=1) >= left
    for level, fresh, more in fresh_racks(class_, room.pinned):
        is_enough &= ((class_.at(level, room.free) > 0) & fresh).sum(axis=1) >= more
        most = np.maximum(most, more)
    reached: NDArray[np.bool_] = is_enough & (most <= left)
    return reached


def infeasible_partitions(instance: Instance) -> list[str]:
    """A sentence for each partition without a legal set, in row order: rule, expected, got."""
    found: dict[int, str] = {}
    for row in instance.lost_pins.tolist():
        found[row] = "expected usable pinned brokers, got an unusable one"
    for number, class_ in enumerate(instance.classes):
        rows = np.flatnonzero((instance.class_of == number) & ~instance.is_frozen)
        for part in parts(rows, instance.leaves):
            room = rack_capacity(instance, part)
            for at in np.flatnonzero(~rack_bounds(class_, room).is_possible).tolist():
                found.setdefault(
                    int(part[at]),
                    _reason(instance, class_, RackCapacity(room.pinned[at], room.free[at])),
                )
            for row, text in _barred_pins(instance, part):
                found.setdefault(row, text)
    return [f"{instance.name(row)}: {found[row]}" for row in sorted(found)]


def _barred_pins(instance: Instance, rows: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Rows pinned to an excluded broker that they do not hold, or to more brokers than replicas."""
    pins = instance.pins.take(rows)
    brokers = pins.values.astype(np.int64)
    barred = ~instance.is_open[brokers] & ~instance.holds(rows[pins.rows], brokers)
    for row, broker in zip(
        rows[pins.rows[barred]].tolist(), instance.brokers[brokers[barred]].tolist(), strict=True
    ):
        yield (
            row,
            f"expected brokers that accept new replicas, got broker {broker}, which must hold one",
        )


def _reason(instance: Instance, class_: PartitionClass, room: RackCapacity) -> str:
    usable = int((room.pinned + room.free).sum())
    if usable < class_.replicas:
        return f"expected {counted(class_.replicas, 'usable broker')}, got {usable}"
    for level, rule in enumerate(class_.rules.spread):
        racks = int((class_.at(level, room.pinned + room.free) > 0).sum())
        name = _level(instance, level)
        wanted = class_.replicas if rule == "distinct" else class_.at_least[level]
        if racks < wanted:
            return f"expected {counted(wanted, f'distinct {name}')}, got {racks} usable"
    if class_.rules.count:
        counts = ", ".join(
            f"{rack.rack} {rack.min}" + ("" if rack.max is None else f"..{rack.max}")
            for rack in class_.rules.count
        )
        return (
            f"expected {counted(class_.replicas, 'replica')} with {counts}, "
            "got no usable brokers that allow it"
        )
    return (
        f"expected {counted(class_.replicas, 'replica')} spread by its rules, got "
        f"{counted(usable, 'usable broker')} that {'does' if usable == 1 else 'do'} not allow it"
    )


def _level(instance: Instance, level: int) -> str:
    names = instance.view.levels
    return names[level] if level < len(names) else "zone"
