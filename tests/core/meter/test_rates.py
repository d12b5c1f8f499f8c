"""Bytes per second of each partition, by the clocks of the answers."""

from metered_clusters import Log, orders
from rackwise.core.meter import growth, look_pair, with_rates


def measure(first, second):
    """The second snapshot with its rates."""
    pair = look_pair(first, second)
    return with_rates(pair, growth(pair))


class TestMeasure:
    def test_bytes_of_a_minute(self):
        world, log = orders()
        first = world.look()
        log.sizes.append(6000)
        assert measure(first, world.look(minute=1)).partitions.bytes_in_per_s.tolist() == [100]

    def test_the_time_is_that_of_the_leaders_answer(self):
        world, log = orders()
        first = world.look()
        log.sizes.append(6000)
        second = world.look(minute=1)
        second.answered.sizes[1] += 60_000
        assert measure(first, second).partitions.bytes_in_per_s.tolist() == [50]

    def test_an_estimate_takes_the_time_of_the_offsets(self):
        world, log = orders(policies={"orders": "compact"}, reads_tails=True)
        first = world.look()
        log.sizes += [600] * 10
        second = world.look(minute=1)
        second.answered.offsets[1] += 60_000
        assert measure(first, second).partitions.bytes_in_per_s.tolist() == [50]

    def test_what_is_not_known_has_no_rate(self):
        world, _ = orders()
        first = world.look()
        world.ids["orders"] = "id-2"
        assert measure(first, world.look(minute=1)).partitions.bytes_in_per_s.tolist() == [-1]

    def test_the_partitions_are_those_of_the_second_snapshot(self):
        world, _ = orders()
        first = world.look()
        world.logs.append(Log("orders", 1, sizes=[100]))
        second = world.look(minute=1)
        found = measure(first, second).partitions
        assert found.partition.tolist() == second.partitions.partition.tolist() == [0, 1]
        assert found.bytes_in_per_s[0] == 0
