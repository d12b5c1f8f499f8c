"""The assignor `uniform` on the broker, the default of the consumer protocol.

Goals, in order: loads differ by at most one where subscriptions allow it; few partitions move.

```
all members list the same topics    `uniform_same`:  keep up to the quota, fill up in order
otherwise                           `uniform_mixed`: keep, give to the least loaded, even out
```

What this does not do: respect racks (Kafka removed that in KAFKA-16694).

Source: KIP-848; `org.apache.kafka.coordinator.group.assignor.UniformAssignor` of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.server.group import NO_IDS, CoordinatedGroup
from rackwise.core.assignors.server.uniform_mixed import assign_uniform_mixed
from rackwise.core.assignors.server.uniform_same import assign_uniform_same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks


def assign_uniform(
    members: Members, racks: ReplicaRacks, *, topic_ids: Mapping[str, str] = NO_IDS
) -> Assignment:
    """The assignment of the broker's `uniform`; `owned` is what members have, as the target says.

    `topic_ids`: topic -> id in base64url. They decide the order of several topics; topics without
    ids are taken in order of their names. Raises `InvalidMember` and `InvalidReplicaRacks`.
    """
    group = CoordinatedGroup.of(members, racks, topic_ids)
    return assign_uniform_same(group) if group.has_equal_topics else assign_uniform_mixed(group)
