"""What the rules of one topic cannot ask for at once.

```
count sums       min 2 + min 2                     with replication 3        no list of 3 can do it
pins             partition 0 on 4, 5 and 6         with replication 2        no list of 2 can do it
at_least         zone at_least 2, region even      two ways to say where     no exact plan
even below       /eu between 1 and 3, zone even    even over how many?       no exact plan
```

A rack's box is the range of replicas that it may hold. `even` below a box of width one or less is
exact: two numbers that differ by one are shared out alike. Below a wider box it is not, so it is
refused rather than guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.policy.model import AtLeast, RackCount, Spread
from rackwise.core.racks import Rack
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class RuleConflict(NamedTuple):
    """Why rules cannot hold together; `key`: the key of the topic block that says too much."""

    key: str
    message: str
    wanted: object
    had: object
    hint: str


def fault_in(
    *,
    spread: Mapping[int, Spread],
    count: Sequence[RackCount],
    pin: Mapping[int, Sequence[int]],
    replication: int | None,
    has_other_racks: bool = False,
) -> RuleConflict | None:
    """The first thing that the rules cannot ask for at once, or None.

    `spread`: level, 0 = coarsest, -> rule; a level left out is even. `replication`: replicas of a
    partition, None where each keeps its own. `has_other_racks`: racks beside the counted ones are
    free to hold replicas.
    """
    return (
        _too_many_counted(count, replication)
        or _too_many_pinned(pin, replication)
        or _at_least_mixed(spread, count)
        or _even_below_wide(spread, count, replication, has_other_racks=has_other_racks)
    )


def _too_many_counted(count: Sequence[RackCount], replication: int | None) -> RuleConflict | None:
    least = sum(rack.min for rack in count)
    if replication is None or least <= replication:
        return None
    return RuleConflict(
        "count",
        f"expected counts with a sum of at most replication {replication}, got the sum {least}",
        replication,
        least,
        "lower min or exactly, or raise replication",
    )


def _too_many_pinned(
    pin: Mapping[int, Sequence[int]], replication: int | None
) -> RuleConflict | None:
    for partition, brokers in pin.items():
        if replication is not None and len(brokers) > replication:
            return RuleConflict(
                "pin",
                f"expected at most replication {replication} brokers for partition {partition}, "
                f"got {len(brokers)}",
                replication,
                len(brokers),
                "pin fewer brokers, or raise replication",
            )
    return None


def _at_least_mixed(
    spread: Mapping[int, Spread], count: Sequence[RackCount]
) -> RuleConflict | None:
    if not any(isinstance(rule, AtLeast) for rule in spread.values()):
        return None
    mixed = sorted({str(rule) for rule in spread.values() if rule in {"even", "distinct"}})
    mixed += ["count"] if count else []
    if not mixed:
        return None
    return RuleConflict(
        "spread",
        f"expected at_least alone, got it together with {' and '.join(mixed)}",
        "at_least",
        ", ".join(mixed),
        'set every other level to "off" and leave count out, or drop at_least',
    )


def _even_below_wide(
    spread: Mapping[int, Spread],
    count: Sequence[RackCount],
    replication: int | None,
    *,
    has_other_racks: bool,
) -> RuleConflict | None:
    counted = {_level_of(rack) for rack in count}
    wide = list(_wide_boxes(count, replication, has_other_racks=has_other_racks))
    for level, rule in spread.items():
        judged = (
            coarser
            for coarser in range(level - 1, -1, -1)
            if coarser in counted or spread.get(coarser, "even") != "off"
        )
        above = next(judged, None)
        if rule != "even" or level in counted or above not in counted:
            continue
        for name, at, text in wide:
            if at == above:
                return RuleConflict(
                    "count",
                    f"expected one number, or two that differ by one, for {escaped(name)}, as "
                    f"the level below is even, got {text}",
                    "a width of 1 or less",
                    text,
                    'set exactly, or set the spread of the level below to "off" or "distinct"',
                )
    return None


def _level_of(rack: RackCount) -> int:
    return len(Rack(rack.rack).levels) - 1


def _wide_boxes(
    count: Sequence[RackCount], replication: int | None, *, has_other_racks: bool
) -> Iterator[tuple[str, int, str]]:
    """Name, level and range of the racks whose box is wider than one.

    No box is wider than what the least numbers leave over.
    """
    spare = None if replication is None else replication - sum(rack.min for rack in count)
    boxes = [(rack.rack, _level_of(rack), rack.min, rack.max) for rack in count]
    if count and has_other_racks:
        boxes.append(("the other racks", _level_of(count[0]), 0, None))
    for name, level, low, high in boxes:
        limits = [
            width for width in (spare, None if high is None else high - low) if width is not None
        ]
        if not limits:
            yield name, level, f"{low} or more"
        elif min(limits) > 1:
            yield name, level, f"{low} to {low + min(limits)}"
