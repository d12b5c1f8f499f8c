"""What is known of the insides of clients, and what happens where they are otherwise."""

from __future__ import annotations

import pytest

from client_metadata import aiokafka_answer, aiokafka_metadata, answer, metadata
from rackwise.adapters.clients import private
from rackwise.core.errors import UnsupportedClient

BROKERS = {1: "a", 2: "b", 3: "c"}
TOPICS = {"t": [[2, 1], [3, 1]], "u": [[1, 3]]}


class Public:
    """What a client of another version may show: public ways alone."""

    def __init__(self, inner, *names):
        for name in names:
            setattr(self, name, getattr(inner, name))


@pytest.mark.parametrize("view", [metadata, aiokafka_metadata])
def test_replicas_are_told_leader_first_of_topics_that_are_there(view):
    found = private.replicas(view(BROKERS, TOPICS), {"t", "absent"})
    assert found == {"t": [(2, 1), (3, 1)]}


def test_replicas_are_told_by_public_ways_where_the_private_one_is_gone():
    names = ("partitions_for_topic", "is_replica_node", "brokers")
    found = private.replicas(Public(metadata(BROKERS, TOPICS), *names), ["t", "u"])
    assert found == {"t": [(1, 2), (1, 3)], "u": [(1, 3)]}


def test_replicas_are_none_where_there_is_no_way():
    found = private.replicas(Public(metadata(BROKERS, TOPICS), "partitions_for_topic"), ["t"])
    assert found == {"t": [(), ()]}


@pytest.mark.parametrize("view", [metadata, aiokafka_metadata])
def test_who_is_in_sync_is_told_of_topics_that_are_there(view):
    behind = {"t": [[2], [3, 1]], "u": [[1]]}
    found = private.in_sync(view(BROKERS, TOPICS, behind), {"t", "absent"})
    assert found == {"t": [{2}, {1, 3}]}


def test_who_is_in_sync_is_not_known_where_it_is_hidden():
    assert private.in_sync(Public(metadata(BROKERS, TOPICS), "partitions_for_topic"), {"t"}) is None


@pytest.mark.parametrize(
    ("view", "told"), [(metadata, answer), (aiokafka_metadata, aiokafka_answer)]
)
def test_listeners_may_come_while_the_client_walks_them(view, told):
    cluster, heard = view(BROKERS, TOPICS), []

    def late(_cluster):
        heard.append("late")

    def early(seen):
        heard.append("early")
        private.listen(seen, late)

    private.listen(cluster, early)
    walked = cluster._listeners
    for listener in walked:  # as the client's own thread does
        listener(cluster)
    assert heard == ["early"]
    cluster.update_metadata(told(BROKERS, TOPICS))
    assert sorted(heard) == ["early", "early", "late"]


def test_listeners_are_added_in_public_where_the_private_set_is_gone():
    added = []

    class Other:
        add_listener = added.append

    private.listen(Other(), print)
    assert added == [print]


@pytest.mark.parametrize(
    ("client", "version"),
    [("kafka-python", "3.0.12"), ("kafka-python", "3.0.13.dev1"), ("aiokafka", "0.14.0")],
)
def test_a_known_version_is_let_in(client, version):
    private.check_version(client, version)


@pytest.mark.parametrize(
    ("client", "version"),
    [
        ("kafka-python", "3.0.11"),
        ("kafka-python", "3.1"),
        ("kafka-python", "2.3.0"),
        ("aiokafka", "0.15.0"),
        ("aiokafka", "0.13.0"),
    ],
)
def test_another_version_is_refused_with_the_line_that_mends_it(client, version):
    with pytest.raises(UnsupportedClient, match=f", got {version}$") as caught:
        private.check_version(client, version)
    assert caught.value.hint.startswith(f"pip install '{client}>=")


def test_what_is_no_consumer_is_refused():
    with pytest.raises(UnsupportedClient, match="expected a consumer of kafka-python, got object"):
        private.cluster_of(object(), "kafka-python")


def test_what_is_not_there_is_not_asked():
    assert not private.request_rejoin(object())
    assert private.generation(object()) == -1
    assert private.client_rack(object()) is None


def test_a_client_without_known_private_names_is_rejected():
    with pytest.raises(UnsupportedClient, match=r"unsupported client: expected .*, got mini"):
        private.check_version("mini", "1.0.0")
