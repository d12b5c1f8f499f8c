"""Racks as paths of levels, their tree, and the even share of replicas that each should hold.

A rack is what Kafka calls `broker.rack` (KIP-36). A text that begins with `/` is a path of up to 16
levels (KIP-879): `/eu/a/r7` is region `eu`, zone `a`, row `r7`. Any other text, such as `use1-az1`,
is one level. In one tree all racks are paths, or all are plain names; `core.odd_racks` decides
which racks of a cluster count.

Water filling. `replicas` units are distributed over children that hold at most `free_brokers[i]`
each. Each unit goes to the child with the fewest units that is not full:

```
free brokers  1  5  5      4 units: first round 1 1 1, then one more for either of the last two
low           1  1  1      so the least share is 1 1 1
high          1  2  2      and the greatest    1 2 2
```

The tree. The racks of all brokers of a cluster form a tree. Every broker has a node at every level:
a path shorter than the deepest is padded with its last segment. Nodes of a level are numbered in
the order of their paths' UTF-8 bytes:

```
broker  rack       level 0     level 1          names[0] = /eu /us
1       /eu/a      0 (/eu)     0 (/eu/a)        names[1] = /eu/a /eu/b /us/us
2       /eu/b      0           1 (/eu/b)        parents[1] = 0 0 1
3       /us        1 (/us)     2 (/us/us)       padded = 3
4       -          -1          -1               rackless = 4
```

What this does not do: choose the broker of a rack that gets a replica, or check a placement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rackwise.core.errors import InvalidRack
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

MAX_LEVELS = 16
"""Maximum levels of a rack path."""
NO_RACK = "(no rack)"
"""The rack of brokers without one, if they count as one more rack."""


@dataclass(frozen=True, slots=True, order=True)
class Rack:
    """A rack as the broker names it. Source: KIP-36 (`broker.rack`), KIP-879 (paths)."""

    text: str
    """Verbatim."""

    @override
    def __str__(self) -> str:
        return self.text

    @property
    def levels(self) -> tuple[str, ...]:
        """`("eu", "a")` for `/eu/a`; `("use1-az1",)` for `use1-az1`; `()` for `/`.

        Raises `InvalidRack` for an empty segment, a control character or more than 16 levels.
        """
        if not self.text.isprintable() or not self.text:
            raise InvalidRack(
                f'rack is empty or holds a control character: "{escaped(self.text)}"',
                wanted="printable text",
                had=escaped(self.text),
                hint="set broker.rack to a path such as /eu/a or a name such as use1-az1",
            )
        if not self.text.startswith("/"):
            return (self.text,)
        if self.text == "/":
            return ()
        levels = tuple(self.text[1:].split("/"))
        if not all(levels):
            raise InvalidRack(
                f'rack path has an empty segment: "{self.text}"',
                wanted="/level/level",
                had=self.text,
                hint="remove the doubled or trailing slash from broker.rack",
            )
        if len(levels) > MAX_LEVELS:
            raise InvalidRack(
                f"expected a rack path of at most {MAX_LEVELS} levels, "
                f'got {len(levels)} in "{self.text}"',
                wanted=f"at most {MAX_LEVELS} levels",
                had=len(levels),
                hint="merge levels, for example /eu/a-row7",
            )
        return levels

    @property
    def is_sound(self) -> bool:
        """Whether the text is a valid rack, that is, `levels` does not raise.

        >>> Rack("/eu/a").is_sound, Rack("/eu//a").is_sound
        (True, False)
        """
        try:
            self.levels  # noqa: B018 (reading it is the check)
        except InvalidRack:
            return False
        return True

    @property
    def is_path(self) -> bool:
        """Whether the text is a path, that is, begins with `/`."""
        return self.text.startswith("/")


def prefix(levels: Sequence[str], depth: int, *, is_path: bool = True) -> str:
    """The name of the ancestor at `depth` (1 = coarsest): `/eu` for `("eu", "a")` at 1."""
    if not is_path:
        return levels[0]
    return "/" + "/".join(levels[:depth])


def crossing_level(a: Rack | None, b: Rack | None) -> int:
    """Number, from 1, of the first level at which two racks differ.

    0 if they are equal or one is a prefix of the other; -1 if one of them is not known.
    """
    if a is None or b is None:
        return -1
    for level, (left, right) in enumerate(zip(a.levels, b.levels, strict=False), start=1):
        if left != right:
            return level
    return 0


def levels_crossed(racks: Iterable[Rack]) -> tuple[int, ...]:
    """The levels, from 1, at which two of the racks differ.

    >>> levels_crossed(map(Rack, ("/eu/a", "/eu/b"))), levels_crossed([Rack("a")])
    ((2,), ())
    """
    children: dict[tuple[str, ...], set[str]] = {}
    for rack in racks:
        for depth, name in enumerate(rack.levels):
            children.setdefault(rack.levels[:depth], set()).add(name)
    return tuple(sorted({len(path) + 1 for path, names in children.items() if len(names) > 1}))


def padded(levels: Sequence[str], depth: int) -> tuple[str, ...]:
    """A path with at least `depth` levels: shorter ones repeat their last segment."""
    if not levels or len(levels) >= depth:
        return tuple(levels)
    return (*levels, *([levels[-1]] * (depth - len(levels))))


def level_names(depth: int, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the levels, coarsest first; without `names`: `zone` if one, else `level1`, ..."""
    if names:
        return tuple(names[:depth])
    return ("zone",) if depth <= 1 else tuple(f"level{i}" for i in range(1, depth + 1))


def check_one_form(racks: Iterable[tuple[int, Rack | None]]) -> None:
    """Check each rack, and that they are all paths or all plain names. `racks`: broker -> rack.

    Raises `InvalidRack`; for mixed forms with one example of each.
    """
    examples: dict[bool, tuple[int, Rack]] = {}
    for broker, rack in racks:
        if rack is None:
            continue
        try:
            rack.levels  # noqa: B018 (reading it is the check)
        except InvalidRack as error:
            raise InvalidRack(
                f"broker {broker}: {error.message}",
                wanted=error.wanted,
                had=error.had,
                hint=error.hint,
                where=f"broker {broker}",
            ) from None
        examples.setdefault(rack.is_path, (broker, rack))
    if len(examples) == 2:  # noqa: PLR2004 (both forms)
        path, plain = examples[True], examples[False]
        raise InvalidRack(
            f"expected one form of rack, got the path {path[1]} on broker {path[0]} "
            f"and the name {plain[1]} on broker {plain[0]}",
            wanted="all paths or all names",
            had=f"{path[1]} and {plain[1]}",
            hint="finish the migration to paths, or give all brokers plain names",
        )


def water_fill(free_brokers: Sequence[int], replicas: int) -> tuple[tuple[int, int], ...] | None:
    """Least and greatest even share (low, high) of each child; None if there are too few brokers.

    `free_brokers`: usable brokers below each child.
    """
    if sum(free_brokers) < replicas:
        return None
    water = 0
    while water < replicas and sum(min(free, water + 1) for free in free_brokers) <= replicas:
        water += 1
    rest = replicas - sum(min(free, water) for free in free_brokers)
    takers = sum(1 for free in free_brokers if free > water)
    return tuple(
        (
            min(free, water) + (rest == takers and free > water),
            min(free, water) + (rest > 0 and free > water),
        )
        for free in free_brokers
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RackTree:
    """The racks of a cluster as numbered nodes, level 0 = coarsest.

    There is at least one level, perhaps without nodes.
    """

    brokers: NDArray[np.int64]
    """Broker ids, rising, [brokers]."""
    nodes: NDArray[np.int32]
    """Node of each broker at each level, [levels, brokers + 1]; -1 = none.

    The last column stands for every broker that is not listed.
    """
    names: tuple[tuple[str, ...], ...]
    """`names[level][node]`: the rack's text."""
    parents: tuple[NDArray[np.int64], ...]
    """`parents[level]`, [nodes]: the node one level up; at level 0 it is 0, the root."""
    padded: tuple[int, ...]
    """Ids of brokers whose path is shorter than the deepest."""
    rackless: tuple[int, ...]
    """Ids of brokers without a rack."""

    @classmethod
    def of(
        cls,
        racks: Iterable[tuple[int, Rack | None]],
        *,
        missing: Literal["error", "one-rack", "unaware"] = "error",
    ) -> RackTree:
        """From (broker id, rack) pairs in any order.

        `missing`: with `one-rack`, brokers without a rack get a node of their own. The root, `/`,
        counts as no rack. Raises `InvalidRack` for a malformed rack and for mixed forms.
        """
        by_id = dict(sorted(racks, key=lambda pair: pair[0]))
        check_one_form(by_id.items())
        paths = {key: rack.levels for key, rack in by_id.items() if rack is not None}
        paths = {key: path for key, path in paths.items() if path}
        depth = max(map(len, paths.values()), default=1)
        full = {key: padded(path, depth) for key, path in paths.items()}
        rackless = tuple(key for key in by_id if key not in paths)
        if missing == "one-rack":
            full.update((key, ("",) * depth) for key in rackless)
        nodes = np.full((depth, len(by_id) + 1), -1, dtype=np.int32)
        place = {key: column for column, key in enumerate(by_id)}
        is_path = any(rack is not None and rack.is_path for rack in by_id.values())
        names: list[tuple[str, ...]] = []
        parents: list[NDArray[np.int64]] = []
        above: dict[tuple[str, ...], int] = {(): 0}
        for level in range(1, depth + 1):
            heads = sorted({path[:level] for path in full.values()}, key=_utf8)
            number = {head: node for node, head in enumerate(heads)}
            for key, path in full.items():
                nodes[level - 1, place[key]] = number[path[:level]]
            names.append(
                tuple(
                    prefix(head, level, is_path=is_path) if head[0] else NO_RACK for head in heads
                )
            )
            parents.append(np.array([above[head[:-1]] for head in heads], dtype=np.int64))
            above = number
        return cls(
            brokers=np.array(list(by_id), dtype=np.int64),
            nodes=nodes,
            names=tuple(names),
            parents=tuple(parents),
            padded=tuple(key for key, path in paths.items() if len(path) < depth),
            rackless=rackless,
        )

    @property
    def depth(self) -> int:
        """Number of levels, one or more."""
        return len(self.names)

    def find(self, text: str) -> tuple[int, int] | None:
        """Level and node of the rack with this text, or None."""
        for level, names in enumerate(self.names):
            if text in names:
                return level, names.index(text)
        return None

    def ancestors(self, level: int, above: int) -> NDArray[np.int64]:
        """The node of each node of `level` at the coarser level `above`, int64 [nodes of level].

        `above` -1 is the root; it has the one node 0.
        """
        found = np.arange(len(self.names[level]), dtype=np.int64)
        for finer in range(level, above, -1):
            found = self.parents[finer][found]
        return found

    def places(self, ids: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Column in `nodes` of each broker id; the last column for ids that are not listed."""
        count = len(self.brokers)
        # If all brokers' ids are below the number of ids, a lookup table is several times faster
        # than a binary search. Index 0 and the last index stand for ids that are not listed.
        if count and self.brokers[0] >= 0 and self.brokers[-1] < len(ids):
            by_id = np.full(int(self.brokers[-1]) + 3, count)
            by_id[self.brokers + 1] = np.arange(count)
            return by_id.take(ids.astype(np.int64) + 1, mode="clip")
        found = np.searchsorted(self.brokers, ids)
        listed = np.append(self.brokers, -1)[found] == ids
        return np.where(listed, found, count)


def _utf8(path: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(segment.encode("utf-8", "surrogatepass") for segment in path)
