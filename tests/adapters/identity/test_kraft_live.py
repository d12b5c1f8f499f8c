"""Brokers of Kafka 4.x without a node.id of their own, started through Rackwise: KRaft."""

import subprocess

import pytest

from kafka_traffic import create, delete, until
from launched_brokers import RACKWISE, KraftBrokers
from rackwise.adapters.kafka.broker_view import AdminView
from rackwise.adapters.launch.views import stores
from replica_logs import UniqueRecords, have_equal_ends, read_ids

pytestmark = [pytest.mark.kafka, pytest.mark.zookeeper, pytest.mark.fault, pytest.mark.long]

PARTITIONS = 30
BACK_S = 90.0
ABOVE = 100


RUNNING = (0, 1, 2)
ANOTHER = 3
"""A fourth host, whose broker does not run."""


@pytest.fixture(params=["directory", "zookeeper"], scope="module")
def fleet(request, java_home, tmp_path_factory):
    """A new cluster whose brokers draw their ids above 100, kept in a folder or a ZooKeeper."""
    folder = tmp_path_factory.mktemp("launched-kraft")
    if request.param == "directory":
        url = f"file://{folder}/ids"
    else:
        url = request.getfixturevalue("lone_zookeeper").url + "/launched-kraft"
    options = ("--generate-above", str(ABOVE))
    with KraftBrokers(
        java_home=java_home, folder=folder, url=url, brokers=4, options=options
    ) as made:
        for each in RUNNING:
            made.brokers[each].start("--new-cluster", "--cluster-id", made.cluster)
        assert sorted(made.confirmed(each) for each in RUNNING) == [101, 102, 103]
        yield made


def directory_ids(broker):
    return {line for lines in broker.metas() for line in lines if line.startswith("directory.id=")}


def in_sync(view, broker_id):
    return sum(
        each.isr == each.replicas
        for each in view.partitions_of(broker_id)
        if each.topic == "orders"
    )


def lacking(view, broker_id):
    return sum(
        broker_id not in each.isr
        for each in view.partitions_of(broker_id)
        if each.topic == "orders"
    )


def test_a_broker_that_lost_its_disk_comes_back_as_itself(fleet):
    broker = fleet.brokers[0]
    before, disks = broker.acquired()["id"], directory_ids(broker)
    assert len(disks) == 2
    with fleet.admin() as admin:
        view = AdminView(admin)
        ids = sorted(view.registered())
        rows = [[ids[(at + k) % 3] for k in range(3)] for at in range(PARTITIONS)]
        create(admin, "orders", rows, min_insync_replicas="2")
        with UniqueRecords(fleet.bootstrap, "orders", PARTITIONS) as records:
            records.wait_for(300)
            broker.kill()
            broker.wipe()
            broker.start()
            until(lambda: lacking(view, before) == PARTITIONS, "it to be missed", BACK_S)
            after = fleet.confirmed(0)
            until(lambda: in_sync(view, before) == PARTITIONS, "full ISR", BACK_S)
            records.wait_for(300)
        told = broker.acquired()
        print(f"id before {before}, id after {after}, waited {told['waited_ms'] / 1000:.1f} s")
        assert (after, told["how"]) == (before, "a")
        assert ("waiting for id" in broker.told()) == (told["waited_ms"] > 0)
        assert len(directory_ids(broker) - disks) == 2
        until(lambda: have_equal_ends(admin, "orders", PARTITIONS, ids), "equal logs", BACK_S)
        assert records.acked
        assert records.acked <= set(read_ids(fleet.bootstrap, "orders", PARTITIONS))
        delete(admin, "orders")


def test_a_second_broker_of_a_host_is_refused(fleet):
    second = fleet.brokers[ANOTHER]
    second.wipe()
    second.start("--wait", "1", key="host-1")
    status, told = second.refused()
    assert status == 4
    assert "waiting for id" in told
    assert "is still held by " in told
    assert not any(any(each.iterdir()) for each in second.dirs)


def test_a_second_broker_of_an_id_is_refused(fleet):
    second = fleet.brokers[ANOTHER]
    second.wipe()
    taken = fleet.brokers[1].acquired()["id"]
    command = second.command
    second.command = (*command[:-1], f"node.id={taken}")
    second.start()
    status, told = second.refused()
    second.command = command
    assert status == 4
    assert f"id {taken} of the configuration is held by" in told
    assert not any(any(each.iterdir()) for each in second.dirs)


def test_a_configured_node_id_needs_no_shared_store_and_its_empty_disk_is_formatted(
    fleet, tmp_path
):
    """A pod of a StatefulSet: its ordinal gives the id, and its store is a folder of its own."""
    pod = fleet.brokers[ANOTHER]
    pod.wipe()
    command, options = pod.command, pod.options
    stores.init_store(own := f"file://{tmp_path}/ids", None)
    pod.command = (*command[:-1], "node.id=150")
    pod.options = ("--store", own, "--bootstrap-server", fleet.bootstrap)
    pod.start()
    fleet.confirmed(ANOTHER)
    first = directory_ids(pod)
    pod.stop()
    pod.wipe()
    pod.start()
    fleet.confirmed(ANOTHER)
    told = pod.acquired()
    pod.stop()
    pod.command, pod.options = command, options
    assert (told["id"], told["how"]) == (150, "configured")
    assert len(directory_ids(pod) - first) == 2
    for lines in pod.metas():
        assert {"node.id=150", f"cluster.id={fleet.cluster}"} <= set(lines)


def test_an_id_that_is_given_up_is_unregistered_and_given_to_nobody(fleet):
    fourth = fleet.brokers[ANOTHER]
    fourth.wipe()
    broker_id = fleet.up(ANOTHER)[ANOTHER]
    assert broker_id > ABOVE + len(RUNNING)
    assert all(f"node.id={broker_id}" in lines for lines in fourth.metas())
    fourth.stop()
    with fleet.admin() as admin:
        view = AdminView(admin)
        until(lambda: broker_id not in view.registered(), "it to be fenced", BACK_S)
        assert broker_id in listed(admin)
        words = ("--store", fleet.url, "--bootstrap-server", fleet.bootstrap)
        done = subprocess.run(
            [*RACKWISE, "retire", str(broker_id), "--unregister", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        until(lambda: broker_id not in listed(admin), "it to be unregistered", BACK_S)
    assert fleet.mapping(fourth.key) is None
    fourth.start()
    status, told = fourth.refused()
    assert status == 4
    assert f"broker-id retire --undo {broker_id}" in told


def listed(admin):
    """Brokers that the controller knows, fenced ones too."""
    return {each["broker_id"] for each in admin.describe_cluster()["brokers"]}
