"""Snapshots of 24 real brokers with 10,000 partitions: `python tests/bench/bench_snapshot.py`.

Pair, each side as a whole process from start to end: `rackwise snapshot` / the same with
`--no-offsets`. Every tenth topic is compacted, so that ends of logs are read, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from kafka.admin import NewTopic
from pairs import compare

from kafka_traffic import producer, until
from rackwise.adapters.files import read_snapshot
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java

BROKERS = 24
TOPICS = 100
PARTITIONS = 100
"""Of each topic."""
REPLICATION = 2
GATE = 1.5
SMALL = {"log.index.size.max.bytes": "65536", "offsets.topic.num.partitions": "5"}
"""20,000 logs on one disk."""
PATIENCE_S = 300
ROUNDS = 5


def fill(cluster, admin) -> None:
    """Create the topics, and write to some partitions of each."""
    for number in range(TOPICS):
        rows = {
            each: [(number + each + copy) % BROKERS for copy in range(REPLICATION)]
            for each in range(PARTITIONS)
        }
        policy = {"cleanup.policy": "delete" if number % 10 else "compact"}
        admin.create_topics(
            [NewTopic(f"t{number:03}", replica_assignments=rows, topic_configs=policy)],
            timeout_ms=1000 * PATIENCE_S,
        )
    patient = {"linger_ms": 50, "delivery_timeout_ms": 1000 * PATIENCE_S}
    with producer(cluster.bootstrap, **patient) as sender:
        for number in range(TOPICS):
            for each in range(0, PARTITIONS, 5):
                sender.send(f"t{number:03}", value=bytes(500), key=b"k", partition=each)
        sender.flush(PATIENCE_S)


def main() -> None:
    """Print one line."""
    with (
        TemporaryDirectory() as name,
        Sandbox.kraft(
            brokers=BROKERS, java_home=find_java(os.environ).home, overrides=SMALL
        ) as cluster,
    ):
        with closing(connect(cluster.bootstrap)) as admin:
            fill(cluster, admin)
        file = Path(name) / "snapshot.json.gz"

        def snapshot(*options):
            """The file that the command writes."""
            command = [sys.executable, "-m", "rackwise.cli", "snapshot", "--out", file]
            command += ["--bootstrap-server", cluster.bootstrap, *options]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            return file

        def is_whole():
            seen = read_snapshot(snapshot())
            return not seen.notes and (seen.partitions.offsets.end >= 0).all()

        until(is_whole, "offsets of all partitions", timeout_s=PATIENCE_S)
        compare(
            "snapshot of 24 brokers, 10,000 partitions: with offsets / without",
            snapshot,
            lambda: snapshot("--no-offsets"),
            gate=GATE,
            rounds=ROUNDS,
        )


if __name__ == "__main__":
    main()
