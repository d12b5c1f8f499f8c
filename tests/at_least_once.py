"""What a group reads and commits under load, and the law of at-least-once delivery.

A stay is the time between the assignment of a partition to a member and its revocation. The law:
within a stay no record is read twice, and no record is read that was committed before the stay
began. A record that is read twice was therefore not committed when its reader lost it.

```
offsets of t-0         0 1 2 3 4 5
a: reads, commits 3    r r r r r        a is killed
b: is assigned t-0           r r r      may begin with 3, not with 2
```
"""

from __future__ import annotations

import multiprocessing
import threading
from ast import literal_eval
from contextlib import contextmanager
from pathlib import Path

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors

from consumer_groups import QUICK, AiokafkaReader, ConfluentReader, Crew, Reader
from kafka_traffic import producer
from rackwise.kafka_python import RackOptimal, rack_consumer

LOAD_PAUSE_S = 0.02


class Ledger:
    """What members of one group were assigned, read and committed, as they report it."""

    def __init__(self):
        self.read_at = {}
        self.broken = []
        self._done = {}
        self._stays = {}
        self._lock = threading.Lock()

    def given(self, member, partitions):
        """A member begins a stay in each of these partitions."""
        with self._lock:
            for where in partitions:
                self._stays[member, where] = self._done.get(where, 0)

    def read(self, member, where, records):
        """A member has read these (offset, id) records."""
        with self._lock:
            for offset, identity in records:
                wanted = self._stays.get((member, where), 0)
                if offset < wanted:
                    self.broken.append(f"{member} reads {where} {offset}, {wanted} is next")
                self._stays[member, where] = offset + 1
                self.read_at.setdefault(identity, []).append((where, offset))

    def committed(self, _member, offsets):
        """A broker accepted a member's commit of the next offsets to read."""
        with self._lock:
            for where, offset in offsets:
                self._done[where] = max(offset, self._done.get(where, 0))

    def absorb(self, path):
        """Add what a member in another process wrote down before it was killed."""
        other = Ledger()
        for kind, *told in noted(path):
            getattr(other, kind)(*told)
        self.broken += other.broken
        self.committed(None, other._done.items())
        with self._lock:
            for identity, places in other.read_at.items():
                self.read_at.setdefault(identity, []).extend(places)

    def has_read(self, ids):
        """Whether each of these records was read."""
        with self._lock:
            return self.read_at.keys() >= set(ids)

    def twice(self):
        """The number of records that were read more than once at the same place."""
        with self._lock:
            return sum(len(places) > len(set(places)) for places in self.read_at.values())


class Notes:
    """The ledger of a process that will be killed, written line by line."""

    def __init__(self, path):
        self._file = path.open("ab", buffering=0)

    def _note(self, *told):
        self._file.write(f"{told!r}\n".encode())

    def given(self, member, partitions):
        self._note("given", member, list(partitions))

    def read(self, member, where, records):
        self._note("read", member, where, list(records))

    def committed(self, member, offsets):
        self._note("committed", member, list(offsets))


def noted(path):
    """The lines that were written completely; an empty ledger if there are none."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [literal_eval(line) for line in lines if line.endswith("\n")]


def has_uncommitted(path):
    """Whether a member has committed something and has read more since."""
    kinds = [kind for kind, *_ in noted(path)]
    return "committed" in kinds and kinds[-1] == "read"


class Stays(kafka.ConsumerRebalanceListener):
    """Records in the ledger when a member of kafka-python is assigned partitions."""

    def __init__(self, member, ledger):
        self.member = member
        self.ledger = ledger

    def on_partitions_assigned(self, assigned):
        self.ledger.given(self.member, map(tuple, assigned))

    def on_partitions_revoked(self, revoked):
        pass


class LoopStays(Stays, aiokafka.ConsumerRebalanceListener):
    """The same for aiokafka."""


class CommittingReader(Reader):
    """Commits what it has read after each poll; if a commit fails, with the next one."""

    def __init__(self, consumer, name, keep):
        self._next = {}
        consumer.subscribe(list(consumer.subscription()), listener=Stays(name, keep))
        super().__init__(consumer, name, keep)

    def poll(self):
        for where, records in self.consumer.poll(timeout_ms=self.poll_ms).items():
            self._keep.read(self.name, tuple(where), map(told, records))
            self._next[where] = records[-1].offset + 1
        has = self.consumer.assignment() or ()
        self._next = {where: offset for where, offset in self._next.items() if where in has}
        if self._next:
            self._commit()

    def _commit(self):
        offsets = {
            where: kafka.OffsetAndMetadata(offset, "", -1) for where, offset in self._next.items()
        }
        try:
            self.consumer.commit(offsets)
        except kafka.errors.KafkaError:
            return
        self._keep.committed(self.name, [(tuple(where), at) for where, at in self._next.items()])
        self._next = {}


class OnceCommittingReader(CommittingReader):
    """Commits nothing after the first accepted commit: other members read those records again."""

    has_committed = False

    def _commit(self):
        if not self.has_committed:
            super()._commit()
            self.has_committed = not self._next


class CommittingConfluentReader(ConfluentReader):
    """The same for confluent-kafka."""

    def __init__(self, consumer, topics, name, keep):
        self._next = {}
        # The callback may come before `Reader` keeps these two.
        self.name, self._keep = name, keep
        super().__init__(consumer, topics, name, keep)

    def given(self, _consumer, partitions):
        self._keep.given(self.name, [(each.topic, each.partition) for each in partitions])

    def poll(self):
        for record in self.consumer.consume(500, 0.2):
            if record.error() is None:
                where = record.topic(), record.partition()
                identity = record.value().decode()
                self._keep.read(self.name, where, [(record.offset(), identity)])
                self._next[where] = record.offset() + 1
        self.has = [(each.topic, each.partition) for each in self.consumer.assignment()]
        self._next = {where: at for where, at in self._next.items() if where in self.has}
        if self._next:
            offsets = [confluent_kafka.TopicPartition(*told, at) for told, at in self._next.items()]
            try:
                self.consumer.commit(offsets=offsets, asynchronous=False)
            except confluent_kafka.KafkaException:
                return
            self._keep.committed(self.name, self._next.items())
            self._next = {}


class CommittingLoop(AiokafkaReader):
    """The same for aiokafka."""

    def prepare(self, made):
        self._next = {}
        made.subscribe(list(self.consumer[0]), listener=LoopStays(self.name, self._keep))

    async def take(self, made, batches):
        for where, records in batches.items():
            self._keep.read(self.name, tuple(where), map(told, records))
            self._next[where] = records[-1].offset + 1
        has = made.assignment()
        mine = {where: offset for where, offset in self._next.items() if where in has}
        self._next = mine
        if mine:
            try:
                await made.commit(mine)
            except (aiokafka.errors.KafkaError, aiokafka.errors.IllegalStateError):
                return
            self._keep.committed(self.name, [(tuple(where), at) for where, at in mine.items()])
            self._next = {}


class CommittingCrew(Crew):
    """A group whose members share one ledger."""

    reader = CommittingReader
    confluent = CommittingConfluentReader
    loop = CommittingLoop

    def __init__(self, bootstrap, group, topics):
        super().__init__(bootstrap, group, topics)
        self.keep = self.ledger = Ledger()


def told(record):
    """Offset and id of a record of `load`."""
    return record.offset, record.value.decode()


@contextmanager
def load(bootstrap, topic, partitions):
    """Write records until the block ends; yields the ids that brokers have acknowledged so far."""
    acknowledged = set()
    is_over = threading.Event()

    def write():
        number = 0
        with producer(bootstrap, linger_ms=5) as sender:
            while not is_over.wait(LOAD_PAUSE_S):
                for partition in range(partitions):
                    identity = f"{partition}:{number}"
                    sent = sender.send(topic, partition=partition, value=identity.encode())
                    sent.add_callback(lambda _where, identity=identity: acknowledged.add(identity))
                number += 1
            sender.flush()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield acknowledged
    finally:
        is_over.set()
        thread.join()


@contextmanager
def committing(bootstrap, group, topic, *, rack, notes):
    """A member in its own process that commits once and writes down what it does."""
    process = multiprocessing.get_context("spawn").Process(
        target=_commit_for_ever,
        args=(bootstrap, group, topic, rack, str(notes)),
        daemon=True,
    )
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _commit_for_ever(bootstrap, group, topic, rack, notes):
    consumer = rack_consumer(
        topic,
        client_rack=rack,
        partition_assignment_strategy=[RackOptimal],
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        client_id=f"m-{rack}",
        **QUICK,
    )
    OnceCommittingReader(consumer, f"m-{rack}", Notes(Path(notes))).join()
