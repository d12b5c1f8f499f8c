"""Broker ids of real clusters: from the admin client, and from ZooKeeper where there is one."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_traffic import create, delete, until
from rackwise.adapters.kafka import connect, topics
from rackwise.adapters.kafka.broker_view import AdminView
from rackwise.adapters.zookeeper import ZooKeeperView, open_zookeeper
from rackwise.core.errors import ServerRefused

NAME = "identity"
PLACEMENT = [[0, 1], [1, 2], [2, 0]]


@pytest.fixture
def topic(admin):
    create(admin, NAME, PLACEMENT)
    yield NAME
    delete(admin, NAME)


def test_the_admin_client_shows_living_brokers_and_used_ids(cluster, admin, topic):
    view = AdminView(admin)
    registered = view.registered()
    assert {id_: each.endpoints for id_, each in registered.items()} == {
        broker.id: {f"{broker.host}:{broker.port}"} for broker in cluster.brokers
    }
    assert {0, 1, 2} <= view.used() <= set(registered)
    assert view.cluster_id()
    names = {(each.name, each.replicas, each.isr) for each in view.partitions_of(1)}
    assert {
        (f"{topic}-0", frozenset({0, 1}), frozenset({0, 1})),
        (f"{topic}-1", frozenset({1, 2}), frozenset({1, 2})),
    } <= names
    assert f"{topic}-2" not in {each.name for each in view.partitions_of(1)}


@pytest.mark.zookeeper
@pytest.mark.long
def test_zookeeper_says_the_same_as_the_admin_client(zookeeper_cluster):
    cluster = zookeeper_cluster
    with (
        closing(connect(cluster.bootstrap)) as admin,
        open_zookeeper(f"zookeeper://{cluster.zookeeper_connect}", read_only=True) as store,
    ):
        create(admin, NAME, PLACEMENT)
        nodes, asked = ZooKeeperView(store), AdminView(admin)
        assert {id_: each.endpoints for id_, each in nodes.registered().items()} == {
            id_: each.endpoints for id_, each in asked.registered().items()
        }
        assert all(each.incarnation and each.session for each in nodes.registered().values())
        assert nodes.used() == asked.used()
        until(lambda: set(nodes.partitions_of(1)) == set(asked.partitions_of(1)), "one picture")
        cluster.kill(0)
        cluster.wait_until_gone(0)
        try:
            until(lambda: set(nodes.registered()) == {1, 2}, "the registration to go")
            until(lambda: f"{NAME}-0" in nodes.at_risk(1, frozenset()), "the guard to see it")
            until(lambda: nodes.at_risk(1, frozenset()) == asked.at_risk(1, frozenset()), "both")
            assert f"{NAME}-0" not in nodes.at_risk(1, frozenset({f"{NAME}-0"}))
            assert f"{NAME}-2" in nodes.at_risk(2, frozenset())
            for id_ in (1, 2):
                assert f"{NAME}-1" not in nodes.at_risk(id_, frozenset())
        finally:
            cluster.start(0)
            cluster.wait_until_ready()
        delete(admin, NAME)


@pytest.mark.kafka
@pytest.mark.long
def test_a_broker_that_is_gone_can_be_unregistered(kraft_cluster):
    cluster = kraft_cluster
    with closing(connect(cluster.bootstrap)) as admin:
        view = AdminView(admin)
        with pytest.raises(ServerRefused):
            view.unregister(99)
        cluster.kill(3)
        cluster.wait_until_gone(3)
        try:
            assert 3 not in view.registered()
            listed = {each["broker_id"]: each for each in admin.describe_cluster()["brokers"]}
            assert listed[3]["is_fenced"]
            view.unregister(3)
            until(lambda: 3 not in _listed(admin), "the broker to be forgotten")
        finally:
            cluster.start(3)
            cluster.wait_until_ready()
        until(lambda: 3 in view.registered(), "the broker to register anew")


def _listed(admin):
    return {each["broker_id"] for each in admin.describe_cluster()["brokers"]}


@pytest.mark.kafka
def test_eligible_leaders_are_read_page_by_page(kraft_cluster, monkeypatch):
    monkeypatch.setattr(topics, "_MOST_DESCRIBED", 1)
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, NAME, PLACEMENT)
        found = topics.read_eligible(admin, ["absent", NAME])
        delete(admin, NAME)
    assert found == {(NAME, number): frozenset() for number in range(len(PLACEMENT))}


@pytest.mark.kafka
def test_the_last_member_of_an_isr_is_an_eligible_leader_when_it_is_gone(kraft_cluster):
    """The ISR is empty then, so that the data guard of its id must know (KIP-966)."""
    cluster = kraft_cluster
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, NAME, [[2]])
        view = AdminView(admin)

        def standing():
            (only,) = [each for each in view.partitions_of(2) if each.topic == NAME]
            return only.isr, only.eligible

        assert standing() == ({2}, set())
        cluster.kill(2)
        try:
            cluster.wait_until_gone(2)
            until(lambda: standing() == (set(), {2}), "it to be an eligible leader")
        finally:
            cluster.start(2)
            cluster.wait_until_ready()
        delete(admin, NAME)
