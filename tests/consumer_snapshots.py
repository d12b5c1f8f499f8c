"""Snapshots of small clusters with consumer groups."""

from __future__ import annotations

from rackwise.adapters.files import write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.model import (
    Broker,
    Cluster,
    Group,
    GroupMember,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.racks import Rack
from refusals import called

RACKS = {1: "use1-az1", 2: "use1-az2", 3: "use1-az3"}


def member(member_id, rack, partitions, **known):
    """A member that reads those partitions of `orders`; with rack None it shows no rack."""
    told = {"client_id": f"app-{member_id}", "topics": ("orders",), **known}
    return GroupMember(
        member_id=member_id,
        rack=None if rack is None else Rack(rack),
        partitions=tuple(("orders", number) for number in partitions),
        **told,
    )


def group(*members, name="billing", **known):
    """A stable group of the classic protocol, assigned by range."""
    told = {"protocol": "classic", "assignor": "range", "state": "Stable", **known}
    return Group(group=name, members=members, **told)


def cluster(leaders, *groups, notes=()):
    """Three brokers in three racks; partition i of `orders` is on broker `leaders[i]` only."""
    return Cluster(
        cluster_id="demo",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(Broker(id=id_, rack=Rack(rack)) for id_, rack in RACKS.items()),
        topics={"orders": Topic(name="orders")},
        partitions=PartitionTable.of(
            Partition(
                topic="orders", partition=number, replicas=(leader,), leader=leader, isr=(leader,)
            )
            for number, leader in enumerate(leaders)
        ),
        groups=groups,
        notes=notes,
    )


def eighty_five():
    """60 partitions, 6 members with 10 each; 51 partitions are local, and all could be."""
    leaders = [1] * 20 + [2] * 20 + [3] * 20
    dealt = [list(range(start, start + 10)) for start in range(0, 60, 10)]
    for number in range(3):
        a, b, c = dealt[0][number], dealt[2][number], dealt[4][number]
        dealt[0][number], dealt[2][number], dealt[4][number] = b, c, a
    racks = [RACKS[1]] * 2 + [RACKS[2]] * 2 + [RACKS[3]] * 2
    members = [member(f"m{i}", racks[i], sorted(dealt[i])) for i in range(6)]
    return cluster(leaders, group(*members))


def limited(assignor="range"):
    """9 partitions in the first rack, 3 and 3 in the others; 1, 2 and 2 members; 9 are local."""
    leaders = [1] * 9 + [2] * 3 + [3] * 3
    dealt = [(0, 1, 2), (9, 10, 3), (11, 4, 5), (12, 13, 6), (14, 7, 8)]
    racks = [RACKS[1], RACKS[2], RACKS[2], RACKS[3], RACKS[3]]
    members = [
        member(f"m{i}", rack, sorted(numbers))
        for i, (rack, numbers) in enumerate(zip(racks, dealt, strict=True))
    ]
    return cluster(leaders, group(*members, assignor=assignor))


def said(folder, verb, value, *options):
    """Exit code, stdout and stderr of `rackwise consumer` on a cluster."""
    return called("consumer", verb, *written(folder, value), *options)


def document(text):
    """The JSON document on stdout."""
    return parse(text.encode(), where="stdout", error=InvalidConfig)


def written(folder, value):
    """The options that name the cluster's snapshot as source."""
    path = folder / "s.json.gz"
    write_snapshot(value, path)
    return ["--snapshot", str(path)]
