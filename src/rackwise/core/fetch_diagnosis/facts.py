"""The facts from which reading is diagnosed: what is known of a cluster and its clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.model import Cluster

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The selector that sends a client to a replica in its own rack (KIP-392)."""
REPLICA_SELECTOR = "replica.selector.class"
FETCH_WITH_RACK = 11
"""The first version of Fetch that carries the client's rack (Kafka 2.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeQuestion:
    """A fetch that shows whether a leader sends a client to the replica in its rack."""

    client_rack: str
    topic: str
    partition: int
    leader: int
    near: tuple[int, ...]
    """The replicas of which the leader should name one to this client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The answer to a probe."""

    question: ProbeQuestion
    named: int | None = None
    """The broker that the leader named; None if it named none."""
    error: str | None = None
    """The error's name if the fetch failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBest:
    """A group's assignment compared with the best one, in partitions."""

    partitions: int
    """All partitions that the group reads."""
    local: int
    """Those that are read in the reader's rack now."""
    best_local: int
    """Those that the best assignment reads in the reader's rack; as many as now in a group whose
    assignment nobody can choose."""
    is_better: bool
    """Whether the best assignment crosses racks less often, at some level."""
    moves: int | None = None
    """Partitions that change their member; None = not known."""
    on_server: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Kafka's assignor on the broker -> local partitions on average after all members restarted;
    only for groups of the consumer protocol whose members have racks."""
    after_rebalance: int | None = None
    """Those that are read in the reader's rack after the group's own assignor has run again, for a
    group with static members; None = not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFacts:
    """The input of `diagnose_reading`."""

    cluster: Cluster
    """Brokers, partitions, broker configs, and the groups to check."""
    client_racks: tuple[str, ...] = ()
    """Values of `client.rack` to check in addition to those of the groups' members."""
    fetch_versions: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Broker id -> highest version of Fetch, for brokers that reported it."""
    probes: tuple[Probe, ...] = ()
    """Answers to the probes that were sent."""
    best: Mapping[str, GroupBest] = field(default_factory=lambda: MappingProxyType({}))
    """Group -> its assignment compared with the best one."""
    no_best: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Group -> why `best` does not have it."""
    not_read: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Rule -> why its facts, or some of them, are missing."""
