"""`rackwise apply` and its kin on real brokers: the plan and nothing else, and back again."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import leaders, lists, plan_file, shown
from kafka_topics import NAME
from kafka_traffic import LISTS, RATES, create, delete, produce, throttled_move, until
from rackwise.adapters.files.strict_json import parse
from rackwise.adapters.kafka.applying.throttles import (
    Throttles,
    Write,
    read_throttles,
    write_throttles,
)
from rackwise.cli.main import run
from rackwise.core.errors import InvalidConfig

BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}


@pytest.fixture(
    params=[
        pytest.param("kraft_cluster", marks=pytest.mark.kafka),
        pytest.param("zookeeper_cluster", marks=[pytest.mark.zookeeper, pytest.mark.long]),
    ]
)
def cluster(request):
    """Each of the two; Kafka 3.9 for `make long`."""
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    folder = tmp_path / "state"
    monkeypatch.setenv("RACKWISE_STATE", str(folder))
    return folder


@pytest.fixture
def called(cluster, capsys):
    """Run a command on the cluster: its exit code, stdout and stderr."""

    def call(verb, *words):
        code = run([verb, *words, "--bootstrap-server", cluster.bootstrap])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidConfig)


def throttles(admin):
    brokers = [each["broker_id"] for each in admin.describe_cluster()["brokers"]]
    topics = [NAME] if NAME in admin.list_topics() else []
    return read_throttles(admin, topics=topics, brokers=brokers)


def empty(found):
    return not any(found.brokers.values()) and not any(found.topics.values())


class TestApply:
    def test_the_plan_and_nothing_else(self, admin, called, tmp_path, state):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, err = called("apply", path)
        assert (code, out) == (0, "3 moves: 3 done, 0 failed, 0 skipped, 0 dropped\n"), err
        shown(admin, NAME, {0: [2, 1], 1: [1, 0], 2: [2, 0], 3: [1, 0]})
        until(lambda: leaders(admin, NAME) == {0: 2, 1: 1, 2: 2, 3: 1}, "their leaders")
        (journal,) = state.glob("*/*.journal")
        written = journal.read_bytes()
        code, out, err = called("apply", path)
        assert (code, out) == (0, "3 moves: nothing to do\n"), err
        assert journal.read_bytes() == written, "a plan that is done is done"
        assert called("status", path)[0] == 0

    def test_json_is_one_document(self, admin, called, tmp_path, state):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2, 1)})
        code, out, err = called("apply", path, "--json")
        told = document(out)
        (journal,) = state.glob("*/*.journal")
        assert code == 0, err
        assert told["format"] == "rackwise.applied/1"
        assert told["journal"] == str(journal)
        assert told["partitions"] == [
            {"topic": NAME, "partition": 0, "class": "done", "code": None, "text": None}
        ]
        assert (told["done"], told["is_reached"], told["has_written"]) == (1, True, True)

    def test_more_and_fewer_replicas(self, admin, called, tmp_path):
        create(admin, NAME, [[0, 1], [0, 1]])
        afters = {(NAME, 0): (0, 1, 2), (NAME, 1): (1,)}
        code, out, err = called("apply", plan_file(tmp_path / "p.json", admin, afters))
        assert (code, out) == (0, "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped\n"), err
        shown(admin, NAME, {0: [0, 1, 2], 1: [1]})

    def test_a_throttle_is_there_during_and_gone_after(self, admin, cluster, called, tmp_path):
        create(admin, NAME, BEFORE)
        produce(cluster.bootstrap, {(NAME, 0): 300})
        theirs = [
            Write(resource=0, key=RATES[0], value="7777777"),
            Write(resource=NAME, key=LISTS[0], value="2:0"),
        ]
        write_throttles(admin, theirs)
        until(lambda: throttles(admin).brokers[0], "the operator's throttle")
        before = throttles(admin)
        seen = []
        watcher = Watching(admin, seen)
        with watcher:
            path = plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2, 1)})
            code, out, err = called("apply", path, "--throttle", "150kB", "--per-broker", "1")
        assert (code, out) == (0, "1 move: 1 done, 0 failed, 0 skipped, 0 dropped\n"), err
        assert any(found.brokers.get(2) == {RATES[1]: "150000"} for found in seen)
        assert any(
            found.topics.get(NAME) == {LISTS[0]: "0:0,0:1,2:0", LISTS[1]: "0:2"} for found in seen
        )
        assert all(found.brokers[0] == {RATES[0]: "7777777"} for found in seen)
        until(lambda: throttles(admin) == before, "throttles as before")
        write_throttles(admin, [Write(resource=0, key=RATES[0], value=None)])
        until(lambda: not any(throttles(admin).brokers.values()), "the operator's own to be gone")

    def test_check_writes_nothing(self, admin, called, tmp_path, state):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        assert called("apply", path, "--check")[:2] == (0, "3 moves: may run\n")
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")
        assert not [*state.glob("*/*.journal")]

    def test_the_first_moves_alone_and_then_the_rest(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, _ = called("apply", path, "--first", "1")
        assert (code, out.splitlines()[0]) == (
            0,
            "3 moves: 1 done, 0 failed, 0 skipped, 2 dropped",
        )
        shown(admin, NAME, {0: [2, 1], 1: [1, 2], 2: [2, 0], 3: [0, 1]})
        code, out, err = called("apply", path)
        assert (code, out) == (0, "3 moves: 3 done, 0 failed, 0 skipped, 0 dropped\n"), err


class Watching:
    """Keeps what the throttles were, as often as it can look, until the block ends."""

    def __init__(self, admin, seen):
        self.admin, self.seen, self.is_over = admin, seen, False
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.is_over:
            self.seen.append(throttles(self.admin))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


class TestStale:
    @pytest.fixture
    def path(self, admin, tmp_path):
        create(admin, NAME, BEFORE)
        return plan_file(tmp_path / "p.json", admin, AFTER)

    def refused(self, called, path, name, *words):
        code, out, err = called("apply", path, "--json", "--quiet", *words)
        assert (code, out) == (4, "")
        told = document(err)
        assert told["error"] == name
        return told

    def test_a_topic_made_anew(self, admin, called, path):
        delete(admin, NAME)
        create(admin, NAME, BEFORE)
        told = self.refused(called, path, "StalePlan")
        assert f"{NAME}-0: topic id" in told["had"]
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")

    def test_a_topic_that_is_gone(self, admin, called, path):
        delete(admin, NAME)
        assert (
            f"{NAME}-3: its topic or partition is gone"
            in self.refused(called, path, "StalePlan")["had"]
        )

    def test_a_list_that_another_tool_changed(self, admin, called, path):
        moved = TopicPartition(NAME, 1)
        admin.alter_partition_reassignments({moved: [2, 0]})
        until(lambda: lists(admin, NAME)[1] == [2, 0], "another tool's move")
        told = self.refused(called, path, "StalePlan")
        assert told["had"] == f"{NAME}-1: replicas 1,2 were planned with; they are 2,0"
        code, out, err = called("apply", path, "--allow-partial")
        assert (code, out.splitlines()[0]) == (
            0,
            "3 moves: 2 done, 0 failed, 0 skipped, 1 dropped",
        ), err
        assert "left out" in err
        shown(admin, NAME, {0: [2, 1], 1: [2, 0], 2: [2, 0], 3: [1, 0]})

    def test_another_cluster(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "o.json", admin, AFTER, cluster_id="MkU3OEVBNTcwNTJENDM2Qk")
        self.refused(called, path, "WrongCluster")

    def test_a_plan_of_no_cluster(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "o.json", admin, AFTER, hypothetical=True)
        assert "only supposed" in self.refused(called, path, "StalePlan")["message"]

    def test_a_foreign_reassignment(self, admin, cluster, called, path):
        produce(cluster.bootstrap, {(NAME, 2): 50})
        with throttled_move(admin, NAME, 2, [1, 0]):
            told = self.refused(called, path, "ForeignReassignment")
            assert told["had"] == f"{NAME}-2"
            code, _, err = called("apply", path, "--alongside")
            assert code == 0, err
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")

    def test_a_run_that_goes_on(self, called, path, state):
        from rackwise.adapters.files.plan import read_plan
        from rackwise.adapters.files.state_folder import locked, made_folder

        folder = made_folder(state, read_plan(path).cluster_id)
        with locked(folder, since="2026-01-01T00:00:00Z"):
            told = self.refused(called, path, "Locked")
        assert str(os.getpid()) in told["message"]
        assert "2026-01-01T00:00:00Z" in told["message"]

    def test_a_state_folder_that_cannot_be_made(self, called, path, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "file" / "state"))
        self.refused(called, path, "JournalUnwritable")

    def test_an_edited_plan(self, called, path, tmp_path):
        edited = tmp_path / "edited.json"
        edited.write_bytes(Path(path).read_bytes().replace(b'"after":[2,1]', b'"after":[2,0]'))
        code, out, err = called("apply", str(edited), "--json", "--quiet")
        assert (code, out, document(err)["error"]) == (1, "", "InvalidPlan")


class TestHalfWay:
    """A move that a throttle of one byte a second keeps half-way."""

    @pytest.fixture
    def path(self, admin, cluster, tmp_path):
        create(admin, NAME, BEFORE)
        produce(cluster.bootstrap, {(NAME, 0): 300})
        yield plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2, 1), (NAME, 3): (1, 0)})
        running = [TopicPartition(NAME, 0)]
        if running[0] in admin.list_partition_reassignments():
            admin.alter_partition_reassignments({running[0]: None})

    def interrupted(self, admin, called, path, number=signal.SIGINT):
        """Apply it, and stop it by a signal once its throttled move is under way."""

        def interrupt():
            until(lambda: TopicPartition(NAME, 0) in admin.list_partition_reassignments(), "a move")
            until(lambda: lists(admin, NAME)[3] == [1, 0], "the move without bytes")
            os.kill(os.getpid(), number)

        thread = threading.Thread(target=interrupt)
        thread.start()
        result = called("apply", path, "--throttle", "1")
        thread.join()
        return result

    @pytest.mark.parametrize(
        "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
    )
    def test_a_signal_keeps_the_throttle_and_tells_how_to_go_on(
        self, admin, cluster, called, path, number
    ):
        code, out, err = self.interrupted(admin, called, path, number)
        assert code == 3
        assert "ended early, interrupted" in out
        assert f"to go on: rackwise resume {path} --bootstrap-server {cluster.bootstrap}" in err
        assert throttles(admin).brokers[2] == {RATES[1]: "1"}
        code, out, _ = called("status", path)
        assert code == 2
        assert f"! {NAME}-0  moving" in out
        assert f"throttle  broker 2 {RATES[1]}" in out
        code, out, _ = called("throttles")
        assert code == 2
        assert f"broker 2 {RATES[1]}  1  ours, plan " in out
        code, out, err = called("resume", path, "--throttle", "100MB", "--throttle-over", "ours")
        assert (code, out) == (0, "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped\n"), err
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")
        until(lambda: empty(throttles(admin)), "no throttle")
        assert called("throttles")[:2] == (0, "no throttle is set\n")

    @pytest.mark.long
    def test_cancel_takes_back_what_goes_on_and_leaves_what_is_done(self, admin, called, path):
        self.interrupted(admin, called, path)
        code, out, err = called("cancel", path)
        assert code == 0, (out, err)
        shown(admin, NAME, {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [1, 0]})
        until(lambda: empty(throttles(admin)), "no throttle")

    def test_rollback_is_as_before(self, admin, called, path):
        self.interrupted(admin, called, path)
        code, out, err = called("rollback", path)
        assert code == 0, (out, err)
        assert "the way back: 1 partition, 0 replicas to copy" in err
        shown(admin, NAME, dict(enumerate(BEFORE)))
        until(lambda: leaders(admin, NAME)[3] == 0, "the leader of before")
        until(lambda: empty(throttles(admin)), "no throttle")
        assert called("rollback", path)[:2] == (0, "0 moves: nothing to undo\n")

    def test_there_and_back_twice(self, admin, called, path):
        for _ in range(2):
            assert called("apply", path)[0] == 0
            until(
                lambda: lists(admin, NAME) == {0: [2, 1], 1: [1, 2], 2: [2, 0], 3: [1, 0]},
                "the lists",
            )
            assert called("rollback", path)[0] == 0
            shown(admin, NAME, dict(enumerate(BEFORE)))

    @pytest.mark.long
    def test_what_another_tool_cancels_is_not_sent_again(self, admin, called, path):
        def cancel():
            where = TopicPartition(NAME, 0)
            until(lambda: where in admin.list_partition_reassignments(), "a move")
            admin.alter_partition_reassignments({where: None})

        thread = threading.Thread(target=cancel)
        thread.start()
        code, out, _ = called("apply", path, "--throttle", "1")
        thread.join()
        assert code == 3
        assert f"! {NAME}-0  cancelled_externally" in out
        assert out.splitlines()[0] == "2 moves: 1 done, 1 failed, 0 skipped, 0 dropped"
        until(lambda: lists(admin, NAME)[0] == [1, 0], "the lists")
        until(lambda: empty(throttles(admin)), "no throttle")

    def test_throttles_that_a_killed_run_left_are_restored(self, admin, called, path):
        self.interrupted(admin, called, path)
        code, _, err = called("throttles", "--restore")
        assert code == 0, err
        until(lambda: empty(throttles(admin)), "no throttle")
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the move, unthrottled")
        assert called("status", path)[0] == 0


class TestWithoutAJournal:
    @pytest.mark.parametrize("verb", ["resume", "cancel"])
    def test_there_is_nothing_to_go_on_with(self, admin, called, tmp_path, verb):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, err = called(verb, path)
        assert (code, out) == (1, "")
        assert "error: the journal of a plan that was begun is wanted" in err
        assert "hint: to begin: rackwise apply" in err

    def test_status_and_rollback_work(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, _ = called("status", path)
        assert (code, out.splitlines()[0]) == (2, "3 not_started")
        assert called("rollback", path)[:2] == (0, "0 moves: nothing to undo\n")
        told = document(called("status", path, "--json")[1])
        assert (told["moves"], told["has_journal"]) == (3, False)


@pytest.mark.parametrize("rate", ["0", "-1", "10Mbit", "9223372036854775808", "1" * 40, ""])
def test_a_rate_that_is_none(admin, called, tmp_path, rate):
    del admin
    code, out, err = called("apply", str(tmp_path / "none"), f"--throttle={rate}", "--json")
    assert (code, out) == (1, "")
    assert document(err)["hint"].startswith("units: B kB MB GB KiB MiB GiB; a bare number is bytes")


def test_throttles_of_nobody_here_are_not_ours(admin, called):
    write_throttles(admin, [Write(resource=1, key=RATES[1], value="5")])
    until(lambda: throttles(admin).brokers[1], "a throttle")
    assert called("throttles")[:2] == (0, f"broker 1 {RATES[1]}  5  not ours\n")
    code, out, _ = called("throttles", "--restore", "--json")
    assert (code, document(out)["throttles"][0]["owner"]) == (0, "not ours")
    assert throttles(admin) == Throttles(
        brokers={**throttles(admin).brokers, 1: {RATES[1]: "5"}}, topics=throttles(admin).topics
    )
    write_throttles(admin, [Write(resource=1, key=RATES[1], value=None)])
    until(lambda: empty(throttles(admin)), "no throttle")
