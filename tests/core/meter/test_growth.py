"""What producers wrote: exact where it is called exact; without a number there is a reason."""

import numpy as np
import pytest
from hypothesis import given

from metered_clusters import changed_worlds, orders
from rackwise.core.meter import REASONS, Reason, growth, look_pair
from rackwise.core.meter.growth import KNOWN


def grown(world, change, first=None):
    """(records, bytes, reason) of the first row after a change."""
    first = first or world.look()
    change()
    found = growth(look_pair(first, world.look(minute=1)))
    return found.records[0], found.bytes[0], Reason(found.reason[0])


class TestOnePartition:
    def test_growth_of_the_log(self):
        world, log = orders()
        assert grown(world, lambda: log.sizes.extend([7, 8])) == (2, 15, Reason.EXACT)

    def test_nothing_written_is_a_known_zero(self):
        world, _ = orders()
        assert grown(world, lambda: None) == (0, 0, Reason.EXACT)

    def test_nothing_written_while_retention_runs(self):
        world, log = orders()
        assert grown(world, lambda: setattr(log, "start", 5)) == (0, 0, Reason.EXACT)

    def test_retention_takes_the_mean_of_what_is_left(self):
        def change():
            log.sizes += [200] * 10
            log.start = 10

        world, log = orders()
        assert grown(world, change) == (10, 2000, Reason.MEAN)

    def test_retention_that_leaves_nothing_takes_the_mean_of_before(self):
        def change():
            log.sizes += [200] * 10
            log.start = 20

        world, log = orders()
        assert grown(world, change) == (10, 1000, Reason.MEAN)

    def test_a_compacted_topic_with_the_end_of_its_log(self):
        def change():
            log.sizes += [50] * 20
            log.kept = {29: 50}

        world, log = orders(policies={"orders": "compact"}, reads_tails=True)
        assert grown(world, change) == (20, 1000, Reason.TAIL)

    def test_a_compacted_topic_without_it_has_a_lower_bound(self):
        world, log = orders(policies={"orders": "compact"})
        assert grown(world, lambda: log.sizes.append(5)) == (1, 5, Reason.AT_LEAST)

    def test_a_compacted_topic_that_shrank_is_not_known(self):
        def change():
            log.sizes.append(5)
            log.kept = {10: 5}

        world, log = orders(policies={"orders": "compact"})
        assert grown(world, change) == (1, -1, Reason.CLEANED)

    def test_an_unknown_policy_is_an_estimate(self):
        world, log = orders(policies={"orders": None})
        assert grown(world, lambda: log.sizes.append(5)) == (1, 5, Reason.NO_POLICY)

    def test_another_leader_is_an_estimate(self):
        def change():
            log.sizes.append(5)
            log.leader, log.epoch = 2, 1

        world, log = orders()
        assert grown(world, change) == (1, 5, Reason.LEADER_CHANGED)

    def test_a_leader_that_came_back_is_an_estimate(self):
        def change():
            log.sizes.append(5)
            log.epoch = 2

        world, log = orders()
        assert grown(world, change) == (1, 5, Reason.LEADER_CHANGED)

    def test_a_recreated_topic_is_not_known(self):
        def change():
            log.sizes += [9] * 30
            world.ids["orders"] = "id-2"

        world, log = orders()
        assert grown(world, change) == (-1, -1, Reason.RECREATED)

    def test_a_log_that_lost_records_is_not_known(self):
        world, log = orders()
        assert grown(world, log.sizes.pop) == (-1, -1, Reason.WENT_BACK)

    def test_an_absent_topic_is_not_known(self):
        world, _ = orders()
        first = world.look()
        world.logs[0].topic = "other"
        world.ids["other"] = "id-2"
        assert grown(world, lambda: None, first)[1:] == (-1, Reason.ABSENT)

    def test_a_new_partition_starts_from_nothing(self):
        world, log = orders()
        first = world.look()
        world.logs.append(type(log)("orders", 1, sizes=[3, 4]))
        found = growth(look_pair(first, world.look(minute=1)))
        assert found.bytes.tolist() == [0, 7]
        assert found.reason.tolist() == [Reason.EXACT, Reason.NEW_PARTITION]

    def test_snapshots_a_month_apart_are_an_estimate(self):
        world, log = orders()
        first = world.look(minute=-1)
        log.sizes.append(5)
        second = world.look(minute=0)
        later = {id_: at + 30 * 86_400_000 for id_, at in second.answered.offsets.items()}
        second.answered.offsets.update(later)
        found = growth(look_pair(first, second))
        assert (found.bytes[0], found.reason[0]) == (5, Reason.FAR_APART)


class TestWithoutOffsets:
    def test_a_snapshot_without_offsets_meters_nothing(self):
        world, _ = orders()
        first = world.look()
        second = world.look(minute=1)
        object.__setattr__(first.partitions, "offsets", None)
        found = growth(look_pair(first, second))
        assert (found.records[0], found.bytes[0], found.reason[0]) == (-1, -1, Reason.NOT_READ)

    def test_no_size_in_either_is_not_known(self):
        world, log = orders()
        first = world.look()
        log.sizes.append(5)
        second = world.look(minute=1)
        first.partitions.bytes[:] = -1
        second.partitions.bytes[:] = -1
        found = growth(look_pair(first, second))
        assert (found.records[0], found.bytes[0], found.reason[0]) == (1, -1, Reason.NO_SIZE)

    def test_offsets_without_a_byte_are_not_zero_bytes_each(self):
        world, log = orders()
        first = world.look()
        log.sizes.append(5)
        second = world.look(minute=1)
        second.partitions.bytes[:] = 0
        first.partitions.bytes[:] = -1
        found = growth(look_pair(first, second))
        assert (found.bytes[0], found.reason[0]) == (-1, Reason.NO_SIZE)

    def test_one_size_gives_the_mean(self):
        world, log = orders()
        first = world.look()
        log.sizes += [300] * 2
        second = world.look(minute=1)
        second.partitions.bytes[:] = -1
        found = growth(look_pair(first, second))
        assert (found.bytes[0], found.reason[0]) == (200, Reason.MEAN)

    def test_a_tail_of_a_partition_that_is_gone_counts_nothing(self):
        world, log = orders(policies={"orders": "compact"}, reads_tails=True)
        world.logs.append(type(log)("orders", 1, sizes=[3, 4]))
        first = world.look()
        world.logs.pop()
        assert growth(look_pair(first, world.look(minute=1))).bytes.tolist() == [0]


class TestLaws:
    @given(changed_worlds())
    def test_exact_is_exact_and_unknown_has_a_reason(self, case):
        first, second, written, _ = case
        found = growth(look_pair(first, second))
        table = second.partitions
        for row, partition in enumerate(table):
            reason = REASONS[found.reason[row]]
            assert (found.bytes[row] >= 0) == reason.is_known
            if reason.name == "exact":
                assert found.bytes[row] == written[partition.topic, partition.partition]
            if found.bytes[row] == 0 and reason.name != "at-least":
                assert written[partition.topic, partition.partition] == 0 or (
                    reason.name in {"no-policy", "leader-changed"}
                )

    @given(changed_worlds())
    def test_a_lower_bound_is_one(self, case):
        first, second, written, _ = case
        found = growth(look_pair(first, second))
        for row in np.flatnonzero(found.reason == Reason.AT_LEAST):
            partition = second.partitions[int(row)]
            assert found.bytes[row] <= written[partition.topic, partition.partition]


@pytest.mark.parametrize("reason", list(Reason))
def test_each_unknown_reason_has_a_cause_and_a_cure(reason):
    text = REASONS[reason]
    assert KNOWN[reason] == text.is_known
    assert bool(text.cause) == (reason is not Reason.EXACT)
    assert text.is_known or text.cure
