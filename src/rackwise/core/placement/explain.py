"""Report of a placement: the load of each broker and rack, and the shares that the racks force.

Goals: report how many replicas each broker and rack holds; how many leaderships one broker inherits
when another broker fails; and, in words, which racks are too small or too large for an even share.
Then readers do not mistake a forced share for a fault of the placer.

Forced shares. Where every partition is level-optimal, the replicas of one partition below a node
lie in an interval. The root holds exactly R. If a node holds `kmin..kmax` replicas, each of
its children holds at least its share from water filling kmin, and at most its share from water
filling kmax. A share is forced if this interval excludes the child's proportion of the brokers:

```
racks /a 2 brokers, /b 2, /c 1     50 partitions, 3 replicas, an even share is 30 a broker
/c   1..1 of each partition        1 for 1 broker > 3 for 5: forced up, 50 instead of 30
/a   1..1                          1 for 2 brokers < 3 for 5: forced down, 50 instead of 60
```

Heirs. The replica after the leader is the next preferred leader. The largest heir is the greatest
part of one broker's leaderships that a single other broker inherits when the first broker fails.

Brokers that are in the rows and not in the cluster are listed, and count for no rack. If only some
brokers have a rack, the brokers without one count as one more rack.

This module does not compare a placement with a policy (the audit does), and ignores sizes in bytes.

Source: KIP-36 and KIP-879 (the meaning of even); KAFKA-3438 (the request to report forced shares).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.placement.model import NOBODY
from rackwise.core.placement.placers.capacity import WaterTable
from rackwise.core.placement.placers.rack_tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Placement
    from rackwise.core.placement.placers.rack_tree import RackNode

BLOCK = 65_536
"""Partitions that are judged at once."""

UNEVEN = Fraction(3, 2)
"""More than so many even shares on one broker are worth a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerShare:
    """The replicas and leaderships of one broker, in partitions."""

    id: int
    replicas: int
    leaders: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RackShare:
    """The replicas and leaderships of the brokers of one rack, at any level, in partitions."""

    rack: str
    brokers: int
    replicas: int
    leaders: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedShare:
    """A rack, or a broker beside racks, that cannot have its even share."""

    name: str
    brokers: int
    least: int
    """Least replicas of one partition in level-optimal rows."""
    most: int
    """Most replicas of one partition in level-optimal rows."""
    even: Fraction
    """Its even share of all replicas."""
    is_up: bool
    """Whether it must hold more than its even share; otherwise it must hold less."""
    text: str
    """The sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A placement in numbers: brokers in id order; racks in tree order, coarser racks first."""

    partitions: int
    replicas: int
    brokers: tuple[BrokerShare, ...]
    racks: tuple[RackShare, ...]
    forced: tuple[ForcedShare, ...]
    """The forced shares; empty if rows differ in length, because no single number of replicas then
    forces a share."""
    heir: tuple[int, int, int, int] | None
    """(broker, heir, inherited, led) of the greatest part of a broker's leaderships that one other
    broker inherits; None if no broker inherits."""
    strangers: tuple[int, ...]
    """Ids in rows that the cluster does not have."""
    uneven_partitions: int
    """The number of partitions that are not level-optimal."""

    @property
    def even_share(self) -> Fraction:
        """The replicas of each broker of the cluster if all held the same number."""
        return Fraction(self.replicas, len(self.brokers))

    @property
    def most_over_even(self) -> Fraction:
        """The replicas on the fullest broker, in even shares; 0 if there are no replicas."""
        most = max(broker.replicas for broker in self.brokers)
        return most / self.even_share if self.replicas else Fraction(0)

    @property
    def is_uneven(self) -> bool:
        """Whether the fullest broker holds more than one and a half even shares."""
        return self.most_over_even > UNEVEN

    def lines(self) -> tuple[str, ...]:
        """Forced shares, partitions that are not level-optimal, unknown brokers; one line each."""
        told = [force.text for force in self.forced]
        if self.uneven_partitions:
            told.append(
                f"{self.uneven_partitions} of {self.partitions} partitions could be spread better "
                "over the racks"
            )
        if self.strangers:
            ids = ", ".join(map(str, self.strangers))
            told.append(f"rows name brokers that the cluster does not have: {ids}")
        return tuple(told)


def explain(placement: Placement, brokers: Sequence[Broker]) -> Report:
    """Counts, forced shares and heirs of rows on these brokers, of which there is at least one."""
    tree = Tree.of(brokers, pad=True)
    held = tree.replica_counts(placement.rows)
    led = tree.replica_counts(placement.rows[:, :1])
    by_id = np.argsort(tree.brokers).tolist()
    return Report(
        partitions=len(placement),
        replicas=int(placement.lengths.sum()),
        brokers=tuple(
            BrokerShare(
                id=int(tree.brokers[leaf]), replicas=int(held[leaf]), leaders=int(led[leaf])
            )
            for leaf in by_id
        ),
        racks=tuple(
            RackShare(
                rack=node.name,
                brokers=node.capacity,
                replicas=int(held[_leaves(node)].sum()),
                leaders=int(led[_leaves(node)].sum()),
            )
            for node in tree.inner[1:]
        ),
        forced=tuple(_forced(tree, placement)),
        heir=_heir(placement),
        strangers=_strangers(tree, placement),
        uneven_partitions=_uneven(tree, placement),
    )


def _leaves(node: RackNode) -> slice:
    return slice(node.first, node.first + node.capacity)


def _strangers(tree: Tree, placement: Placement) -> tuple[int, ...]:
    ids = np.unique(placement.rows)
    return tuple(ids[(ids != NOBODY) & ~np.isin(ids, tree.brokers)].tolist())


def _heir(placement: Placement) -> tuple[int, int, int, int] | None:
    """The first pair (leader, second) with the greatest part of the leader's rows."""
    pairs = placement.rows[:, :2]
    pairs = pairs[(pairs != NOBODY).sum(axis=1) > 1]
    if not len(pairs):
        return None
    found, times = np.unique(pairs, axis=0, return_counts=True)
    leaders, led = np.unique(placement.rows[:, 0], return_counts=True)
    of = led[np.searchsorted(leaders, found[:, 0])]
    best = int((times / of).argmax())
    return int(found[best, 0]), int(found[best, 1]), int(times[best]), int(of[best])


def _uneven(tree: Tree, placement: Placement) -> int:
    """The number of partitions with a node whose children differ by two, although one has room."""
    uneven = 0
    for start in range(0, len(placement), BLOCK):
        leaves = tree.leaves(placement.rows[start : start + BLOCK])
        is_bad = np.zeros(len(leaves), dtype=np.bool_)
        for node in tree.inner:
            is_bad |= _is_uneven(node, leaves, len(tree.brokers))
        uneven += int(is_bad.sum())
    return uneven


def _is_uneven(node: RackNode, leaves: NDArray[np.int64], brokers: int) -> NDArray[np.bool_]:
    size = len(node.children)
    child = np.full(brokers + 1, size)
    for place, below in enumerate(node.children):
        child[_leaves(below)] = place
    cells = np.arange(len(leaves))[:, None] * (size + 1) + child[leaves]
    counts = np.bincount(cells.ravel(), minlength=len(leaves) * (size + 1))
    shares = counts.reshape(len(leaves), size + 1)[:, :size]
    has_room = shares < np.array(node.capacities)
    least = np.where(has_room, shares, brokers).min(axis=1)
    uneven: NDArray[np.bool_] = shares.max(axis=1) - least > 1
    return uneven


def _forced(tree: Tree, placement: Placement) -> Iterator[ForcedShare]:
    lengths = np.unique(placement.lengths)
    if len(lengths) != 1 or not 0 < lengths[0] <= len(tree.brokers):
        return
    replication, partitions = int(lengths[0]), len(placement)
    water = WaterTable()
    boxes = {0: (replication, replication)}
    for node in tree.inner:
        least, most = boxes[node.number]
        low, high = water.at(node, least).low, water.at(node, most).high
        has_racks = any(child.children for child in node.children)
        for place, child in enumerate(node.children):
            boxes[child.number] = (int(low[place]), int(high[place]))
            if has_racks and len(node.children) > 1:
                even = Fraction(partitions * replication * child.capacity, len(tree.brokers))
                yield from _force(node, child, (least, most), boxes[child.number], partitions, even)


def _force(
    node: RackNode,
    child: RackNode,
    above: tuple[int, int],
    box: tuple[int, int],
    partitions: int,
    even: Fraction,
) -> Iterator[ForcedShare]:
    least, most = box
    is_up = least * partitions > even
    if not is_up and most * partitions >= even:
        return
    bound = (least if is_up else most) * partitions
    amount = f"{bound} of {partitions} partitions"
    if bound > partitions:
        amount = f"{bound} replicas of {partitions} partitions"
    noun = "rack" if child.children else "broker"
    many = f" ({child.capacity} broker{'s' * (child.capacity > 1)})" if child.children else ""
    span = str(above[0]) if above[0] == above[1] else f"{above[0]} to {above[1]}"
    what = f"{span} of the replicas below {node.name}" if node.name else f"replication {span}"
    yield ForcedShare(
        name=child.name,
        brokers=child.capacity,
        least=least,
        most=most,
        even=even,
        is_up=is_up,
        text=f"{noun} {child.name}{many} {'must' if is_up else 'can only'} hold {amount}: "
        f"{what} over {len(node.children)} racks; an even share is {_plain(even)}",
    )


def _plain(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):.1f}"
