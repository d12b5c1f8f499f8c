"""A running group compared with the best assignment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.core.fetch_diagnosis import GroupBest, group_best
from readings import group

RACKS = {"t": [["a"], ["b"], ["c"]], "u": [["a"]]}


def test_current_and_best_are_counted_by_the_same_rule():
    found = group_best(group("cab"), RACKS)
    assert found == GroupBest(partitions=3, local=0, best_local=3, is_better=True, moves=3)


def test_best_assignment_has_no_better_one():
    found = group_best(group("abc"), RACKS)
    assert found == GroupBest(partitions=3, local=3, best_local=3, is_better=False, moves=0)


def test_members_without_rack_are_not_local():
    found = group_best(group("-ab", state=None), RACKS)
    assert found == GroupBest(partitions=3, local=0, best_local=2, is_better=True, moves=3)


def test_the_groups_own_assignor_is_asked_where_members_are_static():
    moved = group("cab")
    members = tuple(replace(each, instance_id=each.client_id) for each in moved.members)
    found = group_best(replace(moved, members=members), RACKS)
    assert (found.local, found.after_rebalance) == (0, 3)
    unknown = replace(moved, members=members, assignor="mine")
    assert group_best(unknown, RACKS).after_rebalance is None
    on_broker = replace(moved, members=members, assignor="range", protocol="consumer")
    assert group_best(on_broker, RACKS).after_rebalance is None


def test_members_may_list_different_topics():
    first, *rest = group("cab").members
    mixed = replace(group(), members=(replace(first, topics=("t", "u")), *rest))
    assert group_best(mixed, RACKS).is_better


@pytest.mark.parametrize(
    "unclear",
    [group(topics=None), group(state="PreparingRebalance"), group("")],
    ids=["topics", "state", "members"],
)
def test_unknown_group_has_no_best_assignment(unclear):
    assert group_best(unclear, RACKS) is None


def test_kafkas_assignors_on_the_broker_are_compared_for_the_consumer_protocol():
    found = group_best(group("cab", protocol="consumer"), RACKS)
    assert set(found.on_server) == {"uniform", "range"}
    assert group_best(group("cab"), RACKS).on_server == {}
    assert group_best(group("c-b", protocol="consumer"), RACKS).on_server == {}


def test_a_share_group_is_measured_by_leaders_and_a_streams_group_by_replicas():
    racks = {"t": [["b", "a"], ["b"], ["c"]]}
    share = group_best(group("abc", protocol="share"), racks)
    assert (share.partitions, share.local, share.best_local, share.is_better) == (3, 2, 2, False)
    assert group_best(group("abc", protocol="streams"), racks).local == 3
