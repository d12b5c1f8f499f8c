"""`rackwise apply` and related commands on real brokers: the plan and nothing else, and back."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import leaders, lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import LISTS, RATES, create, produce, until
from rackwise.adapters.kafka.applying.throttles import (
    ConfigWrite,
    ThrottleValues,
    read_throttles,
    write_throttles,
)
from refusals import rejected_preflight

BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}


pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture
def cluster(kraft_first):
    """Each of the two; Kafka 3.9 for `make long`."""
    return kraft_first


def throttles(admin):
    brokers = [each["broker_id"] for each in admin.describe_cluster()["brokers"]]
    topics = [NAME] if NAME in admin.list_topics() else []
    return read_throttles(admin, topics=topics, brokers=brokers)


def empty(found):
    return not any(found.brokers.values()) and not any(found.topics.values())


class TestApply:
    def test_the_plan_and_nothing_else(self, admin, called, tmp_path, state):
        """F18: applied twice, the second run does nothing."""
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
        assert called("resume", path)[:2] == (0, "3 moves: nothing to do\n")
        nothing = "3 moves: none is running, nothing to cancel\n"
        assert called("cancel", path)[:2] == (0, nothing)
        printed = document(called("cancel", path, "--json")[1])
        assert (printed["mode"], printed["moves"], printed["is_reached"]) == ("cancel", 0, True)
        assert journal.read_bytes() == written, "a plan that is done is done"
        assert called("status", path)[0] == 0
        admin.alter_partition_reassignments({TopicPartition(NAME, 0): [0, 1]})
        until(lambda: lists(admin, NAME)[0] == [0, 1], "a list that somebody else changed")
        code, out, err = called("resume", path, "--json", "--quiet")
        printed = document(err)
        assert (code, out, printed["error"]) == (4, "", "NothingToResume")
        assert (
            "completed it, and replica lists changed since; it ended at 20" in (printed["message"])
        )
        assert journal.read_bytes() == written, "what is done is not begun again"

    def test_json_is_one_document(self, admin, called, tmp_path, state):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2, 1)})
        code, out, err = called("apply", path, "--json")
        printed = document(out)
        (journal,) = state.glob("*/*.journal")
        assert code == 0, err
        assert printed["format"] == "rackwise.applied/1"
        assert printed["journal"] == str(journal)
        assert printed["partitions"] == [
            {"topic": NAME, "partition": 0, "class": "done", "code": None, "text": None}
        ]
        assert (printed["done"], printed["is_reached"], printed["has_written"]) == (1, True, True)

    def test_more_and_fewer_replicas(self, admin, called, tmp_path):
        create(admin, NAME, [[0, 1], [0, 1]])
        afters = {(NAME, 0): (0, 1, 2), (NAME, 1): (1,)}
        code, out, err = called("apply", plan_file(tmp_path / "p.json", admin, afters))
        assert (code, out) == (0, "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped\n"), err
        shown(admin, NAME, {0: [0, 1, 2], 1: [1]})

    def test_a_throttle_is_there_during_and_gone_after(self, admin, cluster, called, tmp_path):
        """F14: beside an operator's own."""
        create(admin, NAME, BEFORE)
        produce(cluster.bootstrap, {(NAME, 0): 300})
        theirs = [
            ConfigWrite(resource=0, key=RATES[0], value="7777777"),
            ConfigWrite(resource=NAME, key=LISTS[0], value="2:0"),
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
        assert "throttle: 150,000 bytes/s (146 KiB/s) at each broker; 2" in err
        assert any(found.brokers.get(2) == {RATES[1]: "150000"} for found in seen)
        assert any(
            found.topics.get(NAME) == {LISTS[0]: "0:0,0:1,2:0", LISTS[1]: "0:2"} for found in seen
        )
        assert all(found.brokers[0] == {RATES[0]: "7777777"} for found in seen)
        until(lambda: throttles(admin) == before, "throttles as before")
        write_throttles(admin, [ConfigWrite(resource=0, key=RATES[0], value=None)])
        until(lambda: not any(throttles(admin).brokers.values()), "the operator's own to be gone")

    def test_check_writes_nothing(self, admin, called, tmp_path, state):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        assert called("apply", path, "--check")[:2] == (0, "3 moves: may run\n")
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")
        assert not [*state.glob("*/*.journal")]

    def test_check_says_how_much_how_long_and_where(self, admin, called, cluster, tmp_path, state):
        """Partition 0 is copied from broker 0 to 2, partitions 1 and 3 to 0 and 2."""
        create(admin, NAME, BEFORE)
        produce(cluster.bootstrap, {(NAME, 0): 60, (NAME, 1): 30, (NAME, 3): 10})
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, err = called("apply", path, "--check", "--throttle", "1kB", "--json")
        printed = document(out)
        copied = printed["bytes_to_copy"]
        assert code == 0, err
        assert copied > 100_000 * 9 // 10
        assert printed["unknown_sizes"] == 0
        assert printed["throttle"] == 1000
        most = printed["busiest"]
        assert copied // 2 < most["bytes"] < copied
        assert printed["least_seconds"] == -(-most["bytes"] // 1000)
        code, out, err = called("apply", path, "--check", "--throttle", "1kB")
        assert out.splitlines()[0] == "3 moves: may run"
        assert out.splitlines()[2].endswith(" or more at 1,000 bytes/s at each broker")
        assert out.splitlines()[3].startswith(f"busiest  broker {most['broker']}: ")
        code, out, err = called("apply", path, "--check")
        assert out.splitlines()[2] == "time     not known without a throttle: give --throttle"
        shown(admin, NAME, {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [0, 1]})
        assert not [*state.glob("*/*.journal")]


class Watching:
    """Keeps what the throttles were, as often as it can look, until the block ends."""

    def __init__(self, admin, seen):
        self.admin, self.seen, self.has_ended = admin, seen, False
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.has_ended:
            self.seen.append(throttles(self.admin))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.has_ended = True
        self.thread.join()


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
        "number",
        [
            signal.SIGINT,
            *(
                pytest.param(each, marks=pytest.mark.long)
                for each in (signal.SIGTERM, signal.SIGHUP)
            ),
        ],
    )
    def test_a_signal_keeps_the_throttle_and_tells_how_to_go_on(
        self, admin, cluster, called, path, number
    ):
        """F30: while a throttled move is under way, and no terminal."""
        code, out, err = self.interrupted(admin, called, path, number)
        assert code == 3
        assert "ended early, interrupted" in out
        assert "warning: throttle: 1 byte/s at each broker; 2" in err
        assert "or more (incoming of broker 2); for more, set a larger rate with" in err
        assert f"to continue: rackwise resume {path} --bootstrap-server {cluster.bootstrap}" in err
        assert throttles(admin).brokers[2] == {RATES[1]: "1"}
        code, out, err = called("status", path)
        assert code == 2
        printed = out.splitlines()
        assert printed[1].endswith(" s left (incoming of broker 2)")
        assert printed[2] == "no process is running it: the last run did not reach its end"
        assert printed[3].startswith(f"~ {NAME}-0  moving  0,1 -> 2,1  ")
        assert printed[3].endswith(" copied")
        assert printed[4:] == ["throttle  1 byte/s at 3 brokers, 1 topic"]
        assert f"throttle  broker 2 {RATES[1]}  1\n" in called("status", path, "--all")[1]
        assert f"to continue: rackwise resume {path}" in err
        assert "throttles of that run left: resume and cancel restore them" in err
        code, out, _ = called("throttles")
        assert code == 2
        assert f"broker 2 {RATES[1]}  1  ours, plan " in out
        code, out, err = called("resume", path, "--throttle", "100MB", "--throttle-over", "ours")
        assert (code, out) == (0, "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped\n"), err
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")
        until(lambda: empty(throttles(admin)), "no throttle")
        assert called("throttles")[:2] == (0, "no throttle is set\n")

    def test_rollback_that_is_rejected_after_it_cancelled_has_written(
        self, admin, cluster, called, path
    ):
        """The exit code was 4, as if nothing had been written."""
        self.interrupted(admin, called, path)
        with rejected_preflight(1):
            code, out, err = called("rollback", path)
        assert (code, out.splitlines()[0], out.splitlines()[-1]) == (
            3,
            "2 moves: 1 cancelled, 1 done, 0 failed, 0 still moving, 0 not started",
            "ended early, fatal: another tool moves t-0",
        ), err
        assert "hint: wait for its end" in err
        command = f"rackwise rollback {path} --bootstrap-server {cluster.bootstrap}"
        assert err.endswith(f"to continue: {command}\n")
        assert called("rollback", path)[0] == 0
        shown(admin, NAME, dict(enumerate(BEFORE)))

    @pytest.mark.long
    def test_cancel_takes_back_what_goes_on_and_leaves_what_is_done(self, admin, called, path):
        self.interrupted(admin, called, path)
        code, out, err = called("cancel", path)
        printed = "2 moves: 1 cancelled, 1 done, 0 failed, 0 still moving, 0 not started"
        assert (code, out.splitlines()[0]) == (0, printed), err
        shown(admin, NAME, {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [1, 0]})
        until(lambda: empty(throttles(admin)), "no throttle")

    def test_rollback_is_as_before(self, admin, called, path):
        self.interrupted(admin, called, path)
        code, out, err = called("rollback", path)
        assert code == 0, (out, err)
        assert "rollback: 1 partition, 0 replicas to copy" in err
        shown(admin, NAME, dict(enumerate(BEFORE)))
        until(lambda: leaders(admin, NAME)[3] == 0, "the leader of before")
        until(lambda: empty(throttles(admin)), "no throttle")
        assert called("rollback", path)[:2] == (0, "0 moves: nothing to undo\n")
        code, out, err = called("resume", path)
        assert (code, out) == (4, "")
        refused, hint = err.splitlines()
        assert refused.startswith(
            "error: nothing to resume: the last run of the plan undid it (rackwise cancel or "
            "rollback) at 20"
        )
        assert f"to execute it again: rackwise apply {path} --bootstrap-server " in hint
        assert lists(admin, NAME) == dict(enumerate(BEFORE))

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
        """F11: cancelled by a foreign tool mid move."""

        def cancel():
            where = TopicPartition(NAME, 0)
            until(lambda: where in admin.list_partition_reassignments(), "a move")
            admin.alter_partition_reassignments({where: None})

        thread = threading.Thread(target=cancel)
        thread.start()
        code, out, _ = called("apply", path, "--throttle", "1")
        thread.join()
        assert code == 3
        told = f"! {NAME}-0  cancelled_externally  another tool cancelled it"
        assert told in out.splitlines()
        assert told in called("status", path)[1].splitlines()
        assert out.splitlines()[0] == "2 moves: 1 done, 1 failed, 0 skipped, 0 dropped"
        until(lambda: lists(admin, NAME)[0] == [1, 0], "the lists")
        until(lambda: empty(throttles(admin)), "no throttle")

    def test_throttles_that_a_killed_run_left_are_restored(self, admin, called, path):
        """F14: without going on."""
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
        assert "error: the plan has no journal here: " in err
        assert "hint: to start it: rackwise apply" in err

    def test_status_and_rollback_work(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "p.json", admin, AFTER)
        code, out, _ = called("status", path)
        assert (code, out.splitlines()[0]) == (2, "3 not_started")
        assert called("rollback", path)[:2] == (0, "0 moves: nothing to undo\n")
        printed = document(called("rollback", path, "--json")[1])
        assert (printed["format"], printed["moves"]) == ("rackwise.applied/1", 0)
        printed = document(called("status", path, "--json")[1])
        assert (printed["moves"], printed["has_journal"], printed["is_open"]) == (3, False, False)


@pytest.mark.parametrize("rate", ["0", "-1", "10Mbit", "9223372036854775808", "1" * 40, ""])
def test_a_rate_that_is_none(admin, called, tmp_path, rate):
    del admin
    code, out, err = called("apply", str(tmp_path / "none"), f"--throttle={rate}", "--json")
    assert (code, out) == (1, "")
    assert document(err)["hint"].startswith("use one of the units B kB MB GB TB KiB MiB GiB TiB")


def test_throttles_of_nobody_here_are_not_ours(admin, called):
    write_throttles(admin, [ConfigWrite(resource=1, key=RATES[1], value="5")])
    until(lambda: throttles(admin).brokers[1], "a throttle")
    assert called("throttles")[:2] == (0, f"broker 1 {RATES[1]}  5  not ours\n")
    code, out, _ = called("throttles", "--restore", "--json")
    assert (code, document(out)["throttles"][0]["owner"]) == (0, "not ours")
    assert throttles(admin) == ThrottleValues(
        brokers={**throttles(admin).brokers, 1: {RATES[1]: "5"}}, topics=throttles(admin).topics
    )
    write_throttles(admin, [ConfigWrite(resource=1, key=RATES[1], value=None)])
    until(lambda: empty(throttles(admin)), "no throttle")
