"""A broker loses its disk and gets its id back: real brokers of Kafka 3.9 on a real ZooKeeper.

```
three brokers, a topic of 12 partitions x 3
  broker A  through broker-id acquire  killed, disk emptied, started  its old id, full ISR
  broker B  as Kafka starts it         killed, disk emptied, started  a new id, replicas lost
```

Every acknowledged record is read back at the end. Run it with `python examples/identity/live.py`;
it needs Java 17 and fetches Kafka's jars once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = "orders"
PARTITIONS = 12
REPLICAS = 3
RECORDS = 3_000
PATIENCE_S = 120.0
KEY = "host-a"
RACKWISE = [sys.executable, "-m", "rackwise.cli"]
NOTE_PID = 'echo $$ > "$0"; exec "$@"'
"""A shell that becomes the broker, after it has written down which process that is."""


class Unexpected(SystemExit):
    """The state of the cluster differs from what this walk expects."""


def rackwise(*words: str, expect: int = 0, is_shown: bool = True) -> str:
    """Run `rackwise` as a person would; returns its stdout. Raises `Unexpected`."""
    if is_shown:
        print(f"\n$ rackwise {shlex.join(words)}", flush=True)
    done = subprocess.run([*RACKWISE, *words], stdout=subprocess.PIPE, text=True, check=False)
    if is_shown:
        print(f"{done.stdout}exit {done.returncode}", flush=True)
    if done.returncode != expect:
        raise Unexpected(f"expected exit {expect} of {words}, got {done.returncode}")
    return done.stdout


def wait_until(condition: Callable[[], object], what: str) -> float:
    """Poll a condition; returns the seconds that it took. Raises `Unexpected`."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > PATIENCE_S:
            raise Unexpected(f"expected {what} within {PATIENCE_S:.0f} s")
        time.sleep(0.2)
    return time.monotonic() - begun


class Walk:
    """The cluster, its store of ids, and questions to both."""

    def __init__(self, cluster: Sandbox, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.store = ("--store", f"zookeeper://{cluster.zookeeper_connect}")
        self.supervisor: subprocess.Popen[bytes] | None = None

    def properties(self, broker: int) -> Path:
        """The `server.properties` of one of the sandbox's processes."""
        return self.cluster.folder / f"broker-{broker}" / "server.properties"

    def id_of(self, broker: int) -> int | None:
        """The id under which the broker at this port is registered; None if there is none."""
        text = rackwise("broker-id", "list", "--json", *self.store, is_shown=False)
        told = strict_json.parse(text.encode(), where="list", error=InvalidConfig)
        endpoint = f"{self.cluster.brokers[broker].host}:{self.cluster.brokers[broker].port}"
        for row in told["ids"]:
            if row["registered"] and endpoint in row["registered"]["endpoints"]:
                return int(row["id"])
        return None

    def in_sync(self, admin: KafkaAdminClient) -> list[set[int]]:
        """The in-sync brokers by partition."""
        (topic,) = admin.describe_topics([TOPIC])
        rows = sorted(topic["partitions"], key=lambda each: each["partition_index"])
        return [set(each["isr_nodes"]) for each in rows]

    def empty(self, broker: int) -> None:
        """Empty the disk."""
        data = self.cluster.folder / f"broker-{broker}" / "data"
        shutil.rmtree(data)
        data.mkdir()
        print(f"its disk is emptied: {len(list(data.iterdir()))} files")

    def acquire(self, broker: int) -> dict[str, Any]:
        """Start a broker through `broker-id acquire`; returns its report, once spawned."""
        report, pid = self.folder / "report.json", self.folder / "broker.pid"
        for file in (report, pid):
            file.unlink(missing_ok=True)
        options = ["--server-properties", str(self.properties(broker)), "--key", f"text:{KEY}"]
        print(f"\n$ rackwise broker-id acquire {shlex.join(options)} -- kafka-server-start.sh ...")
        command = self.cluster._servers[broker].command  # noqa: SLF001 (as the sandbox starts it)
        log = (self.folder / "broker.log").open("ab")
        with log:
            self.supervisor = subprocess.Popen(
                [
                    *(*RACKWISE, "broker-id", "acquire", *options, "--report", str(report)),
                    *("--", "sh", "-c", NOTE_PID, str(pid), *command),
                ],
                stdout=log,
            )
        supervisor = self.supervisor
        wait_until(lambda: pid.exists() or supervisor.poll() is not None, "a broker")
        wait_until(lambda: report.exists() or supervisor.poll() is not None, "its report")
        if supervisor.poll() is not None:
            raise Unexpected(f"expected a broker; acquire ended with {supervisor.returncode}")
        told: dict[str, Any] = strict_json.parse(
            report.read_bytes(), where="report", error=InvalidConfig
        )
        return told

    def kill(self) -> None:
        """SIGKILL to the broker itself; its supervisor exits with 137."""
        pid = int((self.folder / "broker.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        if self.supervisor is None or self.supervisor.wait(PATIENCE_S) != 128 + signal.SIGKILL:
            raise Unexpected("expected a supervisor that ends with its broker's 137")
        print(f"\nbroker process {pid} killed with SIGKILL, its supervisor ended with 137")

    def end(self) -> None:
        """Stop the supervised broker in order."""
        if self.supervisor is not None and self.supervisor.poll() is None:
            self.supervisor.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.supervisor.wait(PATIENCE_S)
            self.supervisor.kill()


def produced(bootstrap: list[str]) -> set[bytes]:
    """Write records that all in-sync replicas acknowledge."""
    values = {b"order %d" % number for number in range(RECORDS)}
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=10)
    with closing(producer):
        for sent in [producer.send(TOPIC, value) for value in sorted(values)]:
            sent.get(timeout=60)
    return values


def read(bootstrap: list[str]) -> set[bytes]:
    """Every record of the topic."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    with closing(consumer):
        partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        found: set[bytes] = set()
        while any(consumer.position(each) < ends[each] for each in partitions):
            for records in consumer.poll(timeout_ms=500).values():
                found.update(record.value for record in records)
    return found


def with_rackwise(walk: Walk, admin: KafkaAdminClient, broker: int) -> int:
    """Register a broker, lose its disk, get its id back; returns its id."""
    print("\n== broker A is started through Rackwise from now on; it keeps the id on its disk")
    before = walk.id_of(broker)
    walk.cluster.stop(broker)
    wait_until(lambda: walk.id_of(broker) is None, "its registration's end")
    adopted = walk.acquire(broker)
    wait_until(lambda: walk.id_of(broker) == before, "its registration")
    print(f"id {adopted['id']} ({adopted['how']}, {adopted['row']}), remembered for key {KEY}")
    wait_until(lambda: all(len(each) == REPLICAS for each in walk.in_sync(admin)), "full ISR")

    print("\n== broker A is killed and its disk is emptied; it is started at once")
    walk.kill()
    walk.empty(broker)
    begun = time.monotonic()
    told = walk.acquire(broker)
    wait_until(lambda: walk.id_of(broker) is not None, "its registration")
    back = walk.id_of(broker)
    wait_until(lambda: all(len(each) == REPLICAS for each in walk.in_sync(admin)), "full ISR")
    print(
        f"id before {before}, id after {back} ({told['how']}, {told['row']}, waited "
        f"{told['waited_ms'] / 1000:.1f} s for the old registration); {PARTITIONS} of "
        f"{PARTITIONS} partitions in full ISR {time.monotonic() - begun:.1f} s after its start"
    )
    if before is None or back != before:
        raise Unexpected(f"expected id {before} back, got {back}")
    return before


def without_rackwise(walk: Walk, admin: KafkaAdminClient, broker: int) -> None:
    """The same with Kafka alone."""
    print("\n== broker B is killed and its disk is emptied; it is started as Kafka starts")
    before = walk.id_of(broker)
    walk.cluster.kill(broker)
    walk.empty(broker)
    wait_until(lambda: walk.id_of(broker) is None, "its registration's end")
    walk.cluster.start(broker)
    wait_until(lambda: walk.id_of(broker) is not None, "its registration")
    after = walk.id_of(broker)
    lost = sum(len(each) < REPLICAS for each in walk.in_sync(admin))
    print(f"id before {before}, id after {after}; {lost} of {PARTITIONS} partitions lack a replica")
    if after == before or lost != PARTITIONS:
        raise Unexpected("expected a new id and partitions that lack a replica")
    rackwise("broker-id", "missing", *walk.store, expect=2)


def main() -> None:
    """Run both on one cluster."""
    java_home = find_java(os.environ).home
    overrides = {"broker.id": "-1", "broker.id.generation.enable": "true"}
    print("== Kafka 3.9 on ZooKeeper: 3 brokers whose ids Kafka generates")
    with (
        tempfile.TemporaryDirectory(prefix="rackwise-identity-") as folder,
        Sandbox.zookeeper(brokers=3, java_home=java_home, overrides=overrides) as cluster,
    ):
        walk = Walk(cluster, Path(folder))
        bootstrap = cluster.bootstrap.split(",")
        try:
            rackwise("broker-id", "init", *walk.store)
            size = (
                "--partitions",
                str(PARTITIONS),
                "--replication-factor",
                str(REPLICAS),
                "--seed",
                "7",
            )
            where = ("--bootstrap-server", cluster.bootstrap)
            rackwise("topic", "create", TOPIC, *where, *size, is_shown=False)
            acknowledged = produced(bootstrap)
            print(f"\n{len(acknowledged)} records acknowledged by all replicas")
            with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
                with_rackwise(walk, admin, 0)
                without_rackwise(walk, admin, 1)
            lost = acknowledged - read(bootstrap)
            print(f"\n{len(acknowledged) - len(lost)} of {len(acknowledged)} records read back")
            if lost:
                raise Unexpected(f"expected no lost record, got {len(lost)}")
            rackwise("broker-id", "list", *walk.store)
        finally:
            walk.end()


if __name__ == "__main__":
    main()
