"""The plug-in for kafka-python, called as its producer does, on metadata of the client's own."""

from __future__ import annotations

import itertools
import logging
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError, NotLeaderForPartitionError
from kafka.future import Future
from kafka.partitioner import DefaultPartitioner

from client_metadata import answer, metadata
from rackwise.adapters.clients.kafka_python.producer import (
    RackAwarePartitioner,
    RackAwareProducer,
    SteeringPartitioner,
)
from rackwise.core.errors import InputError, InvalidConfig, PartitionerConfigError, SplitError
from rackwise.core.json import strict as strict_json
from rackwise.core.partitioner import PartitionerConfig

BROKERS = {1: "a", 2: "b", 3: "c"}
TOPICS = {"t": [[1], [2], [3], [1], [2], [3]]}
VALUE = bytes(100)
SIZE = 112
GOLDEN = Path(__file__).parents[3] / "golden" / "vectors-producer.json"


class Counting:
    """Draws 0, 1, 2, ..."""

    def __init__(self):
        self.numbers = itertools.count()

    def getrandbits(self, _bits):
        return next(self.numbers)


class Broken:
    def getrandbits(self, _bits):
        raise ArithmeticError


class Client(KafkaProducer):
    """What a `KafkaProducer` does with a partitioner, without its network."""

    def __init__(self, *, partitioner, cluster=None, **_told):
        self.partitioner = partitioner
        self.cluster = cluster or metadata(BROKERS, TOPICS)
        self.config = {**self.DEFAULT_CONFIG, "partitioner": partitioner}
        self.sent = []
        self.refusal = None

    def ask(self, value=VALUE, key=None, topic="t"):
        return self.partitioner.partition(topic, key, key, value, value, self.cluster)

    def open_batch(self, value=VALUE):
        self.partitioner.on_new_batch("t", self.cluster, self.ask(value))
        return self.ask(value)

    def send(self, topic, value, key, _headers, partition, _timestamp_ms):
        chosen = self.ask(value, key, topic) if partition is None else partition
        if self.refusal is not None:
            raise self.refusal
        future = Future()
        self.sent.append((chosen, future))
        return SimpleNamespace(
            add_both=future.add_both, args=(0, 0, None, -1, len(value or b""), -1), partition=chosen
        )


class Offline(RackAwareProducer, Client):
    """A producer of ours on such a client."""


def client(rng=None, cluster=None, **told):
    config = PartitionerConfig(**{"rack_aware": True, "rack": "a", "sticky_bytes": 300, **told})
    partitioner = SteeringPartitioner(config, rng=rng or Counting())
    return Client(partitioner=partitioner, cluster=cluster)


def producer_of(now=(0,), rng=None, **told):
    return Offline(
        rng=rng or Counting(),
        clock=lambda: now[0] / 1000,
        **{"client_rack": "a", "batch_size": 300, **told},
    )


def counters(inner):
    return inner.partitioner.counters()["t"]


def double_calls():
    found = strict_json.parse(GOLDEN.read_bytes(), where=GOLDEN.name, error=InputError)
    return found["double_call"]


@pytest.mark.parametrize("vector", double_calls(), ids=lambda vector: vector["title"][:30])
def test_a_record_that_opens_a_batch_is_asked_for_twice_and_counted_once(vector):
    leaders = [[node] for node in vector["leaders"]]
    cluster = metadata(dict.fromkeys(vector["leaders"]), {"t": leaders})
    inner = client(cluster=cluster, rack_aware=False, sticky_bytes=vector["sticky_bytes"])
    choice = None
    for call in vector["calls"]:
        if call["call"] == "partition":
            assert inner.ask(bytes(call["size"] - 12)) == call["expect"]
            choice = inner.partitioner.topics.by_name["t"].choice
        else:
            inner.partitioner.on_new_batch("t", inner.cluster, choice.current)
        assert choice.window_bytes == call["produced_after"]
        assert choice._held == call["pending_after"]


def test_a_hook_for_another_partition_only_drops_the_held_record():
    inner = client()
    assert inner.ask() == 0
    inner.partitioner.on_new_batch("t", inner.cluster, 5)
    choice = inner.partitioner.topics.by_name["t"].choice
    assert (choice.window_bytes, choice._held) == (0, 0)


def test_keys_go_where_the_clients_own_partitioner_puts_them_also_the_empty_one():
    inner, own = client(), DefaultPartitioner()
    for key in [b"", b"foobar", bytes(range(64))]:
        assert inner.ask(key=key) == own.partition("t", key, key, None, None, inner.cluster)
        assert inner.ask(key=bytearray(key)) == inner.ask(key=key)
    found = counters(inner)
    assert (found.steered.records, found.unsteered.records) == (0, 9)


def test_an_ignored_key_is_steered_and_its_window_ends_without_a_hook():
    inner = client(ignore_keys=True)
    found = [inner.ask(key=b"12345678") for _ in range(6)]
    assert found == [0, 0, 0, 3, 3, 3]
    assert counters(inner).switches == {"size": 1}


def test_a_topic_without_metadata_is_the_clients_own_error():
    with pytest.raises(ValueError, match="Topic absent not found in ClusterMetadata"):
        client().ask(topic="absent")


def test_new_metadata_is_seen_at_the_next_record():
    inner = client()
    assert {inner.ask() for _ in range(20)} == {0, 3}
    inner.cluster.update_metadata(answer({1: "b", 2: "a", 3: "c"}, TOPICS))
    found = [inner.ask() for _ in range(20)]
    assert set(found[8:]) == {1, 4}
    assert counters(inner).local_bytes + counters(inner).cross_bytes == 40 * SIZE


def test_metadata_that_changes_while_it_is_read_is_seen_at_the_next_record():
    inner = client()
    read = inner.cluster.brokers
    for first in ("b", "a"):
        racks = {1: first, 2: "c", 3: "c"}

        def changing(racks=racks):
            inner.cluster.brokers = read
            found = read()
            inner.cluster.update_metadata(answer(racks, TOPICS))
            return found

        inner.partitioner.topics.stale()
        inner.cluster.brokers = changing
        inner.ask()
        inner.ask()
        assert inner.partitioner.topics.by_name["t"].view.racks == racks


def test_the_rack_of_brokers_that_are_gone_is_still_known():
    inner = client()
    inner.ask()
    inner.cluster.update_metadata(answer({2: "b", 3: "c"}, {"t": [[2], [2], [3], [3], [2], [3]]}))
    assert {inner.ask() for _ in range(40)} == set(range(6))
    assert set(counters(inner).fallbacks) == {"no-local-leader"}


def test_a_leader_that_only_an_answer_named_is_read_at_the_draw():
    """KIP-951: the leader moves, and no listener is called."""
    inner = client()
    assert inner.ask() == 0
    assert inner.cluster.update_partition_leader(TopicPartition("t", 3), 2, 7)
    assert {inner.ask() for _ in range(40)} == {0}
    assert counters(inner).cross_bytes == 0


def test_racks_that_change_all_the_time_lose_no_byte():
    inner = client()
    for number in range(200):
        racks = {each: "abc"[(each + number) % 3] for each in BROKERS}
        inner.cluster.update_metadata(answer(racks, TOPICS))
        assert inner.ask() in range(6)
    found = counters(inner)
    assert found.records == 200
    assert found.local_bytes + found.cross_bytes + found.unknown_bytes == 200 * SIZE


@pytest.mark.parametrize(
    ("brokers", "topics", "reason"),
    [
        ({1: None, 2: None, 3: None}, TOPICS, "rack-unmatched"),
        ({1: "b", 2: "b", 3: "c"}, TOPICS, "rack-unmatched"),
        (BROKERS, {"t": [[2], [3], [2]]}, "no-local-leader"),
        (BROKERS, {"t": [[-1], [-1]]}, "no-leader"),
    ],
    ids=["rackless", "unmatched", "led elsewhere", "leaderless"],
)
def test_why_a_window_is_not_local_is_counted(brokers, topics, reason):
    inner = client(cluster=metadata(brokers, topics))
    assert {inner.ask() for _ in range(40)} == set(range(len(topics["t"])))
    found = counters(inner)
    assert set(found.fallbacks) == {reason}
    assert found.records == 40


def test_what_does_not_help_is_logged_when_a_topic_is_met(caplog):
    client(rack=" ").ask()
    client(rack="us-east-1a").ask()
    told = warnings(caplog)
    assert "blank-rack" in told[0]
    assert "rack-unmatched: wanted one of a, b, c, had us-east-1a" in told[1]


def test_a_choice_that_fails_goes_anywhere_is_counted_and_logged_once(caplog):
    caplog.set_level(logging.WARNING, "rackwise")
    inner = client(rng=Broken())
    own = DefaultPartitioner()
    assert {inner.ask() for _ in range(100)} == set(range(6))
    assert inner.ask(key=b"k") == own.partition("t", b"k", b"k", None, None, inner.cluster)
    inner.partitioner.on_new_batch("absent", inner.cluster, 0)
    failures = inner.partitioner.topics.failures
    assert failures.count == 101
    assert isinstance(failures.last, KeyError)
    assert counters(inner).fallbacks == {"internal": 100}
    assert sum("goes on" in record.getMessage() for record in caplog.records) == 1


def test_threads_share_a_topic():
    """A record that is asked for twice may count twice where threads open batches at one moment."""
    inner = client(sticky_bytes=1000)
    threads = [
        threading.Thread(target=lambda: [inner.open_batch() for _ in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = counters(inner)
    assert inner.partitioner.topics.failures.last is None
    assert found.steered.local_bytes >= found.steered.records * SIZE
    assert 2000 <= found.steered.records <= 4000


def test_threads_count_each_record_once():
    inner = client(sticky_bytes=1000)
    threads = [threading.Thread(target=lambda: [inner.ask() for _ in range(2000)]) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = counters(inner).steered
    assert found.records == 8000
    assert found.local_bytes == 8000 * SIZE


def test_a_value_without_length_is_kept_from_the_choice_and_goes_anywhere():
    inner = client()
    inner.ask()
    topics = inner.partitioner.topics
    assert inner.partitioner.partition("t", None, None, 1, 1, inner.cluster) in range(6)
    assert isinstance(topics.failures.last, TypeError)


def test_a_partitioner_in_two_producers_is_refused():
    first = client()
    second = Client(partitioner=first.partitioner)
    assert first.ask() == 0
    for key in (None, b"k"):
        with pytest.raises(PartitionerConfigError, match="serves another producer") as caught:
            second.ask(key=key)
        assert "RackAwarePartitioner(config) for each KafkaProducer" in caught.value.hint
    assert first.ask() == 0
    assert counters(first).records == 2


class TestOptions:
    @pytest.mark.parametrize(
        "told",
        [
            {"client_rack": "a", "partitioner_ignore_keys": True, "rackwise_draws": "even"},
            {
                "client.rack": "a",
                "partitioner.rack.aware": "true",
                "partitioner.ignore.keys": "True",
                "rackwise.draws": "even",
            },
        ],
        ids=["with underscores", "as in Java"],
    )
    def test_are_those_of_kafka_and_the_client(self, told):
        producer = Offline(**told, batch_size=4096)
        assert producer.topics.config == PartitionerConfig(
            rack_aware=True, rack="a", ignore_keys=True, draws="even", sticky_bytes=4096
        )
        assert isinstance(producer, KafkaProducer)

    def test_may_turn_racks_off(self):
        for rack, knows in (("a", True), (None, False)):
            producer = producer_of(partitioner_rack_aware=False, client_rack=rack)
            assert {producer.send("t", VALUE).partition for _ in range(40)} == set(range(6))
            assert (counters(producer).local_bytes > 0) == knows

    @pytest.mark.parametrize(
        ("told", "nearest"),
        [
            ({"client_rak": "a"}, "client_rack"),
            ({"client.rak": "a"}, "client.rack"),
            ({"client_rack": "a", "partitioner_rack_awar": True}, "partitioner_rack_aware"),
            ({"client_rack": "a", "partitioner.rack.awar": "true"}, "partitioner.rack.aware"),
            ({"client_rack": "a", "bootstrap_server": "b:9092"}, "bootstrap_servers"),
            ({"client_rack": "a", "batch.size": 1}, "batch_size"),
        ],
    )
    def test_that_are_misspelt_are_refused_with_the_nearest_name(self, told, nearest):
        with pytest.raises(PartitionerConfigError, match=f"did you mean {nearest}\\?$"):
            RackAwareProducer(**told)

    def test_that_are_given_twice_are_refused(self):
        with pytest.raises(PartitionerConfigError, match="expected one value, got "):
            RackAwareProducer(client_rack="a", **{"client.rack": "a"})

    def test_with_the_partitioner_that_it_creates_itself_are_refused(self):
        mine = RackAwarePartitioner(PartitionerConfig(rack_aware=True, rack="a"))
        with pytest.raises(PartitionerConfigError, match="got RackAwarePartitioner") as caught:
            RackAwareProducer(client_rack="a", partitioner=mine)
        assert caught.value.hint.startswith("leave partitioner out")

    @pytest.mark.parametrize("told", [{}, {"client_rack": None}, {"client.rack": None}])
    def test_without_a_rack_are_refused(self, told):
        with pytest.raises(InvalidConfig, match="rack of this process, got none") as caught:
            RackAwareProducer(**told)
        assert "or use KafkaProducer" in caught.value.hint

    @pytest.mark.parametrize(
        ("config", "error", "hint"),
        [
            (
                PartitionerConfig(rack="a"),
                "invalid rack_aware: expected True because a rack is given, got False",
                "write PartitionerConfig(rack_aware=True, rack='a')",
            ),
            (
                "a",
                "invalid config: expected a PartitionerConfig, got a",
                "write PartitionerConfig(rack_aware=True, rack='a')",
            ),
            (
                5,
                "invalid config: expected a PartitionerConfig, got an object of class int",
                "write PartitionerConfig(rack_aware=True, rack=RACK)",
            ),
        ],
        ids=["not aware", "text", "number"],
    )
    def test_of_the_partitioner_alone_say_what_to_write(self, config, error, hint):
        with pytest.raises(PartitionerConfigError) as caught:
            RackAwarePartitioner(config)
        assert (str(caught.value), caught.value.hint) == (error, hint)


def test_a_partitioner_of_the_users_own_stays_in_force(caplog):
    producer = producer_of(partitioner=DefaultPartitioner())
    found = [producer.send("t", VALUE, key=b"k").partition for _ in range(5)]
    assert set(found) == {
        DefaultPartitioner().partition("t", b"k", b"k", *[None] * 2, producer.cluster)
    }
    assert producer.counters() == {}
    (told,) = warnings(caplog)
    assert told.startswith("custom-partitioner: wanted no partitioner.class")
    assert "had DefaultPartitioner" in told
    with pytest.raises(PartitionerConfigError, match="got one with DefaultPartitioner"):
        producer.set_split("t", {"a": 1.0})


def test_outstanding_windows_make_a_partition_less_likely():
    producer = producer_of()
    for _ in range(200):
        producer.send("t", VALUE)
    ledger = producer.partitioner.topics.by_name["t"].ledger
    waiting = ledger.load(0).windows
    assert sum(waiting.values()) == counters(producer).switches["twice-size"]
    for _, future in producer.sent:
        future.success(None)
    assert ledger.load(0).windows == {}
    assert counters(producer).windows_acknowledged == sum(waiting.values())


def test_a_late_leader_is_left_out_and_tried_again():
    now = [0]
    producer = producer_of(now, partitioner_availability_timeout_ms=100, client_rack="b")

    def sent(count):
        return {producer.send("t", VALUE).partition for _ in range(count)}

    assert sent(1) <= {1, 4}
    now[0] = 102
    assert sent(20) <= {0, 2, 3, 5}
    assert counters(producer).exclusions == 1
    assert counters(producer).fallbacks["local-excluded"] > 0
    for chosen, future in producer.sent:
        if chosen in {0, 2, 3, 5}:
            future.success(None)
    now[0] = 150
    producer.sent[0][1].success(None)
    assert sent(20) & {1, 4}
    assert counters(producer).readmissions == 1


def test_an_error_that_tells_of_another_leader_makes_the_view_stale():
    producer = producer_of(partitioner_availability_timeout_ms=100)
    producer.send("t", VALUE)
    steering = producer.partitioner.topics.by_name["t"]
    assert not steering.is_stale
    producer.sent[0][1].failure(NotLeaderForPartitionError())
    assert steering.is_stale


def test_what_the_client_refuses_is_the_callers_and_is_counted():
    producer = producer_of(partitioner_availability_timeout_ms=100)
    producer.refusal = KafkaTimeoutError("full")
    for _ in range(10):
        with pytest.raises(KafkaTimeoutError, match="full"):
            producer.send("t", VALUE)
    with pytest.raises(KafkaTimeoutError, match="full"):
        producer.send("t", VALUE, key=b"k")
    assert counters(producer).refused_records == 10
    ledger = producer.partitioner.topics.by_name["t"].ledger
    assert ledger.load(0).windows == {}
    assert ledger.next_deadline_ms is None


def test_an_explicit_partition_is_the_callers_and_is_counted_apart():
    producer = producer_of()
    producer.send("t", VALUE)
    assert producer.send("t", VALUE, partition=1).partition == 1
    found = producer.counters()["t"]
    assert (found.steered.local_bytes, found.unsteered.cross_bytes) == (SIZE, SIZE)


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.name.startswith("rackwise")]


def test_a_split_is_kept_and_grows_old(caplog):
    now = [0]
    producer = producer_of(now, batch_size=112, partitioner_ignore_keys=True)
    even = {"a": 2.0, "b": 2.0, "c": 2.0}
    producer.set_split("t", {"a": 0.0, "b": 1.0}, weights=even, valid_for_ms=100)

    def sent(count):
        return {producer.send("t", VALUE, key=b"").partition for _ in range(count)}

    assert sent(10) <= {1, 4}
    assert counters(producer).fallbacks == {}
    now[0] = 101
    assert sent(10) <= {1, 4}
    assert counters(producer).fallbacks["stale-split"] >= 8
    (told,) = warnings(caplog)
    assert told.startswith("stale-split: wanted a split of at most 100 ms, had one of 101 ms; run")
    now[0] = 500
    sent(2)
    assert sent(10) <= {0, 3}


def test_a_split_for_other_leaders_is_stale_at_once(caplog):
    producer = producer_of(batch_size=112)
    producer.set_split("t", {"b": 1.0}, weights={"a": 1.0, "b": 2.0})
    for _ in range(6):
        assert producer.send("t", VALUE).partition in {1, 4}
    assert set(counters(producer).fallbacks) == {"stale-split"}
    (told,) = warnings(caplog)
    assert "wanted a split for leaders a 2, b 2, c 2, had one for a 1, b 2" in told
    producer.set_split("t", None)
    for _ in range(6):
        producer.send("t", VALUE)
    assert producer.sent[-1][0] in {0, 3}


def test_a_split_whose_rack_leads_nothing_gives_way():
    inner = client(sticky_bytes=112)
    inner.partitioner.set_split("t", {"z": 1.0})
    assert {inner.ask() for _ in range(20)} == {0, 3}
    assert set(counters(inner).fallbacks) == {"split-rack-unavailable"}


def test_shares_that_are_none_are_refused_before_any_record():
    with pytest.raises(SplitError, match="expected a sum of 1"):
        client().partitioner.set_split("t", {"a": 0.5})
    with pytest.raises(PartitionerConfigError):
        client(semantics="upstream").partitioner.set_split("t", {"a": 1.0})


def test_upstream_weighs_nothing_until_every_partition_had_a_record():
    producer = producer_of(rackwise_semantics="upstream", partitioner_rack_aware=False)
    for _ in range(200):
        producer.send("t", VALUE)
    found = counters(producer)
    assert found.records == 200
    assert producer.partitioner.topics.failures.last is None


def test_a_key_that_is_serialized_to_none_leaves_no_window_behind():
    producer = producer_of()
    ask = producer.ask
    producer.ask = lambda value, _key, topic: ask(value, None, topic)
    for _ in range(30):
        producer.send("t", VALUE, key="")
        producer.sent[-1][1].success(None)
    steering = producer.partitioner.topics.by_name["t"]
    assert steering.ends == []
    assert steering.ledger.load(0).windows == {}
    assert counters(producer).windows_acknowledged > 0
