"""Faults of moves, each named in a sentence."""

from dataclasses import replace

import pytest

from checked_plans import check
from proved_plans import ZONES, grown, with_move
from rackwise.core.planning.model import Move, Repair
from rackwise.core.planning.plan import plan
from rackwise.core.policy import Policy, TopicBlock
from small_clusters import small_cluster


def test_moves_of_an_unknown_partition():
    cluster, made = grown()
    verdict = check(cluster, Policy(), with_move(made, 0, partition=9))
    assert "t-9: no such partition" in verdict.problems


def test_moves_of_an_unknown_topic():
    cluster, made = grown()
    verdict = check(cluster, Policy(), with_move(made, 0, topic="zz"))
    assert any(": no such partition" in problem for problem in verdict.problems)


def test_partition_moved_twice():
    cluster, made = grown()
    again = replace(made, moves=(*made.moves, made.moves[0]))
    name = f"t-{made.moves[0].partition}"
    assert check(cluster, Policy(), again).problems == (f"{name}: moved twice",)


def test_moves_from_another_list():
    cluster, made = grown()
    verdict = check(cluster, Policy(), with_move(made, 0, before=(4, 5, 6)))
    assert "the move expects 4, 5, 6 before, the cluster has" in verdict.problems[0]


def test_moves_without_a_change():
    cluster, made = grown()
    stays = with_move(made, 0, after=made.moves[0].before)
    assert "expected a changed list" in " ".join(check(cluster, Policy(), stays).problems)


@pytest.mark.parametrize("greatest", [4, 2**20, 2**20 + 1, 2**31 - 1])
def test_ids_of_any_size(greatest):
    cluster = small_cluster({1: "/a", 2: "/b", 3: "/c", greatest: "/c"}, {"t-0": [1, 2, greatest]})
    assert check(cluster, Policy(), plan(cluster, Policy(), Repair())).is_proved
    same = small_cluster({1: "/a", 2: "/b", 3: "/b", greatest: "/c"}, {"t-0": [1, 2, 3]})
    made = plan(same, Policy(), Repair())
    assert [max(move.after) for move in made.moves] == [greatest]
    assert check(same, Policy(), made).is_proved
    strange = replace(made.moves[0], after=(1, 2, greatest - 1))
    expected = check(same, Policy(), replace(made, moves=(strange,)))
    if greatest > 4:
        assert f"expected usable brokers, got {greatest - 1}" in " ".join(expected.problems)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ((1, 1, 3), "expected distinct brokers, got 1, 1, 3"),
        ((1, 2, 9), "expected usable brokers, got 9"),
        ((1, 2), "expected 3 replicas, got 1, 2"),
        ((1, 4, 2), "the rules of its racks do not allow 1, 4, 2"),
        ((), "expected 3 replicas, got none"),
    ],
)
def test_moves_to_sets_that_are_not_legal(after, expected):
    cluster, made = grown()
    verdict = check(cluster, Policy(), with_move(made, 0, after=after))
    assert not verdict.is_legal
    name = f"t-{made.moves[0].partition}"
    assert f"{name}: {expected}" in verdict.problems


def test_moves_that_leave_a_broken_rule():
    cluster = small_cluster(ZONES, {"t-0": [1, 4, 2]})
    made = plan(cluster, goal=Repair())
    verdict = check(cluster, Policy(), replace(made, moves=()))
    assert verdict.problems[0] == "t-0: the rules of its racks do not allow 1, 4, 2"


def test_moves_without_a_pinned_broker_or_to_a_closed_one():
    pinned = Policy(topics=(TopicBlock(match=("*",), pin={0: (4,)}),))
    cluster = small_cluster(ZONES, {"t-0": [1, 2, 3]})
    made = plan(cluster, pinned, Repair())
    verdict = check(cluster, pinned, replace(made, moves=()))
    assert verdict.problems[0] == "t-0: expected a replica on 4, got 1, 2, 3"
    closed = replace(Policy(), brokers=replace(Policy().brokers, exclude=(4,)))
    made = plan(cluster, closed, Repair())
    move = Move(topic="t", partition=0, topic_id=None, before=(1, 2, 3), after=(4, 2, 3), bytes=1)
    verdict = check(cluster, closed, replace(made, moves=(move,)))
    assert verdict.problems[0] == "t-0: expected brokers that accept new replicas, got 4"
