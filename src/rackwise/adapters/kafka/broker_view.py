"""The broker ids of a cluster without ZooKeeper, from the admin client.

```
registered   brokers that are listed and not fenced     (DescribeCluster, fenced ones included)
used         ids in replica lists, with those of running reassignments
at_risk      partitions that an empty disk under an id would lose; where the ISR is empty, by
             DescribeTopicPartitions (Kafka 4)
unregister   remove a broker that is gone from the controller (KRaft only)
```

Kafka hides topics that the principal may not describe, so they cannot be checked. Needed
permissions: Topic:Describe on all topics and Cluster:Describe; Cluster:Alter to unregister.

What this does not do: report incarnations or sessions; the protocol does not have them.

Source: KIP-700, KIP-1073 (fenced brokers), KIP-631, KIP-966 (eligible leader replicas).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import kafka.errors as kafka_errors

from rackwise.adapters.kafka.connect import Message, ask, send
from rackwise.adapters.kafka.messages import UnregisterBrokerRequest
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.adapters.kafka.topics import read_eligible, read_layout, read_reassignments
from rackwise.core.identity.model import Registration
from rackwise.core.identity.nodes import guard
from rackwise.core.identity.nodes.guard import PartitionReplicas
from rackwise.core.identity.nodes.nodes import endpoint

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

    from rackwise.core.model import PartitionTable


@final
class AdminView:
    """`ClusterView` of an admin client; each call reads anew and raises what `ask` raises."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def cluster_id(self) -> str | None:
        """The id of the cluster."""
        return self._described()["cluster_id"]  # type: ignore[no-any-return]

    def registered(self) -> dict[int, Registration]:
        """Live brokers, fenced ones left out; the endpoint is that of our listener."""
        return {
            each["broker_id"]: Registration(
                broker_id=each["broker_id"],
                endpoints=frozenset({endpoint(each["host"], each["port"])}),
            )
            for each in self._described()["brokers"]
            if not each.get("is_fenced")
        }

    def used(self) -> frozenset[int]:
        """Ids in replica lists, with those of running reassignments."""
        table = self._table()
        columns = (table.replicas, table.adding, table.removing)
        return frozenset(int(id_) for column in columns for id_ in column.values)

    def at_risk(self, id: int, present: frozenset[str]) -> tuple[str, ...]:  # noqa: A002, the word
        """Partitions, such as `orders-4`, that an empty disk under this id would lose."""
        live = frozenset(self.registered())
        return guard.at_risk(self.partitions_of(id), id, registered=live, present=present)

    def partitions_of(self, id: int) -> tuple[PartitionReplicas, ...]:  # noqa: A002, the word
        """Partitions with a replica of this id, with the replicas that may lead them."""
        table = self._table()
        found = [
            PartitionReplicas(
                topic=table.topics[int(table.topic[row])],
                partition=int(table.partition[row]),
                replicas=frozenset(table.replicas.row(row)),
                isr=frozenset(table.isr.row(row)),
            )
            for row in range(len(table.topic))
            if id in table.replicas.row(row)
        ]
        without_isr = sorted({each.topic for each in found if not each.isr})
        eligible = read_eligible(self._admin, without_isr) if without_isr else {}
        return tuple(
            each
            if each.isr
            else replace(each, eligible=eligible.get((each.topic, each.partition), frozenset()))
            for each in found
        )

    def unregister(self, id: int) -> None:  # noqa: A002, the word
        """Remove a broker from the controller. Raises `MissingPermission`, `ServerRefused`."""
        ask(self._admin, lambda: self._unregister(id), doing=f"unregister broker {id}")

    def _unregister(self, id: int) -> None:  # noqa: A002, the word
        request: Message = UnregisterBrokerRequest
        error_of: Message = kafka_errors.for_code
        answer = send(self._admin, request(broker_id=id))
        if not answer.error_code:
            return
        error = error_of(answer.error_code)
        if issubclass(error, kafka_errors.ClusterAuthorizationFailedError):
            raise missing_permission(
                error.__name__, doing=f"unregister broker {id}", operation="Alter"
            )
        raise error(answer.error_message)

    def _described(self) -> dict[str, Any]:
        return ask(self._admin, self._admin.describe_cluster, doing="describe itself")

    def _table(self) -> PartitionTable:
        reassignments = read_reassignments(self._admin)
        return read_layout(self._admin, _all, reassignments).table


def _all(_: str) -> bool:
    return True
