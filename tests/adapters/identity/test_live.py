"""Brokers of Kafka 3.9 that lose their disks: with Rackwise, without it, and with data at stake."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from kafka_traffic import create, delete, until
from launched_brokers import ZooKeeperBrokers
from rackwise.adapters.launch.views import stores
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.core.identity.nodes.store import IDS, Absent
from rackwise.core.identity.nodes.topics import state_path
from replica_logs import Leaderless, UniqueRecords, have_equal_ends, read_ids, write_ids

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault, pytest.mark.long]

PARTITIONS = 30
RISKY = 3
SAFE, AT_RISK = range(100), range(1000, 1060)
"""Records that every replica has, and records that one broker alone has."""
UNCLEAN = 1
BACK_S = 90.0


@pytest.fixture(scope="module")
def fleet(java_home, tmp_path_factory):
    """Three brokers of one host whose ids Kafka would generate, all started through Rackwise."""
    folder = tmp_path_factory.mktemp("launched")
    with ZooKeeperBrokers(java_home=java_home, folder=folder) as made:
        ids = made.up()
        assert {each: made.mapping(f"host-{each}") for each in ids} == ids
        yield made


@pytest.fixture
def view(fleet):
    with ExitStack() as stack:
        store, made = fleet.view()
        stack.enter_context(store)
        yield made


@pytest.fixture
def admin(fleet):
    with fleet.admin() as made:
        yield made


def listed(admin):
    """Ids of the brokers that the cluster tells a client."""
    return {each["broker_id"] for each in admin.describe_cluster()["brokers"]}


def other_than_the_controller(fleet, admin):
    """The number of a broker."""
    controller = admin.describe_cluster()["controller_id"]
    others = [at for at, each in fleet.brokers.items() if each.acquired()["id"] != controller]
    assert len(others) == len(fleet.brokers) - 1
    return others[0]


def placed(admin, fleet, name, partitions, *, leader=None, **configs):
    """A topic with a replica on each broker; the leader goes round, or is one broker's."""
    ids = sorted(each.acquired()["id"] for each in fleet.brokers.values())
    until(lambda: listed(admin) == set(ids), "every broker to be listed", BACK_S)
    first = [ids[at % len(ids)] if leader is None else leader for at in range(partitions)]
    create(admin, name, [[one, *(each for each in ids if each != one)] for one in first], **configs)
    return ids


def forget(fleet, topic):
    """By a client that has not known the brokers before they were started again."""
    with fleet.admin() as admin:
        delete(admin, topic)


def in_sync(view, broker_id, topic):
    """How many partitions of a topic with this replica have every replica in sync."""
    return sum(
        each.isr == each.replicas for each in view.partitions_of(broker_id) if each.topic == topic
    )


def lacking(view, broker_id, topic):
    """In how many partitions of a topic this replica is not in sync."""
    return sum(
        broker_id not in each.isr for each in view.partitions_of(broker_id) if each.topic == topic
    )


def full(view, broker_id, topic, partitions):
    until(lambda: in_sync(view, broker_id, topic) == partitions, "full ISR", BACK_S)


def lose_disk(fleet, view, number, *options, key=None):
    """Kill a broker, empty its disks, start it at once; its id before and after."""
    broker = fleet.brokers[number]
    before = broker.acquired()["id"]
    broker.kill()
    broker.wipe()
    begun = time.monotonic()
    broker.start(*options, key=key)
    until(lambda: lacking(view, before, "orders") == PARTITIONS, "it to be missed", BACK_S)
    after = fleet.confirmed(number)
    full(view, before, "orders", PARTITIONS)
    seconds = time.monotonic() - begun
    told = broker.acquired()
    print(
        f"id before {before}, id after {after} ({told['how']}, {told['row']}), waited "
        f"{told['waited_ms'] / 1000:.1f} s; {PARTITIONS} of {PARTITIONS} partitions in full ISR "
        f"after {seconds:.1f} s"
    )
    return before, after


def start_plainly(fleet, view, number):
    """Kill a broker, empty its disks, start it as Kafka starts, once it is forgotten; both ids."""
    broker = fleet.brokers[number]
    before = broker.acquired()["id"]
    broker.kill()
    broker.wipe()
    until(lambda: before not in view.registered(), f"{before} to be forgotten", BACK_S)
    broker.start(plainly=True)
    until(lambda: bool(at(view, broker.endpoint)), "a registration", BACK_S)
    return before, at(view, broker.endpoint).pop()


def incarnations(view):
    return {id_: each.incarnation for id_, each in view.registered().items()}


def at(view, endpoint):
    """Ids that are registered with an endpoint."""
    return {id_ for id_, each in view.registered().items() if endpoint in each.endpoints}


def brought_back(fleet, view, number):
    """A broker that was started plainly is stopped, and started through Rackwise again; its id."""
    broker = fleet.brokers[number]
    broker.stop()
    broker.wipe()
    until(lambda: not at(view, broker.endpoint), "its other id to be forgotten", BACK_S)
    return fleet.up(number)[number]


def stop_others(fleet, view, number):
    """Stop every other broker in order, so that this one alone is in sync."""
    broker_id = fleet.brokers[number].acquired()["id"]
    with ThreadPoolExecutor() as pool:
        for each in set(fleet.brokers) - {number}:
            pool.submit(fleet.brokers[each].stop)
    until(
        lambda: all(each.isr == {broker_id} for each in view.partitions_of(broker_id)),
        "one replica in sync",
        BACK_S,
    )
    return broker_id


def lose_what_it_alone_has(fleet, view, number, topic, records):
    """Write to one broker while it is alone in sync, kill it, empty its disks; then the others."""
    broker = fleet.brokers[number]
    stop_others(fleet, view, number)
    write_ids(broker.endpoint, topic, RISKY, records, acks=1)
    broker.kill()
    broker.wipe()
    fleet.up(*sorted(set(fleet.brokers) - {number}))


def test_a_broker_that_lost_its_disk_comes_back_as_itself_and_no_record_is_lost(fleet, view, admin):
    """Not the controller: the next one first writes that a dead leader's partitions have none."""
    ids = placed(admin, fleet, "orders", PARTITIONS, min_insync_replicas="2")
    number = other_than_the_controller(fleet, admin)
    broker = fleet.brokers[number]
    create(admin, "alone", [[broker.acquired()["id"]]])
    lived = incarnations(view)
    with (
        Leaderless(fleet.url, "orders", PARTITIONS) as offline,
        UniqueRecords(fleet.bootstrap, "orders", PARTITIONS) as records,
    ):
        records.wait_for(300)
        before, after = lose_disk(fleet, view, number)
        records.wait_for(300)
    assert after == before
    told = broker.acquired()["warnings"]
    assert told == ["DATA_GONE: 1 partition had this replica only, and it is lost"]
    assert fleet.mapping(broker.key) == before
    assert all(f"broker.id={before}" in lines for lines in broker.metas())
    assert offline.looks
    if len(incarnations(view).items() & lived.items()) == len(ids) - 1:  # the others lived through
        assert offline.seen == set()
    until(lambda: have_equal_ends(admin, "orders", PARTITIONS, ids), "equal logs", BACK_S)
    assert records.acked
    assert records.acked <= set(read_ids(fleet.bootstrap, "orders", PARTITIONS))
    forget(fleet, "orders")
    forget(fleet, "alone")


def test_without_rackwise_it_gets_another_id_and_its_replicas_are_lost(fleet, view, admin):
    placed(admin, fleet, "orders", PARTITIONS)
    before, after = start_plainly(fleet, view, 1)
    assert after != before
    assert not any(each.topic == "orders" for each in view.partitions_of(after))
    assert lacking(view, before, "orders") == PARTITIONS
    print(f"id before {before}, id after {after}; {PARTITIONS} partitions lack a replica")
    assert brought_back(fleet, view, 1) == before
    full(view, before, "orders", PARTITIONS)
    forget(fleet, "orders")


def test_an_empty_disk_does_not_come_back_as_the_last_replica_in_sync(fleet, view, admin):
    """Kafka would elect it, and the others would truncate to nothing."""
    broker, broker_id = risked(fleet, view, admin)
    broker.start("--accept-loss")
    assert fleet.confirmed(2) == broker_id
    assert broker.acquired()["warnings"] == [f"LOSS_ACCEPTED: {RISKY} partitions may lose records"]
    lost = {*SAFE, *AT_RISK} - found_again(fleet, view, broker_id)
    print(f"{len(lost)} of {len(SAFE) + len(AT_RISK)} records are lost")
    assert lost >= set(AT_RISK)
    forget(fleet, "risky")


def risked(fleet, view, admin):
    """A broker that alone was in sync, with an empty disk, was refused; it and its id."""
    broker = fleet.brokers[2]
    broker_id = broker.acquired()["id"]
    placed(admin, fleet, "risky", RISKY, leader=broker_id)
    write_ids(fleet.bootstrap, "risky", RISKY, SAFE)
    lose_what_it_alone_has(fleet, view, 2, "risky", AT_RISK)
    broker.start()
    status, told = broker.refused()
    assert status == 4
    assert all(f"risky-{number}" in told for number in range(RISKY))
    assert not any(any(each.iterdir()) for each in broker.dirs)
    return broker, broker_id


def found_again(fleet, view, broker_id):
    full(view, broker_id, "risky", RISKY)
    return set(read_ids(fleet.bootstrap, "risky", RISKY))


def test_after_an_election_by_hand_it_comes_back_and_the_others_keep_what_they_had(
    fleet, view, admin
):
    broker, broker_id = risked(fleet, view, admin)
    with fleet.admin() as again:
        again.elect_leaders(UNCLEAN, {"risky": list(range(RISKY))})
    broker.start()
    assert fleet.confirmed(2) == broker_id
    assert found_again(fleet, view, broker_id) == set(SAFE)
    forget(fleet, "risky")


def test_it_comes_back_again_and_again_and_under_another_name_as_a_spare(fleet, view, admin):
    ids = placed(admin, fleet, "orders", PARTITIONS, min_insync_replicas="2")
    broker = fleet.brokers[0]
    with UniqueRecords(fleet.bootstrap, "orders", PARTITIONS) as records:
        records.wait_for(300)
        for _ in range(2):
            before, after = lose_disk(fleet, view, 0)
            assert after == before
            records.wait_for(100)
        broker.kill()
        broker.wipe()
        until(lambda: before not in view.registered(), f"{before} to be forgotten", BACK_S)
        broker.start("--spare", "any", "--grace", "0", key="another")
        assert fleet.confirmed(0) == before
        told = broker.acquired()
        assert (told["how"], told["took_from"]) == ("b1", ["host-0"])
        assert (fleet.mapping("another"), fleet.mapping("host-0")) == (before, None)
        full(view, before, "orders", PARTITIONS)
        records.wait_for(300)
    until(lambda: have_equal_ends(admin, "orders", PARTITIONS, ids), "equal logs", BACK_S)
    assert records.acked <= set(read_ids(fleet.bootstrap, "orders", PARTITIONS))
    broker.stop()
    assert fleet.up(0) == {0: before}
    assert broker.acquired()["how"] == "meta"
    forget(fleet, "orders")


def test_without_rackwise_its_replicas_are_still_lost_after_a_minute(fleet, view, admin):
    placed(admin, fleet, "orders", PARTITIONS)
    before, _ = start_plainly(fleet, view, 1)
    assert not wait_until_true(lambda: in_sync(view, before, "orders") > 0, 60.0)
    assert lacking(view, before, "orders") == PARTITIONS
    assert brought_back(fleet, view, 1) == before
    full(view, before, "orders", PARTITIONS)
    forget(fleet, "orders")


def test_a_thousand_looks_whether_an_id_is_free_move_nothing(fleet, view, admin):
    """Each creates and deletes the registration in one step, and the controller hears of it."""
    ids = placed(admin, fleet, "orders", PARTITIONS)
    before = states(fleet)
    assert len(before) == PARTITIONS
    with closing(stores.open_store(fleet.url, None)) as store:
        for _ in range(1000):
            store.commit((Absent(f"{IDS}/999"),))
        assert sorted(view.registered()) == ids
    create(admin, "later", [ids])
    assert states(fleet) == before
    logs = [each.told() for each in fleet.brokers.values()]
    told = [line.split("Newly added brokers")[1:] for log in logs for line in log.splitlines()]
    assert any(told)
    assert not [each for each in told if "999" in "".join(each)]
    forget(fleet, "orders")
    forget(fleet, "later")


def states(fleet):
    """The state node of each partition of a topic: leader, its epoch, who is in sync."""
    paths = [state_path("orders", number) for number in range(PARTITIONS)]
    with closing(stores.open_store(fleet.url, None, read_only=True)) as store:
        return {path: node.data for path, node in store.read(paths).items() if node is not None}


def test_a_file_that_says_no_id_is_completed_before_kafka_draws_another(fleet):
    """A broker that is started plainly draws a new id then, and writes it into the file."""
    broker = fleet.brokers[1]
    before = broker.acquired()["id"]
    broker.stop()
    for each in broker.dirs:
        file = each / "meta.properties"
        lines = [line for line in file.read_text().splitlines() if "broker.id" not in line]
        file.write_text("\n".join(lines))
    broker.start("--adopt-data")
    assert fleet.confirmed(1) == before
    assert all(f"broker.id={before}" in lines for lines in broker.metas())
