"""Pairs of snapshots: of one cluster, the earlier first."""

from dataclasses import replace

import pytest

from metered_clusters import orders
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.meter import look_pair
from rackwise.core.model import AnswerTimes


class TestLookPair:
    def test_the_time_is_that_of_the_offsets(self):
        world, _ = orders()
        pair = look_pair(world.look(), world.look(minute=1))
        assert pair.end_ms - pair.start_ms == 60_000
        assert not pair.is_far

    def test_without_answer_times_it_is_that_of_the_snapshots(self):
        world, _ = orders()
        first, second = (
            replace(world.look(minute=minute), answered=AnswerTimes()) for minute in (0, 1)
        )
        assert look_pair(first, second).start_ms == 1_790_000_000_000
        assert look_pair(first, second).end_ms == 1_790_000_060_000

    def test_another_cluster(self):
        world, _ = orders()
        first = world.look()
        world.cluster_id = "d"
        with pytest.raises(InvalidSnapshot, match="expected two snapshots of one cluster, got c"):
            look_pair(first, world.look(minute=1))

    def test_a_cluster_without_id_is_taken_at_its_word(self):
        world, _ = orders()
        first = world.look()
        world.cluster_id = None
        assert look_pair(first, world.look(minute=1)).row.tolist() == [0]

    @pytest.mark.parametrize("minute", [-1, 0])
    def test_reversed_order(self, minute):
        world, _ = orders()
        with pytest.raises(InvalidSnapshot, match="expected a second snapshot that is later") as e:
            look_pair(world.look(), world.look(minute=minute))
        assert e.value.hint == "give the earlier snapshot first"
