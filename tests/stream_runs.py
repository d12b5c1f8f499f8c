"""Commands of the stream in their own processes, killed or not, and readers that watch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow.parquet
import pyspark

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.stream.store import Store
from spark_clusters import connector_jars
from telemetry import AT_MS, MINUTE_MS

LAUNCHER = Path(__file__).with_name("killed_stream.py")
PATIENCE_S = 900
JARS_SINCE = (4, 2)
"""The oldest Spark that reads with the jars of the tests."""
ARRIVED_MS = AT_MS + MINUTE_MS


def started(*command, **environment):
    """A process in its own session, since a process has one Spark session."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        start_new_session=True,
    )


def ended(process):
    """The exit code and the output of a process that has ended."""
    with process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, err


def document(process):
    """The document that a command with `--json` printed."""
    code, out, err = ended(process)
    assert code == 0, err
    return parse(out.encode(), where="stdout", error=InvalidConfig)


def run(*words, **environment):
    """Run a command to its end; its document."""
    return document(started("-m", "rackwise.cli", "--json", *words, **environment))


def was_killed(point, *words):
    """Whether a command reached a point (`killed_stream`) and was killed there."""
    code, _, err = ended(started(LAUNCHER, point, *words))
    assert code in {0, -signal.SIGKILL}, err
    return code == -signal.SIGKILL


def jars_fit():
    """Whether the jars of the tests are of the Spark that runs."""
    return tuple(map(int, pyspark.__version__.split(".")[:2])) >= JARS_SINCE


def reading(bootstrap, topic, home, *more, jars=True):
    """The command that reads the stored messages of a topic."""
    place = ["--out", home / "out", "--checkpoint", home / "mark", "--topic", topic]
    spark = ["--master", "local[2]", "--conf", f"spark.jars={connector_jars()}"] if jars else []
    return ["stream", "run", "--bootstrap-server", bootstrap, *place, *spark, *more]


def rows(home):
    """Every message that counts."""
    store = Store(str(home / "out"))
    found = []
    for batch in store.batches():
        table = pyarrow.parquet.read_table(store.folder_of(batch), partitioning=None)
        assert table.num_rows == batch.messages, "law of batches: what counts is whole"
        found += table.to_pylist()
    return found


def offsets(home):
    """How often each message counts, by its partition and offset."""
    return Counter((row["kafka_partition"], row["kafka_offset"]) for row in rows(home))


def send(bootstrap, topic, values, **options):
    """Send values in turn to two partitions, after the demo's first window; wait for all."""
    from kafka import KafkaProducer

    servers = bootstrap.split(",")
    with closing(KafkaProducer(bootstrap_servers=servers, acks="all", **options)) as producer:
        sent = [
            producer.send(topic, value, key=b"e", partition=number % 2, timestamp_ms=ARRIVED_MS)
            for number, value in enumerate(values)
        ]
        producer.flush()
        for each in sent:
            each.get(timeout=30)


class Looking(threading.Thread):
    """Calls `look` repeatedly while the block runs, and raises what it raised."""

    def __init__(self, look, *, pause_s=0.01):
        super().__init__()
        self.pause_s = pause_s
        self.look, self.seen, self.error = look, [], None
        self.is_over = threading.Event()

    def run(self):
        try:
            while not self.is_over.wait(self.pause_s):
                if (found := self.look()) not in self.seen[-1:]:
                    self.seen.append(found)
        except BaseException as error:
            self.error = error
            raise

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        assert self.error is None, f"a reader saw what is not whole: {self.error!r}"
