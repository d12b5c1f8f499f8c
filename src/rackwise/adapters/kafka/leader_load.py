"""The write load of the leaders of each rack, read from the brokers, without producer telemetry.

```
partition  leader in   end offset at 10 s   at 15 s     growth
0          az1                  1 000         1 600        600
1          az2                  4 000         4 100        100     at 1 000 bytes a record:
2          az1                      0           300        300     az1 180 000, az2 20 000
```

A partition counts for the rack of its current leader. A partition whose log starts anew counts
nothing. The load of all producers is included, keyed records too; only Topic:Describe is needed.
Compacted topics and transactions have offsets without records: their load is overstated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import TopicPartition
from kafka.admin import OffsetSpec

from rackwise.adapters.kafka.connect import Message, ask
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka.admin import KafkaAdminClient


def leader_rack_load(
    admin: KafkaAdminClient, topic: str, *, record_bytes: float
) -> Callable[[float], Mapping[str, float]]:
    """A gauge: called with the time in seconds, it returns leader rack -> bytes_per_s since then.

    `record_bytes`: the size of an average record. The first call, and a second call at the same
    time, returns 0 for each rack. Leaders without a rack are left out. Calls raise `Unreachable`,
    `MissingPermission`, `AuthenticationFailed` or `ServerRefused`.
    """
    before: dict[int, int] = {}
    then_s = 0.0

    def load(now_s: float) -> Mapping[str, float]:
        nonlocal before, then_s
        racks = _leader_racks(admin, topic)
        now = _end_offsets(admin, topic, racks)
        passed_s = now_s - then_s if before else 0.0
        found = dict.fromkeys(sorted({rack for rack in racks.values() if rack is not None}), 0.0)
        for partition, rack in racks.items():
            if rack is not None and passed_s > 0:
                grown = max(0, now[partition] - before.get(partition, now[partition]))
                found[rack] += grown * record_bytes / passed_s
        before, then_s = now, now_s
        return found

    return load


def _leader_racks(admin: Message, topic: str) -> dict[int, str | None]:
    """Partition -> rack of its leader; partitions without a leader are left out."""
    doing = f"describe {escaped(topic)}"
    brokers = ask(admin, admin.describe_cluster, doing=doing)["brokers"]
    (described,) = ask(admin, lambda: admin.describe_topics([topic]), doing=doing)
    racks = {broker["broker_id"]: broker["rack"] for broker in brokers}
    return {
        each["partition_index"]: racks.get(each["leader_id"])
        for each in described["partitions"]
        if each["leader_id"] >= 0
    }


def _end_offsets(admin: Message, topic: str, partitions: Mapping[int, object]) -> dict[int, int]:
    wanted = {TopicPartition(topic, each): OffsetSpec.LATEST for each in partitions}
    found = ask(
        admin,
        lambda: admin.list_partition_offsets(wanted),
        doing=f"list the offsets of {escaped(topic)}",
    )
    return {where.partition: each.offset for where, each in found.items()}
