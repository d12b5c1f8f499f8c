"""The round-robin assignor: vectors, upstream's frozen answers, laws."""

import pytest
from hypothesis import given as given_any

from assignments import (
    consumer_vectors,
    given,
    group_of,
    members_of,
    our_assignment,
    replicas_in,
    tps,
)
from laws import (
    check_assignment,
    check_names_of_racks,
    check_order_of_joining,
    check_racks_that_cannot_matter,
)
from placements import golden_cases
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidMember, InvalidReplicaRacks
from strategies import consumer_groups


class TestVectors:
    @pytest.mark.parametrize("case", consumer_vectors("roundrobin"), ids=lambda case: case["id"])
    def test_upstreams_own_tests(self, case):
        result = assign_roundrobin(members_of(case["members"]), case["topics"])
        assert result.partitions == given(case["expected"])

    @pytest.mark.parametrize("case", consumer_vectors("java_frozen"), ids=lambda case: case["id"])
    def test_upstreams_frozen_answers(self, case):
        result = assign_roundrobin(members_of(case["members"]), case["topics"])
        assert result.partitions == given(case["expected"]["roundrobin"])

    def test_answers_of_the_oracle(self):
        for number, case in enumerate(golden_cases("assign.roundrobin")):
            assert our_assignment("assign.roundrobin", case["in"]) == case, number


def test_the_ring_continues_from_topic_to_topic():
    members = {
        "m1": Member(topics=("t", "u")),
        "m2": Member(topics=("u",)),
        "m3": Member(topics=("t", "u")),
    }
    result = assign_roundrobin(members, replicas_in(t="a a a", u="b b"))
    assert result.partitions == {"m1": tps("t-0 t-2"), "m2": tps("u-0"), "m3": tps("t-1 u-1")}


def test_bad_input():
    with pytest.raises(InvalidMember):
        assign_roundrobin({}, {})
    with pytest.raises(InvalidReplicaRacks):
        assign_roundrobin(group_of("t", m="a"), {"t": ["a"]})


class TestLaws:
    @given_any(consumer_groups())
    def test_every_partition_once(self, group):
        members, racks = group
        topics = {topic: len(partitions) for topic, partitions in racks.items()}
        check_assignment(assign_roundrobin(members, racks), members, topics)

    @given_any(consumer_groups())
    def test_racks_and_orders_change_nothing(self, group):
        check_racks_that_cannot_matter(assign_roundrobin, *group)
        check_names_of_racks(assign_roundrobin, *group)
        check_order_of_joining(assign_roundrobin, *group)

    @given_any(consumer_groups())
    def test_equal_lists_give_loads_that_differ_by_at_most_one(self, group):
        members, racks = group
        topics = ("t", "u", "v", "w")
        same = {
            key: Member(topics=topics, instance_id=member.instance_id)
            for key, member in members.items()
        }
        sizes = [len(found) for found in assign_roundrobin(same, racks).partitions.values()]
        assert max(sizes) - min(sizes) <= 1
