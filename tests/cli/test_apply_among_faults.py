"""F2, F3, F4, F28: brokers die, or fall behind, while a plan is carried out on them."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, plan_file, shown
from kafka_traffic import RATES, create, delete, produce, until
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.adapters.sandbox import Sandbox
from rackwise.cli.main import run

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "faulty"
BEFORE = [[0, 1], [0, 1]]
AFTER = {(NAME, 0): (0, 3), (NAME, 1): (1, 0)}
DONE = {0: [0, 3], 1: [1, 0]}


@pytest.fixture(scope="module")
def faulty_cluster(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty") / "kraft"
    with Sandbox.kraft(brokers=4, java_home=java_home, folder=folder) as cluster:
        yield cluster


@pytest.fixture
def admin(faulty_cluster):
    with closing(connect(faulty_cluster.bootstrap)) as made:
        yield made
        delete(made, NAME)


@pytest.fixture
def called(faulty_cluster, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))

    def call(verb, *words):
        code = run([verb, *words, "--bootstrap-server", faulty_cluster.bootstrap])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def path(admin, faulty_cluster, tmp_path):
    create(admin, NAME, BEFORE)
    produce(faulty_cluster.bootstrap, {(NAME, 0): 500})
    return plan_file(tmp_path / "p.json", admin, AFTER)


def once_it_moves(admin, act):
    """Act in another thread once the throttled move is under way."""

    def work():
        where = TopicPartition(NAME, 0)
        until(lambda: where in admin.list_partition_reassignments(), "a move")
        until(lambda: lists(admin, NAME)[1] == [1, 0], "the move without bytes")
        act()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_target_that_comes_back_is_waited_for(admin, faulty_cluster, called, path):
    def die_and_live():
        faulty_cluster.kill(3)
        faulty_cluster.wait_until_gone(3)
        faulty_cluster.start(3)

    thread = once_it_moves(admin, die_and_live)
    code, out, err = called("apply", path, "--throttle", "50kB")
    thread.join()
    faulty_cluster.wait_until_ready()
    assert code == 0, (out, err)
    assert "begins nothing new: broker 3 is down" in err
    shown(admin, NAME, DONE)
    assert not any(read_throttles(admin, topics=[NAME], brokers=[0, 1, 2, 3]).brokers.values())


def test_a_target_that_stays_away_is_let_go_and_its_throttle_later(
    admin, faulty_cluster, called, path
):
    thread = once_it_moves(admin, lambda: faulty_cluster.kill(3))
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
    def die_and_live():
        faulty_cluster.kill(0)
        faulty_cluster.wait_until_gone(0)
        faulty_cluster.start(0)

    thread = once_it_moves(admin, die_and_live)
    code, out, err = called("apply", path, "--throttle", "50kB")
    thread.join()
    faulty_cluster.wait_until_ready()
    assert code == 0, (out, err)
    shown(admin, NAME, DONE)


def test_a_broker_that_knows_an_old_world_is_not_believed(admin, faulty_cluster, called, path):
    def fall_behind():
        faulty_cluster.pause(2)
        faulty_cluster.wait_until_gone(2)
        faulty_cluster.resume(2)

    thread = once_it_moves(admin, fall_behind)
    code, out, err = called("apply", path, "--throttle", "50kB")
    thread.join()
    faulty_cluster.wait_until_ready()
    assert code == 0, (out, err)
    shown(admin, NAME, DONE)
