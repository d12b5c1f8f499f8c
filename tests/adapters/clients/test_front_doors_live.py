"""The front door of each client on real brokers, as its guide shows it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.partitioner import Partitioner

import rackwise.aiokafka
import rackwise.kafka_python
from consumer_groups import POLL_MS, QUICK, topic_on
from kafka_traffic import PATIENCE_S, delete, until
from producers import read_values
from rackwise import PartitionerConfig
from rackwise.adapters.kafka import connect
from rackwise.core.errors import PartitionerConfigError
from shown_commands import ROOT, blocks_of, shown_commands

pytestmark = pytest.mark.kafka

CLIENTS = ["kafka-python", "aiokafka", "confluent-kafka"]
LED = [[0, 1], [1, 2], [2, 0]]
"""Led from racks a, b, c."""
SECOND = 1
"""The partition that partitioners of a test choose; its leader is in rack b."""


def shown(guide, heading, bootstrap):
    """The Python blocks below a heading, for this cluster and rack a."""
    page = ROOT / "docs" / "guides" / guide
    found = [text for above, text in blocks_of(page, "python") if above == heading]
    assert found
    return [text.replace("kafka-1:9092", bootstrap).replace("use1-az1", "a") for text in found]


class EnoughError(Exception):
    """A record was read."""


@contextmanager
def written(bootstrap):
    """Records in all partitions of `orders` until the block ends."""
    is_over = threading.Event()

    def write():
        with closing(KafkaProducer(bootstrap_servers=bootstrap.split(","))) as producer:
            while not is_over.wait(0.2):
                for partition in range(len(LED)):
                    producer.send("orders", b"value", partition=partition)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def bootstrap(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin, topic_on(admin, "orders", LED):
        yield kraft_cluster.bootstrap


@pytest.mark.parametrize("client", CLIENTS)
def test_the_consumer_of_the_guide_reads(bootstrap, client):
    def handle(record):
        value = record.value
        assert (value if isinstance(value, bytes) else value()) == b"value"
        raise EnoughError

    (text,) = shown("consumers.md", client, bootstrap)
    names = {"handle": handle}
    with written(bootstrap), pytest.raises(EnoughError):
        exec(compile(text, "consumers.md", "exec"), names)  # noqa: S102 (our own text)
    if client == "confluent-kafka":
        names["consumer"].close()


@pytest.mark.parametrize(
    ("guide", "heading", "said"),
    [
        ("consumers.md", "From the sandbox to a first record", r"\d b'first'"),
        (
            "producers.md",
            "From the sandbox to first records",
            r"(\d{6}) of \1 bytes to leaders in the own rack",
        ),
    ],
)
def test_the_first_steps_of_the_guide(kraft_cluster, capsys, guide, heading, said):
    """The sandbox runs already; racks a and use1-az1 are the same."""
    steps = [each for each in shown_commands(ROOT / "docs/guides" / guide) if heading == each[0]]
    assert [each.words[:2] for each in steps] == [["sandbox", "--brokers"], ["topic", "create"]]
    words = [word.replace("kafka-1:9092", kraft_cluster.bootstrap) for word in steps[1].words]
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        try:
            subprocess.run([sys.executable, "-m", "rackwise.cli", *words], check=True)
            (text,) = shown(guide, heading, kraft_cluster.bootstrap)
            exec(compile(text, guide, "exec"), {})  # noqa: S102 (our own text)
        finally:
            delete(admin, "orders")
    assert re.fullmatch(said, capsys.readouterr().out.splitlines()[-1])


def test_the_attached_consumer_of_the_guide_sends_its_rack(bootstrap, caplog):
    heading = "Attach assignors to a consumer that a framework creates"
    (text,) = shown("consumers.md", heading, bootstrap)
    names = {}
    exec(compile(text, "consumers.md", "exec"), names)  # noqa: S102 (our own text)
    with closing(names["consumer"]) as consumer, written(bootstrap):
        while not consumer.poll(timeout_ms=POLL_MS):
            pass
        assert names["assignor"].last_report.local == 2
    assert [each for each in caplog.records if each.name.startswith("rackwise.adapters.cl")] == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_producer_of_the_guide_writes_near(bootstrap, client):
    (text,) = shown("producers.md", client, bootstrap)
    exec(compile(text, "producers.md", "exec"), {})  # noqa: S102 (our own text)
    found = []

    def is_replicated():
        found.append(read_values(bootstrap, "orders", len(LED)))
        return any(found[-1].values())

    until(is_replicated, "the record, which only its leader has acknowledged, to be readable")
    assert found[-1] == {0: [b"value"], 1: [], 2: []}


def test_the_producers_of_the_guide_have_the_options_that_it_sets(bootstrap):
    first, alone = shown("producers.md", "Set the options", bootstrap)
    names = {}
    for text in (first, alone):
        exec(compile(text, "producers.md", "exec"), names)  # noqa: S102 (our own text)
    made = [names[name] for name in ("first", "second", "plain")]
    for number, producer in enumerate(made):
        with closing(producer):
            where = [producer.send("orders", b"v", key=b"%d" % each) for each in range(20)]
            found = {each.get(PATIENCE_S).partition for each in where}
        assert found == ({0, 1, 2} if number == 2 else {0})  # only `plain` looks at keys


class Always(Partitioner):
    """A partitioner of a user."""

    def partition(self, *_told):
        return SECOND


def test_a_partitioner_of_the_users_own_stays_in_force(bootstrap, caplog):
    async def write():
        async with rackwise.aiokafka.RackAwareProducer(
            client_rack="a",
            bootstrap_servers=bootstrap,
            partitioner=lambda _key, every, _available: sorted(every)[SECOND],
        ) as producer:
            found = [await producer.send_and_wait("orders", b"v", each) for each in (None, b"k")]
            assert producer.counters() == {}
            return {each.partition for each in found}

    with rackwise.kafka_python.RackAwareProducer(
        client_rack="a", bootstrap_servers=bootstrap.split(","), partitioner=Always()
    ) as producer:
        sent = [producer.send("orders", b"v", each) for each in (None, b"k")]
        assert {each.get(PATIENCE_S).partition for each in sent} == {SECOND}
        assert producer.counters() == {}
    assert asyncio.run(write()) == {SECOND}
    assert caplog.text.count("custom-partitioner: wanted no partitioner.class") == 2


def test_one_partitioner_in_two_producers_is_refused(bootstrap):
    config = PartitionerConfig(rack_aware=True, rack="a")
    shared = rackwise.kafka_python.RackAwarePartitioner(config)
    first, second = (
        KafkaProducer(bootstrap_servers=bootstrap.split(","), partitioner=shared) for _ in "12"
    )
    with closing(first), closing(second):
        assert first.send("orders", b"v").get(PATIENCE_S).partition == 0
        with pytest.raises(PartitionerConfigError, match="one that serves another producer"):
            second.send("orders", b"v")
        assert first.send("orders", b"v").get(PATIENCE_S).partition == 0


@pytest.mark.parametrize(
    ("assignor", "lost"),
    [
        ("RackRange", "this member sends no rack, changed racks of replicas lead"),
        ("RackCooperativeSticky", "this member sends no rack, what a round withholds may stay"),
    ],
)
def test_an_assignor_without_its_consumer_warns_once(bootstrap, caplog, assignor, lost):
    """Both a class and several joins: the group is left and joined again."""
    strategy = [getattr(rackwise.kafka_python, assignor)]
    configs = {"bootstrap_servers": bootstrap.split(","), "group_id": assignor, **QUICK}
    consumer = KafkaConsumer("orders", partition_assignment_strategy=strategy, **configs)
    with closing(consumer), written(bootstrap):
        while not consumer.poll(timeout_ms=POLL_MS):
            pass
        consumer.unsubscribe()
        consumer.subscribe(["orders"])
        while not consumer.poll(timeout_ms=POLL_MS):
            pass
    told = [each.getMessage() for each in caplog.records if "not attached" in each.getMessage()]
    assert len(told) == 1
    assert re.search(f"is not attached to its consumer: {lost}", told[0])
