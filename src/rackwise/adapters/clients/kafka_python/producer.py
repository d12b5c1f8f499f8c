"""Records without a key go to leaders near the producer: KIP-1123 for kafka-python.

```python
from rackwise.kafka_python import RackAwareProducer

with RackAwareProducer(client_rack="use1-az1", bootstrap_servers="broker:9092") as producer:
    producer.send("orders", b"value")
```

`RackAwarePartitioner` is the partitioner alone, for a `KafkaProducer` that a framework creates. It
implements the KIP without load: it receives no acknowledgements. `RackAwareProducer` adds the
number of outstanding windows, and the late leaders.

kafka-python calls the partitioner twice for a record that opens a batch:

```
partition()      p      hold the record
append           there is no batch with room
on_new_batch()          drop it; a window of batch.size or more ends here
partition()      q      hold it again; the next call counts it
```

So windows end at batches, and at twice the size at the latest: KIP-794. A record whose key is
ignored gets no `on_new_batch` call.

Leaders come from the metadata that a partitioner receives. Brokers name new leaders in their
answers (KIP-951), and the client uses them without a notification. So the leader of a chosen
partition is read again.

Callbacks run on the client's threads, do no input and output, and raise nothing, with two
exceptions: a topic that the metadata does not have raises the client's own `ValueError`, and a
partitioner that already serves another producer raises `PartitionerConfigError`.

Source: KIP-794, KIP-1123; kafka-python 3.0.12, `KafkaProducer.send`.
"""

from __future__ import annotations

import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from rackwise.adapters.clients.producer_options import (
    PARTITIONER,
    check_keywords,
    checked_config,
    invalid_option,
    producer_configs,
)
from rackwise.adapters.clients.steering import NOBODY, Steering
from rackwise.adapters.clients.topics import SteeredTopics, SteersTopics
from rackwise.core.errors import MissingClientError
from rackwise.core.override import override
from rackwise.core.partitioner import PartitionerConfig, TopicView, partition_for_key
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

try:
    from kafka import KafkaProducer, TopicPartition
    from kafka.errors import (
        KafkaError,
        LeaderNotAvailableError,
        NotLeaderForPartitionError,
        UnknownTopicOrPartitionError,
    )
    from kafka.partitioner import Partitioner
except ImportError as error:
    raise MissingClientError.of("kafka-python", extra="kafka") from error

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


Theirs: TypeAlias = Any
"""Objects of kafka-python, which has no type hints."""

_STALE = (LeaderNotAvailableError, NotLeaderForPartitionError, UnknownTopicOrPartitionError)


class SteeringPartitioner(SteersTopics, Partitioner):
    """What a producer of kafka-python asks for the partition of a record. `rng`: random numbers.

    `topics`: the steered topics; `topics.failures`: errors that did not reach the client.
    """

    def __init__(self, config: PartitionerConfig, *, rng: Random | None = None) -> None:
        self.topics = SteeredTopics(config, rng=rng)
        self._ignores_keys = config.ignore_keys
        self._by_name = self.topics.by_name
        self._cluster: Theirs = None
        self._meeting = Lock()

    @override
    def partition(
        self,
        topic: str,
        key: object,  # noqa: ARG002
        serialized_key: bytes | None,
        value: object,  # noqa: ARG002
        serialized_value: bytes | None,
        cluster: Theirs,
    ) -> int:
        """The partition of a record.

        Raises `ValueError` for a topic that is not in `cluster`, and `PartitionerConfigError` for a
        second producer.
        """
        if serialized_key is None and serialized_value is not None and cluster is self._cluster:
            try:
                steering = self._by_name[topic]
                if not steering.is_stale and steering.due_ms is None:
                    size = len(serialized_value) + RECORD_OVERHEAD
                    steering.acquire()
                    try:
                        found = steering.hold(size)
                    finally:
                        steering.release()
                    if found != NOBODY:
                        return found
            except KeyError:
                pass
            except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
                return self._anywhere(topic, None, cluster, error)
        return self._partition(topic, serialized_key, serialized_value, cluster)

    def _partition(
        self,
        topic: str,
        serialized_key: bytes | None,
        serialized_value: bytes | None,
        cluster: Theirs,
    ) -> int:
        """Choose the partition of any record, also one that begins a window."""
        if cluster is not self._cluster:
            self._serve(cluster)
        try:
            steering = self._by_name.get(topic) or self._met(topic, cluster)
            size = RECORD_OVERHEAD + len(serialized_value or b"")
            if serialized_key is not None:
                if not self._ignores_keys:
                    return self._keyed(steering, topic, serialized_key, size, cluster)
                size += len(serialized_key)
            with steering.lock:
                if steering.is_stale or steering.due_ms is not None:
                    _look(steering, topic, cluster)
                found = steering.choice.defer(size, may_switch=serialized_key is not None)
                return _begun(steering, topic, found, cluster) if steering.has_drawn else found
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            return self._anywhere(topic, serialized_key, cluster, error)

    def on_new_batch(self, topic: str, cluster: Theirs, prev_partition: int) -> None:  # noqa: ARG002
        """Note that the last record opens a batch; the client calls `partition` for it again."""
        try:
            steering = self._by_name[topic]
            with steering.lock:
                if steering.choice.current == prev_partition:
                    steering.choice.new_batch()
                else:
                    steering.choice.drop()
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(error)

    def _serve(self, cluster: Theirs) -> None:
        """Serve the producer with this metadata, and no other."""
        with self._meeting:
            if self._cluster is None:
                self._cluster = cluster
                cluster.add_listener(self.topics.stale)
        if cluster is not self._cluster:
            raise invalid_option(
                PARTITIONER,
                "one for each producer",
                "one that serves another producer",
                "write partitioner=RackAwarePartitioner(config) for each KafkaProducer, or use "
                "RackAwareProducer",
            )

    def _met(self, topic: str, cluster: Theirs) -> Steering:
        """A topic's first record: earlier changes of metadata were not seen."""
        steering = self.topics.met(topic, view_of(topic, cluster))
        steering.is_stale = True
        return steering

    def _keyed(
        self,
        steering: Steering,
        topic: str,
        serialized_key: bytes,
        size: int,
        cluster: Theirs,
    ) -> int:
        """The partition of a key, among all partitions; `size`: of all parts except the key."""
        if steering.is_stale:
            with steering.lock:
                _see(steering, topic, cluster)
        found = partition_for_key(bytes(serialized_key), len(steering.view.leaders))
        with steering.lock:
            steering.choice.count_unsteered(found, size + len(serialized_key))
        return found

    def _anywhere(
        self, topic: str, serialized_key: bytes | None, cluster: Theirs, error: Exception
    ) -> int:
        """Any partition, after the choice failed."""
        known = cluster.partitions_for_topic(topic)
        if not known:
            raise ValueError(f"Topic {topic} not found in ClusterMetadata") from error
        self.topics.failed(topic, error)
        if serialized_key is not None and not self._ignores_keys:
            numbers: list[int] = sorted(known)
            return numbers[partition_for_key(bytes(serialized_key), len(numbers))]
        return self.topics.any_of(sorted(cluster.available_partitions_for_topic(topic) or known))


class RackAwarePartitioner(SteeringPartitioner):
    """For `KafkaProducer(partitioner=...)`, one object for each producer. `rng`: random numbers.

    Raises `PartitionerConfigError` for a configuration that is none, or has a rack and is not
    rack-aware.
    """

    def __init__(self, config: PartitionerConfig, *, rng: Random | None = None) -> None:
        super().__init__(checked_config(config), rng=rng)


class RackAwareProducer(SteersTopics, KafkaProducer):
    """A `KafkaProducer` whose records without a key go to leaders near `client_rack`.

    `configs`: the options of KafkaProducer, and those of the partitioner by Kafka's names, or with
    `_` for `.`, such as `partitioner_ignore_keys`. Windows have the size of `batch_size`. With the
    option `partitioner`, that partitioner chooses alone. `rng`: random numbers; `clock`: seconds,
    monotonic. `topics.failures`: errors that did not reach the client. Raises `InvalidConfig`
    without a rack, and `PartitionerConfigError` for an unknown option or an invalid value.
    """

    def __init__(
        self,
        *given: Never,
        client_rack: str | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        **configs: Theirs,
    ) -> None:
        self.config = dict(self.DEFAULT_CONFIG)  # the client's `__del__` reads it
        check_keywords(given, "rackwise.kafka_python")
        if isinstance(configs.get(PARTITIONER), SteeringPartitioner):
            raise invalid_option(
                PARTITIONER,
                "one of your own or none",
                "RackAwarePartitioner",
                "leave partitioner out, or give it to a KafkaProducer: RackAwareProducer creates "
                "its own",
            )
        config, theirs = producer_configs(
            client_rack,
            configs,
            client=self.DEFAULT_CONFIG,
            batch_size="batch_size",
            plain="KafkaProducer",
        )
        if config.custom_partitioner is None:
            partitioner = SteeringPartitioner(config, rng=rng)
            partitioner.topics.clock = clock
            self.topics = partitioner.topics
            theirs[PARTITIONER] = partitioner
        else:
            self.topics = SteeredTopics(config)
        self._by_name = self.topics.by_name
        self._ignores_keys = config.ignore_keys
        self._last: dict[str, Theirs] = {}
        super().__init__(**theirs)  # type: ignore[no-untyped-call]

    @override
    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Theirs:
        """`KafkaProducer.send`."""
        try:
            future: Theirs = super().send(  # type: ignore[no-untyped-call]
                topic, value, key, headers, partition, timestamp_ms
            )
        except KafkaError:
            if partition is None and (key is None or self._ignores_keys):
                self._refused(topic)
            raise
        steering = self._by_name.get(topic)
        if steering is None:
            return future
        if partition is not None:
            self._count(steering, partition, future)
        elif key is None or self._ignores_keys or _has_no_key(future):
            if steering.ends or steering.opens:
                self._hang(topic, steering, future)
            self._last[topic] = future
        return future

    def _hang(self, topic: str, steering: Steering, future: Theirs) -> None:
        """Add callbacks to the last record of the previous window and the first of this one."""
        last = self._last.get(topic)
        with steering.lock:
            ends, opens = steering.ends, steering.opens
            steering.ends, steering.opens = [], []
            if last is None:
                steering.done(ends, ok=False)
            if future is None:
                steering.done(opens, ok=False)
        if ends and last is not None:
            last.add_both(partial(self._done, steering, ends))
        if opens and future is not None:
            future.add_both(partial(self._done, steering, opens))

    def _done(self, steering: Steering, marks: list[int], result: object) -> None:
        """Note that a marked record is acknowledged, or failed; on the client's thread."""
        try:
            if isinstance(result, _STALE):
                steering.is_stale = True
            with steering.lock:
                steering.done(marks, ok=not isinstance(result, BaseException))
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(error)

    def _refused(self, topic: str) -> None:
        """Note that the client refused a record after its partition was chosen."""
        steering = self._by_name.get(topic)
        if steering is not None:
            with steering.lock:
                steering.choice.count_refused()
            self._hang(topic, steering, None)

    def _count(self, steering: Steering, partition: int, future: Theirs) -> None:
        """Count a record whose partition the caller chose, by the sizes in its future."""
        size = RECORD_OVERHEAD + sum(max(0, each) for each in future.args[3:])
        with steering.lock:
            steering.choice.count_unsteered(partition, size)


def _has_no_key(future: Theirs) -> bool:
    """Whether the key was serialized to None, so that the record was steered."""
    return int(future.args[3]) < 0


def view_of(topic: str, cluster: Theirs) -> TopicView:
    """The view of a topic in the metadata. Raises `ValueError` if the metadata has none."""
    known = cluster.partitions_for_topic(topic)
    if not known:
        raise ValueError(f"Topic {topic} not found in ClusterMetadata")
    led = (
        cluster.leader_for_partition(TopicPartition(topic, each)) for each in range(max(known) + 1)
    )
    return TopicView(
        leaders=tuple(None if leader is None or leader < 0 else leader for leader in led),
        racks={broker.node_id: broker.rack for broker in cluster.brokers()},
    )


def _see(steering: Steering, topic: str, cluster: Theirs) -> None:
    """Renew the view; metadata that changes meanwhile makes it stale again."""
    steering.is_stale = False
    try:
        steering.see(view_of(topic, cluster))
    except BaseException:
        steering.is_stale = True
        raise


def _look(steering: Steering, topic: str, cluster: Theirs) -> None:
    """Check for changed metadata, and for leaders that may be late."""
    if steering.is_stale:
        _see(steering, topic, cluster)
    if steering.due_ms is not None:
        steering.look_at_time()


def _begun(steering: Steering, topic: str, found: int, cluster: Theirs) -> int:
    """Begin a window: read the drawn partition's leader again; draw again if it has changed."""
    leader = cluster.leader_for_partition(TopicPartition(topic, found))
    if (NOBODY if leader is None else leader) != steering.node(found):
        _see(steering, topic, cluster)
        found = steering.choice.redraw()
    steering.began(found)
    return found
