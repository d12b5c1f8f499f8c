"""Tails of compacted topics: the batches that brokers have on disk, and what producers sent."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest
from confluent_kafka import Producer
from kafka.errors import KafkaConnectionError
from kafka.record.memory_records import MemoryRecords

from kafka_traffic import consumer, create, delete, until
from rackwise.adapters.kafka import connect, read_cluster
from rackwise.adapters.kafka.connect import TimedAnswer
from rackwise.adapters.kafka.logs import tails
from rackwise.adapters.kafka.logs.tails import TAIL_BYTES, read_tails
from rackwise.core.model import LogTail, Partition, PartitionTable
from rackwise.core.wire.batches import read_batch_spans
from record_batches import batch, neighbours

TAKEN_AT = "2026-11-01T00:00:00Z"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
IDS = {"t": "a5rIsYulSjyPjV-xorDH0w", "u": None}
SMALL = {"batch.num.messages": 20, "linger.ms": 50}


@pytest.fixture
def topic(admin, request):
    name = request.node.name.partition("[")[0].removeprefix("test_")[:60]
    yield name
    delete(admin, name)


def read(admin, *topics):
    return read_cluster(admin, taken_at=TAKEN_AT, topics=topics, offsets=True)


def send(bootstrap, topic, partition, count, *, keys=None, size=200, **settings):
    """Write `count` records; keys repeat after `keys` of them."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", **settings})
    if "transactional.id" in settings:
        producer.init_transactions()
        producer.begin_transaction()
    for number in range(count):
        key = str(number % (keys or count)).encode()
        producer.produce(topic, bytes([number % 251]) * size, key, partition)
        producer.poll(0)
    if "transactional.id" in settings:
        producer.commit_transaction()
    assert producer.flush(60) == 0


def on_disk(cluster, leader, topic, partition):
    """(base offset, next offset, bytes) of each batch in the leader's log, by kafka-python."""
    folder = cluster.folder / f"broker-{leader}" / "data" / f"{topic}-{partition}"
    found = []
    for file in sorted(folder.glob("*.log")):
        records = MemoryRecords(file.read_bytes())
        while records.has_next():
            each = records.next_batch()
            found.append((each.base_offset, each.next_offset, each.size_in_bytes))
    return found


def check_tail(tail, batches):
    """Law: a tail is neighbours at the end of the log, of at most 64 KiB."""
    assert tail.bytes <= TAIL_BYTES
    sizes = np.cumsum([size for *_, size in reversed(batches)])
    (count,) = np.flatnonzero(sizes == tail.bytes) + 1
    first, *_ = batches[-count]
    assert tail.offsets == batches[-1][1] - first


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_short_log_is_its_own_tail(cluster, admin, topic, compression):
    create(admin, topic, [[0, 1], [1, 2]], cleanup_policy="compact")
    send(cluster.bootstrap, topic, 0, 90, **{"compression.type": compression}, **SMALL)
    seen = read(admin, topic)
    (tail,) = seen.topics[topic].tails
    assert (tail.partition, tail.bytes, tail.offsets) == (0, seen.partitions[0].bytes, 90)
    check_tail(tail, on_disk(cluster, 0, topic, 0))
    assert seen.notes == ()


def test_a_long_log_has_a_tail_of_its_last_batches(cluster, admin, topic):
    create(admin, topic, [[0, 1]], cleanup_policy="compact")
    send(cluster.bootstrap, topic, 0, 3000, size=50, **SMALL)
    send(cluster.bootstrap, topic, 0, 300, size=500, **SMALL)
    (tail,) = read(admin, topic).topics[topic].tails
    check_tail(tail, on_disk(cluster, 0, topic, 0))
    assert tail.bytes > TAIL_BYTES // 3
    assert tail.bytes / tail.offsets == pytest.approx(510, rel=0.1)


def test_the_markers_of_transactions_belong_to_the_tail(cluster, admin, topic):
    create(admin, topic, [[1, 0]], cleanup_policy="compact,delete")
    send(cluster.bootstrap, topic, 0, 30, **{"transactional.id": topic}, **SMALL)
    until(lambda: on_disk(cluster, 1, topic, 0)[-1][1] == 31, "the marker")
    seen = read(admin, topic)
    (tail,) = seen.topics[topic].tails
    assert (tail.bytes, tail.offsets) == (seen.partitions[0].bytes, 31)
    check_tail(tail, on_disk(cluster, 1, topic, 0))


def test_other_topics_and_empty_logs_have_no_tail(cluster, admin, topic):
    create(admin, topic, [[0]])
    send(cluster.bootstrap, topic, 0, 10)
    assert read(admin, topic).topics[topic].tails == ()
    delete(admin, topic)
    create(admin, topic, [[0]], cleanup_policy="compact")
    seen = read(admin, topic)
    assert (seen.topics[topic].tails, seen.notes) == ((), ())


def test_a_batch_that_is_too_large_is_told(cluster, admin, topic):
    create(admin, topic, [[0], [0]], cleanup_policy="compact")
    for partition in (0, 1):
        send(cluster.bootstrap, topic, partition, 1, size=100_000)
    seen = read(admin, topic)
    (note,) = seen.notes
    assert note.text.endswith(": the last batch takes more than 64 KiB")
    assert all(each.partition == 0 for each in seen.topics[topic].tails)


@pytest.mark.long
@pytest.mark.kafka
def test_after_compaction_the_tail_says_what_was_sent_for_an_offset(make_kraft):
    with (
        make_kraft(brokers=1, overrides={"log.cleaner.backoff.ms": "200"}) as cluster,
        closing(connect(cluster.bootstrap)) as admin,
    ):
        create(
            admin,
            "table",
            [[0]],
            cleanup_policy="compact",
            segment_bytes="1048576",
            min_cleanable_dirty_ratio="0.01",
        )
        send(cluster.bootstrap, "table", 0, 30_000, keys=50, **SMALL)
        batches = len(on_disk(cluster, 0, "table", 0))
        until(
            lambda: len(on_disk(cluster, 0, "table", 0)) < batches / 2,
            "the log cleaner",
            timeout_s=60,
        )
        send(cluster.bootstrap, "table", 0, 200, keys=50, **SMALL)
        seen = read(admin, "table")
        (tail,), (row,) = seen.topics["table"].tails, seen.partitions
        sent = on_disk(cluster, 0, "table", 0)[-1]
        truth = sent[2] / (sent[1] - sent[0])
        assert tail.bytes / tail.offsets == pytest.approx(truth, rel=0.05)
        assert row.bytes / (row.end_offset - row.start_offset) < truth / 2


def test_the_topic_of_commits_has_tails(cluster, admin, topic):
    create(admin, topic, [[0, 1]])
    send(cluster.bootstrap, topic, 0, 10)
    with consumer(cluster.bootstrap, "tails", [topic], client_id="app") as member:
        member.poll(timeout_ms=3000)
        member.commit()
        seen = read(admin, "__consumer_offsets")
    admin.delete_groups(["tails"])
    found = seen.topics["__consumer_offsets"]
    assert found.is_compacted
    assert {each.partition for each in found.tails} >= {
        row.partition for row in seen.partitions if row.start_offset == 0 < row.end_offset
    }


class TestAnswersThatAreNoTails:
    """What cannot be read has no tail, and a note with its reason."""

    def read(self, monkeypatch, answer, topics="t", rows=2, start=0, end=1000):
        """Tails, notes and the requests; `answer(request)` plays the leader."""
        table = PartitionTable.of(
            Partition(
                topic=topic,
                partition=number,
                replicas=(1,),
                leader=1,
                start_offset=start,
                end_offset=end,
                leader_epoch=5,
            )
            for topic in topics
            for number in range(rows)
        )
        asked = []

        def play(_admin, requests):
            asked.extend(request for of in requests.values() for request in of)
            return {
                broker: [TimedAnswer(answer(request), 0) for request in of]
                for broker, of in requests.items()
            }

        monkeypatch.setattr(tails, "send_in_turn", play)
        ids = {topic: IDS[topic] for topic in topics}
        found, notes = read_tails(None, table, ids, progress=int)
        return found, [note.text for note in notes], asked

    def answered(self, request, rows):
        """An answer with `rows[topic, partition]`: records, or the code of an error."""
        responses = []
        for topic in request.topics:
            partitions = [
                SimpleNamespace(
                    partition_index=each.partition,
                    error_code=found if isinstance(found, int) else 0,
                    records=None if isinstance(found, int) else found,
                )
                for each in topic.partitions
                if (found := rows(topic.topic, each.partition, each.fetch_offset)) is not None
            ]
            has_id = topic.topic_id != UUID(int=0)
            responses.append(
                SimpleNamespace(
                    topic="" if has_id else topic.topic,
                    topic_id=topic.topic_id,
                    partitions=partitions,
                )
            )
        return SimpleNamespace(error_code=0, responses=responses)

    def test_each_reason_is_told_once(self, monkeypatch):
        cases = {
            0: 29,
            1: 29,
            2: None,
            3: b"",
            4: batch(999, 1, magic=1),
            5: batch(990, 4, delta=9),
            6: batch(999, 1)[:40],
            7: 6,
            8: batch(999, 1),
        }
        found, notes, _ = self.read(
            monkeypatch,
            lambda request: self.answered(request, lambda _t, number, _o: cases[number]),
            rows=len(cases),
        )
        assert {each.partition for each in found["t"]} == {8}
        assert notes == [
            f"last batches of {those}"
            for those in (
                "1 partition, such as t-7: NotLeaderForPartition",
                "2 partitions, such as t-0: TopicAuthorizationFailed; grant Topic:Read",
                f"1 partition, such as t-4: {tails._UNREADABLE}",
                "2 partitions, such as t-3: the last batch takes more than 64 KiB",
                "1 partition, such as t-2: the leader left them out of its answer",
                f"1 partition, such as t-5: {tails._CLEANED}",
            )
        ]

    @pytest.mark.parametrize(
        "answer", [KafkaConnectionError("gone"), SimpleNamespace(error_code=-1, responses=[])]
    )
    def test_a_leader_that_is_silent_costs_only_tails(self, monkeypatch, answer):
        found, (note,), _ = self.read(monkeypatch, lambda _: answer)
        assert found == {}
        assert note.startswith("last batches of 2 partitions, such as t-0: ")

    def test_the_second_round_aims_at_what_the_first_has_seen(self, monkeypatch):
        log = neighbours([10] * 100)  # 100 batches of 121 bytes

        def rows(_topic, number, offset):
            first = offset // 10
            return b"".join(log[first:])[:TAIL_BYTES] if number == 0 else batch(999, 1)

        found, notes, asked = self.read(monkeypatch, lambda request: self.answered(request, rows))
        assert notes == []
        assert found["t"] == (
            LogTail(partition=0, bytes=sum(map(len, log)), offsets=1000),
            LogTail(partition=1, bytes=len(batch(999, 1)), offsets=1),
        )
        offsets = [
            [each.fetch_offset for topic in request.topics for each in topic.partitions]
            for request in asked
        ]
        assert offsets == [[999, 999], [0, 594]]
        assert {
            each.partition_max_bytes
            for request in asked
            for topic in request.topics
            for each in topic.partitions
        } == {TAIL_BYTES}

    def test_a_second_round_among_cleaned_batches_leaves_the_first(self, monkeypatch):
        log = [batch(0, 3, delta=899), batch(950, 40, delta=48), batch(999, 1)]

        def rows(_topic, _number, offset):
            wanted = [each for each in log if read_batch_spans(each)[0].next_offset > offset]
            return b"".join(wanted[:1] if offset < 999 else wanted)

        found, notes, asked = self.read(
            monkeypatch, lambda request: self.answered(request, rows), rows=1
        )
        assert (len(asked), notes) == (2, [])
        assert found["t"] == (LogTail(partition=0, bytes=len(log[-1]), offsets=1),)

    def test_topics_without_an_id_are_sent_by_name(self, monkeypatch):
        found, _, (request,) = self.read(
            monkeypatch,
            lambda request: self.answered(request, lambda *_: batch(0, 1000, body=TAIL_BYTES - 99)),
            topics="tu",
            rows=1,
        )
        assert set(found) == {"t", "u"}
        assert request._max_version == 12

    def test_logs_without_offsets_are_not_asked_for(self, monkeypatch):
        for start, end in ((5, 5), (0, 0), (None, None)):
            assert self.read(monkeypatch, None, start=start, end=end) == ({}, [], [])
