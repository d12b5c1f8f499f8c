"""Bytes that producers write to leaders in their own rack: without racks, rack-aware, and bounded.

Starts three brokers in racks a, b, c, each behind a proxy that counts the bytes sent to it, and
creates a topic of twelve partitions. Two producers write, one in rack a and one in b: KIP-1123
warns that they leave the leaders in c without records. With each client they write three times:

```
rack-blind    the client alone                  a third is local, all leaders get the same
rack-aware    partitioner.rack.aware            all is local, the fullest rack gets 1.5 the mean
bounded       and rackwise.max.skew=1.5         local bytes keep every rack within 1.1
```
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

sys.path.append(str(Path(__file__).parents[1] / "consumers"))
from counting_proxy import CountingProxies

from rackwise.adapters.sandbox import Sandbox
from rackwise.aiokafka import RackAwareProducer as RackAwareAIOProducer
from rackwise.confluent import RackAwareProducer as ConfluentProducer
from rackwise.kafka_python import RackAwareProducer
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable

RACKS = ("a", "b", "c")
WRITING = ("a", "b")
PLACEMENT = [[0], [1], [2]] * 4
TOPIC = "before-after"
RECORD = bytes(1000)
RECORDS = 1500
MAX_SKEW = 1.5
MODES = ("rack-blind", "rack-aware", "bounded")


@dataclass(frozen=True)
class Written:
    """Bytes of two producers: `local` to leaders in their racks; `racks`: to each leader rack."""

    local: int
    racks: tuple[int, ...]

    def __str__(self) -> str:
        total = sum(self.racks)
        load = max(self.racks) * len(self.racks) / total
        return (
            f"{self.local / 1e6:4.1f} of {total / 1e6:.1f} MB to leaders in the own rack "
            f"({self.local / total:.0%}), the fullest rack gets {load:.2f} times the mean"
        )


def max_skew(mode: str) -> float | None:
    """The option `rackwise.max.skew` of a mode."""
    return MAX_SKEW if mode == "bounded" else None


def kafka_python(mode: str, rack: str, bootstrap: str, client: str) -> None:
    """Write with kafka-python."""
    options = {"bootstrap_servers": bootstrap.split(","), "client_id": client, "acks": "all"}
    if mode == "rack-blind":
        producer = KafkaProducer(**options)
    else:
        producer = RackAwareProducer(client_rack=rack, rackwise_max_skew=max_skew(mode), **options)
    with closing(producer):
        for _ in range(RECORDS):
            producer.send(TOPIC, RECORD)
        producer.flush()


def aiokafka(mode: str, rack: str, bootstrap: str, client: str) -> None:
    """Write with aiokafka."""

    async def write() -> None:
        options = {"bootstrap_servers": bootstrap, "client_id": client, "acks": "all"}
        if mode == "rack-blind":
            made = AIOKafkaProducer(**options)
        else:
            made = RackAwareAIOProducer(
                client_rack=rack, rackwise_max_skew=max_skew(mode), **options
            )
        async with made as producer:
            await asyncio.gather(*[await producer.send(TOPIC, RECORD) for _ in range(RECORDS)])

    asyncio.run(write())


def confluent_kafka(mode: str, rack: str, bootstrap: str, client: str) -> None:
    """Write with confluent-kafka."""
    options = {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "log_level": 0,
        "acks": "all",
        "sticky.partitioning.linger.ms": 0,
    }
    if mode == "rack-blind":
        producer = Producer(options)
    else:
        own = {"rackwise.max.skew": max_skew(mode)}
        producer = ConfluentProducer({**options, **own}, client_rack=rack)
    with producer:
        for _ in range(RECORDS):
            producer.produce(TOPIC, RECORD)
        producer.flush()


def measured(
    write: Callable[[str, str, str, str], None], mode: str, proxies: CountingProxies
) -> Written:
    """Let a producer in each rack write; count what brokers 0, 1, 2 in racks a, b, c received."""
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in proxies.ports)
    found = {}
    for rack in WRITING:
        client = f"{write.__name__}-{mode}-{rack}"
        write(mode, rack, bootstrap, client)
        for broker, home in enumerate(RACKS):
            found[rack, home] = proxies.produced(broker, client)
    return Written(
        local=sum(found[rack, rack] for rack in WRITING),
        racks=tuple(sum(found[rack, home] for rack in WRITING) for home in RACKS),
    )


def main() -> None:
    """Start a cluster behind proxies; write with each client in each mode; print all figures."""
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
        for write in (kafka_python, aiokafka, confluent_kafka):
            for mode in MODES:
                name = write.__name__.replace("_", "-")
                print(f"{name:15} {mode:10} {measured(write, mode, proxies)}")


if __name__ == "__main__":
    main()
