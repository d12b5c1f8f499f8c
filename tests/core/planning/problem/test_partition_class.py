"""Numbers of replicas that racks may hold, and which of them may change by one."""

from __future__ import annotations

from itertools import product

import numpy as np

from rackwise.core.planning.problem.partition_class import PartitionClass
from rackwise.core.policy import AtLeast, TopicRules
from rackwise.core.racks import Rack, RackTree


def kind_of(racks: dict[int, str], rules: TopicRules, replicas: int) -> PartitionClass:
    tree = RackTree.of((id_, Rack(rack)) for id_, rack in racks.items())
    usable = [
        np.bincount(tree.nodes[level][:-1], minlength=len(names))
        for level, names in enumerate(tree.names)
    ]
    return PartitionClass.of(tree, usable, rules, replicas)


TWO_RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
TWO_LEVELS = {1: "/e/a", 2: "/e/b", 3: "/w/a", 4: "/w/b", 5: "/w/b"}
EVEN = TopicRules(spread=("even",))


def legal_counts(kind: PartitionClass) -> list[tuple[int, ...]]:
    leaves = len(kind.up[0])
    counts = np.array(list(product(range(4), repeat=leaves)))
    return [tuple(row) for row in counts[kind.fits(counts)].tolist()]


class TestFits:
    def test_even_over_one_level(self) -> None:
        assert legal_counts(kind_of(TWO_RACKS, EVEN, 3)) == [(1, 2), (2, 1)]

    def test_distinct(self) -> None:
        rules = TopicRules(spread=("distinct",))
        assert legal_counts(kind_of(TWO_RACKS, rules, 2)) == [(1, 1)]

    def test_too_many_for_the_rules_fit_nothing(self) -> None:
        kind = kind_of(TWO_RACKS, TopicRules(spread=("distinct",)), 3)
        assert not kind.is_possible
        assert legal_counts(kind) == []

    def test_too_few_racks_for_at_least(self) -> None:
        assert not kind_of(TWO_RACKS, TopicRules(spread=(AtLeast(3),)), 3).is_possible

    def test_at_least_counts_racks_that_hold_something(self) -> None:
        kind = kind_of(TWO_RACKS, TopicRules(spread=(AtLeast(2),)), 3)
        assert not kind.has_boxes
        assert legal_counts(kind) == [(1, 2), (2, 1)]

    def test_two_levels_sum_up(self) -> None:
        kind = kind_of(TWO_LEVELS, TopicRules(spread=("even", "distinct")), 3)
        assert legal_counts(kind) == [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
        assert kind.at(0, np.array([1, 1, 0, 1])).tolist() == [2, 1]


class TestExchanges:
    """An exchange is legal exactly if the numbers after it fit."""

    def test_all_exchanges_of_all_legal_numbers(self) -> None:
        kinds = [
            kind_of(TWO_RACKS, EVEN, 3),
            kind_of(TWO_LEVELS, TopicRules(spread=("even", "distinct")), 3),
            kind_of(TWO_LEVELS, TopicRules(spread=("even", "off")), 3),
            kind_of(TWO_LEVELS, TopicRules(spread=("off", AtLeast(3))), 4),
            kind_of(TWO_LEVELS, TopicRules(spread=(AtLeast(2), AtLeast(3))), 4),
        ]
        for kind in kinds:
            for counts in legal_counts(kind):
                found = kind.exchanges(np.array(counts))
                for here, there in product(range(len(counts)), repeat=2):
                    after = np.array(counts)
                    after[here] -= 1
                    after[there] += 1
                    wanted = counts[here] > 0 and bool(kind.fits(after[None, :])[0])
                    assert found[here, there] == wanted, (counts, here, there)
