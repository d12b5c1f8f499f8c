"""Rounds of an assignor; each round starts from the result of the one before."""

import pytest
from hypothesis import given

from assignments import consumer_vectors, group_of, members_of, replicas_in, tps
from assignments import given as partitions_of
from laws import check_one_reader
from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.measure.simulate import next_members, simulate_rounds
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidConfig, InvalidMember
from strategies import consumer_groups

FOR_EVER = next(c for c in consumer_vectors("upstream_defects") if c["id"] == "never-settles")
MEMBERS, RACKS = members_of(FOR_EVER["members"]), FOR_EVER["topics"]


class TestGroupThatNeverSettles:
    def test_upstreams_rule_alternates(self):
        rounds = simulate_rounds(assign_cooperative, MEMBERS, RACKS, max_rounds=6)
        assert [result.partitions for result in rounds] == [
            partitions_of(expected) for expected in FOR_EVER["upstream"]["rounds"]
        ]

    def test_the_group_settles_once_racks_are_ignored(self):
        *moving, last = FOR_EVER["ours_with_guard"]["rounds"]
        rounds = simulate_rounds(assign_cooperative, MEMBERS, RACKS, settling=True)
        assert [result.partitions for result in rounds] == [
            partitions_of(expected) for expected in moving
        ]
        assert partitions_of(last) == rounds[-1].partitions


class TestLaws:
    @given(consumer_groups(owned=True))
    def test_a_cooperative_group_settles_within_eight_rounds(self, group):
        members, racks = group
        rounds = simulate_rounds(assign_cooperative, members, racks, settling=True)
        assert len(rounds) <= 8
        assert not rounds[-1].withheld

    @given(consumer_groups(owned=True))
    def test_no_partition_has_two_readers_in_any_round(self, group):
        members, racks = group
        for result in simulate_rounds(assign_cooperative, members, racks, settling=True):
            check_one_reader(result, members)
            members = next_members(members, result)

    @given(consumer_groups(owned=True))
    def test_range_settles_at_once(self, group):
        members, racks = group
        assert len(simulate_rounds(assign_range, members, racks)) == 1


class TestRounds:
    def test_a_revoked_partition_is_assigned_in_the_second_round(self):
        members = {"m1": Member(topics=("t",), owned=tps("t-0 t-1")), "m2": Member(topics=("t",))}
        first, second = simulate_rounds(assign_cooperative, members, replicas_in(t="a a"))
        assert first.withheld == dict.fromkeys(tps("t-1"), "m2")
        assert second.partitions == {"m1": tps("t-0"), "m2": tps("t-1")}
        assert not second.withheld

    def test_at_most_max_rounds(self):
        assert len(simulate_rounds(assign_cooperative, MEMBERS, RACKS)) == 12
        assert len(simulate_rounds(assign_cooperative, MEMBERS, RACKS, max_rounds=1)) == 1
        with pytest.raises(InvalidConfig, match="invalid max_rounds: expected at least 1, got 0"):
            simulate_rounds(assign_sticky, MEMBERS, RACKS, max_rounds=0)

    def test_members_own_their_assignment_one_generation_later(self):
        members = group_of("t", m1="a", m2="b")
        members["m1"] = Member(topics=("t",), rack="a", generation=4)
        result = assign_range(members, replicas_in(t="a b"))
        assert next_members(members, result) == {
            "m1": Member(topics=("t",), rack="a", owned=tps("t-0"), generation=5),
            "m2": Member(topics=("t",), rack="b", owned=tps("t-1"), generation=5),
        }

    def test_a_group_without_members(self):
        for settling in (False, True):
            with pytest.raises(InvalidMember, match="at least 1 member"):
                simulate_rounds(assign_range, {}, RACKS, settling=settling)
