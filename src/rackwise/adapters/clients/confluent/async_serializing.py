"""KIP-1123 for confluent-kafka's producer on asyncio that serializes.

```python
from rackwise.confluent import RackAwareAsyncSerializingProducer

conf = {"bootstrap.servers": "broker:9092", "value.serializer": StringSerializer()}
async with await RackAwareAsyncSerializingProducer(conf, client_rack="use1-az1") as producer:
    delivery = await producer.produce("orders", value="text")
    await delivery
```

An `AsyncSerializingProducer` is constructed by `await`, because a serializer may have to ask a
schema registry. It serializes, then calls the `produce` of the next class, which is that of
`RackAwareAIOProducer`. So sizes are those of serialized records. It does not call that class's
constructor: it names `AIOProducer` itself.

Source: KIP-794, KIP-1123; confluent-kafka 2.16.1.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from rackwise.adapters.clients.confluent.aio import RackAwareAIOProducer
from rackwise.adapters.clients.confluent.installed import unsupported
from rackwise.adapters.clients.confluent.steered_client import Terms

try:
    from confluent_kafka.aio import AsyncSerializingProducer
except ImportError as error:
    raise unsupported(">=2.16.1,<3") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rackwise.adapters.clients.rack_source import RackSource
    from rackwise.core.partitioner import PartitionerConfig

K = TypeVar("K")
V = TypeVar("V")


class RackAwareAsyncSerializingProducer(AsyncSerializingProducer[K, V], RackAwareAIOProducer):  # type: ignore[misc]
    """An `AsyncSerializingProducer` that sets the partition of steered records.

    `conf` has its serializers too; the rest is as in `RackAwareAIOProducer`.
    """

    async def __init__(  # type: ignore[misc]
        self,
        conf: Mapping[str, object],
        config: PartitionerConfig | None = None,
        *,
        client_rack: str | None = None,
        racks: RackSource | None = None,
        rng: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: Any,  # noqa: ANN401 (the client's)
    ) -> None:
        terms = Terms(config, racks, client_rack, rng, clock)
        await super().__init__(self._client_settings(conf, terms), **settings)
        self._look_for_leaders(terms)
