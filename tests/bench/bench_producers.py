"""What rack-aware partitioning costs a client: `python tests/bench/bench_producers.py`.

Values of 100 bytes, leaders in 3 racks, CPU time of this thread, the best of 7 interleaved rounds
on either side. Pairs on the clients' own metadata: our `partition()` with its lock / kafka-python's
own partitioners; our choice / aiokafka's. Pairs on librdkafka's mock cluster: kafka-python's whole
`send()`, rack-aware / not, and with ours / without; confluent-kafka's `produce` with ours / with a
constant partition; a callback per window / per record. Windows of confluent-kafka have its
`batch.size`, 1,000,000 bytes by default, or 16 KiB.

On real brokers, left out with KAFKA=0: records per second of each client without / with ours, the
median of ratios of 15 rounds, each in its own order; 3 brokers, all of them near, topics of 3
replicas, values of 100 bytes and of 1000. Each round runs the client without ours twice; their
difference is printed, and is the noise of the other ratio. The brokers' logs are in memory if there
is a `/dev/shm`, since the noise of a shared disk is larger than the gate.

The load of confluent-kafka is steady: with values of 1000 bytes it waits for a queue that a third
of it fills, which is a fifth of librdkafka's own. With values of 100 bytes the queue is
librdkafka's own, and the calls of `produce` in Python are a large part of the time.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import statistics
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner as AiokafkaPartitioner
from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.admin import NewTopic
from kafka.partitioner import DefaultPartitioner, StickyPartitioner
from pairs import ROUNDS, seconds, tell

from rackwise.adapters.clients.aiokafka.producer import RackAwareProducer as RackAwareAIOProducer
from rackwise.adapters.clients.aiokafka.producer import view_of
from rackwise.adapters.clients.confluent.producer import RackAwareProducer as ConfluentProducer
from rackwise.adapters.clients.kafka_python.producer import RackAwarePartitioner, RackAwareProducer
from rackwise.adapters.clients.rack_source import fixed_racks
from rackwise.adapters.clients.topics import SteeredTopics
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.partitioner import PartitionerConfig
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path[:0] = [str(Path(__file__).parents[1])]

from mock_cluster import MockCluster  # noqa: E402 (found by the line above)

VALUE = bytes(100)
LONG_VALUE = bytes(1000)
MEMORY = Path("/dev/shm")  # noqa: S108 (a folder of our own in it)
THROUGHPUT = 0.97
KEY = bytes(16)
LIBRDKAFKA_BATCH_BYTES = 1_000_000
CALLS, FEW_CALLS = 20_000, 200
RECORDS = 20_000
STEADY = 60_000
QUEUED = 20_000
PENDING = 1_500
BROKERS = {1: "az1", 2: "az2", 3: "az3"}
CONFIG = PartitionerConfig(rack_aware=True, rack="az1")


def topic(partitions: int) -> dict[str, list[list[int]]]:
    """Leaders in turn."""
    return {"t": [[number % 3 + 1] for number in range(partitions)]}


def asking(
    partitioner: object, partitions: int, key: bytes | None = None, calls: int = CALLS
) -> Callable[[], None]:
    """Call a partitioner of kafka-python so many times."""
    from client_metadata import metadata

    cluster = metadata(BROKERS, topic(partitions))
    ask = partitioner.partition

    def work() -> None:
        for _ in range(calls):
            ask("t", key, key, VALUE, VALUE, cluster)

    return work


def ours() -> RackAwarePartitioner:
    """One of our plug-ins."""
    return RackAwarePartitioner(CONFIG, rng=random.Random(1))


def thread_seconds(work: Callable[[], object]) -> float:
    """CPU time of this thread."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def compare_best(
    pair: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    gate: float,
    scale: float = 1,
) -> None:
    """Our best / the peer's best, in CPU time; `scale`: peer's calls to one of ours."""
    ours(), peer()
    gc.collect()
    gc.disable()
    rounds = [(thread_seconds(ours), thread_seconds(peer)) for _ in range(ROUNDS)]
    gc.enable()
    tell(pair, scale * min(a for a, _ in rounds) / min(b for _, b in rounds), gate=gate)


def compare_kafka_python() -> None:
    """One call of `partition`."""
    few = partial(asking, calls=FEW_CALLS)
    for partitions, calls, gate in ((12, CALLS, 0.3), (1000, FEW_CALLS, 0.01)):
        mine = asking(ours(), partitions)
        peer = asking(StickyPartitioner(), partitions, calls=calls)
        pair = f"our partition() / kafka-python's StickyPartitioner, {partitions} partitions"
        compare_best(pair, mine, peer, gate=gate, scale=calls / CALLS)
    compare_best(
        "our partition() / kafka-python's DefaultPartitioner, 6 partitions",
        asking(ours(), 6),
        asking(DefaultPartitioner(), 6),
        gate=0.2,
    )
    compare_best(
        "our partition(), 1000 partitions / 6 partitions",
        asking(ours(), 1000),
        asking(ours(), 6),
        gate=1.3,
    )
    compare_best(
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

    compare_best(
        "our choice / aiokafka's lists and partitioner, 6 partitions", mine, theirs, gate=0.6
    )


def compare_send(cluster: MockCluster) -> None:
    """The whole of kafka-python's `send`, until its buffer is half full."""

    servers = {"bootstrap_servers": cluster.bootstrap.split(","), "api_version": (2, 1)}
    near = {"client_rack": CONFIG.rack, "rng": random.Random(1), **servers}

    def sending(producer: KafkaProducer) -> Callable[[], None]:
        closing_all.callback(producer.close)

        def work() -> None:
            for _ in range(RECORDS // 10):
                producer.send("t", VALUE)

        def write() -> float:
            spent = thread_seconds(work)
            producer.flush()
            return spent

        return write

    with ExitStack() as closing_all:
        writes = {
            "on": sending(RackAwareProducer(**near)),
            "off": sending(RackAwareProducer(partitioner_rack_aware=False, **near)),
            "without": sending(KafkaProducer(partitioner=StickyPartitioner(), **servers)),
        }
        spent: dict[str, list[float]] = {kind: [] for kind in writes}
        turns = random.Random(1)
        for _ in range(6 * ROUNDS):
            for kind in turns.sample(sorted(writes), k=len(writes)):
                spent[kind].append(writes[kind]())
    best = {kind: min(each) for kind, each in spent.items()}
    tell("kafka-python: whole send(), rack-aware on / off", best["on"] / best["off"], gate=1.05)
    pair = "kafka-python: whole send(), ours / StickyPartitioner"
    tell(pair, best["on"] / best["without"], gate=1.05)


def compare_confluent(cluster: MockCluster, sticky_bytes: int) -> None:
    """Our `produce`, and what callbacks cost."""
    conf = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    conf |= {"queue.buffering.max.messages": 2 * RECORDS}
    steered = {**conf, "batch.size": sticky_bytes, "client.rack": CONFIG.rack}
    with (
        closing(ConfluentProducer(steered, racks=fixed_racks(BROKERS))) as mine,
        closing(Producer(conf)) as peer,
    ):

        def near() -> None:
            for _ in range(RECORDS):
                mine.produce("t", VALUE)

        def constant() -> None:
            for _ in range(RECORDS):
                peer.produce("t", VALUE, partition=0)

        def told() -> None:
            for _ in range(RECORDS):
                peer.produce("t", VALUE, partition=0, on_delivery=lambda _error, _message: None)
            peer.flush()

        spent: dict[str, list[float]] = {kind: [] for kind in ("ours", "all", "constant", "told")}
        for _ in range(ROUNDS):
            spent["ours"].append(thread_seconds(near))
            spent["all"].append(spent["ours"][-1] + thread_seconds(mine.flush))
            spent["constant"].append(thread_seconds(constant))
            peer.flush()
            spent["told"].append(thread_seconds(told))
    best = {kind: min(each) for kind, each in spent.items()}
    windows = f"windows of {sticky_bytes:,} bytes"
    pair = f"confluent-kafka: our produce / produce with a constant partition, {windows}"
    tell(pair, best["ours"] / best["constant"], gate=2)
    pair = f"confluent-kafka: ours with its callbacks / a callback per record, {windows}"
    tell(pair, best["all"] / best["told"], gate=1)


@contextmanager
def kafka_python(bootstrap: str, value: bytes, *, is_ours: bool) -> Iterator[Callable[[], None]]:
    """Send all and wait for all."""
    options = {"bootstrap_servers": bootstrap.split(","), "acks": "all", "linger_ms": 5}
    producer = (
        RackAwareProducer(client_rack=CONFIG.rack, rng=random.Random(1), **options)
        if is_ours
        else KafkaProducer(partitioner=StickyPartitioner(), **options)
    )

    def write() -> None:
        for _ in range(sent(value)):
            producer.send("t", value)
        producer.flush()

    with closing(producer):
        yield write


@contextmanager
def confluent(bootstrap: str, value: bytes, *, is_ours: bool) -> Iterator[Callable[[], None]]:
    """The same with confluent-kafka."""
    conf = {"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all", "linger.ms": 5}
    if len(value) == len(LONG_VALUE):
        conf |= {"queue.buffering.max.messages": QUEUED}
    made = ConfluentProducer(conf, client_rack="az1") if is_ours else Producer(conf)

    def write() -> None:
        left = STEADY
        while left:
            try:
                made.produce("t", value)
                left -= 1
            except BufferError:
                made.poll(0.01)
        made.flush()

    with closing(made):
        yield write


@contextmanager
def aiokafka(bootstrap: str, value: bytes, *, is_ours: bool) -> Iterator[Callable[[], None]]:
    """The same with aiokafka, in an event loop of its own."""
    loop = asyncio.new_event_loop()

    async def started() -> AIOKafkaProducer:
        options = {"bootstrap_servers": bootstrap, "acks": "all", "linger_ms": 5}
        made = (
            RackAwareAIOProducer(client_rack=CONFIG.rack, **options)
            if is_ours
            else AIOKafkaProducer(**options)
        )
        await made.start()
        return made

    producer = loop.run_until_complete(started())

    async def write() -> None:
        pending: list[asyncio.Future[object]] = []
        for _ in range(sent(value)):
            pending.append(await producer.send("t", value))
            if len(pending) == PENDING:
                await asyncio.gather(*pending)
                pending.clear()
        await asyncio.gather(*pending)

    try:
        yield lambda: loop.run_until_complete(write())
    finally:
        loop.run_until_complete(producer.stop())
        loop.close()


def sent(value: bytes) -> int:
    """How many records of a size a Python client sends in a round."""
    return RECORDS // 2 if len(value) < len(LONG_VALUE) else RECORDS // 4


def compare_throughput() -> None:
    """Records per second without ours / with, on real brokers."""
    java = find_java(os.environ).home
    with (
        TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        Sandbox.kraft(
            brokers=3, racks=("az1",), java_home=java, folder=Path(folder, "kafka")
        ) as cluster,
    ):
        with connect(cluster.bootstrap) as admin:
            placement = dict(enumerate([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 4))
            admin.create_topics([NewTopic("t", replica_assignments=placement)])
        for make in (kafka_python, confluent, aiokafka):
            for value in (VALUE, LONG_VALUE):
                name = make.__name__.replace("_", "-")
                size = f"{len(value)} bytes"
                with ExitStack() as running:
                    compare_clients(
                        f"{name}: throughput without ours / with, 3 real brokers, values of {size}",
                        [
                            running.enter_context(make(cluster.bootstrap, value, is_ours=each))
                            for each in (False, False, True)
                        ],
                        gate=1.1 if make is confluent and value is VALUE else 1 / THROUGHPUT,
                    )


def compare_clients(pair: str, writes: list[Callable[[], None]], *, gate: float) -> None:
    """Without, without again, and with ours: paired in each round, in a new order."""
    for warm_up in writes * 2:
        warm_up()
    turns = random.Random(1)
    rounds = []
    for _ in range(2 * ROUNDS + 1):
        spent = {at: seconds(writes[at]) for at in turns.sample(range(3), k=3)}
        rounds.append((spent[2] / spent[0], spent[1] / spent[0]))
    tell(pair, statistics.median(ours for ours, _ in rounds), gate=gate)
    print(f"without / without: {statistics.median(own for _, own in rounds):.3f}", file=sys.stderr)


if __name__ == "__main__":
    # The brokers' folder is in memory: it must not stay where the run is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    compare_kafka_python()
    compare_aiokafka()
    with MockCluster(list(BROKERS.values())) as mock:
        mock.topic("t", partitions=6)
        compare_send(mock)
        for size in (LIBRDKAFKA_BATCH_BYTES, CONFIG.sticky_bytes):
            compare_confluent(mock, size)
    if os.environ.get("KAFKA") == "0":
        print("left out: throughput on real brokers (KAFKA=0)", file=sys.stderr)
    else:
        compare_throughput()
