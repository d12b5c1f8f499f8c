"""The laws of the choice on random topics, loads and records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from laws import check_choice
from producer_vectors import Draws
from rackwise.core.partitioner import (
    PartitionerConfig,
    PartitionLoad,
    TopicPartitioner,
    TopicView,
    UpstreamLoad,
)
from strategies import partition_loads, partitioner_configs, topic_views

CONFIGS, VIEWS, LOADS = partitioner_configs(), topic_views(), partition_loads()
SIZES = st.lists(st.integers(1, 300), min_size=1, max_size=30)


class TestDraw:
    """KIP-1123: "If ... there are partition leaders in the same rack, select the next partition
    from those nearby partitions"."""

    @given(CONFIGS, VIEWS, st.none() | LOADS, st.integers(0, 2**31 - 1))
    def test_a_draw_is_usable_and_as_near_as_possible(self, config, view, load, number):
        partitioner = TopicPartitioner(config, view, rng=Draws([number]))
        partitioner.set_load(load)
        found = partitioner.candidates()
        choice = partitioner.peek()
        check_choice(choice, config, view, load)
        assert choice in found.partitions
        assert found.partitions == tuple(sorted(set(found.partitions)))

    @given(CONFIGS, VIEWS, LOADS)
    def test_each_candidate_is_drawn_by_its_weight_in_one_cycle(self, config, view, load):
        config = replace(config, sticky_bytes=1, draws="random")
        had, weights = self.windows_and_weights(config, view, load, Draws())
        assert had == weights

    @given(CONFIGS, VIEWS, LOADS, st.integers(1, 9), st.randoms(use_true_random=False))
    def test_even_draws_keep_weights_over_few_windows(self, config, view, load, cycles, rng):
        config = replace(config, sticky_bytes=1, draws="even")
        had, weights = self.windows_and_weights(config, view, load, rng, cycles=cycles)
        for windows, weight in zip(had, weights, strict=True):
            assert abs(windows - cycles * weight) <= 3

    def windows_and_weights(self, config, view, load, rng, *, cycles=1):
        """Windows and weight of each candidate; a cycle has one window per unit of weight."""
        partitioner = TopicPartitioner(config, view, rng=rng)
        partitioner.set_load(load)
        found = partitioner.candidates()
        behind = [load.windows.get(partition, 0) for partition in found.partitions]
        weights = [max(behind) + 1 - each for each in behind]
        if not config.adaptive or found.tier == "no-leader":
            weights = [1] * len(behind)
        had: Counter[int] = Counter()
        for _ in range(cycles * sum(weights)):
            had[partitioner.peek()] += 1
            partitioner.add(1)
        return [had[partition] for partition in found.partitions], weights

    @given(CONFIGS, VIEWS, LOADS, SIZES)
    def test_the_order_of_racks_and_windows_does_not_matter(self, config, view, load, sizes):
        other_view = TopicView(view.leaders, dict(reversed(view.racks.items())))
        other_load = PartitionLoad(dict(reversed(load.windows.items())), load.excluded_nodes)
        observed = []
        for one, its_load in ((view, load), (other_view, other_load)):
            partitioner = TopicPartitioner(config, one, rng=Random(7))
            partitioner.set_load(its_load)
            observed.append([(partitioner.peek(), partitioner.add(size)) for size in sizes])
            observed[-1].append(partitioner.counters().as_dict())
        assert observed[0] == observed[1]


class TestWindow:
    """KIP-794: a partition is kept until "batch.size" bytes, then another is drawn."""

    @given(CONFIGS, VIEWS, SIZES, st.randoms(use_true_random=False))
    def test_a_window_holds_its_bytes(self, config, view, sizes, rng):
        partitioner = TopicPartitioner(config, view, rng=rng)
        window, can_always_switch = 0, rng.random() < 0.5
        limit = config.sticky_bytes * (1 if can_always_switch else 2)
        for size in sizes:
            partitioner.peek()
            window += size
            if partitioner.add(size, may_switch=can_always_switch or rng.random() < 0.5):
                assert config.sticky_bytes <= window < limit + max(sizes)
                window = 0
            assert window < limit
            assert partitioner.window_bytes == window

    @given(CONFIGS, VIEWS, SIZES, st.randoms(use_true_random=False))
    def test_a_record_that_is_requested_twice_counts_once(self, config, view, sizes, rng):
        partitioner = TopicPartitioner(config, view, rng=Draws())
        headers = 0
        for size in sizes:
            partitioner.defer(size)
            if rng.random() < 0.5:
                partitioner.new_batch()
                headers += 61
                partitioner.defer(size)
        observed = partitioner.counters()
        assert observed.records == len(sizes)
        assert observed.total_bytes == sum(sizes) + headers

    @given(CONFIGS, VIEWS, SIZES)
    def test_holding_a_record_changes_no_choice(self, config, view, sizes):
        deferring = TopicPartitioner(config, view, rng=Draws())
        adding = TopicPartitioner(config, view, rng=Draws())
        for size in sizes:
            assert deferring.defer(size, may_switch=True) == adding.peek()
            adding.add(size)
        assert deferring.counters().total_bytes == adding.counters().total_bytes


class TestCounters:
    """KIP-1123: "Monitoring for imbalances should also be used"."""

    @given(CONFIGS, st.lists(VIEWS, min_size=1, max_size=3), LOADS, SIZES)
    def test_every_byte_is_local_cross_or_unknown(self, config, views, load, sizes):
        partitioner = TopicPartitioner(config, views[0], rng=Random(5))
        partitioner.set_load(load)
        steered = 0
        for number, size in enumerate(sizes):
            if number and number % 20 == 0:
                partitioner.set_view(views[number // 20 % len(views)])
            if size % 3 == 0:
                partitioner.count_unsteered(size % 12, size)
            else:
                partitioner.peek()
                partitioner.add(size)
                steered += size
        observed = partitioner.counters()
        assert (
            observed.local_bytes + observed.cross_bytes + observed.unknown_bytes
            == observed.total_bytes
        )
        assert observed.total_bytes == sum(sizes)
        assert observed.steered.total_bytes == steered
        assert sum(observed.bytes_by_common_levels) == observed.local_bytes + observed.cross_bytes
        assert observed.records == len(sizes)
        assert sum(observed.windows.values()) == partitioner.draws

    @given(CONFIGS, VIEWS, SIZES)
    def test_bytes_are_counted_where_they_were_sent(self, config, view, sizes):
        partitioner = TopicPartitioner(config, view, rng=Random(5))
        sent: Counter[str | None] = Counter()
        for size in sizes:
            sent[view.leader_rack(partitioner.peek())] += size
            partitioner.add(size)
        observed = partitioner.counters()
        if not config.client_levels:
            assert observed.unknown_bytes == observed.total_bytes
        else:
            assert observed.unknown_bytes == sent[None]
            if len(config.client_levels) == 1:
                assert observed.local_bytes == sent[config.rack]


class TestBothSemantics:
    """Kafka 4.4.0 and the text of the KIP agree, except for the differences in the guide."""

    @given(
        st.booleans(),
        st.sampled_from(["a", "b", "z"]),
        topic_views(racks=st.sampled_from(["a", "b", None])),
        st.lists(st.tuples(st.integers(1, 300), st.booleans()), max_size=40),
        st.randoms(use_true_random=False),
    )
    def test_both_semantics_choose_the_same(self, rack_aware, rack, view, records, rng):
        kip, upstream = (
            PartitionerConfig(rack_aware=rack_aware, rack=rack, sticky_bytes=100, semantics=named)
            for named in ("kip", "upstream")
        )
        pair = [TopicPartitioner(each, view, rng=Draws()) for each in (kip, upstream)]
        led = [p for p, leader in enumerate(view.leaders) if leader is not None]
        for size, may_switch in records:
            assert len({each.peek() for each in pair}) == 1
            if rng.random() < 0.2 and led:
                sizes = [rng.randrange(5) for _ in led]
                pair[0].set_load(PartitionLoad(dict(zip(led, sizes, strict=True))))
                pair[1].set_load(
                    UpstreamLoad(
                        tuple(sizes), tuple(led), tuple(map(view.leader_rack, led)), len(led)
                    )
                )
            assert len({each.add(size, may_switch=may_switch) for each in pair}) == 1
        assert len({each.peek() for each in pair}) == 1
        assert pair[0].counters() == pair[1].counters()


class TestTheLaw:
    """The law finds a choice that breaks it."""

    VIEW = TopicView((0, 1, None, 2), {0: "a", 1: "b", 2: "a"})
    CONFIG = PartitionerConfig(rack_aware=True, rack="a", backlog_cap_windows=3)

    @pytest.mark.parametrize(
        ("choice", "load", "law"),
        [
            (4, None, "exists"),
            (2, None, "a leader if any"),
            (0, PartitionLoad({0: 3}), "usable if any"),
            (3, PartitionLoad({}, frozenset({2})), "usable if any"),
            (1, None, "the nearest"),
        ],
    )
    def test_the_law_names_the_violation(self, choice, load, law):
        with pytest.raises(AssertionError, match=f"law of choice: .*{law}"):
            check_choice(choice, self.CONFIG, self.VIEW, load)

    @given(CONFIGS, VIEWS)
    def test_the_law_accepts_any_leader_without_rack_awareness(self, config, view):
        led = [p for p, leader in enumerate(view.leaders) if leader is not None]
        assume(led)
        for partition in led:
            check_choice(partition, replace(config, rack_aware=False), view, None)
