"""Telemetry from real Kafka with Spark's connector, killed at several points and run again."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest

from kafka_servers import KAFKA_VERSION
from kafka_traffic import create, delete, until
from rackwise.adapters.kafka import connect
from rackwise.pipeline.stream.store import Store
from small_disk import fill, mounted_disk
from spark_clusters import SparkCluster
from stream_runs import (
    Looking,
    document,
    ended,
    offsets,
    reading,
    rows,
    run,
    send,
    started,
    was_killed,
)
from telemetry import ROW, message, stored_messages

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2000)]

POINTS = {"sums": 0, "commit:0": 0, "commit:1": 0, "commit:2": 0, "commit:3": 2}
POINTS |= {"commit:4": 12, "end": 14}
"""Point at which a run is killed, two messages after the last point -> messages that count."""


@pytest.fixture(scope="module")
def brokers(java_home, tmp_path_factory):
    from rackwise.adapters.sandbox import Sandbox

    folder = tmp_path_factory.mktemp("brokers")
    with Sandbox.kraft(
        version=KAFKA_VERSION, brokers=1, racks=("a",), java_home=java_home, folder=folder
    ) as cluster:
        yield cluster


def topic(brokers, name, **configs):
    with closing(connect(brokers.bootstrap)) as admin:
        create(admin, name, [[0], [0]], retention_ms="-1", **configs)
    return name


@pytest.mark.fault
def test_killed_at_each_point_every_message_counts_once(brokers, tmp_path):
    """F27: every message is in exactly one committed batch; a reader never sees half a batch."""
    name = topic(brokers, "killed")
    command = reading(brokers.bootstrap, name, tmp_path)
    with Looking(lambda: len(rows(tmp_path))) as reader:
        for point, expected in POINTS.items():
            send(brokers.bootstrap, name, [message(f"e{point}"), message(v=2)])
            assert was_killed(point, *command)
            assert len(rows(tmp_path)) == expected
        send(brokers.bootstrap, name, [message(), message(v=2)])
        report = run(*command)
    assert (report["batches"], report["messages"]) == (1, 2)
    assert reader.seen == [0, 2, 12, 14, 16]
    assert offsets(tmp_path) == dict.fromkeys(((p, at) for p in range(2) for at in range(8)), 1)
    assert run(*command)["batches"] == 0
    attempts = list((tmp_path / "out").glob("stream*/epoch=*/batch_id=*/attempt=*"))
    assert len(attempts) == 2 * len(Store(str(tmp_path / "out")).batches())


@pytest.mark.parametrize("sent", [2, 12])
def test_a_topic_created_again_is_noticed_only_if_it_ends_before_the_checkpoint(
    brokers, tmp_path, sent
):
    """Spark's connector compares offsets alone, so 8 of 12 messages are lost; the guide says so."""
    name = topic(brokers, f"created-again-{sent}")
    command = reading(brokers.bootstrap, name, tmp_path)
    send(brokers.bootstrap, name, [message(f"e{number}") for number in range(8)])
    assert run(*command)["messages"] == 8
    with closing(connect(brokers.bootstrap)) as admin:
        delete(admin, name)
    send(brokers.bootstrap, topic(brokers, name), [message(f"f{n}") for n in range(sent)])
    code, _, err = ended(started("-m", "rackwise.cli", *command))
    if sent > 8:
        assert code == 0
        assert offsets(tmp_path) == dict.fromkeys(((p, at) for p in range(2) for at in range(6)), 1)
        return
    error, hint = err.splitlines()[-2:]
    assert code == 1
    assert "Some data may have been lost" in error
    assert hint.startswith("hint: choose another --checkpoint: the topic is read again ")
    assert len(rows(tmp_path)) == 8


HUGE = message(client_id="x" * (2 << 20))
BAD = [
    (b"no telemetry", "malformed:json"),
    (message(v=2), "malformed:version"),
    (message(rows=[(*ROW[:4], -5)]), "malformed:bytes"),
    (message(rows=[("steal", *ROW[1:])]), "malformed:kind"),
    (message(rows=[ROW[:4]]), "malformed:rows"),
    (HUGE, "malformed:size"),
    (None, "malformed:json"),
    (message(minute=-10 * 365 * 24 * 60), "too-late"),
]


@pytest.mark.parametrize("connector", ["jvm", "python"])
def test_malformed_records_are_quarantined_with_their_place(brokers, tmp_path, connector):
    """F26: topic, partition, offset, reason and the start of the text of each message are kept."""
    name = topic(brokers, f"bad-{connector}", max_message_bytes=str(4 << 20))
    values = [value for value, _ in BAD]
    send(brokers.bootstrap, name, values, max_request_size=4 << 20)
    is_jvm = connector == "jvm"
    command = reading(brokers.bootstrap, name, tmp_path, "--connector", connector, jars=is_jvm)
    report = run(*command)
    found = {(row["kafka_partition"], row["kafka_offset"]): row for row in rows(tmp_path)}
    assert set(offsets(tmp_path).values()) == {1}
    for number, (value, reason) in enumerate(BAD):
        row = found.pop((number % 2, number // 2))
        assert (row["kafka_topic"], row["reason"]) == (name, reason)
        text = None if value is None else value.decode()[:4096]
        assert row["raw"] == text
        assert row["rows"] is None
    assert found == {}
    assert sum(report["reasons"].values()) == report["messages"] == len(BAD)
    assert report["kept"] == 0


MANY = 40_000


@pytest.mark.fault
def test_a_batch_survives_the_kill_of_an_executor(brokers, tmp_path, java_home):
    """F27: another executor runs the task again; the batch has nothing of the first attempt."""
    name = topic(brokers, "executor")
    send(brokers.bootstrap, name, [message(f"e{number}") for number in range(MANY)])
    with SparkCluster(("az1", "az2"), java_home=java_home, folder=tmp_path / "spark") as cluster:
        conf = [f"--conf={key}={value}" for key, value in cluster.conf.items()]
        command = reading(brokers.bootstrap, name, tmp_path, jars=False)
        with Looking(lambda: len(rows(tmp_path))) as reader:
            command += ["--master", cluster.master, *conf]
            process = started("-m", "rackwise.cli", "--json", *command)
            tasks = "stream/epoch=*/batch_id=0/attempt=*/_tasks/*"
            until(lambda: [*(tmp_path / "out").glob(tasks)], "a task to write", timeout_s=300)
            before = cluster.executors()
            os.kill(before[0][0], signal.SIGKILL)
            assert rows(tmp_path) == []
            report = document(process)
    assert (report["batches"], report["kept"], report["bytes"]) == (1, MANY, 100 * MANY)
    assert offsets(tmp_path).total() == len(offsets(tmp_path)) == MANY
    assert reader.seen == [0, MANY]
    left = [*(tmp_path / "out").rglob("_temporary"), *(tmp_path / "out").rglob("_tasks")]
    assert left == []


def test_the_connector_comes_from_maven_central(brokers, tmp_path):
    """Into an empty cache; the second run needs no repository."""
    name = topic(brokers, "central")
    ivy = ["--master", "local[2]", "--conf", f"spark.jars.ivy={tmp_path / 'ivy'}"]
    command = reading(brokers.bootstrap, name, tmp_path, *ivy, jars=False)
    for environment in ({}, {"DEFAULT_ARTIFACT_REPOSITORY": "http://127.0.0.1:1/"}):
        send(brokers.bootstrap, name, [message(), message(v=2)])
        code, out, err = ended(started("-m", "rackwise.cli", *command, **environment))
        assert code == 0, err
        assert out.startswith("2 messages in 1 new batch: 1 kept, 100 bytes")
        assert "resolv" not in err.lower()
        assert len(err.splitlines()) <= 1
    assert [*(tmp_path / "ivy").rglob("kafka-clients-*.jar")]


PAGES = 2000
FEW_PAGES = {"out": 1, "mark": 3}
"""The pages that are free at first: too few for a batch, and for the progress of Spark."""


@pytest.mark.fault
@pytest.mark.parametrize("where", FEW_PAGES)
def test_after_a_full_disk_every_message_counts_once(brokers, stored_topic, tmp_path, where):
    folder = tmp_path / where
    command = ["-m", "rackwise.cli", *reading(brokers.bootstrap, stored_topic, tmp_path)]
    with mounted_disk(folder, PAGES):
        ballast = fill(folder, PAGES, free=FEW_PAGES[where]).rename(folder / ".x.unfinished")
        code, out, err = ended(started(*command))
        assert (code, out) == (1, "")
        error, hint = err.splitlines()[-2:]
        assert error.startswith("error: Spark ended the stream: ")
        assert os.strerror(errno.ENOSPC) in error
        assert "; free on this machine: " in error
        assert f" bytes in {folder}" in error
        assert hint.startswith("hint: free space on the disks of --out, --checkpoint and TMPDIR")
        assert [*tmp_path.rglob("*.parquet")] == []
        ballast.unlink()
        code, _, err = ended(started(*command))
        assert code == 0, err
        assert offsets(tmp_path).total() == len(stored_messages())
        assert set(offsets(tmp_path).values()) == {1}


STORED = Path(__file__).with_name("stored_stream")


@pytest.fixture(scope="module")
def stored_topic(brokers):
    """A topic with the records of the stored stream."""
    name = topic(brokers, "stored")
    send(brokers.bootstrap, name, stored_messages())
    return name


@pytest.fixture
def stored(brokers, stored_topic, tmp_path):
    """The command that continues a stream that was stored after two batches."""
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    return reading(brokers.bootstrap, stored_topic, tmp_path)


def test_a_run_continues_from_a_stored_checkpoint(brokers, stored_topic, stored, tmp_path):
    """The contract of the format: a run continues from the files of an earlier Rackwise."""
    assert len(rows(tmp_path)) == len(stored_messages())
    later = [message("later"), b"no telemetry", message("latest")]
    send(brokers.bootstrap, stored_topic, later)
    report = run(*stored)
    assert (report["batches"], report["messages"], report["kept"]) == (1, 3, 2)
    assert set(offsets(tmp_path).values()) == {1}
    assert offsets(tmp_path).total() == len(stored_messages()) + 3
    assert [each.batch_id for each in Store(str(tmp_path / "out")).batches()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda home: spoiled(home / "mark" / "rackwise.json", "stream/1", "stream/2"), "stream/1"),
        (lambda home: spoiled(home / "mark" / "offsets" / "1", "}", ""), "that was cut or changed"),
        (lambda home: (home / "mark" / "offsets" / "1").unlink(), "the last is 1"),
    ],
)
def test_a_damaged_or_foreign_checkpoint_is_rejected(stored, tmp_path, spoil, said):
    """F27: nothing is read, and the hint says what to do."""
    spoil(tmp_path)
    before = rows(tmp_path)
    code, out, err = ended(started("-m", "rackwise.cli", *stored))
    assert (code, out) == (4, "")
    assert said in err
    assert "hint: " in err
    assert "another" in err
    assert rows(tmp_path) == before


def spoiled(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
