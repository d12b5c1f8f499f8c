"""A watcher of missing ids on a real ZooKeeper."""

import json
import threading
from contextlib import closing

import pytest

from kafka_traffic import until
from rackwise.adapters.launch.watch import run_watcher
from rackwise.adapters.zookeeper import ZooKeeperView, create_znodes, open_zookeeper
from rackwise.core.identity.nodes.store import IDS, KNOWN, MISSING, Create

pytestmark = pytest.mark.zookeeper


class Ended(Exception):
    """The test is over."""


class Watcher:
    """A watcher in a thread of its own."""

    def __init__(self, url):
        self.over = threading.Event()
        self.store = open_zookeeper(url)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            run_watcher(
                self.store,
                ZooKeeperView(self.store),
                name="{}",
                rescan_ms=3_600_000,
                on_rest=lambda _: None,
                check_stop=self.each_round,
                on_error=lambda _: None,
            )
        except Ended:
            self.store.close()

    def each_round(self):
        if self.over.is_set():
            raise Ended

    def close(self):
        self.over.set()
        self.thread.join()


@pytest.fixture
def url(lone_zookeeper, chroot):
    with closing(open_zookeeper(lone_zookeeper.url)) as root:
        root._client.ensure_path(chroot)
    create_znodes(lone_zookeeper.url + chroot, None)
    return lone_zookeeper.url + chroot


def broker(url, broker_id):
    """A registration, which goes when it is closed."""
    store = open_zookeeper(url)
    data = {"version": 5, "endpoints": [f"PLAINTEXT://h{broker_id}:9092"]}
    store.commit([Create(f"{IDS}/{broker_id}", json.dumps(data).encode(), ephemeral=True)])
    return store


def test_a_marker_is_written_once_while_its_id_stays_away(url):
    with closing(open_zookeeper(url)) as store, closing(Watcher(url)):
        with closing(broker(url, 7)):
            until(lambda: store.children(KNOWN) == ["7"], "7 is known")
        until(lambda: store.children(MISSING) == ["7"], "7 is missing")
        path = f"{MISSING}/7"
        version = store.read([path])[path].version
        for other in range(20, 30):
            with closing(broker(url, other)):
                until(lambda it=other: str(it) in store.children(KNOWN), "the other is known")
        assert store.read([path])[path].version <= version + 1


def test_an_id_that_is_back_is_not_missing(url):
    with closing(open_zookeeper(url)) as store, closing(Watcher(url)):
        with closing(broker(url, 7)):
            until(lambda: store.children(KNOWN) == ["7"], "7 is known")
        until(lambda: store.children(MISSING) == ["7"], "7 is missing")
        with closing(broker(url, 7)):
            until(lambda: store.children(MISSING) == [], "7 is back")


def test_another_one_leads_when_the_first_is_gone(url):
    with closing(open_zookeeper(url)) as store:
        with closing(broker(url, 7)), closing(Watcher(url)):
            until(lambda: store.children(KNOWN) == ["7"], "7 is known")
        with closing(Watcher(url)):
            until(lambda: store.children(MISSING) == ["7"], "7 is missing")
