"""Groups are checked before they are assigned; racks are considered where they can matter."""

from collections import UserList

import pytest
from hypothesis import given

from assignments import consumer_vectors, group_of, replicas_in, tps
from rackwise.core.assignors.members import (
    Assignment,
    Member,
    TopicPartition,
    check_members,
    rack_sets,
    racks_matter,
    replica_racks,
    sorted_partitions,
    subscribers_of,
)
from rackwise.core.errors import InvalidMember, InvalidReplicaRacks
from small_clusters import small_cluster
from strategies import consumer_groups

PARTITION_RACKS = {
    "none": lambda count: [frozenset()] * count,
    "each on a,b,c": lambda count: [frozenset("abc")] * count,
    "one of a,b,c in turn": lambda count: [frozenset("abc"[p % 3]) for p in range(count)],
}


class TestMember:
    def test_the_empty_text_is_no_rack(self):
        assert Member(topics=(), rack="").rack is None

    def test_a_negative_generation_is_unknown(self):
        assert Member(topics=(), generation=-7).generation == -1

    def test_lists_become_tuples_and_pairs_become_partitions(self):
        member = Member(topics=["t"], owned=[["t", 0]])
        assert member == Member(topics=("t",), owned=tps("t-0"))
        assert str(member.owned[0]) == "t-0"

    def test_a_text_is_not_a_list_of_topics(self):
        with pytest.raises(
            InvalidMember, match='invalid topics: expected a list, got the text "t1"'
        ) as it:
            Member(topics="t1")
        assert it.value.hint == "write topics=(name,)"

    @pytest.mark.parametrize("owned", [[1], [("t",)], 3, [("t", 0, 1)]])
    def test_owned_are_pairs(self, owned):
        with pytest.raises(InvalidMember, match="expected pairs of topic and partition") as it:
            Member(topics=(), owned=owned)
        assert it.value.hint == "write owned=((topic, 0), (topic, 1))"


class TestAssignment:
    MADE = Assignment.of(
        {"m\n1": tps("u-0 t-10 t-9"), "m2": []}, withheld=dict.fromkeys(tps("u-1 t-1"), "m2")
    )

    def test_partitions_are_sorted(self):
        assert self.MADE.partitions == {"m\n1": tps("t-9 t-10 u-0"), "m2": ()}
        assert list(self.MADE.withheld) == list(tps("t-1 u-1"))

    def test_by_topic(self):
        assert self.MADE.by_topic("m\n1") == {"t": (9, 10), "u": (0,)}
        with pytest.raises(KeyError):
            self.MADE.by_topic("m3")

    def test_topics_sort_as_in_java(self):
        found = sorted_partitions(tps("\uffee-0 \U0001f600-1 \U0001f600-0"))
        assert found == tps("\U0001f600-0 \U0001f600-1 \uffee-0")


class TestBadMembers:
    def test_an_empty_group_is_rejected(self):
        with pytest.raises(InvalidMember, match="expected at least 1 member, got 0"):
            check_members({})

    @pytest.mark.parametrize(
        ("member", "sentence"),
        [
            (
                Member(topics=(), owned=[("t", -1)]),
                "invalid owned partition of member m: expected an integer >= 0, got -1",
            ),
            (
                Member(topics=(), owned=[("t", True)]),
                "invalid owned partition of member m: expected an integer >= 0, got True",
            ),
            (
                Member(topics=(), owned=[(1, 0)]),
                "invalid owned topic of member m: expected a text, got 1",
            ),
            (Member(topics=("t", None)), "invalid topic of member m: expected a text, got None"),
            (Member(topics=(["t"],)), r"invalid topic of member m: expected a text, got \['t'\]"),
            (Member(topics=(), rack=7), "invalid rack of member m: expected a text or None, got 7"),
            (
                Member(topics=(), instance_id=b"i"),
                "invalid instance id of member m: expected a text or None, got b'i'",
            ),
            (
                Member(topics=(), generation="1"),
                "invalid generation of member m: expected an integer, got '1'",
            ),
        ],
    )
    def test_each_fault_names_the_member(self, member, sentence):
        with pytest.raises(InvalidMember, match=f"^{sentence}") as raised:
            rack_sets({"ok": Member(topics=()), "m": member}, {})
        assert raised.value.where == "member m"

    def test_an_id_must_be_a_text(self):
        with pytest.raises(InvalidMember, match="invalid id of member 5: expected a text, got 5"):
            check_members({5: Member(topics=())})

    def test_a_subclass_of_str_is_a_text(self):
        class Name(str):
            __slots__ = ()

        check_members({"m": Member(topics=(Name("t"),))})


class TestRackSets:
    def test_unlisted_and_empty_topics_take_no_part(self):
        sets = rack_sets(group_of("tuw", m="a"), replicas_in(u="ab -", v="a", w="", t="c"))
        assert sets == {"t": (frozenset("c"),), "u": (frozenset("ab"), frozenset())}
        assert list(sets) == ["t", "u"]

    def test_no_rack_and_the_empty_text_are_none(self):
        sets = rack_sets(group_of("t", m=None), {"t": [["", None, "a"]]})
        assert sets == {"t": (frozenset("a"),)}

    def test_any_sequence_is_a_list_of_racks(self):
        rows = [UserList(["a"]), ("a",), ["a"]]
        assert rack_sets(group_of("t", m=None), {"t": UserList(rows)}) == {
            "t": (frozenset("a"),) * 3
        }

    @pytest.mark.parametrize(
        ("partitions", "path", "wanted"),
        [
            ([["a"], "ab"], "t[1]", "a list of racks"),
            ([None], "t[0]", "a list of racks"),
            (3, "t", "a list of partitions"),
            ("ab", "t", "a list of partitions"),
            ([["a"], ["a", 1]], "t[1][1]", "a text or None"),
            ([[["a"]]], "t[0][0]", "a text or None"),
        ],
    )
    def test_bad_racks_are_named_by_path(self, partitions, path, wanted):
        with pytest.raises(InvalidReplicaRacks, match=f"expected {wanted}, got ") as raised:
            rack_sets(group_of("t", m="a"), {"t": partitions})
        assert raised.value.where == path
        assert str(raised.value).startswith(f"invalid {path}: ")


@given(consumer_groups())
def test_subscribers_are_the_members_that_list_the_topic(group):
    members, _ = group
    order = sorted(members)
    topics = {topic for member in members.values() for topic in member.topics}
    assert subscribers_of(members, order) == {
        topic: tuple(member for member in order if topic in members[member].topics)
        for topic in topics
    }


class TestRacksMatter:
    @pytest.mark.parametrize("case", consumer_vectors("rack_logic")["cases"])
    def test_vectors(self, case):
        partitions = PARTITION_RACKS[case["partition_racks"]](case["partitions"])
        heeds = racks_matter(case["member_racks"], partitions, force=case["force"])
        assert heeds is case["expected"]

    def test_members_without_rack_do_not_count(self):
        assert not racks_matter([None], [frozenset("a"), frozenset("b")])

    def test_one_partition_without_racks_is_not_everywhere(self):
        assert racks_matter(["a"], [frozenset("a"), frozenset()])


class TestReplicaRacks:
    CLUSTER = small_cluster(
        {1: "a", 2: "b", 3: None},
        {"t-0": [1, 2], "t-2": [2, 9, 3], "u-0": [1]},
        leaders={"t-0": 2, "t-2": None},
    )

    def test_the_leader_comes_first_and_unknown_racks_are_none(self):
        racks = replica_racks(self.CLUSTER, ["t", "nowhere"])
        assert racks == {"t": [("b", "a"), (), ("b", None, None)]}

    def test_assignors_accept_the_result(self):
        sets = rack_sets(group_of("tu", m="a"), replica_racks(self.CLUSTER, ["t", "u"]))
        assert sets["t"] == (frozenset("ab"), frozenset(), frozenset("b"))
        assert sets["u"] == (frozenset("a"),)


def test_a_partition_equals_the_pair():
    assert TopicPartition("t", 0) == ("t", 0)
