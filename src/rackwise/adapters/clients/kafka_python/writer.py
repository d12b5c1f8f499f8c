"""Writes records to near partitions; all are acknowledged when `write` returns.

For writers that run on many hosts from one description, such as the tasks of Spark. The rack is
detected where the code runs (`clients.rack`). Records without a key then go to partitions with a
leader in that rack (KIP-1123). A key still decides the partition of its record. Without a rack it
writes as kafka-python does.

```
write(reach, "t", [(None, b"v"), (b"k", b"w")])    {3: 1, 0: 1}: records per partition
```

Delivery is at least once: records sent before an error stay sent.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import kafka.errors as kafka_errors
from kafka import KafkaProducer

from rackwise.adapters.clients.kafka_python.producer import RackAwareProducer
from rackwise.adapters.clients.kafka_python.records import (
    CLIENT_ID,
    client_error,
    rack_here,
    security_of,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.adapters.clients.kafka_python.records import Reach

MOST_WAITING = 10_000
"""Number of records sent before the first of them is waited for."""
PATIENCE_S = 120.0


def write(
    reach: Reach, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]
) -> dict[int, int]:
    """Write the key and value of each record and wait until all are acknowledged.

    Returns partition -> number of records. Raises the errors of `records.client_error`.
    """
    written: Counter[int] = Counter()
    try:
        with closing(_producer(reach)) as producer:
            waiting: list[Any] = []
            for key, value in records:
                waiting.append(producer.send(topic, value, key))
                if len(waiting) == MOST_WAITING:
                    written += _acknowledged(waiting)
                    waiting.clear()
            producer.flush()
            written += _acknowledged(waiting)
    except kafka_errors.KafkaError as error:
        doing = f"write to topic {escaped(topic)}"
        raise client_error(reach, error, doing=doing, operation="Write") from error
    return dict(sorted(written.items()))


def _producer(reach: Reach) -> Any:  # noqa: ANN401
    rack = rack_here(reach)
    configs = {
        "bootstrap_servers": reach.bootstrap.split(","),
        "client_id": CLIENT_ID,
        "acks": "all",
        **security_of(reach),
    }
    if rack is None:
        return KafkaProducer(**configs)  # type: ignore[no-untyped-call]
    return RackAwareProducer(client_rack=rack, **configs)


def _acknowledged(waiting: Iterable[Any]) -> Counter[int]:
    return Counter(each.get(timeout=PATIENCE_S).partition for each in waiting)
