"""Fewer changed partitions, then the moves in canonical order, at equal cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planner_vectors import CENTS
from rackwise.core.model import Ragged
from rackwise.core.planning.fair_loads.targets import topic_caps
from rackwise.core.planning.model import Balance, Minimise
from rackwise.core.planning.problem.goal_instance import instance_of as posed_instance
from rackwise.core.planning.search import tie_breaking as ties
from rackwise.core.planning.search.tie_breaking import (
    TRIES,
    is_untouched,
    reduce_touched,
    sort_targets,
)
from rackwise.core.policy import BrokerPolicy, Policy, TopicBlock
from rackwise.core.policy.excluded_topics import exclude_topics
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.traffic import Price

RACKS = {1: "/a", 2: "/b", 3: "/a", 4: "/b", 5: "/a"}


def instance_of(
    lists: dict[str, list[int]],
    policy: Policy | None = None,
    *,
    minimise: Minimise = "moves",
    sizes: dict[str, int | None] | None = None,
    leaders: dict[str, int | None] | None = None,
    racks: dict[int, str] | None = None,
) -> Instance:
    cluster = small_cluster(racks or RACKS, lists, sizes=sizes, leaders=leaders)
    prices: tuple[Price, ...] = CENTS if minimise == "usd" else ()
    return posed_instance(cluster, policy or Policy(), Balance(), minimise=minimise, prices=prices)


def sets_of(instance: Instance, *lists: list[int]) -> Ragged:
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    return Ragged.of([sorted(index[id_] for id_ in row) for row in lists])


def reduced(instance: Instance, *lists: list[int]) -> list[list[int]]:
    found = reduce_touched(instance, sets_of(instance, *lists), topic_caps(instance))
    return [sorted(instance.brokers[list(found.row(r))].tolist()) for r in range(len(found))]


class TestTouched:
    def test_move_goes_to_a_partition_that_changes_anyway(self) -> None:
        instance = instance_of({"t-0": [2, 1], "t-1": [4, 1]})
        assert reduced(instance, [2, 3], [1, 2]) == [[1, 2], [2, 3]]

    def test_first_possible_partition_takes_the_move(self) -> None:
        lists = {"t-0": [2, 1], "t-1": [4, 1], "t-2": [4, 1]}
        assert reduced(instance_of(lists), [2, 3], [1, 2], [1, 2]) == [[1, 2], [2, 3], [1, 2]]

    def test_no_single_move(self) -> None:
        instance = instance_of({"t-0": [2, 1], "t-1": [4, 3]})
        assert reduced(instance, [2, 1], [4, 3]) == [[1, 2], [3, 4]]
        assert is_untouched(instance, instance.held).all()

    def test_a_frozen_list_with_a_dead_replica_is_untouched(self) -> None:
        instance = instance_of({"t-0": [2, 99]}, exclude_topics(Policy(), ["t"]))
        assert is_untouched(instance, instance.held).all()

    def test_partition_that_must_change_keeps_its_move(self) -> None:
        instance = instance_of({"t-0": [3, 1], "t-1": [4, 1]})
        assert reduced(instance, [2, 1], [1, 2]) == [[1, 2], [1, 2]]

    def test_old_leader_is_kept(self) -> None:
        instance = instance_of({"t-0": [2, 1], "t-1": [1, 4]})
        assert reduced(instance, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_leader_for_leader(self) -> None:
        instance = instance_of({"t-0": [1, 2], "t-1": [1, 4]})
        assert reduced(instance, [2, 3], [1, 2]) == [[1, 2], [2, 3]]

    def test_taker_must_not_hold_the_target(self) -> None:
        instance = instance_of({"t-0": [2, 1], "t-1": [3, 1]}, off())
        assert reduced(instance, [2, 3], [1, 4]) == [[2, 3], [1, 4]]

    def test_size_must_be_equal(self) -> None:
        lists = {"t-0": [2, 1], "t-1": [4, 1]}
        instance = instance_of(lists, sizes={"t-0": 1, "t-1": 2})
        assert reduced(instance, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_leader_rack_must_have_equal_price(self) -> None:
        lists = {"t-0": [2, 1], "t-1": [4, 1]}
        same = instance_of(lists, minimise="usd")
        assert reduced(same, [2, 3], [1, 2]) == [[1, 2], [2, 3]]
        other = instance_of(lists, minimise="usd", leaders={"t-0": 2, "t-1": 1})
        assert reduced(other, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_excluded_broker_takes_nothing(self) -> None:
        policy = Policy(brokers=BrokerPolicy(exclude=(3,)))
        instance = instance_of({"t-0": [2, 1], "t-1": [4, 1]}, policy)
        assert reduced(instance, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_pinned_broker_stays(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), pin={1: (1,)}),))
        instance = instance_of({"t-0": [2, 1], "t-1": [4, 1]}, policy)
        assert reduced(instance, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_taker_keeps_its_rules(self) -> None:
        blocks = (TopicBlock(match=("free",), spread={"zone": "off"}),)
        lists = {"free-0": [2, 1], "t-0": [4, 1]}
        instance = instance_of(lists, Policy(topics=blocks))
        assert reduced(instance, [2, 4], [1, 2]) == [[2, 4], [1, 2]]
        wider = instance_of({"free-0": [2, 1], "free-1": [4, 1]}, Policy(topics=blocks))
        assert reduced(wider, [2, 5], [1, 2]) == [[1, 2], [2, 5]]

    def test_too_many_changes_skip_the_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ties, "MOST_TOUCHED", 1)
        instance = instance_of({"t-0": [2, 1], "t-1": [4, 1]})
        assert reduced(instance, [2, 3], [1, 2]) == [[2, 3], [1, 2]]

    def test_search_gives_up_after_some_tries(self) -> None:
        many = TRIES + 1
        lists = {"t-0": [2, 1], **{f"t-{i}": [4, 1] for i in range(1, many + 1)}}
        policy = Policy(topics=(TopicBlock(match=("*",), pin=dict.fromkeys(range(1, many), (1,))),))
        after = [[2, 3], *([1, 2] for _ in range(many))]
        assert reduced(instance_of(lists, policy), *after) == after


def off() -> Policy:
    return Policy(topics=(TopicBlock(match=("*",), spread={"zone": "off"}),))


class TestCaps:
    """A topic stays within its cap on every broker."""

    POLICY = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            (
                {"a-0": [2, 1], "b-0": [4, 1], "b-1": [2, 3]},
                [[2, 3], [1, 2], [2, 3]],
                [[2, 3], [1, 2], [2, 3]],
            ),
            (
                {"a-0": [2, 1], "b-0": [4, 1], "b-1": [2, 5]},
                [[2, 3], [1, 2], [2, 5]],
                [[1, 2], [2, 3], [2, 5]],
            ),
            (
                {"a-0": [2, 1], "a-1": [4, 1]},
                [[2, 3], [1, 2]],
                [[1, 2], [2, 3]],
            ),
        ],
    )
    def test_full_topics_take_nothing(
        self, before: dict[str, list[int]], after: list[list[int]], found: list[list[int]]
    ) -> None:
        assert reduced(instance_of(before, self.POLICY), *after) == found


class TestCanonicalOrder:
    def test_targets_in_one_rack_are_in_row_order(self) -> None:
        instance = instance_of({"t-0": [1, 2], "t-1": [1, 2]})
        found = sort_targets(instance, sets_of(instance, [5, 2], [3, 2]))
        assert found == sets_of(instance, [3, 2], [5, 2])

    def test_two_in_a_rack_and_pinned_ones_stay(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), spread={"zone": "off"}, pin={0: (5,)}),))
        lists = {"t-0": [2, 4], "t-1": [2, 4], "t-2": [2, 4]}
        instance = instance_of(lists, policy)
        sets = sets_of(instance, [5, 2], [3, 5], [1, 2])
        assert sort_targets(instance, sets) == sets

    def test_capped_topics_swap_only_among_themselves(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        instance = instance_of({"a-0": [1, 2], "b-0": [1, 2]}, policy)
        sets = sets_of(instance, [5, 2], [3, 2])
        assert sort_targets(instance, sets) == sets
