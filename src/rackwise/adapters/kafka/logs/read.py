"""Sizes and offsets of all logs in one exchange with each broker.

A rate is a difference of sizes or offsets over time, so the two of one broker are read as close
together as possible: a broker gets all its requests on one connection and answers them in order.

```
broker 1   ListOffsets start, ListOffsets end, DescribeLogDirs
broker 2   ListOffsets start, ListOffsets end, DescribeLogDirs      at the same time
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.connect import send_in_turn
from rackwise.adapters.kafka.logs.offsets import OffsetReading
from rackwise.adapters.kafka.logs.sizes import no_sizes, sizes_of, sizes_request
from rackwise.core.model import AnswerTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.topics import TopicLayout
    from rackwise.core.model import LogDir, Note, PartitionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLogs:
    """What the brokers told of their logs."""

    table: PartitionTable
    """The partitions with sizes and offsets."""
    log_dirs: dict[int, tuple[LogDir, ...]]
    """Broker -> its log folders."""
    answered: AnswerTimes
    notes: tuple[Note, ...]


def read_logs(
    admin: KafkaAdminClient,
    layout: TopicLayout,
    live: Sequence[int],
    *,
    sizes: bool,
    offsets: bool,
    is_wanted: Callable[[str], bool],
    clock_ms: Callable[[], int],
    progress: Callable[[int], None],
) -> SeenLogs:
    """Sizes from the live brokers and offsets from the leaders, where they are requested."""
    reading = OffsetReading(layout) if offsets else None
    requests = {
        broker: [each.request for each in asked]
        for broker, asked in (reading.questions if reading else {}).items()
    }
    if sizes:
        for broker in live:
            requests.setdefault(broker, []).append(sizes_request())
    answers = send_in_turn(admin, requests, clock_ms=clock_ms)
    if answers:
        progress(len(answers))
    table = layout.table
    if reading:
        reading.take(answers)
        reading.again(admin, clock_ms=clock_ms)
        table = reading.table
    of_sizes = {broker: answers[broker][-1] for broker in live} if sizes else {}
    seen = (
        sizes_of(
            {broker: each.message for broker, each in of_sizes.items()}, table, is_wanted=is_wanted
        )
        if sizes
        else no_sizes(table)
    )
    return SeenLogs(
        table=replace(table, bytes=seen.bytes),
        log_dirs=seen.log_dirs,
        answered=AnswerTimes(
            offsets=dict(sorted(reading.answered_ms.items())),
            sizes={
                broker: each.at_ms
                for broker, each in sorted(of_sizes.items())
                if broker in seen.log_dirs
            },
        )
        if reading
        else AnswerTimes(),
        notes=(*seen.notes, *(reading.notes if reading else ())),
    )
