"""Plans for clusters with cordoned brokers (KIP-1066): no new list names one of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checked_plans import check
from rackwise.core.audit import audit
from rackwise.core.errors import Infeasible
from rackwise.core.model import LogDir
from rackwise.core.planning.model import (
    Balance,
    Drain,
    Leaders,
    LeftAlone,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.plan import fair_loads, plan
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.stated_totals import false_statements
from rackwise.core.policy import BrokerPolicy, Policy
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
OPEN, CORDONED = LogDir(path="/data/a"), LogDir(path="/data/b", is_cordoned=True)


def cordoned_cluster(lists, *ids, folders=(CORDONED,), racks=RACKS, **more):
    cluster = small_cluster(racks, lists, **more)
    brokers = tuple(
        replace(broker, log_dirs=folders if broker.id in ids else (OPEN,))
        for broker in cluster.brokers
    )
    return replace(cluster, brokers=brokers)


def proved(cluster, goal, policy=None):
    """The moves by name, after the proof."""
    policy = policy or Policy()
    made = plan(cluster, policy, goal)
    verdict = check(cluster, policy, made)
    assert verdict.is_proved, verdict.problems
    assert false_statements(apply_plan(cluster, policy, made), made, verdict) == ()
    return made, {f"{move.topic}-{move.partition}": move.after for move in made.moves}


JOINED = {f"t-{n}": [1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3] for n in range(6)}
"""Brokers 4, 5 and 6 joined empty."""


def test_a_cordoned_broker_takes_nothing_and_keeps_what_is_legal():
    cluster = cordoned_cluster(JOINED, 1, 6)
    made, lists = proved(cluster, Balance())
    assert all(not {1, 6} & set(after) for after in lists.values())
    assert made.left_alone == LeftAlone(partitions=6)
    assert lists == {}
    assert not audit(cluster, rules=["replica-balance"], fair=fair_loads(cluster)).by_rule


def test_a_broker_with_a_folder_that_is_not_cordoned_takes_replicas():
    cluster = cordoned_cluster(JOINED, 6, folders=(CORDONED, OPEN))
    _, lists = proved(cluster, Balance())
    assert any(6 in after for after in lists.values())


def test_a_partition_that_must_change_leaves_the_cordoned_broker():
    lists = {"t-0": [1, 4, 2], "t-1": [1, 2, 3], "t-2": [4, 9, 6]}
    made, after = proved(cordoned_cluster(lists, 1), Repair())
    assert set(after["t-0"]) == {4, 2, 3} or set(after["t-0"]) == {4, 2, 6}
    assert "t-1" not in after
    assert 1 not in after["t-2"]
    assert made.left_alone.partitions == 1


@pytest.mark.parametrize(
    "goal", [Drain((1,)), Replace(((1, 4),)), SetReplication((("*", 2),))], ids=str
)
def test_goals_that_empty_or_shrink_leave_no_list_that_names_it(goal):
    _, lists = proved(cordoned_cluster(JOINED, 1), goal)
    assert len(lists) == 6
    assert all(1 not in after for after in lists.values())


def test_leaders_of_partitions_on_a_cordoned_broker_stay():
    lists = {"t-0": [1, 2, 3], "t-1": [1, 2, 3], "t-2": [2, 3, 4], "t-3": [2, 5, 4]}
    policy = Policy(brokers=BrokerPolicy(no_lead=(1,), drain=(3,)))
    made, after = proved(cordoned_cluster(lists, 1, 3), Leaders(), policy)
    assert set(after) <= {"t-3"}
    broken = [(one.rule, one.examples) for one in made.left_alone.broken]
    assert broken == [("drained-broker", ("t-0", "t-1", "t-2"))]


def test_where_nothing_else_is_left_the_hint_names_the_cordoned_brokers():
    lists = {"t-0": [1, 4, 2]}
    racks = {1: "/a", 2: "/b", 3: "/c", 4: "/a"}
    with pytest.raises(Infeasible) as raised:
        plan(cordoned_cluster(lists, 3, racks=racks), goal=Repair())
    assert raised.value.hint == "add brokers, or relax the policy, or uncordon broker 3"
    with pytest.raises(Infeasible) as raised:
        plan(cordoned_cluster(lists, 2, 3, racks=racks), goal=Repair())
    assert raised.value.hint.endswith("or uncordon brokers 2, 3")


def test_the_hint_names_no_cordoned_broker_that_is_to_be_emptied():
    cluster = cordoned_cluster({"t-0": [1, 2, 3]}, 3, racks={1: "/a", 2: "/b", 3: "/c"})
    with pytest.raises(Infeasible) as raised:
        plan(cluster, goal=Drain((3,)))
    assert raised.value.hint == "add brokers, or relax the policy"


def test_a_cordoned_broker_cannot_replace_another():
    with pytest.raises(Infeasible, match="accept new replicas, got broker 4, which must hold one"):
        plan(cordoned_cluster(JOINED, 4), goal=Replace(((1, 4),)))
