"""Brokers die, lag or change racks before and during the execution of a plan.

A producer writes all the while; no acknowledged record is lost.
"""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from kafka.structs import TopicPartition

from acked_records import Writing
from hand_made_plans import lists, plan_file, shown
from kafka_servers import KAFKA_VERSION
from kafka_traffic import RATES, create, delete, produce, until
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.adapters.kafka.connect import send
from rackwise.adapters.kafka.messages import UnregisterBrokerRequest
from rackwise.adapters.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "faulty"
BEFORE = [[0, 1], [0, 1]]
AFTER = {(NAME, 0): (0, 3), (NAME, 1): (1, 0)}
DONE = {0: [0, 3], 1: [1, 0]}


@pytest.fixture(scope="module")
def faulty_cluster(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty") / "kraft"
    with Sandbox.kraft(
        version=KAFKA_VERSION, brokers=4, java_home=java_home, folder=folder
    ) as cluster:
        yield cluster


@pytest.fixture
def admin(faulty_cluster):
    with closing(connect(faulty_cluster.bootstrap)) as made:
        yield made
    with closing(connect(faulty_cluster.bootstrap)) as anew:  # that one may cling to who was gone
        delete(anew, NAME)


@pytest.fixture
def cluster(faulty_cluster):
    return faulty_cluster


@pytest.fixture
def path(admin, cluster, tmp_path):
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 500})
    written = plan_file(tmp_path / "p.json", admin, AFTER)
    with Writing(cluster.bootstrap, NAME, len(BEFORE)):
        yield written


def act_during_move(admin, act):
    """Act in another thread once the throttled move is under way."""

    def work():
        where = TopicPartition(NAME, 0)
        until(lambda: where in admin.list_partition_reassignments(), "a move")
        until(lambda: lists(admin, NAME)[1] == [1, 0], "the move without bytes")
        act()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def execute_during(admin, faulty_cluster, called, path, act):
    """Execute the plan while something happens that it must survive; return what it prints."""
    thread = act_during_move(admin, act)
    code, out, err = called("apply", path, "--throttle", "50kB")
    thread.join()
    faulty_cluster.wait_until_ready()
    assert code == 0, (out, err)
    shown(admin, NAME, DONE)
    return err


def test_a_target_that_comes_back_is_waited_for(admin, faulty_cluster, called, path):
    """F2: the broker is killed during the move and starts again."""

    def die_and_live():
        faulty_cluster.kill(3)
        faulty_cluster.wait_until_gone(3)
        faulty_cluster.start(3)

    err = execute_during(admin, faulty_cluster, called, path, die_and_live)
    assert "paused, starting no new move: broker 3 is down" in err
    assert not any(read_throttles(admin, topics=[NAME], brokers=[0, 1, 2, 3]).brokers.values())


def test_a_target_that_stays_away_is_let_go_and_its_throttle_later(
    admin, faulty_cluster, called, path
):
    """F3: killed mid move, and not back in time."""
    thread = act_during_move(admin, lambda: faulty_cluster.kill(3))
    code, out, err = called("apply", path, "--throttle", "50kB", "--down", "2")
    thread.join()
    assert code == 3, (out, err)
    assert out.splitlines()[0] == "2 moves: 1 done, 1 failed, 0 skipped, 0 dropped"
    assert f"! {NAME}-0  target_dead" in out
    assert f"throttle-left     broker 3 {RATES[1]}" in out
    shown(admin, NAME, {0: [0, 1], 1: [1, 0]})
    assert called("throttles")[0] == 2
    faulty_cluster.start(3)
    faulty_cluster.wait_until_ready()
    code, out, err = called("throttles", "--restore")
    assert (code, out) == (0, "no throttle is set\n"), err


def test_a_source_leader_that_dies_is_survived_by_the_in_sync(admin, faulty_cluster, called, path):
    """F4: the leader that is copied from is killed mid move; no unclean election."""

    def die_and_live():
        faulty_cluster.kill(0)
        faulty_cluster.wait_until_gone(0)
        faulty_cluster.start(0)

    execute_during(admin, faulty_cluster, called, path, die_and_live)


def test_a_broker_that_knows_an_old_world_is_not_believed(admin, faulty_cluster, called, path):
    """F28: paused until it is fenced, and let go on."""

    def fall_behind():
        faulty_cluster.pause(2)
        faulty_cluster.wait_until_gone(2)
        faulty_cluster.resume(2)

    execute_during(admin, faulty_cluster, called, path, fall_behind)


@pytest.fixture
def in_another_rack(faulty_cluster):
    """Broker 3 started anew in another rack; back in its own when it is over."""
    properties = faulty_cluster.folder / "broker-3" / "server.properties"
    before = properties.read_text()

    def started_with(text):
        faulty_cluster.stop(3)
        properties.write_text(text)
        faulty_cluster.start(3)
        faulty_cluster.wait_until_ready()

    assert "broker.rack=a\n" in before
    yield lambda: started_with(before.replace("broker.rack=a\n", "broker.rack=elsewhere\n"))
    started_with(before)


@pytest.mark.parametrize("words", [(), ("--throttle", "1MB")], ids=["plain", "throttled"])
def test_a_target_in_another_rack_makes_its_moves_stale(
    admin, called, path, state, in_another_rack, words
):
    """F9: the rack that a broker had; what has no part in it may go on alone."""
    in_another_rack()
    before = throttles(admin)
    code, out, err = called("apply", path, *words)
    assert (code, out) == (4, "")
    assert f"{NAME}-0: broker 3 was in rack a and is in elsewhere" in err
    assert not [*state.glob("*/*.journal")]
    assert throttles(admin) == before
    shown(admin, NAME, dict(enumerate(BEFORE)))
    code, out, err = called("apply", path, "--allow-partial", *words)
    assert (code, out.splitlines()[0]) == (0, "2 moves: 1 done, 0 failed, 0 skipped, 1 dropped")
    shown(admin, NAME, {**DONE, 0: BEFORE[0]})


def throttles(admin):
    return read_throttles(admin, topics=[NAME], brokers=[0, 1, 2])


def test_a_target_that_is_gone_makes_its_moves_stale(admin, faulty_cluster, called, path, state):
    """F9: a broker id that is not there after the plan; fenced first, then not listed."""
    faulty_cluster.stop(3)
    faulty_cluster.wait_until_gone(3)
    try:
        code, out, err = called("apply", path)
        assert (code, out) == (4, "")
        assert f"{NAME}-0: broker 3 is fenced" in err
        send(admin, UnregisterBrokerRequest(broker_id=3))
        until(lambda: 3 not in ids(admin), "broker 3 to be gone")
        code, out, err = called("apply", path)
        assert (code, out) == (4, "")
        assert f"{NAME}-0: broker 3 is not listed" in err
        assert not [*state.glob("*/*.journal")]
        shown(admin, NAME, dict(enumerate(BEFORE)))
    finally:
        faulty_cluster.start(3)
        faulty_cluster.wait_until_ready()


def ids(admin):
    return {each["broker_id"] for each in admin.describe_cluster()["brokers"]}
