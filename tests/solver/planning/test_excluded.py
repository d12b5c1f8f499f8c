"""Plans that leave topics alone: nothing of them moves, they count, and the proof knows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from checked_plans import check
from laws_planning import applied
from rackwise.core.planning.model import (
    Balance,
    Drain,
    Leaders,
    LeftAlone,
    LeftViolation,
    Move,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.plan import fair_loads, plan
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.stated_totals import false_statements
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, TopicBlock
from rackwise.core.policy.excluded_topics import exclude_topics
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
LISTS = {f"o-{n}": [1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3] for n in range(6)} | {
    "x-0": [1, 4, 2],
    "x-1": [1, 2, 3],
    "x-2": [9, 1, 4],
}
"""Brokers 4, 5 and 6 joined; x-0 and x-2 have two replicas in /a, broker 9 is gone."""
CLUSTER = small_cluster(RACKS, LISTS)
EXCLUDED = exclude_topics(Policy(), ["x"])
BROKEN = LeftAlone(
    partitions=3,
    broken=(
        LeftViolation(rule="dead-replica", partitions=1, examples=("x-2",)),
        LeftViolation(rule="spread-even", partitions=2, examples=("x-0", "x-2")),
    ),
)


LEFT = "3 partitions; dead-replica 1 (x-2); spread-even 2 (x-0, x-2)"


def judged(made, policy=EXCLUDED):
    verdict = check(CLUSTER, policy, made)
    return (*verdict.problems, *false_statements(apply_plan(CLUSTER, policy, made), made, verdict))


@pytest.mark.parametrize("solver", ["auto", "flow"])
@pytest.mark.parametrize(
    "goal",
    [
        Balance(),
        Drain((3,), rebalance=True),
        Replace(((3, 6),)),
        SetReplication((("*", 2),)),
        Leaders(),
    ],
)
def test_excluded_partitions_do_not_move_and_the_plan_is_proved(goal, solver):
    made = plan(CLUSTER, EXCLUDED, goal, solver=solver)
    assert {move.topic for move in made.moves} == {"o"}
    assert made.left_alone.partitions == 3
    assert made.verdict.is_proved
    assert judged(made) == ()


def test_violations_that_stay_are_listed_by_name_and_are_those_of_the_goal():
    assert plan(CLUSTER, EXCLUDED).left_alone == BROKEN
    drained = plan(CLUSTER, EXCLUDED, Drain((3,))).left_alone.broken
    assert LeftViolation(rule="drained-broker", partitions=1, examples=("x-1",)) in drained
    assert plan(CLUSTER, Policy()).left_alone is None


def test_excluded_partitions_count_as_loads():
    made = plan(CLUSTER, EXCLUDED)
    lists = [row.replicas for row in applied(CLUSTER, made.moves).partitions]
    held = Counter(broker for row in lists for broker in row if broker in RACKS)
    led = Counter(row[0] for row in lists if row[0] in RACKS)
    assert {
        rack: sorted(held[b] for b in RACKS if RACKS[b] == rack) for rack in RACKS.values()
    } == {
        "/a": [5, 6],
        "/b": [4, 4],
        "/c": [3, 4],
    }
    assert max(led.values()) - min(led.values()) <= 1
    assert plan(CLUSTER, EXCLUDED).fair.loads() == made.fair.loads()
    assert fair_loads(CLUSTER, EXCLUDED).high == made.fair.loads().high


def test_all_topics_can_be_excluded():
    everything = exclude_topics(Policy(), ["*"])
    made = plan(CLUSTER, everything)
    assert (made.moves, made.left_alone.partitions) == ((), 9)
    assert judged(made, everything) == ()


@pytest.mark.parametrize("goal", [Balance(), Repair(), Leaders()])
def test_all_topics_can_be_excluded_where_no_broker_is_usable(goal):
    cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1, 2]}, dead=(1, 2))
    everything = exclude_topics(Policy(), ["*"])
    made = plan(cluster, everything, goal)
    assert (made.moves, made.verdict.is_proved) == ((), True)
    assert made.left_alone.broken[0].rule == "dead-replica"
    assert check(cluster, everything, made).is_proved


def test_soft_rules_and_second_leaders_leave_excluded_lists_alone():
    policy = replace(
        exclude_topics(Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),)), ["x"]),
        balance=BalancePolicy(failover=True),
        brokers=BrokerPolicy(no_lead=(1,), exclude=(2,)),
    )
    made = plan(CLUSTER, policy)
    assert {move.topic for move in made.moves} == {"o"}
    assert judged(made, policy) == ()


class TestForged:
    made = plan(CLUSTER, EXCLUDED)

    def test_a_move_of_a_frozen_partition(self):
        move = Move(
            topic="x",
            partition=1,
            topic_id=None,
            before=(1, 2, 3),
            after=(4, 2, 3),
            bytes=1,
            reasons=("replica-balance",),
        )
        verdict = check(CLUSTER, EXCLUDED, replace(self.made, moves=(*self.made.moves, move)))
        assert not verdict.is_legal
        assert "x-1: expected no move of a frozen partition" in verdict.problems

    def test_another_order_of_a_frozen_list(self):
        move = Move(
            topic="x", partition=1, topic_id=None, before=(1, 2, 3), after=(2, 1, 3), bytes=1
        )
        leaders = plan(CLUSTER, EXCLUDED, Leaders())
        verdict = check(CLUSTER, EXCLUDED, replace(leaders, moves=(*leaders.moves, move)))
        assert "x-1: expected no move of a frozen partition" in verdict.problems

    @pytest.mark.parametrize(
        ("stated", "sentence"),
        [
            (None, f"left_alone: expected {LEFT}, got nothing"),
            (replace(BROKEN, partitions=4), f"left_alone: expected {LEFT}, got 4{LEFT[1:]}"),
            (
                replace(BROKEN, broken=BROKEN.broken[:1]),
                f"left_alone: expected {LEFT}, got 3 partitions; dead-replica 1 (x-2)",
            ),
        ],
    )
    def test_what_is_left_alone(self, stated, sentence):
        assert judged(replace(self.made, left_alone=stated)) == (sentence,)

    def test_a_plan_of_another_exclusion(self):
        assert f"left_alone: expected nothing, got {LEFT}" in judged(self.made, Policy())
