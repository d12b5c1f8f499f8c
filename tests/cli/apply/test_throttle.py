"""`rackwise throttle` on real brokers, while a process runs the plan and while none does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import leaders, lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import RATES, create, produce, until
from rackwise.adapters.files.journal import open_journal
from rackwise.adapters.files.plan.read import read_plan
from rackwise.adapters.files.state_folder import locked, made_folder
from rackwise.adapters.files.throttle_request import read_request, request_path
from rackwise.adapters.kafka.applying.throttles import (
    ConfigWrite,
    read_throttles,
    write_throttles,
)
from rackwise.cli.apply.throttle import holds
from rackwise.cli.source import utc_now
from rackwise.core.applying.journal.codec import fields_of
from rackwise.core.applying.journal.lines import Begin, ThrottleChange
from rackwise.core.applying.model import Outcome

BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
THEIRS = [ConfigWrite(resource=1, key=RATES[0], value="7777777")]

pytestmark = [pytest.mark.usefixtures("state"), pytest.mark.kafka]


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def path(admin, cluster, tmp_path):
    """A plan of one move that a throttle of one byte a second keeps half-way."""
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 300})
    write_throttles(admin, THEIRS)
    until(lambda: throttles(admin).brokers[1], "the operator's throttle")
    yield plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2, 1)})
    if is_moving(admin):
        admin.alter_partition_reassignments({TopicPartition(NAME, 0): None})
    write_throttles(admin, [ConfigWrite(resource=1, key=RATES[0], value=None)])
    until(lambda: not any(throttles(admin).brokers.values()), "no throttle")


def throttles(admin):
    return read_throttles(admin, topics=[NAME], brokers=[0, 1, 2, 3])


def is_moving(admin):
    return TopicPartition(NAME, 0) in admin.list_partition_reassignments()


def applying(cluster, path):
    """A process that applies the plan at one byte a second."""
    return running(cluster, "apply", path, "--throttle", "1")


def running(cluster, *words):
    """A process that executes a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "rackwise.cli", *words, "--bootstrap-server", cluster.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_running_process_takes_it_and_restores_what_was_there(
    admin, cluster, called, path, state
):
    before = throttles(admin)
    process = applying(cluster, path)
    try:
        until(lambda: is_moving(admin), "a move")
        code, out, err = called("throttle", path, "2")
        assert (code, out.splitlines()) == (
            0,
            [
                f"throttle: 2 bytes/s at each broker, set by process {process.pid}",
                f"broker 1 {RATES[0]}  7777777  kept, another rate holds",
            ],
        ), err
        assert throttles(admin).brokers[2] == {RATES[1]: "2"}
        code, out, err = called("throttle", path, "100MB", "--json")
        printed = document(out)
        assert (code, printed["rate"], printed["pid"]) == (0, 100_000_000, str(process.pid)), err
        assert printed["kept"] == {"1": {RATES[0]: "7777777"}}
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "1 move: 1 done, 0 failed, 0 skipped, 0 dropped\n"), err
    assert "throttle: 100,000,000 bytes/s (95.4 MiB/s) at each broker from now on" in err
    until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")
    until(lambda: throttles(admin) == before, "throttles as before")
    assert not [*state.glob("*/*.throttle")], "the request is gone"
    assert called("throttle", path, "5MB")[:2] == (
        0,
        "no move of the plan is running: nothing to throttle\n",
    )


@pytest.mark.long
def test_an_old_rate_of_this_run_is_not_one_that_is_kept(admin, cluster, called, path, tmp_path):
    """Where all moves of a broker had ended, our own old rate was shown as that of an operator."""
    afters = {(NAME, 0): (2, 1), (NAME, 1): (1, 3)}
    path = plan_file(tmp_path / "both.json", admin, afters)
    process = applying(cluster, path)
    try:
        until(lambda: is_moving(admin) and lists(admin, NAME)[1] == [1, 3], "one move of two")
        time.sleep(3)
        code, out, err = called("throttle", path, "2", "--json")
        assert (code, document(out)["kept"]) == (0, {"1": {RATES[0]: "7777777"}}), err
        assert throttles(admin).brokers[3] == {RATES[1]: "1"}
        assert called("throttle", path, "100MB")[0] == 0
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("class_", "has_written", "is_set"),
    [("done", False, False), ("done", True, True), ("moving", False, True)],
)
def test_a_rate_holds_unless_all_moves_ended_before_it_was_set(class_, has_written, is_set):
    outcome = Outcome(mode="throttle", classes={(NAME, 0): class_}, codes={})
    assert holds(replace(outcome, has_written=has_written)) is is_set


@pytest.mark.long
@pytest.mark.parametrize("verb", ["resume", "rollback"])
def test_without_a_process_it_is_set_and_kept(admin, cluster, called, path, verb):
    before = throttles(admin)
    process = applying(cluster, path)
    until(lambda: is_moving(admin), "a move")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    code, out, err = called("throttle", path, "2")
    assert (code, out.splitlines()[0]) == (0, "throttle: 2 bytes/s at each broker"), err
    assert throttles(admin).brokers[2] == {RATES[1]: "2"}
    assert is_moving(admin)
    code, out, err = called("throttle", path, "90MB")
    assert (code, throttles(admin).brokers[2]) == (0, {RATES[1]: "90000000"}), err
    if verb == "resume":
        code, out, err = called("resume", path)
        assert code == 0, err
        assert out.startswith("1 move: 1 done")
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")
    else:
        assert called("rollback", path)[0] == 0
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")
    until(lambda: throttles(admin) == before, "throttles as before")


@pytest.mark.parametrize("verb", ["resume", pytest.param("rollback", marks=pytest.mark.long)])
def test_after_its_throttles_are_restored_a_killed_run_is_still_open(
    admin, cluster, called, path, tmp_path, verb
):
    """`status` named no process and no command, as if the run had ended."""
    before = throttles(admin)
    afters = {(NAME, 0): (2, 0), (NAME, 3): (1, 0)}
    path = plan_file(tmp_path / "two.json", admin, afters)
    process = running(cluster, "apply", path, "--throttle", "1", "--at-once", "1")
    until(lambda: is_moving(admin), "a move")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert called("throttles", "--restore")[0] == 0
    until(lambda: throttles(admin) == before, "throttles as before")
    code, out, err = called("status", path)
    assert code == 2
    assert "no process is running it: the last run did not reach its end" in out
    command = f"rackwise resume {path} --bootstrap-server {cluster.bootstrap}"
    assert f"to continue: {command}\n" in err
    printed = document(called("status", path, "--json")[1])
    assert (printed["is_open"], printed["next_command"]) == (True, command)
    assert printed["counts"]["not_started"] == 1
    code, out, err = called(verb, path, "--throttle", "50MB")
    assert code == 0, err
    wanted = {0: [2, 0], 3: [1, 0]} if verb == "resume" else {}
    shown(admin, NAME, dict(enumerate(BEFORE)) | wanted)
    if verb == "resume":
        assert leaders(admin, NAME)[0] == 2
    until(lambda: throttles(admin) == before, "throttles as before")
    assert document(called("status", path, "--json")[1])["is_open"] is False


def test_a_rate_that_the_process_could_not_set_ends_with_its_reason(called, path, state):
    """It waited a minute for an answer."""
    plan = read_plan(Path(path))
    folder = made_folder(state, plan.cluster_id)
    journal = open_journal(folder, plan.sha256)

    def write(line):
        fields = fields_of(line)
        journal.append(fields.pop("type"), fields, at=utc_now())

    def answer():
        file = request_path(journal.path)
        until(lambda: read_request(file) is not None, "a request")
        asked = read_request(file)
        change = ThrottleChange(rate=asked.rate, request=asked.request, is_set=False)
        write(change)
        write(replace(change, error="missing permission: Cluster:AlterConfigs\n"))

    write(Begin(plan=plan.sha256, mode="cancel", throttle=None, dropped=()))
    process = threading.Thread(target=answer)
    with locked(folder, since=utc_now(), command="cancel", plan=plan.sha256, file=Path(path)):
        process.start()
        code, out, err = called("throttle", path, "5kB")
        process.join()
    journal.close()
    assert (code, out) == (3, "")
    assert err == (
        f"warning: the throttle is not set on all brokers by process {os.getpid()}: "
        "missing permission: Cluster:AlterConfigs\\x0a\n"
    )


def test_a_process_that_runs_another_plan_is_named_and_not_asked(
    admin, cluster, called, path, tmp_path, state
):
    """Status named it as the process of this plan, and throttle waited a minute for its answer."""
    other = plan_file(tmp_path / "other.json", admin, {(NAME, 3): (1, 0)})
    process = applying(cluster, path)
    try:
        until(lambda: is_moving(admin), "a move")
        sha256 = read_plan(Path(path)).sha256
        named = f"executing another plan ({path}, {sha256[:12]}) since 20"
        for words in (("throttle", other, "5MB"), ("apply", other), ("rollback", other)):
            code, out, err = called(*words)
            assert (code, out) == (4, ""), err
            assert f"got process {process.pid}, which has been {named}" in err
        assert not [*state.glob("*/*.throttle")]
        code, out, err = called("status", other)
        assert code == 2
        assert out.splitlines()[2].startswith(f"process {process.pid} has been {named}")
        printed = document(called("status", other, "--json")[1])
        assert (printed["pid"], printed["since"], printed["command"]) == (None, None, None)
        assert printed["other"].pop("since").startswith("20")
        assert printed["other"] == {
            "pid": str(process.pid),
            "command": "apply",
            "plan": sha256,
            "file": path,
        }
        printed = document(called("status", path, "--json")[1])
        assert (printed["pid"], printed["command"]) == (str(process.pid), "apply")
        assert printed["other"] is None
    finally:
        process.kill()
        process.communicate()
    assert document(called("status", other, "--json")[1])["other"] is None
    assert called("cancel", path)[0] == 0


@pytest.fixture
def applied(called, path):
    """The same plan, executed."""
    assert called("apply", path)[0] == 0
    return path


@pytest.mark.long
def test_a_rollback_in_progress_takes_it(admin, cluster, called, applied):
    """The request stood beside the journal of the plan, and the rollback reads beside its own."""
    before = throttles(admin)
    process = running(cluster, "rollback", applied, "--throttle", "1")
    try:
        until(lambda: is_moving(admin), "a move")
        code, out, err = called("throttle", applied, "2")
        assert (code, out.splitlines()[0]) == (
            0,
            f"throttle: 2 bytes/s at each broker, set by process {process.pid}",
        ), err
        code, out, err = called("status", applied)
        assert (code, out.splitlines()[0]) == (2, "rollback: 1 moving"), err
        assert f"process {process.pid} has been rolling back this plan since 20" in out
        printed = document(called("status", applied, "--json")[1])
        assert (printed["pid"], printed["command"]) == (str(process.pid), "rollback")
        assert printed["rollback"] != printed["plan"] == read_plan(Path(applied)).sha256
        assert called("throttle", applied, "100MB")[0] == 0
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "1 move: 1 done, 0 failed, 0 skipped, 0 dropped\n"), err
    until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")
    until(lambda: throttles(admin) == before, "throttles as before")
    assert document(called("status", applied, "--json")[1])["rollback"] is None


@pytest.mark.long
def test_a_killed_rollback_gets_it_and_goes_on(admin, cluster, called, applied):
    before = throttles(admin)
    process = running(cluster, "rollback", applied, "--throttle", "1")
    until(lambda: is_moving(admin), "a move")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    code, out, err = called("status", applied)
    assert out.splitlines()[0] == "rollback: 1 moving"
    assert f"to continue: rackwise rollback {applied} " in err
    code, out, err = called("throttle", applied, "80MB")
    assert (code, out.splitlines()[0]) == (
        0,
        "throttle: 80,000,000 bytes/s (76.3 MiB/s) at each broker",
    ), err
    assert called("rollback", applied)[0] == 0
    until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")
    until(lambda: throttles(admin) == before, "throttles as before")


@pytest.mark.parametrize("rate", ["0", "10Mbit"])
def test_a_rate_that_is_none_is_rejected(called, path, rate):
    code, out, err = called("throttle", path, rate)
    assert (code, out) == (1, "")
    assert "invalid RATE: expected 1 to " in err
