"""The facts as the rules look them up: racks, selectors and readers, each worked out once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fetch_diagnosis.facts import (
    FETCH_WITH_RACK,
    RACK_AWARE_SELECTOR,
    REPLICA_SELECTOR,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fetch_diagnosis.facts import ReadingFacts
    from rackwise.core.model import Broker, Group

UNSET = ""
"""The selector of a broker that has none."""


class View:
    """Facts with what follows from them; an empty rack is no rack."""

    def __init__(self, facts: ReadingFacts) -> None:
        self.facts = facts
        self.cluster = facts.cluster
        self.racks: dict[int, str | None] = {
            broker.id: (broker.rack.text or None) if broker.rack else None
            for broker in facts.cluster.brokers
        }

    @property
    def live(self) -> list[Broker]:
        """Brokers that can be asked."""
        return [broker for broker in self.cluster.brokers if broker.is_live]

    @cached_property
    def rackless(self) -> tuple[int, ...]:
        """Brokers without rack."""
        return tuple(broker for broker, rack in self.racks.items() if rack is None)

    @cached_property
    def rack_names(self) -> tuple[str, ...]:
        """Racks of brokers, sorted."""
        return tuple(sorted({rack for rack in self.racks.values() if rack is not None}))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups with members."""
        return tuple(group for group in self.cluster.groups if group.members)

    @cached_property
    def client_racks(self) -> tuple[tuple[str, str | None], ...]:
        """Each rack of a client with the group that has it; None where only the caller named it."""
        of_groups = {
            (member.rack.text, group.group)
            for group in self.groups
            for member in group.members
            if member.rack is not None and member.rack.text
        }
        seen = {rack for rack, _ in of_groups}
        given = {rack for rack in self.facts.client_racks if rack} - seen
        return (*sorted(of_groups), *((rack, None) for rack in sorted(given)))

    def is_old(self, broker: int) -> bool:
        """Whether it is known to be too old to hear of a client's rack."""
        return self.facts.fetch_versions.get(broker, FETCH_WITH_RACK) < FETCH_WITH_RACK

    def selector(self, broker: int) -> str | None:
        """Its `replica.selector.class`: `UNSET` where nobody set it, None where it is not known."""
        configs = self.cluster.configs.brokers.get(broker)
        if configs is not None:
            return configs.get(REPLICA_SELECTOR, UNSET)
        return UNSET if self._has_all_configs else None

    @cached_property
    def _has_all_configs(self) -> bool:
        """Whether a broker without configs is one on which none is set."""
        return self.cluster.source == "kafka" and not any(
            note.kind == "no-configs" for note in self.cluster.notes
        )

    def lacks_selector(self, broker: int) -> bool:
        """Whether it is known not to send clients to the replica in their rack."""
        return self.selector(broker) not in {RACK_AWARE_SELECTOR, None}

    def in_rack(self, rack: str) -> NDArray[np.int64]:
        """Ids of the brokers in a rack."""
        found = [broker for broker, each in self.racks.items() if each == rack]
        return np.array(found, dtype=np.int64)

    def covers(self, rack: str) -> NDArray[np.bool_]:
        """Row of the partition table -> whether a replica is in the rack."""
        if rack not in self._covers:
            self._covers[rack] = self._rows_on(self.in_rack(rack))
        return self._covers[rack]

    @cached_property
    def _covers(self) -> dict[str, NDArray[np.bool_]]:
        return {}

    @cached_property
    def is_blind(self) -> NDArray[np.bool_]:
        """Row of the partition table -> whether the rack of a replica is not known."""
        known = [broker for broker, rack in self.racks.items() if rack is not None]
        replicas = self.cluster.partitions.replicas
        return self._rows_on(np.setdiff1d(replicas.values, np.array(known, dtype=np.int64)))

    def _rows_on(self, brokers: NDArray[np.int64]) -> NDArray[np.bool_]:
        replicas = self.cluster.partitions.replicas
        rows = np.zeros(len(replicas), dtype=np.bool_)
        rows[replicas.rows[np.isin(replicas.values, brokers)]] = True
        return rows

    def rows_of(self, topic: str) -> slice:
        """Rows of a topic in the partition table; none for one that is not there."""
        table = self.cluster.partitions
        number = self._numbers.get(topic, len(table.topics))
        first, end = np.searchsorted(table.topic, [number, number + 1])
        return slice(int(first), int(end))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.cluster.partitions.topics)}
