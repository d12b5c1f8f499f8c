"""A plan executed on real brokers of Kafka 4.4: `python tests/bench/bench_apply.py`.

Pair, each side as whole processes from start to end: `rackwise apply` of 200 moves that only
reorder lists, with the election of their preferred leaders / Kafka's own `--execute` of the same
lists, then `--verify` until it reports that all are done, which elects no leader. Ours executes the
moves, Kafka's tool reverses them, and the first of each list leads before either begins.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from pairs import seconds, tell

from hand_made_plans import leaders, lists, plan_file
from kafka_reassign import kafkas_tool
from kafka_traffic import create, until
from rackwise.adapters.files.plan.reassignment import reassignment_text
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.elect import elect_preferred
from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java

TOPIC = "reordered"
PARTITIONS = 200
BEFORE = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]] * (PARTITIONS // 4)
AFTER = [[second, first, third] for first, second, third in BEFORE]
ROUNDS = 5


def applied(cluster, plan, state):
    """Our command, with a new state folder: a first run."""
    command = [sys.executable, "-m", "rackwise.cli", "apply", plan]
    subprocess.run(
        [*command, "--bootstrap-server", cluster.bootstrap],
        env={**os.environ, "RACKWISE_STATE": str(state)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def reassigned(java_home, cluster, file):
    """Kafka's own tool, with one file."""
    words = (java_home, cluster.bootstrap, "--reassignment-json-file", file)
    kafkas_tool(*words, "--execute")
    while kafkas_tool(*words, "--verify").count(" is completed.") < PARTITIONS:
        pass


def led(admin, rows):
    """Elect preferred leaders; returns when the first of each list leads."""
    elect_preferred(admin, [(TOPIC, number) for number in range(PARTITIONS)])
    until(lambda: leaders(admin, TOPIC) == {n: row[0] for n, row in enumerate(rows)}, "leaders")


def main() -> None:
    """Print one line."""
    java_home = find_java(os.environ).home
    with (
        TemporaryDirectory() as name,
        Sandbox.kraft(brokers=4, java_home=java_home) as cluster,
        closing(connect(cluster.bootstrap)) as admin,
    ):
        folder = Path(name)
        create(admin, TOPIC, BEFORE)
        afters = {(TOPIC, number): row for number, row in enumerate(AFTER)}
        there = plan_file(folder / "there.json", admin, afters)
        back = folder / "back.json"
        rows = {(TOPIC, number): tuple(row) for number, row in enumerate(BEFORE)}
        back.write_text(reassignment_text(rows))
        ratios = []
        for number in range(ROUNDS + 1):
            led(admin, BEFORE)
            ours = seconds(lambda: applied(cluster, there, folder / f"state-{number}"))  # noqa: B023
            if lists(admin, TOPIC) != dict(enumerate(AFTER)):
                raise SystemExit("expected the lists of the plan, got they are not there")
            led(admin, AFTER)
            theirs = seconds(lambda: reassigned(java_home, cluster, back))
            if lists(admin, TOPIC) != dict(enumerate(BEFORE)):
                raise SystemExit("expected the lists of before, got they are not there")
            ratios.append(ours / theirs)
            print(f"ours {ours:.2f} s, theirs {theirs:.2f} s", file=sys.stderr)
        tell(
            f"apply of {PARTITIONS} moves that only reorder / Kafka's --execute with --verify",
            statistics.median(ratios[1:]),
            gate=1.2,
        )


if __name__ == "__main__":
    main()
