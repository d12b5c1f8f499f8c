"""Reads that a plan sends to other racks: brute force over reads, and what is not known."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metered_clusters import changed_worlds, orders, own_rack
from planner_vectors import CENTS
from rackwise.core.meter import growth, look_pair, reads
from rackwise.core.model import Configs, Ragged
from rackwise.core.policy import Policy, RackPolicy
from rackwise.core.savings.moved_reads import MeteredReads, moved_reads
from rackwise.core.traffic import usd_nano
from rackwise.core.view import View

BLIND = Policy(racks=RackPolicy(missing="unaware"))
PLACE = ("orders", 0)
MINUTES = 30 * 24 * 60
"""Two looks of a world are a minute apart."""


def change_of(first, second, lists, *, prices=CENTS, rack_of=own_rack):
    pair = look_pair(first, second)
    metered = MeteredReads(pair=pair, written=growth(pair), rack_of=rack_of, prices=prices)
    return moved_reads(View(second, BLIND), Ragged.of(lists), metered)


def dollars(bytes_):
    """Nano-dollars of bytes that cross in a minute, in 30 days."""
    return 2 * usd_nano(bytes_ * MINUTES, CENTS[0].nano_usd_per_gb_out, CENTS[0].gb_bytes)


def one_group(*, rack="a", selects=False, commit=11):
    """Two looks: a member of group g in `rack` reads 1 MB of orders-0, which broker 1 in a leads.

    Broker 2 in b follows.
    """
    owners = {"g": {PLACE: rack}} if rack else {}
    world, log = orders(commits={"g": {PLACE: 10}}, owners=owners, selects=selects)
    log.replicas = log.isr = (1, 2)
    first = world.look()
    log.sizes.append(10**6)
    world.commits["g"][PLACE] = commit
    return first, world.look(minute=1)


@pytest.mark.parametrize(
    ("rack", "selects", "after", "times"),
    [
        ("a", False, (3, 1), 1),  # the leader leaves the rack of the reader
        ("c", False, (3, 1), -1),  # it comes to the rack of the reader
        ("b", False, (3, 1), 0),  # another rack before and after
        ("a", True, (3, 1), 0),  # the replica in its own rack stays
        ("b", True, (1, 3), 1),  # the replica in its own rack goes; the leader stays
        ("c", True, (1, 3), -1),
        ("b", False, (1, 3), 0),
        ("a", False, (1, 2), 0),  # nothing moves
    ],
)
def test_one_read_costs_what_lies_between_replica_and_reader(rack, selects, after, times):
    found = change_of(*one_group(rack=rack, selects=selects), [after])
    assert found == (times * dollars(10**6), None)


class TestUnknown:
    def test_bytes(self):
        usd, reason = change_of(*one_group(commit=3), [(3, 1)])
        assert usd is None
        assert reason == (
            "what groups read of 1 moved partition is not known (orders-0); "
            "take two snapshots without --no-groups while the groups run"
        )

    def test_the_rack_of_the_reader(self):
        usd, reason = change_of(*one_group(rack=None), [(3, 1)])
        assert usd is None
        assert reason.startswith("a rack of the reads of 1 moved partition is not known (orders-0)")

    def test_unknown_bytes_that_stay_where_they_are_do_not_matter(self):
        assert change_of(*one_group(commit=3, selects=True), [(1, 3)]) == (0, None)

    def test_no_bytes_need_no_rack(self):
        assert change_of(*one_group(rack=None, commit=10), [(3, 1)]) == (0, None)

    def test_snapshots_without_groups(self):
        first, second = (replace(look, groups=()) for look in one_group())
        usd, reason = change_of(first, second, [(3, 1)])
        assert usd is None
        assert reason.startswith("the groups that read 1 moved partition are not known (orders-0)")

    def test_a_replica_selector_that_was_not_read(self):
        first, second = (replace(look, configs=Configs()) for look in one_group())
        usd, reason = change_of(first, second, [(3, 1)])
        assert usd is None
        assert reason.startswith(
            "the replicas that consumers of 1 moved partition read are not known (orders-0); "
            "grant Cluster:DescribeConfigs"
        )

    def test_a_member_without_a_rack_reads_from_the_leader_with_any_selector(self):
        first, second = (replace(look, configs=Configs()) for look in one_group())
        (group,) = second.groups
        members = tuple(replace(each, rack=None) for each in group.members)
        (in_a,) = (broker.rack for broker in second.brokers if broker.id == 1)
        second = replace(second, groups=(replace(group, members=members),))
        found = change_of(first, second, [(3, 1)], rack_of=lambda _group, _member: in_a)
        assert found == (dollars(10**6), None)

    def test_a_broker_without_a_rack_that_is_read_before_and_after_does_not_matter(self):
        looks = []
        for look in one_group(selects=True):
            first, *others = look.brokers
            looks.append(replace(look, brokers=(replace(first, rack=None), *others)))
        assert change_of(*looks, [(1, 3)]) == (0, None)
        assert change_of(*looks, [(3, 1)]).usd_nano is None

    def test_prices(self):
        assert change_of(*one_group(), [(3, 1)], prices=()) == (
            None,
            "reads across racks have no price; add rows of kind fetch to the table of --prices",
        )


def source(replicas, leader, rack, racks, *, selects):
    """Rack of the replica that a member reads; `racks`: broker id -> rack."""
    is_near = selects and leader is not None and rack in {racks[id_] for id_ in replicas}
    return rack if is_near else racks.get(leader)


@given(changed=changed_worlds(), data=st.data())
def test_the_change_is_the_sum_over_reads_priced_by_route(changed, data):
    first, second, _, _ = changed
    order, length = st.permutations([1, 2, 3]), st.integers(1, 3)
    lists = [data.draw(order)[: data.draw(length)] for _ in second.partitions]
    pair = look_pair(first, second)
    read = reads(pair, growth(pair))
    racks = {broker.id: broker.rack.text for broker in second.brokers}
    selects = any(second.configs.brokers.values())
    owners = {
        (number, *place): member.rack.text
        for number, group in enumerate(second.groups)
        for member in group.members
        for place in member.partitions
    }
    sides, is_known = (Counter(), Counter()), True
    for group, row, bytes_ in zip(read.group, read.row, read.bytes.tolist(), strict=True):
        one, after = second.partitions[row], tuple(lists[row])
        rack = owners.get((group, one.topic, one.partition))
        ends = (
            source(one.isr, one.leader, rack, racks, selects=selects),
            source(
                after,
                after[0] if after != one.replicas else one.leader,
                rack,
                racks,
                selects=selects,
            ),
        )
        if bytes_ and ends[0] != ends[1]:
            is_known &= bytes_ > 0 and rack is not None
            for side, end in zip(sides, ends, strict=True):
                side[end, rack] += bytes_
    usd, reason = change_of(first, second, lists)
    if not second.groups:
        assert usd in {0, None}
        return
    assert (usd is None) == (reason is not None) == (not is_known)
    if is_known:
        before, after = (
            sum(dollars(bytes_) for (end, rack), bytes_ in side.items() if end != rack)
            for side in sides
        )
        assert usd == after - before
