"""Plans require a cluster without running reassignments, or assume their targets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.model import Note
from rackwise.core.planning.problem.at_rest import assume_target, check_at_rest
from small_clusters import small_cluster
from strategies import clusters

RACKS = {0: "/a", 1: "/b", 2: "/c", 3: "/a"}


def moving(**fields):
    columns = {
        "adding": {"t-0": [3]},
        "removing": {"t-0": [2]},
        "isr": {"t-0": [0, 1, 2]},
        "leaders": {"t-0": 2, "t-1": 1},
    } | fields
    return small_cluster(RACKS, {"t-0": [0, 1, 3, 2], "t-1": [1, 2]}, **columns)


class TestCheck:
    def test_at_rest(self):
        check_at_rest(small_cluster(RACKS, {"t-0": [0, 1]}))

    @pytest.mark.parametrize("half", [{"adding": {}}, {"removing": {}}, {}])
    def test_one_reassigning_partition(self, half):
        with pytest.raises(InvalidSnapshot) as raised:
            check_at_rest(moving(**half))
        error = raised.value
        assert error.message == ("expected a cluster at rest, got 1 reassignment in progress: t-0")
        assert (error.wanted, error.had) == (0, 1)
        assert "--assume target" in error.hint

    def test_many_partitions_are_counted_and_five_named(self):
        names = [f"t-{i}" for i in range(7)]
        cluster = small_cluster(
            RACKS, {name: [0, 1] for name in names}, adding={name: [1] for name in names}
        )
        with pytest.raises(InvalidSnapshot) as raised:
            check_at_rest(cluster)
        assert raised.value.message.endswith(
            "7 reassignments in progress: t-0, t-1, t-2, t-3, t-4 and 2 more"
        )

    @pytest.mark.parametrize("check", [check_at_rest, assume_target])
    def test_torn_snapshot_is_rejected(self, check):
        cluster = small_cluster(
            RACKS,
            {"t-0": [0, 1]},
            notes=[Note(kind="not-visible", text="x"), Note(kind="torn", text="brokers changed")],
        )
        with pytest.raises(InvalidSnapshot, match="got a torn snapshot: brokers changed"):
            check(cluster)


class TestTarget:
    def test_removed_replicas_are_gone_and_added_ones_placed(self):
        first, second = assume_target(moving()).partitions
        assert first.replicas == (0, 1, 3)
        assert (first.isr, first.leader) == ((0, 1), None)
        assert (first.adding, first.removing) == ((), ())
        assert (second.replicas, second.leader) == ((1, 2), 1)

    def test_remaining_leader_stays(self):
        first, _ = assume_target(moving(leaders={"t-0": 1, "t-1": 1})).partitions
        assert first.leader == 1

    def test_cluster_at_rest_is_unchanged(self):
        cluster = small_cluster(RACKS, {"t-0": [0, 1]})
        assert assume_target(cluster) is cluster

    @given(clusters())
    def test_target_is_at_rest(self, cluster):
        arrived = assume_target(replace(cluster, notes=()))
        check_at_rest(arrived)
        for before, after in zip(cluster.partitions, arrived.partitions, strict=True):
            target = tuple(b for b in before.replicas if b not in before.removing)
            assert after.replicas == target
            assert set(after.isr) <= set(target) or not (before.adding or before.removing)
            assert after.bytes == before.bytes
