"""Headers of record batches: how many bytes and offsets each batch of a log takes.

A fetched part of a log is a row of batches. The first one contains the offset that was asked for,
so it may begin earlier. The last one may be cut off, where the size of the answer is limited.

```
at   0  base offset          int64        17  checksum             uint32
     8  length from here     int32        21  attributes           int16
    12  leader epoch         int32        23  last offset delta    int32
    16  magic, 2             int8         27  times, producer      30 bytes
                                          57  number of records    int32     61  records
```

The header is never compressed, so nothing has to be unpacked. A batch takes
`last offset delta + 1` offsets. The log cleaner keeps base and delta of a batch and removes records
of it, so a batch with fewer records than offsets is not as it was sent. A gap between two batches
is the place of batches that the cleaner has removed.

```
offsets   400..409   430..434   435..435   436..445
records   10         2          1          10
bytes     900        310        78         1000
whole     yes        no         yes        yes      -> the tail: 1078 bytes, 11 offsets
```

The tail is the last row of neighbours that are as they were sent: its bytes over its offsets is
what producers write for an offset, whatever was removed before.

What this does not do: read records, check the checksum, read the formats before Kafka 0.11 (magic 0
and 1).

Source: KIP-98 (the format), KIP-280 and `LogCleaner` of Kafka (what compaction keeps).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rackwise.core.json.declare import MAX_INTEGER
from rackwise.core.wire.reader import unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC: Final = 2
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_BEFORE_LENGTH: Final = 12
"""Bytes of a batch that its length does not count."""
_LEAST_LENGTH: Final = _HEADER.size - _BEFORE_LENGTH


@dataclass(frozen=True, slots=True)
class BatchSpan:
    """What one batch takes in a log."""

    base_offset: int
    next_offset: int
    """The offset after its last one."""
    bytes: int
    is_whole: bool
    """Whether no record was removed."""


def read_batch_spans(data: bytes) -> list[BatchSpan]:
    """The batches in a part of a log; a last one that is cut off is left out.

    Raises `RemoteProtocolError` for bytes that are no batches of magic 2 with ascending offsets.
    """
    spans: list[BatchSpan] = []
    place = least = 0
    while place + _HEADER.size <= len(data):
        base, length, _, magic, _, _, delta, *_, count = _HEADER.unpack_from(data, place)
        if magic != MAGIC:
            raise unreadable(place + 16, f"magic {MAGIC}", magic)
        if length < _LEAST_LENGTH:
            raise unreadable(place + 8, f"a length from {_LEAST_LENGTH} on", length)
        if not least <= base <= MAX_INTEGER - delta - 1:
            raise unreadable(place, f"a base offset from {least} on", base)
        if delta < 0:
            raise unreadable(place + 23, "a last offset delta from 0 on", delta)
        if not 0 <= count <= delta + 1:
            raise unreadable(place + 57, f"a number of records from 0 to {delta + 1}", count)
        size = _BEFORE_LENGTH + length
        if place + size > len(data):
            break
        least = base + delta + 1
        spans.append(BatchSpan(base, least, size, count == delta + 1))
        place += size
    return spans


def whole_tail(spans: Sequence[BatchSpan]) -> Sequence[BatchSpan]:
    """The last neighbours that are as they were sent; none where the last batch is not."""
    first = len(spans)
    while first and spans[first - 1].is_whole:
        if first < len(spans) and spans[first - 1].next_offset != spans[first].base_offset:
            break
        first -= 1
    return spans[first:]
