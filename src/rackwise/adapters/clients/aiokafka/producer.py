"""Records without a key go to leaders near the producer: KIP-1123 for aiokafka.

```python
from rackwise.aiokafka import RackAwareProducer

async with RackAwareProducer(client_rack="use1-az1", bootstrap_servers="broker:9092") as producer:
    await producer.send("orders", b"value")
```

aiokafka's own partitioner receives neither topic nor cluster. So `send` chooses the partition here,
and passes `partition=` for the records that are steered. Keyed records keep the client's
partitioner.

aiokafka does not report where a batch begins. If the batch of one partition is full, its `send`
waits, and this delays all partitions. So a window is a quarter of `max_batch_size`, and draws are
even: the batches of all partitions fill at one pace. Backlogs are counted in batches: one in four
windows of a partition has a callback, all of them with an availability timeout. A batch in flight
weighs nothing, as in KIP-794; one that waits behind it does. Records that neither begin nor end a
window take a short path. A choice is counted before the client accepts the
record. A record that the client refuses later stays counted, and is also counted as refused.

Sizes are those of the arguments. For values that are not bytes, the size is that of the output of
the producer's own serializers.

All code runs in the producer's event loop. Source: KIP-794, KIP-1123; aiokafka 0.14.0,
`AIOKafkaProducer.send`.
"""

from __future__ import annotations

import inspect
import time
from asyncio import CancelledError
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from rackwise.adapters.clients.deliveries import observed
from rackwise.adapters.clients.producer_options import check_keywords, producer_configs
from rackwise.adapters.clients.topics import SteeredTopics, SteersTopics
from rackwise.core.errors import MissingClientError
from rackwise.core.override import override
from rackwise.core.partitioner import TopicView
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

try:
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import (
        LeaderNotAvailableError,
        NotLeaderForPartitionError,
        UnknownTopicOrPartitionError,
    )
    from aiokafka.structs import TopicPartition
except ImportError as error:
    raise MissingClientError.of("aiokafka", extra="aiokafka") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from rackwise.adapters.clients.steering import Steering
    from rackwise.core.partitioner import PartitionerConfig

Theirs: TypeAlias = Any
"""Objects of aiokafka, which has no type hints."""

WINDOWS_OF_A_BATCH = 4

_OPTIONS = frozenset(inspect.signature(AIOKafkaProducer).parameters)
"""The names of the client's own options."""

_STALE = (LeaderNotAvailableError, NotLeaderForPartitionError, UnknownTopicOrPartitionError)


class RackAwareProducer(SteersTopics, AIOKafkaProducer):  # type: ignore[misc]
    """An `AIOKafkaProducer` whose records without a key go to leaders near `client_rack`.

    `configs`: the options of AIOKafkaProducer, and those of the partitioner by Kafka's names, or
    with `_` for `.`, such as `partitioner_ignore_keys`. With the option `partitioner`, that
    partitioner chooses alone. `rng`: random numbers; `clock`: seconds, monotonic.
    `topics.failures`: errors that did not reach the client. Raises `InvalidConfig` without a rack,
    and `PartitionerConfigError` for an unknown option or an invalid value.
    """

    def __init__(
        self,
        *given: Never,
        client_rack: str | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        **configs: Theirs,
    ) -> None:
        check_keywords(given, "rackwise.aiokafka")
        config, theirs = producer_configs(
            client_rack,
            configs,
            client=_OPTIONS,
            batch_size="max_batch_size",
            plain="AIOKafkaProducer",
        )
        super().__init__(**theirs)
        self.topics = SteeredTopics(
            _paced(config),
            rng=rng,
            clock=clock,
            marked_every=WINDOWS_OF_A_BATCH if config.semantics == "kip" else 1,
        )
        self._by_name = self.topics.by_name
        self._ignores_keys = config.ignore_keys
        self._is_steering = config.custom_partitioner is None
        self.client.cluster.add_listener(self.topics.stale)

    @override
    async def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> Theirs:
        """`AIOKafkaProducer.send`."""
        if partition is None and key is None and headers is None and type(value) is bytes:
            steering = self._by_name.get(topic)
            size = len(value) + RECORD_OVERHEAD
            if steering is not None and steering.room > size and not steering.is_stale:
                steering.room -= size
                steering.in_room += 1
                try:
                    return await super().send(
                        topic, value, None, steering.partition, timestamp_ms, None
                    )
                except BaseException as error:
                    self._refused(steering, [], error)
                    raise
        return await self._place(topic, value, key, partition, timestamp_ms, headers)

    async def _place(
        self,
        topic: str,
        value: Theirs,
        key: Theirs,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Theirs,
    ) -> Theirs:
        """Send any record, also one that begins or ends a window."""
        if not self._is_steering:
            return await super().send(topic, value, key, partition, timestamp_ms, headers)
        if partition is not None or (key is not None and not self._ignores_keys):
            future = await super().send(topic, value, key, partition, timestamp_ms, headers)
            return observed(
                future, partial(self._count_unsteered, topic, partition, key, value, headers)
            )
        steering = self._by_name.get(topic)
        if steering is None:
            await self.partitions_for(topic)
        try:
            if steering is None or steering.is_stale:
                steering = self._seen(topic)
            if steering.room:
                steering.settle()
            chosen = steering.steer(self._size(key, value, headers))
            steering.open_room()
        except Exception as error:  # noqa: BLE001, the client then chooses
            self.topics.failed(topic, error)
            return await super().send(topic, value, key, None, timestamp_ms, headers)
        marks = steering.take_marks() if steering.ends or steering.opens else None
        try:
            future = await super().send(topic, value, key, chosen, timestamp_ms, headers)
        except BaseException as error:
            self._refused(steering, marks or [], error)
            raise
        return observed(future, partial(self._completed, steering, marks)) if marks else future

    def _seen(self, topic: str) -> Steering:
        """Renew a topic's view."""
        view = view_of(topic, self.client.cluster)
        steering = self._by_name.get(topic)
        if steering is None:
            return self.topics.met(topic, view)
        steering.is_stale = False
        steering.see(view)
        return steering

    def _size(self, key: Theirs, value: Theirs, headers: Theirs) -> int:
        """Bytes of a record; values that are not bytes count as this producer serializes them."""
        if key is None and headers is None and type(value) is bytes:
            return len(value) + RECORD_OVERHEAD
        if all(each is None or isinstance(each, bytes | bytearray) for each in (key, value)):
            of_headers = sum(len(name) + len(each or b"") for name, each in headers or ())
            return RECORD_OVERHEAD + len(key or b"") + len(value or b"") + of_headers
        made = self.create_batch().append(
            timestamp=None, key=key, value=value, headers=list(headers or ())
        )
        return int(made.size)

    def _count_unsteered(
        self,
        topic: str,
        partition: int | None,
        key: Theirs,
        value: Theirs,
        headers: Theirs,
        future: Theirs,
    ) -> None:
        """Count a record that its key or its sender placed, when its partition is known."""
        try:
            failed = future.cancelled() or future.exception() is not None
            number = partition if failed else future.result().partition
            steering = self._by_name.get(topic) or self._seen(topic)
            where = -1 if number is None else number
            steering.choice.count_unsteered(where, self._size(key, value, headers))
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(error)

    def _refused(self, steering: Steering, marks: list[int], error: BaseException) -> None:
        """Count a record that the client refused after its partition was chosen."""
        steering.choice.count_refused()
        self._done(steering, marks, error)

    def _completed(self, steering: Steering, marks: list[int], future: Theirs) -> None:
        """Note that a marked record is acknowledged, or failed."""
        self._done(steering, marks, CancelledError() if future.cancelled() else future.exception())

    def _done(self, steering: Steering, marks: list[int], error: BaseException | None) -> None:
        try:
            if error is not None and isinstance(error, _STALE):
                steering.is_stale = True
            steering.done(marks, ok=error is None)
        except Exception as problem:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(problem)


def _paced(config: PartitionerConfig) -> PartitionerConfig:
    """The configuration with smaller windows; `upstream` draws as Kafka does."""
    sticky_bytes = max(1, config.sticky_bytes // WINDOWS_OF_A_BATCH)
    if config.semantics == "upstream":
        return replace(config, sticky_bytes=sticky_bytes)
    return replace(config, sticky_bytes=sticky_bytes, draws="even")


def view_of(topic: str, cluster: Theirs) -> TopicView:
    """The view of a topic in the metadata. Raises `ViewError` if the metadata has none."""
    known = cluster.partitions_for_topic(topic) or ()
    numbers = range(max(known, default=-1) + 1)
    led = (cluster.leader_for_partition(TopicPartition(topic, each)) for each in numbers)
    return TopicView(
        leaders=tuple(None if leader is None or leader < 0 else leader for leader in led),
        racks={broker.nodeId: broker.rack for broker in cluster.brokers()},
    )
