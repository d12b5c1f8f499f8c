"""Generates clusters: names, sizes and leaders for a placement, and deliberate violations.

Each cluster is a function of (seed, cluster index). Topic sizes are log-uniform in 1..512; the
topic with the most partitions is the busiest, and the share of the n-th busiest is proportional to
1 / n^1.1. A planted violation moves all replicas of a partition into the rack of its preferred
leader, as far as that rack has live brokers:

```
before   t-4: 0 (/eu/a)  4 (/eu/b)  2 (/eu/c)      after   t-4: 0 (/eu/a)  3 (/eu/a)  6 (/eu/a)
```

The messy shape also has leaders that are not the preferred ones and followers out of sync; in the
lost shape broker 0 is dead. What this does not do: check the result; see `violations`.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.fleet.draws import Stream, log_uniform, zipf_weights
from rackwise.core.fleet.world import addresses
from rackwise.core.fleet.world.placements import Shape, place_replicas, racks_of
from rackwise.core.model import UNKNOWN, Broker, Cluster, Configs, PartitionTable, Ragged, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.world.options import FleetOptions

CLUSTER_STREAM = 1
LARGEST_TOPIC = 512
BYTES_PER_BROKER = 256 * 2**30
BYTES_IN_PER_BROKER_S = 20 * 2**20
RETENTION_BYTES = 64 * 2**30
PORT = 9092
PORTS = 3
"""Number of different listener ports; clusters use them in turn."""
NOT_PREFERRED_SHARE = 0.02
OUT_OF_SYNC_SHARE = 0.01
JITTER = 1024
"""Volumes vary in steps of 1 / 1024."""
SAFE_REPLICATION = 3
"""The least replication with min.insync.replicas 2; below it is 1."""

DOMAINS = (
    "billing", "catalog", "chat", "checkout", "clicks", "crm", "delivery", "devices", "docs",
    "email", "fleet", "fraud", "games", "identity", "inventory", "invoices", "jobs", "ledger",
    "loyalty", "maps", "media", "metrics", "orders", "parcels", "payments", "photos", "pricing",
    "profiles", "quotes", "refunds", "returns", "reviews", "risk", "search", "sessions",
    "shipping", "stock", "support", "tax", "video",
)  # fmt: skip
EVENTS = (
    "accepted", "added", "archived", "assigned", "cancelled", "changed", "checked", "closed",
    "commands", "confirmed", "created", "deleted", "denied", "enriched", "errors", "events",
    "expired", "failed", "granted", "imported", "indexed", "joined", "keys", "loaded", "merged",
    "moved", "opened", "paid", "planned", "ranked", "received", "rejected", "removed", "renamed",
    "replies", "requests", "resolved", "retries", "scored", "sent", "shipped", "snapshots",
    "started", "state", "stopped", "synced", "tagged", "totals", "updated", "viewed",
)  # fmt: skip


def generate_cluster(options: FleetOptions, index: int) -> Cluster:
    """Cluster `index` of the fleet, as a snapshot taken at the start of the first day."""
    stream = Stream(options.seed, CLUSTER_STREAM, index)
    cluster_id = _draw_id(stream)
    rack_of = racks_of(options.shape, options.brokers, len(options.racks))
    is_live = np.ones(options.brokers, dtype=bool)
    is_live[0] = options.shape is not Shape.LOST
    sizes = log_uniform(LARGEST_TOPIC, stream.raw(options.topics))
    names = topic_names(options.topics)
    replicas = place_replicas(options.shape, rack_of, int(sizes.sum()), options.replication)
    rows = _planted_rows(stream, len(replicas), options)
    replicas[rows] = _move_into_one_rack(replicas[rows], rack_of, is_live)
    return Cluster(
        cluster_id=cluster_id,
        taken_at=f"{options.first_day.isoformat()}T00:00:00Z",
        brokers=_brokers(options, index, rack_of, is_live),
        topics=_topics(stream, names, options),
        partitions=_partitions(stream, names, sizes, replicas, is_live, options),
        configs=_configs(options, index),
    )


def topic_names(count: int) -> tuple[str, ...]:
    """`count` distinct topic names in the order of their UTF-8 bytes."""
    pairs = len(DOMAINS) * len(EVENTS)
    spread = [
        (DOMAINS[i % len(DOMAINS)], EVENTS[(i // len(DOMAINS) + i) % len(EVENTS)], i // pairs)
        for i in range(count)
    ]
    return tuple(
        sorted(
            f"{domain}.{event}{f'.v{round_ + 1}' if round_ else ''}"
            for domain, event, round_ in spread
        )
    )


def topic_weights(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weight of each topic's traffic: Zipf 1.1 over the topics by descending partition count."""
    weights = np.zeros(len(sizes), dtype=np.int64)
    weights[np.argsort(-sizes, kind="stable")] = zipf_weights(len(sizes))
    return weights


def _draw_id(stream: Stream) -> str:
    """An id as Kafka writes it: 16 bytes, URL-safe base64 without padding."""
    return urlsafe_b64encode(stream.raw(2).astype(">u8").tobytes()).rstrip(b"=").decode("ascii")


def _brokers(
    options: FleetOptions, index: int, rack_of: NDArray[np.int64], is_live: NDArray[np.bool_]
) -> tuple[Broker, ...]:
    before = index * options.brokers
    return tuple(
        Broker(
            id=broker,
            rack=options.racks[rack],
            is_live=bool(is_live[broker]),
            is_fenced=not is_live[broker],
            host=f"b{broker}.kafka-{index + 1}.example",
            port=PORT + index % PORTS,
            addresses=addresses.broker_addresses(rack, before + broker, has_ipv6=options.ipv6 > 0),
        )
        for broker, rack in enumerate(rack_of.tolist())
    )


def _topics(stream: Stream, names: Sequence[str], options: FleetOptions) -> dict[str, Topic]:
    ids = stream.raw(2 * len(names)).astype(">u8").tobytes()
    return {
        name: Topic(
            name=name,
            id=urlsafe_b64encode(ids[16 * row : 16 * row + 16]).rstrip(b"=").decode("ascii"),
            min_insync_replicas=2 if options.replication >= SAFE_REPLICATION else 1,
            retention_bytes=RETENTION_BYTES,
        )
        for row, name in enumerate(names)
    }


def _configs(options: FleetOptions, index: int) -> Configs:
    """Every second cluster lets clients read from followers, if readers are generated."""
    if options.looks == 1:
        return Configs()
    keys = {REPLICA_SELECTOR: RACK_AWARE_SELECTOR} if index % 2 else {}
    return Configs(brokers=dict.fromkeys(range(options.brokers), keys))


def _planted_rows(stream: Stream, partitions: int, options: FleetOptions) -> NDArray[np.int64]:
    """The partitions whose replicas are moved into one rack, ascending."""
    order = stream.order(partitions)
    return np.sort(order[: round(options.violations * partitions)])


def _move_into_one_rack(
    replicas: NDArray[np.int32], rack_of: NDArray[np.int64], is_live: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The replica lists with the followers moved to the leader's rack, to the next broker ids."""
    moved = replicas.copy()
    for row, ids in enumerate(replicas.tolist()):
        neighbours = np.flatnonzero((rack_of == rack_of[ids[0]]) & is_live).tolist()
        start = sum(broker <= ids[0] for broker in neighbours)
        following = [b for b in neighbours[start:] + neighbours[:start] if b != ids[0]]
        rest = [broker for broker in ids[1:] if broker not in following]
        moved[row, 1:] = (following[: len(ids) - 1] + rest)[: len(ids) - 1]
    return moved


def _partitions(
    stream: Stream,
    names: Sequence[str],
    sizes: NDArray[np.int64],
    replicas: NDArray[np.int32],
    is_live: NDArray[np.bool_],
    options: FleetOptions,
) -> PartitionTable:
    count, replication = replicas.shape
    topic = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    starts = np.cumsum(sizes) - sizes
    # bool [partitions, replication]; the leader is the first replica in sync
    in_sync = is_live[replicas]
    leads = in_sync.argmax(axis=1)
    if options.shape is Shape.MESSY and replication > 1:
        leads[stream.hits(NOT_PREFERRED_SHARE, count)] = 1
        lagging = stream.hits(OUT_OF_SYNC_SHARE, count) & (leads != replication - 1)
        in_sync[lagging, -1] = False
    has_leader = in_sync.any(axis=1)
    in_sync[~has_leader, 0] = True
    rows = np.arange(count)
    return PartitionTable(
        topics=tuple(names),
        topic=topic,
        partition=(rows - np.repeat(starts, sizes)).astype(np.int32),
        leader=np.where(has_leader, replicas[rows, leads], UNKNOWN).astype(np.int32),
        replicas=_ragged(replicas),
        isr=_ragged(replicas).keep(in_sync.ravel()),
        adding=Ragged.empty(count),
        removing=Ragged.empty(count),
        bytes=_volumes(stream, sizes, BYTES_PER_BROKER * options.brokers // replication),
        bytes_in_per_s=_volumes(stream, sizes, BYTES_IN_PER_BROKER_S * options.brokers),
    )


def _ragged(rows: NDArray[np.int32]) -> Ragged:
    """Rows of one length as a ragged array."""
    return Ragged(
        np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], np.ascontiguousarray(rows).ravel()
    )


def _volumes(stream: Stream, sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """A volume for each partition: an even part of its topic's share, times 0.5 to 1.5."""
    weights = topic_weights(sizes).tolist()
    whole = sum(weights)
    each = [
        total * weight // (whole * size)
        for weight, size in zip(weights, sizes.tolist(), strict=True)
    ]
    jitter = JITTER // 2 + stream.below(JITTER, int(sizes.sum()))
    return np.repeat(np.array(each, dtype=np.int64), sizes) * jitter // JITTER
