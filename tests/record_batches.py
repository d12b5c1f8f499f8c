"""Record batches of magic 2 as bytes, with headers as a producer or the log cleaner leaves them."""

from __future__ import annotations

import struct

HEADER = struct.Struct(">qiibIhiqqqhii")
CONTROL = 0x20


def batch(base=0, records=3, *, body=60, delta=None, is_marker=False, magic=2):
    """A batch of `records` records in `body` bytes; `delta`: the last offset is base + delta."""
    last = records - 1 if delta is None else delta
    length = HEADER.size - 12 + body
    attributes = CONTROL if is_marker else 0
    head = HEADER.pack(base, length, 0, magic, 0, attributes, last, 0, 0, -1, -1, -1, records)
    return head + bytes(body)


def neighbours(sizes, first=0):
    """Batches one after the other, of `sizes[i]` records."""
    made = []
    for each in sizes:
        made.append(batch(first, each))
        first += each
    return made
