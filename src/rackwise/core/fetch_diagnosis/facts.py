"""What is known of a cluster and its clients when their reading is diagnosed."""

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
    """A fetch worth making: `near` are the replicas that the leader should name to this client."""

    client_rack: str
    topic: str
    partition: int
    leader: int
    near: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What came back: the broker that the leader named, None for none; or the error's name."""

    question: ProbeQuestion
    named: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBest:
    """A group's assignment beside the best one, in partitions; `moves` to get there, if known.

    `is_better`: the best crosses less, at some level of racks.
    """

    partitions: int
    local: int
    best_local: int
    is_better: bool
    moves: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFacts:
    """All that `diagnose_reading` looks at.

    `cluster`: brokers, partitions, broker configs and the groups to judge. `client_racks`: values
    of `client.rack` to judge besides those of the groups' members. `fetch_versions`: broker id ->
    highest version of Fetch, of the brokers that told. `probes`: answers, as far as they were asked
    for. `best`: by group; `no_best`: group -> why it has none. `not_read`: rule -> why its facts,
    or some of them, are not here.
    """

    cluster: Cluster
    client_racks: tuple[str, ...] = ()
    fetch_versions: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    probes: tuple[Probe, ...] = ()
    best: Mapping[str, GroupBest] = field(default_factory=lambda: MappingProxyType({}))
    no_best: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    not_read: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
