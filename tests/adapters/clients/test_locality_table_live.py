"""The locality table of the guide, measured: what each assignor reads in its own racks.

`test_server_assignor_live` measures the rows of the assignors that need a jar on the brokers.
"""

from __future__ import annotations

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from locality_table import measured, printed
from rackwise.adapters.clients.kafka_python.group import RackOptimal

pytestmark = pytest.mark.kafka

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
# Groups of Kafka's own assignors need 11 s each to settle: CI measures only one of their rows.
IN_CI = "`uniform` on the broker", 1


@pytest.mark.parametrize(
    ("row", "replication"),
    [
        pytest.param(
            row,
            replication,
            marks=[pytest.mark.long] * ("on the broker" in row and (row, replication) != IN_CI),
        )
        for row in JOIN
        for replication in (1, 2)
    ],
)
def test_the_table_of_the_guide(kraft_cluster, row, replication):
    topic = f"table-{list(JOIN).index(row)}-{replication}"
    assert measured(kraft_cluster, JOIN[row], topic, replication) == printed(row, replication)
