"""The producer of aiokafka, on what its client shows of itself."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError, NotLeaderForPartitionError

from client_metadata import aiokafka_answer, aiokafka_metadata
from rackwise.adapters.clients.aiokafka.producer import RackAwareProducer
from rackwise.core.errors import InvalidConfig, PartitionerConfigError
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

BROKERS = {1: "a", 2: "b", 3: "c"}
TOPICS = {"t": [[1], [2], [3], [1], [2], [3]]}
VALUE = bytes(100)
SIZE = 112


class Client(AIOKafkaProducer):
    """What an `AIOKafkaProducer` shows, offline; `send` may wait, be refused, and be answered."""

    def __init__(self, **told):
        self.told = told
        self.client = SimpleNamespace(cluster=aiokafka_metadata(BROKERS, TOPICS))
        self.sent = []
        self.refusal = None
        self.is_started = None

    async def partitions_for(self, topic):
        return self.client.cluster.partitions_for_topic(topic)

    async def send(self, _topic, _value, _key, partition, _timestamp_ms, _headers):
        await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        future = asyncio.get_running_loop().create_future()
        self.sent.append((partition, future))
        return future

    def create_batch(self):
        return SimpleNamespace(append=lambda **told: SimpleNamespace(size=len(told["value"]) + 7))

    async def start(self):
        self.is_started = True

    async def stop(self):
        self.is_started = False


class Offline(RackAwareProducer, Client):
    """A producer of ours on such a client."""


def made(clock=lambda: 0.0, **told):
    return Offline(clock=clock, **{"client_rack": "a", "max_batch_size": 1200, **told})


def counters(producer):
    return producer.counters()["t"]


def test_steered_records_get_a_partition_near_and_the_rest_is_the_clients():
    async def run():
        producer = made(partitioner_availability_timeout_ms=1000)
        async with producer:
            for _ in range(30):
                await producer.send("t", VALUE)
            await producer.send("t", VALUE, key=b"k")
            await producer.send("t", VALUE, partition=2)
            for number, (partition, future) in enumerate(producer.sent):
                future.set_result(SimpleNamespace(partition=1 if partition is None else number))
            await asyncio.sleep(0)
            assert producer.is_started
        assert not producer.is_started
        assert {partition for partition, _ in producer.sent[:30]} == {0, 3}
        assert [partition for partition, _ in producer.sent[30:]] == [None, 2]
        found = counters(producer)
        assert (found.steered.local_bytes, found.steered.records) == (30 * SIZE, 30)
        assert found.unsteered.records == 2
        assert found.unsteered.total_bytes == 2 * SIZE + 1
        assert found.windows_acknowledged == 10

    asyncio.run(run())


def test_windows_are_outstanding_until_their_last_record_is_done_however():
    async def run():
        producer = made(partitioner_availability_timeout_ms=1000)
        for _ in range(9):
            await producer.send("t", VALUE)
        ledger = producer.topics.by_name["t"].ledger
        assert sum(ledger.load(0).windows.values()) == 3
        producer.sent[2][1].set_result(None)
        producer.sent[5][1].set_exception(NotLeaderForPartitionError())
        producer.sent[8][1].cancel()
        await asyncio.sleep(0)
        assert ledger.load(0).windows == {}
        assert (ledger.acknowledged, ledger.failed) == (1, 2)
        assert producer.topics.by_name["t"].is_stale

    asyncio.run(run())


def test_without_a_timeout_one_of_four_windows_of_a_partition_is_outstanding():
    async def run():
        producer = made()
        while len(producer.sent) % 3 or {partition for partition, _ in producer.sent} != {0, 3}:
            await producer.send("t", VALUE)
        steering = producer.topics.by_name["t"]
        assert steering.ledger.load(0).windows[3] == 1
        while len(producer.sent) < 40 * 3:
            await producer.send("t", VALUE)
        ended = Counter(partition for partition, _ in producer.sent[::3])
        assert set(ended) == {0, 3}
        assert ended.total() == counters(producer).switches["size"] == 40
        # the marks of partition 0 begin at its fourth window, those of partition 3 at its first
        wanted = {0: ended[0] // 4, 3: (ended[3] + 3) // 4}
        assert steering.ledger.load(0).windows == wanted
        for _, future in producer.sent:
            future.set_result(None)
        await asyncio.sleep(0)
        assert counters(producer).windows_acknowledged == sum(wanted.values())

    asyncio.run(run())


def test_a_batch_weighs_only_behind_another_one_of_its_partition():
    async def windows(slow):
        producer = made(rng=Random(1))
        for _ in range(200):
            for _ in range(3):
                await producer.send("t", VALUE)
            partition, future = producer.sent[-1]
            if partition not in slow:
                future.set_result(None)
                await asyncio.sleep(0)
        return [partition for partition, _ in producer.sent[::3]]

    even, uneven = asyncio.run(windows(set())), asyncio.run(windows({3}))
    # the first and the fifth window of partition 3 are marked: then two batches are outstanding
    second = [at for at, partition in enumerate(even) if partition == 3][4]
    assert uneven[: second + 1] == even[: second + 1]
    assert uneven.count(3) < even.count(3) / 2


def test_records_of_an_open_window_are_counted_whatever_comes_between():
    async def run():
        producer = made(max_batch_size=4 * 1000)
        for _ in range(3):
            await producer.send("t", VALUE)
        assert (counters(producer).steered.records, counters(producer).local_bytes) == (3, 3 * SIZE)
        await producer.send("t", VALUE)
        producer.refusal = KafkaTimeoutError()
        with pytest.raises(KafkaTimeoutError):
            await producer.send("t", VALUE)
        producer.refusal = None
        await producer.send("t", VALUE, headers=[("h", b"12")])
        for _ in range(6):
            await producer.send("t", VALUE)
        found = counters(producer)
        assert (found.steered.records, found.refused_records) == (12, 1)
        assert found.local_bytes == 12 * SIZE + 3
        assert found.switches == {"size": 1}
        assert len({partition for partition, _ in producer.sent[:8]}) == 1
        assert producer.topics.by_name["t"].choice.window_bytes == 3 * SIZE

    asyncio.run(run())


@pytest.mark.parametrize("refusal", [KafkaTimeoutError(), asyncio.CancelledError()], ids=repr)
def test_what_the_client_refuses_is_the_callers_and_stays_counted(refusal):
    async def run():
        producer = made(partitioner_availability_timeout_ms=100)
        producer.refusal = refusal
        for _ in range(3):
            with pytest.raises(type(refusal)):
                await producer.send("t", VALUE)
        found = counters(producer)
        assert (found.refused_records, found.local_bytes) == (3, 3 * SIZE)
        assert producer.topics.by_name["t"].ledger.load(0).windows == {}

    asyncio.run(run())


def test_sizes_are_those_of_what_is_sent():
    async def run():
        producer = made(partitioner_ignore_keys=True, max_batch_size=10**7)
        await producer.send("t", VALUE, headers=[("h", b"12")])
        await producer.send("t", "text")
        await producer.send("t", None, key=b"key")
        assert counters(producer).total_bytes == (SIZE + 3) + (4 + 7) + 15

    asyncio.run(run())


def test_new_metadata_is_seen_at_the_next_record():
    async def run():
        producer = made()
        await producer.send("t", VALUE)
        producer.client.cluster.update_metadata(aiokafka_answer({1: "b", 2: "a", 3: "c"}, TOPICS))
        for _ in range(12):
            await producer.send("t", VALUE)
        assert {partition for partition, _ in producer.sent[3:]} == {1, 4}

    asyncio.run(run())


def test_a_choice_that_fails_is_left_to_the_client():
    async def run():
        producer = made()
        await producer.send("t", VALUE)
        producer.client.cluster.update_metadata(aiokafka_answer(BROKERS, {}))
        for _ in range(5):
            await producer.send("t", VALUE)
        assert [partition for partition, _ in producer.sent[1:]] == [None] * 5
        assert producer.topics.failures.count == 5
        assert counters(producer).fallbacks == {"internal": 5}

    asyncio.run(run())


def test_a_late_leader_is_left_out_and_tried_again():
    async def run():
        now = [0.0]
        producer = made(
            clock=lambda: now[0], partitioner_availability_timeout_ms=100, client_rack="b"
        )
        await producer.send("t", VALUE)
        now[0] = 0.102
        await producer.send("t", VALUE)
        assert producer.sent[-1][0] in {0, 2, 3, 5}
        assert counters(producer).switches == {"unusable": 1}
        now[0] = 0.15
        for _, future in producer.sent:
            future.set_result(None)
        await asyncio.sleep(0)
        assert counters(producer).readmissions == 1

    asyncio.run(run())


@pytest.mark.parametrize(("semantics", "draws"), [("kip", "even"), ("upstream", "random")])
def test_a_window_is_a_quarter_of_a_batch(semantics, draws):
    async def sent():
        producer = made(max_batch_size=4_000, rackwise_semantics=semantics)
        for _ in range(8):
            await producer.send("t", bytes(1_000 - RECORD_OVERHEAD))
        return counters(producer), producer.topics.by_name["t"].choice

    counted, choice = asyncio.run(sent())
    assert counted.switches["size"] == 8
    assert choice._config.draws == draws


def test_a_split_is_kept():
    async def run():
        producer = made(max_batch_size=448)
        producer.set_split("t", {"b": 0.5, "c": 0.5})
        for _ in range(20):
            await producer.send("t", VALUE)
        assert sum(partition in {1, 4} for partition, _ in producer.sent) == 10
        assert sum(partition in {2, 5} for partition, _ in producer.sent) == 10

    asyncio.run(run())


def test_a_partitioner_of_the_users_own_stays_in_force(caplog):
    async def run():
        producer = made(partitioner=lambda _key, every, _available: every[0])
        for key in (None, b"k"):
            await producer.send("t", VALUE, key=key)
        assert [partition for partition, _ in producer.sent] == [None, None]
        assert producer.counters() == {}
        with pytest.raises(PartitionerConfigError, match="got one with <lambda>"):
            producer.set_split("t", {"a": 1.0})

    asyncio.run(run())
    (told,) = [each.getMessage() for each in caplog.records if each.name.startswith("rackwise")]
    assert told.startswith("custom-partitioner: wanted no partitioner.class")


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ({"client_rak": "a"}, PartitionerConfigError, "did you mean client_rack"),
        ({"client_rack": "a", "linger": 5}, PartitionerConfigError, "did you mean linger_ms"),
        ({"client_rack": "a", "client.rack": "a"}, PartitionerConfigError, "expected one value"),
        ({}, InvalidConfig, "expected the rack of this process, got none"),
    ],
    ids=str,
)
def test_options_that_are_no_options_are_refused(told, error, message):
    with pytest.raises(error, match=message):
        RackAwareProducer(**told)


def test_options_are_those_of_kafka_and_the_client():
    producer = Offline(
        **{"client.rack": "a", "partitioner.ignore.keys": "true"},
        max_batch_size=4_000,
        partitioner=None,
    )
    assert producer.told == {"max_batch_size": 4_000}
    config = producer.topics.config
    assert (config.rack_aware, config.rack, config.ignore_keys) == (True, "a", True)
    assert (config.sticky_bytes, config.draws) == (1_000, "even")
    assert isinstance(producer, AIOKafkaProducer)


def unretrieved(producer, sends):
    """What asyncio logs of deliveries that fail and that the caller drops."""

    async def run():
        heard = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: heard.append((context["message"], context.get("exception")))
        )
        await sends(producer)
        for number, (_, future) in enumerate(producer.sent):
            future.set_exception(KafkaTimeoutError(f"lost {number}"))
        producer.sent.clear()
        del future
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()
        return heard

    return [(message, str(error)) for message, error in asyncio.run(run())]


def test_a_lost_record_that_nobody_awaits_is_logged_as_without_rackwise():
    """Of steered records, marked ones too, and of records that their key or sender places."""

    async def sends(producer):
        for _ in range(9):
            await producer.send("t", VALUE, None, None, None, None)
        await producer.send("t", VALUE, b"k", None, None, None)
        await producer.send("t", VALUE, None, 2, None, None)

    ours = made(partitioner_availability_timeout_ms=1000)
    found = unretrieved(ours, sends)
    assert sorted(found) == sorted(unretrieved(Client(), sends))
    assert len(found) == 11
    assert counters(ours).windows_failed == 3


def test_a_caller_gets_the_outcome_of_an_observed_delivery():
    async def run():
        producer = made(partitioner_availability_timeout_ms=1000)
        given = [await producer.send("t", VALUE, partition=2) for _ in range(4)]
        (_, first), (_, second), (_, third), (_, fourth) = producer.sent
        sent = SimpleNamespace(partition=2)
        first.set_result(sent)
        second.set_exception(KafkaTimeoutError())
        third.cancel()
        given[3].cancel()
        fourth.set_result(sent)
        assert await given[0] is sent
        with pytest.raises(KafkaTimeoutError):
            await given[1]
        with pytest.raises(asyncio.CancelledError):
            await given[2]
        assert given[3].cancelled()
        assert counters(producer).unsteered.records == 4

    asyncio.run(run())
