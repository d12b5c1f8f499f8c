"""What a new replica costs: one, its bytes, or dollars between two racks."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest

from planner_vectors import CENTS, GB, VECTORS
from rackwise.core.errors import InvalidPrices, InvalidSnapshot
from rackwise.core.planning.model import Balance
from rackwise.core.planning.problem.copy_prices import CopyCosts, sources
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.policy import Policy, RackPolicy
from rackwise.core.traffic import Price
from rackwise.core.view import View
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster

DAY = date(2026, 1, 1)


def costs_of(cluster: Cluster, prices: Sequence[Price], *levels: str) -> CopyCosts:
    policy = Policy(racks=RackPolicy(levels=levels))
    return instance_of(cluster, policy, Balance(), minimise="usd", prices=prices).costs


def price(level: str, out: int, into: int, *, region: str = "*", gb: int = 2**30) -> Price:
    return Price(
        provider="test",
        region=region,
        level=level,
        kind="replicate",
        nano_usd_per_gb_out=out,
        nano_usd_per_gb_in=into,
        gb_bytes=gb,
        valid_from=DAY,
        valid_to=None,
        source="test",
        is_checked=True,
        row="test:1",
    )


def table(costs: CopyCosts, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cost of a new replica of each row in each finest rack, [rows, leaves]."""
    return np.stack([costs.at(rows, np.full(len(rows), leaf)) for leaf in range(costs.leaves)], 1)


class TestMovesAndBytes:
    CLUSTER = small_cluster(
        {1: "/a", 2: "/b"}, {"t-0": [1], "t-1": [2]}, sizes={"t-0": 7, "t-1": 9}
    )

    @pytest.mark.parametrize(("minimise", "wanted"), [("moves", [1, 1]), ("bytes", [7, 9])])
    def test_rack_does_not_change_the_cost(self, minimise: str, wanted: list[int]) -> None:
        costs = instance_of(self.CLUSTER, Policy(), Balance(), minimise=minimise).costs
        assert costs.at(np.array([0, 1]), np.array([0, 0])).tolist() == wanted
        assert table(costs, np.array([0, 1])).tolist() == [[wanted[0]] * 2, [wanted[1]] * 2]

    def test_sizes_must_be_known(self) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/b"}, {"t-0": [1], "t-1": [2]}, sizes={"t-0": 7, "t-1": None}
        )
        with pytest.raises(InvalidSnapshot, match="got no size of 1 of 2 partitions"):
            instance_of(cluster, Policy(), Balance(), minimise="bytes")


class TestDollars:
    def test_vector(self) -> None:
        vector = VECTORS["usd"]
        sizes = {f"t-{i}": move["bytes"] for i, move in enumerate(vector["moves"])}
        known = {name: size for name, size in sizes.items() if size is not None}
        cluster = small_cluster(
            {1: "/a", 2: "/b", 3: "/c"}, {name: [1] for name in known}, sizes=known
        )
        costs = costs_of(cluster, CENTS)
        for row, move in enumerate(vector["moves"][: len(known)]):
            leaves = np.array(["/a/b/c".index(rack[1]) // 2 for rack in move["adding_racks"]])
            cost = costs.at(np.full(len(leaves), row), leaves)
            assert int(cost.sum()) == move["usd_nano"]

    def test_price_of_the_first_differing_level(self) -> None:
        prices = [price("zone", 10**7, 10**7), price("region", 5 * 10**7, 0), price("rack", 0, 0)]
        racks = {1: "/eu/a/r1", 2: "/eu/a/r2", 3: "/eu/b/r1", 4: "/us/a/r1"}
        cluster = small_cluster(racks, {"t-0": [1]}, sizes={"t-0": 2**30})
        costs = costs_of(cluster, prices, "region", "zone", "rack")
        assert table(costs, np.array([0])).tolist() == [[0, 0, 2 * 10**7, 5 * 10**7]]

    def test_region_of_the_sender(self) -> None:
        prices = [
            price("region", 1, 0, gb=1),
            price("region", 3, 0, region="us", gb=1),
            price("zone", 0, 0),
        ]
        cluster = small_cluster(
            {1: "/eu/a", 2: "/us/a"}, {"t-0": [1], "t-1": [2]}, sizes={"t-0": 10, "t-1": 10}
        )
        costs = costs_of(cluster, prices, "region", "zone")
        assert table(costs, np.array([0, 1])).tolist() == [[0, 10], [30, 0]]

    def test_huge_prices_are_exact(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1]}, sizes={"t-0": 10 * GB})
        costs = costs_of(cluster, [price("zone", 2**40, 0, gb=2**30)])
        wanted = (2 * 10 * GB * 2**40 + 2**30) // 2**31
        assert table(costs, np.array([0])).tolist() == [[0, wanted]]

    @pytest.mark.parametrize("rows", [[], [price("region", 1, 1)]])
    def test_level_without_price(self, rows: list[Price]) -> None:
        cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1]})
        with pytest.raises(
            InvalidPrices, match="expected a price of replication across level zone"
        ):
            costs_of(cluster, rows)


class TestSources:
    """A new replica is copied from the leader, or without one from the next in-sync replica."""

    def test_source_is_leader_then_first_live_in_sync_then_none(self) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/b", 3: "/c"},
            {"t-0": [1, 2], "t-1": [1, 2, 3], "t-2": [1]},
            dead=[1],
            leaders={"t-0": 2, "t-1": None, "t-2": None},
            isr={"t-1": [1, 3]},
        )
        assert sources(View(cluster, Policy())).tolist() == [1, 2, -1]

    def test_no_source_costs_nothing(self) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/b"}, {"t-0": [1]}, dead=[1], leaders={"t-0": None}, sizes={"t-0": GB}
        )
        assert table(costs_of(cluster, CENTS), np.array([0])).tolist() == [[0, 0]]
