"""One suite for every store of identities: ZooKeeper, and a directory."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from threading import Thread

import pytest

from identity_stores import Place, claimers, told_by
from kafka_traffic import until
from rackwise.core.errors import Conflict, InvalidConfig, MissingPermission
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    CLOCK,
    FENCE,
    HOSTS,
    IDS,
    KAFKAS,
    MISSING_LEADER,
    OURS,
    SEQUENCE,
    Absent,
    Check,
    Create,
    Delete,
    Put,
)
from rackwise.core.identity.refusals import StoreNotReady

H7, CLAIM7 = f"{HOSTS}/h7", f"{CLAIMS}/7"
PROCESSES = 50
SHORT_S = 2.0


@pytest.fixture(params=["directory", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def empty(request, tmp_path):
    """Where a store may be made."""
    with ExitStack() as running:
        if request.param == "directory":
            yield Place(f"file://{tmp_path}/store", running)
        else:
            server = request.getfixturevalue("lone_zookeeper")
            yield Place(server.url + request.getfixturevalue("chroot"), running)


@pytest.fixture
def place(empty):
    return empty.prepare()


@pytest.fixture
def store(place):
    return place.open()


def dump(store):
    """Every node that a commit could touch."""
    paths = [*KAFKAS, *OURS, MISSING_LEADER]
    paths += [f"{parent}/{name}" for parent in (HOSTS, CLAIMS) for name in store.children(parent)]
    return store.read(paths)


def test_a_prepared_store_has_all_parents_and_the_fence(store):
    assert None not in store.read([*KAFKAS, *OURS]).values()
    assert store.read([FENCE])[FENCE].version == 0


def test_preparing_is_told_and_done_once(empty):
    from rackwise.adapters.launch.views.stores import init_store

    assert {each.state for each in init_store(empty.url, check=True)} == {"missing"}
    with pytest.raises(StoreNotReady) as refused:
        empty.open()
    assert "broker-id init" in refused.value.hint
    assert {each.state for each in init_store(empty.url)} == {"made"}
    assert {each.state for each in init_store(empty.url)} == {"present"}
    assert {each.state for each in init_store(empty.url, check=True)} == {"present"}


def test_what_is_written_is_read(store):
    store.commit([Create(H7, b'{"version":0,"broker.id":7}')])
    node = store.read([H7])[H7]
    assert (node.data, node.version, node.session) == (b'{"version":0,"broker.id":7}', 0, None)
    assert node.created_ms == node.modified_ms > 0


@pytest.mark.parametrize("data", [b"", b"\xff\x00\x80", "ö\U0001f600".encode(), b"x" * 100_000])
def test_data_are_bytes(store, data):
    store.commit([Create(H7, data)])
    assert store.read([H7])[H7].data == data


def test_a_node_that_is_not_there_is_none_and_has_no_children(store):
    assert store.read([H7, "/nowhere/at/all"]) == {H7: None, "/nowhere/at/all": None}
    assert store.children("/nowhere") == []
    assert store.read([]) == {}


def test_children_are_names_in_order(store):
    store.commit([Create(f"{HOSTS}/{name}", b"") for name in ("b", "a", "c:1")])
    assert store.children(HOSTS) == ["a", "b", "c:1"]
    assert "hosts" in store.children("/brokers")


def test_thousands_of_nodes_are_read_at_once(store):
    names = [f"h{number}" for number in range(1200)]
    store.commit([Create(f"{HOSTS}/{name}", name.encode()) for name in names])
    heard = []
    found = store.read([f"{HOSTS}/{name}" for name in store.children(HOSTS)], heard.append)
    assert {path.rpartition("/")[2]: node.data.decode() for path, node in found.items()} == {
        name: name for name in names
    }
    assert sum(heard) == len(names)


def test_each_put_counts_the_version(store):
    store.commit([Create(H7, b"a")])
    first = store.read([H7])[H7]
    store.commit([Put(H7, b"b", 0)])
    store.commit([Put(H7, b"b")])
    node = store.read([H7])[H7]
    assert (node.data, node.version, node.czxid) == (b"b", 2, first.czxid)
    assert node.created_ms == first.created_ms <= node.modified_ms


def test_a_node_made_again_is_another_incarnation(store):
    store.commit([Create(H7, b"")])
    first = store.read([H7])[H7]
    store.commit([Put(H7, b"")])
    store.commit([Delete(H7, 1)])
    assert store.read([H7]) == {H7: None}
    store.commit([Create(H7, b"")])
    second = store.read([H7])[H7]
    assert second.version == 0
    assert second.czxid > first.czxid


@pytest.mark.parametrize(
    "op",
    [
        Absent(H7),
        Create(H7, b""),
        Check(H7, 1),
        Put(H7, b"", 1),
        Delete(H7, 1),
        Check(f"{HOSTS}/h8", 0),
        Put(f"{HOSTS}/h8", b""),
        Put(f"{HOSTS}/h8", b"", 0),
        Delete(f"{HOSTS}/h8"),
        Delete(HOSTS),
    ],
    ids=str,
)
def test_an_operation_that_does_not_hold_is_named_and_nothing_is_done(store, op):
    store.commit([Create(H7, b"")])
    before = dump(store)
    with pytest.raises(Conflict) as refused:
        store.commit([Put(FENCE, b""), Create(CLAIM7, b"", ephemeral=True), op, Put(CLOCK, b"")])
    assert refused.value.had == op
    assert refused.value.where == op.path
    assert dump(store) == before


@pytest.mark.parametrize("op", [Create("/nowhere/h", b""), Absent("/nowhere/h")], ids=str)
def test_a_parent_that_is_not_there_wants_init(store, op):
    with pytest.raises(StoreNotReady) as refused:
        store.commit([op])
    assert refused.value.where == "/nowhere"


@pytest.mark.parametrize("op", [Check(H7, 0), Put(H7, b"", 0), Delete(H7, 0)], ids=str)
def test_an_operation_at_its_version_holds(store, op):
    store.commit([Create(H7, b"")])
    store.commit([op])


def test_absent_leaves_nothing_behind(store):
    before = store.read([IDS])[IDS]
    store.commit([Absent(f"{IDS}/7")])
    assert store.read([IDS, f"{IDS}/7"]) == {IDS: before, f"{IDS}/7": None}


def test_an_empty_commit_is_none(store):
    before = dump(store)
    store.commit([])
    assert dump(store) == before


def test_operations_of_one_commit_see_each_other(store):
    store.commit([Create(H7, b"a"), Put(H7, b"b", 0), Check(H7, 1)])
    assert store.read([H7])[H7].data == b"b"
    store.commit([Delete(H7), Absent(H7)])
    assert store.read([H7])[H7] is None


def test_a_claim_carries_its_session_and_goes_with_it(place, store):
    other = place.open()
    other.commit([Create(CLAIM7, b"mine", ephemeral=True), Create(H7, b"")])
    node = store.read([CLAIM7])[CLAIM7]
    assert node.session == other.session != store.session
    assert store.children(CLAIMS) == ["7"]
    other.close()
    assert store.read([CLAIM7]) == {CLAIM7: None}
    assert store.children(CLAIMS) == []
    assert store.read([H7])[H7] is not None


def test_a_claim_can_be_taken_back_and_made_again(place, store):
    for version in range(2):
        store.commit([Create(CLAIM7, str(version).encode(), ephemeral=True)])
        store.commit([Delete(CLAIM7, 0)])
    assert store.read([CLAIM7]) == {CLAIM7: None}
    other = place.open()
    other.commit([Create(CLAIM7, b"other", ephemeral=True)])
    assert store.read([CLAIM7])[CLAIM7].session == other.session


def test_a_claim_that_is_deleted_by_another_is_gone(place, store):
    other = place.open()
    other.commit([Create(CLAIM7, b"", ephemeral=True)])
    store.commit([Delete(CLAIM7)])
    assert other.read([CLAIM7]) == {CLAIM7: None}
    store.commit([Create(CLAIM7, b"", ephemeral=True)])
    other.close()
    assert store.read([CLAIM7])[CLAIM7].session == store.session


def test_a_claim_goes_with_its_process(place, store):
    script = (
        "import sys; from rackwise.adapters.launch.views.stores import open_store\n"
        "from rackwise.core.identity.nodes.store import Create\n"
        f"store = open_store({place.url!r}, session_timeout_s={SHORT_S})\n"
        f"store.commit([Create({CLAIM7!r}, b'', ephemeral=True), Create({H7!r}, b'')])\n"
        "print('claimed', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"claimed\n"
        assert store.read([CLAIM7])[CLAIM7].session != store.session
        process.kill()
    until(lambda: store.read([CLAIM7])[CLAIM7] is None, "the claim of a killed process to go")
    assert store.read([H7])[H7] is not None
    store.commit([Create(CLAIM7, b"", ephemeral=True)])
    assert store.children(CLAIMS) == ["7"]


def test_numbers_come_once_each_in_order(place, store):
    other = place.open()
    drawn = [each.next_number() for _ in range(5) for each in (store, other)]
    assert drawn == list(range(1, 11))
    assert store.read([SEQUENCE])[SEQUENCE].version == 10


def test_the_clock_is_the_stores_and_does_not_go_back(place, store):
    other = place.open()
    times = [each.now_ms() for _ in range(3) for each in (store, other)]
    assert times == sorted(times)
    assert store.read([CLOCK])[CLOCK].modified_ms == times[-1]


def test_a_wait_without_a_change_ends_with_its_time(store):
    _ = store.read([H7])
    assert store.wait([H7], 50) == frozenset()


def test_a_wait_hears_what_another_changes(place, store):
    other = place.open()
    _ = store.read([H7, CLAIM7])
    waiter = Thread(target=lambda: other.commit([Create(H7, b"")]))
    waiter.start()
    assert store.wait([H7, CLAIM7], 30_000) == {H7}
    waiter.join()


@pytest.mark.parametrize("op", [Put(H7, b"b"), Delete(H7)], ids=str)
def test_a_wait_knows_what_changed_since_it_was_read(place, store, op):
    other = place.open()
    store.commit([Create(H7, b"a")])
    _ = store.read([H7])
    other.commit([op])
    assert store.wait([H7, FENCE], 30_000) == {H7}
    while store.wait([H7], 0):
        pass  # its watch may tell of the same change
    assert store.wait([H7, FENCE], 0) == frozenset()


def test_a_wait_hears_of_children(place, store):
    other = place.open()
    assert store.children(CLAIMS) == []
    other.commit([Create(CLAIM7, b"", ephemeral=True)])
    assert store.wait([CLAIMS], 30_000) == {CLAIMS}
    assert store.children(CLAIMS) == ["7"]
    other.close()
    assert store.wait([CLAIMS], 30_000) == {CLAIMS}


def test_a_store_for_reading_writes_nothing(place, store):
    store.commit([Create(H7, b"")])
    before = dump(store)
    reader = place.open(read_only=True)
    for write in (lambda: reader.commit([Put(FENCE, b"")]), reader.next_number):
        with pytest.raises(MissingPermission) as refused:
            write()
        assert "read_only" in refused.value.hint
    assert reader.now_ms() > 0
    assert dump(reader) == before


def test_a_closed_store_may_be_closed_again(place):
    store = place.open()
    store.close()
    store.close()


def test_fifty_processes_have_fifty_ids(place, store):
    with claimers(place.url, PROCESSES) as process:
        told = told_by(process, PROCESSES)
        held = store.read([f"{CLAIMS}/{name}" for name in store.children(CLAIMS)])
        mapped = store.read([f"{HOSTS}/{name}" for name in store.children(HOSTS)])
    assert sorted(each["id"] for each in told) == list(range(PROCESSES))
    assert {(path, node.session, node.data.decode()) for path, node in held.items()} == {
        (f"{CLAIMS}/{each['id']}", each["session"], each["key"]) for each in told
    }
    assert {path: int(node.data) for path, node in mapped.items()} == {
        f"{HOSTS}/{each['key']}": each["id"] for each in told
    }
    assert store.read([FENCE])[FENCE].version == PROCESSES


@pytest.mark.parametrize(
    "url",
    ["", "/srv/ids", "file://relative", "file:///a%00b", "http://zk:2181", "zookeeper://",
     "zookeeper://zk:0", "zookeeper://zk:65536", "zookeeper://zk:2181//a", "zookeeper://a b",
     "zookeeper://zk:2181/a/../b", "zookeeper://user:pass@zk:2181"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url):
    from rackwise.adapters.launch.views.stores import open_store

    with pytest.raises(InvalidConfig) as refused:
        open_store(url)
    assert refused.value.hint.startswith("use for example --store zookeeper://")
