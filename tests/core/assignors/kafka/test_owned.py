"""Members and partitions by number, and the partitions that members still own."""

from assignments import group_of, replicas_in, tps
from rackwise.core.assignors.kafka.owned import NumberedGroup, Owned
from rackwise.core.assignors.members import Member


def owned_of(**named):
    """From m1=(generation, "t-0 t-1"): partitions owned by each member, and doubly owned ones."""
    members = {
        name: Member(topics=("t",), generation=generation, owned=tps(text))
        for name, (generation, text) in named.items()
    }
    group = NumberedGroup.of(members, replicas_in(t="- - - - -"))
    owned = Owned.of(group)
    mine = zip(group.ids, owned.by_member, strict=True)
    return {name: sorted(numbers) for name, numbers in mine}, sorted(owned.doubly_owned)


class TestGroup:
    def test_numbers_sort_as_java_sorts_names(self):
        members = group_of("\uffee", **{"\uffee": "a", "\U0001f600": "b", "m": None})
        group = NumberedGroup.of(members, {"\uffee": [["a"], ["b"]], "t": [["a"]]})
        assert group.ids == ("m", "\U0001f600", "\uffee")
        assert group.racks == (None, "b", "a")
        assert [tp.topic for tp in group.partitions] == ["\uffee", "\uffee"]

    def test_partitions_of_all_topics_are_numbered_in_a_row(self):
        members = group_of("tu", m1=None)
        group = NumberedGroup.of(members, replicas_in(u="a b", t="a a a"))
        assert group.topics == ("t", "u")
        assert (group.starts, group.ends) == ({"t": 0, "u": 3}, {"t": 3, "u": 5})
        assert group.topic_of == (0, 0, 0, 1, 1)

    def test_racks_are_dropped_where_they_do_not_matter(self):
        group = NumberedGroup.of(group_of("t", m1="a"), replicas_in(t="a a"))
        assert group.racks == (None,)
        assert not group.mismatches(0, 1)
        forced = NumberedGroup.of(group_of("t", m1="a"), replicas_in(t="a a"), force=True)
        assert forced.racks == ("a",)

    def test_a_member_without_rack_mismatches_nothing(self):
        group = NumberedGroup.of(group_of("t", m1="a", m2=None), replicas_in(t="a b"))
        assert [[group.mismatches(m, p) for p in (0, 1)] for m in (0, 1)] == [
            [False, True],
            [False, False],
        ]

    def test_only_existing_partitions_are_owned(self):
        members = {"m1": Member(topics=("t",), owned=tps("t-1 gone-0 t-2 t-0"))}
        group = NumberedGroup.of(members, replicas_in(t="a b"))
        assert list(group.owned_numbers(0)) == [1, 0]

    def test_members_of_an_assignment_are_in_join_order(self):
        members = group_of("t", m2=None, m1=None)
        group = NumberedGroup.of(members, replicas_in(t="a a a"))
        result = group.assignment(members, [0, 1, 0], {2})
        assert list(result.partitions.items()) == [("m2", tps("t-1")), ("m1", tps("t-0"))]
        assert result.withheld == dict.fromkeys(tps("t-2"), "m1")


class TestKip792NewestGeneration:
    """KIP-792: of two members that report a partition, the one of the newer generation owns it."""

    def test_the_example_of_the_file(self):
        owned, doubly_owned = owned_of(
            m1=(4, "t-0 t-1"), m2=(5, "t-0 t-2"), m3=(5, "t-2 t-3"), m4=(4, "t-1")
        )
        assert owned == {"m1": [], "m2": [0], "m3": [3], "m4": []}
        assert doubly_owned == [1, 2]

    def test_an_older_generation_is_ignored(self):
        assert owned_of(m1=(5, "t-0"), m2=(4, "t-0")) == ({"m1": [0], "m2": []}, [])

    def test_a_third_member_of_the_same_generation_does_not_get_it_either(self):
        assert owned_of(m1=(5, "t-0"), m2=(5, "t-0"), m3=(5, "t-0"))[0]["m3"] == []

    def test_a_newer_generation_owns_a_partition_that_older_ones_reported_twice(self):
        owned, doubly_owned = owned_of(m1=(4, "t-0"), m2=(4, "t-0"), m3=(5, "t-0"))
        assert (owned["m3"], doubly_owned) == ([0], [0])

    def test_a_partition_that_one_member_reports_twice_is_doubly_owned(self):
        assert owned_of(m1=(4, "t-0 t-0 t-1")) == ({"m1": [1]}, [0])
