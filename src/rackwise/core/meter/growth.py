"""Records and bytes that producers wrote to each partition between two snapshots.

Goals, in order: a number that is called exact is exact; what is not known is -1, never 0; a million
partitions take less time than reading their snapshots.

Kafka stores, sends and copies the same bytes: a record batch is compressed by the producer and
stays as it is. The growth of the leader's log is therefore what producers sent, unless segments
were removed:

```
records = end2 - end1
start1 == start2, not compacted      bytes = bytes2 - bytes1                      exact
start1 != start2 (retention)         bytes = records * bytes2 / (end2 - start2)   estimated
compacted, end of the log was read   bytes = records * tail bytes / tail offsets  estimated
compacted, else                      bytes >= bytes2 - bytes1                     a lower bound
```

On three 4.3.1 brokers, growth and mean agreed within 0.2 % without compaction; on a compacted topic
the growth was 2.8 % and the mean 16.9 % of what was written. The end of a log is not compacted yet,
because the cleaner leaves the active segment alone.

```
orders-0   end 1000 -> 1600, start 0 -> 0, bytes 100,000 -> 160,000      600 records, 60,000 bytes
orders-1   end 1000 -> 1600, start 0 -> 900, bytes 100,000 -> 70,000     600 * 70,000 / 700 = 60,000
```

No new offset means no new byte, whatever the policy: that 0 is known.

What this does not do: count bytes that retention removed and nobody can see any more (the mean
stands for them); count the copying of a replica that starts anew.

Source: KIP-107 (log start offset), KIP-113 (sizes of logs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.meter.looks import offsets_of
from rackwise.core.meter.reasons import REASONS, Reason
from rackwise.core.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.meter.looks import LookPair
    from rackwise.core.model import Cluster

    Case: TypeAlias = tuple[NDArray[np.bool_], Reason | NDArray[np.int8], int | NDArray[np.int64]]
    """Where it holds, why, and the bytes there."""

KNOWN = np.array([reason.is_known for reason in REASONS])
"""Reason -> whether there is a number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Growth:
    """What was written to each partition, as columns [rows of the second table]."""

    records: NDArray[np.int64]
    """Offsets that were added; -1 = not known."""
    bytes: NDArray[np.int64]
    """Bytes that were added; -1 = not known."""
    reason: NDArray[np.int8]
    """A `Reason`: why the bytes are exact, estimated or not known."""
    record_bytes: NDArray[np.float64]
    """Mean bytes of an offset, for readers of other records; NaN = not known."""


def growth(pair: LookPair) -> Growth:
    """What producers wrote between the two snapshots of a pair."""
    after = pair.second.partitions
    before, now = offsets_of(pair.first.partitions), offsets_of(after)
    start1, end1 = pair.earlier(before.start), pair.earlier(before.end)
    bytes1 = pair.earlier(pair.first.partitions.bytes)
    start2, end2, bytes2 = now.start, now.end, after.bytes
    # A partition that is new since the first snapshot had no record then.
    is_new = (pair.missing == Reason.NEW_PARTITION) & (start2 == 0)
    start1, end1 = (np.where(is_new, 0, column) for column in (start1, end1))
    bytes1 = np.where(is_new & (bytes2 >= 0), 0, bytes1)

    records = np.where((end1 >= 0) & (end2 >= end1), end2 - end1, UNKNOWN)
    is_compacted, has_policy = _policies(pair.second)
    is_compacted, has_policy = is_compacted[after.topic], has_policy[after.topic]
    grown = np.where((bytes1 >= 0) & (bytes2 >= 0), bytes2 - bytes1, UNKNOWN)
    mean = _mean(bytes2, end2 - start2, is_valid=start2 >= 0)
    mean = np.where(np.isnan(mean), _mean(bytes1, end1 - start1, is_valid=start1 >= 0), mean)
    tail = _tails(pair)
    record_bytes = np.where(is_compacted, tail, mean)

    is_whole = (start1 == start2) & (grown >= 0)
    is_led_by_one = pair.earlier(pair.first.partitions.leader) == after.leader
    is_led_by_one &= pair.earlier(before.leader_epoch) == now.leader_epoch
    cases: list[Case] = [
        ((pair.missing > 0) & ~is_new, pair.missing, UNKNOWN),
        (np.minimum.reduce([start1, end1, start2, end2]) < 0, Reason.NOT_READ, UNKNOWN),
        (end2 < end1, Reason.WENT_BACK, UNKNOWN),
        ((records == 0) & ~(is_whole & ~is_compacted), Reason.EXACT, 0),
        (is_compacted & ~np.isnan(tail), Reason.TAIL, _times(records, tail)),
        (is_compacted & (grown > 0), Reason.AT_LEAST, grown),
        (is_compacted, Reason.CLEANED, UNKNOWN),
        (~is_whole & np.isnan(mean), Reason.NO_SIZE, UNKNOWN),
        (~is_whole, Reason.MEAN, _times(records, mean)),
        (~has_policy, Reason.NO_POLICY, grown),
        (is_new, Reason.NEW_PARTITION, grown),
        (~is_led_by_one, Reason.LEADER_CHANGED, grown),
        (np.full(len(after), pair.is_far), Reason.FAR_APART, grown),
    ]
    reason, bytes_ = first_case(cases, otherwise=grown)
    return Growth(records=records, bytes=bytes_, reason=reason, record_bytes=record_bytes)


def first_case(
    cases: Sequence[Case], *, otherwise: NDArray[np.int64]
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """The reason and the bytes of the first case that holds in each row.

    Rows in which no case holds are exact and have the bytes of `otherwise`.
    """
    reason = np.full(len(otherwise), Reason.EXACT, dtype=np.int8)
    bytes_ = otherwise.copy()
    is_open = np.ones(len(otherwise), dtype=np.bool_)
    for condition, why, amount in cases:
        holds = is_open & condition
        reason[holds] = why[holds] if isinstance(why, np.ndarray) else why
        bytes_[holds] = amount[holds] if isinstance(amount, np.ndarray) else amount
        is_open &= ~condition
    return reason, bytes_


def _policies(cluster: Cluster) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Topic of the table -> whether it is compacted, and whether its policy is known."""
    topics = [cluster.topics.get(name) for name in cluster.partitions.topics]
    compacted = [topic is not None and topic.is_compacted for topic in topics]
    known = [topic is not None and topic.cleanup_policy is not None for topic in topics]
    return np.array(compacted, dtype=np.bool_), np.array(known, dtype=np.bool_)


def _mean(
    bytes_: NDArray[np.int64], offsets: NDArray[np.int64], *, is_valid: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Bytes per offset of a log; NaN where it is empty or not known.

    Offsets without a byte are not known: the size was read before the offsets.
    """
    has_mean = is_valid & (bytes_ > 0) & (offsets > 0)
    return np.where(has_mean, bytes_ / np.where(has_mean, offsets, 1), np.nan)


def _tails(pair: LookPair) -> NDArray[np.float64]:
    """Bytes per offset at the end of each log, of the later snapshot first; NaN if not read."""
    table = pair.second.partitions
    found = np.full(len(table), np.nan)
    first_row = table.first_rows
    for number, name in enumerate(table.topics):
        for cluster in (pair.first, pair.second):
            topic = cluster.topics.get(name)
            for tail in topic.tails if topic else ():
                row = first_row[number] + tail.partition
                if row < first_row[number + 1]:
                    found[row] = tail.bytes / tail.offsets
    return np.where(pair.missing == Reason.RECREATED, np.nan, found)


def _times(records: NDArray[np.int64], mean: NDArray[np.float64]) -> NDArray[np.int64]:
    """Records times mean bytes, rounded; -1 where either is not known."""
    is_known = (records >= 0) & ~np.isnan(mean)
    product = np.where(is_known, records, 0) * np.where(is_known, mean, 0)
    return np.where(is_known, np.rint(product), UNKNOWN).astype(np.int64)
