"""Records with ids, written continuously and read back, and the end of each replica's log."""

from __future__ import annotations

import threading
from contextlib import closing
from itertools import count

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.protocol.consumer import ListOffsetsRequest

from kafka_traffic import producer, until
from rackwise.adapters.kafka.connect import send_to_each
from rackwise.adapters.launch.views import stores
from rackwise.core.identity.nodes.node_json import NO_LEADER
from rackwise.core.identity.nodes.topics import parse_state, state_path

ANY_REPLICA = -2
"""Kafka's word for a client that asks a replica, whoever leads: it is told the end of its log."""
LATEST = -1


class UniqueRecords(threading.Thread):
    """Writes records with unique ids until it is stopped.

    `acked`: the records that all in-sync replicas have.
    """

    def __init__(self, bootstrap, topic, partitions, pause_s=0.005):
        super().__init__(daemon=True)
        self.acked = set()
        self._servers, self._topic, self._partitions = bootstrap, topic, partitions
        self._pause_s = pause_s
        self._ended = threading.Event()

    def run(self):
        with producer(self._servers, linger_ms=5) as sender:
            for number in count():
                if self._ended.wait(self._pause_s):
                    break
                where = number % self._partitions
                sent = sender.send(self._topic, b"%d" % number, partition=where)
                sent.add_callback(self._heard, number)
            sender.flush(60.0)

    def _heard(self, number, _):
        self.acked.add(number)

    def wait_for(self, more):
        """Wait until so many more are acknowledged."""
        wanted = len(self.acked) + more
        until(lambda: len(self.acked) >= wanted, f"{more} more records acknowledged", 60.0)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join(90.0)


class Leaderless(threading.Thread):
    """Polls a topic's state nodes; `seen`: partitions that were offline."""

    def __init__(self, url, topic, partitions):
        super().__init__(daemon=True)
        self.seen, self.looks = set(), 0
        self._url, self._topic, self._partitions = url, topic, partitions
        self._ended = threading.Event()

    def run(self):
        paths = {state_path(self._topic, number): number for number in range(self._partitions)}
        with closing(stores.open_store(self._url, None, read_only=True)) as store:
            while not self._ended.wait(0.1):
                for path, node in store.read(tuple(paths)).items():
                    where = {"topic": self._topic, "partition": paths[path]}
                    if parse_state(node, **where).leader == NO_LEADER:
                        self.seen.add(paths[path])
                self.looks += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join(30.0)


def write_ids(bootstrap, topic, partitions, ids, acks="all"):
    """Write a record for each id; with `acks` 1 the leader alone acknowledges it."""
    sender = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks=acks)
    with closing(sender):
        for sent in [sender.send(topic, b"%d" % n, partition=n % partitions) for n in ids]:
            sent.get(timeout=60.0)


def read_ids(bootstrap, topic, partitions):
    """The ids of all records."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap.split(","), auto_offset_reset="earliest")
    with closing(consumer):
        all_of = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(all_of)
        ends = consumer.end_offsets(all_of)
        found = []

        def is_read():
            for batch in consumer.poll(timeout_ms=500).values():
                found.extend(int(record.value) for record in batch)
            return all(consumer.position(each) >= ends[each] for each in all_of)

        until(is_read, f"{topic} to be read", 60.0)
    return found


def log_ends(admin, topic, partitions, brokers):
    """Broker -> partition -> end of its log; brokers that do not answer are left out."""
    topic_of = ListOffsetsRequest.ListOffsetsTopic
    asked = [
        topic_of.ListOffsetsPartition(partition_index=number, timestamp=LATEST)
        for number in range(partitions)
    ]
    request = ListOffsetsRequest(
        replica_id=ANY_REPLICA,
        isolation_level=0,
        topics=[topic_of(name=topic, partitions=asked)],
    )
    told = send_to_each(admin, dict.fromkeys(brokers, request))
    return {
        broker: {each.partition_index: each.offset for each in answer.topics[0].partitions}
        for broker, answer in told.items()
        if not isinstance(answer, Exception)
    }


def have_equal_ends(admin, topic, partitions, brokers):
    """Whether all of these brokers have the same, known end in every partition."""
    ends = log_ends(admin, topic, partitions, brokers)
    known = [ends[each] for each in brokers if each in ends]
    return len(known) == len(brokers) and all(
        each == known[0] and min(each.values()) >= 0 for each in known
    )
