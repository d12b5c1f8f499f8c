"""The examples of producers, as a person runs them, on real brokers."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from consumer_groups import topic_on
from producers import read_values
from rackwise.adapters.kafka import connect

EXAMPLES = Path(__file__).parents[3] / "examples" / "producers"
MODES = ("rack-blind", "rack-aware", "bounded")
FIGURES = re.compile(
    r"(\S+) +(\S+) +(\S+) of (\S+) MB to leaders in the own rack \((\d+)%\), "
    r"the fullest rack gets (\S+) times the mean"
)


def run(name, *words, lines="", patience_s=120):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", EXAMPLES / name, *words],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.kafka
def test_each_client_writes_near(kraft_cluster):
    bootstrap = kraft_cluster.bootstrap
    with closing(connect(bootstrap)) as admin, topic_on(admin, "told", [[0, 1], [1, 2], [2, 0]]):
        for client in ("kafka_python", "aiokafka", "confluent"):
            words = ("told", "--bootstrap-server", bootstrap, "--rack", "b")
            (said,) = run(f"with_{client}.py", *words, lines=f"{client} 1\n{client} 2\n")
            near, total = re.fullmatch(r"told: (\d+) of (\d+) bytes to leaders near", said).groups()
            assert near == total
        found = read_values(bootstrap, "told", 3)
    assert {number for number, values in found.items() if values} == {1}
    assert len(found[1]) == 6


@pytest.mark.kafka
@pytest.mark.long
def test_what_producers_write_near_and_what_it_does_to_the_fullest_rack():
    found = {}
    for line in run("before_after.py", patience_s=280):
        client, mode, _, total, share, load = FIGURES.fullmatch(line).groups()
        assert float(total) >= 2 * 1500 * 1000 / 1e6
        found[client, mode] = int(share), float(load)
    clients = {client for client, _ in found}
    assert len(clients) * len(MODES) == len(found) == 9
    for client in clients:
        (blind, even), (aware, full), (bounded, kept) = (found[client, mode] for mode in MODES)
        assert blind < bounded < aware
        assert aware >= 90
        assert even < full
        assert full > 1.4
        assert kept <= 1.15
