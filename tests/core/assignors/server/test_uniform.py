"""The assignor `uniform` on the broker: the coordinator's frozen answers, examples, laws."""

from dataclasses import replace

import pytest
from hypothesis import given as given_any

from assignments import group_of, our_assignment, replicas_in, tps
from laws import check_assignment, check_order_of_joining
from placements import golden_cases
from rackwise.core.assignors.members import Member
from rackwise.core.assignors.server.uniform import assign_uniform
from rackwise.core.errors import InvalidMember
from strategies import consumer_groups

T, U = "AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAQ"


def test_answers_of_the_oracle():
    for number, case in enumerate(golden_cases("coordinator.uniform")):
        assert our_assignment("coordinator.uniform", case["in"]) == case, number


def test_the_racks_of_replicas_and_members_change_nothing():
    members = group_of("t", m1="a", m2="b", m3="c")
    blocks = {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3"), "m3": tps("t-4 t-5")}
    for racks in ("a b c a b c", "a a b b c c", "c c a a b b"):
        made = assign_uniform(members, replicas_in(t=racks))
        assert sorted(made.partitions.values()) == sorted(blocks.values())


def test_members_keep_what_they_own_up_to_their_quota():
    members = {
        "m1": Member(topics=("t",), owned=tps("t-0")),
        "m2": Member(topics=("t",), owned=tps("t-1 t-2 t-3 t-4")),
    }
    made = assign_uniform(members, replicas_in(t="a a a a a"))
    assert made.partitions == {"m1": tps("t-0 t-4"), "m2": tps("t-1 t-2 t-3")}


def test_of_two_members_that_report_a_partition_one_gets_it():
    members = group_of("t", m1="a", m2="b")
    doubled = {key: replace(each, owned=tps("t-0 t-1")) for key, each in members.items()}
    made = assign_uniform(doubled, replicas_in(t="a a"))
    assert sorted(made.partitions.values()) == [tps("t-0"), tps("t-1")]


def test_topics_come_in_order_of_their_ids_where_those_are_known():
    members = {"m1": Member(topics=("t", "u")), "m2": Member(topics=("t", "u"))}
    racks = replicas_in(t="a", u="a")
    by_name = assign_uniform(members, racks, topic_ids={"t": T})
    by_id = assign_uniform(members, racks, topic_ids={"t": T, "u": U})
    assert by_name.partitions == {"m1": tps("t-0"), "m2": tps("u-0")}
    assert by_id.partitions == {"m1": tps("u-0"), "m2": tps("t-0")}


def test_differing_subscriptions_may_end_uneven():
    members = {
        "m1": Member(topics=("t",), owned=tps("t-0")),
        "m2": Member(topics=("t", "u"), owned=tps("t-1 u-0")),
        "m3": Member(topics=("u",), owned=tps("u-1 u-2 u-3")),
    }
    made = assign_uniform(members, replicas_in(t="a a", u="a a a a"))
    assert [len(made.partitions[name]) for name in members] == [1, 2, 3]


def test_no_member():
    with pytest.raises(InvalidMember):
        assign_uniform({}, {})


class TestLaws:
    @given_any(consumer_groups())
    def test_every_partition_once(self, group):
        members, racks = group
        topics = {topic: len(partitions) for topic, partitions in racks.items()}
        check_assignment(assign_uniform(members, racks), members, topics)

    @given_any(consumer_groups())
    def test_the_order_of_joining_changes_nothing(self, group):
        check_order_of_joining(assign_uniform, *group)

    @given_any(consumer_groups())
    def test_equal_lists_give_loads_that_differ_by_at_most_one(self, group):
        members, racks = group
        same = {key: replace(member, topics=("t", "u")) for key, member in members.items()}
        sizes = [len(found) for found in assign_uniform(same, racks).partitions.values()]
        assert max(sizes) - min(sizes) <= 1

    @given_any(consumer_groups())
    def test_equal_lists_keep_their_own_result(self, group):
        members, racks = group
        same = {key: replace(member, topics=("t", "u")) for key, member in members.items()}
        made = assign_uniform(same, racks)
        kept = {
            key: replace(member, owned=made.partitions[key], generation=1)
            for key, member in same.items()
        }
        assert assign_uniform(kept, racks).partitions == made.partitions
