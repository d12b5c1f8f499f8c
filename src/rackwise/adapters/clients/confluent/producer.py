"""Records without a key go to leaders near the producer: KIP-1123 for confluent-kafka.

```python
from rackwise.confluent import RackAwareProducer

conf = {"bootstrap.servers": "broker:9092"}
with RackAwareProducer(conf, client_rack="use1-az1") as producer:
    producer.produce("orders", b"value")
```

A `RackAwareProducer` is a `Producer`. `RackAwareSerializingProducer` is a `SerializingProducer`.
Any other subclass of `Producer` becomes rack-aware with `class Mine(Theirs, RackAwareProducer)`, if
its methods call those of `super()`.

librdkafka uses client.rack for consumers only, and shows a producer no racks. So a second client
asks the brokers for them, or a rack source does. The constructor does not wait for brokers. Until
the leaders of a topic are known, librdkafka chooses its partitions, and nothing is counted. The
first steered record of a topic waits for the leaders, up to 3 seconds. Steered records get
`partition=`; keyed records keep librdkafka's `partitioner`. If that is a custom partitioner for
records without a key, too, nothing is steered or counted, and no second client is opened.

librdkafka does not report where a batch begins. So a window ends at the client's `batch.size`,
which is 1,000,000 unless you set it. With a `PartitionerConfig`, it ends at `sticky_bytes`, which
is 16,384 unless you set it. The client's queue should hold twenty windows or more, as the default
queue does with records of 1 KB. With a smaller queue, brokers wait for each other. A record that
librdkafka refuses with a `BufferError` is not counted.

One record of a window, two with an availability timeout, has a delivery callback of the plug-in.
It calls your own callback afterwards. Callbacks run where you poll. Two records poll as well: the
one at the end of a window, once without waiting, and the first steered record of a topic, while it
waits for leaders. So do not hold a lock during `produce` that a callback acquires. If a callback
raises there, your next `poll`, `flush` or `close` raises the exception: the record is still sent.
With `delivery.report.only.error` librdkafka reports no acknowledgements, so the number of
outstanding windows is not known.

Most records neither begin nor end a window. They take a path without a lock: what they cost is a
Python function around librdkafka's own.

If `statistics.interval.ms` is set, a broker is excluded when the statistics show it as away for
longer than the availability timeout. A broker that was never connected does not count as away.

Source: KIP-794, KIP-1123; confluent-kafka 2.16, librdkafka's STATISTICS.md.
"""

from __future__ import annotations

import sysconfig
import time
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rackwise.adapters.clients.confluent.installed import Producer, SerializingProducer
from rackwise.adapters.clients.confluent.steered_client import (
    ANY,
    SteeredClient,
    Terms,
    Theirs,
    size_of,
)
from rackwise.core.override import override
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random
    from types import TracebackType

    from rackwise.adapters.clients.rack_source import RackSource
    from rackwise.adapters.clients.steering import Steering
    from rackwise.core.partitioner import PartitionerConfig

HAS_GLOBAL_LOCK = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Whether Python does not interrupt `+=` of an attribute, which counts records without the lock. A
build without a global lock counts every record under the lock."""
K = TypeVar("K")
V = TypeVar("V")


class RackAwareProducer(SteeredClient, Producer):
    """A `Producer` that sets the partition of steered records.

    `conf`: librdkafka's settings. Without a `config` they may also have the partitioner's options,
    `partitioner.*` and `rackwise.*`. `client_rack`: the rack of this client, also as `client.rack`
    of the settings. `racks`: the rack of each broker, see `rack_source`; None asks the brokers.
    `rng`: random numbers; `clock`: seconds, monotonic. `settings`: what `Producer` takes besides,
    such as `logger`.

    `topics.failures`: errors that did not reach the client. All other methods are the client's. As
    a `with` block it delivers queued records and closes. Raises `PartitionerConfigError`.
    """

    _terms: Terms | None = None
    _send: ClassVar[Callable[..., None]] = Producer.produce
    """The next class's `produce`; as a method of the class it is called fastest."""

    @override
    def __init_subclass__(cls, **named: Any) -> None:  # noqa: ANN401 (of any base class)
        super().__init_subclass__(**named)
        after = cls.__mro__[cls.__mro__.index(RackAwareProducer) + 1 :]
        cls._send = next(vars(each)["produce"] for each in after if "produce" in vars(each))

    def __init__(
        self,
        conf: Mapping[str, object],
        config: PartitionerConfig | None = None,
        *,
        client_rack: str | None = None,
        racks: RackSource | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: Any,  # noqa: ANN401 (librdkafka's)
    ) -> None:
        terms = self._terms or Terms(config, racks, client_rack, rng, clock)
        self._prepare(conf, terms)
        given = self._settings.conf
        self._callers: Mapping[str, Theirs] = {**given, **settings}
        self._serving = Lock()
        self._raised: Exception | None = None
        chained = self._chained(error_cb=self._on_error, stats_cb=self._on_statistics)
        super().__init__({**given, **settings, **chained})
        self._look_for_leaders(terms, self)

    @override
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
        if key is None and headers is None and partition == ANY and timestamp == 0:
            try:
                steering = self._by_name[topic]
            except KeyError:
                pass
            else:
                if type(value) is bytes:
                    size = len(value) + RECORD_OVERHEAD
                    if steering.room > size:
                        self._send(topic, value, None, steering.partition, told)
                        steering.room -= size
                        steering.in_room += 1
                        return
        self._place(topic, value, key, partition, told, timestamp, headers)

    @override
    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = ANY,
        callback: Theirs = None,
        on_delivery: Theirs = None,
    ) -> int:
        """`Producer.produce_batch`, in one call per window and run of messages of one kind."""
        told = on_delivery if callback is None else callback
        try:
            sizes = [size_of(each.get("value"), each.get("key"), None) for each in messages]
        except Exception:  # noqa: BLE001, the client rejects the messages
            return super().produce_batch(topic, messages, partition, told)
        steering = self._by_name.get(topic)
        if steering is None:
            run = BatchRun(topic, messages, sizes, 0, partition, told)
            is_steered = any(self._is_free(run, at) for at in range(len(messages)))
            steering = self._met(topic, waits=is_steered)
        queued, at = 0, 0
        while at < len(messages):
            run = BatchRun(topic, messages, sizes, at, partition, told)
            if steering is not None and self._is_free(run, at):
                queued += self._produce_steered(steering, run)
            else:
                while run.end < len(messages) and not self._is_free(run, run.end):
                    run.end += 1
                queued += self._produce_unsteered(steering, run)
            at = run.end
        return queued

    @override
    def poll(self, *timeout: float, **named: float) -> int:
        """`Producer.poll`; raises the error of a callback that ran within `produce`."""
        self._raise()
        return super().poll(*timeout, **named)

    @override
    def flush(self, *timeout: float, **named: float) -> int:
        """`Producer.flush`; raises the error of a callback that ran within `produce`."""
        self._raise()
        return super().flush(*timeout, **named)

    @override
    def close(self) -> bool:
        """`Producer.close`, which delivers queued records; refreshes of leaders stop."""
        self._close_views()
        found = super().close()
        self._raise()
        return found

    @override
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        exc_traceback: TracebackType | None,
    ) -> None:
        self.close()

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
        is_steered = self._is_steered(key, partition)
        steering, size = None, 0
        try:
            size = size_of(value, key, headers)
            steering = self._by_name.get(topic) or self._met(topic, waits=is_steered)
        except Exception as error:  # noqa: BLE001, librdkafka then chooses, or rejects the record
            self.topics.failures.keep(error)
        if steering is None or not is_steered:
            self._send(topic, value, key, partition, told, None, timestamp, headers)
            self._count_unsteered(steering, key, partition, size)
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
            self._send(*record, ANY, told, *rest)
            return False
        if not is_marked:
            self._send(*record, chosen, told, *rest)
            steering.choice.add(size)
        else:
            delivery = self._marked(steering, told)
            try:
                self._send(*record, chosen, delivery, *rest)
            except BaseException:
                steering.refused()
                raise
            steering.choice.add(size)
            delivery.marks.extend(steering.take_marks())
        if HAS_GLOBAL_LOCK:
            steering.open_room()
        return is_marked

    def _met(self, topic: str, *, waits: bool) -> Steering | None:
        """The state of a topic, added at its first record; None while its leaders are unknown."""
        if waits:
            self._views.meet(topic, self._serve)
        elif not self._is_custom:
            self._views.add(topic)
        return self._by_name.get(topic)

    def _serve(self) -> None:
        """Poll within `produce`; keep the callback's error for the caller's next poll.

        A call that comes while another one runs callbacks does nothing, so nothing waits for them.
        """
        if not self._serving.acquire(blocking=False):
            return
        try:
            super().poll(0)
        except Exception as error:  # noqa: BLE001, the record is on its way
            self._raised = self._raised or error
        finally:
            self._serving.release()

    def _raise(self) -> None:
        error, self._raised = self._raised, None
        if error is not None:
            raise error

    def _marked(self, steering: Steering, callback: Theirs) -> _Delivery:
        """A delivery callback for a marked record; it calls the caller's callback afterwards."""
        if callback is None:
            callback = self._callers.get("on_delivery")
        return _Delivery(self, steering, callback)

    def _on_error(self, error: Theirs) -> None:
        told = self._callers.get("error_cb")
        self._note_error(error, is_told=told is not None)
        if told is not None:
            told(error)

    def _on_statistics(self, text: str) -> None:
        self._note_statistics(text)
        if (told := self._callers.get("stats_cb")) is not None:
            told(text)

    def _is_free(self, run: BatchRun, at: int) -> bool:
        """Whether a message of a batch is steered."""
        message = run.messages[at]
        return self._is_steered(message.get("key"), message.get("partition", run.partition))

    def _produce_unsteered(self, steering: Steering | None, run: BatchRun) -> int:
        """Produce messages that their keys or the caller placed; returns how many are queued."""
        queued = self._hand_over(run, run.partition)
        for message, size in run.accepted():
            where = message.get("partition", run.partition)
            self._count_unsteered(steering, message.get("key"), where, size)
        return queued

    def _produce_steered(self, steering: Steering, run: BatchRun) -> int:
        """Produce messages of one window, as many as follow one another; returns how many."""
        with steering.lock:
            try:
                steering.settle()
                chosen = steering.chosen()
                is_marked = self._fill(steering, run)
            except Exception as error:  # noqa: BLE001, librdkafka then chooses
                self.topics.failed(run.topic, error)
                run.end = run.start + 1
                return self._hand_over(run, run.partition)
            delivery = None
            if is_marked:
                own = run.messages[run.end - 1].get("callback")
                delivery = self._marked(steering, run.told if own is None else own)
            try:
                queued = self._hand_over(run, chosen, delivery)
            except BaseException:
                if is_marked:
                    steering.refused()
                raise
            for _, size in run.accepted():
                steering.choice.add(size)
            if delivery is not None:
                if "_error" in run.messages[run.end - 1]:
                    steering.refused()
                else:
                    delivery.marks.extend(steering.take_marks())
        if is_marked:
            self._serve()
        return queued

    def _fill(self, steering: Steering, run: BatchRun) -> bool:
        """Add messages to a run until its last one has a mark; returns whether it has one."""
        is_marked, size = False, 0
        while not is_marked and run.end < len(run.messages) and self._is_free(run, run.end):
            size += run.sizes[run.end]
            run.end += 1
            is_marked = bool(steering.opens) or steering.choice.ends_window(size)
        return is_marked

    def _hand_over(self, run: BatchRun, partition: int, delivery: _Delivery | None = None) -> int:
        """Give a run to librdkafka; `delivery`: the callback of its last message."""
        messages = run.messages[run.start : run.end]
        for message in messages:
            message.pop("_error", None)
        if delivery is None:
            return super().produce_batch(run.topic, messages, partition, run.told)
        messages[-1] = {**messages[-1], "callback": delivery}
        try:
            return super().produce_batch(run.topic, messages, partition, run.told)
        finally:
            if "_error" in messages[-1]:
                run.messages[run.end - 1]["_error"] = messages[-1]["_error"]


class RackAwareSerializingProducer(SerializingProducer[K, V], RackAwareProducer):  # type: ignore[misc]
    """A `SerializingProducer` that sets the partition of steered records.

    `conf` has its serializers too; the rest is as in `RackAwareProducer`.
    """

    def __init__(
        self,
        conf: Mapping[str, object],
        config: PartitionerConfig | None = None,
        *,
        client_rack: str | None = None,
        racks: RackSource | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terms = Terms(config, racks, client_rack, rng, clock)
        super().__init__(dict(conf))


@dataclass(slots=True)
class BatchRun:
    """Messages of a batch that follow one another and go to librdkafka in one call."""

    topic: str
    messages: list[dict[str, Any]]
    """All messages of the batch; those of the run are `start` to `end`."""
    sizes: list[int]
    """Bytes of each message."""
    start: int
    partition: int
    """The partition that the caller gave for the batch."""
    told: Theirs
    """The caller's callback for the batch."""
    end: int = field(init=False)

    def __post_init__(self) -> None:
        self.end = self.start

    def accepted(self) -> list[tuple[dict[str, Any], int]]:
        """The messages of the run that are queued, with their sizes."""
        chosen = slice(self.start, self.end)
        return [
            (message, size)
            for message, size in zip(self.messages[chosen], self.sizes[chosen], strict=True)
            if "_error" not in message
        ]


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
