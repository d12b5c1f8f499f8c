"""Records and bytes that each group read of each partition between two snapshots.

A group commits the next offset that it will read. What it read between two snapshots is the
difference of its commits; the bytes are those of the records in between:

```
orders-0   written: offsets 1000..1600, 60,000 bytes
group a    commits 1000 -> 1600   600 records, exactly the written ones   60,000 bytes, exact
group b    commits  400 -> 1000   600 records, written earlier            600 * 100 bytes, estimated
group c    commits 1600 ->  200   went back                               not known
```

A read is exact where the bytes written are exact and at most one offset in a thousand lies outside
of what was written. A group that commits nothing to Kafka (some Flink, Spark and Connect readers)
is invisible here.

What this does not do: notice a group that skips records (`seek` to the end): they count as read,
up to the end of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.meter.growth import KNOWN, first_case
from rackwise.core.meter.looks import offsets_of
from rackwise.core.meter.reasons import Reason
from rackwise.core.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.meter.growth import Growth
    from rackwise.core.meter.looks import LookPair

OUTSIDE_ONE_IN = 1000
"""One offset in so many may lie outside of what was written, in an exact read."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupReads:
    """What groups read, as columns; one row per group and partition with a commit."""

    groups: tuple[str, ...]
    """Names of the groups of the second snapshot."""
    group: NDArray[np.int32]
    """Index into `groups`."""
    row: NDArray[np.int64]
    """Row of the second table."""
    records: NDArray[np.int64]
    """Offsets that the group read; -1 = not known."""
    bytes: NDArray[np.int64]
    """Bytes that the group read; -1 = not known."""
    reason: NDArray[np.int8]
    """A `Reason`: why the bytes are exact, estimated or not known."""


def reads(pair: LookPair, written: Growth) -> GroupReads:
    """What each group read between the two snapshots; `written`: `growth(pair)`."""
    found = list(_commits(pair))
    group, row, before, after = (
        np.concatenate([part[column] for part in found]) if found else np.zeros(0, dtype=np.int64)
        for column in range(4)
    )
    earlier, now = offsets_of(pair.first.partitions), offsets_of(pair.second.partitions)
    start1, end1 = pair.earlier(earlier.start)[row], pair.earlier(earlier.end)[row]
    end2 = now.end[row]
    # Records before the start of the log are gone: nobody reads them.
    lowest = np.where(before >= 0, np.maximum(before, start1), before)
    records = np.where((before >= 0) & (after >= lowest), after - lowest, UNKNOWN)
    written_bytes, written_records = written.bytes[row], written.records[row]
    outside = np.abs(lowest - end1) + np.abs(after - end2)
    is_same = (end1 >= 0) & (end2 >= 0) & (outside * OUTSIDE_ONE_IN <= records)
    has_bytes = (written_bytes >= 0) & (written_records > 0)
    per_record = np.where(
        has_bytes,
        written_bytes / np.where(has_bytes, written_records, 1),
        written.record_bytes[row],
    )
    bytes_ = np.rint(np.maximum(records, 0) * np.nan_to_num(per_record)).astype(np.int64)
    why = written.reason[row]
    is_gone = (why == Reason.RECREATED) | (why == Reason.ABSENT)
    reason, known_bytes = first_case(
        [
            (is_gone, why, UNKNOWN),
            ((before < 0) | (after < 0), Reason.NO_COMMIT, UNKNOWN),
            (after < before, Reason.RESET, UNKNOWN),
            (records <= 0, Reason.EXACT, 0),
            (np.isnan(per_record), Reason.NO_BYTES, UNKNOWN),
            (~(is_same & KNOWN[why] & has_bytes), Reason.OTHER_RECORDS, bytes_),
            (why != Reason.EXACT, why, bytes_),
        ],
        otherwise=bytes_,
    )
    return GroupReads(
        groups=tuple(each.group for each in pair.second.groups),
        group=group.astype(np.int32),
        row=row,
        records=records,
        bytes=known_bytes,
        reason=reason,
    )


def _commits(pair: LookPair) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Group number, row, commit in the first and in the second snapshot, per group and topic."""
    table = pair.second.partitions
    first_row = table.first_rows.tolist()
    places = {name: number for number, name in enumerate(table.topics)}
    earlier = {group.group: group.committed for group in pair.first.groups}
    for number, group in enumerate(pair.second.groups):
        before_by_topic = earlier.get(group.group, {})
        for topic in {**before_by_topic, **group.committed}:
            place = places.get(topic)
            if place is None:
                continue
            rows = np.arange(first_row[place], first_row[place + 1])
            before = _padded(before_by_topic.get(topic, ()), len(rows))
            after = _padded(group.committed.get(topic, ()), len(rows))
            is_read = (before >= 0) | (after >= 0)
            count = int(is_read.sum())
            yield np.full(count, number), rows[is_read], before[is_read], after[is_read]


def _padded(offsets: tuple[int | None, ...], count: int) -> NDArray[np.int64]:
    """`count` offsets; -1 where none is committed."""
    known = [UNKNOWN if offset is None else offset for offset in offsets[:count]]
    padded = np.full(count, UNKNOWN, dtype=np.int64)
    padded[: len(known)] = known
    return padded
