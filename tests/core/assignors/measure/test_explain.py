"""The racks that limit a group, and the number of members to add."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors, group_of, hide_solver, members_of, replicas_in
from rackwise.core.assignors.measure.explain import explain
from rackwise.core.assignors.measure.local_bound import best_local
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidConfig, InvalidMember, MissingDependency

SMALL = [case for case in consumer_vectors("optimal_counts") if case["best_local"] < 500]
EXPLAINED = [case for case in consumer_vectors("optimal")["cases"] if "explain" in case]


def group(**racks):
    """A group with these numbers of members per rack; `none` counts members without rack."""
    return {
        f"{rack}{number}": Member(topics=("t",), rack=None if rack == "none" else rack)
        for rack, count in racks.items()
        for number in range(count)
    }


def replicas_of(**counts):
    """The replicas of topic t; ab=2: two partitions with replicas in racks a and b."""
    return replicas_in(t=" ".join(" ".join([word] * count) for word, count in counts.items()))


@pytest.mark.parametrize("case", SMALL, ids=lambda case: str(case["best_local"]))
def test_vectors(case):
    kinds = {racks.replace(",", "") or "-": n for racks, n in case["partitions_by_racks"].items()}
    members = group(**case["members_by_rack"], none=case["members_without_rack"])
    found = explain(members, replicas_of(**kinds))
    assert (found.best_local, found.bottleneck) == (case["best_local"], tuple(case["bottleneck"]))
    assert found.reachable == found.best_local + found.shortfall
    assert found.shortfall == found.only_there - found.capacity or not found.bottleneck


@pytest.mark.parametrize("case", EXPLAINED, ids=lambda case: case["id"])
def test_vectors_of_whole_groups(case):
    found = explain(members_of(case["members"]), case["topics"], target=case["target"])
    wanted = {**case["explain"], "bottleneck": tuple(case["explain"]["bottleneck"])}
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_the_drawn_example():
    found = explain(group(a=1, b=2, c=2), replicas_of(a=9, b=3, c=3))
    assert (found.partitions, found.best_local, found.reachable, found.unreachable) == (
        15,
        9,
        15,
        0,
    )
    assert found.bottleneck == ("a",)
    assert (found.only_there, found.capacity, found.shortfall) == (9, 3, 6)
    assert found.members_to_add == 4
    assert found.text == (
        "best 9 of 15 partitions local\n"
        "limited by a: 9 partitions have replicas only there, 1 member can hold 3; "
        "4 more members there would be enough"
    )


class TestMembersToAdd:
    def test_one_member_to_add(self):
        found = explain(group(a=1, b=2), replicas_of(a=3, b=2))
        assert (found.members_to_add, found.shortfall) == (1, 1)
        assert found.reason == (
            "limited by a: 3 partitions have replicas only there, 1 member can hold 2; "
            "1 more member there would be enough"
        )

    def test_members_are_added_to_the_racks_of_the_bottleneck_in_turn(self):
        found = explain(group(a=1, b=1, c=4), replicas_of(ab=12, c=6))
        assert found.bottleneck == ("a", "b")
        assert found.members_to_add == 4

    def test_no_number_is_enough_where_members_without_rack_take_their_share(self):
        found = explain(group(a=1, b=2, none=1), replicas_of(a=3, b=3))
        assert (found.best_local, found.bottleneck, found.members_to_add) == (5, ("a",), None)
        assert found.reason.endswith(
            "1 member can hold 2; 40 more members there would not be enough; "
            "1 member has no rack: set client.rack"
        )

    @given(
        st.dictionaries(st.sampled_from(["a", "b", "c", "ab", "bc"]), st.integers(1, 9)),
        st.dictionaries(st.sampled_from("abc"), st.integers(1, 4), min_size=1),
        st.integers(0, 2),
    )
    def test_members_to_add_is_the_least_number_without_shortfall(self, kinds, members, rackless):
        found = explain(group(**members, none=rackless), replicas_of(**kinds))
        counts = {frozenset(word): count for word, count in kinds.items()}
        enough = []
        for more in range(10 * (sum(members.values()) + rackless) + 1):
            grown = dict(members)
            for number in range(more if found.bottleneck else 0):
                grown[found.bottleneck[number % len(found.bottleneck)]] += 1
            if best_local(counts, grown, rackless)[0] == found.reachable:
                enough.append(more)
        assert found.members_to_add == (next(iter(enough), None) if found.bottleneck else None)


class TestNothingLimits:
    def test_all_reachable_partitions_can_be_local(self):
        found = explain(group(a=1, none=1), replicas_of(a=1, b=3))
        assert (found.best_local, found.unreachable, found.members_to_add) == (1, 3, None)
        assert (found.only_there, found.capacity) == (0, 0)
        assert found.text == (
            "best 1 of 4 partitions local\n"
            "3 partitions not near any member\n"
            "limited by b: 3 partitions have replicas only there, no member is known to be there; "
            "1 member has no rack: set client.rack"
        )

    def test_members_without_racks_and_members_far_from_all_replicas(self):
        assert explain(group(none=2), replicas_of(a=1)).reason == (
            "2 members have no rack: set client.rack"
        )
        assert explain(group(b=2), replicas_of(a=1)).reason == (
            "limited by a: 1 partition has replicas only there, no member is there; "
            "2 members are in b, near no replica: check client.rack"
        )

    def test_all_partitions_can_be_local(self):
        assert explain(group(a=1, b=1), replicas_of(a=1, b=1)).reason == (
            "every partition can be local"
        )


ROWS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), max_size=3, unique=True),
    min_size=1,
    max_size=12,
)
CROWDS = st.dictionaries(st.sampled_from(["a", "b", "c", "Z", "none"]), st.integers(1, 3))


class TestTheSentenceIsTrue:
    """Racks in the sentence are counted again from the replicas and the members."""

    @pytest.mark.parametrize(
        ("lost", "cure"),
        [
            ("A", "1 member is in A, near no replica: check client.rack"),
            ("none", "1 member has no rack: set client.rack"),
        ],
    )
    def test_replicas_in_racks_without_members_are_named(self, lost, cure):
        assert explain(group(**{lost: 1, "b": 1}), replicas_of(abc=12)).reason == (
            "limited by a, b, c: 12 partitions have replicas only there, 1 member can hold 6; "
            f"11 more members in b would be enough; {cure}"
        )

    def test_racks_without_members_limit(self):
        assert explain(group(a=1, b=1), replicas_of(a=4, b=4, c=4)).reason == (
            "limited by c: 4 partitions have replicas only there, no member is there"
        )

    def test_too_few_members_and_racks_without_members(self):
        assert explain(group(a=1, b=2), replicas_of(a=6, c=3)).reason == (
            "limited by a: 6 partitions have replicas only there, 1 member can hold 3; "
            "2 more members there would be enough for these; "
            "also limited by c: 3 partitions have replicas only there, no member is there; "
            "2 members are in b, near no replica: check client.rack"
        )

    def test_replicas_in_unknown_racks(self):
        found = explain(group(a=1, b=2), {"t": [["a", None]] * 4 + [[None]] * 2})
        assert "4 partitions have replicas only there or in unknown racks, " in found.reason
        assert "; 2 partitions have no replica that is known to be near a member" in found.reason

    @given(ROWS, CROWDS.filter(bool), st.sampled_from(["follower", "leader"]))
    def test_over_small_groups(self, rows, crowd, target):
        found = explain(group(**crowd), {"t": rows}, target=target)
        what = "leader" if target == "leader" else "replica"
        read = [row[:1] if target == "leader" else row for row in rows]
        texts = found.reason.split("; ")
        limits = [match for match in map(LIMIT.match, texts) if match]
        unreachable = [row for row in read if not {*row} & crowd.keys()]
        for match in limits:
            racks = set(match["racks"].split(", "))
            members = sum(crowd.get(rack, 0) for rack in racks)
            near_some = [row for row in read if {*row} & crowd.keys()]
            if match["hold"] is None:
                here = [row for row in unreachable if row and None not in row]
                assert members == 0
                assert ("known" in match[0]) == ("none" in crowd)
            else:
                here = [row for row in near_some if {*row} - {None} <= racks]
                assert int(match["hold"]) == most_held(len(rows), sum(crowd.values()), members)
                assert members == int(match["members"])
                assert ("unknown" in match[0]) == any(None in row for row in here)
            assert int(match["count"]) == len(here) > 0
            assert all({*row} - {None} <= racks for row in here)
            assert match["what"] == f"{what}s"
        lost = any(row and None not in row for row in unreachable) and {*crowd} != {"none"}
        wanted = [True] * bool(found.bottleneck) + [False] * lost
        assert [match["hold"] is not None for match in limits] == wanted
        strays = {rack for rack in crowd if rack != "none" and not any(rack in row for row in read)}
        if found.best_local == len(rows):
            assert found.reason == "every partition can be local"
        else:
            assert ("check client.rack" in found.reason) == bool(strays)
            assert ("set client.rack" in found.reason) == ("none" in crowd)


LIMIT = re.compile(
    r"(?:also )?limited by (?P<racks>[^:]+): (?P<count>\d+) partitions? ha\w+ (?P<what>\w+) only "
    r"there[^,]*, (?:(?P<members>\d+) members? can hold (?P<hold>\d+)|no member is .*there)"
)


def most_held(partitions, members, some):
    """The most partitions that `some` of the members hold when loads are even."""
    loads = [partitions // members + (n < partitions % members) for n in range(members)]
    return sum(loads[:some])


class TestTargetsAndLevels:
    MEMBERS = group_of("t", m="/e/a", n="/w/c")

    def racks(self):
        return {"t": [["/e/b", "/e/a"], ["/e/b", "/w/c"], ["/e/b"], ["/e/a"]]}

    @pytest.mark.parametrize(
        ("target", "level", "reachable"),
        [
            ("follower", None, 3),
            ("follower", 2, 3),
            ("follower", 1, 4),
            ("leader", None, 1),
            ("leader", 1, 4),
            ("nearest", 1, 4),
        ],
    )
    def test_reachable_partitions_by_target_and_level(self, target, level, reachable):
        found = explain(self.MEMBERS, self.racks(), target=target, level=level)
        assert found.reachable == reachable

    def test_target_leader_names_leaders(self):
        found = explain(self.MEMBERS, self.racks(), target="leader", level=1)
        assert found.reason == (
            "limited by /e/a, /e/b: 4 partitions have leaders only there, 1 member can hold 2; "
            "3 more members in /e/a would be enough; "
            "1 member is in /w/c, near no leader: check client.rack"
        )

    @pytest.mark.parametrize("level", [0, 3])
    def test_an_unknown_level_is_rejected(self, level):
        with pytest.raises(InvalidConfig, match=f"invalid level: expected 1 to 2, got {level}"):
            explain(self.MEMBERS, self.racks(), level=level)

    def test_an_unknown_target_is_rejected(self):
        with pytest.raises(InvalidConfig, match="target"):
            explain(self.MEMBERS, self.racks(), target="far")

    def test_an_empty_group_is_rejected(self):
        with pytest.raises(InvalidMember):
            explain({}, self.racks())


def test_differing_subscriptions_need_a_solver(monkeypatch):
    hide_solver(monkeypatch)
    members = {**group_of("t", m="a"), "n": Member(topics=("t", "u"), rack="b")}
    with pytest.raises(MissingDependency) as raised:
        explain(members, replicas_in(t="a", u="b"))
    assert raised.value.hint == "pip install rackwise"
