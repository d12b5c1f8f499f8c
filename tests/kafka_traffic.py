"""Real topics, bytes and consumers, made with kafka-python on a cluster of the sandbox."""

from __future__ import annotations

from contextlib import contextmanager

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataRequest

from rackwise.adapters.kafka import read_cluster
from rackwise.adapters.kafka.connect import send_to_each
from rackwise.adapters.sandbox.ready import wait_until_true

PATIENCE_S = 30.0
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def until(condition, what, timeout_s=PATIENCE_S):
    """Wait for a condition; the failure names `what` was waited for."""
    if not wait_until_true(condition, timeout_s):
        message = f"waited {timeout_s:.0f} s for {what}"
        raise AssertionError(message)


def first(ask, is_wanted, what):
    """The first answer that satisfies `is_wanted`; a broker that is behind may answer earlier."""
    answers = []
    until(lambda: answers.append(ask()) or is_wanted(answers[-1]), what)
    return answers[-1]


def described_topic(admin, name):
    """A new topic with its configs, as `read_cluster` gives it.

    One broker knows a topic when its creation returns; another one may be asked next, and leaves
    the topic or its configs out until it knows them as well.
    """

    def read():
        topics = read_cluster(admin, taken_at="2026-11-01T00:00:00Z", topics=(name,)).topics
        return topics.get(name)

    return first(
        read,
        lambda topic: topic is not None and topic.min_insync_replicas is not None,
        f"the configs of {name} to be described",
    )


def create(admin, name, placement, **configs):
    """Create a topic with partition i on `placement[i]`; `min_insync_replicas="2"` is a config."""
    admin.create_topics(
        [
            NewTopic(
                name,
                replica_assignments=dict(enumerate(placement)),
                topic_configs={key.replace("_", "."): value for key, value in configs.items()},
            )
        ]
    )
    replicas = sum(map(len, placement))
    until(lambda: _is_served(admin, name, replicas), f"{name} to be served")


def delete(admin, name):
    """Delete a topic if it exists, and wait until its name is free; brokers show that too early.

    A client that is still closing may ask for the topic once more, and brokers then create it
    again.
    """
    until(lambda: _is_free(admin, name), f"{name} to be free")


def _is_free(admin, name):
    try:
        return _is_gone(admin, name)
    except KafkaError:  # the client learns a moment later of a broker that has restarted
        return False


def _is_gone(admin, name):
    if name in admin.list_topics():
        admin.delete_topics([name], raise_errors=False)
        return False
    size = {name: {"num_partitions": 1, "replication_factor": 1}}
    answer = admin.create_topics(size, validate_only=True, raise_errors=False)
    return not answer["topics"][0]["error_code"]


def _is_served(admin, name, replicas):
    """Whether all replicas are in sync and have a log on disk, and each broker knows the topic."""
    (topic,) = admin.describe_topics([name])
    found = topic["partitions"]
    in_sync = sum(len(each["isr_nodes"]) for each in found if not each["error_code"])
    logs = sum(
        len(of_topic["partitions"])
        for broker in admin.describe_log_dirs({name: [each["partition_index"] for each in found]})
        for log_dir in broker["log_dirs"]
        for of_topic in log_dir["topics"]
    )
    return in_sync == logs == replicas and _knowledge(admin, name) == {replicas}


def _knowledge(admin, name):
    """How many replicas in sync the brokers know of; brokers that answer may not agree yet."""
    return {_in_sync(topics) for topics in topic_by_each_broker(admin, name)}


def topic_by_each_broker(admin, name):
    """The topic as each broker that answers describes it: a list with it, or none."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )
    brokers = [each["broker_id"] for each in admin.describe_cluster()["brokers"]]
    answers = send_to_each(admin, dict.fromkeys(brokers, request)).values()
    return [each.topics for each in answers if not isinstance(each, KafkaError)]


def replicas_by_each_broker(admin, name):
    """Each (partition, list of replicas) of the topic that any of the brokers describes."""
    return {
        (row.partition_index, tuple(row.replica_nodes))
        for topics in topic_by_each_broker(admin, name)
        for found in topics
        for row in found.partitions or ()
    }


def _in_sync(topics):
    rows = (row for topic in topics for row in topic.partitions or ())
    return sum(len(row.isr_nodes) for row in rows if not row.error_code)


@contextmanager
def producer(bootstrap, **options):
    """A producer without compression, with acks from all."""
    made = KafkaProducer(
        bootstrap_servers=bootstrap.split(","), acks="all", compression_type=None, **options
    )
    try:
        yield made
    finally:
        made.close()


def produce(bootstrap, records, size=1000):
    """Write `records[topic, partition]` records of `size` bytes each; wait for all acks."""
    with producer(bootstrap, linger_ms=20) as sender:
        pending = [
            sender.send(topic, partition=partition, value=bytes(i % 251 for i in range(size)))
            for (topic, partition), count in sorted(records.items())
            for _ in range(count)
        ]
        for each in pending:
            each.get(timeout=PATIENCE_S)


class RackRangeAssignor(RangePartitionAssignor):
    """Range with the member's rack in its subscription (KIP-881), which kafka-python leaves out."""

    rack = None

    @classmethod
    def metadata(cls, topics):
        return ConsumerProtocolSubscription(
            topics=sorted(topics), user_data=b"", rack_id=cls.rack, version=3
        )


@contextmanager
def consumer(bootstrap, group, topics, *, client_id, rack=None):
    """A running group member with its partitions; with a rack it fetches from that rack."""
    options = {}
    if rack is not None:
        assignor = type("Assignor", (RackRangeAssignor,), {"rack": rack})
        options = {"client_rack": rack, "partition_assignment_strategy": [assignor]}
    made = KafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        client_id=client_id,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **options,
    )
    try:
        # kafka-python begins a join anew that ends between two polls: they have to be long
        joined = lambda: bool(made.poll(timeout_ms=3000, max_records=1) or made.assignment())  # noqa: E731
        until(joined, f"{client_id} to join {group}")
        yield made
    finally:
        made.close()


def read_all(member, records):
    """The bytes of record values that a consumer reads until it has so many records."""
    total = seen = 0
    while seen < records:
        for batch in member.poll(timeout_ms=1000).values():
            seen += len(batch)
            total += sum(len(record.value) for record in batch)
    return total


@contextmanager
def throttled_move(admin, topic, partition, after):
    """A reassignment that runs until the block ends: replication may copy one byte a second."""
    brokers = [str(each["broker_id"]) for each in admin.describe_cluster()["brokers"]]
    where = TopicPartition(topic, partition)
    throttled = ",".join(f"{partition}:{broker}" for broker in brokers)
    lists = dict.fromkeys(LISTS, throttled)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, lists)])
    set_rates(admin, brokers, "1")
    try:
        admin.alter_partition_reassignments({where: after})
        yield lists
    finally:
        admin.alter_partition_reassignments({where: None})
        set_rates(admin, brokers, None)
        admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, dict(lists))])
        until(lambda: where not in admin.list_partition_reassignments(), f"{where} to rest")


def set_rates(admin, brokers, rate):
    """Set or delete the replication throttle of each broker; wait until every broker shows it."""
    operation = ("DELETE", None) if rate is None else ("SET", rate)
    for broker in brokers:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.BROKER, broker, dict.fromkeys(RATES, operation))],
            raise_on_unknown=False,
        )
    until(lambda: all(_rates(admin, broker) == rate for broker in brokers), f"rate {rate}")


def _rates(admin, broker):
    found = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, broker)])
    of_broker = found["broker"][broker]
    rates = {of_broker[key]["value"] for key in RATES if key in of_broker}
    return rates.pop() if len(rates) == 1 else None


@contextmanager
def logged_requests(admin, cluster):
    """Brokers that write their request log meanwhile."""

    def set_to(level):
        for broker in cluster.brokers:
            name = ConfigResource(
                ConfigResourceType.BROKER_LOGGER, str(broker.id), {"kafka.request.logger": level}
            )
            admin.alter_configs([name])

    set_to("DEBUG")
    try:
        yield
    finally:
        set_to("INFO")
