"""Net moves, and the hash order in which they are reversed."""

from assignments import tps
from rackwise.core.assignors.kafka.movements import HashSet, Movements
from rackwise.core.assignors.members import TopicPartition

T = [TopicPartition("t", number) for number in range(200)]


class TestMovements:
    def test_a_partition_moves_where_no_reverse_move_is_recorded(self):
        moves = Movements()
        assert moves.instead_of(T[0], 1, 2) == T[0]
        moves.record(T[1], 1, 2)
        assert moves.instead_of(T[0], 1, 2) == T[0]
        assert moves.instead_of(TopicPartition("u", 0), 2, 1) == TopicPartition("u", 0)

    def test_a_partition_with_a_reverse_move_goes_back_instead(self):
        moves = Movements()
        moves.record(T[0], 1, 2)
        assert moves.instead_of(T[3], 2, 1) == T[0]
        moves.record(T[0], 2, 1)
        assert moves.state() == ()

    def test_a_second_move_is_recorded_from_the_first_holder(self):
        moves = Movements()
        moves.record(T[0], 1, 2)
        moves.record(T[0], 2, 3)
        assert moves.instead_of(T[4], 3, 2) == T[4]
        assert moves.instead_of(T[4], 3, 1) == T[0]

    def test_the_first_holder_of_the_moving_partition_counts(self):
        moves = Movements()
        moves.record(T[0], 1, 2)
        moves.record(T[5], 3, 1)
        assert moves.instead_of(T[0], 2, 3) == T[5]
        assert moves.instead_of(T[6], 2, 3) == T[6]

    def test_other_partitions_of_the_pair_stay_recorded(self):
        moves = Movements()
        moves.record(T[0], 1, 2)
        moves.record(T[1], 1, 2)
        moves.record(T[0], 2, 1)
        assert moves.instead_of(T[9], 2, 1) == T[1]

    def test_the_state_depends_on_the_order(self):
        one, other = Movements(), Movements()
        for moves, order in ((one, T[:2]), (other, T[1::-1])):
            for tp in order:
                moves.record(tp, 1, 2)
        assert one.state() != other.state()


class TestHashSet:
    def test_the_first_is_that_of_the_lowest_bucket(self):
        elements = HashSet()
        for tp, code in zip(T, (5, 3, 19, 7), strict=False):
            elements.add(tp, code)
        assert elements.first() == T[1]
        elements.remove(T[1])
        assert elements.first() == T[2]
        assert len(elements) == 3

    def test_buckets_double_with_the_thirteenth_element_and_stay(self):
        elements = HashSet()
        for tp, code in zip(T, (16, 1, *range(2, 12)), strict=False):
            elements.add(tp, code)
        assert elements.first() == T[0]
        elements.add(T[50], 12)
        assert elements.first() == T[1]
        for tp in T[2:12]:
            elements.remove(tp)
        assert elements.first() == T[1]

    def test_buckets_double_with_the_ninth_element_of_one_until_there_are_64(self):
        elements = HashSet()
        elements.add(T[0], 16)
        for number in range(1, 8):
            elements.add(T[number], 16 + 64 * number)
        elements.add(T[8], 1)
        assert elements.first() == T[0]
        elements.add(T[9], 16 + 64 * 8)
        assert elements.first() == T[8]

    def test_large_sets_grow_by_count_alone(self):
        elements = HashSet()
        for number, tp in enumerate(T):
            elements.add(tp, 512 * number + 256)
        assert elements.state() == (tuple(T), 512)
        assert elements.first() == T[0]

    def test_the_hash_is_that_of_javas_topic_partition(self):
        moves = Movements()
        # "t" hashes to 116: t-0 is 31 * 31 + 116 = 1077, bucket 5 of 16; t-1 is 1108, bucket 4.
        for tp in tps("t-0 t-1"):
            moves.record(tp, 1, 2)
        assert moves.instead_of(T[9], 2, 1) == T[1]
