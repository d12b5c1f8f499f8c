"""Groups of real consumers on a cluster of the sandbox; a thread polls each consumer."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager

import confluent_kafka
from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer

from kafka_traffic import PATIENCE_S, create, delete, until
from laws import check_assignment
from rackwise.adapters.clients.aiokafka import group as aiokafka_group
from rackwise.adapters.clients.kafka_python.group import RackAssignor, attach
from rackwise.core.assignors import Assignment, Member, TopicPartition

REFRESH_MS = 300
"""How old the metadata of a consumer may get: changes are to be seen soon."""

POLL_MS = 1000

ANY = object()
"""A generation that is not shown."""

QUICK = {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "metadata_max_age_ms": REFRESH_MS,
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 300,
}


class Reader:
    """A consumer and the thread that polls it until it is told to stop.

    Polls are long: kafka-python discards a join that ends between two polls.
    """

    poll_ms = POLL_MS

    def __init__(self, consumer, name, keep):
        self.name = name
        self.consumer = consumer
        self.error = None
        self._keep = keep
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while not self._is_over.is_set():
                self.poll()
        except Exception as error:  # noqa: BLE001, told by `check`
            self.error = error

    def poll(self):
        for where, records in self.consumer.poll(timeout_ms=self.poll_ms).items():
            self._keep(self.name, where.topic, where.partition, [each.offset for each in records])

    def check(self):
        if self.error is not None:
            message = f"{self.name} ended"
            raise AssertionError(message) from self.error

    def join(self):
        """Wait until the thread ends."""
        self._thread.join()

    def partitions(self):
        return [TopicPartition(*tp) for tp in self.consumer.assignment() or ()]

    def generation(self):
        """The member's generation; None while it is joining."""
        joining = self.consumer._coordinator.need_rejoin()
        return None if joining else self.consumer.group_metadata().generation_id

    def close(self):
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        self.consumer.close()


class ConfluentReader(Reader):
    """The same for confluent-kafka, which hides its generation and is used by one thread only."""

    has = ()

    def __init__(self, consumer, topics, name, keep):
        consumer.subscribe(list(topics), on_assign=self.given)
        super().__init__(consumer, name, keep)

    def given(self, _consumer, partitions):
        """Called when the member is assigned partitions."""

    def poll(self):
        record = self.consumer.poll(0.2)
        if record is not None and record.error() is None:
            self._keep(self.name, record.topic(), record.partition(), [record.offset()])
        self.has = [(each.topic, each.partition) for each in self.consumer.assignment()]

    def partitions(self):
        return [TopicPartition(*tp) for tp in self.has]

    def generation(self):
        return ANY


class AiokafkaReader(Reader):
    """The same for aiokafka, in an event loop of its own."""

    has = ()
    number = None

    def _run(self):
        try:
            asyncio.run(self._read())
        except Exception as error:  # noqa: BLE001, told by `check`
            self.error = error

    async def _read(self):
        topics, assignors, configs = self.consumer
        made = AIOKafkaConsumer(*topics, **configs)
        try:
            aiokafka_group.attach(made, *assignors)
            self.prepare(made)
            await made.start()
            while not self._is_over.is_set():
                await self.take(made, await made.getmany(timeout_ms=200))
                joining = made._coordinator._rejoin_needed_fut.done()
                self.number = None if joining else made._coordinator.generation
                self.has = sorted(made.assignment())
        finally:
            await made.stop()

    def prepare(self, made):
        """Called before the consumer starts."""

    async def take(self, _made, batches):
        for where, records in batches.items():
            offsets = [each.offset for each in records]
            self._keep(self.name, where.topic, where.partition, offsets)

    def partitions(self):
        return [TopicPartition(*tp) for tp in self.has]

    def generation(self):
        return self.number

    def close(self):
        self._is_over.set()
        self._thread.join(PATIENCE_S)


class Crew:
    """Members of one group, by name."""

    reader = Reader
    confluent = ConfluentReader
    loop = AiokafkaReader

    def __init__(self, bootstrap, group, topics):
        self.bootstrap = bootstrap
        self.group = group
        self.topics = tuple(topics)
        self.readers = {}
        self.assignors = {}
        self.racks = {}
        self.read = {}
        self.keep = self._keep
        self._lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *told):
        for reader in list(self.readers.values()):
            reader.close()

    def join(self, name, *assignors, rack=None, **configs):
        """Start a member of kafka-python, in the rack of its first assignor if that is ours."""
        rack = rack or assignors[0].rack
        made = KafkaConsumer(
            *self.topics,
            bootstrap_servers=self.bootstrap.split(","),
            group_id=self.group,
            client_id=name,
            client_rack=rack or "",
            partition_assignment_strategy=list(assignors),
            **{**QUICK, **configs},
        )
        ours = [each for each in assignors if isinstance(each, RackAssignor)]
        attach(made, *ours)
        self._let(name, rack, self.reader(made, name, self.keep), ours)

    def join_aiokafka(self, name, *assignors, **configs):
        """Start a member of aiokafka."""
        made = {
            "bootstrap_servers": self.bootstrap,
            "group_id": self.group,
            "client_id": name,
            "client_rack": assignors[0].rack,
            "partition_assignment_strategy": assignors,
            **QUICK,
            **configs,
        }
        reader = self.loop((self.topics, assignors, made), name, self.keep)
        self._let(name, assignors[0].rack, reader, assignors)

    def join_confluent(self, name, strategy, rack, **configs):
        """Start a member of confluent-kafka; `configs`: librdkafka's, with `_` for `.`."""
        self._join_confluent(
            name,
            rack,
            {
                "partition.assignment.strategy": strategy,
                "session.timeout.ms": QUICK["session_timeout_ms"],
                "heartbeat.interval.ms": QUICK["heartbeat_interval_ms"],
                **{name.replace("_", "."): value for name, value in configs.items()},
            },
        )

    def join_broker_assigned(self, name, assignor, rack):
        """Start a member of confluent-kafka that leaves the assignment to the broker (KIP-848)."""
        remote = {"group.protocol": "consumer", "group.remote.assignor": assignor}
        self._join_confluent(name, rack, remote)

    def _join_confluent(self, name, rack, configs):
        made = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group,
                "client.id": name,
                "client.rack": rack,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **configs,
            }
        )
        self._let(name, rack, self.confluent(made, self.topics, name, self.keep), ())

    def join_by_brokers(self, name, assignor, rack):
        """Start a member of confluent-kafka whose partitions brokers assign (KIP-848)."""
        made = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group,
                "group.protocol": "consumer",
                "group.remote.assignor": assignor,
                "client.id": name,
                "client.rack": rack,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._let(name, rack, self.confluent(made, self.topics, name, self.keep), ())

    def _let(self, name, rack, reader, assignors):
        self.racks[name], self.readers[name] = rack, reader
        self.assignors[name] = tuple(assignors)

    def leave(self, name):
        """Stop a member, which leaves its group."""
        self.readers.pop(name).close()
        del self.racks[name], self.assignors[name]

    def _keep(self, _name, topic, partition, offsets):
        with self._lock:
            self.read.setdefault((topic, partition), []).extend(offsets)

    def assignment(self):
        return Assignment.of({name: each.partitions() for name, each in self.readers.items()})

    def generation(self):
        """The generation of all members that show one; None while they differ."""
        found = {reader.generation() for reader in self.readers.values()}
        shown = found - {ANY} or found
        return shown.pop() if len(shown) == 1 else None

    def as_members(self):
        return {name: Member(topics=self.topics, rack=rack) for name, rack in self.racks.items()}

    def is_whole(self, partitions, assignment=None):
        """Whether all members have one generation and each partition has exactly one reader."""
        for reader in self.readers.values():
            reader.check()
        given = (assignment or self.assignment()).partitions.values()
        return (
            self.generation() is not None
            and sum(map(len, given)) == len(set().union(*given)) == partitions
            and all(given)
        )

    def rest(self, racks):
        """Wait until the group is whole, check the laws, and return its generation."""
        counts = {topic: len(partitions) for topic, partitions in racks.items()}
        until(lambda: self.is_whole(sum(counts.values())), f"{self.group} to rest", 60)
        check_assignment(self.assignment(), self.as_members(), counts)
        assigning = [each for own in self.assignors.values() for each in own]
        assert [each.last_error for each in assigning if each.fallbacks] == []
        return self.generation()

    def local(self, racks, assignment=None):
        """Partitions that have a replica in the rack of the member that reads them."""
        return sum(
            self.racks[name] in racks[tp.topic][tp.partition]
            for name, found in (assignment or self.assignment()).partitions.items()
            for tp in found
        )


@contextmanager
def topic_on(admin, name, placement, **configs):
    """A topic with these brokers per partition, deleted after the block."""
    create(admin, name, placement, **configs)
    try:
        yield
    finally:
        delete(admin, name)


def racks_of(cluster, placement):
    """The racks of each partition of a placement on the sandbox's brokers."""
    racks = {broker.id: broker.rack.text for broker in cluster.brokers}
    return [[racks[broker] for broker in brokers] for brokers in placement]
