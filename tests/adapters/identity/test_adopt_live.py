"""Brokers of Kafka 3.9 that run without Rackwise are adopted, then lose their disks."""

import os
import signal
from contextlib import closing

import pytest

from kafka_traffic import create, until
from launched_brokers import ZooKeeperBrokers
from rackwise.adapters.launch.views import stores
from rackwise.adapters.sandbox.ports import is_open
from rackwise.core.errors import MissingPermission
from rackwise.core.identity.nodes.store import HOSTS, Delete, Put
from refusals import called
from shown_commands import ROOT, missing_lines, shown_commands

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault]

GUIDE = ROOT / "docs" / "guides" / "broker-identity.md"
SECTION = "Adopt brokers that run already"
SHOWN_STORE = "zookeeper://zk-1:2181/kafka"
CODES = [0, 2, 0, 0]
"""Of the commands of the section, in order."""
PARTITIONS = 4
BACK_S = 90.0
IDS = [1001, 1002]
"""Kafka generates them."""


@pytest.fixture
def fleet(java_home, tmp_path):
    """Two brokers that run plainly, with a topic on both."""
    folder = tmp_path / "adopted"
    with ZooKeeperBrokers(java_home=java_home, folder=folder, brokers=2, is_adopted=True) as made:
        for number in made.brokers:
            plain(made, number)
        with made.admin() as admin:
            until(lambda: len(admin.describe_cluster()["brokers"]) == 2, "both brokers", BACK_S)
            create(admin, "orders", [IDS] * PARTITIONS)
        yield made


@pytest.fixture
def view(fleet):
    store, made = fleet.view()
    with store:
        yield made


def plain(fleet, number):
    """Start a broker as Kafka starts it."""
    broker = fleet.brokers[number]
    broker.start(plainly=True)
    port = int(broker.endpoint.rpartition(":")[2])
    until(lambda: is_open(port), f"{broker.key} to listen", BACK_S)


def registered(view):
    """Endpoint -> (id, incarnation)."""
    return {
        endpoint: (id_, each.incarnation)
        for id_, each in view.registered().items()
        for endpoint in each.endpoints
    }


def lose_disk(fleet, view, broker_id, *, key):
    """Kill a broker that runs plainly, empty its disks, start it through acquire; the report."""
    endpoints = {id_: at for at, (id_, _) in registered(view).items()}
    (number,) = (n for n, e in fleet.brokers.items() if e.endpoint == endpoints[broker_id])
    broker = fleet.brokers[number]
    broker.kill()
    broker.wipe()
    broker.start(key=key)
    assert fleet.confirmed(number) == broker_id
    until(
        lambda: all(each.isr == each.replicas for each in view.partitions_of(broker_id)),
        "full ISR",
        BACK_S,
    )
    return broker.acquired()


def test_the_guide_adopts_brokers_that_run_and_a_lost_disk_costs_no_id(fleet, view):
    """KIP-426: "If the hostname has been assigned a broker id previously"; here none was."""
    lived = registered(view)
    codes = []
    for shown in shown_commands(GUIDE):
        if shown.heading == SECTION:
            code, out, err = called(*(fleet.url if w == SHOWN_STORE else w for w in shown.words))
            assert missing_lines(shown, out) == [], (out, err)
            codes.append(code)
    assert codes == CODES
    assert registered(view) == lived, "no broker was stopped"
    assert [fleet.mapping(f"kafka-{each}") for each in IDS] == IDS

    first = lose_disk(fleet, view, IDS[0], key=f"kafka-{IDS[0]}")
    assert (first["how"], first["key"]) == ("a", "kafka-1001")


@pytest.mark.long
def test_a_plain_restart_keeps_the_mapping_and_is_adopted_again(fleet, view):
    store = ("--store", fleet.url)
    assert called("broker-id", "init", *store)[0] == 0
    adopt = ("broker-id", "adopt", "--all", "--key", "kafka-{broker.id}", *store)
    assert called(*adopt)[0] == 0
    restart_plainly(fleet, view, IDS[1])
    assert called("broker-id", "gc", *store)[:2] == (0, "no garbage\n")
    code, out, _ = called("broker-id", "show", "--key", "kafka-1002", *store)
    assert (code, "registered without acquire since kafka-1002" in out) == (2, True)
    states = [line.split()[2] for line in called(*adopt)[1].splitlines()[1:]]
    assert states == ["present", "adopted"]
    assert called("broker-id", "show", "--key", "kafka-1002", *store)[0] == 0
    assert lose_disk(fleet, view, IDS[1], key=f"kafka-{IDS[1]}")["how"] == "a"


@pytest.mark.long
def test_a_broker_that_was_not_adopted_comes_back_as_the_one_unmapped_spare(fleet, view):
    """The unit file's defaults with a shorter grace: the start counts it itself, and waits."""
    stores.init_store(fleet.url)
    broker = fleet.brokers[0]
    (before, _) = registered(view)[broker.endpoint]
    broker.kill()
    broker.wipe()
    until(lambda: before not in view.registered(), f"{before} to be forgotten", BACK_S)
    broker.start("--spare", "unmapped", "--grace", "8", key="another")
    assert fleet.confirmed(0) == before
    told = broker.acquired()
    assert (told["how"], told["took_from"], told["waited_ms"] >= 8_000) == ("b1", [], True)
    assert fleet.mapping("another") == before


@pytest.mark.long
def test_a_broker_that_stands_still_past_its_session_keeps_its_id(fleet, view):
    """Nobody holds the id meanwhile; it is mapped. The broker then registers under it again."""
    store = ("--store", fleet.url)
    assert called("broker-id", "init", *store)[0] == 0
    assert called("broker-id", "adopt", "--all", "--key", "kafka-{broker.id}", *store)[0] == 0
    still, other = fleet.brokers.values()
    (broker_id, before) = registered(view)[still.endpoint]
    other.kill()
    other.wipe()
    os.kill(int(still.pid.read_text()), signal.SIGSTOP)
    try:
        until(lambda: not view.registered(), "both sessions to be over", BACK_S)
        other.start("--spare", "unmapped", "--grace", "0", key="stranger")
        status, told = other.refused()
    finally:
        os.kill(int(still.pid.read_text()), signal.SIGCONT)
    assert (status, "expected a spare id that may be taken, got none" in told) == (75, True), told
    until(lambda: broker_id in view.registered(), "it to be back", BACK_S)
    assert registered(view)[still.endpoint] > (broker_id, before)
    assert fleet.mapping("stranger") is None


@pytest.mark.long
def test_with_a_digest_login_nobody_else_changes_the_mapping_of_a_broker(java_home, tmp_path):
    """The brokers themselves have no login: Kafka cannot log in with digest."""
    secret, config = tmp_path / "password", tmp_path / "store.properties"
    secret.write_text("rackwise-own\n")
    lines = "auth.scheme=digest\nauth.user=rackwise\nacl.world.read=true\nauth.password.file="
    config.write_text(f"{lines}{secret}\n")
    for file in (secret, config):
        file.chmod(0o600)
    login = ("--store-config", str(config))
    with ZooKeeperBrokers(
        java_home=java_home,
        folder=tmp_path / "secured",
        brokers=1,
        is_adopted=True,
        options=login,
    ) as fleet:
        plain(fleet, 0)
        store = ("--store", fleet.url)
        code, _, err = called("broker-id", "init", *store, *login)
        assert (code, err) == (0, "")
        adopt = ("broker-id", "adopt", "--all", "--key", "kafka-{broker.id}", *store)
        assert called(*adopt)[0] == 4
        assert called(*adopt, *login)[0] == 0
        with closing(stores.open_store(fleet.url)) as thief:
            for op in (Delete(f"{HOSTS}/kafka-1001"), Put(f"{HOSTS}/kafka-1001", b"{}")):
                with pytest.raises(MissingPermission):
                    thief.commit([op])
        broker = fleet.brokers[0]
        broker.kill()
        broker.wipe()
        broker.start(key="kafka-1001")
        assert fleet.confirmed(0) == 1001
        assert broker.acquired()["how"] == "a"
        shown = called("broker-id", "show", "--key", "kafka-1001", *store, *login)
        assert shown[0] == 0
        assert "the mapping may be changed by self\n" in shown[1]


def restart_plainly(fleet, view, broker_id):
    """Stop a broker in order and start it without Rackwise, on its own disks."""
    (endpoint,) = view.registered()[broker_id].endpoints
    (number,) = (n for n, each in fleet.brokers.items() if each.endpoint == endpoint)
    fleet.brokers[number].stop()
    until(lambda: broker_id not in view.registered(), "it to be gone", BACK_S)
    plain(fleet, number)
    until(lambda: broker_id in view.registered(), "it to be back", BACK_S)
