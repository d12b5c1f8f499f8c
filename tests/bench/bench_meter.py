"""A pair of snapshots as a meter: `python tests/bench/bench_meter.py`.

Pair: metered flows of 1,000,000 partitions and 200 groups / strict read of the two snapshots. Each
group reads 5,000 partitions, of which half changed owners in between.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from bench_audit import BROKERS, PARTITIONS, PER_TOPIC, RACKS, cluster
from pairs import compare

from rackwise import Cluster, Rack
from rackwise.adapters.files import parse_snapshot, snapshot_bytes
from rackwise.core.meter import look_pair, metered_flows
from rackwise.core.model import AnswerTimes, Group, GroupMember, Offsets, Topic

GROUPS, MEMBERS = 200, 50
TOPICS_PER_GROUP = 10


def look(minute: int) -> Cluster:
    """A snapshot of the cluster `minute` minutes later: each partition has grown by its number."""
    before = cluster()
    table, rows = before.partitions, np.arange(PARTITIONS)
    end = 1_000_000 + minute * (rows % 997)
    at_ms = 1_790_000_000_000 + minute * 60_000
    return replace(
        before,
        taken_at=f"2026-11-01T00:{minute:02d}:00Z",
        topics={name: Topic(name=name, id=name, cleanup_policy="delete") for name in table.topics},
        partitions=replace(
            table,
            bytes=end * 100,
            offsets=Offsets(
                start=np.zeros(PARTITIONS, dtype=np.int64),
                end=end,
                leader_epoch=np.zeros(PARTITIONS, dtype=np.int32),
            ),
        ),
        groups=tuple(group(number, minute, table.topics, end) for number in range(GROUPS)),
        answered=AnswerTimes(
            offsets=dict.fromkeys(range(BROKERS), at_ms), sizes=dict.fromkeys(range(BROKERS), at_ms)
        ),
    )


def group(number: int, minute: int, topics: tuple[str, ...], end: np.ndarray) -> Group:
    """A group that reads some topics; odd partitions change owners from minute to minute."""
    first = number * 37 % (len(topics) - TOPICS_PER_GROUP)
    mine = range(first, first + TOPICS_PER_GROUP)
    owned: list[list[tuple[str, int]]] = [[] for _ in range(MEMBERS)]
    for topic in mine:
        for partition in range(PER_TOPIC):
            owner = partition + (minute if partition % 2 else 0)
            owned[owner % MEMBERS].append((topics[topic], partition))
    return Group(
        group=f"group-{number}",
        members=tuple(
            GroupMember(
                member_id=f"m-{place}",
                client_id="c",
                address=f"10.{number}.0.{place}",
                rack=Rack("abc"[place % RACKS]),
                partitions=tuple(partitions),
            )
            for place, partitions in enumerate(owned)
        ),
        committed={
            topics[topic]: tuple(end[topic * PER_TOPIC : (topic + 1) * PER_TOPIC].tolist())
            for topic in mine
        },
    )


if __name__ == "__main__":
    files = [snapshot_bytes(look(minute)) for minute in (0, 1)]
    first, second = (parse_snapshot(data, where="bench.json") for data in files)
    compare(
        "metered flows of two snapshots / strict read of both, 1,000,000 partitions x 200 groups",
        lambda: metered_flows(look_pair(first, second), lambda _, member: member.rack),
        lambda: [parse_snapshot(data, where="bench.json") for data in files],
        gate=3,
        rounds=2,
    )
