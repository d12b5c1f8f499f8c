"""The network of replicas: few arcs, and the same sets as with an arc to each broker."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_vectors import generated_cluster
from planning_problems import PRICES
from rackwise.core.errors import NotEnoughMemory
from rackwise.core.planning.fair_loads.targets import Targets, targets_of
from rackwise.core.planning.model import Balance, Repair, SetReplication
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.search.by_flow import by_flow
from rackwise.core.planning.search.hub_units import HubUnits, trade_duplicates
from rackwise.core.planning.search.network.build import check_memory, network_of
from rackwise.core.planning.search.network.columns import ArcColumns, Piece
from rackwise.core.planning.search.network.trees import subtrees_without, tree_height
from rackwise.core.planning.what_if import LoseRack, what_if
from rackwise.core.policy import AtLeast, Policy, TopicBlock
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Minimise
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.search.network.columns import SetNetwork


def never_stop() -> bool:
    return False


def lost(kind: str, partitions: int = 300) -> Cluster:
    """60 brokers in 3 racks, of which one is lost: a partition has two replicas in a rack."""
    return what_if(generated_cluster(kind, 60, 3, partitions, 3), LoseRack("/r2"))


def built(instance: Instance, *, is_explicit: bool = False) -> SetNetwork:
    targets = targets_of(instance)
    found = network_of(instance, targets, should_stop=never_stop, is_explicit=is_explicit)
    assert found is not None
    return found


def stopping_after(calls: int) -> Callable[[], bool]:
    """A question that is answered with no so many times."""
    left = count(calls, -1)
    return lambda: next(left) <= 0


class TestFewArcs:
    """`the arcs grow with the rows, not with rows times brokers`"""

    @pytest.mark.parametrize("kind", ["random", "grown"])
    @pytest.mark.parametrize("goal", [Balance(), Repair()])
    def test_rack_lost(self, kind: str, goal: Goal) -> None:
        instance = instance_of(lost(kind), Policy(), goal)
        assert len(built(instance).tails) < 25 * len(instance)
        assert len(built(instance, is_explicit=True).tails) > 35 * len(instance)

    def test_arcs_of_more_partitions(self) -> None:
        few, many = (
            len(built(instance).tails)
            for instance in (
                instance_of(lost("grown", partitions), Policy(), Balance())
                for partitions in (600, 6_000)
            )
        )
        assert many < 2 * few  # equal partitions share nodes and arcs

    def test_no_replica_leaves_a_broker_without_need(self) -> None:
        """`if loads are free, none need to`; with fair loads, and with caps, some may."""
        cluster = generated_cluster("grown", 60, 3, 300, 3)
        spread = Policy(topics=(TopicBlock(match=("t1*",), topic_spread="even"),))
        leaving = []
        for policy, goal in ((Policy(), Repair()), (spread, Repair()), (Policy(), Balance())):
            network = built(instance_of(cluster, policy, goal))
            leaving.append(int(((network.row >= 0) & network.is_hub).sum()))
        assert leaving[0] == 0
        assert leaving[1] > 0
        assert leaving[2] > 0

    def test_distinct_racks(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": AtLeast(2)}),))
        instance = instance_of(lost("random"), policy, Balance())
        assert len(built(instance).tails) < 30 * len(instance)
        sets = by_flow(instance, targets_of(instance), should_stop=never_stop)
        assert sets is not None
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
        network = built(instance, is_explicit=True)
        assert set(network.broker[network.is_new].tolist()) == {0, 1, 2}

    def test_distinct_racks(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": AtLeast(1)}),))
        cluster = small_cluster(dict.fromkeys((1, 2, 3, 8, 9), "/a"), self.LISTS, dead=[8, 9])
        made = plan(cluster, policy)
        assert made.totals.moves == 6
        assert made.verdict.is_proved


def test_parts_of_rows_give_the_same_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = lost("random")
    whole = plan(cluster, goal=Repair())
    monkeypatch.setattr("rackwise.core.planning.search.network.build.PART_CELLS", 50)
    parts = plan(cluster, goal=Repair())
    assert parts.verdict.is_proved
    assert parts.verdict.cost == whole.verdict.cost


class TestTimeLimit:
    """`--time-limit` binds while the network is built, too."""

    @pytest.mark.parametrize("calls", [0, 1, 2])
    def test_no_sets_before_the_first_flow(self, calls: int) -> None:
        instance = instance_of(lost("random"), Policy(), Balance())
        targets = targets_of(instance)
        assert by_flow(instance, targets, should_stop=stopping_after(0)) is None
        assert network_of(instance, targets, should_stop=stopping_after(0)) is None
        assert (by_flow(instance, targets, should_stop=stopping_after(calls)) is None) == (
            calls < 2
        )

    def test_the_plan_has_the_cheapest_sets(self) -> None:
        made = plan(lost("random"), should_stop=stopping_after(1))
        assert made.solver == "none"
        assert made.verdict.is_legal
        assert made.verdict.is_heuristic
        assert not made.verdict.is_fair


class TestMemory:
    """`memory is estimated first and refused with a number`"""

    def arcs_told(self, instance: Instance, *, is_explicit: bool) -> int:
        targets = targets_of(instance)
        with pytest.raises(NotEnoughMemory) as raised:
            network_of(
                instance,
                targets,
                should_stop=never_stop,
                most_memory=0,
                is_explicit=is_explicit,
            )
        return int(
            raised.value.message.partition("over ")[2].partition(" arcs")[0].replace(",", "")
        )

    @pytest.mark.parametrize("kind", ["random", "grown"])
    def test_as_many_arcs(self, kind: str) -> None:
        instance = instance_of(lost(kind), Policy(), Repair())
        assert self.arcs_told(instance, is_explicit=False) == len(built(instance).tails)
        explicit = len(built(instance, is_explicit=True).tails)
        assert 0.8 * explicit < self.arcs_told(instance, is_explicit=True) < 1.2 * explicit

    def test_distinct_racks(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": AtLeast(2)}),))
        with pytest.raises(NotEnoughMemory):
            plan(lost("random"), policy, most_memory=1_000)

    def test_what_it_says(self) -> None:
        with pytest.raises(NotEnoughMemory) as raised:
            check_memory(10_000_000, Targets(None, {}), 4_000_000_000)
        assert raised.value.message == (
            "not enough memory: expected about 5,100 MB for a search over 10,000,000 arcs, "
            "got 4,000 MB"
        )
        assert raised.value.hint == "use a machine with more memory, or fewer topics with --topics"

    def test_enough_of_it(self) -> None:
        made = plan(lost("grown"), most_memory=10**9)
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


def test_a_capacity_beyond_all_units_is_cut_to_them() -> None:
    """So a column of a small type holds it: 300 as one byte would be 44."""
    arcs = ArcColumns(brokers=3, leaves=2, units=100)
    ends = np.arange(3)
    arcs.add(Piece(ends, ends, np.array([7, 100, 300])))
    capacities = arcs.join("capacities")
    assert capacities.tolist() == [7, 100, 100]
    assert capacities.itemsize == 1
