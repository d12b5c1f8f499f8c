"""Shapes of generated placements: the recipe and its checksums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rackwise.core.errors import InvalidPlan
from rackwise.core.fleet.world.placements import (
    Shape,
    capacity,
    congruential,
    place_replicas,
    racks_of,
)
from rackwise.core.json.strict import parse

GOLDEN = Path(__file__).parents[2] / "golden" / "vectors-planner.json"
GENERATED = parse(GOLDEN.read_bytes(), where=GOLDEN.name, error=InvalidPlan)["generated"][
    "clusters"
]


def checksum(rows):
    """Sum of (partition + 1) * (position + 1) * broker, modulo 10^9 + 7."""
    positions = np.arange(1, rows.shape[1] + 1, dtype=np.int64)
    partitions = np.arange(1, len(rows) + 1, dtype=np.int64)
    return int((partitions * (rows * positions).sum(axis=1)).sum() % (10**9 + 7))


class TestRecipe:
    @pytest.mark.parametrize(
        "case", GENERATED, ids=lambda c: f"{c['kind']}-{c['brokers']}-{c['racks']}"
    )
    def test_first_last_and_checksum_match_the_recipe(self, case):
        rack_of = racks_of(Shape(case["kind"]), case["brokers"], case["racks"])
        rows = place_replicas(Shape(case["kind"]), rack_of, case["partitions"], case["replication"])
        assert rows[:3].tolist() == case["first"]
        assert rows[-1].tolist() == case["last"]
        assert checksum(rows) == case["checksum"]

    def test_the_draws_are_those_of_a_congruential_generator(self):
        draws = congruential()
        assert next(draws) == (6364136223846793005 + 1442695040888963407) % 2**64 >> 33

    def test_even_equals_the_drawn_example(self):
        rows = place_replicas(Shape.EVEN, racks_of(Shape.EVEN, 6, 3), 4, 3)
        assert rows.tolist() == [[0, 4, 2], [1, 5, 0], [2, 3, 1], [3, 1, 5]]


class TestShapes:
    @pytest.mark.parametrize("shape", Shape)
    @pytest.mark.parametrize(
        ("brokers", "racks", "replication"), [(9, 3, 3), (12, 3, 5), (7, 2, 2)]
    )
    def test_no_broker_twice_in_a_partition(self, shape, brokers, racks, replication):
        rack_of = racks_of(shape, brokers, racks)
        rows = place_replicas(shape, rack_of, 200, replication)
        assert all(len(set(row)) == replication for row in rows.tolist())
        assert {int(broker) for broker in rows.ravel()} <= set(range(brokers))

    @pytest.mark.parametrize("shape", [Shape.EVEN, Shape.LOST, Shape.GROWN, Shape.UNEVEN])
    def test_as_many_racks_as_replicas_allow(self, shape):
        rack_of = racks_of(shape, 12, 3)
        for replication in (2, 3):
            rows = place_replicas(shape, rack_of, 100, replication)
            assert all(len(set(row)) == replication for row in rack_of[rows].tolist())

    def test_the_last_broker_of_each_rack_is_new_and_empty_where_clusters_grew(self):
        for shape in (Shape.GROWN, Shape.MESSY):
            rows = place_replicas(shape, racks_of(shape, 12, 3), 300, 3)
            assert set(rows.ravel().tolist()) == set(range(9))

    def test_racks_of_uneven_clusters_shrink(self):
        assert np.bincount(racks_of(Shape.UNEVEN, 12, 3)).tolist() == [6, 4, 2]
        assert racks_of(Shape.EVEN, 5, 3).tolist() == [0, 1, 2, 0, 1]

    @pytest.mark.parametrize(
        ("shape", "brokers", "racks", "room"),
        [
            (Shape.EVEN, 6, 3, 6),
            (Shape.EVEN, 7, 3, 6),
            (Shape.EVEN, 2, 3, 0),
            (Shape.RANDOM, 7, 3, 7),
            (Shape.GROWN, 6, 3, 3),
            (Shape.MESSY, 2, 3, 0),
            (Shape.UNEVEN, 12, 3, 6),
        ],
    )
    def test_capacity(self, shape, brokers, racks, room):
        assert capacity(shape, racks_of(shape, brokers, racks), racks) == room
