"""The connector in Python on real brokers: each message once, in batches of a given size."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pyarrow.parquet
import pytest

from kafka_traffic import create, delete, producer
from rackwise.adapters.files.strict_json import parse
from rackwise.adapters.kafka import connect
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.stream_store import Store
from refusals import called
from telemetry import message

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

TOPIC = "telemetry-for-python"


@pytest.fixture
def bootstrap(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[0, 1, 2], [1, 2, 0]])
        yield kraft_cluster.bootstrap
        delete(admin, TOPIC)


def send(bootstrap, values):
    with producer(bootstrap) as sender:
        for number, value in enumerate(values):
            sender.send(TOPIC, value, key=b"e", partition=number % 2)


def read(bootstrap, home, *more):
    place = ["--out", str(home / "out"), "--checkpoint", str(home / "mark"), "--topic", TOPIC]
    words = ["--connector", "python", "--bootstrap-server", bootstrap, *place, *more]
    code, out, err = called("--json", "stream", "run", *words)
    assert code == 0, err
    return parse(out.encode(), where="stdout", error=InvalidConfig)


def offsets(home):
    """Messages that count, by place in the topic."""
    store = Store(str(home / "out"))
    folders = [store.folder(each.token, each.batch_id) for each in store.batches()]
    tables = [pyarrow.parquet.read_table(folder, partitioning=None) for folder in folders]
    rows = [row for table in tables for row in table.to_pylist()]
    return Counter((row["kafka_partition"], row["kafka_offset"]) for row in rows)


@pytest.mark.usefixtures("spark")
def test_what_is_there_is_read_once_and_what_comes_later_by_the_next_run(bootstrap, tmp_path):
    send(bootstrap, [message(f"e{number}") for number in range(7)])
    assert read(bootstrap, tmp_path) == {
        "format": "rackwise.stream-run/1",
        "batches": 1,
        "messages": 7,
        "kept": 7,
        "reasons": {"kept": 7},
        "bytes": 700,
    }
    send(bootstrap, [b"no telemetry", message(v=2), None])
    told = read(bootstrap, tmp_path)
    assert told["reasons"] == {"malformed:json": 2, "malformed:version": 1}
    found = offsets(tmp_path)
    assert set(found.values()) == {1}
    assert sorted(found) == [(0, at) for at in range(6)] + [(1, at) for at in range(4)]
    assert read(bootstrap, tmp_path)["batches"] == 0
