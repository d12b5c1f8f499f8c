"""`rackwise status` on real brokers, while a process runs the plan."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from hand_made_plans import plan_file
from kafka_topics import NAME, document
from kafka_traffic import create, until
from rackwise.cli.apply.status import SHOWN

PARTITIONS = 8

pytestmark = [pytest.mark.usefixtures("state"), pytest.mark.kafka]


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def path(admin, tmp_path):
    create(admin, NAME, [[0, 1]] * PARTITIONS)
    afters = {(NAME, number): (0, 2) for number in range(PARTITIONS)}
    return plan_file(tmp_path / "p.json", admin, afters)


@pytest.mark.long
def test_moves_of_a_running_process_are_never_those_of_others(cluster, called, path, monkeypatch):
    """Of 12 looks, 6 showed a move that had just been requested as one of another tool."""
    monkeypatch.setattr("rackwise.cli.apply.status.WATCHED_S", 0.0)
    words = ["apply", path, "--at-once", "1", "--bootstrap-server", cluster.bootstrap]
    seen = Counter()
    with subprocess.Popen(
        [sys.executable, "-m", "rackwise.cli", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        looks = 0
        while process.poll() is None:
            printed = document(called("status", path, "--json")[1])
            seen.update(printed["counts"].keys())
            looks += printed["pid"] is not None
        out = process.stdout.read()
    assert (process.returncode, out.startswith(f"{PARTITIONS} moves: {PARTITIONS} done")) == (
        0,
        True,
    )
    assert looks > 5
    assert set(seen) <= {"done", "moving", "not_started"}


def test_it_is_short_unless_all_is_asked_for(called, path):
    short, whole = (called("status", path, *words)[1].splitlines() for words in ([], ["--all"]))
    assert short == [
        f"{PARTITIONS} not_started",
        f"0/{PARTITIONS} partitions, 0 bytes of 0 bytes left",
    ]
    assert len(whole) == 2 + PARTITIONS
    assert f"! {NAME}-7  not_started" in whole


def test_of_many_moves_of_others_the_first_are_shown(admin, called, path):
    admin.delete_topics([NAME])
    until(lambda: NAME not in admin.list_topics(), "the topic to be gone")
    lines = called("status", path)[1].splitlines()
    assert lines[2] == f"! {NAME}-0  topic_gone  the topic was deleted"
    assert lines[2 + SHOWN :] == [
        f"and {PARTITIONS - SHOWN} more changed by others; --all shows them"
    ]
    assert len(called("status", path, "--all")[1].splitlines()) == 2 + PARTITIONS
