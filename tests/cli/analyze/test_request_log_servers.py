"""The bill of a real cluster's request log: the bytes that its logs have on disk, and no others."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from pyarrow import parquet

from kafka_traffic import consumer, create, delete, logged_requests, produce, until
from rackwise.adapters.files import read_published
from refusals import called

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

NAME = "requests"
RACK = "b"
RECORDS = (30, 20, 10)


def has_read(member, records):
    """Whether a member's positions are so many records on, after one more poll."""
    member.poll(timeout_ms=500)
    return sum(map(member.position, member.assignment())) == records


def test_its_bytes_are_those_of_the_logs(spark, cluster, admin, tmp_path):
    assert spark.version
    snapshot = tmp_path / "cluster.json"
    with logged_requests(admin, cluster):
        create(admin, NAME, [[0, 1], [1, 2], [2, 0]])
        produce(cluster.bootstrap, {(NAME, n): count for n, count in enumerate(RECORDS)})
        with consumer(cluster.bootstrap, "readers", [NAME], client_id="reader", rack=RACK) as read:
            until(lambda: has_read(read, sum(RECORDS)), "all records to be read")
            words = ("snapshot", "--bootstrap-server", cluster.bootstrap)
            assert called(*words, "--out", snapshot)[0] == 0
    for broker in cluster.brokers:
        log = cluster.folder / f"broker-{broker.id}" / "server.log"
        (tmp_path / "logs").mkdir(exist_ok=True)
        shutil.copyfile(log, tmp_path / "logs" / f"{broker.id}.log")
    words = ("--flows", tmp_path / "logs", "--flow-format", "request-log", "--no-plans")
    code, _, err = called("analyze", snapshot, *words, "--out", tmp_path / "bill")
    assert code == 0, err
    sizes = [row.bytes for row in read_cluster_rows(snapshot)]
    assert min(sizes) > 10_000
    found, racks = Counter(), set()
    table = tmp_path / "bill" / read_published(tmp_path / "bill").tables / "gold" / "cross_rack"
    for row in parquet.read_table(table).to_pylist():
        if row["topic"] == NAME:
            found[row["kind"]] += row["bytes"]
            racks |= {(row["kind"], row["client_group"], row["to_rack"])} & {
                ("fetch", "readers", rack) for rack in "abc"
            }
    assert found == dict.fromkeys(("produce", "fetch", "replicate"), sum(sizes))
    assert racks == {("fetch", "readers", RACK)}
    delete(admin, NAME)


def read_cluster_rows(snapshot):
    """The rows of the topic as the snapshot has them."""
    from rackwise.adapters.files import read_snapshot

    return [row for row in read_snapshot(snapshot).partitions if row.topic == NAME]
