"""A cluster at one moment, and the loads that its brokers should have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.model.parts import AnswerTimes, Configs
from rackwise.core.odd_racks import NO_MAP, mapped_rack, settle_racks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.model.partition_table import PartitionTable
    from rackwise.core.model.parts import Broker, Group, Note, Topic
    from rackwise.core.odd_racks import OddRack


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster at one moment."""

    cluster_id: str | None
    taken_at: str
    """UTC, ISO 8601 with `Z`."""
    brokers: tuple[Broker, ...]
    """In id order."""
    topics: Mapping[str, Topic]
    partitions: PartitionTable
    groups: tuple[Group, ...] = ()
    configs: Configs = field(default_factory=Configs)
    notes: tuple[Note, ...] = ()
    source: str = "kafka"
    """`kafka`, `reassignment` or `suppose` (a what-if change of another cluster)."""
    name: str | None = None
    """The name that people call the cluster by; None for its id."""
    answered: AnswerTimes = field(default_factory=AnswerTimes)
    odd_racks: tuple[OddRack, ...] = ()
    """The racks that `settled` has left out; none in a cluster as it was read."""

    def settled(self, names: Mapping[str, str] = NO_MAP) -> Cluster:
        """The cluster with the racks that count: mapped, sound, of one form (`core.odd_racks`).

        `names`: plain name -> path, `racks.map` of a policy. Brokers with odd racks have none. The
        racks of clients stay: Kafka compares them with those of brokers as texts. The cluster
        itself if all its racks count.
        """
        found = settle_racks(((broker.id, broker.rack) for broker in self.brokers), names)
        brokers = tuple(
            broker if broker.rack == rack else replace(broker, rack=rack)
            for broker, rack in zip(self.brokers, found.racks.values(), strict=True)
        )
        if brokers == self.brokers:
            return self
        return replace(self, brokers=brokers, odd_racks=(*self.odd_racks, *found.odd))

    def mapped(self, names: Mapping[str, str]) -> Cluster:
        """The cluster with names mapped into paths, and with odd racks as the brokers name them.

        `names`: plain name -> path, `racks.map` of a policy.
        """
        return replace(self, brokers=mapped_brokers(self.brokers, names))


def mapped_brokers(brokers: Iterable[Broker], rack_map: Mapping[str, str]) -> tuple[Broker, ...]:
    """The brokers with rack names mapped into paths; `rack_map`: plain name -> path."""
    return tuple(replace(broker, rack=mapped_rack(broker.rack, rack_map)) for broker in brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FairLoads:
    """What each broker should hold: fair ranges by broker id, both ends included.

    A missing broker has no limit. A planner computes the ranges; the audit only compares.
    """

    low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Least number of replicas."""
    high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Greatest number of replicas."""
    leader_low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Least number of preferred leaderships."""
    leader_high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Greatest number of preferred leaderships."""
    topic_caps: Mapping[str, Mapping[int, int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Topic -> broker id -> greatest number of its replicas."""
