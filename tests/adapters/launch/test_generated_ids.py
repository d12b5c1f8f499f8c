"""A generated id is no id of another host, even if that was assigned between reads and commit."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from rackwise.adapters.launch import AcquireOptions, acquire, operator
from rackwise.adapters.launch.views import lazy_view, stores
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.errors import Unreachable
from rackwise.core.identity.model import Owner
from rackwise.core.identity.nodes.nodes import format_owner, ids_in_names, parse_mapping
from rackwise.core.identity.nodes.store import CLAIMS, HOSTS, OWNERS, RETIRED, Create, Put
from rackwise.core.identity.refusals import NotRegistered

ABOVE = 1000
STRANGER = "h9"


class Nobody:
    """The view of a cluster without brokers."""

    def registered(self):
        return {}

    def used(self):
        return frozenset()

    def partitions_of(self, _id):
        return ()


class ZooKeeperStart:
    """A start on ZooKeeper, and the other commands on the same store."""

    has_registrations = True

    def __init__(self, url, folder):
        self.url = url
        self.options = AcquireOptions(
            server_properties=folder / "server.properties", store_url=url, hold_s=0.1
        )
        self.write(f"zookeeper.connect={url.removeprefix('zookeeper://')}\nlog.dirs={folder}/a\n")

    def write(self, text):
        self.options.server_properties.write_text(text)

    def view(self, store):
        return ZooKeeperView(store)


class KraftStart(ZooKeeperStart):
    """A start in KRaft mode on a directory: the first of its cluster, so no broker answers."""

    has_registrations = False

    def __init__(self, url, folder):
        super().__init__(url, folder)
        self.write(
            f"process.roles=broker\nlog.dirs={folder}/a\n"
            "controller.quorum.voters=1@localhost:1\ncontroller.listener.names=CONTROLLER\n"
        )
        self.options = replace(
            self.options,
            bootstrap_server="127.0.0.1:1",
            new_cluster=True,
            cluster_id="Some0000000000000000Ag",
            generate_above=ABOVE,
        )

    def view(self, _store):
        return Nobody()


@pytest.fixture(params=["kraft", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def start(request, tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    if request.param == "kraft":
        monkeypatch.setattr(lazy_view, "FIRST_S", 0.1)
        monkeypatch.setattr(lazy_view, "AGAIN_S", 0.1)
        made = KraftStart(f"file://{tmp_path}/store", tmp_path)
    else:
        server = request.getfixturevalue("lone_zookeeper")
        made = ZooKeeperStart(server.url + request.getfixturevalue("chroot"), tmp_path)
    stores.init_store(made.url)
    return made


@pytest.fixture
def other(start):
    """The store as another command opens it."""
    with closing(stores.open_store(start.url)) as store:
        yield store


def assign(start, store, broker_id):
    operator.assign(
        store,
        start.view(store),
        STRANGER,
        broker_id,
        force=False,
        has_registrations=start.has_registrations,
    )


def retire(start, store, broker_id):
    operator.retire(
        store, start.view(store), broker_id, force=False, has_registrations=start.has_registrations
    )


def taken_by(start, monkeypatch, meanwhile=lambda _id: None):
    """The id that the start of h7 generates first, and the one that it takes.

    `meanwhile(id)` runs between the two.
    """
    opened = stores.open_store(start.url)
    draw, drawn, taken = opened.next_number, [], []

    def next_number():
        drawn.append(ABOVE + draw())
        if len(drawn) == 1:
            meanwhile(drawn[0])
        return drawn[-1] - ABOVE

    monkeypatch.setattr(opened, "next_number", next_number)
    monkeypatch.setattr(stores, "open_store", lambda *_, **__: opened)
    options = replace(start.options, key="text:h7")
    with pytest.raises((NotRegistered, Unreachable)):
        acquire(options, None, on_acquired=taken.append)
    (acquired,) = taken
    return drawn[0], acquired.id


def mapped(store):
    nodes = store.read([f"{HOSTS}/{key}" for key in store.children(HOSTS)])
    found = (parse_mapping(node, key=path.rpartition("/")[2]) for path, node in nodes.items())
    return {each.key: each.broker_id for each in found}


def test_an_id_that_is_assigned_meanwhile_is_not_generated(start, other, monkeypatch):
    first, taken = taken_by(start, monkeypatch, lambda number: assign(start, other, number))
    assert mapped(other) == {STRANGER: first, "h7": taken}
    assert taken != first
    assert other.children(CLAIMS) == []


def test_an_id_that_is_retired_meanwhile_is_not_generated(start, other, monkeypatch):
    first, taken = taken_by(start, monkeypatch, lambda number: retire(start, other, number))
    assert ids_in_names(other.children(RETIRED)) == {first}
    assert mapped(other) == {"h7": taken}
    assert taken != first


def test_an_assigned_id_stays_reserved_while_its_mapping_cannot_be_read(start, other, monkeypatch):
    """The host registered under another id before, which is all that the owner of that id says."""
    ran = Owner(broker_id=5, key=STRANGER, incarnation=1, endpoints=frozenset({"h9:9092"}))
    other.commit([Create(f"{OWNERS}/5", format_owner(ran))])
    assign(start, other, ABOVE + 1)
    other.commit([Put(f"{HOSTS}/{STRANGER}", b"{")])
    assert taken_by(start, monkeypatch) == (ABOVE + 1, ABOVE + 2)
