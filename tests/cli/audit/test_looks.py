"""`rackwise snapshot --measure`: rates between two looks at real brokers, and at given ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from kafka_traffic import create, delete, producer, until
from rackwise.adapters.files import read_snapshot
from rackwise.adapters.kafka import connect
from rackwise.cli.audit import looks
from rackwise.cli.audit.looks import measured
from rackwise.cli.main import run
from rackwise.cli.shell import Shell
from rackwise.core.model import AnswerTimes, Cluster, Partition, PartitionTable, Topic

RATE = 200_000
SIZE = 1000


class SteadyWriter(threading.Thread):
    """Writes about `RATE` bytes a second to one partition, until it is stopped.

    A busy machine writes in bursts: what was written when is in `acknowledged`, in seconds.
    """

    def __init__(self, bootstrap, topic, partition):
        super().__init__(daemon=True)
        self._target = bootstrap, topic, partition
        self._ended = threading.Event()
        self.acknowledged = []

    def run(self):
        bootstrap, topic, partition = self._target
        with producer(bootstrap, linger_ms=5) as sender:
            sender.send(topic, value=bytes(SIZE), partition=partition).get(60)
            begun, sent = time.monotonic(), 0
            while not self._ended.wait(0.02):
                while sent * SIZE < (time.monotonic() - begun) * RATE:
                    future = sender.send(topic, value=bytes(SIZE), partition=partition)
                    future.add_callback(lambda _: self.acknowledged.append(time.monotonic()))
                    sent += 1
            sender.flush()

    def rates(self, seconds, *, begun):
        """The lowest and the highest rate of any `seconds` since `begun`, in bytes/s."""
        times = np.array(self.acknowledged)
        starts = np.arange(begun, times[-1] - seconds, 0.05)
        counts = np.searchsorted(times, starts + seconds) - np.searchsorted(times, starts)
        return counts.min() * SIZE / seconds, counts.max() * SIZE / seconds

    def __enter__(self):
        self.start()
        until(lambda: len(self.acknowledged) > 100, "records")
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join(60)


def test_the_rates_are_those_of_the_producers(tmp_path, cluster, admin, capsys):
    out = tmp_path / "s.json.gz"
    create(admin, "measured", [[0, 1], [1, 2]], cleanup_policy="delete")
    arguments = ["--bootstrap-server", cluster.bootstrap, "--topics", "measured", "--out", str(out)]
    arguments += ["--no-groups"]
    with SteadyWriter(cluster.bootstrap, "measured", 0) as writer:
        begun = time.monotonic()
        assert run(["snapshot", *arguments, "--measure", "6s"]) == 0
        assert time.monotonic() - begun >= 6
    delete(admin, "measured")
    written, still = read_snapshot(out).partitions
    lowest, highest = writer.rates(6, begun=begun)
    assert 0.9 * lowest <= written.bytes_in_per_s <= 1.1 * highest
    assert still.bytes_in_per_s == 0
    assert written.end_offset > 0
    captured = capsys.readouterr()
    assert ", 1 topic, 2 partitions, 2 rates, 0 notes\n" in captured.out
    assert captured.err.startswith("measuring, in seconds: 2/")


@pytest.mark.kafka
def test_a_signal_while_it_waits_leaves_no_file(tmp_path, kraft_cluster):
    out = tmp_path / "s.json"
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, "waited", [[0, 1]])
        command = [sys.executable, "-m", "rackwise.cli", "snapshot", "--out", str(out)]
        command += ["--bootstrap-server", kraft_cluster.bootstrap, "--measure", "10min"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
        try:
            line = process.stderr.readline()
            assert line.startswith("measuring, in seconds: ")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 128 + signal.SIGINT
        finally:
            process.kill()
            process.stderr.close()
        delete(admin, "waited")
    assert list(tmp_path.iterdir()) == []


class TestNotesOnRates:
    """A rate that is not known says why, and what to do."""

    def look(self, at_s, **columns):
        """A cluster with topic t at a time; `columns`: of its partitions."""
        count = max(map(len, columns.values()))
        table = PartitionTable.of(
            Partition(
                topic="t",
                partition=number,
                replicas=(1,),
                leader=1,
                leader_epoch=0,
                start_offset=0,
                **{name: values[number] for name, values in columns.items()},
            )
            for number in range(count)
        )
        at = {1: 1_800_000_000_000 + 1000 * at_s}
        return Cluster(
            cluster_id="c",
            taken_at="2027-01-15T08:00:00Z",
            brokers=(),
            topics={"t": Topic(name="t", id="x", cleanup_policy="delete")},
            partitions=table,
            answered=AnswerTimes(offsets=at, sizes=at),
        )

    def measured(self, *seen):
        waiting = list(seen)
        return measured(Shell(is_quiet=True), lambda: waiting.pop(0), 0)

    def test_what_is_known_has_no_note(self):
        first = self.look(0, bytes=(1000, 0), end_offset=(10, 0))
        second = self.look(10, bytes=(6000, 0), end_offset=(60, 0))
        found = self.measured(first, second)
        assert found.partitions.bytes_in_per_s.tolist() == [500, 0]
        assert found.notes == ()

    def test_each_cause_is_told_with_its_cure(self):
        first = self.look(0, bytes=(1000, 1000, 1000), end_offset=(10, 10, None))
        second = self.look(10, bytes=(6000, 1000, 9000), end_offset=(60, 9, 20))
        found = self.measured(first, second)
        assert found.partitions.bytes_in_per_s.tolist() == [500, -1, -1]
        assert [(note.kind, note.text.partition(":")[0]) for note in found.notes] == [
            ("rates", "rates of 1 partition, such as t-2, are not known"),
            ("rates", "rates of 1 partition, such as t-1, are not known"),
        ]
        assert all("; take " in note.text for note in found.notes)

    def test_a_lower_bound_is_told_as_one(self):
        first = self.look(0, bytes=(1000,), end_offset=(10,))
        second = self.look(10, bytes=(6000,), end_offset=(60,))
        compacted = {"t": Topic(name="t", id="x", cleanup_policy="compact")}
        found = self.measured(replace(first, topics=compacted), replace(second, topics=compacted))
        (note,) = found.notes
        assert note.text.startswith("rates of 1 partition, such as t-0, are lower bounds: the ")
        assert note.text.endswith(
            "; grant Topic:Read, so that `rackwise snapshot` reads the end of the log"
        )

    def test_a_look_that_takes_longer_than_the_time_is_not_waited_for(self, monkeypatch):
        monkeypatch.setattr(looks.time, "sleep", lambda _: pytest.fail("it waits"))
        look = self.look(0, bytes=(1,), end_offset=(1,))
        later = self.look(5, bytes=(1,), end_offset=(1,))
        assert self.measured(look, later).partitions.bytes_in_per_s.tolist() == [0]
