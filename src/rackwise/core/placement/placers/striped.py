"""KRaft's placer, bit for bit: the leader's rack advances by one with each partition.

Goals, in order: the same rows as `StripedReplicaPlacer` of Kafka 3.0 to 4.x for the same draws,
including its quirks; a million rows in seconds.

The algorithm. Every rack has a list of unfenced brokers and a list of fenced brokers. Each list is
in id order and starts at a random offset. The leader of a partition is the next unfenced broker of
the current rack. The racks supply the other replicas in turn, and the leader's rack is skipped
once. Each rack supplies its next unfenced broker, or else its next fenced broker. With the next
partition, the next rack becomes the current one, and each list that is used starts one broker
further. After as many partitions as there are unfenced brokers, the racks and the lists are
shuffled.

```
a: 0 1 2    b: 3 4    c: 5           offsets 0, no shuffle yet
p=0  turn a   0 3 5
p=1  turn b   4 5 1
p=2  turn c   5 2 3
```

Brokers without a rack form one more rack, before the others. Kafka draws random numbers for the
racks in the order of a Java `HashMap` with the rack names as keys. This module computes the same
order. Names in the same bucket keep the order in which they first appear among the brokers.

A quirk: if a list was last used in epoch e before a shuffle, and is first used in epoch e after the
shuffle, it continues at its old position instead of starting again.

This placer ignores existing rows, of this topic and of others, and has no start. If nine names are
in one bucket, Java uses a tree or a larger table, and this module keeps a list.

Source: `org.apache.kafka.metadata.placement.StripedReplicaPlacer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rackwise.core.errors import InvalidConfig
from rackwise.core.placement.checks import check_registered
from rackwise.core.placement.placers.kip36 import rack_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Draws, Request

    Item = TypeVar("Item")

NOTHING = -1
"""What a list gives that has no broker left in this epoch."""
SMALLEST_TABLE = 16
HASH_BASE = 31
HASH_END = 2**32


@dataclass(frozen=True, slots=True)
class Striped:
    """KRaft's rule. It has no options and draws from `rng`.

    Raises `InvalidConfig` without `rng`, and `NotEnoughBrokers` as upstream's class does.
    """

    name: ClassVar[str] = "striped"

    def place(self, request: Request, /) -> NDArray[np.int32]:
        """Rows of broker ids, int32 [partitions, replication]."""
        if request.rng is None:
            raise InvalidConfig(
                "striped needs rng", wanted="rng", hint="give rng= a seeded random.Random"
            )
        fenced = [broker for broker in request.brokers if broker.is_fenced]
        unfenced = [broker for broker in request.brokers if not broker.is_fenced]
        check_registered(request.replication, unfenced, fenced)
        racks = _Racks(request.brokers, request.rng)
        width = request.replication
        made = (broker for _ in range(request.partitions) for broker in racks.place(width))
        rows = np.fromiter(made, dtype=np.int32, count=request.partitions * width)
        return rows.reshape(request.partitions, width)


class _List:
    """Brokers of one rack, fenced or unfenced; each epoch supplies each broker at most once."""

    __slots__ = ("_epoch", "_index", "_offset", "ids")

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = sorted(ids)
        self._offset = self._index = self._epoch = 0

    def begin(self, rng: Draws) -> None:
        if self.ids:
            self._offset = rng.randrange(len(self.ids))

    def next(self, epoch: int) -> int:
        size = len(self.ids)
        if self._epoch != epoch and size:
            self._epoch = epoch
            self._index = 0
            self._offset = (self._offset + 1) % size
        index = self._index
        if index >= size:
            return NOTHING
        self._index = index + 1
        return self.ids[(index + self._offset) % size]


class _Racks:
    """The state of all racks between two partitions: the current rack, and each list's position."""

    def __init__(self, brokers: Sequence[Broker], rng: Draws) -> None:
        members: dict[tuple[bool, bytes], list[Broker]] = {}
        for broker in brokers:
            members.setdefault(rack_key(broker), []).append(broker)
        lists = {
            rack: (
                _List(broker.id for broker in of_rack if not broker.is_fenced),
                _List(broker.id for broker in of_rack if broker.is_fenced),
            )
            for rack, of_rack in members.items()
        }
        self._rng = rng
        self._order = [lists[rack] for rack in sorted(lists)]
        self._drawn = [each for rack in _hash_order(list(lists)) for each in reversed(lists[rack])]
        self._unfenced = sum(not broker.is_fenced for broker in brokers)
        self._epoch = 0
        for each in self._drawn:
            each.begin(rng)
        self._turn = rng.randrange(len(self._order))

    def place(self, replication: int) -> list[int]:
        """The brokers of the next partition."""
        if self._epoch == self._unfenced > 1:
            self._shuffle()
        order, epoch = self._order, self._epoch
        if self._turn == len(order):
            self._turn = 0
        leading, leader = self._turn, NOTHING
        while (leader := order[leading][0].next(epoch)) == NOTHING:
            leading = (leading + 1) % len(order)
        row = [leader]
        at, is_leading_met = self._turn, False
        while len(row) < replication:
            if at == leading and not is_leading_met:
                is_leading_met = True
            else:
                unfenced, fenced = order[at]
                broker = unfenced.next(epoch)
                if broker == NOTHING:
                    broker = fenced.next(epoch)
                if broker != NOTHING:
                    row.append(broker)
            at += 1
            if at == len(order):
                at = 0
        self._epoch += 1
        self._turn += 1
        return row

    def _shuffle(self) -> None:
        _shuffle(self._order, self._rng)
        for each in self._drawn:
            _shuffle(each.ids, self._rng)
        self._epoch = 0


def _shuffle(items: list[Item], rng: Draws) -> None:
    """`Collections.shuffle`."""
    for size in range(len(items), 1, -1):
        other = rng.randrange(size)
        items[size - 1], items[other] = items[other], items[size - 1]


def _hash_order(racks: Sequence[tuple[bool, bytes]]) -> list[tuple[bool, bytes]]:
    """Racks in the order of a Java `HashMap` keyed by `Optional<String>`."""
    table = SMALLEST_TABLE
    while len(racks) > table * 3 // 4:
        table *= 2
    return sorted(racks, key=lambda rack: _spread(rack[1]) & (table - 1))


def _spread(name: bytes) -> int:
    """`hashCode` of UTF-16 code units, big end first, with its upper half folded onto the lower."""
    code = 0
    for high, low in zip(name[::2], name[1::2], strict=True):
        code = (code * HASH_BASE + (high << 8 | low)) % HASH_END
    return code ^ code >> 16
