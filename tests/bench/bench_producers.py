"""What rack-aware partitioning costs a client: `python tests/bench/bench_producers.py`.

Values of 100 bytes, leaders in 3 racks. Pairs on the clients' own metadata: our `partition()` with
its lock / kafka-python's own partitioners; our choice / aiokafka's. Pairs on librdkafka's mock
cluster: confluent-kafka's `produce` by the wrapper / with a constant partition, in CPU time of the
thread; a callback per window / per record. On real brokers, left out where KAFKA=0: a load of each
client with ours / without, values of 1000 bytes, at least .97 of the throughput.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner as AiokafkaPartitioner
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer
from kafka.admin import NewTopic
from kafka.partitioner import DefaultPartitioner, StickyPartitioner
from pairs import ROUNDS, compare, seconds, tell

from rackwise.adapters.clients.aiokafka_producer import RackAwareAIOProducer, view_of
from rackwise.adapters.clients.confluent_producer import RackAwareProducer as ConfluentProducer
from rackwise.adapters.clients.kafka_python_producer import RackAwarePartitioner, RackAwareProducer
from rackwise.adapters.clients.rack_source import admin_racks, fixed_racks
from rackwise.adapters.clients.topics import SteeredTopics
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.adapters.sandbox.mock_cluster import MockCluster
from rackwise.core.partitioner import PartitionerConfig
from rackwise.pipeline.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path[:0] = [str(Path(__file__).parents[1])]

VALUE = bytes(100)
LONG_VALUE = bytes(1000)
THROUGHPUT = 0.97
KEY = bytes(16)
LIBRDKAFKA_BATCH_BYTES = 1_000_000
AIOKAFKA_WINDOW_BYTES = 8_192
"""Half a batch: `send` waits for one that is full."""
CALLS, FEW_CALLS = 20_000, 200
RECORDS = 20_000
BROKERS = {1: "az1", 2: "az2", 3: "az3"}
CONFIG = PartitionerConfig(rack_aware=True, rack="az1")


def topic(partitions: int) -> dict[str, list[list[int]]]:
    """Leaders in turn."""
    return {"t": [[number % 3 + 1] for number in range(partitions)]}


def asking(
    partitioner: object, partitions: int, key: bytes | None = None, calls: int = CALLS
) -> Callable[[], None]:
    """Ask a partitioner of kafka-python so many times."""
    from client_metadata import metadata

    cluster = metadata(BROKERS, topic(partitions))
    ask = partitioner.partition

    def work() -> None:
        for _ in range(calls):
            ask("t", key, key, VALUE, VALUE, cluster)

    return work


def ours() -> RackAwarePartitioner:
    """A plug-in of ours."""
    return RackAwarePartitioner(CONFIG, rng=random.Random(1))


def compare_kafka_python() -> None:
    """One call of `partition`."""
    few = partial(asking, calls=FEW_CALLS)
    for partitions, calls, gate in ((12, CALLS, 0.3), (1000, FEW_CALLS, 0.01)):
        mine = asking(ours(), partitions)
        peer = asking(StickyPartitioner(), partitions, calls=calls)
        ratios = [seconds(mine) / CALLS / (seconds(peer) / calls) for _ in range(ROUNDS)]
        pair = f"our partition() / kafka-python's StickyPartitioner, {partitions} partitions"
        tell(pair, statistics.median(ratios), gate=gate)
    compare(
        "our partition() / kafka-python's DefaultPartitioner, 6 partitions",
        asking(ours(), 6),
        asking(DefaultPartitioner(), 6),
        gate=0.2,
    )
    compare(
        "our partition(), 1000 partitions / 6 partitions",
        asking(ours(), 1000),
        asking(ours(), 6),
        gate=1.3,
    )
    compare(
        "our partition() / StickyPartitioner, key of 16 bytes, 1000 partitions",
        few(ours(), 1000, KEY),
        few(StickyPartitioner(), 1000, KEY),
        gate=0.1,
    )


def compare_aiokafka() -> None:
    """A choice and its count, against the lists that aiokafka builds for its partitioner."""
    from client_metadata import aiokafka_metadata

    cluster = aiokafka_metadata(BROKERS, topic(6))
    steering = SteeredTopics(CONFIG, clock=time.monotonic).met("t", view_of("t", cluster))
    peer = AiokafkaPartitioner()

    def mine() -> None:
        for _ in range(CALLS):
            steering.steer(112)
            steering.ends.clear()

    def theirs() -> None:
        for _ in range(CALLS):
            every = list(cluster.partitions_for_topic("t"))
            peer(None, every, list(cluster.available_partitions_for_topic("t")))

    compare("our choice / aiokafka's lists and partitioner, 6 partitions", mine, theirs, gate=0.6)


def thread_seconds(work: Callable[[], object]) -> float:
    """CPU time of this thread."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def compare_confluent(cluster: MockCluster) -> None:
    """`produce` of the wrapper, and what callbacks cost."""
    conf = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    conf |= {"queue.buffering.max.messages": 2 * RECORDS}
    with (
        closing(ConfluentProducer(conf, CONFIG, racks=fixed_racks(BROKERS))) as mine,
        closing(Producer(conf)) as peer,
    ):

        def steered() -> None:
            for _ in range(RECORDS):
                mine.produce("t", VALUE)

        def constant() -> None:
            for _ in range(RECORDS):
                peer.produce("t", VALUE, partition=0)

        def told() -> None:
            for _ in range(RECORDS):
                peer.produce("t", VALUE, partition=0, on_delivery=lambda _error, _message: None)
            peer.flush()

        ratios: dict[str, list[float]] = {"constant": [], "told": []}
        for _ in range(ROUNDS):
            spent = thread_seconds(steered)
            own = thread_seconds(mine.flush)
            ratios["constant"].append(spent / thread_seconds(constant))
            peer.flush()
            ratios["told"].append((spent + own) / thread_seconds(told))
        pair = "confluent-kafka: wrapper's produce / produce with a constant partition"
        tell(pair, statistics.median(ratios["constant"]), gate=2)
        pair = "confluent-kafka: wrapper with its callbacks / a callback per record"
        tell(pair, statistics.median(ratios["told"]), gate=1)


def kafka_python(bootstrap: str, *, is_ours: bool) -> Callable[[], None]:
    """Send all, wait for all."""
    options = {"bootstrap_servers": bootstrap.split(","), "acks": "all", "linger_ms": 5}
    partitioner = ours() if is_ours else StickyPartitioner()
    made = KafkaProducer(partitioner=partitioner, **options)
    producer = RackAwareProducer(made, partitioner) if is_ours else made

    def write() -> None:
        for _ in range(RECORDS // 4):
            producer.send("t", LONG_VALUE)
        producer.flush()

    return write


def confluent(bootstrap: str, *, is_ours: bool) -> Callable[[], None]:
    """The same with confluent-kafka."""
    conf = {"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all", "linger.ms": 5}
    config = replace(CONFIG, sticky_bytes=LIBRDKAFKA_BATCH_BYTES)
    source = admin_racks(AdminClient(conf))
    made = ConfluentProducer(conf, config, racks=source) if is_ours else Producer(conf)

    def write() -> None:
        for _ in range(RECORDS):
            made.produce("t", LONG_VALUE)
        made.flush()

    return write


def compare_throughput() -> None:
    """Seconds of a load with ours / without, on real brokers: records per second upside down.

    All brokers are near, so that both write to as many.
    """
    java = find_java(os.environ).home
    with Sandbox.kraft(brokers=3, racks=("az1",), java_home=java) as cluster:
        with connect(cluster.bootstrap) as admin:
            placement = dict(enumerate([[0], [1], [2]] * 4))
            admin.create_topics([NewTopic("t", replica_assignments=placement)])
        for make in (kafka_python, confluent):
            without, with_ours = (make(cluster.bootstrap, is_ours=each) for each in (False, True))
            pair = f"{make.__name__.replace('_', '-')}: a load with ours / without, 3 real brokers"
            compare(pair, with_ours, without, gate=1 / THROUGHPUT)
        asyncio.run(aiokafka(cluster.bootstrap))


async def aiokafka(bootstrap: str) -> None:
    """The same with aiokafka, in one event loop."""

    def made() -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5)

    async def write(producer: AIOKafkaProducer) -> float:
        started = time.perf_counter()
        pending = [await producer.send("t", LONG_VALUE) for _ in range(RECORDS // 4)]
        await asyncio.gather(*pending)
        return time.perf_counter() - started

    config = replace(CONFIG, sticky_bytes=AIOKAFKA_WINDOW_BYTES)
    async with made() as without, RackAwareAIOProducer(made(), config) as with_ours:
        await write(without)
        await write(with_ours)
        ratios = [await write(with_ours) / await write(without) for _ in range(ROUNDS)]
    pair = "aiokafka: a load with ours / without, 3 real brokers"
    tell(pair, statistics.median(ratios), gate=1 / THROUGHPUT)


if __name__ == "__main__":
    compare_kafka_python()
    compare_aiokafka()
    with MockCluster(list(BROKERS.values())) as mock:
        mock.topic("t", partitions=6)
        compare_confluent(mock)
    if os.environ.get("KAFKA") == "0":
        print("left out: throughput on real brokers (KAFKA=0)", file=sys.stderr)
    else:
        compare_throughput()
