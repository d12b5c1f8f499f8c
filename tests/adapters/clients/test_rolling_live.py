"""Assignors of a running group are changed, one member after the other, and no record is lost."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from consumer_groups import Crew, racks_of, topic_on
from kafka_traffic import producer, until
from rackwise.adapters.clients.kafka_python_group import (
    RackCooperativeSticky,
    RackOptimal,
    RackRange,
)
from rackwise.adapters.kafka import connect

SPREAD = [[0, 1], [1, 2], [2, 0], [0, 1]]
MEMBERS = {"m-a": "a", "m-b": "b"}
COLUMNS = {
    "range to rack-optimal": (
        lambda rack: [RackRange(rack)],
        lambda rack: [RackOptimal(rack, mode="eager"), RackRange(rack)],
        lambda rack: [RackOptimal(rack, mode="eager")],
    ),
    "eager to cooperative": (
        lambda rack: [RackRange(rack)],
        lambda rack: [RackCooperativeSticky(rack, mode="eager"), RackRange(rack)],
        lambda rack: [RackCooperativeSticky(rack)],
    ),
    "the client's own to ours of the same name": (
        lambda _rack: [CooperativeStickyAssignor],
        lambda rack: [RackCooperativeSticky(rack)],
    ),
    "cooperative-sticky to rack-optimal": (
        lambda rack: [RackCooperativeSticky(rack)],
        lambda rack: [RackOptimal(rack), RackCooperativeSticky(rack)],
        lambda rack: [RackOptimal(rack)],
    ),
}


@contextmanager
def load(bootstrap, topic, partitions):
    """Records are written until the block ends; then it is known how many of each partition."""
    written = dict.fromkeys(range(partitions), 0)
    is_over = threading.Event()

    def write():
        with producer(bootstrap, linger_ms=5) as sender:
            while not is_over.wait(0.02):
                pending = [sender.send(topic, partition=each, value=b"x") for each in written]
                for each in pending:
                    written[each.get(timeout=30).partition] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        is_over.set()
        thread.join()


@pytest.mark.kafka
@pytest.mark.parametrize("column", COLUMNS)
def test_every_record_is_read_while_the_assignor_changes(kraft_cluster, column):
    topic = "rolling-" + "".join(filter(str.isalpha, column))
    racks = {topic: racks_of(kraft_cluster, SPREAD)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, SPREAD),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        with load(kraft_cluster.bootstrap, topic, len(SPREAD)) as written:
            for stage in COLUMNS[column]:
                for name, rack in MEMBERS.items():
                    if name in crew.readers:
                        crew.leave(name)
                    crew.join(name, *stage(rack), rack=rack, enable_auto_commit=True)
                    crew.rest(racks)
        wanted = {(topic, number): set(range(count)) for number, count in written.items()}
        until(
            lambda: {key: set(found) for key, found in crew.read.items()} == wanted, "all records"
        )
        assert min(written.values()) > 0
