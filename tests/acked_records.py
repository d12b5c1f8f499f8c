"""A producer with `acks=all` during a test, and the law that no acknowledged record is lost."""

from __future__ import annotations

import threading

from kafka.structs import TopicPartition

from kafka_traffic import PATIENCE_S, producer, until
from laws import check_records
from producers import read_values

PAUSE_S = 0.02
FEW = 5
"""So many are acknowledged of each partition before the block begins."""


class Writing:
    """Writes to every partition of a topic until the block ends; then checks that nothing is lost.

    Records of other writers in the topic are ignored.
    """

    def __init__(self, bootstrap, topic, partitions):
        self.bootstrap, self.topic, self.count = bootstrap, topic, partitions
        self.sent = [[] for _ in range(partitions)]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def _write(self):
        with producer(self.bootstrap, enable_idempotence=True) as sender:
            number = 0
            while not self._is_over.wait(PAUSE_S):
                for partition, sent in enumerate(self.sent):
                    value = b"%d" % number
                    sent.append((value, sender.send(self.topic, value, partition=partition)))
                number += 1

    @property
    def acked(self):
        """Acknowledged values by partition, in the order of sending."""
        return {
            TopicPartition(self.topic, partition): [
                value for value, told in list(sent) if told.succeeded()
            ]
            for partition, sent in enumerate(self.sent)
        }

    def check(self):
        """Stop writing and check the law."""
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the producer does not come to its end"
        read = read_values(self.bootstrap, self.topic, self.count)
        check_records(
            self.acked, {TopicPartition(self.topic, each): values for each, values in read.items()}
        )

    def __enter__(self):
        self._thread.start()
        until(lambda: min(map(len, self.acked.values())) >= FEW, "records to be acknowledged")
        return self

    def __exit__(self, kind, *_):
        self._is_over.set()
        if kind is None:
            self.check()
