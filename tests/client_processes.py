"""A member of a group in its own process, to be killed."""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager

from consumer_groups import POLL_MS, QUICK
from rackwise import kafka_python


@contextmanager
def reading(bootstrap, topic, assignor, *, rack):
    """The process, and how many partitions it has."""
    context = multiprocessing.get_context("spawn")
    has = context.Value("i", 0)
    process = context.Process(
        target=_read, args=(bootstrap, topic, assignor, rack, has), daemon=True
    )
    process.start()
    try:
        yield process, has
    finally:
        process.kill()
        process.join()


def _read(bootstrap, topic, assignor, rack, has):
    consumer = kafka_python.rack_consumer(
        topic,
        client_rack=rack,
        partition_assignment_strategy=[getattr(kafka_python, assignor)],
        bootstrap_servers=bootstrap.split(","),
        group_id=topic,
        **QUICK,
    )
    while True:
        consumer.poll(timeout_ms=POLL_MS)
        has.value = len(consumer.assignment() or ())
