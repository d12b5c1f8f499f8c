"""One row per cluster for Spark tasks: replicas, leaders, brokers, groups.

```
cluster  brokers            topics    topic  partition  leader  offsets  replicas     members
demo     1 a, 2 b, 3 c      orders    0 0 0  0 1 2      1 2 3   0 2 4 6  1 2 2 3 3 1  m0 in b ..
```

The driver resolves the racks of members first, so a task needs no subnets and no network. Replicas
that a running reassignment adds are left out.

What this does not do: hold data that no saving needs (sizes, in-sync replicas, log folders).
"""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from rackwise.core.model import (
    UNKNOWN,
    Broker,
    Cluster,
    Configs,
    Group,
    GroupMember,
    PartitionTable,
    Ragged,
)
from rackwise.core.racks import Rack
from rackwise.pipeline.fleet.fleet_columns import SELECTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from rackwise.pipeline.fleet.snapshots import Snapshot

    RackOf: TypeAlias = Callable[[Cluster, Group, GroupMember], Rack | None]

_BROKER = pa.struct(
    [("id", pa.int32()), ("rack", pa.string()), ("is_live", pa.bool_()), ("selector", pa.string())]
)
_OWNED = pa.struct([("topic", pa.string()), ("partition", pa.int32())])
_MEMBER = pa.struct(
    [
        ("group", pa.string()),
        ("protocol", pa.string()),
        ("assignor", pa.string()),
        ("member", pa.string()),
        ("rack", pa.string()),
        ("topics", pa.list_(pa.string())),
        ("owned", pa.list_(_OWNED)),
        ("generation", pa.int64()),
    ]
)
SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("brokers", pa.list_(_BROKER)),
        ("topics", pa.list_(pa.string())),
        ("topic", pa.list_(pa.int32())),
        ("partition", pa.list_(pa.int32())),
        ("leader", pa.list_(pa.int32())),
        ("offsets", pa.list_(pa.int64())),
        ("replicas", pa.list_(pa.int32())),
        ("members", pa.list_(_MEMBER)),
    ]
)


LAYOUT = from_arrow_schema(SCHEMA)
"""The columns of `layout_table`."""


def layout_table(snapshots: Iterable[Snapshot], rack_of: RackOf) -> pa.Table:
    """One row per cluster; `rack_of`: the rack of a member at the time of a snapshot."""
    rows = [_row(one.name, one.cluster, rack_of) for one in snapshots]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def cluster_of(row: Mapping[str, Any]) -> Cluster:
    """The cluster of a row; it has only what the row describes."""
    rows = len(row["topic"])
    unknown, none = np.full(rows, UNKNOWN, dtype=np.int64), Ragged.empty(rows)
    return Cluster(
        cluster_id=None,
        taken_at="",
        brokers=tuple(
            Broker(id=one["id"], rack=_rack(one["rack"]), is_live=one["is_live"])
            for one in row["brokers"]
        ),
        topics=MappingProxyType({}),
        partitions=PartitionTable(
            topics=tuple(row["topics"]),
            topic=np.array(row["topic"], dtype=np.int32),
            partition=np.array(row["partition"], dtype=np.int32),
            leader=np.array(row["leader"], dtype=np.int32),
            replicas=Ragged(
                np.array(row["offsets"], dtype=np.int64), np.array(row["replicas"], dtype=np.int32)
            ),
            isr=none,
            adding=none,
            removing=none,
            bytes=unknown,
            bytes_in_per_s=unknown,
        ),
        groups=tuple(_groups(row["members"])),
        configs=Configs(
            brokers={
                one["id"]: {SELECTOR: one["selector"]}
                for one in row["brokers"]
                if one["selector"] is not None
            }
        ),
    )


def _row(name: str, cluster: Cluster, rack_of: RackOf) -> dict[str, Any]:
    table, placed = cluster.partitions, cluster.partitions.placed
    return {
        "cluster": name,
        "brokers": [
            {
                "id": broker.id,
                "rack": None if broker.rack is None else broker.rack.text,
                "is_live": broker.is_live,
                "selector": cluster.configs.brokers.get(broker.id, {}).get(SELECTOR),
            }
            for broker in cluster.brokers
        ],
        "topics": table.topics,
        "topic": table.topic,
        "partition": table.partition,
        "leader": table.leader,
        "offsets": placed.offsets,
        "replicas": placed.values,
        "members": [
            _member(group, member, rack_of(cluster, group, member))
            for group in cluster.groups
            for member in group.members
        ],
    }


def _member(group: Group, member: GroupMember, rack: Rack | None) -> dict[str, Any]:
    return {
        "group": group.group,
        "protocol": group.protocol,
        "assignor": group.assignor,
        "member": member.member_id,
        "rack": None if rack is None else rack.text,
        "topics": member.topics,
        "owned": [{"topic": topic, "partition": number} for topic, number in member.partitions],
        "generation": member.generation,
    }


def _groups(members: Iterable[Mapping[str, Any]]) -> Iterable[Group]:
    by_group: defaultdict[tuple[str, str | None, str | None], list[GroupMember]]
    by_group = defaultdict(list)
    for one in members:
        by_group[one["group"], one["protocol"], one["assignor"]].append(
            GroupMember(
                member_id=one["member"],
                client_id="",
                rack=_rack(one["rack"]),
                topics=None if one["topics"] is None else tuple(one["topics"]),
                generation=one["generation"],
                partitions=tuple((own["topic"], own["partition"]) for own in one["owned"]),
            )
        )
    for (name, protocol, assignor), own in by_group.items():
        yield Group(group=name, protocol=protocol, assignor=assignor, members=tuple(own))


def _rack(text: str | None) -> Rack | None:
    return None if text is None else Rack(text)
