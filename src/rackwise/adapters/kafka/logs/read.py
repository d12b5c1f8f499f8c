"""Sizes, offsets and folders of all logs in one exchange with each broker.

A rate is a difference of sizes or offsets over time, so the two of one broker are read as close
together as possible: a broker gets all its requests on one connection and answers them in order.

```
broker 1   ListOffsets start, ListOffsets end, DescribeLogDirs
broker 2   ListOffsets start, ListOffsets end, DescribeLogDirs      at the same time
```

Log folders are read even if sizes are not requested: they tell which brokers are cordoned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.connect import send_in_turn, send_to_each
from rackwise.adapters.kafka.logs.offsets import OffsetReading
from rackwise.adapters.kafka.logs.sizes import log_dirs_request, no_sizes, sizes_of
from rackwise.core.model import AnswerTimes, PartitionTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.topics import TopicLayout
    from rackwise.core.model import LogDir, Note


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
    """Log folders of the live brokers; sizes and offsets where they are requested."""
    reading = OffsetReading(layout) if offsets else None
    requests = {
        broker: [each.request for each in asked]
        for broker, asked in (reading.questions if reading else {}).items()
    }
    for broker in live:
        request = log_dirs_request("all" if sizes else "folders_only")
        requests.setdefault(broker, []).append(request)
    answers = send_in_turn(admin, requests, clock_ms=clock_ms)
    if answers and (sizes or offsets):
        progress(len(answers))
    table = layout.table
    if reading:
        reading.take(answers)
        reading.again(admin, clock_ms=clock_ms)
        table = reading.table
    last = {broker: answers[broker][-1] for broker in live}
    of_folders = {broker: each.message for broker, each in last.items()}
    seen = (
        sizes_of(of_folders, table, is_wanted=is_wanted) if sizes else no_sizes(of_folders, table)
    )
    return SeenLogs(
        table=replace(table, bytes=seen.bytes),
        log_dirs=seen.log_dirs,
        answered=AnswerTimes(
            offsets=dict(sorted(reading.answered_ms.items())),
            sizes={
                broker: each.at_ms
                for broker, each in sorted(last.items())
                if sizes and broker in seen.log_dirs
            },
        )
        if reading
        else AnswerTimes(),
        notes=(*seen.notes, *(reading.notes if reading else ())),
    )


def read_log_dirs(admin: KafkaAdminClient, brokers: Iterable[int]) -> dict[int, tuple[LogDir, ...]]:
    """Broker -> its log folders, of the brokers that answer."""
    answers = send_to_each(admin, {broker: log_dirs_request("folders_only") for broker in brokers})
    return no_sizes(answers, PartitionTable.of([])).log_dirs
