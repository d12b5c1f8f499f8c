"""The view of the cluster in ZooKeeper: the scan of KIP-426, and the data guard.

```
registered      /brokers/ids/*                             registered brokers
used            /brokers/topics/*                          ids in replica lists
partitions_of   .../partitions/<n>/state of those          in-sync replicas of each
at_risk         partitions_of + registered                 what an empty disk would lose
```

The scan reads one node for each topic, 500 at a time. A topic that is deleted meanwhile is skipped.
A topic that cannot be read makes the answer incomplete, so it is an error. Nothing is cached: each
call reads again.

What this does not do: lock. An ISR member may die right after the read.

Source: KIP-426 (b), `kafka.zk.TopicZNode`, `TopicPartitionStateZNode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

from rackwise.core.identity.nodes import guard
from rackwise.core.identity.nodes.guard import PartitionReplicas
from rackwise.core.identity.nodes.nodes import ids_in_names, parse_registration
from rackwise.core.identity.nodes.store import IDS, TOPICS
from rackwise.core.identity.nodes.topics import parse_state, parse_topic, state_path, used_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rackwise.core.identity.model import Registration
    from rackwise.core.identity.nodes.store import StoredNode

AT_ONCE = 2000
"""How many nodes are read before they are parsed."""


class NodeReader(Protocol):
    """The methods that the view needs of a store."""

    def read(
        self, paths: Sequence[str], advance: Callable[[int], None] | None = None
    ) -> Mapping[str, StoredNode | None]:
        """Read each node; `advance` receives how many more are read."""

    def children(self, path: str) -> list[str]:
        """List the names below a node."""


@final
class ZooKeeperView:
    """`ClusterView` on Kafka's own nodes. `progress` receives `(done, of)` topics of a scan."""

    def __init__(
        self, store: NodeReader, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._store = store
        self._progress = progress

    def registered(self) -> dict[int, Registration]:
        """Return the registered brokers. Raises `StoreCorrupt` and what the store raises."""
        found = {id_: f"{IDS}/{id_}" for id_ in sorted(self._registered_ids())}
        nodes = self._store.read(list(found.values()))
        return {
            id_: parse_registration(node, id=id_)
            for id_, path in found.items()
            if (node := nodes[path]) is not None
        }

    def used(self) -> frozenset[int]:
        """Return the ids in replica lists, with those of running reassignments."""
        return used_ids(replicas for _, replicas in self._topics())

    def at_risk(self, id: int, present: frozenset[str]) -> tuple[str, ...]:  # noqa: A002, the word
        """Return the partitions, such as `orders-4`, that only this id keeps alive and in sync."""
        partitions = self.partitions_of(id)
        return guard.at_risk(partitions, id, registered=self._registered_ids(), present=present)

    def partitions_of(self, id: int) -> tuple[PartitionReplicas, ...]:  # noqa: A002, the word
        """Return each partition with a replica of this id: its replicas and its ISR."""
        wanted = {
            state_path(topic, partition): (topic, partition, ids)
            for topic, replicas in self._topics()
            for partition, ids in replicas.items()
            if id in ids
        }
        return tuple(
            PartitionReplicas(
                topic=topic,
                partition=partition,
                replicas=frozenset(ids),
                isr=frozenset(parse_state(node, topic=topic, partition=partition).isr),
            )
            for path, node in self._nodes(list(wanted))
            for topic, partition, ids in [wanted[path]]
        )

    def _registered_ids(self) -> frozenset[int]:
        return ids_in_names(self._store.children(IDS))

    def _topics(self) -> Iterator[tuple[str, dict[int, tuple[int, ...]]]]:
        names = self._store.children(TOPICS)
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            if self._progress is not None:
                self._progress(done, len(names))

        for path, node in self._nodes([f"{TOPICS}/{name}" for name in names], advance):
            topic = path.removeprefix(f"{TOPICS}/")
            yield topic, parse_topic(node, topic=topic)

    def _nodes(
        self, paths: Sequence[str], advance: Callable[[int], None] | None = None
    ) -> Iterator[tuple[str, StoredNode]]:
        """Return the nodes that exist."""
        for start in range(0, len(paths), AT_ONCE):
            found = self._store.read(paths[start : start + AT_ONCE], advance)
            yield from ((path, node) for path, node in found.items() if node is not None)
