"""The closed form of the best: vectors, all assignments of small groups, both algorithms."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors, group_of, replicas_in
from naive_local import most_local
from rackwise.core.assignors.distance import Distance
from rackwise.core.assignors.measure import local_bound as local
from rackwise.core.assignors.measure.local_bound import (
    best_local,
    has_equal_subscriptions,
    members_by_rack,
    partitions_by_racks,
)
from rackwise.core.assignors.members import Member

VECTORS = consumer_vectors("optimal_counts")
RACK = st.sampled_from("abcxy")


def input_of(case):
    kinds = {
        frozenset(filter(None, racks.split(","))): count
        for racks, count in case["partitions_by_racks"].items()
    }
    return kinds, case["members_by_rack"], case["members_without_rack"]


@pytest.fixture(params=["subsets", "flow"])
def each_algorithm(request, monkeypatch):
    monkeypatch.setattr(local, "FEW_RACKS", 16 if request.param == "subsets" else 0)


@pytest.mark.usefixtures("each_algorithm")
@pytest.mark.parametrize("case", VECTORS, ids=lambda case: str(case["best_local"]))
def test_vectors(case):
    assert best_local(*input_of(case)) == (case["best_local"], tuple(case["bottleneck"]))


@given(
    st.dictionaries(st.frozensets(RACK, max_size=3), st.integers(0, 4), max_size=3),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)),
    st.integers(0, 2),
)
def test_the_bound_equals_the_best_of_all_assignments_of_a_small_group(kinds, members, rackless):
    best, _ = best_local(kinds, members, rackless)
    assert best == most_local(kinds, members, rackless)


@given(
    st.dictionaries(st.frozensets(RACK, max_size=4), st.integers(0, 40), max_size=8),
    st.dictionaries(RACK, st.integers(0, 6)),
    st.integers(0, 3),
)
def test_subsets_and_flow_agree(kinds, members, rackless):
    sizes = {rack: members[rack] for rack in sorted(members) if members[rack]}
    if sizes:
        even = divmod(sum(kinds.values()), sum(sizes.values()) + rackless)
        wanted = best_local(kinds, members, rackless)
        assert local._bound_by_flow(kinds, sizes, *even) == wanted
        assert local._bound_by_subsets(kinds, sizes, *even) == wanted


def test_seventeen_racks():
    racks = [f"r{number:02}" for number in range(17)]
    kinds = {frozenset({rack}): 2 for rack in racks} | {frozenset({"r03", "r04"}): 3}
    assert best_local(kinds, dict.fromkeys(racks, 1)) == (36, ("r03", "r04"))


def test_no_member_and_no_rack():
    assert best_local({frozenset("a"): 3}, {}) == (0, ())
    assert best_local({frozenset("a"): 3}, {"a": 0}, 2) == (0, ())
    assert best_local({}, {"a": 1}) == (0, ())


def test_the_bottleneck_is_in_java_order():
    kinds = {frozenset({"\uffee"}): 9, frozenset({"\U0001f600"}): 9}
    members = {"\uffee": 1, "\U0001f600": 1, "c": 4}
    assert best_local(kinds, members) == (6, ("\U0001f600", "\uffee"))


PATHS = {"t": [["/e/a", "/w/c"], ["/e/b", "/e/a"], ["/w/c"], ["/e/b", "/e/a"]], "u": [["/e/a"]]}


class TestCounts:
    MEMBERS = group_of("t", m="/e/a", n="/e/b", o=None)

    def counts(self, target, most=0):
        distance = Distance.of((member.rack for member in self.MEMBERS.values()), target)
        found = partitions_by_racks(self.MEMBERS, PATHS, distance, most=most)
        return {" ".join(sorted(racks)): count for racks, count in found.items()}

    def test_partitions_by_the_racks_that_are_near(self):
        assert self.counts("follower") == {"/e/a": 1, "/e/a /e/b": 2, "": 1}
        assert self.counts("leader") == {"/e/a": 1, "/e/b": 2, "": 1}
        assert self.counts("leader", most=1) == {"/e/a /e/b": 3, "": 1}

    def test_members_by_rack(self):
        assert members_by_rack(self.MEMBERS) == Counter({"/e/a": 1, "/e/b": 1})

    def test_subscriptions_are_compared_by_topics_with_partitions(self):
        racks = replicas_in(t="a", u="a") | {"v": []}
        tt, tv, tu = (Member(topics=tuple(topics)) for topics in ("tt", "tvx", "tu"))
        assert has_equal_subscriptions({"m": tt, "n": tv}, racks)
        assert not has_equal_subscriptions({"m": tt, "n": tu}, racks)
