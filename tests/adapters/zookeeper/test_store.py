"""The store in ZooKeeper where it goes wrong: answers lost, sessions expired, servers killed."""

from __future__ import annotations

import io
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from cut_proxy import CutProxy
from identity_stores import Place, claimers, told_by
from kafka_traffic import until
from rackwise.adapters.zookeeper import check_znodes, create_znodes, open_zookeeper
from rackwise.core.errors import Conflict, OutcomeUnknown, Unreachable
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    SEQUENCE,
    Absent,
    Create,
    Delete,
    Put,
)

pytestmark = pytest.mark.zookeeper

H7, CLAIM7 = f"{HOSTS}/h7", f"{CLAIMS}/7"
CLAIMERS = 30
CREATE = (1).to_bytes(4)
"""ZooKeeper's number for what makes a node; the length of the path follows it."""


@pytest.fixture
def place(lone_zookeeper, chroot):
    with ExitStack() as running:
        yield Place(lone_zookeeper.url + chroot, running).prepare()


@pytest.fixture
def proxy(lone_zookeeper):
    with CutProxy(lone_zookeeper.port) as made:
        yield made


@pytest.fixture
def cut_store(place, proxy):
    """A store behind the proxy."""
    with open_zookeeper(place.url.replace(f":{proxy.target}/", f":{proxy.port}/")) as store:
        yield store


def expire(store):
    """End a session as ZooKeeper would: another connection takes it over and closes it."""
    from kazoo.client import KazooClient

    client = store._client
    before = store.session
    thief = KazooClient(hosts=client.hosts and _hosts(client), client_id=client.client_id)
    thief.start()
    thief.stop()
    thief.close()
    until(lambda: store.session != before, "a new session")


def _hosts(client):
    return ",".join(f"{host}:{port}" for host, port in client.hosts)


def test_a_commit_whose_answer_is_lost_is_unknown_and_may_have_been_done(place, proxy, cut_store):
    store = place.open()
    proxy.cut_next_answer()
    with pytest.raises(OutcomeUnknown) as raised:
        cut_store.commit([Create(H7, b"7"), Create(CLAIM7, b"", ephemeral=True)])
    assert raised.value.hint == "read again to see whether the commit took effect"
    assert proxy.cuts == 1
    assert cut_store.read([H7])[H7].data == b"7"
    assert cut_store.read([CLAIM7])[CLAIM7].session == cut_store.session
    assert store.read([CLAIM7]) == cut_store.read([CLAIM7])
    with pytest.raises(Conflict):
        cut_store.commit([Create(H7, b"7")])


def test_reads_are_asked_again_until_they_are_answered(place, proxy, cut_store):
    place.open().commit([Create(f"{HOSTS}/h{number}", b"") for number in range(50)])
    proxy.cut_next_answer()
    assert len(cut_store.children(HOSTS)) == 50
    proxy.cut_next_answer()
    assert None not in cut_store.read([f"{HOSTS}/h{number}" for number in range(50)]).values()
    proxy.drop()
    assert cut_store.now_ms() > 0
    assert proxy.cuts == 2


def test_a_number_whose_answer_is_lost_is_burnt_and_no_other_gets_it(place, proxy, cut_store):
    store = place.open()
    assert cut_store.next_number() == 1
    proxy.cut_next_answer()
    drawn = cut_store.next_number()
    assert drawn == store.read([SEQUENCE])[SEQUENCE].version == 3
    assert store.next_number() == 4


@pytest.mark.parametrize("below", ["", HOSTS])
def test_a_node_whose_making_was_not_answered_is_there(lone_zookeeper, chroot, proxy, below):
    path = (chroot + below).encode()
    proxy.cut_answer_to(CREATE + len(path).to_bytes(4) + path)
    made = create_znodes(f"zookeeper://{proxy.connect}{chroot}")
    assert proxy.cuts == 1
    assert {each.path for each in made if each.state == "present"} == ({below} - {""})
    assert {each.state for each in check_znodes(lone_zookeeper.url + chroot)} == {"present"}


def test_nodes_may_be_made_by_many_at_once(lone_zookeeper, chroot):
    url = lone_zookeeper.url + chroot
    with ThreadPoolExecutor(8) as operators:
        told = list(operators.map(create_znodes, [url] * 8))
    for states in zip(*told, strict=True):
        assert sum(each.state == "made" for each in states) == 1
        assert {each.state for each in states} <= {"made", "present"}


def test_a_wait_over_a_lost_connection_tells_of_all_paths(proxy, cut_store):
    _ = cut_store.read([H7, FENCE])
    assert cut_store.wait([H7, FENCE], 0) == frozenset()
    proxy.drop()
    assert cut_store.wait([H7, FENCE], 30_000) == {H7, FENCE}


def test_a_node_that_was_there_for_a_moment_is_told_by_the_next_wait(place):
    store, other = place.open(), place.open()
    _ = store.read([CLAIM7, FENCE])
    assert store.wait([CLAIM7, FENCE], 0) == frozenset()
    other.commit([Absent(CLAIM7)])
    _ = store.read([CLAIM7, FENCE])
    assert store.wait([FENCE], 50) == frozenset()
    assert store.wait([CLAIM7, FENCE], 30_000) == {CLAIM7}
    assert store.wait([CLAIM7, FENCE], 0) == frozenset()


def test_an_expired_session_loses_its_claims_and_is_followed_by_another(place):
    store = place.open()
    store.commit([Create(CLAIM7, b"", ephemeral=True), Create(H7, b"")])
    before = store.session
    expire(store)
    assert store.session != before
    assert store.read([CLAIM7])[CLAIM7] is None
    store.commit([Create(CLAIM7, b"", ephemeral=True), Put(H7, b"", 0)])
    assert store.read([CLAIM7])[CLAIM7].session == store.session


def test_an_expired_session_ends_a_wait(place):
    store = place.open()
    _ = store.read([CLAIM7])
    assert store.wait([CLAIM7], 0) == frozenset()
    expire(store)
    assert store.wait([CLAIM7], 30_000) == {CLAIM7}


def test_a_server_that_does_not_answer_is_unreachable(make_lone_zookeeper):
    server = make_lone_zookeeper()
    url = server.url
    place = Place(url, ExitStack()).prepare()
    with open_zookeeper(place.url, patience_s=0.3) as store:
        server.server.kill()
        for call in (
            lambda: store.read([FENCE]),
            lambda: store.children(HOSTS),
            store.now_ms,
            store.next_number,
            lambda: store.commit([Put(FENCE, b"")]),
        ):
            with pytest.raises((Unreachable, OutcomeUnknown)):
                call()
        assert store.wait([FENCE], 0) == {FENCE}
        with pytest.raises(Unreachable) as refused:
            open_zookeeper(url, connect_s=0.5)
        assert refused.value.where == url
        assert "Connection refused" in refused.value.message
    server.start()
    with open_zookeeper(url) as store:
        assert store.read([FENCE])[FENCE].version == 0


@pytest.mark.long
def test_a_paused_server_is_waited_for(make_lone_zookeeper):
    server = make_lone_zookeeper()
    Place(server.url, ExitStack()).prepare()
    with open_zookeeper(server.url) as store:
        server.server.pause()
        with pytest.raises(Unreachable):
            open_zookeeper(server.url, connect_s=0.5)
        server.server.resume()
        assert store.read([FENCE])[FENCE].version == 0


def rounds_of(server):
    """Claimers through a SIGKILL and a restart of ZooKeeper; what they say, and what is stored."""
    url = Place(server.url, ExitStack()).prepare().url
    with claimers(url, CLAIMERS, "rounds") as process, open_zookeeper(url) as store:
        until(lambda: len(store.children(HOSTS)) == CLAIMERS, "all to have begun")
        before = store.read([SEQUENCE])[SEQUENCE].version
        server.server.kill()
        server.start()
        fence = store.read([FENCE])[FENCE].version
        until(lambda: store.read([FENCE])[FENCE].version > fence + CLAIMERS, "rounds after it")
        process.stdin.write("enough\n")
        process.stdin.flush()
        told = told_by(process, CLAIMERS)
        held = store.read([f"{CLAIMS}/{name}" for name in store.children(CLAIMS)])
        mapped = store.read([f"{HOSTS}/{name}" for name in store.children(HOSTS)])
        assert store.read([SEQUENCE])[SEQUENCE].version == before
    return told, held, mapped


def check_agreement(told, held, mapped):
    """One id each, the mapping and the claim of every key agree, and connections were lost."""
    assert len({each["id"] for each in told}) == CLAIMERS
    assert {path: int(node.data) for path, node in mapped.items()} == {
        f"{HOSTS}/{each['key']}": each["id"] for each in told
    }
    assert {path: node.data.decode() for path, node in held.items()} == {
        f"{CLAIMS}/{each['id']}": each["key"] for each in told
    }
    assert sum(each["unknown"] for each in told) > 0


@pytest.mark.fault
@pytest.mark.long
def test_thirty_claimers_keep_their_ids_when_zookeeper_is_killed(make_lone_zookeeper):
    check_agreement(*rounds_of(make_lone_zookeeper()))


@pytest.mark.fault
@pytest.mark.long
@pytest.mark.parametrize("run", range(10))
def test_thirty_claimers_keep_their_ids_ten_times(make_lone_zookeeper, run):
    told, held, mapped = rounds_of(make_lone_zookeeper())
    print(f"run {run}: {sum(each['unknown'] for each in told)} answers lost")
    check_agreement(told, held, mapped)


def test_the_client_logs_nothing_whatever_is_configured(place):
    heard = io.StringIO()
    root = logging.getLogger()
    handler, level = logging.StreamHandler(heard), root.level
    root.addHandler(handler)
    root.setLevel(1)
    try:
        with place.open() as store:
            store.commit([Create(H7, b"canary")])
            store.commit([Delete(H7)])
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert "canary" not in heard.getvalue()
