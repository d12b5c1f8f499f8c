"""Bytes that a group reads in its own racks: with kafka-python's range, then with `rack-optimal`.

Starts three brokers in racks a, b, c, which send consumers to near replicas, each behind a proxy
that counts what it sends, and creates a topic of twelve partitions with two replicas each. A group
of three, one member in each rack, reads new records; it switches assignors, and reads again.

```
consumer in rack a, partitions 0 to 3
  +--> proxy --> broker 0, rack a   from its own rack
  +--> proxy --> broker 1, rack b   from another: partition 1 has no replica in a
```
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counting_proxy import CountingProxies
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor

from rackwise.adapters.sandbox import Sandbox
from rackwise.kafka_python import RackOptimal, rack_consumer
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

RACKS = ("a", "b", "c")
PLACEMENT = [[0, 1], [1, 2], [2, 0]] * 4
TOPIC = "before-after"
GROUP = "readers"
RECORD_BYTES = 10_000
RECORDS = 50
PATIENCE_S = 90


@dataclass(frozen=True)
class Bytes:
    """The bytes that a group has read: in the racks of its members, and in total."""

    local: int
    total: int

    def __str__(self) -> str:
        share = self.local / self.total
        return (
            f"{self.local / 1e6:4.1f} of {self.total / 1e6:.1f} MB from the own rack ({share:.0%})"
        )


def own_range(rack: str, **configs: object) -> KafkaConsumer:
    """A plain kafka-python member: fetches from near replicas, with an assignor without racks."""
    return KafkaConsumer(
        TOPIC, client_rack=rack, partition_assignment_strategy=[RangePartitionAssignor], **configs
    )


def optimal(rack: str, **configs: object) -> KafkaConsumer:
    """A member that sends its rack, in a group with the best assignment."""
    return rack_consumer(
        TOPIC, client_rack=rack, partition_assignment_strategy=[RackOptimal], **configs
    )


@contextmanager
def polled(consumers: Collection[KafkaConsumer], seen: list[int]) -> Iterator[None]:
    """Poll each consumer in its own thread; `seen` gets the numbers of records that arrive."""
    is_over = threading.Event()

    def poll(consumer: KafkaConsumer) -> None:
        while not is_over.is_set():
            seen.extend(len(records) for records in consumer.poll(timeout_ms=1000).values())

    threads = [threading.Thread(target=poll, args=(each,)) for each in consumers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        for consumer in consumers:
            consumer.close()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Poll a condition. Raises `SystemExit` after the timeout."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"expected {what} within {PATIENCE_S} s")
        time.sleep(0.1)


def are_whole(consumers: Collection[KafkaConsumer]) -> bool:
    """Whether all members have one generation and share the partitions evenly."""
    generations = {each.group_metadata().generation_id for each in consumers}
    shares = {len(each.assignment() or ()) for each in consumers}
    return len(generations) == 1 and shares == {len(PLACEMENT) // len(RACKS)}


def write(bootstrap: str) -> int:
    """Write to every partition; returns the number of records."""
    with closing(KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all")) as producer:
        sent = [
            producer.send(TOPIC, bytes(RECORD_BYTES), partition=partition)
            for _ in range(RECORDS)
            for partition in range(len(PLACEMENT))
        ]
        for each in sent:
            each.get(timeout=PATIENCE_S)
    return len(sent)


def counted(proxies: CountingProxies, clients: Mapping[str, str]) -> Bytes:
    """What brokers 0, 1, 2 in racks a, b, c sent to clients; `clients` is rack -> client id."""
    found = {
        (home, rack): proxies.fetched(broker, client)
        for broker, home in enumerate(RACKS)
        for rack, client in clients.items()
    }
    return Bytes(sum(found[rack, rack] for rack in RACKS), sum(found.values()))


def measured(
    make: Callable[..., KafkaConsumer], cluster: Sandbox, proxies: CountingProxies
) -> Bytes:
    """What a group of such members reads of new records."""
    clients = {rack: f"{make.__name__}-{rack}" for rack in RACKS}
    consumers = [
        make(
            rack,
            group_id=GROUP,
            client_id=client,
            bootstrap_servers=[f"127.0.0.1:{port}" for port in proxies.ports],
            auto_offset_reset="earliest",
            heartbeat_interval_ms=500,
        )
        for rack, client in clients.items()
    ]
    seen: list[int] = []
    with polled(consumers, seen):
        wait_until(lambda: are_whole(consumers), "members with partitions")
        records = write(cluster.bootstrap)
        wait_until(lambda: sum(seen) >= records, "all records read")
        return counted(proxies, clients)


def main() -> None:
    """Start a cluster behind proxies, read, switch, read again, print both figures."""
    java = find_java(os.environ).home
    with (
        CountingProxies(len(RACKS)) as proxies,
        Sandbox.kraft(
            brokers=len(RACKS), racks=RACKS, proxies=proxies.ports, java_home=java
        ) as cluster,
    ):
        proxies.targets = cluster.proxied_ports
        with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))) as admin:
            admin.create_topics([NewTopic(TOPIC, replica_assignments=dict(enumerate(PLACEMENT)))])
        before, after = (measured(make, cluster, proxies) for make in (own_range, optimal))
    print(f"range         {before}")
    print(f"rack-optimal  {after}")


if __name__ == "__main__":
    main()
