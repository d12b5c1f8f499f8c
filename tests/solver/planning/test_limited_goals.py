"""Goals that name brokers or topics: they touch what they must, and say what they leave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checked_plans import check
from laws_planning import applied
from planner_vectors import generated_cluster
from rackwise.core.audit import audit
from rackwise.core.errors import Infeasible, InvalidConfig
from rackwise.core.planning.model import Add, Drain, Plan, Replace, SetReplication
from rackwise.core.planning.plan import plan
from rackwise.core.policy import BrokerPolicy, Policy, TopicBlock
from rackwise.core.racks import Rack
from small_clusters import small_cluster

RACK_BLIND = generated_cluster("random", 30, 3, 600, 3)
POLICY = Policy()
RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b", 5: "/c", 6: "/c"}


def broken(cluster, policy: Policy = POLICY) -> set[tuple[str, int]]:
    """The partitions that break the rule about even racks."""
    return {(f.topic, f.partition) for f in audit(cluster, policy, rules=("spread-even",))}


def lists(made: Plan) -> dict[str, tuple[int, ...]]:
    return {f"{move.topic}-{move.partition}": move.after for move in made.moves}


class TestRackBlindCluster:
    """Most partitions break a rule, and only the goal is to be reached."""

    def test_a_drain_moves_the_replicas_of_its_broker_alone(self) -> None:
        made = plan(RACK_BLIND, goal=Drain((7,)))
        on_it = [p for p in RACK_BLIND.partitions if 7 in p.replicas]
        assert made.totals.moves == made.totals.goal_moves == len(on_it)
        assert {(m.topic, m.partition) for m in made.moves} == {
            (p.topic, p.partition) for p in on_it
        }
        assert made.verdict.is_proved
        assert check(RACK_BLIND, POLICY, made) == made.verdict

    def test_new_replicas_break_no_rule(self) -> None:
        made = plan(RACK_BLIND, goal=Drain((7,)))
        after = applied(RACK_BLIND, made.moves)
        assert broken(after) <= broken(RACK_BLIND)
        (left,) = made.left_alone.broken
        assert (left.rule, left.partitions) == ("spread-even", len(broken(after)))
        repaired = {(m.topic, m.partition) for m in made.moves} & broken(RACK_BLIND)
        assert repaired - broken(after), "a new replica repairs what one replica can"

    def test_repair_adds_the_other_partitions(self) -> None:
        made = plan(RACK_BLIND, goal=Drain((7,), repair=True))
        on_it = sum(7 in p.replicas for p in RACK_BLIND.partitions)
        assert made.totals.moves > 2 * on_it
        assert made.totals.goal_moves >= on_it
        assert made.left_alone is None
        assert not broken(applied(RACK_BLIND, made.moves))

    def test_a_broker_is_replaced_in_its_rack(self) -> None:
        rack = next(b.rack for b in RACK_BLIND.brokers if b.id == 7)
        grown = replace(
            RACK_BLIND,
            brokers=(*RACK_BLIND.brokers, replace(RACK_BLIND.brokers[0], id=40, rack=rack)),
        )
        made = plan(grown, goal=Replace(((7, 40),)))
        assert all(set(m.before) - {7} == set(m.after) - {40} for m in made.moves)
        assert made.totals.moves == sum(7 in p.replicas for p in RACK_BLIND.partitions)
        with pytest.raises(Infeasible):
            plan(grown, goal=Replace(((7, 40),), repair=True), policy=closed(grown))

    def test_a_topic_gets_another_size(self) -> None:
        made = plan(RACK_BLIND, goal=SetReplication((("t3", 4),)))
        assert {m.topic for m in made.moves} == {"t3"}
        assert all(len(m.added) == 1 and not m.removed for m in made.moves)
        fewer = plan(RACK_BLIND, goal=SetReplication((("t3", 2),)))
        assert fewer.totals.moves == 0
        assert all(len(m.removed) == 1 for m in fewer.moves)

    def test_a_new_broker_gets_its_share(self) -> None:
        made = plan(RACK_BLIND, goal=Add(((40, Rack("/r0")),)))
        assert made.verdict.is_proved
        assert (
            made.totals.moves
            < plan(RACK_BLIND, goal=Add(((40, Rack("/r0")),), repair=True)).totals.moves
        )
        assert broken(applied(RACK_BLIND, made.moves)) <= broken(RACK_BLIND)

    def test_moves_to_a_new_broker_belong_to_the_goal(self) -> None:
        made = plan(RACK_BLIND, goal=Add(((40, Rack("/r0")),), repair=True))
        assert made.totals.goal_moves == sum(40 in move.added for move in made.moves)
        assert 0 < made.totals.goal_moves < made.totals.moves


def closed(cluster) -> Policy:
    """A policy under which no broker takes replicas but 40."""
    return Policy(brokers=BrokerPolicy(exclude=tuple(b.id for b in cluster.brokers if b.id != 40)))


class TestTouchedPartitions:
    def test_dead_replicas_elsewhere_stay_in_their_lists(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 5], "t-1": [2, 4, 6]}, dead=[6])
        made = plan(cluster, goal=Drain((1,)))
        assert lists(made) == {"t-0": (3, 5, 2)}
        assert [(one.rule, one.examples) for one in made.left_alone.broken] == [
            ("dead-replica", ("t-1",))
        ]

    def test_dead_replicas_of_a_touched_partition_are_replaced(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 6]}, dead=[6])
        assert set(lists(plan(cluster, goal=Drain((1,))))["t-0"]) == {2, 3, 5}

    def test_nothing_is_searched_where_nothing_is_touched(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 5]}, dead=[*RACKS])
        made = plan(cluster, goal=SetReplication((("t", 3),)))
        assert (made.moves, made.solver, made.verdict.text) == ((), "none", "proved")

    def test_a_goal_that_balances_repairs_what_it_touches(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3], "t-1": [3, 4, 5]})
        made = plan(cluster, goal=Drain((3,), rebalance=True))
        racks = {RACKS[broker] for broker in lists(made)["t-0"]}
        assert racks == {"/a", "/b", "/c"}

    def test_one_new_replica_goes_to_a_rack_that_has_none(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3]})
        made = plan(cluster, goal=Drain((3,)))
        assert lists(made)["t-0"][:2] == (1, 2)
        assert lists(made)["t-0"][2] in {4, 5, 6}

    def test_a_rack_with_too_many_replicas_gives_first(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3, 5]})
        made = plan(cluster, goal=SetReplication((("t", 3),)))
        assert len({1, 2} & set(lists(made)["t-0"])) == 1

    def test_the_size_of_another_topic_stays(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), replication=3),))
        cluster = small_cluster(RACKS, {"t-0": [1, 3], "u-0": [2, 4]})
        made = plan(cluster, policy, goal=Drain((1,)))
        assert len(lists(made)["t-0"]) == 2
        assert [(one.rule, one.partitions) for one in made.left_alone.broken] == [
            ("replication", 2)
        ]

    def test_a_missing_pinned_broker_is_added_with_a_replica_that_moves(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), pin={0: (4,), 1: (4,)}),))
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 5], "t-1": [2, 3, 5]})
        made = plan(cluster, policy, goal=Drain((3,)))
        assert {name: set(after) for name, after in lists(made).items()} == {
            "t-0": {1, 4, 5},
            "t-1": {2, 4, 5},
        }
        left = plan(cluster, policy, goal=Drain((6,)))
        assert (left.moves, [one.rule for one in left.left_alone.broken]) == ((), ["pin"])

    def test_only_as_many_pinned_brokers_are_added_as_replicas_move(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), pin={0: (4, 6)}),))
        made = plan(small_cluster(RACKS, {"t-0": [1, 3, 5]}), policy, goal=Drain((3,)))
        assert set(lists(made)["t-0"]) == {1, 4, 5}
        assert [one.rule for one in made.left_alone.broken] == ["pin"]

    def test_a_pinned_broker_cannot_be_drained(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), pin={0: (1,)}),))
        with pytest.raises(Infeasible, match="usable pinned brokers"):
            plan(small_cluster(RACKS, {"t-0": [1, 3, 5]}), policy, goal=Drain((1,)))

    def test_a_replacement_in_another_rack_must_keep_the_rules(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 5]})
        with pytest.raises(Infeasible):
            plan(cluster, goal=Replace(((1, 4),)))

    def test_partitions_that_no_set_satisfies_stay_when_brokers_join(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("u",), spread={"zone": "distinct"}),))
        two = {1: "/a", 2: "/a", 3: "/b"}
        cluster = small_cluster(two, {"t-0": [1, 3], "t-1": [2, 3], "u-0": [1, 2, 3]})
        made = plan(cluster, policy, goal=Add(((4, Rack("/b")),)))
        assert made.verdict.is_proved
        assert all(move.topic == "t" for move in made.moves)


class TestProof:
    def test_a_move_that_the_goal_does_not_touch_is_rejected(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 5], "t-1": [2, 4, 6]})
        made = plan(cluster, goal=Drain((1,)))
        more = replace(made.moves[0], partition=1, before=(2, 4, 6), after=(4, 2, 6))
        verdict = check(cluster, POLICY, replace(made, moves=(*made.moves, more)))
        assert not verdict.is_proved
        assert any("expected no move of a frozen partition" in text for text in verdict.problems)


class TestMovesOfTheGoal:
    """A partition that the goal touches may be repaired as well; that is not the goal."""

    def test_of_a_drain_they_are_the_replicas_of_its_brokers(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 4], "t-1": [3, 5, 6]})
        made = plan(cluster, goal=Drain((1,), repair=True))
        assert (made.totals.moves, made.totals.goal_moves) == (3, 1)

    def test_of_a_new_size_they_are_what_it_adds(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 2], "t-1": [1, 3]})
        made = plan(cluster, goal=SetReplication((("t", 3),), repair=True))
        assert (made.totals.moves, made.totals.goal_moves) == (3, 2)

    def test_of_a_smaller_size_there_are_none(self) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3]})
        made = plan(cluster, goal=SetReplication((("t", 2),)))
        assert made.totals.goal_moves == 0


class TestBrokersThatGoalsCannotName:
    CLUSTER = small_cluster(RACKS, {"t-0": [1, 3, 5]})

    @pytest.mark.parametrize("goal", [Drain((9,)), Replace(((9, 2),))])
    def test_unknown_ones(self, goal) -> None:
        with pytest.raises(
            InvalidConfig, match="expected a broker of the cluster, got 9"
        ) as caught:
            plan(self.CLUSTER, goal=goal)
        assert caught.value.hint == "brokers: 1, 2, 3, 4, 5, 6"

    @pytest.mark.parametrize("goal", [Drain((9,)), Replace(((9, 2),))])
    def test_dead_ones_that_are_not_listed(self, goal) -> None:
        cluster = small_cluster(RACKS, {"t-0": [1, 3, 9]})
        with pytest.raises(InvalidConfig, match="got 9, which is dead and not listed") as caught:
            plan(cluster, goal=goal)
        assert caught.value.hint == "plan repair moves the replicas of dead brokers"

    def test_many_brokers_are_not_all_named(self) -> None:
        many = small_cluster(dict.fromkeys(range(20), "/a"), {"t-0": [1]})
        with pytest.raises(InvalidConfig) as caught:
            plan(many, goal=Drain((99,)))
        assert caught.value.hint.endswith(" 10, 11 and 8 more")
