"""The locality table of the guide for consumers, and how a row of it is measured."""

from __future__ import annotations

from contextlib import closing
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


def measured(cluster, join, topic, replication, *, settled=None):
    """The same of three members that join one after the other.

    `settled`: wait for this number of local partitions; a broker moves them in several steps.
    """
    placement = [[(n + k) % len(RACKS) for k in range(replication)] for n in range(PARTITIONS)]
    racks = {topic: racks_of(cluster, placement)}
    with (
        closing(connect(cluster.bootstrap)) as admin,
        topic_on(admin, topic, placement),
        Crew(cluster.bootstrap, topic, [topic]) as crew,
    ):
        for rack in RACKS:
            join(crew, f"app-{rack}", rack)
        crew.rest(racks)
        if settled is not None:
            until(
                lambda: crew.is_whole(PARTITIONS) and crew.local(racks) == settled,
                f"{topic} to read {settled} partitions in its own racks",
            )
        return f"{crew.local(racks)} of {PARTITIONS}"
