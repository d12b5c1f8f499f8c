"""Greedy assignment and balancing moves of a group that subscribes to different topics."""

from assignments import replicas_in, tps
from laws import check_assignment
from rackwise.core.assignors.kafka.owned import NOBODY, NumberedGroup, Owned
from rackwise.core.assignors.kafka.sticky_mixed import assign_mixed, older_owners
from rackwise.core.assignors.members import Member


def member(topics, owned="", generation=1, rack=None):
    return Member(topics=tuple(topics), owned=tps(owned), generation=generation, rack=rack)


def assigned(members, racks, *, valid=False):
    """Partitions of each member, or nothing where upstream has no answer."""
    group = NumberedGroup.of(members, racks)
    holders = assign_mixed(group, Owned.of(group), valid=valid)
    if NOBODY in holders:
        assert set(holders) == {NOBODY}
        return {}
    result = group.assignment(members, holders)
    return {name: " ".join(map(str, mine)) for name, mine in result.partitions.items()}


class TestNewPartitions:
    def test_the_example_of_the_file(self):
        members = {"m1": member("t", "t-0 t-1 t-2 t-3"), "m2": member("tu")}
        result = assigned(members, replicas_in(t="- - - -", u="-"))
        assert result == {"m1": "t-1 t-2 t-3", "m2": "t-0 u-0"}

    def test_topics_with_few_subscribers_come_first(self):
        members = {"m1": member("tu"), "m2": member("u")}
        result = assigned(members, replicas_in(t="- -", u="- -"))
        assert result == {"m1": "t-0 t-1", "m2": "u-0 u-1"}

    def test_a_replica_in_the_rack_has_priority_over_a_lower_load(self):
        members = {"m1": member("t", rack="a"), "m2": member("tu", rack="b")}
        result = assigned(members, replicas_in(t="a a b", u="b"))
        assert result == {"m1": "t-0 t-1", "m2": "t-2 u-0"}

    def test_members_without_rack_count_as_in_all_racks(self):
        members = {"m1": member("t", rack="a"), "m2": member("tu")}
        result = assigned(members, replicas_in(t="a b", u="b"))
        assert result == {"m1": "t-0", "m2": "t-1 u-0"}

    def test_a_partition_that_no_rack_matches_goes_to_the_least_loaded(self):
        members = {"m1": member("t", rack="a"), "m2": member("tu", rack="b")}
        result = assigned(members, replicas_in(t="c c c", u="b"))
        assert result == {"m1": "t-0 t-1", "m2": "t-2 u-0"}


class TestOwnedStays:
    def test_a_topic_no_longer_subscribed_is_dropped(self):
        members = {"m1": member("u", "t-0 u-0"), "m2": member("tu")}
        result = assigned(members, replicas_in(t="-", u="-"))
        assert result == {"m1": "u-0", "m2": "t-0"}

    def test_a_partition_outside_of_the_rack_is_dropped(self):
        members = {"m1": member("tu", "t-0 t-1", rack="a"), "m2": member("t", rack="b")}
        result = assigned(members, replicas_in(t="b a", u="a"))
        assert result == {"m1": "t-1 u-0", "m2": "t-0"}

    def test_new_partitions_move_before_old_ones(self):
        members = {"m1": member("tu", "t-0 t-1 t-2"), "m2": member("tuv", "u-0")}
        result = assigned(members, replicas_in(t="- - -", u="- -", v="-"))
        assert result == {"m1": "t-0 t-1 t-2", "m2": "u-0 u-1 v-0"}


class TestOlderOwners:
    def older(self, **named):
        members = {name: member("t", "t-0", generation) for name, generation in named.items()} | {
            "z": member("t", "", 5)
        }
        group = NumberedGroup.of(members, replicas_in(t="-"))
        return {group.ids[owner] for owner in older_owners(group).values()}

    def test_the_newest_of_the_older_generations_counts(self):
        assert self.older(m1=3, m2=4, m3=2) == {"m2"}
        assert self.older(m1=-1) == {"m1"}
        assert self.older(m1=5) == set()

    def test_of_one_generation_the_first_in_hash_order_counts(self):
        assert self.older(m2=4, m1=4) == {"m1"}

    def test_a_partition_returns_to_its_older_owner(self):
        members = {
            "m1": member("t", "t-0 t-1 t-2 t-3", 5),
            "m2": member("t", "", 5),
            "m3": member("tu", "t-0", 4),
        }
        result = assigned(members, replicas_in(t="- - - -", u="-"))
        assert result == {"m1": "t-2 t-3", "m2": "t-1", "m3": "t-0 u-0"}

    def test_an_older_owner_need_not_subscribe_unless_valid_is_set(self):
        members = {
            "m1": member("tu", "t-0 t-1 t-2 t-3 t-4", 5),
            "m2": member("u", "t-0", 4),
            "m3": member("t", "", 5),
        }
        racks = replicas_in(t="- - - - -", u="-")
        assert assigned(members, racks)["m2"] == "t-0 u-0"
        valid = assigned(members, racks, valid=True)
        assert valid == {"m1": "t-2 t-3 t-4", "m2": "u-0", "m3": "t-0 t-1"}

    def test_there_is_no_answer_if_the_older_owner_was_set_aside(self):
        members = {
            "m1": member("t", "t-0 t-1 t-2", 5),
            "m2": member("t", "", 5),
            "m3": member("u", "t-0", 4),
        }
        racks = replicas_in(t="- - -", u="-")
        assert assigned(members, racks) == {}
        assert assigned(members, racks, valid=True) == {
            "m1": "t-1 t-2",
            "m2": "t-0",
            "m3": "u-0",
        }


ENDLESS = {
    "m442138-0": member("uv", rack="z", generation=-1),
    "m475646-1": member("", rack="a", generation=3),
    "m58570-2": member("t", generation=3),
    "m852963-3": member("u", "u-3", generation=-1),
    "m631589-4": member("vtu", generation=-1),
    "m218411-5": member("vu", rack="z", generation=5),
    "m127996-6": member("u", generation=3),
}


class TestBalance:
    def test_equal_partitions_are_not_swapped(self):
        members = {
            "m765294-0": member("ut", "u-0 u-1", 3, rack="b"),
            "m920533-1": member("t", "u-5 t-0", 5, rack="b"),
            "m288335-2": member("tu", "t-0", 3),
        }
        result = assigned(members, replicas_in(t="c c", u="b a d c a b c c"))
        assert result == {
            "m765294-0": "u-0 u-1 u-2 u-5",
            "m920533-1": "t-0 t-1",
            "m288335-2": "u-3 u-4 u-6 u-7",
        }

    def test_a_topic_listed_twice_has_two_subscribers(self):
        members = {"m1": member("tt"), "m2": member("u")}
        assert assigned(members, replicas_in(t="- -", u="-")) == {"m1": "t-0 t-1", "m2": "u-0"}

    def test_members_that_can_get_no_more_are_skipped(self):
        members = {"m1": member("t"), "m2": member("uv"), "m3": member("uv")}
        result = assigned(members, replicas_in(t="- - - -", u="-", v="-"))
        assert result == {"m1": "t-0 t-1 t-2 t-3", "m2": "u-0", "m3": "v-0"}

    def test_no_member_in_play(self):
        assert assigned({"m1": member("t"), "m2": member("u")}, replicas_in(t="-", u="-")) == {
            "m1": "t-0",
            "m2": "u-0",
        }

    def test_endless_moves_are_stopped(self):
        racks = replicas_in(
            t="a a a a b b a a b b b b a b b a a b b b",
            u="a b b b b a b b a a b b b b b a a b b a",
            v="b b b a b a a a b a b b a b b b a b a b",
        )
        assert assigned(ENDLESS, racks) == {}
        group = NumberedGroup.of(ENDLESS, racks)
        holders = assign_mixed(group, Owned.of(group), valid=True)
        result = group.assignment(ENDLESS, holders)
        check_assignment(result, ENDLESS, {"t": 20, "u": 20, "v": 20})
