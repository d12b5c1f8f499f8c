"""The metadata of one topic as producers see it."""

import pytest

from rackwise.core.errors import UnknownTopic, ViewError
from rackwise.core.partitioner.simulate.topic_racks import (
    leaders_without_rack,
    rack_weights,
    topic_view,
)
from small_clusters import small_cluster

RACKS = {1: "a", 2: "b", 3: "b", 4: "c", 5: None}


def orders(**known):
    lists = {"orders-0": [1], "orders-1": [2], "orders-2": [1], "orders-3": [5], "other-0": [4]}
    return small_cluster(RACKS, lists, **known)


def test_leaders_and_racks():
    view = topic_view(orders(leaders={"orders-2": None}), "orders")
    assert view.leaders == (1, 2, None, 5)
    assert view.racks == RACKS


def test_partitions_missing_in_metadata_have_no_leader():
    view = topic_view(small_cluster({1: "a"}, {"t-0": [1], "t-2": [1]}), "t")
    assert view.leaders == (1, None, 1)


def test_weights_by_leaders():
    cluster = orders()
    found = rack_weights(cluster, topic_view(cluster, "orders"), "leaders")
    assert found == {"a": 2, "b": 1, "c": 0}


def test_weights_by_live_brokers():
    cluster = orders(dead=[3, 4])
    found = rack_weights(cluster, topic_view(cluster, "orders"), "brokers")
    assert found == {"a": 1, "b": 1}


def test_a_listed_leader_on_a_dead_broker_counts():
    cluster = orders(dead=[1])
    view = topic_view(cluster, "orders")
    assert rack_weights(cluster, view, "leaders") == {"a": 2, "b": 1, "c": 0}
    assert rack_weights(cluster, view, "brokers") == {"a": 0, "b": 2, "c": 1}


def test_leaders_without_a_rack():
    assert leaders_without_rack(topic_view(orders(), "orders")) == 1
    assert leaders_without_rack(topic_view(orders(leaders={"orders-3": None}), "orders")) == 0


def test_an_unknown_topic_is_rejected():
    with pytest.raises(UnknownTopic) as raised:
        topic_view(orders(), "ord\x1bers")
    assert raised.value.message == "topic ord\\x1bers is not in the cluster"
    assert raised.value.hint


def test_a_topic_without_partitions():
    cluster = small_cluster({1: "a"}, {"t-0": [1]})
    cluster.topics["empty"] = cluster.topics["t"]
    with pytest.raises(ViewError):
        topic_view(cluster, "empty")
