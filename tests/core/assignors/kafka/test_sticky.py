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
from assignments import given as partitions_of
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
        result = assign_sticky(members, case["topics"], force_rack_aware=force)
        assert result.partitions == partitions_of(case["expected"])
        counted = case.get("mismatches_counted", case["mismatches"])
        assert mismatches(result, members, case["topics"]) == counted
        check_assignment(result, members, sizes_of(case["topics"]))

    @pytest.mark.parametrize(
        "case",
        [case for case in VECTORS if case.get("again_with_owned_expected")],
        ids=lambda case: case["id"],
    )
    def test_owned_partitions_stay(self, case):
        force = case.get("force_rack_aware", False)
        result = assign_sticky(members_after(case), case["topics"], force_rack_aware=force)
        assert result.partitions == partitions_of(case["expected"])

    @pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["id"])
    def test_frozen_answers_of_java(self, case):
        result = assign_sticky(members_of(case["members"]), case["topics"])
        assert result.partitions == partitions_of(case["expected"]["sticky"])

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
    """Subscriptions are equal if they have the length of the first and contain only its topics."""

    def subscriptions_look_equal(self, *lists):
        members = {f"m{at}": Member(topics=tuple(topics)) for at, topics in enumerate(lists)}
        return _subscriptions_look_equal(NumberedGroup.of(members, replicas_in(t="-", u="-")))

    def test_lists_are_compared_with_the_first_nonempty_one(self):
        assert self.subscriptions_look_equal("tu", "ut")
        assert self.subscriptions_look_equal("", "tu", "tu")
        assert self.subscriptions_look_equal("tu", "tt")
        assert self.subscriptions_look_equal("tt", "t")
        assert not self.subscriptions_look_equal("tu", "t")
        assert not self.subscriptions_look_equal("t", "u")
        assert not self.subscriptions_look_equal("tt", "tt")
        assert not self.subscriptions_look_equal("tu", "")


class TestInvalidUpstreamResults:
    @pytest.mark.parametrize("case", DEFECTS, ids=lambda case: case["id"])
    def test_the_answer_is_valid(self, case):
        members = members_of(case["members"])
        result = assign_sticky(members, case["topics"])
        check_assignment(result, members, sizes_of(case["topics"]))

    def test_an_empty_list_differs_from_others(self):
        (case,) = [case for case in DEFECTS if case["id"] == "empty-subscription-first"]
        result = assign_sticky(members_of(case["members"]), case["topics"])
        assert result.partitions == partitions_of(case["ours"])

    def test_a_topic_listed_twice_does_not_replace_another_one(self):
        members = {"m1": Member(topics=("t", "u")), "m2": Member(topics=("t", "t"))}
        result = assign_sticky(members, replicas_in(t="a", u="a a"))
        assert result.partitions == {"m1": tps("u-0 u-1"), "m2": tps("t-0")}


class TestKip881Balance:
    """KIP-881: "The built-in assignors will prioritize balancing partitions over improving
    locality, so in some cases, partitions may be allocated to a consumer in a different rack".
    """

    def test_a_full_member_leaves_partitions_of_its_rack_to_others(self):
        result = assign_sticky(group_of("t", m1="a", m2="b"), replicas_in(t="a a a b"))
        assert result.partitions == {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3")}

    @given(consumer_groups(owned=True))
    def test_equal_subscriptions_give_loads_of_q_or_one_more(self, group):
        members, racks = group
        same = {name: replace(member, topics=tuple(racks)) for name, member in members.items()}
        result = assign_sticky(same, racks)
        check_assignment(result, same, sizes_of(racks))
        least, extras = divmod(sum(sizes_of(racks).values()), len(same))
        loads = Counter(map(len, result.partitions.values()))
        assert (loads[least], loads[least + 1]) == (len(same) - extras, extras)


class TestLaws:
    @given(consumer_groups(owned=True))
    def test_every_partition_goes_to_one_subscriber(self, group):
        members, racks = group
        check_assignment(assign_sticky(members, racks), members, sizes_of(racks))

    @given(consumer_groups(owned=True))
    def test_racks_that_cannot_matter_change_nothing(self, group):
        check_racks_that_cannot_matter(assign_sticky, *group)

    @given(consumer_groups(owned=True))
    def test_names_of_racks_do_not_matter(self, group):
        check_names_of_racks(assign_sticky, *group)

    @given(consumer_groups())
    def test_owned_partitions_stay_where_subscriptions_are_equal(self, group):
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

    def test_force_considers_racks_even_if_all_partitions_are_everywhere(self):
        members = group_of("t", m1=None, m2="a")
        assert assign_sticky(members, replicas_in(t="a a")).partitions["m2"] == tps("t-1")
        forced = assign_sticky(members, replicas_in(t="a a"), force_rack_aware=True)
        assert forced.partitions["m2"] == tps("t-0")

    def test_an_empty_group_is_rejected(self):
        with pytest.raises(InvalidMember):
            assign_sticky({}, {})
