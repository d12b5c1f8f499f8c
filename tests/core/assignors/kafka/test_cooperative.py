"""Cooperative sticky: upstream's vectors, and no partition ever has two readers."""

from dataclasses import replace

import pytest
from hypothesis import given

from assignments import (
    assignment_of,
    consumer_vectors,
    members_after,
    members_of,
    pairs,
    replicas_in,
    tps,
)
from assignments import given as partitions_of
from laws import check_assignment
from rackwise.core.assignors.kafka.cooperative import assign_cooperative, withhold
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.members import Assignment, Member
from strategies import consumer_groups

VECTORS = [*consumer_vectors("cooperative"), *consumer_vectors("cooperative_worlds")]
FROZEN = consumer_vectors("java_frozen")
DEFECTS = {case["id"]: case for case in consumer_vectors("upstream_defects")}


def all_partitions(assignment):
    found = {tp: name for name, mine in assignment.partitions.items() for tp in mine}
    return found | dict(assignment.withheld)


def newest_reader(members, tp):
    """The only member that reports the partition in the newest generation, else None."""
    named = [(m.generation, name) for name, m in members.items() if tp in m.owned]
    newest = [name for generation, name in named if generation == max(named)[0]]
    return newest[0] if len(newest) == 1 else None


class TestVectors:
    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
    def test_upstreams_own_tests(self, case):
        members, force = members_of(case["members"]), case.get("force_rack_aware", False)
        result = assign_cooperative(members, case["topics"], force_rack_aware=force)
        assert result.partitions == partitions_of(case["expected"])
        withheld = {pairs([row[:2]])[0]: row[2] for row in case.get("withheld", [])}
        assert result.withheld == withheld

    @pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["id"])
    def test_frozen_answers_of_java(self, case):
        result = assign_cooperative(members_of(case["members"]), case["topics"])
        assert result.partitions == partitions_of(case["expected"]["cooperative-sticky"])

    @pytest.mark.parametrize(
        "case",
        [c for c in consumer_vectors("sticky") if c.get("again_with_owned_expected")],
        ids=lambda case: case["id"],
    )
    def test_owned_partitions_stay(self, case):
        force = case.get("force_rack_aware", False)
        result = assign_cooperative(members_after(case), case["topics"], force_rack_aware=force)
        assert (result.partitions, result.withheld) == (partitions_of(case["expected"]), {})


class TestInvalidUpstreamResults:
    @pytest.mark.parametrize("case", DEFECTS.values(), ids=lambda case: case["id"])
    def test_the_answer_is_valid(self, case):
        members = members_of(case["members"])
        result = assign_cooperative(members, case["topics"])
        sizes = {topic: len(partitions) for topic, partitions in case["topics"].items()}
        check_assignment(result, members, sizes)

    def test_a_partition_of_the_newest_reader_is_withheld_from_an_older_owner(self):
        case = DEFECTS["handed-out-while-owned"]
        result = assign_cooperative(members_of(case["members"]), case["topics"])
        assert result.partitions == partitions_of(case["ours"])
        assert result.withheld == dict.fromkeys(tps("t1-0"), "m352090-0")

    def test_rounds_that_never_end_upstream(self):
        case = DEFECTS["never-settles"]
        members = members_of(case["members"])
        for expected in case["upstream"]["rounds"]:
            result = assign_cooperative(members, case["topics"])
            assert result.partitions == partitions_of(expected)
            members = {
                name: replace(member, owned=result.partitions[name], generation=9)
                for name, member in members.items()
            }


class TestKip429NoTwoReaders:
    """KIP-429: a partition is revoked in one round and assigned to another member in the next."""

    @given(consumer_groups(owned=True))
    def test_partitions_and_withheld_together_are_the_sticky_assignment(self, group):
        members, racks = group
        result = assign_cooperative(members, racks)
        assert all_partitions(result) == all_partitions(assign_sticky(members, racks))

    @given(consumer_groups(owned=True))
    def test_no_member_gets_a_partition_that_another_one_reported_last(self, group):
        members, racks = group
        for name, mine in assign_cooperative(members, racks).partitions.items():
            for tp in mine:
                assert newest_reader(members, tp) in {None, name}

    def test_released_partitions_withhold_nothing(self):
        racks = replicas_in(t="a a", u="a")
        both = ("t", "u")
        for topics in (both, ("u", "t", "u")):
            reader = Member(topics=both, owned=tps("t-0 t-1 u-0"), generation=1)
            members = {"m1": reader, "m2": Member(topics=topics)}
            result = assign_cooperative(members, racks)
            assert result.withheld
            assert set(result.withheld.values()) == {"m2"}
            members["m1"] = replace(reader, released=True)
            assert not assign_cooperative(members, racks).withheld

    def test_a_doubly_reported_partition_is_withheld_unless_both_released_it(self):
        racks = replicas_in(t="a")
        member = Member(topics=("t",), owned=tps("t-0"), generation=1)
        memory = replace(member, released=True)
        assert assign_cooperative({"m1": member, "m2": member}, racks).withheld
        assert assign_cooperative({"m1": memory, "m2": member}, racks).withheld
        assert not assign_cooperative({"m1": memory, "m2": memory}, racks).withheld


class TestWithhold:
    def kept(self, **named):
        """Whether t-0, assigned to m1, is withheld if other members reported it like this."""
        member = Member(topics=("t",))
        members = {"m1": member, "m2": member, "m3": member}
        for name, (generation, released) in named.items():
            members[name] = replace(
                member, owned=tps("t-0"), generation=generation, released=released
            )
        result = withhold(assignment_of({"m1": [["t", 0], ["t", 1]], "m2": [], "m3": []}), members)
        assert result.partitions["m1"][-1:] == tps("t-1")
        assert set(result.withheld.values()) <= {"m1"}
        return tps("t-0")[0] not in result.withheld

    def test_only_the_newest_reporter_may_still_read_a_partition(self):
        assert self.kept()
        assert self.kept(m1=(4, False))
        assert not self.kept(m2=(4, False))
        assert not self.kept(m1=(4, False), m2=(4, False))
        assert not self.kept(m1=(4, False), m2=(5, False))
        assert self.kept(m1=(5, False), m2=(4, False))
        assert self.kept(m1=(5, False), m2=(4, False), m3=(4, False))
        assert self.kept(m2=(4, True))
        assert not self.kept(m1=(5, True), m2=(4, False))

    def test_two_newest_reporters_withhold_a_partition_from_each_other(self):
        member = Member(topics=("t",), owned=tps("t-0"))
        members = {"m1": member, "m2": member}
        for holder in members:
            had = Assignment.of(dict.fromkeys(members, ()) | {holder: tps("t-0")})
            assert withhold(had, members).withheld == {tps("t-0")[0]: holder}

    def test_a_partition_reported_twice_counts_once(self):
        member = Member(topics=("t",), owned=tps("t-0 t-0"))
        assert not withhold(assignment_of({"m1": [["t", 0]]}), {"m1": member}).withheld

    def test_withheld_partitions_are_decided_again(self):
        had = Assignment.of({"m1": [], "m2": []}, dict.fromkeys(tps("t-0 t-1"), "m1"))
        members = {
            "m1": Member(topics=("t",)),
            "m2": Member(topics=("t",), owned=tps("t-1")),
        }
        result = withhold(had, members)
        assert result.partitions == {"m1": tps("t-0"), "m2": ()}
        assert result.withheld == dict.fromkeys(tps("t-1"), "m1")
