"""What is withheld: upstream's vectors, and that no partition ever has two readers."""

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
from assignments import given as told
from laws import check_assignment
from rackwise.core.assignors.kafka.cooperative import assign_cooperative, withhold
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.members import Assignment, Member
from strategies import consumer_groups

VECTORS = [*consumer_vectors("cooperative"), *consumer_vectors("cooperative_worlds")]
FROZEN = consumer_vectors("java_frozen")
DEFECTS = {case["id"]: case for case in consumer_vectors("upstream_defects")}


def all_given(assignment):
    found = {tp: name for name, mine in assignment.partitions.items() for tp in mine}
    return found | dict(assignment.withheld)


def newest_reader(members, tp):
    """The member that alone named the partition in the newest generation, else None."""
    named = [(m.generation, name) for name, m in members.items() if tp in m.owned]
    newest = [name for generation, name in named if generation == max(named)[0]]
    return newest[0] if len(newest) == 1 else None


class TestVectors:
    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
    def test_upstreams_own_tests(self, case):
        members, force = members_of(case["members"]), case.get("force_rack_aware", False)
        made = assign_cooperative(members, case["topics"], force_rack_aware=force)
        assert made.partitions == told(case["expected"])
        withheld = {pairs([row[:2]])[0]: row[2] for row in case.get("withheld", [])}
        assert made.withheld == withheld

    @pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["id"])
    def test_frozen_answers_of_java(self, case):
        made = assign_cooperative(members_of(case["members"]), case["topics"])
        assert made.partitions == told(case["expected"]["cooperative-sticky"])

    @pytest.mark.parametrize(
        "case",
        [c for c in consumer_vectors("sticky") if c.get("again_with_owned_expected")],
        ids=lambda case: case["id"],
    )
    def test_what_was_given_stays(self, case):
        force = case.get("force_rack_aware", False)
        made = assign_cooperative(members_after(case), case["topics"], force_rack_aware=force)
        assert (made.partitions, made.withheld) == (told(case["expected"]), {})


class TestWhereUpstreamBreaksTheLaw:
    @pytest.mark.parametrize("case", DEFECTS.values(), ids=lambda case: case["id"])
    def test_the_answer_is_valid(self, case):
        members = members_of(case["members"])
        made = assign_cooperative(members, case["topics"])
        sizes = {topic: len(partitions) for topic, partitions in case["topics"].items()}
        check_assignment(made, members, sizes)

    def test_what_the_newest_reader_still_has_is_withheld_from_an_older_one(self):
        case = DEFECTS["handed-out-while-owned"]
        made = assign_cooperative(members_of(case["members"]), case["topics"])
        assert made.partitions == told(case["ours"])
        assert made.withheld == dict.fromkeys(tps("t1-0"), "m352090-0")

    def test_the_rounds_that_upstream_never_ends(self):
        case = DEFECTS["never-settles"]
        members = members_of(case["members"])
        for expected in case["upstream"]["rounds"]:
            made = assign_cooperative(members, case["topics"])
            assert made.partitions == told(expected)
            members = {
                name: replace(member, owned=made.partitions[name], generation=9)
                for name, member in members.items()
            }


class TestKip429NoTwoReaders:
    """KIP-429: a partition that changes hands is given up in one round and given in the next."""

    @given(consumer_groups(owned=True))
    def test_with_what_is_withheld_it_is_the_sticky_assignment(self, group):
        members, racks = group
        made = assign_cooperative(members, racks)
        assert all_given(made) == all_given(assign_sticky(members, racks))

    @given(consumer_groups(owned=True))
    def test_nobody_gets_what_another_one_named_last(self, group):
        members, racks = group
        for name, mine in assign_cooperative(members, racks).partitions.items():
            for tp in mine:
                assert newest_reader(members, tp) in {None, name}

    def test_memories_withhold_nothing(self):
        racks = replicas_in(t="a a", u="a")
        both = ("t", "u")
        for topics in (both, ("u", "t", "u")):
            reader = Member(topics=both, owned=tps("t-0 t-1 u-0"), generation=1)
            members = {"m1": reader, "m2": Member(topics=topics)}
            made = assign_cooperative(members, racks)
            assert made.withheld
            assert set(made.withheld.values()) == {"m2"}
            members["m1"] = replace(reader, released=True)
            assert not assign_cooperative(members, racks).withheld

    def test_what_two_named_is_withheld_unless_both_only_remember(self):
        racks = replicas_in(t="a")
        member = Member(topics=("t",), owned=tps("t-0"), generation=1)
        memory = replace(member, released=True)
        assert assign_cooperative({"m1": member, "m2": member}, racks).withheld
        assert assign_cooperative({"m1": memory, "m2": member}, racks).withheld
        assert not assign_cooperative({"m1": memory, "m2": memory}, racks).withheld


class TestWithhold:
    def kept(self, **named):
        """Of t-0 for m1: whether it is withheld when others named it so."""
        member = Member(topics=("t",))
        members = {"m1": member, "m2": member, "m3": member}
        for name, (generation, released) in named.items():
            members[name] = replace(
                member, owned=tps("t-0"), generation=generation, released=released
            )
        made = withhold(assignment_of({"m1": [["t", 0], ["t", 1]], "m2": [], "m3": []}), members)
        assert made.partitions["m1"][-1:] == tps("t-1")
        assert set(made.withheld.values()) <= {"m1"}
        return tps("t-0")[0] not in made.withheld

    def test_only_who_named_it_last_may_still_read_it(self):
        assert self.kept()
        assert self.kept(m1=(4, False))
        assert not self.kept(m2=(4, False))
        assert not self.kept(m1=(4, False), m2=(4, False))
        assert not self.kept(m1=(4, False), m2=(5, False))
        assert self.kept(m1=(5, False), m2=(4, False))
        assert self.kept(m1=(5, False), m2=(4, False), m3=(4, False))
        assert self.kept(m2=(4, True))
        assert not self.kept(m1=(5, True), m2=(4, False))

    def test_two_that_named_it_last_withhold_it_from_each_other(self):
        member = Member(topics=("t",), owned=tps("t-0"))
        members = {"m1": member, "m2": member}
        for holder in members:
            had = Assignment.of(dict.fromkeys(members, ()) | {holder: tps("t-0")})
            assert withhold(had, members).withheld == {tps("t-0")[0]: holder}

    def test_naming_it_twice_is_naming_it(self):
        member = Member(topics=("t",), owned=tps("t-0 t-0"))
        assert not withhold(assignment_of({"m1": [["t", 0]]}), {"m1": member}).withheld

    def test_what_was_withheld_is_looked_at_anew(self):
        had = Assignment.of({"m1": [], "m2": []}, dict.fromkeys(tps("t-0 t-1"), "m1"))
        members = {
            "m1": Member(topics=("t",)),
            "m2": Member(topics=("t",), owned=tps("t-1")),
        }
        made = withhold(had, members)
        assert made.partitions == {"m1": tps("t-0"), "m2": ()}
        assert made.withheld == dict.fromkeys(tps("t-1"), "m1")
