"""Where metered bytes went: conserved to the byte, halves by time, racks by leader and member."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given

from metered_clusters import Log, changed_worlds, orders, own_rack
from rackwise.core.meter import Reason, growth, look_pair, metered_flows, reads
from rackwise.core.meter.flows import KEY, METERED_KINDS, MOST_CODE, _summed
from rackwise.core.racks import Rack

PLACE = ("orders", 0)


def named(flows):
    """(kind, from rack, to rack, is exact) -> bytes."""
    found = Counter()
    rack = (*flows.racks, None)
    for row in range(len(flows.bytes)):
        kind = METERED_KINDS[flows.kind[row]]
        broker, peer, client = (
            rack[column[row]] for column in (flows.broker_rack, flows.peer_rack, flows.client_rack)
        )
        ends = {"produce": (client, broker), "fetch": (broker, client), "replicate": (broker, peer)}
        found[(kind, *ends[kind], bool(flows.is_exact[row]))] += int(flows.bytes[row])
    return dict(found)


def flows_of(world, change):
    first = world.look()
    change()
    return metered_flows(look_pair(first, world.look(minute=1)), own_rack)


class TestRacks:
    def test_written_bytes_go_to_the_leader_and_to_each_follower(self):
        world, log = orders()
        assert named(flows_of(world, lambda: log.sizes.append(101))) == {
            ("produce", None, "a", True): 101,
            ("replicate", "a", "b", True): 101,
            ("replicate", "a", "c", True): 101,
        }

    def test_a_leader_that_moves_halves_the_bytes(self):
        def change():
            log.sizes.append(101)
            log.leader, log.epoch = 2, 1

        world, log = orders()
        assert named(flows_of(world, change)) == {
            ("produce", None, "a", False): 50,
            ("produce", None, "b", False): 51,
            ("replicate", "a", "b", False): 50,
            ("replicate", "a", "c", False): 50,
            ("replicate", "b", "a", False): 51,
            ("replicate", "b", "c", False): 51,
        }

    def test_replicas_that_move(self):
        def change():
            log.sizes.append(100)
            log.replicas = log.isr = (1, 3)

        world, log = orders()
        log.replicas = log.isr = (1, 2)
        found = named(flows_of(world, change))
        assert found["replicate", "a", "b", False] == found["replicate", "a", "c", False] == 50
        assert found["produce", None, "a", True] == 100

    def test_a_dead_follower_copies_nothing_and_one_that_came_back_everything(self):
        def change():
            log.sizes.append(100)
            world.dead = {3}

        world, log = orders(dead={2, 3})
        assert named(flows_of(world, change)) == {
            ("produce", None, "a", True): 100,
            ("replicate", "a", "b", False): 100,
        }

    def test_a_member_reads_from_the_leader(self):
        def change():
            log.sizes.append(100)
            world.commits["g"][PLACE] = 11

        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})
        assert named(flows_of(world, change))["fetch", "a", "b", True] == 100

    def test_with_the_selector_it_reads_from_a_replica_in_its_rack(self):
        def change():
            log.sizes.append(100)
            world.commits["g"][PLACE] = 11

        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}}, selects=True)
        assert named(flows_of(world, change))["fetch", "b", "b", True] == 100

    def test_a_replica_that_is_not_in_sync_is_not_read(self):
        def change():
            log.sizes.append(100)
            world.commits["g"][PLACE] = 11

        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}}, selects=True)
        log.isr = (1, 3)
        assert named(flows_of(world, change))["fetch", "a", "b", True] == 100

    def test_a_dead_replica_is_not_read(self):
        def change():
            log.sizes.append(100)
            world.commits["g"][PLACE] = 11

        world, log = orders(
            commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}}, selects=True, dead={2}
        )
        assert named(flows_of(world, change))["fetch", "a", "b", True] == 100

    def test_of_two_members_with_one_partition_the_first_one_counts(self):
        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})

        def look(minute):
            found = world.look(minute=minute)
            (group,) = found.groups
            other = replace(group.members[0], member_id="z", rack=Rack("c"))
            return replace(found, groups=(replace(group, members=(*group.members, other)),))

        first = look(0)
        log.sizes.append(100)
        world.commits["g"][PLACE] = 11
        flows = metered_flows(look_pair(first, look(1)), own_rack)
        assert named(flows)["fetch", "a", "b", True] == 100

    def test_a_partition_that_changes_hands(self):
        def change():
            log.sizes.append(101)
            world.commits["g"][PLACE] = 11
            world.owners["g"] = {PLACE: "c"}

        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})
        found = named(flows_of(world, change))
        assert found["fetch", "a", "b", False] == 50
        assert found["fetch", "a", "c", False] == 51

    def test_a_member_whose_address_got_another_rack(self):
        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})
        first = world.look()
        log.sizes.append(101)
        world.commits["g"][PLACE] = 11
        pair = look_pair(first, world.look(minute=1))
        found = named(metered_flows(pair, lambda *_: Rack("c"), lambda *_: Rack("b")))
        assert found["fetch", "a", "b", False] == 50
        assert found["fetch", "a", "c", False] == 51

    def test_a_group_without_members_reads_into_no_known_rack(self):
        def change():
            log.sizes.append(100)
            world.commits["g"][PLACE] = 11

        world, log = orders(commits={"g": {PLACE: 10}})
        assert named(flows_of(world, change))["fetch", "a", None, True] == 100

    def test_a_member_without_address(self):
        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})
        first = world.look()
        log.sizes.append(100)
        world.commits["g"][PLACE] = 11
        second = world.look(minute=1)
        looks = [
            replace(
                look,
                groups=tuple(
                    replace(g, members=tuple(replace(m, address=None) for m in g.members))
                    for g in look.groups
                ),
            )
            for look in (first, second)
        ]
        flows = metered_flows(look_pair(*looks), own_rack)
        assert named(flows)["fetch", "a", "b", True] == 100
        assert flows.addresses == ()

    def test_an_owned_partition_of_an_unknown_topic_or_number_is_left_out(self):
        world, log = orders(
            commits={"g": {PLACE: 10}},
            owners={"g": {PLACE: "b", ("orders", 7): "b", ("secret", 0): "b"}},
        )
        assert named(flows_of(world, lambda: log.sizes.append(5)))["produce", None, "a", True] == 5

    def test_a_group_that_is_gone_in_the_second_snapshot(self):
        world, log = orders(commits={"g": {PLACE: 10}}, owners={"g": {PLACE: "b"}})

        def change():
            log.sizes.append(5)
            world.commits.clear()

        assert ("fetch", "a", "b", True) not in named(flows_of(world, change))

    def test_a_new_partition_is_where_the_second_snapshot_has_it(self):
        world, _ = orders()
        change = lambda: world.logs.append(Log("orders", 1, leader=3, sizes=[7]))  # noqa: E731
        assert named(flows_of(world, change))["produce", None, "c", False] == 7


class TestUnmetered:
    def test_partitions_by_topic_group_and_reason(self):
        def change():
            world.ids["orders"] = "id-2"

        world, _ = orders(commits={"g": {PLACE: 10}})
        flows = flows_of(world, change)
        assert [(u.kind, u.topic, u.group, u.reason, u.partitions) for u in flows.unmetered] == [
            ("produce", "orders", None, Reason.RECREATED, 1),
            ("fetch", "orders", "g", Reason.RECREATED, 1),
        ]
        assert len(flows.bytes) == 0


class TestLaws:
    @given(changed_worlds())
    def test_every_known_byte_is_in_one_flow(self, case):
        first, second, _, _ = case
        pair = look_pair(first, second)
        written, flows = growth(pair), metered_flows(pair, own_rack)
        read = reads(pair, written)
        sums = Counter()
        for kind, topic, bytes_ in zip(
            flows.kind.tolist(), flows.topic.tolist(), flows.bytes.tolist(), strict=True
        ):
            sums[METERED_KINDS[kind], topic] += bytes_
        topics = second.partitions.topic
        for topic in range(len(flows.topics)):
            known = written.bytes[(topics == topic) & (written.bytes > 0)].sum()
            assert sums["produce", topic] == known
            assert sums["replicate", topic] == 2 * known
            assert (
                sums["fetch", topic]
                == read.bytes[(topics[read.row] == topic) & (read.bytes > 0)].sum()
            )
        assert (flows.bytes > 0).all()

    @given(changed_worlds())
    def test_rows_are_distinct(self, case):
        first, second, _, _ = case
        flows = metered_flows(look_pair(first, second), own_rack)
        keys = np.column_stack([getattr(flows, name) for name in KEY])
        assert len(np.unique(keys, axis=0)) == len(keys)


def test_keys_beyond_one_integer_are_summed_all_the_same():
    wide = np.array([2**40, 5, 2**40, 5])
    columns = {name: np.zeros(4, dtype=np.int64) for name in KEY} | {
        "topic": wide,
        "group": wide,
        "bytes": np.array([1, 2, 4, 8]),
    }
    assert MOST_CODE < (2**40 + 2) ** 2
    found = _summed(columns)
    assert found["bytes"].tolist() == [10, 5]
    assert found["topic"].tolist() == [5, 2**40]
