"""The network of replicas: few arcs, and the same sets as with an arc to each broker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
from rackwise.core.planning.search.hub_units import HubUnits, trade_duplicates
from rackwise.core.planning.search.network.build import network_of
from rackwise.core.planning.search.network.trees import subtrees_without, tree_height
from rackwise.core.planning.what_if import LoseRack, what_if
from rackwise.core.policy import AtLeast, Policy, TopicBlock
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Minimise


def never_stop() -> bool:
    return False


def lost(kind: str, partitions: int = 300) -> Cluster:
    """60 brokers in 3 racks, of which one is lost: a partition has two replicas in a rack."""
    return what_if(generated_cluster(kind, 60, 3, partitions, 3), LoseRack("/r2"))


class TestFewArcs:
    """`the arcs grow with the rows, not with rows times brokers`"""

    @pytest.mark.parametrize("kind", ["random", "grown"])
    @pytest.mark.parametrize("goal", [Balance(), Repair()])
    def test_rack_lost(self, kind: str, goal: Goal) -> None:
        instance = instance_of(lost(kind), Policy(), goal)
        targets = targets_of(instance)
        arcs = len(network_of(instance, targets).tails)
        explicit = len(network_of(instance, targets, is_explicit=True).tails)
        assert arcs < 25 * len(instance)
        assert explicit > 35 * len(instance)

    def test_arcs_of_more_partitions(self) -> None:
        few, many = (
            len(network_of(instance, targets_of(instance)).tails)
            for instance in (
                instance_of(lost("grown", partitions), Policy(), Balance())
                for partitions in (600, 6_000)
            )
        )
        assert many < 2 * few  # equal partitions share nodes and arcs

    def test_distinct_racks(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": AtLeast(2)}),))
        instance = instance_of(lost("random"), policy, Balance())
        targets = targets_of(instance)
        assert len(network_of(instance, targets).tails) < 30 * len(instance)
        sets = by_flow(instance, targets, should_stop=never_stop)
        assert instance.legal(sets).all()

    @pytest.mark.parametrize("kind", ["random", "grown", "messy"])
    @pytest.mark.parametrize("goal", [Balance(), Repair(), SetReplication((("t1*", 4),))])
    def test_the_plan_is_proved(self, kind: str, goal: Goal) -> None:
        made = plan(lost(kind), Policy(), goal)
        assert made.verdict.is_proved
        assert made.totals.moves >= 100

    @pytest.mark.parametrize("minimise", ["moves", "usd"])
    def test_prices_of_racks_differ(self, minimise: Minimise) -> None:
        """A partition is copied from the rack of its leader, and then replicates from there."""
        cluster = lost("grown")
        rates = np.arange(len(cluster.partitions), dtype=np.int64) % 5
        cluster = replace(cluster, partitions=replace(cluster.partitions, bytes_in_per_s=rates))
        made = plan(cluster, minimise=minimise, prices=PRICES)
        assert made.verdict.is_proved
        assert made.totals.moves == 300


class TestExplicitNetwork:
    """`If no such way is found, the network is explicit.`"""

    LISTS = {f"t-{i}": [1, 2] for i in range(4)} | {"u-0": [8, 9], "u-1": [8, 9]}
    """u needs four new replicas; broker 3 needs four, and can get one of each partition only."""

    def test_two_units_of_a_partition_for_one_broker(self) -> None:
        cluster = small_cluster(dict.fromkeys((1, 2, 3, 8, 9), "/a"), self.LISTS, dead=[8, 9])
        made = plan(cluster)
        assert made.totals.moves == 6
        assert made.verdict.is_proved

    def test_it_has_arcs_to_brokers(self) -> None:
        cluster = small_cluster(dict.fromkeys((1, 2, 3, 8, 9), "/a"), self.LISTS, dead=[8, 9])
        instance = instance_of(cluster, Policy(), Balance())
        network = network_of(instance, targets_of(instance), is_explicit=True)
        assert set(network.broker[network.is_new].tolist()) == {0, 1, 2}

    def test_distinct_racks(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": AtLeast(1)}),))
        cluster = small_cluster(dict.fromkeys((1, 2, 3, 8, 9), "/a"), self.LISTS, dead=[8, 9])
        made = plan(cluster, policy)
        assert made.totals.moves == 6
        assert made.verdict.is_proved


class TestTrades:
    def units(self, *triples: tuple[int, int, int]) -> HubUnits:
        return HubUnits(*np.array(triples, dtype=np.int64).T)

    def traded(self, units: HubUnits, *kept: tuple[int, int]) -> list[int] | None:
        rows, brokers = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        found = trade_duplicates(units, rows, brokers, 10)
        return None if found is None else found.tolist()

    def test_two_units_on_one_broker(self) -> None:
        assert self.traded(self.units((3, 4, 0), (3, 4, 0), (5, 2, 0))) == [4, 2, 4]

    def test_the_other_row_keeps_the_broker(self) -> None:
        units = self.units((3, 4, 0), (3, 4, 0), (5, 2, 0))
        assert self.traded(units, (5, 4)) is None
        assert self.traded(units, (3, 2)) is None
        assert self.traded(units, (3, 7), (5, 7)) == [4, 2, 4]

    def test_units_of_other_racks_do_not_trade(self) -> None:
        assert self.traded(self.units((3, 4, 0), (3, 4, 0), (5, 2, 1))) is None

    def test_each_of_several_rows_trades(self) -> None:
        units = self.units((1, 4, 0), (1, 4, 0), (2, 5, 0), (2, 5, 0), (3, 6, 0), (4, 7, 0))
        found = self.traded(units)
        assert found is not None
        pairs = list(zip([1, 1, 2, 2, 3, 4], found, strict=True))
        assert len(set(pairs)) == 6
        assert sorted(found) == [4, 4, 5, 5, 6, 7]

    def test_nothing_to_trade(self) -> None:
        assert self.traded(self.units((3, 4, 0), (5, 4, 0))) == [4, 4]


@given(st.integers(1, 20), st.lists(st.sets(st.integers(0, 19), min_size=1), min_size=1))
def test_subtrees_cover_all_but_the_held_brokers(count: int, held: list[set[int]]) -> None:
    inside = [sorted(places & set(range(count))) or [0] for places in held]
    width = max(map(len, inside))
    table = np.array([row + [-1] * (width - len(row)) for row in inside], dtype=np.int64)
    found = subtrees_without(table, count)
    covered: list[list[int]] = [[] for _ in inside]
    for owner, height, place in zip(*(column.tolist() for column in found), strict=True):
        assert height < tree_height(count)
        covered[owner] += [p for p in range(place << height, (place + 1) << height) if p < count]
    for places, all_ in zip(inside, covered, strict=True):
        assert sorted(all_) == sorted(set(range(count)) - set(places))
    sizes = np.bincount(found.sets, minlength=len(inside))
    assert all(
        size <= len(places) * tree_height(count)
        for places, size in zip(inside, sizes.tolist(), strict=True)
    )
