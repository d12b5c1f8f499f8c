"""Kafka's sticky assignor: its own tests as vectors, its frozen answers, and the law."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from assignments import (
    check_sticky_answers,
    consumer_vectors,
    group_of,
    members_after,
    members_of,
    mismatches,
    replicas_in,
    tps,
)
from assignments import given as told
from laws import (
    check_assignment,
    check_names_of_racks,
    check_racks_that_cannot_matter,
)
from placements import golden_cases
from rackwise.core.assignors.kafka.owned import NumberedGroup
from rackwise.core.assignors.kafka.sticky import _subscriptions_look_equal, assign_sticky
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidMember
from strategies import consumer_groups

VECTORS = [*consumer_vectors("sticky"), *consumer_vectors("sticky_worlds")]
FROZEN = consumer_vectors("java_frozen")
DEFECTS = consumer_vectors("upstream_defects")


def sizes_of(racks):
    return {topic: len(partitions) for topic, partitions in racks.items() if partitions}


def loads(assignment):
    return sorted(map(len, assignment.partitions.values()))


class TestVectors:
    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
    def test_upstreams_own_tests(self, case):
        members, force = members_of(case["members"]), case.get("force_rack_aware", False)
        made = assign_sticky(members, case["topics"], force_rack_aware=force)
        assert made.partitions == told(case["expected"])
        counted = case.get("mismatches_counted", case["mismatches"])
        assert mismatches(made, members, case["topics"]) == counted
        check_assignment(made, members, sizes_of(case["topics"]))

    @pytest.mark.parametrize(
        "case",
        [case for case in VECTORS if case.get("again_with_owned_expected")],
        ids=lambda case: case["id"],
    )
    def test_what_was_given_stays(self, case):
        force = case.get("force_rack_aware", False)
        made = assign_sticky(members_after(case), case["topics"], force_rack_aware=force)
        assert made.partitions == told(case["expected"])

    @pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["id"])
    def test_frozen_answers_of_java(self, case):
        made = assign_sticky(members_of(case["members"]), case["topics"])
        assert made.partitions == told(case["expected"]["sticky"])

    def test_answers_of_the_oracle(self):
        frozen = map(golden_cases, ("assign.sticky", "assign.cooperative"))
        for number, (sticky, cooperative) in enumerate(zip(*frozen, strict=True)):
            assert sticky["in"] == cooperative["in"]
            answers = {"assign.sticky": sticky, "assign.cooperative": cooperative}
            check_sticky_answers(
                sticky["in"],
                lambda operation, answers=answers: answers[operation]["out"]["partitions"],
                number,
            )


class TestWhichAlgorithm:
    """Subscriptions are the same if they have the length of the first and lie in it."""

    def look_the_same(self, *lists):
        members = {f"m{at}": Member(topics=tuple(topics)) for at, topics in enumerate(lists)}
        return _subscriptions_look_equal(NumberedGroup.of(members, replicas_in(t="-", u="-")))

    def test_length_and_members_of_the_first_list_that_is_not_empty(self):
        assert self.look_the_same("tu", "ut")
        assert self.look_the_same("", "tu", "tu")
        assert self.look_the_same("tu", "tt")
        assert self.look_the_same("tt", "t")
        assert not self.look_the_same("tu", "t")
        assert not self.look_the_same("t", "u")
        assert not self.look_the_same("tt", "tt")
        assert not self.look_the_same("tu", "")


class TestWhereUpstreamBreaksTheLaw:
    @pytest.mark.parametrize("case", DEFECTS, ids=lambda case: case["id"])
    def test_the_answer_is_valid(self, case):
        members = members_of(case["members"])
        made = assign_sticky(members, case["topics"])
        check_assignment(made, members, sizes_of(case["topics"]))

    def test_an_empty_list_is_not_the_same_as_others(self):
        (case,) = [case for case in DEFECTS if case["id"] == "empty-subscription-first"]
        made = assign_sticky(members_of(case["members"]), case["topics"])
        assert made.partitions == told(case["ours"])

    def test_a_topic_listed_twice_does_not_stand_for_another_one(self):
        members = {"m1": Member(topics=("t", "u")), "m2": Member(topics=("t", "t"))}
        made = assign_sticky(members, replicas_in(t="a", u="a a"))
        assert made.partitions == {"m1": tps("u-0 u-1"), "m2": tps("t-0")}


class TestKip881Balance:
    """KIP-881: "The built-in assignors will prioritize balancing partitions over improving
    locality, so in some cases, partitions may be allocated to a consumer in a different rack".
    """

    def test_a_full_member_leaves_partitions_of_its_rack_to_others(self):
        made = assign_sticky(group_of("t", m1="a", m2="b"), replicas_in(t="a a a b"))
        assert made.partitions == {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3")}

    @given(consumer_groups(owned=True))
    def test_equal_subscriptions_give_loads_of_q_or_one_more(self, group):
        members, racks = group
        same = {name: replace(member, topics=tuple(racks)) for name, member in members.items()}
        made = assign_sticky(same, racks)
        check_assignment(made, same, sizes_of(racks))
        least, extras = divmod(sum(sizes_of(racks).values()), len(same))
        loads = Counter(map(len, made.partitions.values()))
        assert (loads[least], loads[least + 1]) == (len(same) - extras, extras)


class TestLaws:
    @given(consumer_groups(owned=True))
    def test_every_partition_goes_to_one_subscriber(self, group):
        members, racks = group
        check_assignment(assign_sticky(members, racks), members, sizes_of(racks))

    @given(consumer_groups(owned=True))
    def test_racks_that_cannot_matter_do_not(self, group):
        check_racks_that_cannot_matter(assign_sticky, *group)

    @given(consumer_groups(owned=True))
    def test_names_of_racks_do_not_matter(self, group):
        check_names_of_racks(assign_sticky, *group)

    @given(consumer_groups())
    def test_what_all_of_the_same_topics_were_given_stays(self, group):
        members, racks = group
        same = {name: replace(member, topics=tuple(racks)) for name, member in members.items()}
        first = assign_sticky(same, racks)
        after = {
            name: replace(member, owned=first.partitions[name], generation=1)
            for name, member in same.items()
        }
        again = assign_sticky(after, racks)
        assert loads(again) == loads(first)
        assert mismatches(again, same, racks) <= mismatches(first, same, racks)
        if not mismatches(first, same, racks):
            assert again == first

    def test_forced_racks_are_considered_where_all_are_everywhere(self):
        members = group_of("t", m1=None, m2="a")
        assert assign_sticky(members, replicas_in(t="a a")).partitions["m2"] == tps("t-1")
        forced = assign_sticky(members, replicas_in(t="a a"), force_rack_aware=True)
        assert forced.partitions["m2"] == tps("t-0")

    def test_no_members_are_refused(self):
        with pytest.raises(InvalidMember):
            assign_sticky({}, {})
