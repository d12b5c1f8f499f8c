"""The range assignor: vectors, upstream's frozen answers, the text of KIP-881, laws."""

from functools import partial

import pytest
from hypothesis import given as given_any

from assignments import (
    consumer_vectors,
    given,
    group_of,
    members_of,
    mismatches,
    our_assignment,
    replicas_in,
    tps,
)
from laws import (
    check_assignment,
    check_even_topics,
    check_names_of_racks,
    check_order_of_joining,
    check_racks_that_cannot_matter,
    check_together,
)
from placements import golden_cases
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidMember, InvalidReplicaRacks
from strategies import consumer_groups

VECTORS = consumer_vectors("range") + consumer_vectors("range_worlds")


class TestVectors:
    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
    def test_upstreams_own_tests(self, case):
        members = members_of(case["members"])
        result = assign_range(
            members, case["topics"], force_rack_aware=case.get("force_rack_aware", False)
        )
        assert result.partitions == given(case["expected"])
        counted = case.get("mismatches_counted", case["mismatches"])
        assert mismatches(result, members, case["topics"]) == counted

    @pytest.mark.parametrize("case", consumer_vectors("java_frozen"), ids=lambda case: case["id"])
    def test_upstreams_frozen_answers(self, case):
        result = assign_range(members_of(case["members"]), case["topics"])
        assert result.partitions == given(case["expected"]["range"])

    def test_answers_of_the_oracle(self):
        for number, case in enumerate(golden_cases("assign.range")):
            assert our_assignment("assign.range", case["in"]) == case, number


class TestBalanceComesFirst:
    """KIP-881: The built-in assignors will prioritize balancing partitions over improving locality,
    so in some cases, partitions may be allocated to a consumer in a different rack if there aren't
    sufficient partitions in the same rack as the consumer.
    """

    def test_a_rack_with_too_few_partitions_gets_some_of_another(self):
        result = assign_range(group_of("t", m1="b", m2="a"), replicas_in(t="a a a b"))
        assert result.partitions == {"m1": tps("t-2 t-3"), "m2": tps("t-0 t-1")}

    def test_the_member_that_fills_first_gets_the_extra_partition(self):
        members = group_of("t", m1="a", m2="b", m3="c")
        result = assign_range(members, replicas_in(t="ab bc ca ab bc ca ab"))
        assert result.partitions == {
            "m1": tps("t-0 t-2 t-3"),
            "m2": tps("t-1 t-4"),
            "m3": tps("t-5 t-6"),
        }


class TestColumns:
    def test_topics_of_one_size_are_assigned_where_all_of_them_match(self):
        result = assign_range(group_of("tu", m1="a", m2="b"), replicas_in(t="b a", u="ba ab"))
        assert result.partitions == {"m1": tps("t-1 u-1"), "m2": tps("t-0 u-0")}

    def test_a_column_that_no_member_matches_waits(self):
        result = assign_range(group_of("tu", m1="a", m2="b"), replicas_in(t="a a", u="b a"))
        assert result.partitions == {"m1": tps("t-1 u-1"), "m2": tps("t-0 u-0")}

    def test_members_without_rack_match_every_column(self):
        result = assign_range(group_of("tu", m1=None, m2="a"), replicas_in(t="a b", u="a b"))
        assert result.partitions == {"m1": tps("t-0 u-0"), "m2": tps("t-1 u-1")}

    def test_columns_are_matched_even_if_only_another_topic_needs_it(self):
        racks = replicas_in(t="ab ab", u="ab ab", v="a b b")
        members = group_of("tuv", m1="b", m2="c")
        alone = {topic: racks[topic] for topic in "tu"}
        assert assign_range(members, alone).by_topic("m1")["t"] == (0,)
        assert assign_range(members, racks).by_topic("m1") == {"t": (0,), "u": (0,), "v": (1, 2)}

    def test_a_single_topic_whose_racks_do_not_matter_ignores_racks(self):
        members = group_of("tv", m1="b", m2="a")
        racks = replicas_in(t="ab ab", v="a b b")
        assert assign_range(members, racks).by_topic("m1") == {"t": (0,), "v": (1, 2)}
        forced = assign_range(members, replicas_in(t="a a"), force_rack_aware=True)
        assert forced.by_topic("m2") == {"t": (0,)}


def test_static_members_come_first_by_instance():
    members = {
        "a": Member(topics=("t",)),
        "b": Member(topics=("t",), instance_id="y"),
        "c": Member(topics=("t",), instance_id="x"),
    }
    result = assign_range(members, replicas_in(t="- - -"))
    assert result.partitions == {"c": tps("t-0"), "b": tps("t-1"), "a": tps("t-2")}


def test_topics_may_repeat_and_may_be_unknown():
    members = {"m": Member(topics=("t", "x", "t"))}
    assert assign_range(members, replicas_in(t="a", u="a")).partitions == {"m": tps("t-0")}


def test_bad_input():
    with pytest.raises(InvalidMember):
        assign_range({}, {})
    with pytest.raises(InvalidReplicaRacks):
        assign_range(group_of("t", m="a"), {"t": ["a"]})


class TestLaws:
    @given_any(consumer_groups())
    def test_every_partition_evenly_and_columns_together(self, group):
        members, racks = group
        result = assign_range(members, racks)
        topics = {topic: len(partitions) for topic, partitions in racks.items()}
        check_assignment(result, members, topics)
        check_even_topics(result, members, topics)
        check_together(result, members, topics)

    @given_any(consumer_groups())
    def test_racks_that_cannot_matter_change_nothing(self, group):
        check_racks_that_cannot_matter(assign_range, *group)

    @given_any(consumer_groups())
    def test_names_and_orders_change_nothing(self, group):
        for assign in (assign_range, partial(assign_range, force_rack_aware=True)):
            check_names_of_racks(assign, *group)
            check_order_of_joining(assign, *group)
