"""Groups of several clients on real brokers."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from consumer_groups import Crew, racks_of, topic_on
from rackwise.adapters.clients.aiokafka import group as aiokafka_group
from rackwise.adapters.clients.kafka_python.group import (
    RackCooperativeSticky,
    RackOptimal,
    RackRange,
)
from rackwise.adapters.kafka import connect
from shown_commands import ROOT

SPREAD = [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2], [2, 0]]
ASSIGNORS = {"range": RackRange, "cooperative-sticky": RackCooperativeSticky}
LEAST_LOCAL = 5
"""Of six partitions: Kafka's rules let the first member take what only the second has near."""


@pytest.mark.kafka
@pytest.mark.parametrize("strategy", ASSIGNORS)
@pytest.mark.parametrize("leads", ["ours", "theirs"])
def test_librdkafka_and_ours_agree(kraft_cluster, strategy, leads):
    topic = f"{strategy}-{leads}"
    racks = {topic: racks_of(kraft_cluster, SPREAD)}
    ours = ASSIGNORS[strategy]("a")
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, SPREAD),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        join = {
            "ours": lambda: crew.join("m-a", ours),
            "theirs": lambda: crew.join_confluent("m-b", strategy, "b"),
        }
        join.pop(leads)()
        crew.rest(racks)
        join.popitem()[1]()
        crew.rest(racks)
        assert crew.local(racks) >= LEAST_LOCAL
        assert (ours.last_report is not None) == (leads == "ours")


LONE = [[0], [1], [2]] * 4
"""One replica for each partition: no assignment but the best reads all of them locally."""


@pytest.mark.kafka
def test_a_leader_in_aiokafka_reads_the_racks_of_librdkafka_members(kraft_cluster):
    topic = "led-by-aiokafka"
    racks = {topic: racks_of(kraft_cluster, LONE)}
    leader = aiokafka_group.RackRange("a")
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, LONE),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        crew.join_aiokafka("m-a", leader)
        crew.rest(racks)
        for rack in "bc":
            crew.join_confluent(f"m-{rack}", "range", rack)
            crew.rest(racks)
        assert leader.last_report is not None
        assert leader.last_report.unknown == 0
        assert crew.local(racks) == len(LONE)


PLAIN = "kafka-python"
OURS = "Rackwise in kafka-python"
LOOP = "Rackwise in aiokafka"
THEIRS = "librdkafka"
JOIN = {
    PLAIN: lambda crew, rack: crew.join(f"m-{rack}", RangePartitionAssignor, rack=rack),
    OURS: lambda crew, rack: crew.join(f"m-{rack}", RackRange(rack)),
    LOOP: lambda crew, rack: crew.join_aiokafka(f"m-{rack}", aiokafka_group.RackRange(rack)),
    THEIRS: lambda crew, rack: crew.join_confluent(f"m-{rack}", "range", rack),
}
EXPECTED = [
    tuple(cell.strip() for cell in row.strip("|").split("|"))
    for row in (ROOT / "docs" / "guides" / "mixed-groups.md").read_text().splitlines()
    if row.endswith(" of 12 |")
]


def test_the_guide_shows_groups_of_each_leader():
    assert {leader for leader, *_ in EXPECTED} == set(JOIN)


@pytest.mark.kafka
@pytest.mark.parametrize(("leader", "others", "local"), EXPECTED)
def test_a_group_reads_as_locally_as_the_guide_says(kraft_cluster, leader, others, local):
    first, sep, second = others.partition(", ")
    assert sep
    topic = "mixed-" + "".join(filter(str.isalpha, leader + others))
    racks = {topic: racks_of(kraft_cluster, LONE)}
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, topic, LONE),
        Crew(kraft_cluster.bootstrap, topic, [topic]) as crew,
    ):
        members = (leader, first, first if second == "twice" else second)
        for rack, member in zip("abc", members, strict=True):
            JOIN[member](crew, rack)
            crew.rest(racks)
        assert f"{crew.local(racks)} of {len(LONE)}" == local


@pytest.mark.kafka
def test_aiokafka_alone_and_with_kafka_python(kraft_cluster):
    racks = {"loops": racks_of(kraft_cluster, SPREAD)}
    first = aiokafka_group.RackOptimal("a")
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, "loops", SPREAD),
        Crew(kraft_cluster.bootstrap, "loops", ["loops"]) as crew,
    ):
        crew.join_aiokafka("m-a", first)
        crew.join_aiokafka("m-b", aiokafka_group.RackOptimal("b"))
        crew.rest(racks)
        assert crew.local(racks) == 6
        crew.join("m-c", RackOptimal("c", mode="eager"))
        crew.rest(racks)
        assert crew.local(racks) == 6
        crew.leave("m-a")
        crew.rest(racks)
        assert crew.local(racks) == 6
