"""All three clients on real brokers: where records go, what is counted, what is lost (nothing)."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import AdminClient
from kafka.errors import KafkaError
from kafka.partitioner import murmur2

from consumer_groups import topic_on
from kafka_traffic import until
from producers import CLIENTS, confluent, kafka_python, read_values
from rackwise.adapters.clients.rack_source import admin_racks
from rackwise.adapters.kafka import connect, leader_rack_load
from rackwise.core.partitioner import (
    PartitionerConfig,
    RackRates,
    split_by_balance,
)

THREE = [[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 4
"""Led from racks a, b, c."""
FOUR = [[0, 1, 2], [1, 2, 3], [2, 0, 1], [3, 1, 2]] * 3
"""Led from racks a, b, c, a."""
VALUE = bytes(1000)
STICKY = 4096
PATIENCE_S = 90


def config(rack="a", **told):
    return PartitionerConfig(**{"rack_aware": True, "rack": rack, "sticky_bytes": STICKY, **told})


@contextmanager
def topic(cluster, name, placement):
    with closing(connect(cluster.bootstrap)) as admin, topic_on(admin, name, placement):
        yield admin


def partitions(written):
    return {partition for partition, _ in written}


def test_only_partitions_led_from_the_own_rack_grow(cluster):
    bootstrap, local, records = cluster.bootstrap, {0, 3, 6, 9}, 0
    with topic(cluster, "near", THREE):
        for make in CLIENTS.values():
            with make(bootstrap, config(backlog_cap_windows=0)) as producer:
                written = producer.write("near", [VALUE] * 300)
                counters = producer.counters("near")
                assert producer.failures.last is None
            records += 300
            grown = read_values(bootstrap, "near", len(THREE))
            assert partitions(written) == local
            assert {partition for partition, values in grown.items() if values} == local
            assert sum(map(len, grown.values())) == records
            assert counters.records == 300
            assert counters.cross_bytes == counters.unknown_bytes == 0
            assert counters.local_bytes == pytest.approx(300 * len(VALUE), rel=0.05)


@pytest.mark.kafka
def test_the_source_says_the_racks_that_the_brokers_have(kraft_cluster):
    source = admin_racks(AdminClient({"bootstrap.servers": kraft_cluster.bootstrap}))
    assert source() == {broker.id: broker.rack.text for broker in kraft_cluster.brokers}


@pytest.mark.kafka
def test_keyed_records_go_where_kafka_python_puts_them(kraft_cluster):
    keys = [f"key-{number}".encode() for number in range(20)]
    wanted = [(murmur2(key) & 0x7FFFFFFF) % len(THREE) for key in keys]
    options = {"confluent-kafka": {"partitioner": "murmur2_random"}}
    with topic(kraft_cluster, "keyed", THREE):
        for client, make in CLIENTS.items():
            with make(kraft_cluster.bootstrap, config(), **options.get(client, {})) as producer:
                producer.write("keyed", [VALUE])
                found = [producer.write("keyed", [VALUE], key)[0][0] for key in keys]
                counters = producer.counters("keyed")
            assert found == wanted
            assert counters.unsteered.records == 20
            local = sum(partition % 3 == 0 for partition in found)
            size = 12 + len(VALUE)
            assert size * local <= counters.unsteered.local_bytes <= (size + 6) * local
            assert counters.steered.records == 1


@pytest.mark.kafka
def test_what_was_committed_is_read_and_what_was_aborted_is_not(kraft_cluster):
    bootstrap = kraft_cluster.bootstrap
    own = {
        "kafka-python": {"transactional_id": "t-kafka-python"},
        "confluent-kafka": {"transactional_id": "t-confluent"},
        "aiokafka": {"transactional_id": "t-aiokafka"},
    }
    with topic(kraft_cluster, "committed", THREE):
        for client, make in CLIENTS.items():
            with make(bootstrap, config(), **own[client]) as writer:
                run = getattr(writer, "run", lambda done: done)
                producer = writer.producer
                if client != "aiokafka":
                    producer.init_transactions()
                for end in ("commit", "abort"):
                    run(producer.begin_transaction())
                    text = f"{client}-{end}-".encode()
                    values = [text + str(number).encode() + VALUE for number in range(40)]
                    assert partitions(writer.write("committed", values)) <= {0, 3, 6, 9}
                    run(getattr(producer, f"{end}_transaction")())
        read = read_values(bootstrap, "committed", 12, isolation_level="read_committed")
    found = {value[: -len(VALUE)] for values in read.values() for value in values}
    assert found == {f"{client}-commit-{n}".encode() for client in CLIENTS for n in range(40)}


@pytest.mark.kafka
def test_a_split_is_kept_by_two_producers_who_do_not_know_of_each_other(kraft_cluster):
    """t 1, 1, 0 and weights 1, 1, 1 at eps .1: rack c gets what keeps a and b within 1.1."""
    split = split_by_balance(
        RackRates(free={"a": 1.0, "b": 1.0}, pinned={}), {"a": 1.0, "b": 1.0, "c": 1.0}, 0.1
    )
    bootstrap, per_window = kraft_cluster.bootstrap, -(-STICKY // (len(VALUE) + 12))
    with topic(kraft_cluster, "shared", THREE) as admin:
        gauge = leader_rack_load(admin, "shared", record_bytes=len(VALUE) + 12)
        assert gauge(0.0) == {"a": 0.0, "b": 0.0, "c": 0.0}
        for rack, make in (("a", kafka_python), ("b", confluent)):
            with make(bootstrap, config(rack, backlog_cap_windows=0)) as producer:
                producer.producer.set_split("shared", split.shares[rack])
                producer.write("shared", [VALUE] * (600 * per_window))
                assert producer.counters("shared").fallbacks == {}
        found = gauge(1.0)
    one = 600 * per_window * (len(VALUE) + 12)
    for rack, share in {"a": 11 / 15, "b": 11 / 15, "c": 8 / 15}.items():
        assert abs(found[rack] - share * one) <= 2 * 6 * STICKY


@contextmanager
def load(writers, name):
    """All write until the block ends; client -> values that were acknowledged."""
    acknowledged = {client: [] for client in writers}
    errors = []
    is_over = threading.Event()

    def write(client):
        number = 0
        try:
            while not is_over.is_set():
                values = [f"{client}-{number + each}".encode() for each in range(20)]
                writers[client].write(name, values)
                acknowledged[client] += values
                number += 20
                is_over.wait(0.01)
        except Exception as error:  # noqa: BLE001, told at the end
            errors.append(error)

    threads = [threading.Thread(target=write, args=(client,)) for client in writers]
    for thread in threads:
        thread.start()
    try:
        yield SimpleNamespace(acknowledged=acknowledged, errors=errors)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def grows(writers, name, condition):
    """Wait until what each client has counted since now meets a condition."""
    before = {client: writer.counters(name) for client, writer in writers.items()}
    for client, writer in writers.items():
        until(
            lambda w=writer, c=client: condition(before[c], w.counters(name)),
            f"{client} to go on",
            PATIENCE_S,
        )


def goes_on(before, now):
    return now.records >= before.records + 100


def is_cut_off(before, now):
    return now.fallbacks.get("no-local-leader", 0) > before.fallbacks.get("no-local-leader", 0) + 2


def is_local(writers, name):
    """Wait until a hundred records of each client have all gone to the own rack."""
    for client, writer in writers.items():
        state = [writer.counters(name)]

        def near(writer=writer, state=state):
            now = writer.counters(name)
            if now.cross_bytes + now.unknown_bytes > state[0].cross_bytes + state[0].unknown_bytes:
                state[0] = now
            return now.records >= state[0].records + 100

        until(near, f"{client} to write near", PATIENCE_S)


def elected(admin, name, placement):
    """Let each partition be led by its first broker again.

    An admin client whose controller was killed asks for metadata with the error it raises.
    """
    wanted = [brokers[0] for brokers in placement]

    def is_elected():
        try:
            admin.elect_leaders(0, {name: [*range(12)]}, raise_errors=False)
            (found,) = admin.describe_topics([name])
        except KafkaError:
            return False
        leaders = {each["partition_index"]: each["leader_id"] for each in found["partitions"]}
        return [leaders[number] for number in range(len(wanted))] == wanted

    until(is_elected, "preferred leaders", PATIENCE_S)


@pytest.mark.kafka
@pytest.mark.fault
@pytest.mark.long
def test_no_acknowledged_record_is_lost_with_a_leader_or_a_whole_rack(kraft_cluster):
    """SIGKILL of a leader, then of the rest of its rack, under load; both come back."""
    cluster, name = kraft_cluster, "killed"
    with ExitStack() as made, topic(cluster, name, FOUR) as admin:
        writers = {
            client: made.enter_context(make(cluster.bootstrap, config(sticky_bytes=256)))
            for client, make in CLIENTS.items()
        }
        with load(writers, name) as told:
            until(lambda: all(told.acknowledged.values()), "the first records")
            is_local(writers, name)
            cluster.kill(0)
            cluster.wait_until_gone(0)
            grows(writers, name, goes_on)
            cluster.kill(3)
            cluster.wait_until_gone(3)
            grows(writers, name, is_cut_off)
            cluster.start(0)
            cluster.start(3)
            cluster.wait_until_ready()
            elected(admin, name, FOUR)
            is_local(writers, name)
        made.close()
        assert told.errors == []
        read = read_values(cluster.bootstrap, name, len(FOUR))
    found = {value for values in read.values() for value in values}
    for client, values in told.acknowledged.items():
        assert set(values) - found == set(), client
