"""Records without a key go to leaders near the producer: KIP-1123 for confluent-kafka.

```python
from confluent_kafka.admin import AdminClient
from rackwise.adapters.clients.confluent.producer import RackAwareProducer
from rackwise.adapters.clients.rack_source import admin_racks
from rackwise.core.partitioner import PartitionerConfig

servers = {"bootstrap.servers": "broker:9092"}
config = PartitionerConfig(rack_aware=True, rack="use1-az1")
with RackAwareProducer(servers, config, racks=admin_racks(AdminClient(servers))) as producer:
    producer.produce("orders", b"value")
```

librdkafka uses client.rack for consumers only, and shows a producer no racks. So the plug-in needs
a rack source. Steered records get `partition=`; keyed records keep librdkafka's `partitioner`.

librdkafka does not report where a batch begins. So a window ends at `sticky_bytes`. The best value
is the client's `batch.size`, whose default is 1,000,000. The client's queue should hold twenty
windows or more, as the default queue does with records of 1 KB. With a smaller queue, brokers wait
for each other. A record that librdkafka refuses with a `BufferError` is not counted.

One record of a window, two with an availability timeout, has a delivery callback of the plug-in.
It calls your own callback afterwards. Callbacks run where you poll, and the end of a window polls
once without waiting. If a callback raises there, your next `poll`, `flush` or `close` raises the
exception: the record that ended the window is already queued. With `delivery.report.only.error`
librdkafka reports no acknowledgements, so the number of outstanding windows is not known.

If `statistics.interval.ms` is set, a broker is excluded when the statistics show it as away for
longer than the availability timeout. A broker that was never connected does not count as away.

Source: KIP-794, KIP-1123; confluent-kafka 2.16, librdkafka's STATISTICS.md.
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.adapters.clients.confluent.statistics import AwayNodes, read_statistics
from rackwise.adapters.clients.confluent.views import REFRESH_S, LeaderViews
from rackwise.adapters.clients.topics import SteeredTopics, SteersTopics
from rackwise.core.errors import MissingClientError, ViewError
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

try:
    from confluent_kafka import KafkaError, Producer, consistent, fnv1a, murmur2
except ImportError as error:
    raise MissingClientError(
        "confluent-kafka is not installed",
        wanted="confluent-kafka",
        had=None,
        hint="pip install 'rackwise[confluent]'",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random
    from types import TracebackType
    from typing import Self

    from rackwise.adapters.clients.rack_source import RackSource
    from rackwise.adapters.clients.steering import Steering
    from rackwise.core.partitioner import PartitionerConfig, TopicView

Theirs: TypeAlias = Any
"""Objects of confluent-kafka, which is written in C."""

ANY = -1
"""librdkafka's partition number for a record that its own partitioner places."""
_STALE = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
_HASHES: Mapping[str, Callable[[bytes, int], int]] = {
    "consistent": consistent,
    "consistent_random": consistent,
    "murmur2": murmur2,
    "murmur2_random": murmur2,
    "fnv1a": fnv1a,
    "fnv1a_random": fnv1a,
}
"""librdkafka's partitioners of keys whose result is known here."""


class RackAwareProducer(SteersTopics):
    """A `Producer` of this `conf` that sets the partition of steered records.

    `racks`: the rack of each broker, see `rack_source`. `rng`: random numbers; `clock`: seconds,
    monotonic. `topics.failures`: errors that did not reach the client. All other methods are the
    client's. As a `with` block it delivers queued records and closes. Raises `RackSourceError`.
    """

    def __init__(
        self,
        conf: Mapping[str, object],
        config: PartitionerConfig,
        *,
        racks: RackSource,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._is_timed = config.availability_timeout_ms > 0
        self._caller: Mapping[str, Theirs] = conf
        self._ignores_keys = config.ignore_keys
        self._hash = _HASHES.get(str(conf.get("partitioner", "consistent_random")))
        self._away = AwayNodes(config.availability_timeout_ms)
        only_errors = str(conf.get("delivery.report.only.error", False)).lower() in {"true", "1"}
        self.topics = SteeredTopics(
            config,
            rng=rng,
            clock=None if only_errors else clock,
            late_nodes=self._away.nodes,
        )
        self._meeting = RLock()
        self._raised: Exception | None = None
        self._by_name = self.topics.by_name
        chained: dict[str, object] = {"error_cb": self._on_error}
        has_statistics = int(str(conf.get("statistics.interval.ms", 0))) > 0
        if has_statistics:
            chained["stats_cb"] = self._on_statistics
        self._producer: Theirs = Producer({**conf, **chained})
        self._produce: Theirs = self._producer.produce
        self._adopt()
        every_ms = float(str(conf.get("topic.metadata.refresh.interval.ms", REFRESH_S * 1000)))
        self._views = LeaderViews(
            self._producer,
            racks,
            every_s=min(REFRESH_S, every_ms / 1000) if every_ms > 0 else REFRESH_S,
            took=self._took,
            failed=self.topics.failures.keep,
            has_statistics=has_statistics,
        )

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY,
        callback: Theirs = None,
        on_delivery: Theirs = None,
        timestamp: int = 0,
        headers: Theirs = None,
    ) -> None:
        """`Producer.produce`. Raises the same errors; after a `BufferError` nothing is counted."""
        told = on_delivery if callback is None else callback
        if key is None is headers and partition == ANY and type(value) is bytes:
            steering = self._by_name.get(topic)
            if steering is not None:
                steering.acquire()
                try:
                    room = steering.room - len(value) - RECORD_OVERHEAD
                    if room > 0:
                        self._produce(topic, value, None, steering.partition, told, None, timestamp)
                        steering.room = room
                        steering.in_room += 1
                        return
                finally:
                    steering.release()
        self._place(topic, value, key, partition, told, timestamp, headers)

    def poll(self, *timeout: float, **named: float) -> Theirs:
        """`Producer.poll`; raises the error of a callback that ran at the end of a window."""
        self._raise()
        return self._producer.poll(*timeout, **named)

    def flush(self, *timeout: float, **named: float) -> Theirs:
        """`Producer.flush`; raises the error of a callback that ran at the end of a window."""
        self._raise()
        return self._producer.flush(*timeout, **named)

    def close(self) -> Theirs:
        """`Producer.close`, which delivers queued records; refreshes of leaders stop."""
        self._views.close()
        found = self._producer.close()
        self._raise()
        return found

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Theirs: ...

    def __len__(self) -> int:
        return len(self._producer)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _adopt(self) -> None:
        """Copy the client's other methods; `__getattr__` would slow all attributes down."""
        for name in dir(self._producer):
            if not name.startswith("_") and not hasattr(type(self), name):
                setattr(self, name, getattr(self._producer, name))

    def _place(
        self,
        topic: str,
        value: Theirs,
        key: Theirs,
        partition: int,
        told: Theirs,
        timestamp: int,
        headers: Theirs,
    ) -> None:
        """Produce any record, also one that begins or ends a window."""
        if partition != ANY or (key is not None and not self._ignores_keys):
            self._produce(topic, value, key, partition, told, None, timestamp, headers)
            self._count_unsteered(topic, value, key, partition, headers)
            return
        try:
            steering = self._by_name.get(topic) or self._met(topic)
            size = size_of(value, key, headers)
        except Exception as error:  # noqa: BLE001, librdkafka then chooses
            self.topics.failed(topic, error)
            self._produce(topic, value, key, ANY, told, None, timestamp, headers)
            return
        rest = (None, timestamp, headers)
        with steering.lock:
            is_marked = self._begin_or_end(steering, size, (topic, value, key), told, rest)
        if is_marked:
            self._serve()

    def _begin_or_end(
        self, steering: Steering, size: int, record: Theirs, told: Theirs, rest: Theirs
    ) -> bool:
        """Produce a record that may begin or end a window; True if it does and has marks."""
        try:
            steering.settle()
            chosen = steering.chosen()
            is_marked = bool(steering.opens) or steering.choice.ends_window(size)
        except Exception as error:  # noqa: BLE001, librdkafka then chooses
            self.topics.failed(record[0], error)
            self._produce(*record, ANY, told, *rest)
            return False
        if not is_marked:
            self._produce(*record, chosen, told, *rest)
            steering.choice.add(size)
        else:
            delivery = self._marked(steering, told)
            try:
                self._produce(*record, chosen, delivery, *rest)
            except BaseException:
                steering.refused()
                raise
            steering.choice.add(size)
            delivery.marks.extend(steering.take_marks())
        steering.open_room()
        return is_marked

    def _met(self, topic: str) -> Steering:
        """Add a topic at its first record: wait once for its leaders, raise if they are unknown."""
        with self._meeting:
            if not self._views.knows(topic):
                self._views.ask(topic)
        steering = self._by_name.get(topic)
        if steering is None:
            raise ViewError(
                f"the leaders of topic {topic} are not known yet",
                wanted="leaders",
                had=None,
                hint="create the topic first; it is steered as soon as they are known",
            )
        return steering

    def _serve(self) -> None:
        """Poll at the end of a window; keep the callback's error for the caller's next poll."""
        try:
            self._producer.poll(0)
        except Exception as error:  # noqa: BLE001, the record is on its way
            self._raised = self._raised or error

    def _raise(self) -> None:
        error, self._raised = self._raised, None
        if error is not None:
            raise error

    def _took(self, topic: str, view: TopicView) -> None:
        """Use new leaders or racks of a topic, from any source."""
        steering = self._by_name.get(topic)
        if steering is None:
            self.topics.met(topic, view)
        else:
            with steering.lock:
                steering.see(view)

    def _marked(self, steering: Steering, callback: Theirs) -> _Delivery:
        """A delivery callback for a marked record; it calls the caller's callback afterwards."""
        if callback is None:
            callback = self._caller.get("on_delivery")
        return _Delivery(self, steering, callback)

    def delivered(self, steering: Steering, marks: list[int], error: Theirs) -> None:
        """Note that a marked record is acknowledged, or failed; runs where the caller polls."""
        try:
            if error is not None and error.code() in _STALE:
                self._views.stale()
            with steering.lock:
                steering.done(marks, ok=error is None)
        except Exception as problem:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(problem)

    def _on_error(self, error: Theirs) -> None:
        """Refresh leaders after an error such as a lost broker: leaders may move."""
        self._views.stale()
        if (told := self._caller.get("error_cb")) is not None:
            told(error)

    def _on_statistics(self, text: str) -> None:
        try:
            found = read_statistics(text)
            for topic in self._by_name.keys() & found.leaders.keys():
                self._views.told(topic, found.leaders[topic])
            if self._away.look(found.brokers, int(self._clock() * 1000)):
                for steering in list(self._by_name.values()):
                    with steering.lock:
                        steering.look_at_nodes()
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(error)
        if (told := self._caller.get("stats_cb")) is not None:
            told(text)

    def _count_unsteered(
        self, topic: str, value: Theirs, key: Theirs, partition: int, headers: Theirs
    ) -> None:
        """Count a record that its key or its sender placed."""
        try:
            steering = self._by_name.get(topic) or self._met(topic)
            if partition == ANY and key and self._hash is not None:
                text = key.encode() if isinstance(key, str) else key
                partition = self._hash(text, len(steering.view.leaders))
            with steering.lock:
                steering.choice.count_unsteered(partition, size_of(value, key, headers))
        except Exception as error:  # noqa: BLE001, the record is on its way
            self.topics.failures.keep(error)


class _Delivery:
    """The plug-in's delivery callback, then the caller's; `marks` are set after queueing."""

    __slots__ = ("_callback", "_producer", "_steering", "marks")

    def __init__(self, producer: RackAwareProducer, steering: Steering, callback: Theirs) -> None:
        self._producer = producer
        self._steering = steering
        self._callback = callback
        self.marks: list[int] = []

    def __call__(self, error: Theirs, message: Theirs) -> None:
        self._producer.delivered(self._steering, self.marks, error)
        if self._callback is not None:
            self._callback(error, message)


def size_of(value: str | bytes | None, key: str | bytes | None, headers: Theirs) -> int:
    """Bytes of a record before compression."""
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    parts = [value, key, *(part for pair in pairs for part in pair)]
    return RECORD_OVERHEAD + sum(
        len(each.encode()) if isinstance(each, str) else len(each)
        for each in parts
        if each is not None
    )
