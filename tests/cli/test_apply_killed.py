"""F1, F14, F15: a run killed after any line of its journal is gone on with, or taken back.

Promise: final == plan, or == before; throttles == those before, the operator's among them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hand_made_plans import plan_file, shown
from kafka_topics import NAME
from kafka_traffic import LISTS, RATES, create, produce, until
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.kafka.applying.throttles import Write, read_throttles, write_throttles
from rackwise.cli.main import run

TESTS = Path(__file__).parents[1]
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}
PLANNED = {0: [2, 1], 1: [1, 0], 2: [2, 0], 3: [1, 0]}
THROTTLED = ("--throttle", "100kB", "--per-broker", "1")
THEIRS = (
    Write(resource=0, key=RATES[0], value="70000000"),
    Write(resource=NAME, key=LISTS[1], value="2:2"),
)
LINES = 20
"""A run of this plan has fewer lines."""
QUICK = {2, 5}
"""Before throttles are set; before the moves are asked for."""


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def scene(kraft_admin, kraft_cluster, tmp_path):
    """A plan, throttles of an operator, and what all throttles are before it is applied."""
    create(kraft_admin, NAME, BEFORE)
    produce(kraft_cluster.bootstrap, {(NAME, 0): 150})
    write_throttles(kraft_admin, THEIRS)
    until(lambda: throttles(kraft_admin).brokers[0], "the operator's throttles")
    yield plan_file(tmp_path / "p.json", kraft_admin, AFTER), throttles(kraft_admin)
    gone = [Write(resource=each.resource, key=each.key, value=None) for each in THEIRS]
    write_throttles(kraft_admin, gone)


@pytest.fixture
def kraft_admin(kraft_cluster):
    from contextlib import closing

    from kafka_traffic import delete
    from rackwise.adapters.kafka import connect

    with closing(connect(kraft_cluster.bootstrap)) as made:
        yield made
        delete(made, NAME)


def throttles(admin):
    return read_throttles(admin, topics=[NAME], brokers=[0, 1, 2, 3])


def killed(lines, cluster, *words):
    """Its exit status."""
    command = [sys.executable, str(TESTS / "killed_command.py"), str(lines), *words]
    return subprocess.run(
        [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
    ).returncode


def every_line():
    return [
        pytest.param(lines, marks=() if lines in QUICK else pytest.mark.long)
        for lines in range(1, LINES)
    ]


@pytest.mark.kafka
@pytest.mark.parametrize("lines", every_line())
def test_killed_after_a_line_it_is_gone_on_with(
    lines, kraft_admin, kraft_cluster, scene, state, capsys
):
    path, before = scene
    status = killed(lines, kraft_cluster, "apply", path, *THROTTLED)
    assert status in {-9, 0}
    code = run(["resume", path, "--bootstrap-server", kraft_cluster.bootstrap])
    said = capsys.readouterr()
    assert code == 0, (said, journal_text(state))
    shown(kraft_admin, NAME, PLANNED)
    until(lambda: throttles(kraft_admin) == before, f"throttles as before\n{journal_text(state)}")


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.parametrize("lines", range(1, LINES))
def test_killed_after_a_line_it_is_taken_back_also_when_that_is_killed(
    lines, kraft_admin, kraft_cluster, scene, state, capsys
):
    path, before = scene
    killed(lines, kraft_cluster, "apply", path, *THROTTLED)
    killed(lines, kraft_cluster, "rollback", path, *THROTTLED)
    code = run(["rollback", path, "--bootstrap-server", kraft_cluster.bootstrap])
    said = capsys.readouterr()
    assert code == 0, (said, journal_text(state))
    shown(kraft_admin, NAME, dict(enumerate(BEFORE)))
    until(lambda: throttles(kraft_admin) == before, f"throttles as before\n{journal_text(state)}")


def journal_text(state):
    return "\n".join(path.read_text() for path in sorted(state.glob("*/*.journal")))


@pytest.mark.kafka
@pytest.mark.long
def test_a_journal_that_fills_up_stops_before_what_it_cannot_announce(
    kraft_admin, kraft_cluster, scene, state
):
    path, _ = scene
    script = (
        "import resource, sys\n"
        "from rackwise.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "sys.exit(run(sys.argv[2:]))\n"
    )
    words = ["apply", path, "--bootstrap-server", kraft_cluster.bootstrap]
    for size, status in ((60, 4), (300, 4)):
        done = subprocess.run(
            [sys.executable, "-c", script, str(size), *words],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ},
        )
        assert done.returncode == status, done.stderr
        assert "a journal is wanted" in done.stderr
        shown(kraft_admin, NAME, dict(enumerate(BEFORE)))
    for journal in state.glob("*/*.journal"):
        types = [each.type for each in parse_journal(journal.read_bytes(), journal).entries]
        assert "batch_intent" not in types
    assert run([*words]) == 0
    shown(kraft_admin, NAME, PLANNED)


@pytest.mark.kafka
@pytest.mark.long
def test_a_reader_of_stdout_that_is_gone_stops_nothing(kraft_admin, kraft_cluster, scene, state):
    path, before = scene
    reader, writer = os.pipe()
    os.close(reader)
    words = ["apply", path, *THROTTLED, "--bootstrap-server", kraft_cluster.bootstrap]
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *words], check=False, stdout=writer, text=True
    )
    os.close(writer)
    assert done.returncode == 0
    shown(kraft_admin, NAME, PLANNED)
    until(lambda: throttles(kraft_admin) == before, "throttles as before")
    assert '"type":"end"' in journal_text(state)
