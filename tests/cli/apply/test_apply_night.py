"""A night on real brokers: 200 moves in three windows of a minute, with a kill and a new throttle.

```
window 1    apply --for 60s --throttle 25kB    its budget is spent, exit code 3, no throttle left
window 2    the same command, killed with SIGKILL; the moves that are running go on
window 3    the same command; then rackwise throttle 50MB; exit code 3, or 0 when all is done
```

Promise: final == plan; configs == those before, the operator's throttles among them; no record that
a producer saw acknowledged is lost.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from acked_records import Writing
from hand_made_plans import configs, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import LISTS, RATES, create, produce, until
from producers import read_values
from rackwise.adapters.kafka.applying.throttles import (
    ConfigWrite,
    read_throttles,
    write_throttles,
)

MOVES = 200
WRITTEN = 8
"""Partitions that somebody writes to all night."""
RECORDS = 50
"""Records of 1 kB in each of the others."""
BEFORE = [[number % 4, (number + 1) % 4] for number in range(MOVES)]
AFTER = {number: [number % 4, (number + 2) % 4] for number in range(MOVES)}
WINDOW_S = 60
THEIRS = (
    ConfigWrite(resource=0, key=RATES[0], value="70000000"),
    ConfigWrite(resource=NAME, key=LISTS[1], value="2:2"),
)

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def scene(admin, cluster, tmp_path):
    """The plan, an operator's throttles, somebody who writes, and all configs before."""
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, number): RECORDS for number in range(WRITTEN, MOVES)})
    write_throttles(admin, THEIRS)
    until(lambda: has_theirs(admin), "the operator's throttles")
    afters = {(NAME, number): tuple(row) for number, row in AFTER.items()}
    path = plan_file(tmp_path / "p.json", admin, afters)
    with Writing(cluster.bootstrap, NAME, WRITTEN):
        yield path, configs(admin, NAME)
    write_throttles(
        admin, [ConfigWrite(resource=each.resource, key=each.key, value=None) for each in THEIRS]
    )


def has_theirs(admin):
    found = read_throttles(admin, topics=[NAME], brokers=[0])
    return bool(found.brokers[0] and found.topics[NAME])


class Window:
    """A process that applies the plan for one window."""

    def __init__(self, cluster, path):
        words = ["apply", path, "--for", f"{WINDOW_S}s", "--throttle", "25kB", "--json"]
        words += ["--bootstrap-server", cluster.bootstrap]
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rackwise.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Its exit code and its document."""
        out, err = self.process.communicate(timeout=400)
        return self.process.returncode, document(out), err


def test_three_windows_and_all_is_as_planned(admin, cluster, called, scene):
    path, before = scene
    with Window(cluster, path) as first:
        code, printed, err = first.end()
    assert (code, printed["stop"]) == (3, "budget"), err
    assert time.monotonic() - first.began >= WINDOW_S
    assert 0 < printed["done"] < MOVES
    assert printed["bytes_left"] > 0
    assert "--for 60s" in printed["next_command"]
    until(lambda: configs(admin, NAME) == before, "configs as before between two windows")

    with Window(cluster, path) as second:
        until(admin.list_partition_reassignments, "moves")
        time.sleep(5)
        second.process.send_signal(signal.SIGKILL)
        assert second.process.wait() == -9
    assert called("status", path)[0] == 2
    time.sleep(max(0, WINDOW_S + 1 - (time.monotonic() - second.began)))

    with Window(cluster, path) as third:
        pid = str(third.process.pid)
        until(lambda: document(called("status", path, "--json")[1])["pid"] == pid, "the third run")
        code, out, err = called("throttle", path, "50MB")
        assert (code, "50,000,000 bytes/s" in out) == (0, True), err
        code, printed, err = third.end()
    assert code in {0, 3}, err
    assert "50,000,000 bytes/s (47.7 MiB/s) at each broker from now on" in err
    if code:
        assert called("apply", path)[0] == 0
    shown(admin, NAME, AFTER)
    until(lambda: configs(admin, NAME) == before, "configs as before")
    read = read_values(cluster.bootstrap, NAME, MOVES)
    assert [len(read[number]) for number in range(WRITTEN, MOVES)] == [RECORDS] * (MOVES - WRITTEN)
