"""Offsets of leaders: as kafka-python's own client tells them, on real brokers."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import IncompatibleBrokerVersion, KafkaConnectionError

from kafka_traffic import create, delete, produce
from rackwise.adapters.kafka import connect, read_cluster
from rackwise.adapters.kafka.connect import TimedAnswer
from rackwise.adapters.kafka.logs import offsets
from rackwise.adapters.kafka.logs.offsets import OffsetReading
from rackwise.adapters.kafka.logs.read import read_logs
from rackwise.adapters.kafka.topics import CurrentLeader, TopicLayout
from rackwise.core.model import Partition, PartitionTable

TAKEN_AT = "2026-11-01T00:00:00Z"
NOT_LEADER, FENCED, UNKNOWN_TERM, NO_RIGHT = 6, 74, 75, 29
NO_LEADER = "no leader; start the brokers that hold replicas"


@pytest.fixture
def topic(admin, request):
    name = request.node.name.partition("[")[0].removeprefix("test_")[:60]
    yield name
    delete(admin, name)


def read(admin, *topics, **options):
    return read_cluster(admin, taken_at=TAKEN_AT, topics=topics or ("*",), offsets=True, **options)


def told(admin, seen):
    """(start, end) of each partition as kafka-python's admin lists them."""
    wanted = [TopicPartition(row.topic, row.partition) for row in seen.partitions]
    earliest, latest = (
        admin.list_partition_offsets(dict.fromkeys(wanted, spec))
        for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
    )
    return [(earliest[each].offset, latest[each].offset) for each in wanted]


def seen_offsets(seen):
    return [(row.start_offset, row.end_offset) for row in seen.partitions]


def leader_epochs(admin, topic):
    (found,) = admin.describe_topics([topic])
    rows = sorted(found["partitions"], key=lambda each: each["partition_index"])
    return [each["leader_epoch"] for each in rows]


def test_offsets_are_those_that_the_leaders_tell(cluster, admin, topic):
    create(admin, topic, [[0, 1], [1, 2], [2, 0]])
    produce(cluster.bootstrap, {(topic, 0): 120, (topic, 1): 7})
    admin.delete_records({TopicPartition(topic, 0): 50})
    before_ms = time.time_ns() // 10**6
    seen = read(admin, topic)
    after_ms = time.time_ns() // 10**6
    assert seen_offsets(seen) == [(50, 120), (0, 7), (0, 0)] == told(admin, seen)
    assert [row.leader_epoch for row in seen.partitions] == leader_epochs(admin, topic)
    assert seen.notes == ()
    times = seen.answered
    assert set(times.offsets) == {0, 1, 2}
    assert set(times.sizes) == {broker.id for broker in cluster.brokers}
    for broker, offsets_ms in times.offsets.items():
        assert before_ms - 1000 <= offsets_ms <= times.sizes[broker] <= after_ms + 1000


def test_every_topic_of_the_cluster_has_its_offsets(admin, topic):
    create(admin, topic, [[0, 1]])
    seen = read(admin)
    assert seen_offsets(seen) == told(admin, seen)
    assert min(row.leader_epoch for row in seen.partitions) >= 0


def test_offsets_that_are_not_asked_for_are_absent(admin, topic):
    create(admin, topic, [[0, 1]])
    seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
    assert seen.partitions.offsets is None
    assert (seen.answered.offsets, seen.answered.sizes) == ({}, {})
    alone = read(admin, topic, sizes=False)
    assert seen_offsets(alone) == [(0, 0)]
    assert alone.partitions[0].bytes is None
    assert (set(alone.answered.offsets), alone.answered.sizes) == ({0}, {})


def test_policies_and_times_of_retention_are_those_of_each_topic(admin, topic):
    create(admin, topic, [[0]], cleanup_policy="compact,delete", retention_ms="-1")
    found = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,)).topics[topic]
    assert (found.cleanup_policy, found.retention_ms) == ("compact,delete", -1)
    assert found.is_compacted
    delete(admin, topic)
    create(admin, topic, [[0]])
    found = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,)).topics[topic]
    assert (found.cleanup_policy, found.retention_ms) == ("delete", 7 * 24 * 3600 * 1000)


@pytest.mark.long
def test_a_killed_leader_leaves_its_offsets_unknown_until_another_one_leads(cluster, admin, topic):
    create(admin, topic, [[2, 0], [0, 1]])
    produce(cluster.bootstrap, {(topic, 0): 10, (topic, 1): 20})
    before = read(admin, topic)
    cluster.kill(2)
    try:
        at_once = read(admin, topic)
        moved, untouched = at_once.partitions
        assert (untouched.start_offset, untouched.end_offset) == (0, 20)
        assert (moved.start_offset, moved.end_offset) in ((None, None), (0, 10))
        if moved.end_offset is None:
            assert any(
                f"offsets of 1 partition, such as {topic}-0: no answer from broker 2" in note.text
                for note in at_once.notes
            )
        cluster.wait_until_gone(2)
        moved, _ = read(admin, topic).partitions
        assert (moved.leader, moved.start_offset, moved.end_offset) == (0, 0, 10)
        assert moved.leader_epoch > before.partitions[0].leader_epoch
    finally:
        cluster.start(2)
        cluster.wait_until_ready()


@pytest.mark.long
def test_partitions_without_a_leader_have_no_offsets_and_a_note(cluster, admin, topic):
    create(admin, topic, [[1], [0]])
    produce(cluster.bootstrap, {(topic, 0): 10, (topic, 1): 20})
    cluster.kill(1)
    try:
        cluster.wait_until_gone(1)
        seen = read(admin, topic)
        assert seen_offsets(seen) == [(None, None), (0, 20)]
        assert [note.text for note in seen.notes] == [
            f"offsets of 1 partition, such as {topic}-0: {NO_LEADER}"
        ]
    finally:
        cluster.start(1)
        cluster.wait_until_ready()


def test_the_questions_of_a_large_broker_are_sent_in_parts(cluster, admin, topic, monkeypatch):
    monkeypatch.setattr(offsets, "PARTITIONS_PER_REQUEST", 3)
    create(admin, topic, [[0]] * 20 + [[1]] * 4)
    produce(cluster.bootstrap, {(topic, 17): 5})
    seen = read(admin, topic)
    assert seen_offsets(seen) == told(admin, seen)
    assert seen.partitions[17].end_offset == 5
    assert seen.notes == ()


@pytest.mark.kafka
def test_a_leader_that_is_asked_for_another_term_is_asked_again(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, "elected", [[0, 1], [1, 0]])
        produce(kraft_cluster.bootstrap, {("elected", 0): 10, ("elected", 1): 20})
        seen = read(admin, "elected")
        layout = TopicLayout(
            table=replace(seen.partitions, leader=np.array([1, 1], dtype=np.int32)),
            topics=(),
            leader_epoch=np.array([-1, 77], dtype=np.int32),
            notes=(),
            is_consistent=True,
        )
        again = read_logs(
            admin,
            layout,
            [0, 1],
            sizes=True,
            offsets=True,
            is_wanted=lambda _: False,
            clock_ms=lambda: 7,
            progress=int,
        )
        assert again.table == seen.partitions
        assert again.notes == ()
        assert again.answered.offsets == {0: 7, 1: 7}
        delete(admin, "elected")


class TestAnswersThatAreNoOffsets:
    """What a leader does not tell is -1, with a note for each reason."""

    def layout(self, leaders=(1, 1, 2, None)):
        rows = [
            Partition(topic="t", partition=number, replicas=(1, 2), leader=leader)
            for number, leader in enumerate(leaders)
        ]
        return TopicLayout(
            table=PartitionTable.of(rows),
            topics=(),
            leader_epoch=np.full(len(rows), 4, dtype=np.int32),
            notes=(),
            is_consistent=True,
        )

    def answered(self, rows, at_ms=1000):
        """An answer of `{partition: offset, or a name for an error code}`."""
        partitions = [
            SimpleNamespace(
                partition_index=number,
                error_code=found[0] if isinstance(found, tuple) else 0,
                offset=-1 if isinstance(found, tuple) else found,
            )
            for number, found in rows.items()
        ]
        topic = SimpleNamespace(name="t", partitions=partitions)
        return TimedAnswer(SimpleNamespace(topics=[topic]), at_ms)

    def read(self, monkeypatch, answers, leaders=None, layout=None):
        """Offsets and notes; `answers(broker, is_start, partitions)` plays the brokers."""
        asked = []

        def send(_admin, requests, **_):
            return {
                broker: [self._play(answers, asked, broker, request) for request in of]
                for broker, of in requests.items()
            }

        monkeypatch.setattr(offsets, "RETRY_S", 0)
        monkeypatch.setattr(offsets, "send_in_turn", send)
        monkeypatch.setattr(offsets, "read_leaders", lambda *_: leaders or {})
        reading = OffsetReading(layout or self.layout())
        first = {broker: [each.request for each in of] for broker, of in reading.questions.items()}
        reading.take(send(None, first))
        reading.again(None, clock_ms=lambda: 0)
        table = reading.table
        return (
            list(zip(table.offsets.start.tolist(), table.offsets.end.tolist(), strict=True)),
            [note.text for note in reading.notes],
            reading,
            asked,
        )

    def _play(self, answers, asked, broker, request):
        (topic,) = request.topics
        timestamp = topic.partitions[0].timestamp
        numbers = [each.partition_index for each in topic.partitions]
        asked.append((broker, timestamp, numbers))
        self.terms = [each.current_leader_epoch for each in topic.partitions]
        found = answers(broker, timestamp, numbers, len(asked))
        return found if isinstance(found, TimedAnswer) else self.answered(found)

    def test_a_right_that_lacks_is_told_once_for_both_ends(self, monkeypatch):
        def answers(broker, timestamp, numbers, _):
            if broker == 1:
                return dict.fromkeys(numbers, (NO_RIGHT,))
            return dict.fromkeys(numbers, 10 if timestamp == -1 else 3)

        found, notes, *_ = self.read(monkeypatch, answers)
        assert found == [(-1, -1), (-1, -1), (3, 10), (-1, -1)]
        assert notes == [
            "offsets of 2 partitions, such as t-0: TopicAuthorizationFailed",
            f"offsets of 1 partition, such as t-3: {NO_LEADER}",
        ]

    def test_what_is_left_out_of_an_answer_is_unknown(self, monkeypatch):
        found, notes, *_ = self.read(monkeypatch, lambda *_: {9: 5, 0: 4})
        assert found == [(4, 4), (-1, -1), (-1, -1), (-1, -1)]
        assert "such as t-1: the leader left them out of its answer" in notes[-1]

    def test_a_broker_before_tiered_storage_is_asked_in_its_own_words(self, monkeypatch):
        def answers(_broker, timestamp, numbers, _):
            if timestamp == -4:
                return TimedAnswer(IncompatibleBrokerVersion("v7"), 0)
            return dict.fromkeys(numbers, {-2: 3, -1: 10}[timestamp])

        found, notes, _, asked = self.read(monkeypatch, answers)
        assert found == [(3, 10)] * 3 + [(-1, -1)]
        assert len(notes) == 1
        assert [each[:2] for each in asked] == [
            (1, -4), (1, -1), (2, -4), (2, -1), (1, -2), (2, -2)
        ]  # fmt: skip

    def test_both_ends_are_of_the_leader_that_is_told(self, monkeypatch):
        def answers(broker, timestamp, numbers, asked):
            if broker == 1 and asked <= 4:
                return {0: 7, 1: (NOT_LEADER,)} if timestamp == -1 else {0: 1, 1: 1}
            return dict.fromkeys(numbers, 20 if timestamp == -1 else 2)

        now = {("t", 1): CurrentLeader(2, 5)}
        found, notes, reading, asked = self.read(monkeypatch, answers, now)
        assert found == [(1, 7), (2, 20), (2, 20), (-1, -1)]
        assert reading.table.leader.tolist() == [1, 2, 2, -1]
        assert reading.table.offsets.leader_epoch.tolist() == [4, 5, 4, 4]
        assert asked[4:] == [(2, -4, [1]), (2, -1, [1])]
        assert reading.answered_ms == {1: 1000, 2: 1000}
        assert len(notes) == 1

    def test_an_offset_of_an_earlier_leader_does_not_stay(self, monkeypatch):
        monkeypatch.setattr(offsets, "MOVING_S", 0.05)

        def answers(broker, timestamp, numbers, _):
            if timestamp == -1:
                return dict.fromkeys(numbers, (NOT_LEADER,) if broker == 1 else (NO_RIGHT,))
            return dict.fromkeys(numbers, 1 if broker == 1 else (NO_RIGHT,))

        now = {("t", 0): CurrentLeader(2, 5)}
        found, notes, *_ = self.read(monkeypatch, answers, now, layout=self.layout((1,)))
        assert found == [(-1, -1)]
        assert notes == ["offsets of 1 partition, such as t-0: TopicAuthorizationFailed"]

    def test_a_leader_that_does_not_know_its_own_term_is_asked_without_it(self, monkeypatch):
        def answers(_broker, timestamp, numbers, _):
            if self.terms != [-1] * len(numbers):
                return dict.fromkeys(numbers, (UNKNOWN_TERM,))
            return dict.fromkeys(numbers, 9 if timestamp == -1 else 0)

        now = {("t", number): CurrentLeader(1 if number < 2 else 2, 4) for number in range(3)}
        found, notes, reading, _ = self.read(monkeypatch, answers, now)
        assert found == [(0, 9), (0, 9), (0, 9), (-1, -1)]
        assert reading.table.offsets.leader_epoch.tolist() == [4, 4, 4, 4]
        assert len(notes) == 1

    def test_a_leader_that_holds_no_replica_of_the_table_is_not_believed(self, monkeypatch):
        monkeypatch.setattr(offsets, "MOVING_S", 0.05)
        now = {("t", 0): CurrentLeader(9, 5)}
        layout = self.layout((1,))
        found, notes, reading, _ = self.read(
            monkeypatch, lambda *_: {0: (FENCED,)}, now, layout=layout
        )
        assert found == [(-1, -1)]
        assert notes == ["offsets of 1 partition, such as t-0: FencedLeaderEpoch"]
        assert reading.table.leader.tolist() == [1]

    def test_a_broker_that_is_silent_costs_only_its_own(self, monkeypatch):
        monkeypatch.setattr(offsets, "MOVING_S", 0)

        def answers(broker, _timestamp, numbers, _):
            if broker == 1:
                return TimedAnswer(KafkaConnectionError("gone"), 0)
            return dict.fromkeys(numbers, 5)

        found, notes, reading, _ = self.read(monkeypatch, answers)
        assert found == [(-1, -1), (-1, -1), (5, 5), (-1, -1)]
        assert (
            "offsets of 2 partitions, such as t-0: no answer from broker 1 (KafkaConnection)"
            in (notes)
        )
        assert reading.answered_ms == {2: 1000}
