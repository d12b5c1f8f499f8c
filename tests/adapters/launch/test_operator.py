"""What operators settle, while others write: decided anew, a few times."""

from __future__ import annotations

from contextlib import closing

import pytest

from directory_stores import Nodes
from rackwise.adapters.files.identity.store import DirectoryStore
from rackwise.adapters.launch import operator
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.errors import Conflict
from rackwise.core.identity.nodes.store import CLAIMS, FENCE, HOSTS, OWNERS, Put


class Disturbed:
    """A store whose fence moves before each of the first `times` commits."""

    def __init__(self, store, times):
        self._store = store
        self.left = times

    def __getattr__(self, name):
        return getattr(self._store, name)

    def commit(self, ops):
        if self.left:
            self.left -= 1
            self._store.commit([Put(FENCE, b"")])
        self._store.commit(ops)


@pytest.fixture
def nodes(tmp_path):
    nodes = Nodes(tmp_path)
    nodes.mapping("h7", 7)
    return nodes


@pytest.fixture
def opened(nodes):
    with closing(DirectoryStore(nodes.path)) as store:
        yield store


def assigned(store, times, **options):
    disturbed = Disturbed(store, times)
    view = ZooKeeperView(store)
    return operator.assign(disturbed, view, "h8", 8, force=False, has_registrations=True, **options)


@pytest.mark.parametrize("times", range(operator.TRIES))
def test_an_assignment_is_decided_again_where_others_wrote_meanwhile(opened, nodes, times):
    assert assigned(opened, times).id == 8
    assert nodes.read(f"{HOSTS}/h8").data == b'{"version":0,"broker.id":8}'


def test_an_assignment_that_never_gets_through_is_the_operators_to_look_at(opened, nodes):
    with pytest.raises(Conflict):
        assigned(opened, operator.TRIES)
    assert nodes.read(f"{HOSTS}/h8") is None


def test_a_claim_that_cannot_be_read_holds_its_id(opened, nodes):
    nodes.put(f"{CLAIMS}/8", b"{")
    with pytest.raises(Conflict, match="the claim on id 8 cannot be read"):
        assigned(opened, 0)
    assert nodes.read(f"{HOSTS}/h8") is None


def test_garbage_that_is_claimed_meanwhile_stays(opened, nodes):
    nodes.registration(7, "h7.example")
    nodes.owner(7, "h7")
    nodes.mapping("old", 7)
    nodes.age("/brokers/ids/7", 120_000)

    class Claimed(Disturbed):
        def commit(self, ops):
            nodes.mapping("old", 7)
            self._store.commit(ops)

    store, view = Claimed(opened, 0), ZooKeeperView(opened)
    (found,) = operator.garbage(store, view, apply=True, has_registrations=True)
    assert not found.is_deleted
    assert nodes.children(HOSTS) == ["h7", "old"]
    (found,) = operator.garbage(opened, view, apply=True, has_registrations=True)
    assert found.is_deleted
    assert nodes.children(HOSTS) == ["h7"]


@pytest.mark.parametrize("parent", [CLAIMS, OWNERS])
def test_a_claim_or_an_owner_that_cannot_be_read_keeps_mappings(opened, nodes, parent):
    nodes.registration(7, "h7.example")
    nodes.mapping("old", 7)
    nodes.age("/brokers/ids/7", 120_000)
    nodes.put(f"{parent}/7", b"{")
    told = {}
    found = operator.garbage(
        opened, ZooKeeperView(opened), apply=True, has_registrations=True, problems=told
    )
    assert not found
    assert set(told) == {f"{parent}/7"}
    assert nodes.children(HOSTS) == ["h7", "old"]
