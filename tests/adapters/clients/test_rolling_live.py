"""Assignors of a running group are changed, one member after the other, and no record is lost."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from at_least_once import CommittingCrew, load
from consumer_groups import racks_of, topic_on
from kafka_traffic import until
from rackwise.adapters.clients.kafka_python.group import (
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


@pytest.mark.kafka
@pytest.mark.parametrize("column", COLUMNS)
def test_every_record_is_read_while_the_assignor_changes(kraft_cluster, column):
    topic = "rolling-" + "".join(filter(str.isalpha, column))
    racks = {topic: racks_of(kraft_cluster, SPREAD)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, SPREAD),
        CommittingCrew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        with load(kraft_cluster.bootstrap, topic, len(SPREAD)) as written:
            for stage in COLUMNS[column]:
                for name, rack in MEMBERS.items():
                    if name in crew.readers:
                        crew.leave(name)
                    crew.join(name, *stage(rack), rack=rack)
                    crew.rest(racks)
        until(lambda: crew.ledger.has_read(written), "all records")
        assert crew.ledger.broken == []
        assert {each.partition(":")[0] for each in written} == {"0", "1", "2", "3"}
