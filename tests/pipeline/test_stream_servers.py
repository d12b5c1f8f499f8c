"""Telemetry from real Kafka by Spark's connector, killed at each point on the way and run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow.parquet
import pytest

from kafka_traffic import create
from rackwise.adapters.files.strict_json import parse
from rackwise.adapters.kafka import connect
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.stream_store import Store
from spark_clusters import connector_jars
from telemetry import demo_messages, message

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2000)]

TESTS = Path(__file__).parents[1]
TOPIC = "telemetry"
PATIENCE_S = 600


@pytest.fixture(scope="module")
def brokers(java_home, tmp_path_factory):
    from rackwise.adapters.sandbox import Sandbox

    folder = tmp_path_factory.mktemp("brokers")
    with Sandbox.kraft(brokers=1, racks=("a",), java_home=java_home, folder=folder) as cluster:
        with closing(connect(cluster.bootstrap)) as admin:
            create(admin, TOPIC, [[0], [0]])
        yield cluster


def send(bootstrap, values):
    from kafka import KafkaProducer

    with closing(KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all")) as producer:
        for value in values:
            emitter = b"" if value is None else value[:40]
            producer.send(TOPIC, value, key=emitter, partition=len(value or b"") % 2)
        producer.flush()


def started(*command):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )


def run(*words):
    """A command in a process of its own, as there is one Spark session a process; its document."""
    done = started("-m", "rackwise.cli", "--json", *words)
    assert done.returncode == 0, done.stderr
    return parse(done.stdout.encode(), where="stdout", error=InvalidConfig)


def killed(point, *words):
    done = started(TESTS / "killed_stream.py", point, *words)
    assert done.returncode == -signal.SIGKILL, done.stderr


def read_by(brokers, home):
    """The command that reads what is there."""
    place = ["--out", home / "out", "--checkpoint", home / "mark", "--topic", TOPIC]
    spark = ["--master", "local[2]", "--conf", f"spark.jars={connector_jars()}"]
    return ["stream", "run", "--bootstrap-server", brokers.bootstrap, *place, *spark]


def offsets(home):
    """Every message that counts, by its place in the topic."""
    store = Store(str(home / "out"))
    found = Counter()
    for batch in store.batches():
        folder = store.folder(batch.token, batch.batch_id)
        for row in pyarrow.parquet.read_table(folder, partitioning=None).to_pylist():
            found[row["kafka_partition"], row["kafka_offset"]] += 1
    return found


def test_killed_at_each_point_every_message_counts_once(brokers, tmp_path):
    """Law: every message of the topic is in one batch that counts."""
    values, _ = demo_messages()
    command = read_by(brokers, tmp_path)
    send(brokers.bootstrap, values[:6])
    killed("before-mark", *command)
    assert offsets(tmp_path) == Counter()
    killed("after-mark", *command)
    assert offsets(tmp_path).total() == 6
    send(brokers.bootstrap, [*values[6:], b"no telemetry", message(v=2)])
    told = run(*command)
    assert (told["batches"], told["messages"]) == (1, len(values) - 4)
    assert told["reasons"] == {"kept": len(values) - 6, "malformed:json": 1, "malformed:version": 1}
    assert set(offsets(tmp_path).values()) == {1}
    assert offsets(tmp_path).total() == len(values) + 2
    assert run(*command)["batches"] == 0
