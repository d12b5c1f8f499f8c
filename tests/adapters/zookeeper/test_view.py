"""What ZooKeeper says of brokers and replicas: the scan, and who is in sync."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from identity_stores import Place
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.identity.nodes.store import IDS, TOPICS, Create, Delete, StoredNode
from rackwise.core.identity.refusals import StoreCorrupt

KAFKA_5 = (
    b'{"features":{},"listener_security_protocol_map":{"SSL":"SSL"},"endpoints":["SSL://k1:9093"],'
    b'"jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"1700000000000"}'
)
MANY = 1200
TOPIC_ID = "hZdBPDQtQ5a6SD2yXr6ExA"


@pytest.fixture
def store(lone_zookeeper, chroot):
    with ExitStack() as running:
        yield Place(lone_zookeeper.url + chroot, running).prepare().open()


def topic(name, replicas, isr=None, extra=""):
    """The nodes of a topic: partition -> replicas, partition -> in sync."""
    told = ",".join(f'"{number}":{list(ids)}' for number, ids in replicas.items())
    root = f"{TOPICS}/{name}"
    node = f'{{"version":3,"topic_id":"{TOPIC_ID}","partitions":{{{told}}}{extra}}}'
    ops = [Create(root, node.encode()), Create(f"{root}/partitions", b"")]
    for number, ids in (replicas | (isr or {})).items():
        state = (
            f'{{"controller_epoch":1,"leader":{ids[0]},"version":1,"leader_epoch":0,"isr":{ids}}}'
        )
        ops += [
            Create(f"{root}/partitions/{number}", b""),
            Create(f"{root}/partitions/{number}/state", state.encode()),
        ]
    return ops


def living(*ids):
    return [Create(f"{IDS}/{each}", KAFKA_5, ephemeral=True) for each in ids]


@pytest.mark.zookeeper
def test_registered_brokers_have_endpoints_session_and_incarnation(store):
    store.commit(living(1, 7))
    found = ZooKeeperView(store).registered()
    assert sorted(found) == [1, 7]
    assert found[7].endpoints == {"k1:9093"}
    assert found[7].session == store.session
    assert found[7].incarnation == store.read([f"{IDS}/7"])[f"{IDS}/7"].czxid


@pytest.mark.zookeeper
def test_used_ids_are_those_of_replicas_and_of_running_reassignments(store):
    store.commit(topic("orders", {0: [1, 2], 4: [7, 1]}))
    store.commit(topic("moved", {0: [3, 4, 9]}, extra=',"adding_replicas":{"0":[9]}'))
    heard = []
    view = ZooKeeperView(store, progress=lambda done, of: heard.append((done, of)))
    assert view.used() == {1, 2, 3, 4, 7, 9}
    assert heard == [(1, 2), (2, 2)]


@pytest.mark.zookeeper
def test_a_partition_whose_only_live_in_sync_replica_it_was_is_at_risk(store):
    store.commit(living(1))
    store.commit(
        topic(
            "orders",
            {0: [7, 1], 1: [7, 2], 2: [7], 3: [1, 2], 4: [7, 1], 5: [7, 2]},
            {0: [7, 1], 1: [7, 2], 2: [7], 3: [1], 4: [7], 5: [2]},
        )
    )
    view = ZooKeeperView(store)
    assert view.at_risk(7, frozenset()) == ("orders-1", "orders-4")
    assert view.at_risk(7, frozenset({"orders-4"})) == ("orders-1",)
    assert view.at_risk(3, frozenset()) == ()


@pytest.mark.zookeeper
def test_a_partition_that_has_no_state_yet_is_nobodys_loss(store):
    store.commit(topic("orders", {0: [7, 1]}))
    store.commit([Delete(f"{TOPICS}/orders/partitions/0/state")])
    assert ZooKeeperView(store).partitions_of(7) == ()


@pytest.mark.zookeeper
def test_a_scan_of_many_topics_is_one_flight(store):
    for start in range(0, MANY, 400):
        store.commit(
            [
                Create(f"{TOPICS}/t{number}", b'{"version":1,"partitions":{"0":[%d]}}' % number)
                for number in range(start, start + 400)
            ]
        )
    assert ZooKeeperView(store).used() == set(range(MANY))


@pytest.mark.zookeeper
@pytest.mark.parametrize("data", [b"", b"{}", b"\xef\xbb\xbf{}", b'{"version":1,"partitions":7}'])
def test_a_corrupt_topic_makes_the_answer_incomplete_and_is_named(store, data):
    store.commit([*topic("orders", {0: [7, 1]}), Create(f"{TOPICS}/torn", data)])
    view = ZooKeeperView(store)
    assert view.registered() == {}
    for ask in (view.used, lambda: view.at_risk(7, frozenset())):
        with pytest.raises(StoreCorrupt) as refused:
            ask()
        assert f"{TOPICS}/torn" in refused.value.message


class Vanishing:
    """A store in which what was listed is gone when it is read."""

    def children(self, path):
        return {IDS: ["1", "7", "x"], TOPICS: ["kept", "gone"]}[path]

    def read(self, paths, _advance=None):
        kept = {
            f"{IDS}/1": KAFKA_5,
            f"{TOPICS}/kept": b'{"version":1,"partitions":{"0":[5]}}',
        }
        nodes = {
            path: StoredNode(data=data, version=0, created_ms=0, modified_ms=0, czxid=1)
            for path, data in kept.items()
        }
        return {path: nodes.get(path) for path in paths}


def test_what_is_deleted_between_list_and_read_is_passed_over():
    view = ZooKeeperView(Vanishing())
    assert sorted(view.registered()) == [1]
    assert view.used() == {5}
