"""A start on a real ZooKeeper, with a broker that registers as Kafka does."""

import shutil
import signal
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from kazoo.security import make_digest_acl

from acquire_process import Acquiring
from kafka_traffic import until
from rackwise.adapters.launch import AcquireOptions, acquire, driver
from rackwise.adapters.zookeeper import ZooKeeperView, create_znodes, open_zookeeper
from rackwise.core.errors import Unreachable
from rackwise.core.identity.nodes.nodes import parse_mapping, parse_owner
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    KNOWN,
    MISSING,
    OWNERS,
    RETIRED,
    TOPICS,
    Create,
    Put,
)

pytestmark = pytest.mark.zookeeper

BROKER = Path(__file__).parents[2] / "stand_in_broker.py"
PORTS = count(19_000)


class Fleet:
    """Hosts of one cluster; `start(key)` starts the broker of one, with us or `plain`."""

    def __init__(self, connect, folder):
        self.connect, self.folder = connect, folder
        self.running = []
        self.runs = count()
        self.ports = {}

    def properties(self, key, *lines):
        home = self.folder / key
        home.mkdir(exist_ok=True)
        port = self.ports.setdefault(key, next(PORTS))
        file = home / "server.properties"
        settings = (
            f"zookeeper.connect={self.connect}",
            f"log.dirs={home}/a,{home}/b",
            f"advertised.listeners=PLAINTEXT://{key}:{port}",
            "zookeeper.session.timeout.ms=4000",
        )
        file.write_text("\n".join((*settings, *lines)))
        return file

    def start(self, key, *lines, command=None, **options):
        file = self.properties(key, *lines)
        command = (sys.executable, BROKER, file) if command is None else command
        started = Acquiring(
            self.folder / "runs" / str(next(self.runs)),
            *command,
            server_properties=file,
            key=f"text:{key}",
            session_timeout_s=4.0,
            **options,
        )
        self.running.append(started)
        return started

    def wipe(self, key):
        for each in ("a", "b"):
            shutil.rmtree(self.folder / key / each, ignore_errors=True)

    def stored(self, key):
        files = sorted((self.folder / key).glob("*/meta.properties"))
        return [line for f in files for line in f.read_text().splitlines() if "broker.id" in line]

    def close(self):
        for each in self.running:
            each.close()


@pytest.fixture
def fleet(lone_zookeeper, chroot, tmp_path):
    url = lone_zookeeper.url + chroot
    with closing(open_zookeeper(lone_zookeeper.url)) as root:
        root._client.ensure_path(chroot)
    create_znodes(url, None)
    with closing(Fleet(lone_zookeeper.connect + chroot, tmp_path)) as running:
        yield running


@pytest.fixture
def store(fleet):
    with closing(open_zookeeper(f"zookeeper://{fleet.connect}")) as opened:
        yield opened


def registered(store):
    return ZooKeeperView(store).registered()


def mapped(store):
    return {
        key: parse_mapping(store.read([f"{HOSTS}/{key}"])[f"{HOSTS}/{key}"], key=key).broker_id
        for key in store.children(HOSTS)
    }


def nodes(store):
    """All that is stored about ids."""
    parents = (HOSTS, CLAIMS, OWNERS, KNOWN, MISSING, RETIRED, FENCE)
    paths = [FENCE, *(f"{each}/{name}" for each in parents for name in store.children(each))]
    return store.read(paths)


def is_up(started):
    assert started.process.poll() is None, started.told
    return "registered as" in started.told


def test_a_wiped_broker_comes_back_as_itself_after_kill_9(fleet, store):
    first = fleet.start("h7")
    until(lambda: is_up(first), "registered")
    (broker_id,) = registered(store)
    assert mapped(store) == {"h7": broker_id}
    assert fleet.stored("h7") == [f"broker.id={broker_id}"] * 2
    assert store.children(CLAIMS) == []
    owner = parse_owner(
        store.read([f"{OWNERS}/{broker_id}"])[f"{OWNERS}/{broker_id}"], id=broker_id
    )
    assert (owner.key, owner.incarnation) == ("h7", registered(store)[broker_id].incarnation)

    first.process.kill()
    first.wait()
    fleet.wipe("h7")
    again = fleet.start("h7")
    until(lambda: is_up(again), "registered")
    assert again.acquired()["how"] == "a"
    assert again.acquired()["id"] == broker_id
    assert len(again.acquired()["wrote"]) == 2
    assert mapped(store) == {"h7": broker_id}


def test_six_hosts_at_once_have_six_ids(fleet, store):
    starts = [fleet.start(f"h{number}") for number in range(6)]
    for started in starts:
        until(lambda it=started: is_up(it), "registered")
    ids = {started.acquired()["id"] for started in starts}
    assert len(ids) == 6
    assert set(registered(store)) == ids
    assert sorted(mapped(store).values()) == sorted(ids)


def test_the_childs_status_is_ours_and_its_signal_its_own(fleet):
    started = fleet.start("h7")
    until(lambda: is_up(started), "registered")
    started.process.send_signal(signal.SIGTERM)
    assert started.wait() == 143


def test_a_child_that_never_registers_gives_its_claim_back(fleet, store):
    started = fleet.start("h7", command=(sys.executable, "-c", "raise SystemExit(9)"))
    assert started.wait() == 9
    assert store.children(CLAIMS) == []
    assert list(mapped(store)) == ["h7"]


def test_a_second_broker_of_a_host_is_refused(fleet):
    first = fleet.start("h7")
    until(lambda: is_up(first), "registered")
    fleet.wipe("h7")
    second = fleet.start("h7", wait_s=1.0)
    assert second.wait() == 4
    assert "waiting for id 1001: held by session 0x" in second.told
    assert second.told.splitlines()[-1] == "HostHasLiveBroker"
    assert fleet.stored("h7") == []


class Wrapped:
    """A store that another one is."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)


class Impatient(Wrapped):
    """A store on which no wait may be in vain."""

    def wait(self, paths, timeout_ms):
        heard = self._store.wait(paths, timeout_ms)
        assert heard, f"waited {timeout_ms} ms for what was there"
        return heard


class Unreached(Wrapped):
    """A store that cannot be reached when a broker is first seen registered; `tries` so far."""

    tries = 0

    def commit(self, ops):
        if any(isinstance(op, Put) and op.path.startswith(OWNERS) for op in ops):
            self.tries += 1
            if self.tries == 1:
                raise Unreachable("the store does not answer")
        self._store.commit(ops)


def test_a_store_that_goes_away_while_a_broker_runs_ends_nothing(fleet, store, monkeypatch):
    """The broker is registered and lives by itself; its owner is written when the store is back."""
    gone = Unreached(open_zookeeper(f"zookeeper://{fleet.connect}"))
    monkeypatch.setattr(driver.stores, "open_store", lambda *_, **__: gone)
    monkeypatch.setattr(driver, "_view", lambda *_: ZooKeeperView(gone))
    file = fleet.properties("h7")
    options = AcquireOptions(server_properties=file, key="text:h7")

    def end(line):
        if line.startswith("registered as"):
            signal.raise_signal(signal.SIGTERM)

    done = acquire(options, [sys.executable, str(BROKER), str(file)], report=end)
    assert (gone.tries, done.exit_status) == (2, 143)
    assert store.children(OWNERS) == [str(done.id)]
    assert store.children(CLAIMS) == []


def test_a_broker_that_registers_at_once_is_not_waited_for(fleet, store, monkeypatch):
    impatient = Impatient(open_zookeeper(f"zookeeper://{fleet.connect}"))
    monkeypatch.setattr(driver.stores, "open_store", lambda *_, **__: impatient)
    monkeypatch.setattr(driver, "_view", lambda *_: ZooKeeperView(impatient))
    told = b'{"version":5,"endpoints":["PLAINTEXT://h7:%d"]}'

    def register(taken):
        data = told % fleet.ports["h7"]
        store.commit([Create(f"{IDS}/{taken.id}", data, ephemeral=True)])

    options = AcquireOptions(server_properties=fleet.properties("h7"), key="text:h7")
    done = acquire(options, None, on_acquired=register)
    assert list(registered(store)) == [done.id]
    assert store.children(CLAIMS) == []


@pytest.mark.long
def test_to_the_letter_the_mapping_is_stored_last_and_nothing_is_claimed(fleet, store):
    started = fleet.start("h7", "boot.ms=60000", literal=True)
    until(lambda: fleet.stored("h7"), "the file")
    assert mapped(store) == {}
    assert store.children(CLAIMS) == []
    started.process.send_signal(signal.SIGTERM)
    assert started.wait() == 143
    again = fleet.start("h7", literal=True)
    until(lambda: is_up(again), "registered")
    assert mapped(store) == {"h7": again.acquired()["id"]}


def test_without_a_command_it_waits_for_the_registration(fleet, store):
    started = fleet.start("h7", command=(), hold_s=0.5)
    assert started.wait() == 3
    assert started.told.splitlines()[-1] == "NotRegistered"
    assert store.children(CLAIMS) == []


def test_one_spare_id_goes_to_one_of_four_strangers(fleet, store):
    """S7 and S8: four dirs, four ids, nobody refused."""
    topic = b'{"version":3,"partitions":{"0":[9]},"adding_replicas":{},"removing_replicas":{}}'
    store.commit([Create(f"{TOPICS}/orders", topic)])
    told = {"spare": "unmapped", "grace_s": 0, "on_blocked": "generate"}
    starts = {f"x{each}": fleet.start(f"x{each}", **told) for each in range(4)}
    for started in starts.values():
        until(lambda it=started: is_up(it), "registered")
    ids = [started.acquired()["id"] for started in starts.values()]
    assert min(ids) == 9
    assert len(set(ids)) == 4
    assert [key for key, it in starts.items() if it.acquired()["how"] == "b1"] == [
        key for key, broker_id in mapped(store).items() if broker_id == 9
    ]


def test_an_unmapped_spare_is_taken_by_a_start_with_the_default_options(fleet, store):
    """Its grace is shortened; with the 300 s of the default it is counted the same way."""
    topic = b'{"version":3,"partitions":{"0":[9]}}'
    store.commit([Create(f"{TOPICS}/orders", topic)])
    patient = fleet.start("x0", spare="unmapped")
    waiting = "waiting for id 9: not missing long enough, 0.0 s of 300 s"
    until(lambda: waiting in patient.told, "a start that waits for the end of the grace")
    patient.close()
    started = fleet.start("x1", spare="unmapped", grace_s=2.0)
    until(lambda: is_up(started), "registered")
    acquired = started.acquired()
    assert (acquired["id"], acquired["how"]) == (9, "b1")
    assert 2_000 <= acquired["waited_ms"] < 20_000


def test_a_spare_that_is_mapped_elsewhere_is_not_waited_for(fleet, store):
    topic = b'{"version":3,"partitions":{"0":[9]}}'
    mapping = b'{"version":0,"broker.id":9}'
    store.commit([Create(f"{TOPICS}/orders", topic), Create(f"{HOSTS}/g", mapping)])
    started = fleet.start("x0", spare="unmapped")
    assert started.wait() == 4
    assert started.told.splitlines()[-1] == "SpareReserved"


def test_a_refusal_leaves_store_and_disks_as_they_were(fleet, store):
    topic = b'{"version":3,"partitions":{"0":[9]}}'
    store.commit([Create(f"{TOPICS}/orders", topic), Create(f"{HOSTS}/h7", b"not json")])
    before = nodes(store)
    started = fleet.start("h7", spare="unmapped")
    assert started.wait() == 4
    assert started.told.splitlines()[-1] == "MappingCorrupt"
    assert nodes(store) == before
    assert fleet.stored("h7") == []


ORDERS = b'{"version":3,"partitions":{"0":[9]}}'


def unreadable(store, key, *, is_denied):
    """A mapping that is not JSON, or that its owner lets nobody read."""
    path = f"{HOSTS}/{key}"
    store.commit([Create(path, b"not json")])
    if is_denied:
        store._client.set_acls(path, [make_digest_acl("thief", "secret", all=True)])


@pytest.mark.parametrize("is_denied", [False, True])
class TestAMappingOfAnotherHostThatCannotBeRead:
    """It blocks its own host, and the ids that it may have; nothing else."""

    def test_a_new_host_gets_a_new_id(self, fleet, store, is_denied):
        store.commit([Create(f"{OWNERS}/9", b'{"version":0,"key":"g","endpoints":[]}')])
        unreadable(store, "g", is_denied=is_denied)
        started = fleet.start("h7")
        until(lambda: is_up(started), "registered")
        assert started.acquired()["how"] == "gen"
        (warning,) = started.acquired()["warnings"]
        assert warning.startswith("MAPPING_UNREADABLE: key g: ")
        remedy = "log in as the owner of" if is_denied else "broker-id assign g ID --force"
        assert remedy in warning
        own = fleet.start("g")
        assert own.wait() == 4
        assert own.told.splitlines()[-1] == "MappingCorrupt"

    def test_a_new_host_gets_none_while_no_owner_names_its_id(self, fleet, store, is_denied):
        unreadable(store, "g", is_denied=is_denied)
        started = fleet.start("h7")
        assert started.wait() == 4
        assert started.told.splitlines()[-1] == "MappingCorrupt"

    @pytest.mark.parametrize("owner", [None, "g", "old"])
    def test_a_spare_that_may_be_its_own_is_kept_for_it(self, fleet, store, is_denied, owner):
        store.commit([Create(f"{TOPICS}/orders", ORDERS)])
        if owner:
            data = f'{{"version":0,"key":"{owner}","endpoints":[]}}'.encode()
            store.commit([Create(f"{OWNERS}/9", data)])
        unreadable(store, "g", is_denied=is_denied)
        started = fleet.start("h7", spare="unmapped", grace_s=0)
        assert started.wait() == 4
        assert started.told.splitlines()[-1] == "SpareReserved"
        assert "9 (perhaps mapped to g, which cannot be read" in started.told


class TestALostSession:
    """S12 and S15: who sleeps through its session wrote nothing, and takes nothing back."""

    def asleep(self, fleet, store, stop_at, *lines, **options):
        """A start that stands still, and whose session has ended."""
        started = fleet.start("h7", *lines, stop_at=stop_at, **options)
        until(started.is_stopped, f"stopped at {stop_at}")
        assert list(mapped(store)) == ["h7"]
        until(lambda: store.children(CLAIMS) == [], "the end of its session")
        return started

    def test_before_the_file_it_writes_nothing(self, fleet, store):
        started = self.asleep(fleet, store, "key h7 ->")
        started.process.send_signal(signal.SIGCONT)
        assert started.wait() == 3
        assert started.told.splitlines()[-1] == "ClaimLost"
        assert fleet.stored("h7") == []
        assert registered(store) == {}

    @pytest.mark.long
    def test_before_the_command_it_takes_the_file_back(self, fleet, store):
        started = self.asleep(fleet, store, "wrote meta.properties")
        assert len(fleet.stored("h7")) == 2
        started.process.send_signal(signal.SIGCONT)
        assert started.wait() == 3
        assert fleet.stored("h7") == []

    @pytest.mark.long
    def test_while_the_broker_boots_it_claims_again(self, fleet, store):
        started = self.asleep(fleet, store, "waiting for registration", "boot.ms=12000")
        started.process.send_signal(signal.SIGCONT)
        until(lambda: store.children(CLAIMS), "claimed again")
        until(lambda: is_up(started), "registered")
        assert store.children(CLAIMS) == []

    @pytest.mark.long
    def test_unless_the_key_has_another_id_by_then(self, fleet, store):
        started = self.asleep(fleet, store, "waiting for registration", "boot.ms=30000")
        store.commit([Put(f"{HOSTS}/h7", b'{"version":0,"broker.id":9}')])
        started.process.send_signal(signal.SIGCONT)
        assert started.wait() == 3
        assert started.told.splitlines()[-1] == "ClaimLost"
        assert fleet.stored("h7") == []
        assert registered(store) == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "point", ["key h7 ->", "wrote meta.properties", "waiting for registration", "registered as"]
)
def test_the_id_is_the_same_wherever_a_start_is_killed(fleet, store, point):
    """S9: another host starts between the kill and the second start."""
    boots = "boot.ms=7000" if point.startswith("waiting") else "boot.ms=0"
    first = fleet.start("h7", boots, stop_at=point)
    until(first.is_stopped, point)
    (broker_id,) = mapped(store).values()
    first.process.kill()
    first.wait()
    other = fleet.start("x")
    until(lambda: is_up(other), "registered")
    again = fleet.start("h7")
    until(lambda: is_up(again), "registered")
    assert again.acquired()["id"] == broker_id
    assert mapped(store) == {"h7": broker_id, "x": other.acquired()["id"]}
    assert set(registered(store)) == set(mapped(store).values())
    assert fleet.stored("h7") == [f"broker.id={broker_id}"] * 2
