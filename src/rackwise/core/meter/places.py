"""Where leaders, replicas and owners of partitions are in one snapshot of a pair.

Both snapshots are seen in the rows of the second one, with brokers, racks and addresses as codes,
so that they can be compared:

```
brokers   ids 1 2 7            -> codes 0 1 2          -1 = no broker
owners    (group 0, row 5)     -> member 3: address 10.0.0.7, rack /eu/a
```

A partition that is new since the first snapshot is where the second one has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.model import UNKNOWN, Ragged

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.meter.looks import LookPair
    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack

    RackOf: TypeAlias = Callable[[Group, GroupMember], Rack | None]


class MeterCodes:
    """Codes of brokers, racks and addresses; racks and addresses in the order of their use."""

    def __init__(self, pair: LookPair) -> None:
        ids = [UNKNOWN]
        for cluster in (pair.first, pair.second):
            ids += [broker.id for broker in cluster.brokers]
            ids += np.unique(cluster.partitions.replicas.values).tolist()
        self.brokers = np.unique(np.array(ids, dtype=np.int64))[1:]
        """Broker ids by code, ascending."""
        self._racks: dict[str, int] = {}
        self._addresses: dict[str, int] = {}

    @property
    def racks(self) -> tuple[str, ...]:
        """Texts of racks by code."""
        return tuple(self._racks)

    @property
    def addresses(self) -> tuple[str, ...]:
        """IP addresses by code."""
        return tuple(self._addresses)

    def broker(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Codes of broker ids; -1 for -1."""
        return np.where(ids >= 0, np.searchsorted(self.brokers, ids), UNKNOWN)

    def rack(self, rack: Rack | None) -> int:
        """The code of a rack; -1 for None."""
        return UNKNOWN if rack is None else self._racks.setdefault(rack.text, len(self._racks))

    def address(self, address: str | None) -> int:
        """The code of an address; -1 for None."""
        if address is None:
            return UNKNOWN
        return self._addresses.setdefault(address, len(self._addresses))


class LookPlaces:
    """One snapshot of a pair, in the rows of the second one."""

    def __init__(
        self, pair: LookPair, cluster: Cluster, rack_of: RackOf, names: MeterCodes
    ) -> None:
        late = pair.second.partitions
        rows = np.arange(len(late)) if cluster is pair.second else pair.row
        is_new = rows < 0
        leader = np.append(cluster.partitions.leader, np.int32(UNKNOWN))[rows]
        self.leader = names.broker(np.where(is_new, late.leader, leader))
        """Broker code of the leader of each row; -1 = none."""
        self.replicas = _coded(_rows(cluster.partitions.replicas, late.replicas, rows), names)
        """Broker codes of the replicas of each row."""
        self.isr = _coded(_rows(cluster.partitions.isr, late.isr, rows), names)
        """Broker codes of the in-sync replicas of each row."""
        count = len(names.brokers)
        # [brokers + 1]: the last place is that of code -1.
        self.rack = np.full(count + 1, UNKNOWN, dtype=np.int64)
        """Broker code -> rack code; -1 = not known."""
        self.is_live = np.zeros(count + 1, dtype=np.bool_)
        """Broker code -> whether the broker is alive."""
        self.selects = np.zeros(count + 1, dtype=np.bool_)
        """Broker code -> whether it sends readers to replicas in their rack."""
        for broker in cluster.brokers:
            code = int(np.searchsorted(names.brokers, broker.id))
            self.rack[code] = names.rack(broker.rack)
            self.is_live[code] = broker.is_live
            configs = cluster.configs.brokers.get(broker.id, {})
            self.selects[code] = configs.get(REPLICA_SELECTOR) == RACK_AWARE_SELECTOR
        self._read_owners(cluster, pair.second, rack_of, names)

    def _read_owners(
        self, cluster: Cluster, later: Cluster, rack_of: RackOf, names: MeterCodes
    ) -> None:
        """Fill the members, and the member that owns each partition of each group."""
        numbers = {group.group: number for number, group in enumerate(later.groups)}
        topics = {name: place for place, name in enumerate(later.partitions.topics)}
        starts = later.partitions.first_rows.tolist()
        width = len(later.partitions)
        members: list[tuple[int, int, int]] = []
        owned: dict[int, int] = {}
        for group in cluster.groups:
            number = numbers.get(group.group)
            if number is None:
                continue
            for member in group.members:
                code = len(members)
                members.append(
                    (
                        names.address(member.address),
                        names.rack(rack_of(group, member)),
                        names.rack(member.rack),
                    )
                )
                for topic, partition in member.partitions:
                    place = topics.get(topic)
                    if place is not None and partition < starts[place + 1] - starts[place]:
                        owned.setdefault(number * width + starts[place] + partition, code)
        self._width = width
        self._owned = np.array(sorted(owned), dtype=np.int64)
        self._owner = np.array([owned[key] for key in self._owned.tolist()], dtype=np.int64)
        # [members + 1, 3]: address, rack, reported rack; the last row is that of no member.
        self._members = np.array([*members, (UNKNOWN, UNKNOWN, UNKNOWN)], dtype=np.int64)

    def owners(
        self, group: NDArray[np.int32], row: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Address, rack and reported rack of the member that owns each (group, row); -1 = none."""
        keys = group.astype(np.int64) * self._width + row
        at = np.searchsorted(self._owned, keys)
        is_owned = np.append(self._owned, UNKNOWN)[at] == keys
        member = np.where(is_owned, np.append(self._owner, UNKNOWN)[at], UNKNOWN)
        address, rack, reported = self._members[member].T
        return address, rack, reported

    def sources(self, row: NDArray[np.int64], reported: NDArray[np.int64]) -> NDArray[np.int64]:
        """Broker code of the replica that a member of a reported rack reads; rows may repeat."""
        leader = self.leader[row]
        nearest = leader.copy()
        is_far = self.selects[leader] & (reported >= 0) & (self.rack[leader] != reported)
        far = np.flatnonzero(is_far)
        isr = self.isr.take(row[far])
        is_near = (self.rack[isr.values] == reported[far][isr.rows]) & self.is_live[isr.values]
        found, first = np.unique(isr.rows[is_near], return_index=True)
        nearest[far[found]] = isr.values[is_near][first]
        return nearest


def _rows(ragged: Ragged, later: Ragged, rows: NDArray[np.int64]) -> Ragged:
    """The rows with these numbers; for -1 those of `later` in the same place."""
    if ragged is later:
        return ragged
    both = Ragged(
        np.concatenate([ragged.offsets, ragged.offsets[-1] + later.offsets[1:]]),
        np.concatenate([ragged.values, later.values]),
    )
    return both.take(np.where(rows >= 0, rows, len(ragged) + np.arange(len(rows))))


def _coded(ragged: Ragged, names: MeterCodes) -> Ragged:
    return Ragged(ragged.offsets, names.broker(ragged.values).astype(np.int32))
