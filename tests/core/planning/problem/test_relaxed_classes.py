"""Boxes of partitions that break a rule, for the replicas that they keep."""

from __future__ import annotations

import numpy as np
import pytest

from rackwise.core.planning.problem.partition_class import PartitionClass
from rackwise.core.planning.problem.relaxed_classes import relaxed_class
from rackwise.core.policy import AtLeast, TopicRules
from rackwise.core.racks import Rack, RackTree


def class_of(replicas: int, *spread, racks=("/a", "/b", "/c")) -> PartitionClass:
    tree = RackTree.of(
        ((at, Rack(rack)) for at, rack in enumerate(sorted([*racks] * 4))), missing="error"
    )
    usable = [
        np.bincount(tree.ancestors(tree.depth - 1, level)[nodes], minlength=len(names))
        for nodes in [tree.nodes[-1][:-1].astype(np.int64)]
        for level, names in enumerate(tree.names)
    ]
    return PartitionClass.of(tree, usable, TopicRules(spread=spread or ("even",)), replicas)


def ranges(found: PartitionClass, level: int = -1) -> list[tuple[int, int]]:
    return list(zip(found.low[level].tolist(), found.high[level].tolist(), strict=True))


@pytest.mark.parametrize(
    ("replicas", "kept", "wanted"),
    [
        (3, [2, 0, 0], [(2, 2), (0, 1), (0, 1)]),
        (3, [3, 0, 0], [(1, 3), (0, 1), (0, 1)]),
        (3, [4, 0, 0], [(1, 4), (0, 0), (0, 0)]),
        (4, [3, 0, 0], [(3, 3), (0, 1), (0, 1)]),
        (5, [3, 1, 0], [(3, 3), (1, 2), (1, 2)]),
        (2, [1, 2, 0], [(0, 1), (0, 1), (0, 0)]),
    ],
)
def test_boxes(replicas: int, kept: list[int], wanted: list[tuple[int, int]]) -> None:
    found = relaxed_class(class_of(replicas), np.array(kept), np.array([4, 4, 4]))
    assert ranges(found) == wanted


def test_a_rack_that_can_take_none_gets_none() -> None:
    found = relaxed_class(class_of(3), np.array([2, 0, 0]), np.array([4, 0, 4]))
    assert ranges(found) == [(2, 2), (0, 0), (1, 1)]


def test_a_full_region_takes_no_more_in_its_zones() -> None:
    racks = ("/e/a", "/e/b", "/w/a", "/w/b")
    class_ = class_of(4, "even", "even", racks=racks)
    found = relaxed_class(class_, np.array([2, 1, 0, 0]), np.array([4, 4, 4, 4]))
    assert ranges(found, 0) == [(3, 3), (0, 2)]
    assert ranges(found) == [(2, 2), (1, 1), (0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("kept", "regions", "zones"),
    [
        ([4, 1, 1, 0], [(1, 2), (1, 1)], [(0, 1), (0, 1), (0, 1), (0, 0)]),
        ([4, 0, 0, 0], [(1, 4), (0, 0)], [(0, 4), (0, 0), (0, 0), (0, 0)]),
    ],
)
def test_zones_of_a_region_give_as_the_region_does(kept, regions, zones) -> None:
    racks = ("/e/a", "/e/b", "/w/a", "/w/b")
    class_ = class_of(3, "even", "even", racks=racks)
    found = relaxed_class(class_, np.array(kept), np.array([4, 4, 4, 4]))
    assert (ranges(found, 0), ranges(found)) == (regions, zones)


def test_at_least_becomes_what_new_replicas_can_reach() -> None:
    class_ = class_of(3, AtLeast(3))
    assert relaxed_class(class_, np.array([2, 0, 0]), np.array([4, 4, 4])).at_least == (2,)
    assert relaxed_class(class_, np.array([3, 0, 0]), np.array([4, 4, 4])).at_least == (1,)
