"""The cost of restoring all replicas after the loss of a rack, and the groups that stop."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.model import Partition, PartitionTable
from rackwise.core.policy import Policy
from rackwise.core.policy.model import RackPolicy
from rackwise.core.racks import Rack, crossing_level
from rackwise.core.restore import rack_restores
from rackwise.core.traffic import usd_nano
from small_fleets import CENT, DAY, DEMO_READERS, GIB, cluster, group, price

REGION_ZONE = Policy(racks=RackPolicy(levels=("region", "zone")))
PRICES = (
    price(),
    price(level="region", nano_usd_per_gb_out=5 * CENT, nano_usd_per_gb_in=0),
)
WIDE = {1: "/eu/a", 2: "/eu/b", 3: "/us/a", 4: None}


def restores(cluster, *, policy=REGION_ZONE, prices=PRICES, rack_of=lambda _, member: member.rack):
    return rack_restores(cluster, policy, prices=prices, day=DAY, rack_of=rack_of)


def sized(*partitions):
    return PartitionTable.of(
        Partition(topic="t", partition=i, leader=r[0], replicas=r, isr=isr, bytes=size)
        for i, (r, isr, size) in enumerate(partitions)
    )


def of(*partitions, racks=WIDE):
    return replace(cluster(racks), partitions=sized(*partitions))


def test_each_replica_is_copied_from_the_nearest_source():
    cluster = of(((1, 2), (1, 2), GIB), ((1, 3), (1, 3), 2 * GIB), ((1,), (1,), 4 * GIB))
    found = restores(cluster)
    assert list(found) == ["/eu", "/us", "/eu/a", "/eu/b", "/us/a"]
    assert (found["/eu/a"].level, found["/eu/a"].cross_bytes) == (2, 3 * GIB)
    assert found["/eu/a"].usd_nano == 2 * CENT + 2 * 5 * CENT
    assert (found["/eu"].level, found["/eu"].cross_bytes) == (1, 2 * GIB)
    assert (found["/us"].cross_bytes, found["/us"].usd_nano) == (2 * GIB, 10 * CENT)


def test_only_live_replicas_in_sync_are_sources():
    cluster = of(((1, 2, 3), (1, 3), GIB))
    assert restores(cluster)["/eu/a"].usd_nano == 5 * CENT
    dead = [replace(broker, is_live=broker.id != 3) for broker in cluster.brokers]
    assert restores(replace(cluster, brokers=tuple(dead)))["/eu/a"].cross_bytes == 0


def test_the_region_of_the_source_sets_the_price():
    prices = (*PRICES, price(region="us", level="region", nano_usd_per_gb_out=7 * CENT))
    found = restores(of(((1, 3), (1, 3), GIB)), prices=prices)
    assert (found["/eu"].usd_nano, found["/us"].usd_nano) == (8 * CENT, 5 * CENT)


def test_without_a_level_called_region_prices_have_none():
    prices = (price(level="*"), price(region="us", level="*", nano_usd_per_gb_out=7 * CENT))
    found = restores(of(((1, 3), (1, 3), GIB)), policy=Policy(), prices=prices)
    assert found["/eu"].usd_nano == 2 * CENT


def test_an_unknown_size_makes_the_sums_unknown():
    found = restores(of(((1, 2), (1, 2), GIB), ((2, 1), (1, 2), None), ((3,), (3,), GIB)))
    assert (found["/eu/a"].cross_bytes, found["/eu/a"].usd_nano) == (None, None)
    assert (found["/us/a"].cross_bytes, found["/us/a"].usd_nano) == (0, 0)


def test_a_part_of_the_partitions_at_a_time_gives_the_same_sums(monkeypatch):
    known = [((1, 2), (1, 2), GIB), ((2, 1), (1, 2), 3), ((3, 1), (3, 1), GIB), ((1,), (1,), 7)]
    for unknown in ((), (((1, 2), (1, 2), None),)):
        cluster = of(*known, *unknown)
        whole = restores(cluster)
        with monkeypatch.context() as patch:
            patch.setattr("rackwise.core.restore.PART_ROWS", 1)
            assert restores(cluster) == whole


def test_a_level_without_a_price_has_no_dollars():
    found = restores(of(((1, 2), (1, 2), GIB), ((1, 3), (1, 3), GIB)), prices=(price(),))
    assert (found["/eu/a"].cross_bytes, found["/eu/a"].usd_nano) == (2 * GIB, None)
    assert found["/eu/b"].usd_nano == 2 * CENT


def test_a_partition_without_replicas_costs_nothing():
    assert restores(of(((1, 2), (1, 2), GIB)))["/us"].cross_bytes == 0
    empty = replace(
        cluster(WIDE),
        partitions=PartitionTable.of([Partition(topic="t", partition=0, replicas=())]),
    )
    assert restores(empty)["/eu"].usd_nano == 0


class TestGroups:
    def test_a_group_is_lost_with_all_its_members(self):
        groups = [
            DEMO_READERS,
            group("b only", ("x", "/eu/b", None, []), ("y", "/eu/b", None, [])),
            group("nobody"),
            group("somewhere", ("z", None, None, [])),
        ]
        found = restores(cluster(groups=groups))
        assert found["/eu/b"].groups_lost == 1
        assert (found["/eu/b"].members_lost, found["/eu/b"].members) == (3, 6)
        assert found["/eu"].groups_lost == 2

    def test_caller_decides_the_rack_of_a_member(self):
        found = restores(
            cluster(groups=[DEMO_READERS]),
            rack_of=lambda group, member: Rack(f"/eu/{group.group[0]}/{member.member_id}"),
        )
        assert (found["/eu"].members_lost, found["/eu/a"].members_lost) == (3, 0)


@given(
    st.lists(st.sampled_from(["/e/a", "/e/b", "/w/a", "/w/b", "/w/c"]), min_size=2, max_size=6),
    st.data(),
)
def test_sums_equal_a_naive_computation_by_partition(racks, data):
    brokers = dict(enumerate(racks, start=1))
    partitions = data.draw(
        st.lists(
            st.tuples(
                st.permutations(sorted(brokers)).map(lambda ids: tuple(ids[:3])),
                st.sets(st.sampled_from(sorted(brokers))).map(lambda ids: tuple(sorted(ids))),
                st.integers(0, 5 * GIB),
            ),
            min_size=1,
            max_size=6,
        )
    )
    cluster = of(*partitions, racks=brokers)
    rack = {broker.id: broker.rack for broker in cluster.brokers}
    for name, found in restores(cluster).items():
        inside = {id_ for id_, where in brokers.items() if f"{where}/".startswith(f"{name}/")}
        crossing = nano = 0
        for replicas, isr, size in partitions:
            sources = [id_ for id_ in replicas if id_ in isr and id_ not in inside]
            for lost in inside.intersection(replicas) if sources else ():
                level = max(crossing_level(rack[lost], rack[id_]) for id_ in sources)
                out, in_ = ((CENT, CENT), (5 * CENT, 0))[level == 1]
                crossing += size
                nano += usd_nano(size, out, GIB) + usd_nano(size, in_, GIB)
        assert (found.cross_bytes, found.usd_nano) == (crossing, nano), name


@pytest.mark.parametrize("racks", [{1: None, 2: None}, {1: "z1", 2: "z2"}])
def test_plain_names_and_missing_racks_are_accepted(racks):
    found = restores(of(((1, 2), (1, 2), GIB), racks=racks), policy=Policy())
    assert [loss.usd_nano for loss in found.values()] == ([2 * CENT] * 2 if racks[1] else [])
