"""The settled assignment of each assignor."""

from dataclasses import replace

import pytest

from assignments import consumer_vectors, group_of, members_of, replicas_in, tps
from rackwise.core.assignors.measure.compare import ASSIGNORS, change_members, simulate_assignor
from rackwise.core.assignors.members import Member
from rackwise.core.errors import InvalidConfig, InvalidMember

RACKS = replicas_in(t="b b a a")
GROUP = {
    "m": Member(topics=("t",), rack="a", owned=tps("t-0 t-1"), generation=1),
    "n": Member(topics=("t",), rack="b", owned=tps("t-2 t-3"), generation=1),
}


@pytest.mark.parametrize(
    ("name", "local", "moves", "rounds"),
    [
        ("range", 4, 4, 1),
        ("roundrobin", 2, 2, 1),
        ("sticky", 4, 4, 1),
        ("cooperative-sticky", 4, 4, 2),
    ],
)
def test_each_assignor_runs_until_it_settles(name, local, moves, rounds):
    found = simulate_assignor(name, GROUP, RACKS)
    assert (found.assignor, found.report.local, found.report.moves, found.rounds) == (
        name,
        local,
        moves,
        rounds,
    )
    assert not found.assignment.withheld


def test_an_assignor_that_does_not_settle_in_time():
    found = simulate_assignor("cooperative-sticky", GROUP, RACKS, max_rounds=1)
    assert found.rounds is None
    assert found.report.withheld == 4


def test_racks_are_ignored_where_a_group_would_not_settle():
    case = next(c for c in consumer_vectors("upstream_defects") if c["id"] == "never-settles")
    found = simulate_assignor("cooperative-sticky", members_of(case["members"]), case["topics"])
    assert found.rounds == 4


@pytest.mark.parametrize(
    ("name", "moves_to", "moves_on"), [("server-uniform", 2, 0), ("server-range", 2, 2)]
)
def test_a_group_that_changes_to_an_assignor_on_the_broker_owns_nothing(name, moves_to, moves_on):
    group = {
        "m": replace(GROUP["m"], owned=tps("t-0 t-2")),
        "n": replace(GROUP["n"], owned=tps("t-1 t-3")),
    }
    changed = simulate_assignor(name, group, RACKS)
    assert changed.assignment.partitions == {"m": tps("t-0 t-1"), "n": tps("t-2 t-3")}
    assert changed.report.moves == moves_to
    assert simulate_assignor(name, group, RACKS, is_on_server=True).report.moves == moves_on


def test_an_unknown_assignor():
    with pytest.raises(
        InvalidConfig, match=r'invalid assignor: expected one of range, .*, got "uniform"'
    ):
        simulate_assignor("uniform", GROUP, RACKS)
    assert "uniform" not in ASSIGNORS


def test_partitions_of_removed_members_count_as_moves():
    fewer = change_members(GROUP, add={}, remove=["m"])
    assert simulate_assignor("sticky", fewer, RACKS).report.moves == 0
    assert simulate_assignor("sticky", fewer, RACKS, before=GROUP).report.moves == 2


class TestChangeMembers:
    def test_new_members_list_every_topic(self):
        members = group_of("t", m="a") | group_of("u", n="b")
        found = change_members(members, add={"c": 2, "a": 1}, remove=["m"])
        new = Member(topics=("t", "u"), rack="c")
        assert found == {
            "n": members["n"],
            "new-c-1": new,
            "new-c-2": new,
            "new-a-1": Member(topics=("t", "u"), rack="a"),
        }

    def test_a_new_member_never_takes_the_name_of_one_that_is_there(self):
        first = change_members(GROUP, add={"a": 1})
        both = change_members(first, add={"a": 2}, remove=["m"])
        assert set(both) == {*GROUP, "new-a-1", "new-a-2", "new-a-3"} - {"m"}
        again = change_members(first, add={"a": 1}, remove=["new-a-1"])
        assert set(again) == {*GROUP, "new-a-2"}

    def test_removing_an_unknown_member(self):
        with pytest.raises(
            InvalidMember, match="invalid member to remove: expected a member of the group, got x"
        ):
            change_members(GROUP, add={}, remove=["x"])
