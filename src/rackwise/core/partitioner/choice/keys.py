"""The partition of a record with a key, by Kafka's murmur2 over all partitions; record sizes.

```
partition_for_key(b"foobar", 12)    murmur2 -790332482, masked 1357151166, modulo 12 = 6
partition_for_key(b"", 12)          an empty key is a key: 9
```

The hash is signed. It is masked with 0x7fffffff; the absolute value is not used. Every partition
counts, also one without a leader: a key's partition must not depend on which brokers are up.

Source: `Utils.murmur2` and `BuiltInPartitioner.partitionForKey` of kafka-clients 4.4.0.
"""

from __future__ import annotations

from struct import iter_unpack

SEED = 0x9747B28C
MIX = 0x5BD1E995
MASK = 0xFFFFFFFF
POSITIVE = 0x7FFFFFFF
RECORD_OVERHEAD = 12
"""Bytes of a record without key, value and headers: an estimate, without varint arithmetic."""
BATCH_OVERHEAD = 61
"""Bytes of a batch header."""


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key among `partition_count` partitions."""
    return (murmur2(key) & POSITIVE) % partition_count


def murmur2(data: bytes) -> int:
    """Kafka's murmur2: signed, 32 bit."""
    length = len(data)
    whole = length & ~3
    found = SEED ^ length
    for (word,) in iter_unpack("<I", data[:whole]):
        mixed = word * MIX & MASK
        mixed = (mixed ^ mixed >> 24) * MIX & MASK
        found = found * MIX & MASK ^ mixed
    if length > whole:
        found = (found ^ int.from_bytes(data[whole:], "little")) * MIX & MASK
    found = (found ^ found >> 13) * MIX & MASK
    found ^= found >> 15
    return found - (found >> 31 << 32)


def record_bytes(key: bytes | None, value: bytes | None, header_bytes: int = 0) -> int:
    """The counted size: the lengths of the parts plus 12; uncompressed, None = 0."""
    return len(key or b"") + len(value or b"") + header_bytes + RECORD_OVERHEAD
