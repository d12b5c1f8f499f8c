from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from rackwise.core.model import Partition, PartitionTable
from strategies import crowded_clusters

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
