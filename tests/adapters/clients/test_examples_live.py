"""The examples of consumers, as a person runs them, on real brokers."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from consumer_groups import topic_on
from kafka_traffic import produce
from rackwise.adapters.kafka import connect

EXAMPLES = Path(__file__).parents[3] / "examples" / "consumers"


def run(name, *words, patience_s=120):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", EXAMPLES / name, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.kafka
def test_each_client_reads_what_was_written(kraft_cluster):
    with (
        closing(connect(kraft_cluster.bootstrap)) as admin,
        topic_on(admin, "shown", [[0, 1], [1, 2]]),
    ):
        produce(kraft_cluster.bootstrap, {("shown", 0): 2, ("shown", 1): 2})
        for client in ("kafka_python", "aiokafka", "confluent"):
            words = ("--bootstrap-server", kraft_cluster.bootstrap, "--rack", "b", "--records", "4")
            found = run(f"with_{client}.py", *words, "--group", client, "shown")
            assert sorted(found) == ["shown-0 0", "shown-0 1", "shown-1 0", "shown-1 1"]


@pytest.mark.kafka
@pytest.mark.long
def test_rack_optimal_reads_all_bytes_in_the_own_rack_and_range_does_not():
    before, after = [
        re.fullmatch(r"\S+ +(\S+) of (\S+) MB from the own rack \((\d+)%\)", line).groups()
        for line in run("before_after.py", patience_s=280)
    ]
    assert after[0] == after[1]
    assert int(before[2]) < int(after[2]) == 100
    records_mb = 12 * 50 * 10_000 / 1e6
    assert all(float(total) >= records_mb for _, total, _ in (before, after))
