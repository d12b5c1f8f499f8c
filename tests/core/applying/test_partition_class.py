"""The classes of partitions: each row of the table, and the list that a cancel leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move
from rackwise.core.applying.model import ObservedPartition
from rackwise.core.applying.partition_class import classify, is_in_cancel_order
from vectors import planner_vectors

VECTOR = planner_vectors()["classification"]


@pytest.mark.parametrize("row", VECTOR, ids=[f"{i}-{row['class']}" for i, row in enumerate(VECTOR)])
def test_every_row_of_the_table_has_its_class(row):
    planned = move("t-0", tuple(row["before"]), tuple(row["after"]), topic_id="planned")
    seen = None
    if row["replicas"] is not None:
        seen = ObservedPartition(
            topic_id="planned" if row["topic_id_equal"] else "created again",
            replicas=tuple(row["replicas"]),
            adding=tuple(row["adding"]),
            removing=tuple(row["removing"]),
        )
    assert classify(planned, seen, row["journal"]) == row["class"]


@pytest.mark.parametrize("sides", [(None, "b"), ("a", None), (None, None)])
def test_unknown_topic_ids_equal_every_id(sides):
    planned = replace(move("t-0", (1,), (2,)), topic_id=sides[0])
    assert (
        classify(planned, ObservedPartition(topic_id=sides[1], replicas=(1,)), "none")
        == "not_started"
    )


class TestCancelOrder:
    """`PartitionReassignmentRevert` removes the added replicas and keeps the order."""

    planned = move("t-0", (1, 2, 3), (4, 1, 3))

    @pytest.mark.parametrize(
        ("replicas", "sent", "expected"),
        [
            ((1, 3, 2), "none", "diverged"),
            ((1, 3, 2), "intent", "not_started"),
            ((1, 3, 2), "sent", "cancelled_externally"),
            ((1, 3, 2), "cancelling", "not_started"),
            ((1, 2, 3), "cancelling", "not_started"),
            ((3, 1, 2), "sent", "diverged"),
            ((1, 3), "sent", "diverged"),
        ],
    )
    def test_the_order_of_a_cancel_counts_as_before_after_a_request(self, replicas, sent, expected):
        seen = ObservedPartition(topic_id="id-t", replicas=replicas)
        assert classify(self.planned, seen, sent) == expected

    def test_the_order_of_before_is_not_a_cancel_order(self):
        assert not is_in_cancel_order(
            self.planned, ObservedPartition(topic_id="id-t", replicas=(1, 2, 3))
        )

    def test_a_running_move_is_not_in_cancel_order(self):
        moving = ObservedPartition(topic_id="id-t", replicas=(1, 3, 2), removing=(2,))
        assert not is_in_cancel_order(self.planned, moving)
