"""Rounds of an assignor, each fed with what the one before gave."""

import pytest
from hypothesis import given

from assignments import consumer_vectors, group_of, members_of, replicas_in, tps
from assignments import given as told
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


class TestTheGroupThatNeverSettles:
    def test_upstreams_rule_goes_back_and_forth(self):
        rounds = simulate_rounds(assign_cooperative, MEMBERS, RACKS, max_rounds=6)
        assert [made.partitions for made in rounds] == [
            told(expected) for expected in FOR_EVER["upstream"]["rounds"]
        ]

    def test_it_settles_once_racks_are_left_out(self):
        *moving, last = FOR_EVER["ours_with_guard"]["rounds"]
        rounds = simulate_rounds(assign_cooperative, MEMBERS, RACKS, settling=True)
        assert [made.partitions for made in rounds] == [told(expected) for expected in moving]
        assert told(last) == rounds[-1].partitions


class TestLaws:
    @given(consumer_groups(owned=True))
    def test_a_cooperative_group_settles_within_eight_rounds(self, group):
        members, racks = group
        rounds = simulate_rounds(assign_cooperative, members, racks, settling=True)
        assert len(rounds) <= 8
        assert not rounds[-1].withheld

    @given(consumer_groups(owned=True))
    def test_no_partition_goes_to_one_while_another_alone_claims_it_last(self, group):
        members, racks = group
        for made in simulate_rounds(assign_cooperative, members, racks, settling=True):
            check_one_reader(made, members)
            members = next_members(members, made)

    @given(consumer_groups(owned=True))
    def test_range_gives_the_same_each_time(self, group):
        members, racks = group
        assert len(simulate_rounds(assign_range, members, racks)) == 1


class TestRounds:
    def test_what_is_given_up_is_given_in_the_second(self):
        members = {"m1": Member(topics=("t",), owned=tps("t-0 t-1")), "m2": Member(topics=("t",))}
        first, second = simulate_rounds(assign_cooperative, members, replicas_in(t="a a"))
        assert first.withheld == dict.fromkeys(tps("t-1"), "m2")
        assert second.partitions == {"m1": tps("t-0"), "m2": tps("t-1")}
        assert not second.withheld

    def test_at_most_so_many(self):
        assert len(simulate_rounds(assign_cooperative, MEMBERS, RACKS)) == 12
        assert len(simulate_rounds(assign_cooperative, MEMBERS, RACKS, max_rounds=1)) == 1
        with pytest.raises(InvalidConfig, match="invalid max_rounds: expected at least 1, got 0"):
            simulate_rounds(assign_sticky, MEMBERS, RACKS, max_rounds=0)

    def test_all_own_what_they_were_given_one_generation_later(self):
        members = group_of("t", m1="a", m2="b")
        members["m1"] = Member(topics=("t",), rack="a", generation=4)
        made = assign_range(members, replicas_in(t="a b"))
        assert next_members(members, made) == {
            "m1": Member(topics=("t",), rack="a", owned=tps("t-0"), generation=5),
            "m2": Member(topics=("t",), rack="b", owned=tps("t-1"), generation=5),
        }

    def test_a_group_without_members(self):
        for settling in (False, True):
            with pytest.raises(InvalidMember, match="at least 1 member"):
                simulate_rounds(assign_range, {}, RACKS, settling=settling)
