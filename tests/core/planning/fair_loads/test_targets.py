"""Fair loads are compared with all placements, and closed forms with networks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from planning_problems import Problem, problems
from rackwise.core.errors import InvalidConfig, InvalidPolicy
from rackwise.core.planning.fair_loads import targets as fair_module
from rackwise.core.planning.fair_loads.ranges import even_shares
from rackwise.core.planning.fair_loads.targets import fair_of, targets_of
from rackwise.core.planning.model import Balance, BrokerGroup, Fair
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.problem.rack_bounds import infeasible_partitions
from rackwise.core.policy import (
    AtLeast,
    BalancePolicy,
    BrokerPolicy,
    Policy,
    RackCount,
    Slack,
    TopicBlock,
)
from small_clusters import small_cluster

if TYPE_CHECKING:
    from naive_plan import Question
    from rackwise.core.planning.problem.instance import Instance


FEWER = settings(max_examples=max(10, settings().max_examples // 2))
"""Each example is planned several times."""


def is_in(fair: Fair, loads: dict[int, int]) -> bool:
    return all(
        sum(loads[broker] for broker in group.brokers) == group.total
        and all(
            low <= loads[broker] <= high
            for broker, low, high in zip(group.brokers, group.low, group.high, strict=True)
        )
        for group in fair.groups
    )


def question_of(problem: Problem) -> tuple[Question, Instance] | None:
    try:
        instance = problem.instance
    except (InvalidConfig, InvalidPolicy):
        return None
    if infeasible_partitions(instance):
        return None
    return problem.question, instance


@FEWER
@given(problems())
def test_groups_contain_exactly_the_fair_loads(problem: Problem) -> None:
    found = question_of(problem)
    if found is None:
        return
    asked, instance = found
    fair = fair_of(instance, targets_of(instance))
    assert {topic: dict(caps) for topic, caps in fair.topic_caps.items()} == asked.caps
    rule = asked.policy.balance.replicas
    if rule == "off":
        assert fair.groups == ()
        return
    if isinstance(rule, Slack):
        low = {id_: max(0, box[0] - rule.replicas) for id_, box in asked.low_high().items()}
        assert all(fair.loads().low[id_] <= low[id_] for id_ in low)
        return
    for vector in asked.all_loads:
        loads = dict(zip(asked.brokers, vector, strict=True))
        assert is_in(fair, loads) == (vector in set(asked.fair)), (fair, vector)
    for id_, (_, high) in asked.low_high().items():
        assert fair.loads().high[id_] == high
    for cut in fair.cuts:
        least = min(
            sum(dict(zip(asked.brokers, vector, strict=True))[id_] for id_ in cut.brokers)
            for vector in asked.all_loads
        )
        assert cut.least == least


@FEWER
@given(problems())
def test_closed_forms_and_networks_agree(problem: Problem) -> None:
    found = question_of(problem)
    if found is None:
        return
    _, instance = found
    fair = fair_of(instance, targets_of(instance))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fair_module, "_closed_form", lambda *_: None)
        assert fair_of(instance, targets_of(instance)) == fair


def fair(cluster_racks: dict[int, str], lists: dict[str, list[int]], policy: Policy) -> Fair:
    instance = instance_of(small_cluster(cluster_racks, lists), policy, Balance())
    return fair_of(instance, targets_of(instance))


class TestSentences:
    """`brokers 5, 6 must hold 4 replicas or more whatever the plan: /a takes at most 1 ..`."""

    LISTS = {f"t-{i}": [1, 11] for i in range(4)}  # noqa: RUF012

    def test_one_rack_outside(self) -> None:
        racks = {1: "/a", 2: "/a", 3: "/a", 11: "/b"}
        [cut] = fair(racks, self.LISTS, Policy()).cuts
        assert (cut.brokers, cut.least) == ((11,), 4)
        assert cut.reason == "/a takes at most 1 per partition"

    def test_many_racks_outside(self) -> None:
        racks = {11: "/a", **{i: f"/r{i % 8}" for i in range(20, 36)}}
        count = (RackCount(rack="/a", min=1, max=1),)
        block = TopicBlock(match=("*",), count=count, replication=2)
        [cut] = fair(racks, self.LISTS, Policy(topics=(block,))).cuts
        assert cut.brokers == (11,)
        assert cut.reason == "/r0, /r1, /r2, /r3, /r4, /r5 and 2 more take at most 1 per partition"

    def test_rules_beyond_racks(self) -> None:
        racks = {1: "/a", 2: "/a", 11: "/b", 12: "/b"}
        block = TopicBlock(match=("*",), pin=dict.fromkeys(range(4), (1,)))
        cuts = fair(racks, self.LISTS, Policy(topics=(block,))).cuts
        assert cuts[0].brokers == (1,)
        assert cuts[0].reason == "the rules let the other brokers take no more"


class TestWeights:
    def test_loads_follow_weights(self) -> None:
        policy = Policy(brokers=BrokerPolicy(weights={1: 2}))
        lists = {f"t-{i}": [1] for i in range(6)}
        ranges = fair({1: "/a", 2: "/a", 3: "/a"}, lists, policy).loads()
        assert (ranges.low[1], ranges.high[1]) == (3, 3)

    def test_shares_have_the_least_sum_of_squares(self) -> None:
        for total in range(12):
            for step in ([1], [1, 1, 1], [1, 2], [2, 3, 6], [1, 1, 4]):
                found = even_shares(total, step)
                assert sum(found) == total
                for give in range(len(step)):
                    for take in range(len(step)):
                        if found[give] and give != take:
                            saved = (2 * found[give] - 1) * step[give]
                            assert saved <= (2 * found[take] + 1) * step[take]
        assert even_shares(0, []) == []


class TestSlack:
    def test_one_group_around_the_fair_loads(self) -> None:
        policy = Policy(balance=BalancePolicy(replicas=Slack(1)))
        found = fair({1: "/a", 2: "/a"}, {"t-0": [1], "t-1": [1], "t-2": [1]}, policy)
        assert found.groups == (BrokerGroup(brokers=(1, 2), low=(0, 0), high=(3, 3), total=3),)


def test_all_brokers_drained() -> None:
    cluster = small_cluster({1: "/a"}, {})
    policy = Policy(brokers=BrokerPolicy(drain=(1,)))
    instance = instance_of(cluster, policy, Balance())
    assert fair_of(instance, targets_of(instance)).groups == ()


def test_capped_topics_share_their_caps() -> None:
    racks = {1: "/a", 2: "/b"}
    block = TopicBlock(match=("*",), topic_spread="even")
    instance = instance_of(
        small_cluster(racks, {"a-0": [1], "b-0": [1], "c-0": [1], "c-1": [2], "c-2": [1]}),
        Policy(topics=(block,)),
        Balance(),
    )
    caps = targets_of(instance).caps
    assert {topic: cap.tolist() for topic, cap in caps.items()} == {
        0: [1, 1],
        1: [1, 1],
        2: [2, 2],
    }
    found = fair_of(instance, targets_of(instance))
    assert found.topic_caps["a"] is found.topic_caps["b"]
    assert found.loads().topic_caps == found.topic_caps


def test_leaders_have_own_ranges() -> None:
    group = BrokerGroup(brokers=(1, 2), low=(0, 1), high=(1, 1), total=2)
    loads = replace(Fair(), leader_groups=(group,)).loads()
    assert (loads.leader_low, loads.leader_high) == ({1: 0, 2: 1}, {1: 1, 2: 1})


def test_numbers_of_groups_are_exact_integers() -> None:
    instance = instance_of(small_cluster({1: "/a"}, {"t-0": [1]}), Policy(), Balance())
    ranges = targets_of(instance).ranges
    assert ranges is not None
    assert ranges.low.dtype == ranges.high.dtype == ranges.group.dtype == np.int64


class TestAggregates:
    """Partitions with equal legal sets form one aggregate."""

    def test_topic_with_and_without_pins(self) -> None:
        block = TopicBlock(match=("*",), topic_spread="even", pin={0: (1,)})
        found = fair({1: "/a", 2: "/a"}, {"t-0": [1], "t-1": [1]}, Policy(topics=(block,)))
        assert found.topic_caps == {"t": {1: 1, 2: 1}}
        assert found.loads().high == {1: 1, 2: 1}

    def test_racks_of_one_region(self) -> None:
        block = TopicBlock(match=("*",), spread={"level1": AtLeast(2), "level2": "off"})
        racks = {1: "/e/a", 2: "/e/b", 3: "/w/a"}
        lists = {f"t-{i}": [1, 3] for i in range(4)}
        found = fair(racks, lists, Policy(topics=(block,)))
        assert (found.loads().low, found.loads().high) == ({1: 2, 2: 2, 3: 4}, {1: 2, 2: 2, 3: 4})
        assert found.cuts[0].reason == "the rules let the other brokers take no more"


def test_distinct_regions_are_distinct_zones_already() -> None:
    racks = {1: "/e/a", 2: "/e/b", 3: "/w/a"}
    cluster = small_cluster(racks, {"t-0": [1, 3], "t-1": [1, 3]})
    spread = {"level1": AtLeast(2), "level2": AtLeast(2)}
    policy = Policy(
        brokers=BrokerPolicy(weights={1: 2}), topics=(TopicBlock(match=("*",), spread=spread),)
    )
    fair = fair_of(instance := instance_of(cluster, policy, Balance()), targets_of(instance))
    assert sum(group.total for group in fair.groups) == 4
    assert {3} in [set(group.brokers) for group in fair.groups]
