"""`stream run` on a real broker: `python tests/bench/bench_stream.py [MESSAGES]`.

Pairs, in CPU seconds of whole process trees, to which the broker does not belong:

```
stream run of N messages, less that of N / 5 / a second for each 10,000 messages
the same / Spark's own scan of the bytes of the same topics
most memory of Python; of Java: N messages / N / 5
```

A message has four rows and some 400 bytes. Messages and bytes in the tables must be those that were
sent, before a ratio is printed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pairs import tell
from process_tree import used

sys.path.insert(0, str(Path(__file__).parents[1]))

from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java
from rackwise.pipeline.runtime.session import session
from rackwise.pipeline.stream.store import Store
from spark_clusters import connector_jars

if TYPE_CHECKING:
    from process_tree import Use

MESSAGES, FEWER = 250_000, 5
PER_S = 10_000
GATE, SCAN_GATE, MEMORY_GATE = 1, 8, 1.25
MASTER = "local[2]"
START_MS, MINUTE_MS = 1_793_491_200_000, 60_000
ROWS, EMITTERS, PARTITIONS = 4, 2_000, 2
PROGRAMS = ("python", "java")


def send(bootstrap: str, topic: str, count: int) -> int:
    """Send messages of one day to a new topic; the bytes of their rows."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, PARTITIONS, 1, config={"retention.ms": "-1"})
    admin.create_topics([new])[topic].result()
    rng = np.random.Generator(np.random.PCG64(7))
    bytes_ = rng.integers(0, 2**30, (count, ROWS))
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number, row in enumerate(bytes_.tolist()):
        emitter, minute = number % EMITTERS, number // EMITTERS
        start_ms = START_MS + minute * MINUTE_MS
        message = {
            "v": 1,
            "emitter": f"host-{emitter}/4711/1793491190000",
            "cluster": "prod",
            "window_start_ms": start_ms,
            "window_ms": MINUTE_MS,
            "revision": 0,
            "client_id": f"app-{emitter % 50}",
            "client_group": f"group-{emitter % 30}",
            "client_rack": f"use1-az{emitter % 3}",
            "rows": [
                ("fetch", f"topic-{(number + place) % 200:03}", place, emitter % 30, sent)
                for place, sent in enumerate(row)
            ],
        }
        while True:
            try:
                producer.produce(
                    topic,
                    json.dumps(message).encode(),
                    partition=number % PARTITIONS,
                    timestamp=start_ms + 90_000,
                )
                break
            except BufferError:
                producer.poll(1)
    producer.flush()
    return int(bytes_.sum())


def streamed(bootstrap: str, topic: str, out: Path) -> Use:
    """What `stream run` of a topic used."""
    place = ["--out", str(out), "--checkpoint", str(out / "checkpoint"), "--topic", topic]
    command = [sys.executable, "-m", "rackwise.cli", "stream", "run"]
    conf = ["--conf", f"spark.jars={connector_jars()}"]
    where = ["--bootstrap-server", bootstrap, "--master", MASTER, *conf]
    return used([*command, *where, *place])


def check(out: Path, messages: int, bytes_: int) -> None:
    """Compare the tables with what was sent."""
    batches = Store(str(out)).batches()
    had = sum(each.reasons.get("kept", 0) for each in batches), sum(each.bytes for each in batches)
    if had != (messages, bytes_):
        raise SystemExit(f"expected {messages} messages with {bytes_} bytes, got {had}")


def scan(bootstrap: str, topic: str) -> None:
    """Sum the bytes of all messages in Spark; its own process calls this."""
    with session(master=MASTER, profile="small", conf={"spark.jars": connector_jars()}) as spark:
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        source.option("subscribe", topic).load().selectExpr("sum(octet_length(value))").collect()


def scanned(bootstrap: str, topic: str) -> float:
    """CPU seconds of `scan`."""
    return used([sys.executable, __file__, bootstrap, topic]).cpu_s


def compare(bootstrap: str, folder: Path, messages: int) -> None:
    """Check what was written, and print the ratios."""
    uses, scans = [], []
    for count in (messages // FEWER, messages):
        topic = f"telemetry-{count}"
        bytes_ = send(bootstrap, topic, count)
        uses.append(streamed(bootstrap, topic, folder / topic))
        check(folder / topic, count, bytes_)
        scans.append(scanned(bootstrap, topic))
    few, many = uses
    more = messages - messages // FEWER
    ours, floor = many.cpu_s - few.cpu_s, scans[1] - scans[0]
    print(
        f"CPU s: {few.cpu_s:.1f}, {many.cpu_s:.1f}; scan {scans[0]:.1f}, {scans[1]:.1f}; "
        f"{more / ours:,.0f} messages a CPU s; MB: {few.most_mb}, {many.most_mb}",
        file=sys.stderr,
    )
    tell(f"stream run of {more:,} messages / {PER_S:,} a CPU s", ours * PER_S / more, gate=GATE)
    tell("the same / Spark's scan of the bytes of the topic, CPU", ours / floor, gate=SCAN_GATE)
    for name in PROGRAMS:
        ratio = many.most_mb[name] / few.most_mb[name]
        tell(
            f"most memory of {name}, {messages:,} / {messages // FEWER:,}", ratio, gate=MEMORY_GATE
        )


def main(messages: int) -> None:
    """Start a broker of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox.kraft(
            java_home=find_java(os.environ).home,
            brokers=1,
            racks=("a",),
            folder=Path(folder, "broker"),
        ) as cluster,
    ):
        compare(cluster.bootstrap, Path(folder), messages)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [bootstrap, topic]:
            scan(bootstrap, topic)
        case [count]:
            main(int(count))
        case _:
            main(MESSAGES)
