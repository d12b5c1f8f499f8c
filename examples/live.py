"""`make live`: the walk on real brokers, Kafka 4.3 in KRaft mode, then 3.9 with ZooKeeper.

Starts brokers in racks, lays some partitions blind to racks, writes and reads real bytes, takes a
snapshot, audits it, and holds the findings against what was laid: exactly those partitions, no
other. The bytes that were really produced and consumed then make the report.
"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from steps import ROOT, Unexpected, rackwise

from rackwise.adapters.files import strict_json
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidSnapshot
from rackwise.pipeline.java import find_java

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OUT = Path("build/live")
RECORD_BYTES = 10_000
RECORDS_PER_PARTITION = 100
GROUP = "checkout"

Placements = dict[str, list[list[int]]]
"""Topic -> partition -> brokers, preferred leader first."""

KRAFT_RACKS = ("a", "b", "c", "a")
KRAFT: Placements = {
    "orders": [[0, 1, 2], [0, 3, 1], [1, 2, 3], [3, 0, 2], [2, 1, 0], [1, 0, 3]],
    "payments": [[0, 1, 2], [1, 2, 3], [2, 3, 1], [1, 0, 2]],
    "logs": [[0, 3], [1, 2], [3, 0]],
}
ZOOKEEPER_RACKS = ("a", "b", "a")
ZOOKEEPER: Placements = {"orders": [[0, 1], [0, 2], [2, 1]], "logs": [[2, 0], [1, 2]]}


def laid_blind(placements: Placements, racks: Sequence[str]) -> set[tuple[str, int]]:
    """The partitions that hold two replicas in one rack while another rack has none."""
    return {
        (topic, partition)
        for topic, partitions in placements.items()
        for partition, brokers in enumerate(partitions)
        if len({racks[broker] for broker in brokers}) < min(len(brokers), len(set(racks)))
    }


def create(bootstrap: list[str], placements: Placements) -> None:
    """All topics, each partition placed by hand, and in sync before anything is measured."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics(
        [
            NewTopic(name, replica_assignments=dict(enumerate(partitions)))
            for name, partitions in placements.items()
        ]
    )
    deadline = time.monotonic() + 60
    while not _is_in_sync(admin, placements):
        if time.monotonic() > deadline:
            raise Unexpected("topics are wanted in sync within 60 s; they are not")
        time.sleep(0.2)
    admin.close()


def _is_in_sync(admin: KafkaAdminClient, placements: Placements) -> bool:
    described = admin.describe_topics(list(placements))
    counts = {
        topic["name"]: sorted(len(each["isr_nodes"]) for each in topic["partitions"])
        for topic in described
    }
    return counts == {
        name: sorted(len(brokers) for brokers in partitions)
        for name, partitions in placements.items()
    }


def produce(bootstrap: list[str], placements: Placements) -> dict[str, int]:
    """Write to every partition; topic -> bytes of record values, all acknowledged."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=10)
    sent = [
        producer.send(name, bytes(RECORD_BYTES), partition=partition)
        for name, partitions in placements.items()
        for partition in range(len(partitions))
        for _ in range(RECORDS_PER_PARTITION)
    ]
    for each in sent:
        each.get(timeout=60)
    producer.close()
    records = RECORDS_PER_PARTITION * RECORD_BYTES
    return {name: len(partitions) * records for name, partitions in placements.items()}


def consume(bootstrap: list[str], topic: str, wanted: int, rack: str) -> int:
    """Read a topic to its end as a member of the group, from the rack given; bytes that came."""
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
    """Snapshot and audit; the findings must name exactly the partitions laid blind.

    The snapshot's file and the cluster's id. Raises `Unexpected`.
    """
    file = OUT / f"{name}.json.gz"
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    rackwise("snapshot", "--bootstrap-server", ",".join(bootstrap), "--groups", "--out", file)
    rule = ("--rule", "spread-even")
    rackwise("audit", "--snapshot", file, *rule, expect=2)
    text = rackwise("audit", "--snapshot", file, *rule, "--json", expect=2, is_shown=False)
    document = strict_json.parse(text.encode(), where="audit", error=InvalidSnapshot)
    named = {(each["topic"], each["partition"]) for each in document["findings"]}
    if named != blind:
        raise Unexpected(f"findings on {sorted(blind)} are wanted; they are on {sorted(named)}")
    print(f"the {len(blind)} partitions laid blind to racks are named, and no other")
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
    """Four brokers of 4.3 in three racks: blind and safe partitions, bytes, audit, report."""
    print("== Kafka 4.3, KRaft: 4 brokers, racks a b c")
    with Sandbox.kraft(brokers=4, racks=KRAFT_RACKS, java_home=java_home) as cluster:
        bootstrap = cluster.bootstrap.split(",")
        create(bootstrap, KRAFT)
        started = time.monotonic()
        produced = produce(bootstrap, KRAFT)
        read = {"orders": consume(bootstrap, "orders", produced["orders"], "c")}
        seconds = time.monotonic() - started
        if read["orders"] != produced["orders"]:
            raise Unexpected(f"{produced['orders']} bytes are wanted; {read['orders']} were read")
        print(f"produced {produced} bytes, consumed {read} bytes in {seconds:.1f} s")
        file, cluster_id = audited(bootstrap, "kraft", laid_blind(KRAFT, KRAFT_RACKS))
    rates = rates_file(cluster_id, produced, read, seconds)
    rackwise("analyze", file, "--rates", rates, "--provider", "aws", "--out", OUT / "bill")


def zookeeper(java_home: Path) -> None:
    """Three brokers of 3.9 on ZooKeeper: the same snapshot and audit."""
    print("\n== Kafka 3.9, ZooKeeper: 3 brokers, racks a b")
    with Sandbox.zookeeper(brokers=3, racks=ZOOKEEPER_RACKS, java_home=java_home) as cluster:
        bootstrap = cluster.bootstrap.split(",")
        create(bootstrap, ZOOKEEPER)
        produce(bootstrap, ZOOKEEPER)
        audited(bootstrap, "zookeeper", laid_blind(ZOOKEEPER, ZOOKEEPER_RACKS))


def main() -> None:
    """Both kinds of cluster, then the report's path."""
    java_home = find_java(os.environ).home
    kraft(java_home)
    zookeeper(java_home)
    print(f"\nReport: {ROOT / OUT / 'bill' / 'report.html'}")


if __name__ == "__main__":
    main()
