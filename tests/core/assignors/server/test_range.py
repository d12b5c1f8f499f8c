"""The assignor `range` on the broker: the coordinator's frozen answers, examples, laws."""

import pytest
from hypothesis import given as given_any

from assignments import group_of, our_assignment, replicas_in, tps
from laws import check_assignment, check_order_of_joining
from placements import golden_cases
from rackwise.core.assignors.members import Member
from rackwise.core.assignors.server.range import assign_server_range
from rackwise.core.errors import InvalidMember
from strategies import consumer_groups


def test_answers_of_the_oracle():
    for number, case in enumerate(golden_cases("coordinator.range")):
        assert our_assignment("coordinator.range", case["in"]) == case, number


def test_consecutive_partitions_whatever_the_racks_are():
    members = group_of("t", m1="a", m2="b", m3="c")
    made = assign_server_range(members, replicas_in(t="a b c a b c a"))
    assert made.partitions == {"m1": tps("t-0 t-1 t-2"), "m2": tps("t-3 t-4"), "m3": tps("t-5 t-6")}


def test_static_members_come_first_by_instance():
    members = {
        "m1": Member(topics=("t",)),
        "m2": Member(topics=("t",), instance_id="y"),
        "m3": Member(topics=("t",), instance_id="x"),
    }
    made = assign_server_range(members, replicas_in(t="a a a"))
    assert made.partitions == {"m1": tps("t-2"), "m2": tps("t-1"), "m3": tps("t-0")}


def test_no_member():
    with pytest.raises(InvalidMember):
        assign_server_range({}, {})


class TestLaws:
    @given_any(consumer_groups())
    def test_every_partition_once(self, group):
        members, racks = group
        topics = {topic: len(partitions) for topic, partitions in racks.items()}
        check_assignment(assign_server_range(members, racks), members, topics)

    @given_any(consumer_groups())
    def test_the_order_of_joining_changes_nothing(self, group):
        check_order_of_joining(assign_server_range, *group)
