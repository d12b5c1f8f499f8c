"""The locality table of the guide, measured: what each assignor reads in its own racks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from consumer_groups import Crew, racks_of, topic_on
from rackwise.adapters.clients.kafka_python.group import RackOptimal
from rackwise.adapters.kafka import connect

pytestmark = pytest.mark.kafka

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "consumers.md"
RACKS = "abc"
PARTITIONS = 9
"""Partition i is led by broker i mod 3; its second replica is on the next broker."""

JOIN = {
    "`range` of kafka-python": lambda crew, name, rack: crew.join(
        name, RangePartitionAssignor, rack=rack
    ),
    "`range` of librdkafka, with `client.rack`": lambda crew, name, rack: crew.join_confluent(
        name, "range", rack
    ),
    "`rack-optimal` of Rackwise": lambda crew, name, rack: crew.join(name, RackOptimal(rack)),
    "`uniform` on the broker": lambda crew, name, rack: crew.join_broker_assigned(
        name, "uniform", rack
    ),
    "`range` on the broker": lambda crew, name, rack: crew.join_broker_assigned(
        name, "range", rack
    ),
}
"""Row of the table -> how a member joins."""


def printed(row, replication):
    """What the guide says: local partitions of all."""
    (line,) = [line for line in GUIDE.read_text().splitlines() if line.startswith(f"| {row} |")]
    return line.split("|")[1 + replication].strip()


@pytest.mark.parametrize("replication", [1, 2])
@pytest.mark.parametrize("row", JOIN)
def test_the_table_of_the_guide(kraft_cluster, row, replication):
    placement = [[(n + k) % 3 for k in range(replication)] for n in range(PARTITIONS)]
    number = list(JOIN).index(row)
    topic = f"table-{number}-{replication}"
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, placement),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        for rack in RACKS:
            JOIN[row](crew, f"app-{rack}", rack)
        racks = {topic: racks_of(kraft_cluster, placement)}
        crew.rest(racks)
        assert f"{crew.local(racks)} of {PARTITIONS}" == printed(row, replication)
