"""Producers of all three clients with rack-aware partitioning, behind one interface."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import contextmanager

from kafka import KafkaConsumer, TopicPartition

import rackwise.aiokafka
import rackwise.kafka_python
from kafka_traffic import PATIENCE_S
from rackwise.adapters.clients.confluent import producer as confluent_producer
from rackwise.adapters.clients.rack_source import admin_racks
from rackwise.core.partitioner.options import BATCH_SIZE, OPTIONS

REFRESH_MS = 200
"""How old the metadata of a producer may get: changes are to be seen soon."""


class Writer:
    """`write` sends records of one topic and waits until all are acknowledged."""

    def __init__(self, producer):
        self.producer = producer
        self.handed = 0
        self.found = []

    def write(self, topic, values, key=None):
        """The partition and offset of each record."""
        pending = [self.producer.send(topic, value, key) for value in values]
        found = [each.get(timeout=PATIENCE_S) for each in pending]
        return [(each.partition, each.offset) for each in found]

    def hand_over(self, topic, values):
        """Send without waiting; `found` gets the partitions that acknowledge."""
        self.handed += len(values)
        for value in values:
            future = self.producer.send(topic, value)
            future.add_callback(lambda record: self.found.append(record.partition))

    def waiting(self):
        """Records that were sent and are not acknowledged."""
        return self.handed - len(self.found)

    def counters(self, topic):
        return self.producer.counters()[topic]

    @property
    def failures(self):
        return self.producer.topics.failures


class ConfluentWriter(Writer):
    def write(self, topic, values, key=None):
        found, failed = {}, []

        def delivered(number, error, message):
            if error is None:
                found[number] = message.partition(), message.offset()
            else:
                failed.append(error)

        for number, value in enumerate(values):
            self.producer.produce(
                topic, value, key, on_delivery=lambda *told, n=number: delivered(n, *told)
            )
            self.producer.poll(0)
        assert self.producer.flush(PATIENCE_S) == 0
        assert failed == []
        return [found[number] for number in sorted(found)]

    def hand_over(self, topic, values):
        def delivered(error, message):
            if error is None:
                self.found.append(message.partition())

        self.handed += len(values)
        for value in values:
            self.producer.produce(topic, value, on_delivery=delivered)

    def waiting(self):
        self.producer.poll(0)
        return super().waiting()


class AiokafkaWriter(Writer):
    """A producer in an event loop of its own thread."""

    def __init__(self, producer, run):
        super().__init__(producer)
        self.run = run
        self.tasks = []

    def write(self, topic, values, key=None):
        return self.run(self._write(topic, values, key))

    def hand_over(self, topic, values):
        async def one(value):
            self.found.append((await self.producer.send_and_wait(topic, value)).partition)

        async def start():
            self.tasks += [asyncio.create_task(one(value)) for value in values]

        self.handed += len(values)
        self.run(start())

    async def _write(self, topic, values, key):
        pending = [await self.producer.send(topic, value, key) for value in values]
        found = await asyncio.gather(*pending)
        return [(each.partition, each.offset) for each in found]


def options_of(config):
    """The options of a producer, by Kafka's names, that make this configuration."""
    fields = {name: field for name, (field, _) in OPTIONS.items() if name != BATCH_SIZE}
    return {name: getattr(config, field) for name, field in fields.items()}


@contextmanager
def kafka_python(bootstrap, config, *, racks=None, **options):  # noqa: ARG001
    settings = {"linger_ms": 5, "metadata_max_age_ms": REFRESH_MS, "acks": "all"}
    with rackwise.kafka_python.RackAwareProducer(
        bootstrap_servers=bootstrap.split(","),
        batch_size=config.sticky_bytes,
        rng=random.Random(1),
        **options_of(config),
        **{**settings, **options},
    ) as producer:
        yield Writer(producer)


@contextmanager
def aiokafka(bootstrap, config, *, racks=None, **options):  # noqa: ARG001
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="aiokafka", daemon=True)
    thread.start()

    def run(task):
        return asyncio.run_coroutine_threadsafe(task, loop).result(2 * PATIENCE_S)

    async def made():
        producer = rackwise.aiokafka.RackAwareProducer(
            bootstrap_servers=bootstrap,
            max_batch_size=config.sticky_bytes,
            rng=random.Random(1),
            **options_of(config),
            **{"linger_ms": 5, "metadata_max_age_ms": REFRESH_MS, "acks": "all", **options},
        )
        await producer.start()
        return producer

    producer = run(made())
    try:
        yield AiokafkaWriter(producer, run)
    finally:
        run(producer.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def confluent(bootstrap, config, *, racks=None, **options):
    from confluent_kafka.admin import AdminClient

    conf = {"bootstrap.servers": bootstrap, "log_level": 0}
    settings = {
        "acks": "all",
        "linger.ms": 5,
        "batch.size": config.sticky_bytes,
        "topic.metadata.refresh.interval.ms": REFRESH_MS,
        **{name.replace("_", "."): value for name, value in options.items()},
    }
    source = racks or admin_racks(AdminClient(conf))
    with confluent_producer.RackAwareProducer(
        conf | settings, config, racks=source, rng=random.Random(1)
    ) as producer:
        yield ConfluentWriter(producer)


CLIENTS = {"kafka-python": kafka_python, "aiokafka": aiokafka, "confluent-kafka": confluent}


def read_values(bootstrap, topic, partitions, **options):
    """Every value in a topic, by its partition."""
    where = [TopicPartition(topic, each) for each in range(partitions)]
    found = {each.partition: [] for each in where}
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), auto_offset_reset="earliest", **options
    )
    try:
        consumer.assign(where)
        ends = consumer.end_offsets(where)
        while any(consumer.position(each) < ends[each] for each in where):
            for each, records in consumer.poll(timeout_ms=1000).items():
                found[each.partition] += [record.value for record in records]
    finally:
        consumer.close()
    return found
