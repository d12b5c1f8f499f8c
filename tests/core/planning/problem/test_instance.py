"""The planning problem as columns: order of brokers, held replicas, pins and legal sets."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from planning_problems import Problem, problems
from rackwise.core.errors import InvalidConfig, InvalidPolicy, PartialRacks
from rackwise.core.model import Ragged
from rackwise.core.planning.model import Balance, Drain, Replace
from rackwise.core.planning.problem.goal_instance import instance_of as posed_instance
from rackwise.core.planning.problem.instance import Instance, sets_of
from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.planning.problem.rack_bounds import infeasible_partitions
from rackwise.core.policy import (
    AtLeast,
    BrokerPolicy,
    Policy,
    RackCount,
    RackPolicy,
    TopicBlock,
)
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence


class TestColumns:
    def test_brokers_are_ordered_by_path_then_id(self) -> None:
        cluster = small_cluster({1: "/b/x", 2: "/a/z", 3: "/a", 4: "/a/z"}, {"t-0": [4, 1]})
        instance = posed_instance(cluster, Policy(), Balance())
        assert instance.brokers.tolist() == [3, 2, 4, 1]
        assert instance.held.row(0) == (2, 3)
        assert instance.preferred.tolist() == [2]
        assert (len(instance), instance.name(0)) == (1, "t-0")

    def test_dead_and_drained_brokers_hold_nothing(self) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/a", 3: "/b"}, {"t-0": [1, 3], "t-1": [2, 3]}, dead=[1]
        )
        instance = posed_instance(cluster, Policy(), Drain((3,)))
        assert instance.brokers.tolist() == [2]
        assert [instance.held.row(row) for row in range(2)] == [(), (0,)]
        assert instance.preferred.tolist() == [-1, 0]

    def test_replication_of_the_policy_wins(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/b"}, {"a-0": [1], "t-0": [1]})
        policy = Policy(topics=(TopicBlock(match=("t",), replication=2),))
        instance = posed_instance(cluster, policy, Balance())
        assert instance.replicas.tolist() == [1, 2]
        assert [kind.replicas for kind in instance.classes] == [1, 2]

    def test_replacing_brokers_are_pinned_in_place_of_old_ones(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/b", 3: "/b"}, {"t-0": [1, 2], "t-1": [1, 3]})
        instance = posed_instance(cluster, Policy(), Replace(((2, 3),), repair=True))
        assert [instance.pins.row(row) for row in range(2)] == [(1,), ()]
        assert instance.is_open.tolist() == [True, True]
        limited = posed_instance(cluster, Policy(), Replace(((2, 3),)))
        assert limited.is_open.tolist() == [False, True]

    def test_an_empty_list_pins_nothing(self) -> None:
        block = TopicBlock(match=("t",), pin={0: ()})
        cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1]})
        instance = posed_instance(cluster, Policy(topics=(block,)), Balance())
        assert not len(instance.pins.values)

    def test_pins_on_unusable_brokers_are_recorded(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1], "t-1": [1]}, dead=[2])
        block = TopicBlock(match=("t",), pin={0: (1, 2), 1: (1,)}, replication=2)
        instance = posed_instance(cluster, Policy(topics=(block,)), Balance())
        assert instance.lost_pins.tolist() == [0]
        assert "t-0: expected usable pinned brokers, got an unusable one" in infeasible_partitions(
            instance
        )
        assert not is_legal(instance, 0, [0])
        assert not instance.legal(Ragged.of([[0], [0]]))[0]

    def test_empty_cluster(self) -> None:
        instance = posed_instance(small_cluster({1: "/a"}, {}), Policy(), Balance())
        assert (len(instance), instance.classes, infeasible_partitions(instance)) == (0, (), [])


def is_legal(instance: Instance, row: int, chosen: Sequence[int]) -> bool:
    """Whether a set is legal for one row, while the other rows keep what they hold."""
    sets = [instance.held.row(other) for other in range(len(instance))]
    sets[row] = tuple(sorted(chosen))
    return bool(instance.legal(Ragged.of(sets))[row])


class TestRacklessBrokers:
    LISTS = {"t-0": [1, 2]}  # noqa: RUF012

    def test_partial_racks_are_rejected(self) -> None:
        cluster = small_cluster({1: "/a", 2: None, 3: None}, self.LISTS, dead=[3])
        with pytest.raises(PartialRacks, match="1 broker of 2 without a rack: 2"):
            posed_instance(cluster, Policy(), Balance())

    @pytest.mark.parametrize("racks", [{1: "a", 2: "/eu/b", 3: "c"}, {1: "a/", 2: "/eu/b/", 3: ""}])
    def test_odd_racks_are_named_with_their_cure(self, racks: dict[int, str]) -> None:
        cluster = small_cluster(racks, self.LISTS, dead=[3])
        with pytest.raises(PartialRacks) as caught:
            posed_instance(cluster, Policy(), Balance())
        odd = cluster.settled().odd_racks[0]
        assert str(caught.value) == (
            f"expected a rack on every live broker, got 1 broker of 2 without a rack that counts: "
            f"{odd.text}"
        )
        assert caught.value.hint is not None
        assert caught.value.hint.startswith(f"{odd.hint}, or racks.missing = ")

    def test_the_map_makes_the_racks_count(self) -> None:
        cluster = small_cluster({1: "a", 2: "/eu/b", 3: "c"}, self.LISTS)
        paths = {name: f"/eu/{name}" for name in "abc"}
        after = small_cluster(
            {id_: f"/eu/{name}" for id_, name in enumerate("abc", start=1)}, self.LISTS
        )
        policy = Policy(racks=RackPolicy(map=paths))
        instance = posed_instance(cluster, policy, Balance())
        assert instance.view.cluster.brokers == after.brokers
        assert instance.leaves == 3

    @pytest.mark.parametrize("missing", ["one-rack", "unaware"])
    def test_policy_decides(self, missing: str) -> None:
        cluster = small_cluster({1: "/a", 2: None, 3: None}, self.LISTS)
        policy = Policy(racks=RackPolicy(missing=missing))
        instance = posed_instance(cluster, policy, Balance())
        assert is_legal(instance, 0, [0, 1]) == (missing == "unaware")

    def test_no_racks_at_all(self) -> None:
        instance = posed_instance(
            small_cluster({1: None, 2: None}, self.LISTS), Policy(), Balance()
        )
        assert instance.leaves == 1
        assert is_legal(instance, 0, [0, 1])

    def test_dollars_require_racks(self) -> None:
        cluster = small_cluster({1: None, 2: None}, self.LISTS)
        with pytest.raises(PartialRacks):
            posed_instance(cluster, Policy(), Balance(), minimise="usd")


def instance_of(problem: Problem) -> Instance | None:
    try:
        return problem.instance
    except (InvalidConfig, InvalidPolicy):
        return None


@given(problems())
def test_legal_sets_and_costs_equal_the_exhaustive_planner(problem: Problem) -> None:
    question = problem.question
    instance = instance_of(problem)
    if instance is None:
        return
    assert [text.split(":")[0] for text in infeasible_partitions(instance)] == question.impossible
    ids = instance.brokers.tolist()
    for row, partition in enumerate(question.partitions):
        legal = []
        for chosen in combinations(range(len(ids)), question.size(partition)):
            names = frozenset(ids[b] for b in chosen)
            is_listed = names in question.options[row]
            assert is_legal(instance, row, chosen) == is_listed
            if is_listed:
                legal.append(list(chosen))
                alone = np.full(len(chosen), row)
                new = np.array([b for b in chosen if b not in instance.held.row(row)], np.int64)
                cost = int(instance.cost_at(alone[: len(new)], instance.leaf[new]).sum())
                assert cost == question.cost(partition, names)


@given(problems())
def test_legality_is_equal_for_one_row_and_all_rows(problem: Problem) -> None:
    instance = instance_of(problem)
    if instance is None:
        return
    width = len(instance.brokers)
    for shift in range(width):
        sets = [
            sorted((shift + i) % width for i in range(min(int(r), width + 1)))
            for r in instance.replicas
        ]
        found = instance.legal(Ragged.of(sets)).tolist()
        assert found == [is_legal(instance, row, chosen) for row, chosen in enumerate(sets)]


class TestReasons:
    CLUSTER = small_cluster({1: "/a", 2: "/a", 3: "/b", 4: "/b"}, {"t-0": [1, 3]})

    @pytest.mark.parametrize(
        ("block", "reason"),
        [
            (TopicBlock(match=("*",), replication=5), "t-0: expected 5 usable brokers, got 4"),
            (
                TopicBlock(match=("*",), replication=3, spread={"zone": "distinct"}),
                "t-0: expected 3 distinct zones, got 2 usable",
            ),
            (
                TopicBlock(match=("*",), replication=3, spread={"zone": AtLeast(3)}),
                "t-0: expected 3 distinct zones, got 2 usable",
            ),
            (
                TopicBlock(
                    match=("*",),
                    replication=3,
                    count=(RackCount(rack="/a", min=3), RackCount(rack="/b", max=1)),
                ),
                "t-0: expected 3 replicas with /a 3, /b 0..1, got no usable brokers that allow it",
            ),
            (
                TopicBlock(match=("*",), pin={0: (1, 2)}),
                (
                    "t-0: expected 2 replicas spread by its rules, "
                    "got 4 usable brokers that do not allow it"
                ),
            ),
        ],
    )
    def test_reason_has_rule_expected_and_got(self, block: TopicBlock, reason: str) -> None:
        instance = posed_instance(self.CLUSTER, Policy(topics=(block,)), Balance())
        assert infeasible_partitions(instance) == [reason]

    def test_one_usable_broker(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1, 2]}, dead=[2])
        instance = posed_instance(cluster, Policy(), Balance())
        assert infeasible_partitions(instance) == ["t-0: expected 2 usable brokers, got 1"]

    def test_pin_on_an_excluded_broker(self) -> None:
        block = TopicBlock(match=("*",), pin={0: (2,)})
        policy = Policy(brokers=BrokerPolicy(exclude=(2,)), topics=(block,))
        instance = posed_instance(self.CLUSTER, policy, Balance())
        assert infeasible_partitions(instance) == [
            "t-0: expected brokers that accept new replicas, got broker 2, which must hold one"
        ]


def test_sets_in_any_order() -> None:
    sets = sets_of(np.array([2, 0, 2]), np.array([5, 1, 3]), 3)
    assert [sets.row(row) for row in range(3)] == [(1,), (), (3, 5)]


def test_broker_twice_in_sets_of_any_order() -> None:
    racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
    cluster = small_cluster(racks, {"t-0": [1, 3], "t-1": [2, 4]})
    policy = Policy(topics=(TopicBlock(match=("*",), replication=3),))
    instance = posed_instance(cluster, policy, Balance())
    assert instance.legal(Ragged.of([[3, 0, 1], [2, 0, 2]])).tolist() == [True, False]
    assert instance.legal(Ragged.of([[3, 0, 3], [2, 0, 1]])).tolist() == [False, True]


def test_rows_in_parts_that_fit() -> None:
    assert [len(part) for part in parts(np.arange(10), 4, cells=20)] == [4, 3, 3]
