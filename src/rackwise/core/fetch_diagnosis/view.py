"""The facts in the form that rules look up, each computed once, and the table of the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwise.core.fetch_diagnosis.facts import (
    FETCH_WITH_RACK,
    RACK_AWARE_SELECTOR,
    REPLICA_SELECTOR,
)
from rackwise.core.findings import Finding, RuleTable, Unchecked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fetch_diagnosis.facts import ReadingFacts
    from rackwise.core.model import Broker, Group

UNSET = ""
"""The selector of a broker without `replica.selector.class`."""


class FetchView:
    """The facts with what follows from them; an empty rack counts as no rack."""

    def __init__(self, facts: ReadingFacts) -> None:
        self.facts = facts
        self.cluster = facts.cluster
        self.troubled: set[str] = set()
        """Groups with an error or a warning; `diagnose_reading` adds them as it finds them."""
        self.racks: dict[int, str | None] = {
            broker.id: (broker.rack.text or None) if broker.rack else None
            for broker in facts.cluster.brokers
        }

    @property
    def live(self) -> list[Broker]:
        """Live brokers."""
        return [broker for broker in self.cluster.brokers if broker.is_live]

    @cached_property
    def rackless(self) -> tuple[int, ...]:
        """Ids of brokers without a rack."""
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
        """Each rack of a client with its group; None if only the caller named the rack."""
        of_groups = {
            (member.rack.text, group.group)
            for group in self.groups
            for member in group.members
            if member.rack is not None and member.rack.text
        }
        known = {rack for rack, _ in of_groups}
        others = {rack for rack in self.facts.client_racks if rack} - known
        return (*sorted(of_groups), *((rack, None) for rack in sorted(others)))

    def is_old(self, broker: int) -> bool:
        """Whether the broker is known to be too old to receive a client's rack."""
        return self.facts.fetch_versions.get(broker, FETCH_WITH_RACK) < FETCH_WITH_RACK

    def selector(self, broker: int) -> str | None:
        """The broker's `replica.selector.class`; `UNSET` if not set, None if not known."""
        configs = self.cluster.configs.brokers.get(broker)
        if configs is not None:
            return configs.get(REPLICA_SELECTOR, UNSET)
        return UNSET if self._has_all_configs else None

    @cached_property
    def _has_all_configs(self) -> bool:
        """Whether a broker missing from the configs has none set, rather than unread ones."""
        return self.cluster.source == "kafka" and not any(
            note.kind == "no-configs" for note in self.cluster.notes
        )

    def lacks_selector(self, broker: int) -> bool:
        """Whether the broker is known not to send clients to the replica in their rack."""
        return self.selector(broker) not in {RACK_AWARE_SELECTOR, None}

    def in_rack(self, rack: str) -> NDArray[np.int64]:
        """Ids of the brokers in a rack."""
        found = [broker for broker, each in self.racks.items() if each == rack]
        return np.array(found, dtype=np.int64)

    def covers(self, rack: str) -> NDArray[np.bool_]:
        """Whether each partition has a replica in the rack, bool [rows]."""
        if rack not in self._covers:
            self._covers[rack] = self._rows_on(self.in_rack(rack))
        return self._covers[rack]

    @cached_property
    def _covers(self) -> dict[str, NDArray[np.bool_]]:
        return {}

    @cached_property
    def is_blind(self) -> NDArray[np.bool_]:
        """Whether the rack of a replica of each partition is not known, bool [rows]."""
        known = [broker for broker, rack in self.racks.items() if rack is not None]
        replicas = self.cluster.partitions.replicas
        return self._rows_on(np.setdiff1d(replicas.values, np.array(known, dtype=np.int64)))

    def _rows_on(self, brokers: NDArray[np.int64]) -> NDArray[np.bool_]:
        replicas = self.cluster.partitions.replicas
        rows = np.zeros(len(replicas), dtype=np.bool_)
        rows[replicas.rows[np.isin(replicas.values, brokers)]] = True
        return rows

    def rows_of(self, topic: str) -> slice:
        """Rows of a topic in the partition table; an empty slice for an unknown topic."""
        table = self.cluster.partitions
        number = self._numbers.get(topic, len(table.topics))
        first, end = np.searchsorted(table.topic, [number, number + 1])
        return slice(int(first), int(end))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.cluster.partitions.topics)}


Results: TypeAlias = Iterator[Finding | Unchecked]
"""What a rule's function yields."""
READING_RULES: RuleTable[Callable[[FetchView], Results]] = RuleTable()
"""Rule name -> rule: causes before effects. The files of rules fill it when they are imported."""
rule = READING_RULES.rule
finding = READING_RULES.finding
