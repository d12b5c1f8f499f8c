"""Quotas, racks and turns of a group that subscribes to the same topics."""

from hypothesis import given
from hypothesis import strategies as st

from assignments import group_of, replicas_in, tps
from rackwise.core.assignors.kafka.owned import NOBODY, NumberedGroup, Owned
from rackwise.core.assignors.kafka.sticky_same import _next_member, assign_same
from rackwise.core.assignors.members import Member


def assigned(members, racks):
    """The partitions of each member by id, and the revoked partitions."""
    group = NumberedGroup.of(members, racks)
    holders, revoked = assign_same(group, Owned.of(group))
    found = dict.fromkeys(group.ids, "")
    for tp, holder in zip(group.partitions, holders, strict=True):
        found[group.ids[holder]] += f" {tp}"
    let_go = {str(group.partitions[number]): group.ids[m] for number, m in revoked.items()}
    return {name: text.strip() for name, text in found.items()}, let_go


def member_with(rack=None, owned="", generation=1, topics=("t",)):
    return Member(topics=topics, rack=rack, owned=tps(owned), generation=generation)


class TestOwned:
    def test_the_first_by_partition_then_topic_are_kept(self):
        topics = ("t", "u")
        members = {
            "m1": member_with(owned="t-0 t-1 t-2 u-0 u-1", topics=topics),
            "m2": member_with(topics=topics),
        }
        result, let_go = assigned(members, replicas_in(t="- - -", u="- -"))
        assert result == {"m1": "t-0 t-1 u-0", "m2": "t-2 u-1"}
        assert let_go == {"u-1": "m1", "t-2": "m1"}

    def test_only_e_members_keep_one_more(self):
        members = {
            "m1": member_with(owned="t-0 t-1"),
            "m2": member_with(owned="t-2 t-3"),
            "m3": member_with(),
        }
        result, let_go = assigned(members, replicas_in(t="- - - -"))
        assert result == {"m1": "t-0 t-1", "m2": "t-2", "m3": "t-3"}
        assert let_go == {"t-3": "m2"}

    def test_a_member_at_q_gets_no_more_after_e_members_have_more(self):
        members = {
            "m1": member_with(owned="t-0"),
            "m2": member_with(owned="t-1 t-2"),
            "m3": member_with(),
        }
        assert assigned(members, replicas_in(t="- - - -"))[0] == {
            "m1": "t-0",
            "m2": "t-1 t-2",
            "m3": "t-3",
        }

    def test_nothing_is_kept_outside_of_the_rack(self):
        members = {"m1": member_with("a", "t-0 t-2"), "m2": member_with("b")}
        result, let_go = assigned(members, replicas_in(t="a a b b"))
        assert result == {"m1": "t-0 t-1", "m2": "t-2 t-3"}
        assert let_go == {"t-2": "m1"}

    def test_a_doubly_owned_partition_has_no_owner_even_if_a_newer_member_reports_it(self):
        members = {
            "m1": member_with(owned="t-0", generation=1),
            "m2": member_with(owned="t-0", generation=1),
            "m3": member_with(owned="t-0 t-2", generation=2),
        }
        result, let_go = assigned(members, replicas_in(t="- - -"))
        assert result == {"m1": "t-0", "m2": "t-1", "m3": "t-2"}
        assert let_go == {}


class TestRacks:
    def test_the_example_of_the_file(self):
        members = {"m1": member_with("a", "t-2"), "m2": member_with("b")}
        result, let_go = assigned(members, replicas_in(t="ab a b c a"))
        assert result == {"m1": "t-1 t-3 t-4", "m2": "t-0 t-2"}
        assert let_go == {"t-2": "m1"}

    def test_partitions_with_few_matching_members_come_first(self):
        result, _ = assigned(group_of("t", m1="a", m2="b"), replicas_in(t="ab a"))
        assert result == {"m1": "t-1", "m2": "t-0"}

    def test_new_partitions_go_around(self):
        members = group_of("t", m1="a", m2="a", m3="b")
        result, _ = assigned(members, replicas_in(t="a a a a b b"))
        assert result == {"m1": "t-0 t-2", "m2": "t-1 t-3", "m3": "t-4 t-5"}

    def test_the_extra_partition_goes_to_the_first_matching_member_at_q(self):
        members = group_of("t", m1="a", m2="b", m3="b")
        result, _ = assigned(members, replicas_in(t="a b b b"))
        assert result == {"m1": "t-0", "m2": "t-1 t-3", "m3": "t-2"}

    def test_members_without_rack_take_the_rest(self):
        result, _ = assigned(group_of("t", m1=None, m2="a"), replicas_in(t="a b"))
        assert result == {"m1": "t-1", "m2": "t-0"}

    @given(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=9),
        st.sets(st.sampled_from("abcd")),
        st.data(),
    )
    def test_the_next_member_is_the_first_one_after_the_start(self, racks, wanted, data):
        under = data.draw(st.sets(st.integers(0, len(racks) - 1)))
        start = data.draw(st.integers(0, len(racks)))
        lists = [sorted(m for m in under if racks[m] == rack) for rack in wanted]
        around = [*range(start, len(racks)), *range(start)]
        met = [m for m in around if m in under and racks[m] in wanted]
        assert _next_member(lists, start, len(racks)) == (met or [NOBODY])[0]


class TestTurns:
    def test_more_members_than_partitions(self):
        result, _ = assigned(group_of("t", m1=None, m2=None, m3=None), replicas_in(t="- -"))
        assert result == {"m1": "t-0", "m2": "t-1", "m3": ""}

    def test_members_below_q_come_before_members_at_q(self):
        members = {
            "m1": member_with(owned="t-0 t-1"),
            "m2": member_with(owned="t-2"),
            "m3": member_with(),
        }
        result, _ = assigned(members, replicas_in(t="- - - - - - -"))
        assert result == {"m1": "t-0 t-1 t-6", "m2": "t-2 t-3", "m3": "t-4 t-5"}
