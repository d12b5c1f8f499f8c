"""Racks are ignored only in a group that would otherwise alternate for ever."""

from dataclasses import replace

import pytest

from assignments import assignment_of, group_of, replicas_in, tps
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.assignors.settle import PATIENCE, Settling, settle_step, without_racks
from rackwise.core.errors import InvalidMember

RACKS = replicas_in(t="a b")
LEFT = assignment_of({"m": [["t", 0]], "n": [["t", 1]]})
RIGHT = assignment_of({"m": [["t", 1]], "n": [["t", 0]]})


def members_owning(result, members):
    return {key: replace(member, owned=result.partitions[key]) for key, member in members.items()}


def rules(rounds):
    """The rule of each round; a round is (members, racks, assignment)."""
    state, last, found = Settling(), None, []
    for members, racks, result in rounds:
        state, rule = settle_step(state, members, racks, last)
        found.append(rule)
        last = result
    return found


GROUP = group_of("t", m="a", n="b")
BACK_AND_FORTH = [
    (members_owning(RIGHT, GROUP), RACKS, LEFT)
    if number % 2
    else (members_owning(LEFT, GROUP), RACKS, RIGHT)
    for number in range(8)
]


def test_racks_are_ignored_after_four_rounds_with_moves():
    assert PATIENCE == 4
    assert rules(BACK_AND_FORTH) == ["racks"] * 4 + ["no-racks"] * 4


def test_a_round_without_moves_restarts_the_count():
    still = (members_owning(LEFT, GROUP), RACKS, LEFT)
    assert rules([*BACK_AND_FORTH[:4], still, still, *BACK_AND_FORTH[:4]]) == (
        ["racks"] * 4 + ["no-racks"] + ["racks"] * 5
    )


@pytest.mark.parametrize(
    ("members", "racks"),
    [
        ({**GROUP, "o": Member(topics=("t",))}, RACKS),
        ({**GROUP, "n": Member(topics=("t",), rack="c")}, RACKS),
        ({**GROUP, "n": Member(topics=("t", "u"), rack="b")}, RACKS),
        (GROUP, replicas_in(t="a bc")),
        (GROUP, replicas_in(t="a b b")),
    ],
)
def test_any_change_restarts_the_count(members, racks):
    others = [
        (members, racks, LEFT) if number % 2 else (members, racks, RIGHT) for number in range(5)
    ]
    assert rules([*BACK_AND_FORTH[:4], *others]) == ["racks"] * 8 + ["no-racks"]


@pytest.mark.parametrize(
    ("members", "racks"),
    [
        ({"n": GROUP["n"], "m": GROUP["m"]}, RACKS),
        ({**GROUP, "n": Member(topics=("t", "t"), rack="b", instance_id="i")}, RACKS),
        (GROUP, replicas_in(t="aa b", u="a")),
    ],
)
def test_equal_groups_are_no_change(members, racks):
    rounds = [
        *BACK_AND_FORTH[:2],
        *((members, racks, result) for _, _, result in BACK_AND_FORTH[2:]),
    ]
    assert rules(rounds)[:5] == ["racks"] * 4 + ["no-racks"]


def test_eager_members_that_report_nothing_do_not_count_as_moves():
    assert rules([(GROUP, RACKS, LEFT)] * 8) == ["racks"] * 8


def test_a_withheld_partition_counts_as_a_move():
    first = Assignment.of({"m": tps("t-0"), "n": ()}, dict.fromkeys(tps("t-1"), "n"))
    rounds = [
        (members_owning(LEFT, GROUP), RACKS, first),
        (members_owning(first, GROUP), RACKS, LEFT),
    ] * 3
    assert rules(rounds)[:5] == ["racks"] * 4 + ["no-racks"]


def test_a_new_leader_knows_nothing_of_the_rounds_before():
    state, rule = settle_step(Settling(), GROUP, RACKS, LEFT)
    assert (state.rounds, rule) == (0, "racks")


def test_without_racks_removes_every_rack():
    members = without_racks(members_owning(LEFT, GROUP))
    assert [member.rack for member in members.values()] == [None, None]
    assert members["n"] == replace(GROUP["n"], rack=None, owned=tps("t-1"))


def test_a_group_without_members():
    with pytest.raises(InvalidMember, match="at least 1 member"):
        settle_step(Settling(), {}, RACKS, None)
