"""Partitions that only drop replicas share nodes: the same costs, and as even loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_vectors import generated_cluster
from planning_problems import PRICES
from rackwise.core.planning.fair_loads.targets import targets_of
from rackwise.core.planning.model import Balance, Repair, SetReplication
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.search.by_flow import by_flow
from rackwise.core.planning.search.network import drops
from rackwise.core.planning.search.network.build import network_of
from rackwise.core.policy import Policy
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.model import Cluster, Ragged
    from rackwise.core.planning.model import Goal
    from rackwise.core.planning.problem.instance import Instance


class Costs(NamedTuple):
    """What the search makes small, in the order in which it does."""

    moves: int
    squares: int
    bytes: int
    dropped_leaders: int


def costs_of(instance: Instance, sets: Ragged) -> Costs:
    rows, brokers = sets.rows, sets.values.astype(np.int64)
    new = ~instance.holds(rows, brokers)
    leads = np.flatnonzero(instance.preferred >= 0)
    return Costs(
        moves=instance.cost(sets),
        squares=int((instance.loads(sets) ** 2).sum()),
        bytes=int(instance.view.table.bytes[rows[new]].sum()),
        dropped_leaders=int((~sets.has(leads, instance.preferred[leads])).sum()),
    )


def found(cluster: Cluster, goal: Goal, monkeypatch: pytest.MonkeyPatch, *, most: int) -> Costs:
    """The costs of the sets, where more than so many partitions share nodes."""
    monkeypatch.setattr(drops, "MOST_APART", most)
    instance = instance_of(cluster, Policy(), goal)
    sets = by_flow(instance, targets_of(instance), should_stop=lambda: False)
    assert sets is not None
    assert instance.legal(sets).all()
    return costs_of(instance, sets)


def arcs(cluster: Cluster, goal: Goal, monkeypatch: pytest.MonkeyPatch, *, most: int) -> int:
    monkeypatch.setattr(drops, "MOST_APART", most)
    instance = instance_of(cluster, Policy(), goal)
    network = network_of(instance, targets_of(instance), should_stop=lambda: False)
    assert network is not None
    return len(network.tails)


def fewer(count: int) -> SetReplication:
    return SetReplication((("*", count),))


class TestSameCosts:
    @pytest.mark.parametrize(
        ("kind", "held", "wanted"),
        [
            ("random", 3, 2),
            ("random", 3, 1),
            ("random", 4, 3),
            ("random", 5, 2),
            ("random", 5, 4),
            ("messy", 3, 2),
            ("even", 3, 1),
            ("grown", 3, 2),
        ],
    )
    def test_as_cheap_and_even_as_with_nodes_of_their_own(
        self, kind: str, held: int, wanted: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster = generated_cluster(kind, 12, 3, 400, held)
        apart = found(cluster, fewer(wanted), monkeypatch, most=400)
        assert found(cluster, fewer(wanted), monkeypatch, most=399) == apart

    @given(
        st.lists(
            st.lists(st.integers(1, 6), min_size=3, max_size=4, unique=True),
            min_size=1,
            max_size=12,
        ),
        st.integers(1, 3),
    )
    def test_any_small_cluster(self, lists: list[list[int]], wanted: int) -> None:
        racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b", 5: "/c", 6: "/c"}
        cluster = small_cluster(racks, {f"t-{at}": each for at, each in enumerate(lists)})
        with pytest.MonkeyPatch.context() as patch:
            apart = found(cluster, fewer(wanted), patch, most=100)
            assert found(cluster, fewer(wanted), patch, most=0) == apart

    def test_partitions_that_lack_a_replica_get_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/a", 3: "/b", 4: "/c"},
            {"t-0": [1, 2, 3], "t-1": [1], "t-2": [3, 4, 1], "u-0": [1, 2]},
        )
        goal = fewer(2)
        apart = found(cluster, goal, monkeypatch, most=100)
        assert found(cluster, goal, monkeypatch, most=0) == apart
        assert apart.moves == 1

    def test_a_plan_is_proved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(drops, "MOST_APART", 0)
        made = plan(generated_cluster("random", 12, 3, 400, 3), goal=fewer(2))
        assert made.verdict.is_proved
        assert len(made.moves) == 400


class TestNetwork:
    def test_partitions_with_the_same_choice_are_one_node(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
        cluster = small_cluster(racks, {f"t-{at}": [1, 2, 3] for at in range(40)})
        small = small_cluster(racks, {"t-0": [1, 2, 3]})
        assert arcs(cluster, fewer(2), monkeypatch, most=0) == arcs(
            small, fewer(2), monkeypatch, most=0
        )

    def test_another_preferred_leader_is_another_choice(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
        alike = small_cluster(racks, {"t-0": [1, 2, 3], "t-1": [1, 2, 4]})
        other = small_cluster(racks, {"t-0": [1, 2, 3], "t-1": [2, 1, 4]})
        more = arcs(other, fewer(2), monkeypatch, most=0)
        assert arcs(alike, fewer(2), monkeypatch, most=0) == more - 2

    def test_partitions_stay_apart_where_loads_must_be_even(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster = generated_cluster("random", 12, 3, 60, 3)
        apart = arcs(cluster, Balance(), monkeypatch, most=60)
        assert arcs(cluster, Balance(), monkeypatch, most=0) == apart

    @pytest.mark.parametrize("minimise", ["bytes", "usd"])
    def test_partitions_stay_apart_for_another_cost(
        self, minimise: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(drops, "MOST_APART", 0)
        cluster = generated_cluster("random", 12, 3, 60, 3)
        instance = instance_of(cluster, Policy(), Repair(), minimise=minimise, prices=PRICES)
        network = network_of(instance, targets_of(instance), should_stop=lambda: False)
        monkeypatch.setattr(drops, "MOST_APART", 60)
        apart = network_of(instance, targets_of(instance), should_stop=lambda: False)
        assert network is not None
        assert apart is not None
        assert len(network.tails) == len(apart.tails)
