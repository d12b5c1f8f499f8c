"""Moves: the changed lists, their reasons and the order of execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.model import Ragged
from rackwise.core.planning.model import Balance, Move
from rackwise.core.planning.outcome.moves import list_changes, moves_of
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.policy import AuditPolicy, BrokerPolicy, Policy, TopicBlock
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

RACKS = {1: "/a", 2: "/b", 3: "/a", 4: "/b", 5: "/a"}


def moves(
    lists: dict[str, list[int]],
    after: Sequence[Sequence[int]],
    policy: Policy | None = None,
    *,
    sizes: dict[str, int | None] | None = None,
) -> tuple[Move, ...]:
    cluster = small_cluster(RACKS, lists, sizes=sizes, dead=[5])
    instance = instance_of(cluster, policy or Policy(), Balance())
    return moves_of(instance, list_changes(instance, Ragged.of(after)), ())


def test_reasons_are_the_broken_error_rules() -> None:
    policy = Policy(
        brokers=BrokerPolicy(drain=(4,)),
        audit=AuditPolicy(ignore=("spread-even",)),
        topics=(TopicBlock(match=("z",), topic_spread="even"),),
    )
    found = moves(
        {"t-0": [1, 3], "t-1": [2, 5], "t-2": [1, 4], "t-3": [1, 2], "t-4": [1, 2], "z-0": [1, 2]},
        [[1, 2], [2, 1], [1, 2], [3, 2], [2, 1], [3, 2]],
        policy,
    )
    assert {f"{move.topic}-{move.partition}": move.reasons for move in found} == {
        "t-0": ("spread-even",),
        "t-1": ("dead-replica",),
        "t-2": ("drained-broker",),
        "t-3": ("replica-balance",),
        "t-4": ("leader-balance",),
        "z-0": ("topic-spread",),
    }


def test_order_is_broken_rules_drains_others_each_largest_first() -> None:
    sizes: dict[str, int | None] = {"t-0": 9, "t-1": 1, "t-2": 7, "t-3": 3, "t-4": None, "t-5": 3}
    found = moves(
        {"t-0": [1, 2], "t-1": [1, 3], "t-2": [2, 4], "t-3": [1, 2], "t-4": [1, 2], "t-5": [1, 2]},
        [[2, 1], [1, 2], [2, 1], [3, 2], [3, 2], [3, 2]],
        Policy(brokers=BrokerPolicy(drain=(4,))),
        sizes=sizes,
    )
    assert [move.partition for move in found] == [2, 1, 3, 5, 4, 0]


def test_leader_in_the_wrong_rack() -> None:
    policy = Policy(topics=(TopicBlock(match=("*",), leader_racks=("/b",)),))
    [move] = moves({"t-0": [1, 2]}, [[2, 1]], policy)
    assert move.reasons == ("leader-rack",)


def test_fields_of_a_move() -> None:
    [move] = moves({"t-0": [1, 2], "t-1": [1, 2]}, [[1, 2], [4, 3]], sizes={"t-0": 5, "t-1": 7})
    assert move == Move(
        topic="t",
        partition=1,
        topic_id=None,
        before=(1, 2),
        after=(4, 3),
        bytes=7,
        cross_bytes=7,
        reasons=("replica-balance",),
    )
    assert (move.added, move.removed) == ((4, 3), (1, 2))


def test_no_changes() -> None:
    assert moves({"t-0": [1, 2]}, [[1, 2]]) == ()
