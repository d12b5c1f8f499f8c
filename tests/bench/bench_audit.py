"""One million partitions: `python tests/bench/bench_audit.py`.

Pairs: strict JSON / `json.loads` on the same snapshot, and audit / strict read of the snapshot.
"""

from __future__ import annotations

import json

import numpy as np
from pairs import compare

from rackwise import Broker, Cluster, Rack, Topic, audit
from rackwise.adapters.files import parse_snapshot, snapshot_bytes
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.model import PartitionTable, Ragged
from rackwise.core.planning.plan import fair_loads

PARTITIONS, BROKERS, RACKS, REPLICATION, PER_TOPIC = 1_000_000, 300, 3, 3, 500
BLIND_EVERY = 10
"""One partition in this many has two replicas in one rack."""


def cluster() -> Cluster:
    """Partition p starts at broker p; every tenth has its second replica in its leader's rack."""
    rows = np.arange(PARTITIONS)
    replicas = (rows[:, None] + np.arange(REPLICATION)) % BROKERS
    replicas[::BLIND_EVERY, 1] = (replicas[::BLIND_EVERY, 0] + RACKS) % BROKERS
    lists = Ragged(
        np.arange(PARTITIONS + 1, dtype=np.int64) * REPLICATION, replicas.ravel().astype(np.int32)
    )
    topics = tuple(f"topic-{i:05d}" for i in range(PARTITIONS // PER_TOPIC))
    return Cluster(
        cluster_id="bench",
        taken_at="2026-11-01T00:00:00Z",
        brokers=tuple(Broker(id=i, rack=Rack("abc"[i % RACKS])) for i in range(BROKERS)),
        topics={name: Topic(name=name, min_insync_replicas=2) for name in topics},
        partitions=PartitionTable(
            topics=topics,
            topic=(rows // PER_TOPIC).astype(np.int32),
            partition=(rows % PER_TOPIC).astype(np.int32),
            leader=replicas[:, 0].astype(np.int32),
            replicas=lists,
            isr=lists,
            adding=Ragged.empty(PARTITIONS),
            removing=Ragged.empty(PARTITIONS),
            bytes=np.full(PARTITIONS, 2**30, dtype=np.int64),
            bytes_in_per_s=np.full(PARTITIONS, -1, dtype=np.int64),
        ),
    )


if __name__ == "__main__":
    data = snapshot_bytes(cluster())
    read = parse_snapshot(data, where="bench.json")
    compare(
        "strict JSON / json.loads",
        lambda: strict_json.parse(data, where="bench.json", error=InvalidSnapshot),
        lambda: json.JSONDecoder().decode(data.decode()),
        gate=3,
        rounds=3,
    )
    compare(
        "audit / strict read of the snapshot, 1,000,000 partitions",
        lambda: audit(read, fair=fair_loads(read)),
        lambda: parse_snapshot(data, where="bench.json"),
        gate=1,
        rounds=3,
    )
