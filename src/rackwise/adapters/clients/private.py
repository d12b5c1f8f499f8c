"""All private names of kafka-python and aiokafka that Rackwise uses; no other file uses one.

```
wanted                  kafka-python 3.0          aiokafka 0.14        else
the cluster's metadata  consumer._client.cluster  the same             UnsupportedClient
replicas of partitions  cluster._partitions       the same             kafka-python: public, slower
those in sync           cluster._partitions       the same             not known
news of metadata        cluster._listeners        the same             public, racing a loop over it
ask to join again       _coordinator              the same             nothing is asked
generation              -                         _coordinator         -1
client.rack             -                         _client_rack         None
group.instance.id       -                         _group_instance_id   None
assignors               -                         see below            UnsupportedClient
```

An aiokafka consumer has its assignors in `_partition_assignment_strategy`.

`check_version`, `cluster_of` and `assignors` run when a plug-in is attached and raise
`UnsupportedClient`. The client calls the other functions back. They raise nothing; their result
shows what is not available.

Source: kafka-python 3.0.12, aiokafka 0.14.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.assignors.members import TopicPartition
from rackwise.core.errors import UnsupportedClient
from rackwise.core.text import alternatives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Theirs: TypeAlias = Any
"""An object of a client; the clients have no type hints."""

SUPPORTED = {"kafka-python": ((3, 0, 12), (3, 1)), "aiokafka": ((0, 14), (0, 15))}
"""Client -> first supported version, and the first version that is too new."""

Replicas: TypeAlias = dict[str, list[tuple[int, ...]]]
"""Topic -> partition -> broker ids, the leader first."""

InSync: TypeAlias = dict[str, list[frozenset[int]]]
"""Topic -> partition -> broker ids."""


def check_version(client: str, version: str) -> None:
    """Reject a client version whose private names are not known. Raises `UnsupportedClient`."""
    if client not in SUPPORTED:
        raise UnsupportedClient(
            f"unsupported client: expected {alternatives(list(SUPPORTED))}, got {client}",
            wanted=alternatives(list(SUPPORTED)),
            had=client,
            hint="add the client and its versions to SUPPORTED in adapters/clients/private.py",
        )
    first, end = SUPPORTED[client]
    found = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if not first <= found < end:
        raise unsupported(client, version)


def unsupported(client: str, version: str) -> UnsupportedClient:
    """The error for a client version that is not supported here."""
    first, end = SUPPORTED[client]
    wanted = f"{client} >={_dotted(first)},<{_dotted(end)}"
    return UnsupportedClient(
        f"unsupported {client}: expected {wanted}, got {version}",
        wanted=wanted,
        had=version,
        hint=f"pip install '{wanted.replace(' ', '')}'",
    )


def cluster_of(consumer: Theirs, client: str) -> Theirs:
    """The cluster metadata of a consumer. Raises `UnsupportedClient`."""
    cluster = getattr(getattr(consumer, "_client", None), "cluster", None)
    if cluster is None:
        raise _no_consumer(consumer, client)
    return cluster


def replicas(cluster: Theirs, topics: Iterable[str]) -> Replicas:
    """The replicas of each partition of those topics, for topics that the metadata has."""
    table = getattr(cluster, "_partitions", None)
    found: Replicas = {}
    for topic in sorted(topics):
        numbers = cluster.partitions_for_topic(topic)
        if numbers:
            of_topic = table.get(topic) if isinstance(table, dict) else None
            found[topic] = [
                _of_partition(cluster, topic, number, (of_topic or {}).get(number))
                for number in range(max(numbers) + 1)
            ]
    return found


def in_sync(cluster: Theirs, topics: Iterable[str]) -> InSync | None:
    """In-sync replicas of the partitions that `replicas` returns; None if they are unknown."""
    table = getattr(cluster, "_partitions", None)
    if not isinstance(table, dict):
        return None
    found: InSync = {}
    for topic in topics:
        numbers = cluster.partitions_for_topic(topic)
        if numbers:
            known = [table.get(topic, {}).get(number) for number in range(max(numbers) + 1)]
            isrs = [getattr(each, "isr_nodes", getattr(each, "isr", ())) for each in known]
            found[topic] = [frozenset(isr or ()) for isr in isrs]
    return found


def listen(cluster: Theirs, listener: Callable[[Theirs], None]) -> None:
    """Call the listener at each update of the metadata.

    The client's own thread may iterate over its listeners now, so the set is replaced, not changed.
    """
    listeners = getattr(cluster, "_listeners", None)
    if isinstance(listeners, set):
        cluster._listeners = listeners | {listener}  # noqa: SLF001 (what this file is for)
    else:
        cluster.add_listener(listener)


def client_rack(consumer: Theirs) -> str | None:
    """The rack that an aiokafka consumer fetches from; None if it is unset or not available."""
    return getattr(consumer, "_client_rack", None) or None


def assignors(consumer: Theirs) -> tuple[Theirs, ...]:
    """The assignors of an aiokafka consumer. Raises `UnsupportedClient`."""
    found = getattr(consumer, "_partition_assignment_strategy", None)
    if found is None:
        raise _no_consumer(consumer, "aiokafka")
    return tuple(found)


def instance_id(consumer: Theirs) -> str | None:
    """The instance id of an aiokafka consumer; None if it is unset or not available."""
    return getattr(consumer, "_group_instance_id", None) or None


def request_rejoin(consumer: Theirs) -> bool:
    """Request that the client joins its group again at its next poll; False if it cannot."""
    ask = getattr(getattr(consumer, "_coordinator", None), "request_rejoin", None)
    if ask is None:
        return False
    ask()
    return True


def generation(consumer: Theirs) -> int:
    """The current generation of an aiokafka consumer; -1 if it is not available."""
    found = getattr(getattr(consumer, "_coordinator", None), "generation", None)
    return found if isinstance(found, int) else -1


def _no_consumer(had: Theirs, client: str) -> UnsupportedClient:
    return UnsupportedClient(
        f"expected a consumer of {client}, got {type(had).__name__}",
        wanted=f"a consumer of {client}",
        had=type(had).__name__,
    )


def _of_partition(cluster: Theirs, topic: str, number: int, known: Theirs) -> tuple[int, ...]:
    """Broker ids, the leader first; uses public methods where the private attribute is missing."""
    brokers = getattr(known, "replica_nodes", None)  # kafka-python
    if brokers is None:
        brokers = getattr(known, "replicas", None)  # aiokafka
    if brokers is None:
        brokers = _asked_each(cluster, topic, number)
    leader = getattr(known, "leader_id", getattr(known, "leader", None))
    return tuple(sorted(brokers, key=lambda broker: broker != leader))


def _asked_each(cluster: Theirs, topic: str, number: int) -> list[int]:
    ask = getattr(cluster, "is_replica_node", None)
    if ask is None:
        return []
    where = TopicPartition(topic, number)
    ids = [broker.node_id for broker in cluster.brokers()]
    return [broker for broker in ids if ask(where, broker) is not None]


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
