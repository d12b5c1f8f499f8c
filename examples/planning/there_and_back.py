"""A cluster that breaks its rack rules is repaired and rolled back: real brokers of Kafka 4.4.

```
broker   0   1   2   3        audit      2   partitions with two replicas in rack a
rack     a   b   c   a        plan       2   fewest moves, with their proof, which is checked
                              apply      0   throttled, while a producer keeps writing
                              audit      0
                              rollback   0   every list, leader and config as before
```

Beside the exit codes it checks with Kafka's clients alone: lists and leaders are the plan's after
`apply` and the original ones after `rollback`, the configs of topics and brokers are equal before
and after, and every acknowledged record is read back. Run it with
`python examples/planning/there_and_back.py`; it needs Java 17 and fetches Kafka's jars once.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

sys.path.insert(0, str(Path(__file__).parents[1]))

from steps import ROOT, Unexpected, rackwise, wait_until

from rackwise.adapters.files import read_plan
from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rackwise.core.planning import Plan

OUT = Path("build/live/planning")
BEFORE, PLAN, AFTER, BACK = (
    OUT / name for name in ("before.json.gz", "plan.json", "after.json.gz", "back.json.gz")
)
RACKS = ("a", "b", "c", "a")
BLIND = {
    "orders": [[0, 3, 1], [3, 0, 2], [0, 3, 1], [1, 2, 0], [2, 1, 3], [0, 3, 2]],
    "refunds": [[0, 3, 2], [3, 0, 1], [1, 2, 3], [0, 1, 2]],
}
"""Topic -> partition -> brokers, preferred leader first; six of ten have two replicas in rack a."""
OWN_CONFIGS = {"orders": {"min.insync.replicas": "2"}, "refunds": {"retention.ms": "86400000"}}
OWN_BROKER_CONFIG = {"log.cleaner.io.buffer.size": "524288"}
"""What an operator has set before we come, and finds again when we are gone; the broker is 0."""
RECORDS_PER_PARTITION = 65
RECORD_BYTES = 10_000
RATE, RATE_BYTES = "100kB", "100000"
"""Kafka lets ten seconds' worth pass at once; the copies are larger, or there were no progress."""
THROTTLE = ".replication.throttled."
EVERY_S = 0.05
"""How often the producer writes, and throttles are looked for, while replicas move."""

Placement: TypeAlias = dict[TopicPartition, tuple[list[int], int]]
"""Partition -> its brokers in order, and which of them leads."""
Configs: TypeAlias = dict[str, dict[str, str]]
"""`topic orders`, `broker 0` -> what somebody has set there."""


class Ledger:
    """Every record that all in-sync replicas have acknowledged, by partition."""

    def __init__(self, bootstrap: Sequence[str]) -> None:
        self.acknowledged: dict[TopicPartition, list[bytes]] = {each: [] for each in partitions()}
        self._producer = KafkaProducer(bootstrap_servers=list(bootstrap), acks="all", linger_ms=10)
        self._number = 0

    def write(self, size: int, count: int) -> None:
        """Write so many records to every partition; returns when they are acknowledged."""
        pending = []
        for partition in self.acknowledged:
            for _ in range(count):
                self._number += 1
                value = b"%d" % self._number
                sent = self._producer.send(
                    partition.topic, value.ljust(size, b"."), partition=partition.partition
                )
                pending.append((partition, value, sent))
        for partition, value, sent in pending:
            sent.get(timeout=60)
            self.acknowledged[partition].append(value)

    def close(self) -> None:
        """Close the producer."""
        self._producer.close()

    @property
    def total(self) -> int:
        """The number of records."""
        return sum(map(len, self.acknowledged.values()))


@contextmanager
def again_and_again(work: Callable[[], object]) -> Iterator[None]:
    """Repeat an action during the block. Raises `Unexpected` if it fails."""
    is_over, failed = threading.Event(), []

    def repeat() -> None:
        try:
            while not is_over.wait(EVERY_S):
                work()
        except Exception as error:  # noqa: BLE001 (told where the block ends)
            failed.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    if failed:
        raise Unexpected(f"expected work that continues; it ended with {failed[0]!r}")


def partitions() -> list[TopicPartition]:
    """All partitions of both topics."""
    return [
        TopicPartition(topic, each) for topic, rows in BLIND.items() for each in range(len(rows))
    ]


def laid(admin: KafkaAdminClient) -> None:
    """Create the topics without regard to racks, led as given, with an operator's configs."""
    topics = [
        NewTopic(topic, replica_assignments=dict(enumerate(rows)), topic_configs=OWN_CONFIGS[topic])
        for topic, rows in BLIND.items()
    ]
    admin.create_topics(topics)
    admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "0", OWN_BROKER_CONFIG)])
    wanted = {
        TopicPartition(topic, number): (row, row[0])
        for topic, rows in BLIND.items()
        for number, row in enumerate(rows)
    }
    wait_until(lambda: placement(admin) == wanted, "the topics as they were laid")
    wait_until(lambda: OWN_BROKER_CONFIG.items() <= configs(admin)["broker 0"].items(), "configs")


def placement(admin: KafkaAdminClient) -> Placement:
    """The replicas and the leader of every partition, as brokers show them."""
    return {
        TopicPartition(topic["name"], each["partition_index"]): (
            each["replica_nodes"],
            each["leader_id"],
        )
        for topic in admin.describe_topics([*BLIND])
        for each in topic["partitions"]
    }


def configs(admin: KafkaAdminClient) -> Configs:
    """Every config that was set while the cluster runs, throttles included."""
    topics = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in BLIND]
    brokers = [ConfigResource(ConfigResourceType.BROKER, str(each)) for each in range(len(RACKS))]
    return {
        f"{kind} {name}": {
            key: str(each["value"])
            for key, each in sorted(values.items())
            if each["config_source"].startswith("DYNAMIC")
        }
        for kind, resources in admin.describe_configs([*topics, *brokers]).items()
        for name, values in resources.items()
    }


def show_configs(when: str, found: Configs) -> None:
    """A line for each topic and broker."""
    print(f"\nconfigs {when}")
    for name, values in sorted(found.items()):
        print(f"  {name:15} {' '.join(f'{key}={value}' for key, value in values.items()) or '-'}")


def check_placement(admin: KafkaAdminClient, wanted: Placement, what: str) -> None:
    """The brokers must soon show exactly this placement. Raises `Unexpected`."""
    wait_until(lambda: placement(admin) == wanted, f"lists and leaders {what}")
    print(f"\nlists and leaders of all {len(wanted)} partitions are {what}")


def planned(plan: Plan, before: Placement) -> Placement:
    """The placement after the plan: the first broker of each partition leads."""
    moved = {TopicPartition(m.topic, m.partition): list(m.after) for m in plan.moves}
    return before | {which: (after, after[0]) for which, after in moved.items()}


def applied(bootstrap: str) -> None:
    """Execute the plan, and watch its throttle appear and disappear. Raises `Unexpected`."""
    seen: Configs = {}

    def look() -> None:
        for name, values in configs(admin).items():
            throttles = {key: value for key, value in values.items() if THROTTLE in key}
            if throttles:
                seen[name] = seen.get(name, {}) | throttles

    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin, again_and_again(look):
        rackwise("apply", PLAN, "--bootstrap-server", bootstrap, "--throttle", RATE)
    show_configs("seen while it ran", seen)
    receive = {broker for move in read_plan(ROOT / PLAN).moves for broker in move.added}
    for broker in sorted(receive):
        if seen.get(f"broker {broker}", {}).get(f"follower{THROTTLE}rate") != RATE_BYTES:
            raise Unexpected(f"expected a throttle of {RATE} on broker {broker}, got none")


def check_records(bootstrap: Sequence[str], ledger: Ledger) -> None:
    """Every acknowledged record can be read, in order. Raises `Unexpected`."""
    consumer = KafkaConsumer(bootstrap_servers=list(bootstrap), auto_offset_reset="earliest")
    found: dict[TopicPartition, list[bytes]] = {each: [] for each in ledger.acknowledged}
    with closing(consumer):
        consumer.assign([*found])
        ends = consumer.end_offsets([*found])
        while any(consumer.position(each) < end for each, end in ends.items()):
            for which, records in consumer.poll(timeout_ms=500).items():
                found[which] += [record.value.rstrip(b".") for record in records]
    for which, wanted in ledger.acknowledged.items():
        read = list(dict.fromkeys(found[which]))
        if read != wanted:
            lost = len(set(wanted) - set(read))
            raise Unexpected(f"{which}: expected its records in order; {lost} are lost")
    print(f"\nall {ledger.total} acknowledged records are read back, in order")


def walk(cluster: Sandbox, admin: KafkaAdminClient, ledger: Ledger) -> None:
    """Repair and roll back."""
    to = ("--bootstrap-server", cluster.bootstrap.split(",")[0])
    laid(admin)
    ledger.write(RECORD_BYTES, RECORDS_PER_PARTITION)
    print(f"{ledger.total} records of {RECORD_BYTES} bytes acknowledged by all replicas")
    before, configs_before = placement(admin), configs(admin)
    show_configs("before", configs_before)

    rackwise("snapshot", *to, "--out", BEFORE)
    rackwise("audit", "--snapshot", BEFORE, expect=2)
    rackwise("plan", "balance", "--snapshot", BEFORE, "--out", PLAN, expect=2)
    rackwise("proof", PLAN, "--snapshot", BEFORE)
    with again_and_again(lambda: ledger.write(100, 1)):
        applied(to[1])
        check_placement(admin, planned(read_plan(ROOT / PLAN), before), "as the plan wants them")
        rackwise("snapshot", *to, "--out", AFTER)
        rackwise("audit", "--snapshot", AFTER)
        rackwise("status", PLAN, *to)
        rackwise("rollback", PLAN, *to)
        check_placement(admin, before, "as before")
    rackwise("snapshot", *to, "--out", BACK)
    rackwise("diff", BEFORE, BACK)
    rackwise("throttles", *to)

    show_configs("after", configs(admin))
    wait_until(lambda: configs(admin) == configs_before, "the configs of before")
    print(f"all configs of {len(configs_before)} topics and brokers are the same before and after")
    check_records(cluster.bootstrap.split(","), ledger)


def main() -> None:
    """Run on a cluster and with a state folder of its own."""
    java_home = find_java(os.environ).home
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    print("\n== Kafka 4.4, KRaft: racks a b c a; repaired with the fewest moves, then rolled back")
    with (
        tempfile.TemporaryDirectory(prefix="rackwise-state-") as state,
        Sandbox.kraft(brokers=4, racks=RACKS, java_home=java_home) as cluster,
        closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))) as admin,
        closing(Ledger(cluster.bootstrap.split(","))) as ledger,
    ):
        os.environ["RACKWISE_STATE"] = state
        walk(cluster, admin, ledger)


if __name__ == "__main__":
    main()
