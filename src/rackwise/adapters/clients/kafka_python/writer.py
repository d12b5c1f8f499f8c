"""Records into a topic, near the writer: all are acknowledged when `write` returns.

For writers that run on many hosts from one description, such as the tasks of Spark. The rack is
looked for where the code runs (`clients.rack`); records without a key then go to partitions led
from there (KIP-1123), keys decide as ever. Without a rack it writes as kafka-python does.

```
write(reach, "t", [(None, b"v"), (b"k", b"w")])    {3: 1, 0: 1}: records per partition
```

At least once: what was sent before an error stays sent.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import kafka.errors as kafka_errors
from kafka import KafkaProducer

from rackwise.adapters.clients.kafka_python.producer import RackAwarePartitioner, RackAwareProducer
from rackwise.adapters.clients.kafka_python.records import (
    CLIENT_ID,
    rack_here,
    security_of,
    unreachable,
)
from rackwise.core.partitioner import PartitionerConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.adapters.clients.kafka_python.records import Reach

MOST_WAITING = 10_000
"""Records that are sent before the first of them is waited for."""
PATIENCE_S = 120.0


def write(
    reach: Reach, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]
) -> dict[int, int]:
    """Write key and value of each record and wait until all are acknowledged.

    Partition -> records. Raises `Unreachable`.
    """
    rack = rack_here(reach)
    partitioner = RackAwarePartitioner(PartitionerConfig(rack_aware=rack is not None, rack=rack))
    written: Counter[int] = Counter()
    try:
        with closing(_producer(reach, partitioner)) as producer:
            steered = RackAwareProducer(producer, partitioner)
            waiting: list[Any] = []
            for key, value in records:
                waiting.append(steered.send(topic, value, key))
                if len(waiting) == MOST_WAITING:
                    written += _acknowledged(waiting)
                    waiting.clear()
            producer.flush()
            written += _acknowledged(waiting)
    except kafka_errors.KafkaError as error:
        raise unreachable(reach, error) from error
    return dict(sorted(written.items()))


def _producer(reach: Reach, partitioner: RackAwarePartitioner) -> Any:  # noqa: ANN401
    return KafkaProducer(  # type: ignore[no-untyped-call]
        bootstrap_servers=reach.bootstrap.split(","),
        client_id=CLIENT_ID,
        acks="all",
        partitioner=partitioner,
        **security_of(reach),
    )


def _acknowledged(waiting: Iterable[Any]) -> Counter[int]:
    return Counter(each.get(timeout=PATIENCE_S).partition for each in waiting)
