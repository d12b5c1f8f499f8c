"""KIP-1123 for confluent-kafka's producer on asyncio.

```python
from rackwise.confluent import RackAwareAIOProducer

conf = {"bootstrap.servers": "broker:9092"}
async with RackAwareAIOProducer(conf, client_rack="use1-az1") as producer:
    delivery = await producer.produce("orders", b"value")
    await delivery
```

An `AIOProducer` collects records and gives them to librdkafka by topic and partition, in a thread.
So the choice comes before a record is collected, and it is counted there: a record that librdkafka
refuses later stays counted. The future of a window's last record says when the window is delivered.

A second client asks for leaders and racks, since the methods of an `AIOProducer` run in its event
loop. The first steered record of a topic waits for the leaders; other tasks go on. `error_cb` and
`stats_cb` are coroutine functions, as the client requires.

Source: KIP-794, KIP-1123; confluent-kafka 2.16.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from rackwise.adapters.clients.confluent.installed import AIOProducer, KafkaError, KafkaException
from rackwise.adapters.clients.confluent.steered_client import (
    ANY,
    SteeredClient,
    Terms,
    Theirs,
    size_of,
)
from rackwise.adapters.clients.deliveries import observed
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rackwise.adapters.clients.rack_source import RackSource
    from rackwise.adapters.clients.steering import Steering
    from rackwise.core.partitioner import PartitionerConfig


_CANCELLED = KafkaError.UNKNOWN


class RackAwareAIOProducer(SteeredClient, AIOProducer):
    """An `AIOProducer` that sets the partition of steered records.

    The arguments are those of `RackAwareProducer`. `settings`: what `AIOProducer` takes besides,
    such as `batch_size` and `buffer_timeout`. Raises `PartitionerConfigError`.
    """

    def __init__(
        self,
        producer_conf: Mapping[str, object],
        config: PartitionerConfig | None = None,
        *,
        client_rack: str | None = None,
        racks: RackSource | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: Any,  # noqa: ANN401 (the client's)
    ) -> None:
        terms = Terms(config, racks, client_rack, rng, clock)
        super().__init__(self._client_settings(producer_conf, terms), **settings)
        self._look_for_leaders(terms)

    def _client_settings(self, conf: object, terms: Terms) -> dict[str, Theirs]:
        """The settings for the client. Raises `PartitionerConfigError`."""
        self._prepare(conf, terms)
        self._callers: Mapping[str, Theirs] = self._settings.conf
        self._meeting = asyncio.Lock()
        chained = self._chained(error_cb=self._on_error, stats_cb=self._on_statistics)
        return {**self._settings.conf, **chained}

    @override
    async def produce(
        self,
        topic: str,
        value: Theirs = None,
        key: Theirs = None,
        *args: Theirs,
        **kwargs: Theirs,
    ) -> asyncio.Future[Any]:
        """`AIOProducer.produce`."""
        partition = kwargs.get("partition", ANY)
        is_steered = self._is_steered(key, partition)
        steering, size = None, 0
        try:
            size = size_of(value, key, kwargs.get("headers"))
            steering = self._by_name.get(topic) or await self._met(topic, waits=is_steered)
        except Exception as error:  # noqa: BLE001, librdkafka then chooses, or rejects the record
            self.topics.failures.keep(error)
        if steering is None or not is_steered:
            future = await super().produce(topic, value, key, *args, **kwargs)
            self._count_unsteered(steering, key, partition, size)
            return future
        try:
            with steering.lock:
                kwargs["partition"] = steering.steer(size)
                marks = steering.take_marks()
        except Exception as error:  # noqa: BLE001, librdkafka then chooses
            self.topics.failed(topic, error)
            return await super().produce(topic, value, key, *args, **kwargs)
        try:
            future = await super().produce(topic, value, key, *args, **kwargs)
        except BaseException:
            with steering.lock:
                steering.choice.count_refused()
                steering.done(marks, ok=False)
            raise
        return observed(future, partial(self._completed, steering, marks)) if marks else future

    @override
    async def close(self) -> None:
        """`AIOProducer.close`, which delivers collected records; refreshes of leaders stop."""
        self._close_views()
        await super().close()

    async def _met(self, topic: str, *, waits: bool) -> Steering | None:
        """The state of a topic, added at its first record; None while its leaders are unknown."""
        if waits:
            async with self._meeting:
                if self._views.is_awaited(topic):
                    await asyncio.to_thread(self._views.meet, topic)
        elif not self._is_custom:
            self._views.add(topic)
        return self._by_name.get(topic)

    def _completed(self, steering: Steering, marks: list[int], future: asyncio.Future[Any]) -> None:
        """Note that a marked record is delivered, or not."""
        error: Theirs = KafkaError(_CANCELLED) if future.cancelled() else future.exception()
        if isinstance(error, KafkaException) and error.args:
            error = error.args[0]
        self.delivered(steering, marks, error)

    async def _on_error(self, error: Theirs) -> None:
        told = self._callers.get("error_cb")
        self._note_error(error, is_told=told is not None)
        if told is not None:
            await told(error)

    async def _on_statistics(self, text: str) -> None:
        self._note_statistics(text)
        if (told := self._callers.get("stats_cb")) is not None:
            await told(text)
