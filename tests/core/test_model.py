from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.model import Partition, PartitionTable, Ragged, Topic
from strategies import crowded_clusters

LISTS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4))
SHORT = st.lists(st.integers(0, 2), max_size=3)


class TestRagged:
    @given(LISTS)
    def test_rows_round_trip(self, lists):
        ragged = Ragged.of(lists)
        assert len(ragged) == len(lists)
        assert [ragged.row(i) for i in range(len(ragged))] == [tuple(row) for row in lists]
        assert ragged.lengths.tolist() == [len(row) for row in lists]
        assert ragged.rows.tolist() == [i for i, row in enumerate(lists) for _ in row]

    @given(LISTS)
    def test_the_first_value_of_each_row(self, lists):
        firsts = Ragged.of(lists).firsts
        assert firsts.tolist() == [row[0] if row else -1 for row in lists]

    @given(LISTS)
    def test_keeps_values(self, lists):
        ragged = Ragged.of(lists)
        kept = ragged.keep(ragged.values % 2 == 0)
        assert kept == Ragged.of([[v for v in row if v % 2 == 0] for row in lists])

    @given(LISTS, st.data())
    def test_takes_rows_in_any_order(self, lists, data):
        places = st.integers(0, len(lists) - 1) if lists else st.nothing()
        order = data.draw(st.lists(places))
        taken = Ragged.of(lists).take(Ragged.of([order]).values.astype("int64"))
        assert taken == Ragged.of([lists[i] for i in order])

    @given(st.lists(st.tuples(SHORT, SHORT), max_size=5))
    def test_equal_rows_and_values_in(self, pairs):
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        ours, others = Ragged.of(left), Ragged.of(right)
        assert ours.equal_rows(others).tolist() == [a == b for a, b in pairs]
        assert ours.values_in(others).tolist() == [value in b for a, b in pairs for value in a]

    @given(st.lists(SHORT, min_size=1), st.data())
    def test_rows_that_have_a_value(self, lists, data):
        wanted = data.draw(st.lists(st.tuples(st.integers(0, len(lists) - 1), st.integers(0, 2))))
        rows, values = np.array(wanted, dtype=np.int64).reshape(-1, 2).T
        found = Ragged.of(lists).has(rows, values).tolist()
        assert found == [value in lists[row] for row, value in wanted]

    def test_values_in_empty_rows(self):
        values = Ragged.of([[-1, 0], [2]])
        assert values.values_in(Ragged.empty(2)).tolist() == [False, False, False]
        assert values.values_in(Ragged.of([[], [2, -1]])).tolist() == [False, False, True]

    def test_empty(self):
        assert Ragged.empty(2) == Ragged.of([[], []])

    def test_equality(self):
        assert Ragged.of([[1], [2]]) != Ragged.of([[1, 2], []])
        assert Ragged.of([[1]]) != Ragged.of([[2]])
        assert Ragged.of([[1]]) != [[1]]
        with pytest.raises(TypeError, match="unhashable"):
            hash(Ragged.of([]))


FULL = Partition(
    topic="t",
    partition=3,
    replicas=(4, 1, 2),
    leader=1,
    isr=(1, 4),
    adding=(2,),
    removing=(4,),
    bytes=2**40,
    bytes_in_per_s=7,
    start_offset=1,
    end_offset=9,
    leader_epoch=3,
)


class TestPartitionTable:
    def test_rows_are_ordered_by_topic_bytes_then_number(self):
        names = [("b", 0), ("a", 10), ("a", 9), ("é", 0), ("z", 0)]
        table = PartitionTable.of(
            Partition(topic=topic, partition=number, replicas=(1,)) for topic, number in names
        )
        assert [table.name(i) for i in range(len(table))] == ["a-9", "a-10", "b-0", "z-0", "é-0"]

    def test_partitions_round_trip(self):
        bare = Partition(topic="t", partition=0, replicas=(1,))
        assert list(PartitionTable.of([FULL, bare])) == [bare, FULL]

    @given(crowded_clusters())
    def test_table_from_its_own_values_is_equal(self, cluster):
        assert PartitionTable.of(list(cluster.partitions)[::-1]) == cluster.partitions

    @pytest.mark.parametrize(
        "other",
        [
            {"topic": "u"},
            {"partition": 4},
            {"replicas": (1, 4, 2)},
            {"leader": None},
            {"isr": ()},
            {"adding": ()},
            {"removing": ()},
            {"bytes": None},
            {"bytes_in_per_s": None},
            {"start_offset": None},
            {"end_offset": 10},
            {"leader_epoch": 4},
            {"start_offset": None, "end_offset": None, "leader_epoch": None},
        ],
    )
    def test_equality_compares_every_column(self, other):
        assert PartitionTable.of([FULL]) != PartitionTable.of([replace(FULL, **other)])

    def test_differs_from_other_types(self):
        assert PartitionTable.of([FULL]) != [FULL]
        with pytest.raises(TypeError, match="unhashable"):
            hash(PartitionTable.of([]))


class TestOffsets:
    def test_rows_in_another_order(self):
        rows = [replace(FULL, partition=number, end_offset=number) for number in range(3)]
        offsets = PartitionTable.of(rows).offsets
        assert offsets.take(np.array([2, 0])).end.tolist() == [2, 0]

    def test_differ_from_other_types(self):
        offsets = PartitionTable.of([FULL]).offsets
        assert offsets != 3
        with pytest.raises(TypeError, match="unhashable"):
            hash(offsets)

    @pytest.mark.parametrize(
        ("policy", "is_compacted"),
        [(None, False), ("delete", False), ("compact", True), ("compact,delete", True)],
    )
    def test_compacted_topics(self, policy, is_compacted):
        assert Topic(name="t", cleanup_policy=policy).is_compacted is is_compacted


class TestPlaced:
    def placed(self, *partitions):
        table = PartitionTable.of(partitions)
        return [table.placed.row(i) for i in range(len(table))]

    def test_omits_added_replicas(self):
        other = Partition(topic="u", partition=0, replicas=(2, 4))
        assert self.placed(FULL, other) == [(4, 1), (2, 4)]

    def test_equals_replicas_if_nothing_is_reassigning(self):
        table = PartitionTable.of([Partition(topic="u", partition=0, replicas=(2, 4))])
        assert table.placed is table.replicas

    @given(crowded_clusters())
    def test_of_any_cluster(self, cluster):
        assert self.placed(*cluster.partitions) == [
            tuple(id_ for id_ in p.replicas if id_ not in p.adding) for p in cluster.partitions
        ]


def test_neighbouring_rows_are_rows_of_their_own():
    rows = Ragged.of([[1, 2], [], [3], [4, 5]])
    assert rows.part(slice(1, 3)) == Ragged.of([[], [3]])
    assert rows.part(slice(3, 9)) == Ragged.of([[4, 5]])
    assert len(rows.part(slice(0, 0))) == 0
