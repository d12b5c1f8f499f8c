"""Racks are left out of a group that would go back and forth for ever, and of no other."""

from dataclasses import replace

import pytest

from assignments import assignment_of, group_of, replicas_in, tps
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.assignors.settle import PATIENCE, Settling, settle_step, without_racks
from rackwise.core.errors import InvalidMember

RACKS = replicas_in(t="a b")
LEFT = assignment_of({"m": [["t", 0]], "n": [["t", 1]]})
RIGHT = assignment_of({"m": [["t", 1]], "n": [["t", 0]]})


def owning(made, members):
    return {key: replace(member, owned=made.partitions[key]) for key, member in members.items()}


def rules(rounds):
    """The rule of each round; a round is (members, racks, what it gives)."""
    state, last, found = Settling(), None, []
    for members, racks, made in rounds:
        state, rule = settle_step(state, members, racks, last)
        found.append(rule)
        last = made
    return found


GROUP = group_of("t", m="a", n="b")
BACK_AND_FORTH = [
    (owning(RIGHT, GROUP), RACKS, LEFT) if number % 2 else (owning(LEFT, GROUP), RACKS, RIGHT)
    for number in range(8)
]


def test_the_fifth_round_in_a_row_that_follows_moves_is_without_racks():
    assert PATIENCE == 4
    assert rules(BACK_AND_FORTH) == ["racks"] * 4 + ["no-racks"] * 4


def test_a_round_that_moves_nothing_begins_the_count_anew():
    still = (owning(LEFT, GROUP), RACKS, LEFT)
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
def test_any_change_begins_the_count_anew(members, racks):
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
def test_what_makes_no_difference_is_no_change(members, racks):
    rounds = [*BACK_AND_FORTH[:2], *((members, racks, made) for _, _, made in BACK_AND_FORTH[2:])]
    assert rules(rounds)[:5] == ["racks"] * 4 + ["no-racks"]


def test_eager_members_that_say_nothing_of_what_they_own_are_not_taken_for_moves():
    assert rules([(GROUP, RACKS, LEFT)] * 8) == ["racks"] * 8


def test_what_is_withheld_moves():
    first = Assignment.of({"m": tps("t-0"), "n": ()}, dict.fromkeys(tps("t-1"), "n"))
    rounds = [
        (owning(LEFT, GROUP), RACKS, first),
        (owning(first, GROUP), RACKS, LEFT),
    ] * 3
    assert rules(rounds)[:5] == ["racks"] * 4 + ["no-racks"]


def test_a_new_leader_knows_nothing_of_the_rounds_before():
    state, rule = settle_step(Settling(), GROUP, RACKS, LEFT)
    assert (state.rounds, rule) == (0, "racks")


def test_no_member_has_a_rack_then():
    members = without_racks(owning(LEFT, GROUP))
    assert [member.rack for member in members.values()] == [None, None]
    assert members["n"] == replace(GROUP["n"], rack=None, owned=tps("t-1"))


def test_a_group_without_members():
    with pytest.raises(InvalidMember, match="at least 1 member"):
        settle_step(Settling(), {}, RACKS, None)
