"""Legal numbers of replicas in racks, and exchanges of one replica between racks."""

from __future__ import annotations

from itertools import product

import numpy as np

from rackwise.core.planning.problem.partition_class import PartitionClass
from rackwise.core.policy import AtLeast, TopicRules
from rackwise.core.racks import Rack, RackTree


def class_of(racks: dict[int, str], rules: TopicRules, replicas: int) -> PartitionClass:
    tree = RackTree.of((id_, Rack(rack)) for id_, rack in racks.items())
    usable = [
        np.bincount(tree.nodes[level][:-1], minlength=len(names))
        for level, names in enumerate(tree.names)
    ]
    return PartitionClass.of(tree, usable, rules, replicas)


TWO_RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
TWO_LEVELS = {1: "/e/a", 2: "/e/b", 3: "/w/a", 4: "/w/b", 5: "/w/b"}
EVEN = TopicRules(spread=("even",))


def legal_counts(class_: PartitionClass) -> list[tuple[int, ...]]:
    leaves = len(class_.up[0])
    counts = np.array(list(product(range(4), repeat=leaves)))
    return [tuple(row) for row in counts[class_.fits(counts)].tolist()]


class TestFits:
    def test_even_over_one_level(self) -> None:
        assert legal_counts(class_of(TWO_RACKS, EVEN, 3)) == [(1, 2), (2, 1)]

    def test_distinct(self) -> None:
        rules = TopicRules(spread=("distinct",))
        assert legal_counts(class_of(TWO_RACKS, rules, 2)) == [(1, 1)]

    def test_too_many_replicas_fit_nothing(self) -> None:
        class_ = class_of(TWO_RACKS, TopicRules(spread=("distinct",)), 3)
        assert not class_.is_possible
        assert legal_counts(class_) == []

    def test_too_few_racks_for_at_least(self) -> None:
        assert not class_of(TWO_RACKS, TopicRules(spread=(AtLeast(3),)), 3).is_possible

    def test_at_least_counts_nonempty_racks(self) -> None:
        class_ = class_of(TWO_RACKS, TopicRules(spread=(AtLeast(2),)), 3)
        assert not class_.has_boxes
        assert legal_counts(class_) == [(1, 2), (2, 1)]

    def test_two_levels_are_summed(self) -> None:
        class_ = class_of(TWO_LEVELS, TopicRules(spread=("even", "distinct")), 3)
        assert legal_counts(class_) == [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
        assert class_.at(0, np.array([1, 1, 0, 1])).tolist() == [2, 1]


class TestExchanges:
    """An exchange is legal exactly if the numbers after it fit."""

    def test_all_exchanges_of_all_legal_numbers(self) -> None:
        kinds = [
            class_of(TWO_RACKS, EVEN, 3),
            class_of(TWO_LEVELS, TopicRules(spread=("even", "distinct")), 3),
            class_of(TWO_LEVELS, TopicRules(spread=("even", "off")), 3),
            class_of(TWO_LEVELS, TopicRules(spread=("off", AtLeast(3))), 4),
            class_of(TWO_LEVELS, TopicRules(spread=(AtLeast(2), AtLeast(3))), 4),
        ]
        for class_ in kinds:
            for counts in legal_counts(class_):
                found = class_.exchanges(np.array(counts))
                for here, there in product(range(len(counts)), repeat=2):
                    after = np.array(counts)
                    after[here] -= 1
                    after[there] += 1
                    wanted = counts[here] > 0 and bool(class_.fits(after[None, :])[0])
                    assert found[here, there] == wanted, (counts, here, there)
