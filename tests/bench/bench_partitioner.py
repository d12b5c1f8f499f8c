"""Choosing partitions for records: `python tests/bench/bench_partitioner.py`.

Topics of 6, 12, 100 and 1,000 partitions, leaders in 3 racks, a producer in one of them, values of
100 bytes. CPU time of this process, the best of 7 interleaved rounds on either side.

Pairs: a choice under its lock / kafka-python's StickyPartitioner, no key; the same at 1,000 / at 6
partitions; a choice / kafka-python's DefaultPartitioner; a keyed record with a known number of
partitions / kafka-python's; weights of 334 candidates, a draw in every window of 16 KiB / no draw;
a producer in a rack / one that is not rack-aware.
"""

from __future__ import annotations

import gc
import sys
import time
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from pairs import ROUNDS, tell

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

from kafka.cluster import ClusterMetadata  # noqa: E402
from kafka.partitioner import DefaultPartitioner  # noqa: E402
from kafka.partitioner.sticky import StickyPartitioner  # noqa: E402

from client_metadata import answer  # noqa: E402
from rackwise.core.partitioner import (  # noqa: E402
    PartitionerConfig,
    PartitionLoad,
    TopicPartitioner,
    TopicView,
    partition_for_key,
    record_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

RACKS = "abc"
BROKERS = 6
VALUE = b"v" * 100
KEY = b"k" * 16
RECORD = record_bytes(None, VALUE)
STICKY_BYTES = 16_384
RECORDS = -(-STICKY_BYTES // RECORD)
"""Of a window."""
CALLS = 5_000


def view(partitions: int) -> TopicView:
    """Leaders in turn on the brokers, brokers in turn in the racks."""
    racks = {node: RACKS[node % len(RACKS)] for node in range(BROKERS)}
    return TopicView(tuple(partition % BROKERS for partition in range(partitions)), racks)


def choice(partitions: int, *, rack_aware: bool = True) -> TopicPartitioner:
    """A producer in rack a."""
    config = PartitionerConfig(rack_aware=rack_aware, rack="a", sticky_bytes=STICKY_BYTES)
    return TopicPartitioner(config, view(partitions), rng=Random(1))


def locked(partitions: int) -> Callable[[], int]:
    """One record, chosen as a plug-in does: the topic's entry, its lock, the record's length."""
    topics = {"t": (Lock(), choice(partitions))}

    def ask(topic: str = "t", serialized_value: bytes = VALUE) -> int:
        lock, partitioner = topics[topic]
        with lock:
            return partitioner.defer(len(serialized_value) + 12)

    return ask


def metadata(partitions: int) -> ClusterMetadata:
    """The same topic as kafka-python sees it."""
    racks = {node: RACKS[node % len(RACKS)] for node in range(BROKERS)}
    cluster = ClusterMetadata()
    topic = [[partition % BROKERS] for partition in range(partitions)]
    cluster.update_metadata(answer(racks, {"t": topic}))
    return cluster


def peer(kind: type, partitions: int, key: bytes | None = None) -> Callable[[], int]:
    """One record, chosen by kafka-python's own partitioners."""
    return partial(kind().partition, "t", key, key, VALUE, VALUE, metadata(partitions))


def nanoseconds(work: Callable[[], object], calls: int) -> float:
    """CPU time of one call, collector off."""
    gc.collect()
    gc.disable()
    started = time.process_time_ns()
    for _ in repeat(None, calls):
        work()
    taken = time.process_time_ns() - started
    gc.enable()
    return taken / calls


def compare_best(
    pair: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    gate: float,
    calls: tuple[int, int] = (CALLS, CALLS),
) -> None:
    """Print one result: the best of ours / the best of theirs."""
    ours(), theirs()
    rounds = [
        (nanoseconds(ours, calls[0] * 4), nanoseconds(theirs, calls[1])) for _ in range(ROUNDS)
    ]
    tell(pair, min(a for a, _ in rounds) / min(b for _, b in rounds), gate=gate)


def compare_unkeyed() -> None:
    """Records without key, against the shipped partitioners and against our own other cases."""
    for partitions, gate in ((12, 0.3), (1_000, 0.01)):
        compare_best(
            f"choice with lock / kafka-python's StickyPartitioner, {partitions} partitions",
            locked(partitions),
            peer(StickyPartitioner, partitions),
            gate=gate,
            calls=(CALLS, CALLS if partitions < 100 else CALLS // 50),
        )
    compare_best(
        "choice / kafka-python's DefaultPartitioner, 6 partitions",
        partial(choice(6).defer, RECORD),
        peer(DefaultPartitioner, 6),
        gate=0.2,
    )
    compare_best(
        "choice with lock at 1,000 / at 6 partitions",
        locked(1_000),
        locked(6),
        gate=1.3,
        calls=(CALLS, CALLS * 4),
    )
    compare_best(
        "choice rack-aware / not, 100 partitions",
        partial(choice(100).defer, RECORD),
        partial(choice(100, rack_aware=False).defer, RECORD),
        gate=1.3,
        calls=(CALLS, CALLS * 4),
    )


def compare_keyed() -> None:
    """A key of 16 bytes and a known number of partitions."""
    compare_best(
        "key / kafka-python's StickyPartitioner, 1,000 partitions",
        partial(partition_for_key, KEY, 1_000),
        peer(StickyPartitioner, 1_000, KEY),
        gate=0.1,
        calls=(CALLS, CALLS // 50),
    )


def compare_weighted() -> None:
    """What a draw by weight costs a record if each candidate has a different load."""
    partitioner = choice(1_000)
    local = partitioner.candidates().partitions
    load = PartitionLoad({partition: partition % 7 for partition in local})

    def switch() -> None:
        partitioner.set_load(load)
        partitioner.peek()
        partitioner.add(STICKY_BYTES)

    quiet = choice(1_000)
    rounds = [
        (nanoseconds(switch, 500) / RECORDS, nanoseconds(partial(quiet.defer, RECORD), CALLS * 4))
        for _ in range(ROUNDS)
    ]
    tell(
        f"weighted switch over {len(local)} candidates, per record of a window / choice",
        min(a for a, _ in rounds) / min(b for _, b in rounds),
        gate=1.5,
    )


if __name__ == "__main__":
    compare_unkeyed()
    compare_keyed()
    compare_weighted()
