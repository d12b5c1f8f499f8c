"""The wrapper of confluent-kafka: what is the caller's stays the caller's, what fails is ours."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_traffic import until
from mock_cluster import MockCluster
from rackwise.adapters.clients.confluent.aio import RackAwareAIOProducer
from rackwise.adapters.clients.confluent.producer import RackAwareProducer
from rackwise.adapters.clients.confluent.statistics import AwayNodes, BrokerState, read_statistics
from rackwise.adapters.clients.confluent.steered_client import size_of
from rackwise.adapters.clients.confluent.views import FIRST_S
from rackwise.adapters.clients.rack_source import fixed_racks
from rackwise.adapters.clients.steering import Steering
from rackwise.core.errors import InvalidRack, RackSourceError, ViewError
from rackwise.core.partitioner import PartitionerConfig

RACKS = {1: "a", 2: "b"}
VALUE = bytes(100)
SIZE = len(VALUE) + 12


@pytest.fixture(scope="module")
def cluster():
    with MockCluster(RACKS.values()) as made:
        made.topic("t", partitions=4)
        yield made


@pytest.fixture
def make(cluster):
    """A producer with these settings of librdkafka; closed after the test."""
    opened = []

    def made(conf=None, racks=None, **told):
        settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, **(conf or {})}
        config = PartitionerConfig(**{"rack_aware": True, "rack": "a", "sticky_bytes": 300, **told})
        opened.append(RackAwareProducer(settings, config, racks=racks or fixed_racks(RACKS)))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


class Heard(list):
    """A delivery callback that keeps what it is told."""

    def __call__(self, error, message):
        self.append((error, message.partition()))


def test_the_callers_callbacks_are_called_for_every_record(make):
    default, own = Heard(), Heard()
    producer = make({"on_delivery": default})
    for _ in range(50):
        producer.produce("t", VALUE)
        producer.produce("t", VALUE)
        producer.produce("t", VALUE, on_delivery=own)
        producer.produce("t", VALUE, callback=own)
    assert producer.flush(30) == 0
    assert (len(default), len(own)) == (100, 100)
    assert {partition for _, partition in default + own} == {0, 2}
    assert producer.counters()["t"].windows_acknowledged == 200 // 3


@pytest.mark.parametrize("has_lock", [True, False], ids=["global lock", "no global lock"])
def test_threads_count_each_record_once_also_within_a_window(make, monkeypatch, has_lock):
    if not has_lock:
        monkeypatch.setattr("rackwise.adapters.clients.confluent.producer.HAS_GLOBAL_LOCK", False)
        monkeypatch.setattr(Steering, "open_room", None)
    producer = make(sticky_bytes=1000, backlog_cap_windows=0)
    producer.produce("t", VALUE)
    threads = [
        threading.Thread(target=lambda: [producer.produce("t", VALUE) for _ in range(1000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = producer.counters()["t"]
        assert found.local_bytes == found.records * SIZE
    for thread in threads:
        thread.join()
    found = producer.counters()["t"]
    assert found.records == 4001
    assert found.local_bytes == 4001 * SIZE
    assert producer.topics.failures.last is None


def test_all_else_is_the_clients(make):
    producer = make()
    assert producer.list_topics("t", timeout=10).topics["t"].error is None
    assert producer.poll(0) == 0


def test_a_callback_that_raises_raises_where_the_caller_polls(make):
    def broken(_error, _message):
        raise ArithmeticError

    producer = make()
    for _ in range(2):
        producer.produce("t", VALUE)
    producer.produce("t", VALUE, on_delivery=broken)
    with pytest.raises(ArithmeticError):
        until(lambda: producer.poll(1) and False, "the callback")
    assert producer.counters()["t"].windows_acknowledged == 1


def test_a_full_queue_is_the_callers_and_counts_nothing(make):
    told = {"queue.buffering.max.messages": 5, "linger.ms": 60_000}
    producer = make(told, availability_timeout_ms=1000, sticky_bytes=10**6)
    for _ in range(5):
        producer.produce("t", VALUE)
    before = producer.counters()["t"]
    for _ in range(3):
        with pytest.raises(BufferError):
            producer.produce("t", VALUE)
    assert producer.counters()["t"] == before
    assert len(producer) == 5
    assert producer.topics.failures.last is None


def test_a_full_queue_at_the_end_of_a_window_leaves_no_window_behind(make):
    producer = make({"queue.buffering.max.messages": 2, "linger.ms": 60_000})
    producer.produce("t", VALUE)
    producer.produce("t", VALUE)
    with pytest.raises(BufferError):
        producer.produce("t", VALUE)
    steering = producer.topics.by_name["t"]
    assert steering.ledger.load(0).windows == {}
    assert steering.choice.window_bytes == 224


def test_a_full_queue_at_the_start_of_a_window_leaves_no_mark_behind(make):
    told = {"queue.buffering.max.messages": 2, "linger.ms": 60_000}
    producer = make(told, availability_timeout_ms=1000)
    for _ in range(2):
        producer.produce("t", VALUE, partition=1)
    for _ in range(2):
        with pytest.raises(BufferError):
            producer.produce("t", VALUE)
    steering = producer.topics.by_name["t"]
    assert steering.due_ms is steering.ledger.next_deadline_ms is None
    producer.flush(30)
    producer.produce("t", VALUE)
    assert steering.ledger.next_deadline_ms is not None


def test_what_librdkafka_refuses_is_the_callers(make):
    producer = make()
    with pytest.raises(TypeError):
        producer.produce("t", 7)
    with pytest.raises(KafkaException):
        producer.produce("t", bytes(2_000_000))


def test_keyed_and_placed_records_are_counted_apart(make):
    producer, heard = make(), Heard()
    producer.produce("t", VALUE)
    for number in range(20):
        producer.produce("t", VALUE, key=f"key-{number}", on_delivery=heard)
    producer.produce("t", VALUE, partition=1)
    producer.produce("t", VALUE, key=b"")
    assert producer.flush(30) == 0
    found = producer.counters()["t"]
    local = sum(partition in {0, 2} for _, partition in heard)
    assert found.steered.records == 1
    assert found.unsteered.records == 22
    assert found.unsteered.unknown_bytes == 112
    assert local * 117 <= found.unsteered.local_bytes <= local * 118


def test_an_ignored_key_is_steered(make):
    producer, heard = make(ignore_keys=True), Heard()
    for number in range(20):
        producer.produce("t", VALUE, key=str(number), on_delivery=heard)
    producer.flush(30)
    assert {partition for _, partition in heard} == {0, 2}


def test_a_topic_whose_leaders_are_unknown_is_left_to_librdkafka(make):
    producer = make()
    producer.topics.met = None
    for _ in range(10):
        producer.produce("t", VALUE)
    assert producer.flush(30) == 0
    assert isinstance(producer.topics.failures.last, TypeError)
    assert producer.counters() == {}


def test_a_source_that_fails_is_asked_again_and_leaves_the_last_answer(make, caplog):
    def silent():
        raise OSError("nobody")

    producer = make(racks=silent)
    for _ in range(10):
        producer.produce("t", VALUE)
    assert producer.flush(30) == 0
    assert isinstance(producer.topics.failures.last, RackSourceError)
    assert "fixed_racks" in producer.topics.failures.last.hint
    (line,) = caplog.messages
    assert line.startswith("the source of the brokers' racks failed: nobody; ")
    answers = iter([RACKS])
    producer = make({"topic.metadata.refresh.interval.ms": 50}, racks=lambda: next(answers))
    producer.produce("t", VALUE)
    until(lambda: producer.topics.failures.count > 2, "the source to fail")
    heard = Heard()
    for _ in range(20):
        producer.produce("t", VALUE, on_delivery=heard)
    producer.flush(30)
    assert {partition for _, partition in heard} == {0, 2}


def test_leaders_and_brokers_away_come_with_statistics(make, cluster):
    cluster.topic("moved", partitions=4)
    heard = []
    producer = make(
        {"statistics.interval.ms": 50, "stats_cb": heard.append, "error_cb": heard.append}
    )
    producer.produce("moved", VALUE)
    until(lambda: producer.poll(0.1) or len(heard) > 2, "statistics")
    assert producer.topics.failures.last is None
    assert producer.topics.by_name["moved"].view.leaders == (1, 2, 1, 2)


def test_fixed_racks_are_racks():
    with pytest.raises(InvalidRack):
        fixed_racks({1: "/a//b"})


def test_a_producer_that_is_let_go_is_gone_with_its_thread(cluster):
    config = PartitionerConfig()
    settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    producer = RackAwareProducer(settings, config, racks=fixed_racks(RACKS))
    gone = weakref.ref(producer)
    producer.flush()
    del producer
    gc.collect()
    assert gone() is None


STATISTICS = """{"topics": {"t": {"partitions": {"0": {"leader": 2}, "-1": {"leader": -1}}}},
"brokers": {"a": {"nodeid": 1, "state": "DOWN", "stateage": 5000000}, "b": {"nodeid": -1}}}"""


def test_statistics_are_read():
    found = read_statistics(STATISTICS)
    assert found.leaders == {"t": {0: 2}}
    assert found.brokers == {1: BrokerState("DOWN", 5000)}


@pytest.mark.parametrize(
    "text", ['{"topics": 1}', "{}", "[", '{"topics": {}, "brokers": {"a": 1}}']
)
def test_statistics_that_are_none_are_refused(text):
    with pytest.raises(ViewError):
        read_statistics(text)


def test_a_broker_is_away_after_the_timeout_until_it_is_there_or_long_unasked():
    away = AwayNodes(100)
    steps = [
        (BrokerState("UP", 10), 0, set()),
        (BrokerState("DOWN", 0), 50, set()),
        (BrokerState("TRY_CONNECT", 20), 120, set()),
        (BrokerState("CONNECT", 0), 151, {1}),
        (BrokerState("INIT", 50), 200, {1}),
        (BrokerState("INIT", 150), 300, set()),
        (BrokerState("DOWN", 200), 400, {1}),
        (BrokerState("UP", 0), 500, set()),
    ]
    before = set()
    for state, now_ms, wanted in steps:
        assert away.look({1: state}, now_ms) == (wanted != before)
        assert away.nodes() == wanted
        before = wanted
    assert not AwayNodes(0).look({1: BrokerState("DOWN", 10**6)}, 0)


def test_sizes_are_of_bytes():
    assert size_of(None, None, None) == 12
    assert size_of("äb", b"k", {"h": b"12", "n": None}) == 12 + 3 + 1 + 4
    assert size_of(b"x", "ö", [("h", "ü")]) == 12 + 1 + 2 + 3


def test_errors_of_leaders_make_the_producer_look_again(make):
    producer = make()
    producer.produce("t", VALUE)
    producer.flush(30)
    steering = producer.topics.by_name["t"]
    before = steering.view
    producer.delivered(steering, [], KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    assert producer.topics.failures.last is None
    assert steering.view == before


def test_reports_of_errors_alone_close_no_partition(make):
    producer, heard = make({"delivery.report.only.error": True}, backlog_cap_windows=2), Heard()
    for _ in range(30):
        producer.produce("t", VALUE, on_delivery=heard)
    assert producer.flush(30) == 0
    found = producer.counters()["t"]
    assert found.local_bytes == found.total_bytes == 30 * 112
    assert (found.fallbacks, found.windows_acknowledged, heard) == ({}, 0, [])


@pytest.mark.parametrize("polls", ["poll", "flush"])
def test_a_callback_that_raises_does_not_raise_where_a_record_was_taken(make, polls):
    producer, told = make(), []

    def broken(_error, message):
        told.append(message.partition())
        if len(told) == 1:
            raise ArithmeticError

    until(lambda: producer.produce("t", VALUE, on_delivery=broken) or told, "a window's end")
    with pytest.raises(ArithmeticError):
        getattr(producer, polls)(timeout=0)


def test_a_topic_is_met_once_by_all_threads(make, cluster):
    cluster.topic("met", partitions=4)
    producer, together = make(sticky_bytes=10**6), threading.Barrier(4)

    def write():
        together.wait(30)
        for _ in range(50):
            producer.produce("met", VALUE)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert producer.flush(30) == 0
    assert producer.topics.failures.last is None
    assert producer.counters()["met"].records == 200


def test_a_first_record_holds_no_lock_while_callbacks_run():
    mine, is_told, is_over, done = threading.Lock(), threading.Event(), threading.Event(), []

    def hear(_error):
        is_told.set()
        time.sleep(0.1)
        with mine:
            pass

    conf = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "error_cb": hear}
    producer = RackAwareProducer(conf, client_rack="a", racks=lambda: is_over.wait(30) and RACKS)

    def first():
        producer.produce("t", VALUE)
        done.append("t")

    def second():
        is_told.wait(30)
        with mine:
            producer.produce("u", VALUE)
        done.append("u")

    threads = [threading.Thread(target=each, daemon=True) for each in (first, second)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(FIRST_S * 3)
    assert sorted(done) == ["t", "u"]
    producer.purge()
    producer.close()
    is_over.set()


@pytest.mark.parametrize(("first", "calls"), [(RACKS, 1), ({1: "a"}, 2)])
def test_while_leaders_move_racks_are_asked_for_only_where_one_is_unknown(
    make, cluster, first, calls
):
    topic, asked = f"led-{calls}", []
    cluster.topic(topic, partitions=2)

    def racks():
        asked.append(topic)
        return first if len(asked) == 1 else RACKS

    producer = make(racks=racks)
    producer.produce(topic, VALUE)
    steering = producer.topics.by_name[topic]
    cluster.leader(topic, 0, 2)
    producer.delivered(steering, [], KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    until(lambda: steering.view.leaders == (2, 2), "the new leader")
    cluster.leader(topic, 1, 1)
    until(lambda: steering.view.leaders == (2, 1), "the next leader")
    assert len(asked) == calls
    assert calls == 1 or steering.view.racks == RACKS


def test_a_batch_is_divided_into_windows_and_counted_as_queued(make):
    producer, heard, own = make(), Heard(), Heard()
    messages = [{"value": VALUE} for _ in range(7)]
    messages += [{"value": VALUE, "key": b"k"}, {"value": VALUE, "partition": 1}]
    messages += [{"value": VALUE, "callback": own}, {"value": bytes(2_000_000)}]
    before = [dict(each) for each in messages]
    assert producer.produce_batch("t", messages, on_delivery=heard) == 10
    assert producer.flush(30) == 0
    assert messages[:-1] == before[:-1]
    assert messages[-1]["_error"].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert (len(heard), len(own)) == (9, 1)
    found = producer.counters()["t"]
    assert (found.steered.records, found.unsteered.records) == (8, 2)
    assert found.steered.local_bytes == 8 * SIZE
    assert found.windows_acknowledged == 8 // 3
    assert producer.topics.by_name["t"].ledger.load(0).windows == {}


def test_a_full_queue_leaves_the_rest_of_a_batch_to_the_caller(make):
    told = {"queue.buffering.max.messages": 4, "linger.ms": 60_000}
    producer, messages = make(told), [{"value": VALUE} for _ in range(9)]
    assert producer.produce_batch("t", messages) == 4
    assert producer.counters()["t"].records == 4
    assert producer.flush(30) == 0
    rest = [each for each in messages if "_error" in each]
    assert producer.produce_batch("t", rest[:4]) == 4
    assert "_error" not in rest[0]
    assert producer.counters()["t"].records == 8


def test_a_batch_with_marked_first_records_counts_each_record_once(make):
    producer = make(availability_timeout_ms=10_000)
    assert producer.produce_batch("t", [{"value": VALUE} for _ in range(9)]) == 9
    assert producer.flush(30) == 0
    assert producer.counters()["t"].windows_acknowledged == 3
    assert producer.topics.by_name["t"].ledger.next_deadline_ms is None


def test_a_batch_that_librdkafka_rejects_is_the_callers(make):
    producer = make()
    for messages in ([{"value": 7}], [7], ({"value": VALUE},)):
        with pytest.raises(TypeError):
            producer.produce_batch("t", messages)
    assert producer.flush(30) == 0


class Traced(Producer):
    """A subclass of somebody else."""

    traced = ()

    def produce(self, topic, *told, **named):
        self.traced += (topic,)
        return super().produce(topic, *told, **named)


class TracedAfter(RackAwareProducer, Traced):
    """Rack-aware first."""


class TracedBefore(Traced, RackAwareProducer):
    """Rack-aware last."""


@pytest.mark.parametrize("mixed", [TracedAfter, TracedBefore])
def test_another_subclass_becomes_rack_aware(cluster, mixed):
    conf = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "batch.size": 300}
    with mixed(conf, client_rack="a", racks=fixed_racks(RACKS)) as producer:
        for _ in range(10):
            producer.produce("t", VALUE)
    assert producer.traced == ("t",) * 10
    assert producer.counters()["t"].local_bytes == 10 * SIZE


@pytest.fixture
def run_aio(cluster):
    """Run a coroutine function with an AIOProducer."""

    def run(use, racks=None, **conf):
        async def main():
            settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "batch.size": 300}
            async with RackAwareAIOProducer(
                settings | conf, client_rack="a", racks=racks or fixed_racks(RACKS)
            ) as producer:
                await use(producer)
            return producer

        return asyncio.run(main())

    return run


def test_a_coroutine_counts_what_it_places_and_what_its_key_places(run_aio):
    async def use(producer):
        deliveries = await asyncio.gather(*(producer.produce("t", VALUE) for _ in range(9)))
        deliveries += [await producer.produce("t", VALUE, b"k")]
        deliveries += [await producer.produce("t", VALUE, partition=1)]
        with pytest.raises(NotImplementedError, match="Headers are not supported in AIOProducer"):
            await producer.produce("t", VALUE, headers={"h": b"1"})
        await producer.flush()
        places = [each.partition() for each in await asyncio.gather(*deliveries)]
        assert set(places[:9]) <= {0, 2}
        assert places[10] == 1

    producer = run_aio(use)
    found = producer.counters()["t"]
    assert (found.steered.records, found.unsteered.records) == (10, 2)
    assert (found.refused_records, found.windows_acknowledged) == (1, 3)
    assert producer.topics.failures.last is None


def test_a_coroutine_hears_of_a_record_that_is_not_delivered(run_aio, cluster):
    cluster.topic("gone", partitions=2)

    async def use(producer):
        await (await produced(producer))
        cluster.down(1)
        try:
            late = [await produced(producer) for _ in range(3)]
            await producer.flush()
            for each in late:
                assert isinstance(each.exception(), KafkaException)
        finally:
            cluster.up(1)

    async def produced(producer):
        delivery = await producer.produce("gone", VALUE)
        if not producer.counters()["gone"].switches:
            await producer.flush()
        return delivery

    found = run_aio(use, **{"message.timeout.ms": 500}).counters()["gone"]
    assert found.windows_failed == 1


@pytest.mark.parametrize("error", [RuntimeError("no new futures"), KafkaException()])
def test_a_window_that_fails_with_any_error_leaves_its_partition_usable(run_aio, error):
    async def use(producer):
        await (await produced(producer))
        steering = producer.topics.by_name["t"]
        for _ in range(70):
            with steering.lock:
                steering.steer(1000)
                marks = steering.take_marks()
            future = asyncio.get_running_loop().create_future()
            future.set_exception(error)
            producer._completed(steering, marks, future)
        assert steering.ledger.load(0).windows == {}

    async def produced(producer):
        delivery = await producer.produce("t", bytes(1000))
        await producer.flush()
        return delivery

    producer = run_aio(use)
    assert producer.topics.failures.last is None
    assert producer.counters()["t"].windows_failed == 70


def test_statistics_and_errors_reach_the_callers_coroutines(run_aio):
    heard = []

    async def hear(told):
        heard.append(told)

    async def use(producer):
        await producer.produce("t", VALUE)
        await producer.flush()
        while not heard:
            await producer.poll(0.1)
        await producer._on_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    run_aio(use, **{"statistics.interval.ms": 50, "stats_cb": hear, "error_cb": hear})
    assert isinstance(heard[0], str)
    assert isinstance(heard[-1], KafkaError)


KEYED = [
    lambda producer: producer.produce("t", VALUE, key=b"k"),
    lambda producer: producer.produce("t", VALUE, partition=0),
    lambda producer: producer.produce_batch("t", [{"value": VALUE, "key": b"k"}]),
]


@pytest.fixture
def long_first_wait(monkeypatch):
    """What waits for leaders waits a minute; seconds are no sign of it on a busy machine."""
    monkeypatch.setattr("rackwise.adapters.clients.confluent.views.FIRST_S", 60.0)
    return 60.0


@pytest.mark.parametrize("write", KEYED, ids=["key", "partition", "batch"])
def test_records_that_are_not_steered_do_not_wait_but_ask_for_leaders(make, write, long_first_wait):
    goes_on = threading.Event()

    def late():
        goes_on.wait(long_first_wait)
        return RACKS

    producer, begun = make(racks=late), time.monotonic()
    write(producer)
    assert time.monotonic() - begun < long_first_wait / 2
    assert producer.counters() == {}
    goes_on.set()
    until(producer.counters, "the leaders")
    write(producer)
    assert producer.counters()["t"].unsteered.records == 1


def test_a_coroutine_that_is_not_steered_does_not_wait(run_aio, long_first_wait):
    goes_on = threading.Event()

    async def use(producer):
        begun = time.monotonic()
        await producer.produce("t", VALUE, b"k")
        await producer.produce("t", VALUE, partition=1)
        assert time.monotonic() - begun < long_first_wait / 2
        assert not producer.topics.failures.count
        goes_on.set()

    def late():
        goes_on.wait(long_first_wait)
        return RACKS

    run_aio(use, racks=late)


@pytest.fixture
def no_second_client(monkeypatch):
    """Any second client fails."""
    for name in ("AdminClient", "LeaderViews"):
        monkeypatch.setattr(f"rackwise.adapters.clients.confluent.steered_client.{name}", None)


SILENT = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "statistics.interval.ms": 50}


def assert_one_warning_names_the_option(caplog):
    (line,) = caplog.messages
    assert line.startswith("custom-partitioner: wanted no option partitioner, ")
    assert line.endswith(", had murmur2; leave the option partitioner out")


@pytest.mark.usefixtures("no_second_client")
def test_with_a_custom_partitioner_the_client_is_alone(caplog, long_first_wait):
    heard = []
    conf = {**SILENT, "partitioner": "murmur2", "stats_cb": heard.append}
    producer, begun = RackAwareProducer(conf, client_rack="a"), time.monotonic()
    for topic in ("t", "u"):
        producer.produce(topic, VALUE)
        producer.produce(topic, VALUE, partition=0)
        assert producer.produce_batch(topic, [{"value": VALUE}]) == 1
    assert time.monotonic() - begun < long_first_wait / 2
    until(lambda: producer.poll(0.1) or heard, "statistics")
    assert producer.counters() == {}
    assert producer.topics.failures.last is None
    producer.purge()
    producer.close()
    assert_one_warning_names_the_option(caplog)


@pytest.mark.usefixtures("no_second_client")
def test_with_a_custom_partitioner_a_coroutine_does_not_wait(caplog, long_first_wait):
    async def main():
        conf = {**SILENT, "partitioner": "murmur2"}
        async with RackAwareAIOProducer(conf, client_rack="a") as producer:
            begun = time.monotonic()
            await producer.produce("t", VALUE)
            assert time.monotonic() - begun < long_first_wait / 2
            assert producer.topics.failures.last is None
            await producer.purge()

    asyncio.run(main())
    assert_one_warning_names_the_option(caplog)


def test_a_partitioner_class_among_the_options_is_named_as_such(caplog):
    conf = {**SILENT, "partitioner.class": "com.example.Mine"}
    RackAwareProducer(conf, client_rack="a").close()
    (line,) = caplog.messages
    assert line.endswith("had com.example.Mine; leave partitioner.class out")


def test_an_error_that_nobody_hears_is_logged(make, caplog):
    make()._on_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    (line,) = caplog.messages
    assert line.startswith("librdkafka: ")


def test_a_first_record_does_not_wait_for_brokers_that_refuse(long_first_wait):
    conf = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    begun = time.monotonic()
    with RackAwareProducer(conf, client_rack="a") as producer:
        for topic in ("t", "u"):
            producer.produce(topic, VALUE)
        assert time.monotonic() - begun < long_first_wait / 2
        assert producer.counters() == {}
        producer.purge()


def test_a_lost_record_that_no_coroutine_awaits_is_logged(run_aio, cluster):
    cluster.topic("lost", partitions=2)
    heard = []

    async def use(producer):
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: heard.append(context["message"])
        )
        await (await producer.produce("lost", VALUE))
        cluster.down(1)
        try:
            for _ in range(6):
                await producer.produce("lost", VALUE)
            await producer.flush()
        finally:
            cluster.up(1)
        await asyncio.to_thread(until, lambda: gc.collect() >= 0 and len(heard) == 6, "six lines")

    found = run_aio(use, **{"message.timeout.ms": 500}).counters()["lost"]
    assert found.windows_failed >= 1
    assert heard == ["Future exception was never retrieved"] * 6
