"""All producers of confluent-kafka on real brokers: near, as given, and through outages."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, SerializingProducer
from confluent_kafka.aio import AIOProducer, AsyncSerializingProducer
from confluent_kafka.serialization import StringSerializer

from consumer_groups import topic_on
from kafka_traffic import create, until
from producers import read_values
from rackwise.adapters.clients.confluent import (
    RackAwareAIOProducer,
    RackAwareAsyncSerializingProducer,
    RackAwareProducer,
    RackAwareSerializingProducer,
    views,
)
from rackwise.adapters.kafka import connect

pytestmark = pytest.mark.kafka

THREE = [[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 4
"""Led from racks a, b, c."""
LOCAL = {0, 3, 6, 9}
GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "producers.md"
VALUE = bytes(1000)
RECORDS = 300


@contextmanager
def topic(cluster, name):
    with closing(connect(cluster.bootstrap)) as admin, topic_on(admin, name, THREE):
        yield {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "batch.size": 20_000}


def filled(cluster, name):
    """Partition -> number of values, for the partitions that have some."""
    found = read_values(cluster.bootstrap, name, len(THREE))
    return {partition: len(values) for partition, values in found.items() if values}


def by_produce(conf, name):
    with RackAwareProducer(conf, client_rack="a", logger=logging.getLogger("mine")) as producer:
        assert isinstance(producer, Producer)
        for _ in range(RECORDS):
            producer.produce(name, VALUE)
    return producer


def by_batch(conf, name):
    with RackAwareProducer({**conf, "client.rack": "a"}) as producer:
        messages = [{"value": VALUE} for _ in range(RECORDS)]
        assert producer.produce_batch(name, messages) == RECORDS
    return producer


def by_serializer(conf, name):
    conf = {**conf, "value.serializer": StringSerializer("utf_8")}
    with RackAwareSerializingProducer(conf, client_rack="a") as producer:
        assert isinstance(producer, SerializingProducer)
        for _ in range(RECORDS):
            producer.produce(name, value=VALUE.decode())
    return producer


def by_aio(conf, name):
    async def write():
        async with RackAwareAIOProducer(conf, client_rack="a") as producer:
            assert isinstance(producer, AIOProducer)
            sent = [producer.produce(name, VALUE) for _ in range(RECORDS)]
            deliveries = await asyncio.gather(*sent)
            await producer.flush()
            await asyncio.gather(*deliveries)
        return producer

    return asyncio.run(write())


def by_async_serializer(conf, name):
    """A plain serializer for values, and one for keys that is a coroutine function."""

    async def of_key(key, _context):
        return key

    async def write():
        own = {**conf, "value.serializer": StringSerializer("utf_8"), "key.serializer": of_key}
        async with await RackAwareAsyncSerializingProducer(own, client_rack="a") as producer:
            assert isinstance(producer, AsyncSerializingProducer)
            sent = [producer.produce(name, value=VALUE.decode()) for _ in range(RECORDS)]
            deliveries = await asyncio.gather(*sent)
            await producer.flush()
            await asyncio.gather(*deliveries)
        return producer

    return asyncio.run(write())


WRITERS = [by_produce, by_batch, by_serializer, by_aio, by_async_serializer]


@pytest.mark.parametrize("write", WRITERS)
def test_each_producer_asks_the_brokers_for_their_racks_and_writes_near(kraft_cluster, write):
    with topic(kraft_cluster, write.__name__) as conf:
        producer = write(conf, write.__name__)
        found = filled(kraft_cluster, write.__name__)
        counters = producer.counters()[write.__name__]
    assert set(found) <= LOCAL
    assert len(found) > 1
    assert sum(found.values()) == counters.records == RECORDS
    assert counters.local_bytes == counters.total_bytes
    assert counters.windows_acknowledged == RECORDS * (len(VALUE) + 12) // 20_240
    assert producer.topics.failures.last is None


def test_windows_have_the_clients_batch_size(kraft_cluster):
    with topic(kraft_cluster, "windows") as conf:
        for size, wanted in ((None, 1), (100_000, 15)):
            own = {**conf, "client.rack": "a", "batch.size": size or 1_000_000}
            if size is None:
                del own["batch.size"]
            with RackAwareProducer(own) as producer:
                for _ in range(1500):
                    producer.produce("windows", VALUE)
            assert sum(producer.counters()["windows"].switches.values()) == wanted


def test_a_custom_partitioner_stays_in_force(kraft_cluster, caplog):
    """`murmur2` places records without a key on one partition; `murmur2_random` anywhere."""
    with topic(kraft_cluster, "custom") as conf:
        own = {**conf, "partitioner": "murmur2"}
        with closing(Producer(own)) as plain:
            plain.produce("custom", VALUE)
        (chosen,) = filled(kraft_cluster, "custom")
        with RackAwareProducer(own, client_rack="a") as producer:
            for _ in range(20):
                producer.produce("custom", VALUE)
            producer.produce("custom", VALUE, partition=1)
        assert filled(kraft_cluster, "custom") == {chosen: 21, 1: 1}
        assert len([each for each in caplog.messages if "custom-partitioner: " in each]) == 1
        assert producer.counters() == {}
        own = {**conf, "partitioner": "murmur2_random"}
        with RackAwareProducer(own, client_rack="a") as producer:
            for _ in range(20):
                producer.produce("custom", VALUE)
        assert producer.counters()["custom"].steered.local_bytes == 20 * (len(VALUE) + 12)


def test_the_block_of_the_guide_writes_near(kraft_cluster):
    (block,) = re.findall(
        r"### confluent-kafka\n\n```python\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    with topic(kraft_cluster, "guided"):
        for name, own in (
            ("kafka-1:9092", kraft_cluster.bootstrap),
            ("use1-az1", "a"),
            ("orders", "guided"),
        ):
            assert name in block
            block = block.replace(name, own)
        exec(compile(block, GUIDE.name, "exec"), {})  # noqa: S102 (our own text)
        assert set(filled(kraft_cluster, "guided")) <= LOCAL


@pytest.mark.fault
@pytest.mark.long
def test_it_starts_at_once_with_brokers_down_and_turns_local_later(make_kraft, caplog):
    """One line for the outage at the start, and one for a restart of a broker."""
    cluster, delivered = make_kraft(brokers=3, racks=("a", "b", "c")), []
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, "later", [[0], [1], [2]] * 4)
    for broker in range(3):
        cluster.kill(broker)
    started = time.monotonic()
    conf = {
        "bootstrap.servers": cluster.bootstrap,
        "log_level": 0,
        "batch.size": 5000,
        "message.timeout.ms": 120_000,
        "reconnect.backoff.max.ms": 500,
    }
    with RackAwareProducer(conf, client_rack="a") as producer:
        producer.produce("later", VALUE, on_delivery=lambda *told: delivered.append(told))
        assert time.monotonic() - started < 1.5
        for broker in range(3):
            cluster.start(broker)
        cluster.wait_until_ready()

        def local_bytes():
            producer.produce("later", VALUE, on_delivery=lambda *told: delivered.append(told))
            producer.poll(0.05)
            found = producer.counters().get("later")
            return found.local_bytes if found else 0

        until(local_bytes, "records that stay in the rack")
        assert len(lines(caplog)) == 1
        until(lambda: not producer._views._is_out, "the end of the outage")
        caplog.clear()
        cluster.kill(0)
        until(lambda: local_bytes() and lines(caplog), "the line")
        cluster.start(0)
        cluster.wait_until_ready()
        before = local_bytes()
        until(lambda: local_bytes() > before + 5000, "local records", 60)
        until(lambda: local_bytes() and not producer._views._is_out, "the end of the outage")
        assert len(lines(caplog)) == 1
        assert producer.flush(30) == 0
    assert [error for error, _ in delivered if error is not None] == []


def lines(caplog):
    """What the views have logged."""
    return [each.getMessage() for each in caplog.records if each.name == views.__name__]
