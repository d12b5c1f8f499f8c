"""`make live`: a walk on real brokers, Kafka 4.4 in KRaft mode, then 3.9 with ZooKeeper.

Starts brokers in racks and creates topics with `rackwise topic`: some placed by it, some with
explicit rows that ignore racks. Writes and reads real bytes, takes a snapshot, audits it, and
checks that the findings name exactly the partitions that ignore racks. The bytes that were really
produced and consumed then make the report. At the end these topics are deleted, others are created,
expanded and ensured in their place, and the audit finds no fault, since Rackwise placed them all.
"""

from __future__ import annotations

import csv
import os
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from steps import ROOT, Unexpected, rackwise, wait_until

from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

OUT = Path("build/live")
RECORD_BYTES = 10_000
RECORDS_PER_PARTITION = 100
GROUP = "checkout"

SEED = 7
"""What the placer draws is drawn from it, so that each walk gives the same rows."""

Placements = dict[str, list[list[int]]]
"""Topic -> partition -> brokers, preferred leader first."""

KRAFT_RACKS = ("a", "b", "c", "a")
KRAFT: Placements = {
    "orders": [[0, 1, 2], [0, 3, 1], [1, 2, 3], [3, 0, 2], [2, 1, 0], [1, 0, 3]],
    "logs": [[0, 3], [1, 2], [3, 0]],
}
ZOOKEEPER_RACKS = ("a", "b", "a")
ZOOKEEPER: Placements = {"orders": [[0, 1], [0, 2], [2, 1]], "logs": [[2, 0], [1, 2]]}
LOADS = {"unequal-racks", "replica-balance", "leader-balance"}
"""What the audit says of loads: topics come one by one, and each is even for itself."""
PLACED = {"payments": 4}
"""Topic -> partitions, placed by Rackwise."""


def rack_unsafe(placements: Placements, racks: Sequence[str]) -> set[tuple[str, int]]:
    """The partitions that hold two replicas in one rack while another rack has none."""
    return {
        (topic, partition)
        for topic, partitions in placements.items()
        for partition, brokers in enumerate(partitions)
        if len({racks[broker] for broker in brokers}) < min(len(brokers), len(set(racks)))
    }


def topic(verb: str, name: str, bootstrap: Sequence[str], *words: str) -> None:
    """Run `rackwise topic create`, `alter` or `ensure`."""
    rackwise("topic", verb, name, "--bootstrap-server", ",".join(bootstrap), *words)


def placed(partitions: int, replication: int | None = None) -> tuple[str, ...]:
    """The options of a placed topic: its size, and the seed."""
    replicas = () if replication is None else ("--replication-factor", str(replication))
    return "--partitions", str(partitions), *replicas, "--seed", str(SEED)


def create(bootstrap: Sequence[str], by_hand: Placements, replication: int) -> dict[str, int]:
    """Create all topics and wait until they are in sync; topic -> partitions."""
    for name, partitions in by_hand.items():
        rows = ",".join(":".join(map(str, brokers)) for brokers in partitions)
        topic("create", name, bootstrap, "--replica-assignment", rows)
    for name, count in PLACED.items():
        topic("create", name, bootstrap, *placed(count, replication))
    sizes = {name: list(map(len, partitions)) for name, partitions in by_hand.items()}
    sizes |= {name: [replication] * count for name, count in PLACED.items()}
    with closing(KafkaAdminClient(bootstrap_servers=list(bootstrap))) as admin:
        wait_until(lambda: _in_sync(admin, sizes) == sizes, "topics in sync")
    return {name: len(replicas) for name, replicas in sizes.items()}


def replaced(bootstrap: Sequence[str], blind: Placements, replication: int) -> None:
    """Replace the topics that ignore racks: create, expand and ensure others, then audit."""
    print("\nThe topics that ignore racks are deleted; Rackwise places others:")
    with closing(KafkaAdminClient(bootstrap_servers=list(bootstrap))) as admin:
        admin.delete_topics(list(blind))
        wait_until(lambda: not set(blind) & set(admin.list_topics()), "topics gone")
        topic("create", "clicks", bootstrap, *placed(4, replication))
        topic("alter", "clicks", bootstrap, *placed(6))
        topic("ensure", "events", bootstrap, *placed(3, replication))
        sizes = {"clicks": [replication] * 6, "events": [replication] * 3}
        wait_until(lambda: _in_sync(admin, sizes) == sizes, "topics in sync")
    check_clean(bootstrap)


def check_clean(bootstrap: Sequence[str]) -> None:
    """The audit must exit with 0 and report only how many replicas each broker holds."""
    command = ("audit", "--bootstrap-server", ",".join(bootstrap), "--fail-on", "error")
    rackwise(*command)
    text = rackwise(*command, "--json", is_shown=False)
    document = strict_json.parse(text.encode(), where="audit", error=InvalidSnapshot)
    faults = [each["message"] for each in document["findings"] if each["rule"] not in LOADS]
    if faults:
        raise Unexpected(f"expected a clean audit, got {faults}")
    count, topics = document["partitions"], document["topics"]
    print(f"no fault in any of {count} partitions of {topics} topics")


def _in_sync(admin: KafkaAdminClient, topics: Iterable[str]) -> dict[str, list[int]]:
    """Topic -> how many replicas of each partition are in sync."""
    return {
        topic["name"]: [len(each["isr_nodes"]) for each in sorted(topic["partitions"], key=_number)]
        for topic in admin.describe_topics(list(topics))
    }


def _number(partition: Mapping[str, int]) -> int:
    return partition["partition_index"]


def produce(bootstrap: list[str], topics: Mapping[str, int]) -> dict[str, int]:
    """Write to every partition; topic -> bytes of record values, all acknowledged."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=10)
    sent = [
        producer.send(name, bytes(RECORD_BYTES), partition=partition)
        for name, partitions in topics.items()
        for partition in range(partitions)
        for _ in range(RECORDS_PER_PARTITION)
    ]
    for each in sent:
        each.get(timeout=60)
    producer.close()
    records = RECORDS_PER_PARTITION * RECORD_BYTES
    return {name: partitions * records for name, partitions in topics.items()}


def consume(bootstrap: list[str], topic: str, wanted: int, rack: str) -> int:
    """Read a topic to its end as a member of the group, from the given rack; its bytes."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=GROUP,
        client_rack=rack,
        auto_offset_reset="earliest",
    )
    had, deadline = 0, time.monotonic() + 60
    while had < wanted and time.monotonic() < deadline:
        batches = consumer.poll(timeout_ms=500)
        had += sum(len(record.value) for records in batches.values() for record in records)
    consumer.close()
    return had


def audited(bootstrap: Sequence[str], name: str, blind: set[tuple[str, int]]) -> tuple[Path, str]:
    """Snapshot and audit; the findings must name exactly the partitions that ignore racks.

    Returns the snapshot's file and the cluster's id. Raises `Unexpected`.
    """
    file = OUT / f"{name}.json.gz"
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    rackwise("snapshot", "--bootstrap-server", ",".join(bootstrap), "--out", file)
    rule = ("--rule", "spread-even")
    rackwise("audit", "--snapshot", file, *rule, expect=2)
    text = rackwise("audit", "--snapshot", file, *rule, "--json", expect=2, is_shown=False)
    document = strict_json.parse(text.encode(), where="audit", error=InvalidSnapshot)
    named = {(each["topic"], each["partition"]) for each in document["findings"]}
    if named != blind:
        raise Unexpected(f"expected findings on {sorted(blind)}, got {sorted(named)}")
    print(f"the {len(blind)} partitions that ignore racks are named, and no others")
    return file, document["cluster_id"]


def rates_file(
    cluster_id: str, produced: Mapping[str, int], read: Mapping[str, int], seconds: float
) -> Path:
    """The measured bytes as rates, `cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s`."""
    file = OUT / "rates.csv"
    with (ROOT / file).open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["cluster", "topic", "bytes_in_per_s", "client_group", "bytes_out_per_s"])
        for topic, count in sorted(produced.items()):
            group = [GROUP, round(read[topic] / seconds)] if topic in read else ["", ""]
            rows.writerow([cluster_id, topic, round(count / seconds), *group])
    return file


def kraft(java_home: Path) -> None:
    """Run four brokers of Kafka 4.4 in three racks: topics, bytes, audit, report."""
    print("== Kafka 4.4, KRaft: 4 brokers, racks a b c")
    with Sandbox.kraft(brokers=4, racks=KRAFT_RACKS, java_home=java_home) as cluster:
        bootstrap = cluster.bootstrap.split(",")
        topics = create(bootstrap, KRAFT, 3)
        started = time.monotonic()
        produced = produce(bootstrap, topics)
        read = {"orders": consume(bootstrap, "orders", produced["orders"], "c")}
        seconds = time.monotonic() - started
        if read["orders"] != produced["orders"]:
            raise Unexpected(f"expected {produced['orders']} bytes, got {read['orders']}")
        print(f"produced {produced} bytes, consumed {read} bytes in {seconds:.1f} s")
        file, cluster_id = audited(bootstrap, "kraft", rack_unsafe(KRAFT, KRAFT_RACKS))
        replaced(bootstrap, KRAFT, 3)
    rates = rates_file(cluster_id, produced, read, seconds)
    rackwise("analyze", file, "--rates", rates, "--provider", "aws", "--out", OUT / "bill")


def zookeeper(java_home: Path) -> None:
    """Three brokers of 3.9 on ZooKeeper: the same topics, snapshot and audits."""
    print("\n== Kafka 3.9, ZooKeeper: 3 brokers, racks a b")
    with Sandbox.zookeeper(brokers=3, racks=ZOOKEEPER_RACKS, java_home=java_home) as cluster:
        bootstrap = cluster.bootstrap.split(",")
        topics = create(bootstrap, ZOOKEEPER, 2)
        produce(bootstrap, topics)
        audited(bootstrap, "zookeeper", rack_unsafe(ZOOKEEPER, ZOOKEEPER_RACKS))
        replaced(bootstrap, ZOOKEEPER, 2)


def main() -> None:
    """Run both kinds of cluster, then print the report's path."""
    java_home = find_java(os.environ).home
    kraft(java_home)
    zookeeper(java_home)
    print(f"\nReport: {ROOT / OUT / 'bill' / 'report.html'}")


if __name__ == "__main__":
    main()
