"""How `examples/demo/snapshot.json.gz` was made: 24 real brokers in 3 racks, 600 partitions.

Most topics are placed without regard to racks, as a tool that shuffles brokers would; some are
rack-safe. Real bytes are produced and real consumer groups read them; then `rackwise snapshot`
reads the cluster. Needs about 6 GiB of memory and some minutes: `python examples/demo_cluster.py`.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from steps import rackwise

from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKERS = 24
RACKS = ("use1-az1", "use1-az2", "use1-az4")
REPLICATION = 3
BLIND = {
    "orders": 48,
    "clicks": 96,
    "page-views": 72,
    "inventory.levels": 24,
    "inventory.moves": 24,
    "shipments": 24,
    "carts": 36,
    "search.queries": 48,
    "recommendations": 24,
    "emails": 12,
    "sms": 6,
    "fraud.scores": 24,
    "audit-log": 12,
    "metrics": 30,
    "logs.web": 18,
    "logs.api": 12,
    "sessions": 12,
    "prices": 6,
}
SAFE = {"payments.authorised": 24, "payments.settled": 24, "payments.refunds": 12, "customers": 12}
GROUPS = {
    "checkout": ("orders", "carts"),
    "billing": ("payments.authorised", "payments.settled"),
    "warehouse": ("inventory.moves", "shipments"),
    "analytics": ("clicks", "page-views"),
    "ranking": ("search.queries", "recommendations"),
}
MEMBERS = 3
RECORDS_PER_PARTITION = 40
PATIENCE_MS = 300_000
"""24 brokers on two cores are slow, not dead."""
SNAPSHOT = "examples/demo/snapshot.json.gz"


def host(broker: int) -> str:
    """A separate address on loopback: second number the rack, last number the broker."""
    return f"127.{1 + broker % len(RACKS)}.0.{10 + broker // len(RACKS)}"


def blind(rng: Random) -> list[int]:
    """Any three brokers."""
    return rng.sample(range(BROKERS), REPLICATION)


def safe(rng: Random) -> list[int]:
    """One broker of each rack, in a random order."""
    each = [rng.randrange(BROKERS // len(RACKS)) * len(RACKS) + rack for rack in range(len(RACKS))]
    return rng.sample(each, REPLICATION)


def create(admin: KafkaAdminClient, rng: Random) -> None:
    """Create all topics, each partition with explicit replicas."""
    for place, topics in ((blind, BLIND), (safe, SAFE)):
        for name, partitions in topics.items():
            placement = {partition: place(rng) for partition in range(partitions)}
            configs = {"min.insync.replicas": "2"}
            admin.create_topics(
                [NewTopic(name, replica_assignments=placement, topic_configs=configs)],
                timeout_ms=PATIENCE_MS,
            )


def produce(bootstrap: list[str], rng: Random) -> None:
    """Write records of different sizes to every partition."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks=1,
        linger_ms=20,
        request_timeout_ms=PATIENCE_MS,
        delivery_timeout_ms=2 * PATIENCE_MS,
        max_block_ms=PATIENCE_MS,
    )
    for name, partitions in {**BLIND, **SAFE}.items():
        size = rng.randrange(100, 2000)
        for partition in range(partitions):
            for _ in range(rng.randrange(1, RECORDS_PER_PARTITION)):
                producer.send(name, rng.randbytes(size), partition=partition)
    producer.flush(PATIENCE_MS / 1000)
    producer.close()


@contextmanager
def reading(bootstrap: list[str]) -> Iterator[None]:
    """Three members in each group, which poll until the block ends."""
    is_over = threading.Event()
    has_joined = threading.Barrier(len(GROUPS) * MEMBERS + 1)

    def member(group: str, number: int) -> None:
        consumer = KafkaConsumer(
            *GROUPS[group],
            bootstrap_servers=bootstrap,
            group_id=group,
            client_id=f"{group}-{number}",
            auto_offset_reset="earliest",
        )
        while not consumer.assignment():
            consumer.poll(timeout_ms=500)
        has_joined.wait(PATIENCE_MS / 1000)
        while not is_over.is_set():
            consumer.poll(timeout_ms=500)
        consumer.close()

    threads = [
        threading.Thread(target=member, args=(group, number))
        for group in GROUPS
        for number in range(MEMBERS)
    ]
    for thread in threads:
        thread.start()
    try:
        has_joined.wait(PATIENCE_MS / 1000)
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def main() -> None:
    """Start the cluster, fill it, take the snapshot, stop it."""
    rng = Random(24)
    with Sandbox.kraft(
        brokers=BROKERS,
        racks=RACKS,
        hosts=[host(broker) for broker in range(BROKERS)],
        java_home=find_java(os.environ).home,
        heap_mib=192,
    ) as cluster:
        bootstrap = cluster.bootstrap.split(",")
        admin = KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=PATIENCE_MS)
        create(admin, rng)
        admin.close()
        produce(bootstrap, rng)
        with reading(bootstrap):
            few = ",".join(bootstrap[:3])
            rackwise("snapshot", "--bootstrap-server", few, "--groups", "--out", SNAPSHOT)


if __name__ == "__main__":
    main()
