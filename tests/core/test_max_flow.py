"""Largest flows and the cuts beside them."""

from __future__ import annotations

import random

from rackwise.core.max_flow import SmallNetwork


def test_flow_is_as_large_as_the_cut() -> None:
    network = SmallNetwork(4)
    arcs = [(0, 1, 3), (0, 2, 2), (1, 2, 5), (1, 3, 2), (2, 3, 3)]
    numbers = [network.add_arc(*arc) for arc in arcs]
    assert network.push(0, 3) == 5
    assert network.flow(numbers[0]) == 3
    assert network.push(0, 3) == 0


def test_what_is_added_later_carries_more() -> None:
    network = SmallNetwork(2)
    middle = network.add_node()
    first = network.add_arc(0, middle, 1)
    network.add_arc(middle, 1, 4)
    assert network.push(0, 1) == 1
    network.reset(first, 2)
    assert network.push(0, 1) == 2


def test_reached_is_one_side_of_a_cut() -> None:
    network = SmallNetwork(4)
    network.add_arc(0, 1, 9)
    network.add_arc(1, 2, 1)
    network.add_arc(2, 3, 9)
    network.push(0, 3)
    assert network.reached([0]) == [True, True, False, False]
    assert network.reached([2]) == [True, True, True, True]


def test_random_networks_against_the_smallest_cut() -> None:
    draw = random.Random(7)
    for _ in range(60):
        nodes = draw.randint(2, 6)
        arcs = [
            (draw.randrange(nodes), draw.randrange(nodes), draw.randint(0, 4)) for _ in range(9)
        ]
        network = SmallNetwork(nodes)
        for arc in arcs:
            network.add_arc(*arc)
        cuts = [
            sum(c for a, b, c in arcs if side >> a & 1 and not side >> b & 1)
            for side in range(1 << nodes)
            if side & 1 and not side >> (nodes - 1) & 1
        ]
        assert network.push(0, nodes - 1) == min(cuts)
