"""Runs that end after any line of their journal are resumed or rolled back.

Promise: final == plan, or == before; configs == those before, the operator's throttles among them;
no record that a producer saw acknowledged is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acked_records import Writing
from hand_made_plans import configs, plan_file, shown
from kafka_topics import NAME
from kafka_traffic import LISTS, RATES, create, produce, until
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.kafka.applying.throttles import ConfigWrite, read_throttles, write_throttles

TESTS = Path(__file__).parents[2]
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}
PLANNED = {0: [2, 1], 1: [1, 0], 2: [2, 0], 3: [1, 0]}
THROTTLED = ("--throttle", "100kB", "--per-broker", "1")
THEIRS = (
    ConfigWrite(resource=0, key=RATES[0], value="70000000"),
    ConfigWrite(resource=NAME, key=LISTS[1], value="2:2"),
)
LINES = 20
"""A run of this plan has fewer lines."""
QUICK = {2, 5}
"""Before throttles are set; once the moves were asked for."""

pytestmark = pytest.mark.kafka


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def scene(admin, cluster, tmp_path):
    """A plan, throttles of an operator, somebody who writes, and all configs before it is applied.

    Once it is over every acknowledged record has to be there.
    """
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 150})
    write_throttles(admin, THEIRS)
    until(lambda: has_theirs(admin), "the operator's throttles")
    path = plan_file(tmp_path / "p.json", admin, AFTER)
    with Writing(cluster.bootstrap, NAME, len(BEFORE)):
        yield path, configs(admin, NAME)
    gone = [ConfigWrite(resource=each.resource, key=each.key, value=None) for each in THEIRS]
    write_throttles(admin, gone)


def has_theirs(admin):
    found = read_throttles(admin, topics=[NAME], brokers=[0])
    return bool(found.brokers[0] and found.topics[NAME])


def exit_status_after(lines, number, cluster, *words):
    """Exit status of a command that is sent a signal once it has written so many lines."""
    command = [sys.executable, str(TESTS / "killed_command.py"), str(lines), number, *words]
    return subprocess.run(
        [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
    ).returncode


def kill_after(lines, cluster, *words):
    status = exit_status_after(lines, "SIGKILL", cluster, *words)
    assert status in ({-9, 0} if lines + 1 < LINES else {0}), "a run of more lines than are tried"


def journal_text(state):
    return "\n".join(path.read_text() for path in sorted(state.glob("*/*.journal")))


def check_done(result, admin, wanted, before, state):
    """Check that the command succeeded, and that nothing else differs from before."""
    assert result[0] == 0, (result, journal_text(state))
    shown(admin, NAME, wanted)
    until(lambda: configs(admin, NAME) == before, f"configs as before\n{journal_text(state)}")


def every_line():
    return [
        pytest.param(lines, marks=() if lines in QUICK else pytest.mark.long)
        for lines in range(1, LINES)
    ]


@pytest.mark.parametrize("lines", every_line())
def test_killed_after_a_line_it_is_gone_on_with(lines, admin, cluster, scene, state, called):
    """F1: a run is killed once, and one command resumes it."""
    path, before = scene
    kill_after(lines, cluster, "apply", path, *THROTTLED)
    check_done(called("resume", path), admin, PLANNED, before, state)


@pytest.mark.long
@pytest.mark.parametrize("lines", range(1, LINES))
def test_killed_twice_it_is_gone_on_with(lines, admin, cluster, scene, state, called):
    """F1: the run that resumes is killed, too."""
    path, before = scene
    kill_after(lines, cluster, "apply", path, *THROTTLED)
    kill_after(1 + lines // 2, cluster, "resume", path)
    check_done(called("resume", path), admin, PLANNED, before, state)


@pytest.mark.long
@pytest.mark.parametrize("lines", range(1, LINES))
def test_killed_after_a_line_it_is_taken_back(lines, admin, cluster, scene, state, called):
    """F1, F14: a run is killed once, and one command rolls it back."""
    path, before = scene
    kill_after(lines, cluster, "apply", path, *THROTTLED)
    check_done(called("rollback", path), admin, dict(enumerate(BEFORE)), before, state)


@pytest.mark.long
@pytest.mark.parametrize("lines", range(1, LINES))
def test_a_way_back_that_is_killed_is_gone_on_with(lines, admin, cluster, scene, state, called):
    """F1, F14: the rollback is killed, too."""
    path, before = scene
    kill_after(lines, cluster, "apply", path, *THROTTLED)
    kill_after(lines, cluster, "rollback", path, *THROTTLED)
    check_done(called("rollback", path), admin, dict(enumerate(BEFORE)), before, state)


@pytest.mark.long
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("lines", range(1, LINES, 3))
def test_a_signal_after_a_line_ends_it_and_it_is_gone_on_with(
    lines, number, admin, cluster, scene, state, called
):
    """F30: 3 once anything was written, and before that the signal's own status."""
    path, before = scene
    status = exit_status_after(lines, number, cluster, "apply", path, *THROTTLED)
    types = [line.type for each in state.glob("*/*.journal") for line in read_lines(each)]
    wrote = {"throttle_set", "batch_result"} & set(types)
    unwritten = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}[number]
    assert status in ({0, 3} if wrote else {unwritten, 3}), journal_text(state)
    check_done(called("resume", path), admin, PLANNED, before, state)


def read_lines(journal):
    return parse_journal(journal.read_bytes(), journal).entries


@pytest.mark.long
def test_a_torn_line_is_dropped_and_damage_before_it_is_refused(
    admin, cluster, scene, state, called
):
    """F15: the last line of a killed run may be half a line; no other may."""
    path, before = scene
    kill_after(2, cluster, "apply", path)
    (journal,) = state.glob("*/*.journal")
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"type":"begin"', b'"type":"end"', 1))
    code, out, err = called("resume", path)
    assert (code, out) == (1, "")
    assert ":1: offset 0: expected a whole journal, got a damaged line" in err
    assert called("status", path)[0] == 2
    assert journal.read_bytes() != whole
    journal.write_bytes(whole + whole.splitlines()[-1][:40])
    check_done(called("resume", path), admin, PLANNED, before, state)


@pytest.mark.long
def test_a_journal_that_fills_up_stops_before_what_it_cannot_announce(
    admin, cluster, scene, state, called
):
    """F15: a limit of the size of files; exit 4 before the first write."""
    path, _ = scene
    script = (
        "import resource, sys\n"
        "from rackwise.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "sys.exit(run(sys.argv[2:]))\n"
    )
    words = ["apply", path, "--bootstrap-server", cluster.bootstrap]
    for size in (60, 300):
        done = subprocess.run(
            [sys.executable, "-c", script, str(size), *words],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 4, done.stderr
        assert "cannot keep a journal at " in done.stderr
        shown(admin, NAME, dict(enumerate(BEFORE)))
    for journal in state.glob("*/*.journal"):
        assert "batch_intent" not in [line.type for line in read_lines(journal)]
    assert called("apply", path)[0] == 0
    shown(admin, NAME, PLANNED)


@pytest.mark.long
def test_a_reader_of_stdout_that_is_gone_stops_nothing(admin, cluster, scene, state):
    """F30: a closed stdout; the run comes to its end and its journal says so."""
    path, before = scene
    reader, writer = os.pipe()
    os.close(reader)
    words = ["apply", path, *THROTTLED, "--bootstrap-server", cluster.bootstrap]
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *words], check=False, stdout=writer, text=True
    )
    os.close(writer)
    check_done((done.returncode,), admin, PLANNED, before, state)
    assert '"type":"end"' in journal_text(state)
