"""Goals as policies: what each goal adds to the policy, and which brokers it rejects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.model import LogDir
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Goal,
    Leaders,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.problem.goals import check_takers, resolve_goal
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy
from rackwise.core.racks import Rack
from small_clusters import small_cluster

CLUSTER = small_cluster({1: "/a", 2: "/b", 3: "/b"}, {"t-0": [1, 2]}, dead=[2])
POLICY = Policy(brokers=BrokerPolicy(drain=(3,)))
STILL = BalancePolicy(replicas="off", leaders="keep")


class TestGoalsAsPolicies:
    def test_balance_and_leaders_use_the_policy_unchanged(self) -> None:
        for goal in (Balance(), Leaders()):
            assert resolve_goal(goal, CLUSTER, POLICY) == (CLUSTER, POLICY, None, (), None)

    def test_repair_keeps_loads_and_leaders(self) -> None:
        assert resolve_goal(Repair(), CLUSTER, POLICY).policy == replace(POLICY, balance=STILL)

    def test_drain_adds_to_drained_brokers(self) -> None:
        wanted = resolve_goal(Drain((1,)), CLUSTER, POLICY).policy
        assert (wanted.brokers.drain, wanted.balance) == ((1, 3), STILL)

    def test_drain_with_rebalance_keeps_the_balance_of_the_policy(self) -> None:
        wanted = resolve_goal(Drain((1,), rebalance=True), CLUSTER, POLICY).policy
        assert wanted.balance == POLICY.balance

    def test_replace_drains_old_brokers_and_opens_only_new_ones(self) -> None:
        wanted = resolve_goal(Replace(((2, 3),)), CLUSTER, Policy())
        assert wanted.policy.brokers.drain == (2,)
        assert (wanted.takers, wanted.heirs) == ((3,), ((2, 3),))

    def test_replication_is_the_last_topic_block(self) -> None:
        goal = SetReplication((("t", 3), ("*.log", 2)))
        wanted = resolve_goal(goal, CLUSTER, POLICY).policy
        assert wanted.rules_of("t", ("zone",)).replication == 3
        assert wanted.rules_of("a.log", ("zone",)).replication == 2
        assert wanted.balance == STILL
        assert resolve_goal(replace(goal, rebalance=True), CLUSTER, POLICY).policy.balance != STILL

    def test_added_brokers_are_live_and_empty(self) -> None:
        goal = Add(((9, Rack("/c")), (1, Rack("/a"))))
        brokers = resolve_goal(goal, CLUSTER, POLICY).cluster.brokers
        assert [(b.id, str(b.rack), b.is_live) for b in brokers] == [
            (1, "/a", True),
            (2, "/b", False),
            (3, "/b", True),
            (9, "/c", True),
        ]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (Add(((1, Rack("/b")),)), "broker 1, live in /a"),
        (Add(((2, Rack("/b")),)), "broker 2, dead in /b"),
        (Replace(()), "at least one pair, each broker once, got none"),
        (Replace(((2, 3), (2, 1))), "each broker once, got 2=3, 2=1"),
        (Replace(((2, 3), (1, 3))), "each broker once, got 2=3, 1=3"),
        (Replace(((2, 3), (3, 1))), "each broker once, got 2=3, 3=1"),
        (Replace(((1, 2),)), "expected a live broker, got broker 2"),
        (Replace(((1, 8),)), "expected a live broker, got broker 8"),
    ],
)
def test_invalid_brokers_of_goals(goal: Goal, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        resolve_goal(goal, CLUSTER, POLICY)


class TestCordonedBrokers:
    """Broker 2 is dead and cordoned, broker 3 is live and cordoned."""

    CORDONED = replace(
        CLUSTER,
        brokers=tuple(
            replace(each, log_dirs=(LogDir(path="/data", is_cordoned=each.id != 1),))
            for each in CLUSTER.brokers
        ),
    )

    @pytest.mark.parametrize(
        "goal", [Add(((9, Rack("/c")), (3, Rack("/b")))), Replace(((2, 1), (1, 3)))]
    )
    def test_a_new_broker_that_is_cordoned_is_rejected(self, goal: Goal) -> None:
        with pytest.raises(InvalidConfig) as raised:
            check_takers(goal, self.CORDONED)
        assert raised.value.message == (
            "invalid goal: expected new brokers that take replicas, got broker 3, which is cordoned"
        )
        assert (raised.value.wanted, raised.value.had) == ("brokers that are not cordoned", 3)
        assert raised.value.hint == "uncordon broker 3, or name another"

    @pytest.mark.parametrize(
        "goal",
        [
            Add(((9, Rack("/c")), (1, Rack("/a")))),
            Add(((2, Rack("/b")),)),  # dead: `resolve_goal` names the cause
            Replace(((3, 1),)),
            Drain((3,)),
            Balance(),
        ],
    )
    def test_a_goal_that_gives_a_cordoned_broker_nothing_is_accepted(self, goal: Goal) -> None:
        check_takers(goal, self.CORDONED)
