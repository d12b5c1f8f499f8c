"""The locality table of the guide for consumers, and how a row of it is measured."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path

from consumer_groups import Crew, racks_of, topic_on
from kafka_traffic import until
from rackwise.adapters.kafka import connect

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "consumers.md"
RACKS = "abc"
PARTITIONS = 9
"""Partition i is led by broker i mod 3; its second replica is on the next broker."""


def printed(row, replication):
    """What the guide says: local partitions of all."""
    (line,) = [line for line in GUIDE.read_text().splitlines() if line.startswith(f"| {row} |")]
    return line.split("|")[1 + replication].strip()


def measured(cluster, join, topic, replication):
    """The same of three members that join one after the other."""
    with _group(cluster, topic, replication) as (crew, racks):
        for rack in RACKS:
            join(crew, f"app-{rack}", rack)
        crew.rest(racks)
        return _text(crew.local(racks))


def measured_by_steps(cluster, join, topic, replication, *, expected):
    """The same where each member joins a group at rest; waits until it is `expected`.

    For assignors that start from the assignment of those before: which of several joins come into
    one assignment is a matter of time. A broker moves partitions in several steps, so a whole group
    may be on its way.
    """
    with _group(cluster, topic, replication) as (crew, racks):
        for rack in RACKS:
            join(crew, f"app-{rack}", rack)
            crew.rest(racks)
        until(
            lambda: crew.is_whole(PARTITIONS) and _text(crew.local(racks)) == expected,
            f"{topic} to read {expected} partitions in its own racks",
        )


def _text(local):
    return f"{local} of {PARTITIONS}"


@contextmanager
def _group(cluster, topic, replication):
    """A group without members on the table's topic, and the racks of its partitions."""
    placement = [[(n + k) % len(RACKS) for k in range(replication)] for n in range(PARTITIONS)]
    with (
        closing(connect(cluster.bootstrap)) as admin,
        topic_on(admin, topic, placement),
        Crew(cluster.bootstrap, topic, [topic]) as crew,
    ):
        yield crew, {topic: racks_of(cluster, placement)}
