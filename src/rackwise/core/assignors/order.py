"""The orders in which Kafka's assignors visit members: Kafka's own, and that of a Java hash map.

Goals: the exact order in which the leader of a Java group visits its members, so that any member
ids give Java's answer; texts compare as in Java.

Member order. Static members come first, by instance id, then dynamic members, by member id.

```
member     instance            order
m-9        -                   m-2 (instance x), m-7 (instance y), m-4, m-9
m-7        y
m-4        -
m-2        x
```

Hash order. `java.util.HashMap` keeps keys in buckets: h = s[0]*31^(n-1) + .. + s[n-1] mod 2^32 over
UTF-16 code units, bucket = (h ^ h >>> 16) & (size - 1). It is walked bucket by bucket, and within a
bucket in order of insertion. The size starts at 16. It doubles when the keys exceed three quarters
of it, or when a bucket gets its ninth key below size 64. Members pass through two such maps.

```
inserted     m10        m2       m1
h ^ h >>> 16 0x19f4d    0xd65    0xd64      size 16
bucket       13         5        4          walked: m1 m2 m10
```

A set that is copied from a collection of n keys starts with room for all of them: its size is the
power of two at or above n / 0.75 + 1, and at least 16.

Coordinator order. The group coordinator keeps members in a table of its own, whose slot is taken
from the highest bits of a product, and hands them to an assignor in a hash map. Topics are known to
the coordinator by their ids, which are hashed and compared as two signed integers of 64 bits.

What this does not do: emulate the trees that Java makes of buckets with nine keys from size 64 on;
know the order in which members joined, which decides between two members that share a slot of the
coordinator's table and a bucket of the hash map.

Source: `AbstractPartitionAssignor.MemberInfo` (KIP-345); `java.util.HashMap`; `java.lang.String`;
`BaseHashTable`, `TimelineHashMap` and `Uuid` of Kafka 4.3.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FIRST_SIZE = 16
"""`HashMap.DEFAULT_INITIAL_CAPACITY`."""
TREES_FROM = 64
"""`HashMap.MIN_TREEIFY_CAPACITY`: from this size on a full bucket becomes a tree."""
MOST_IN_BUCKET = 8
"""`HashMap.TREEIFY_THRESHOLD`: one more key doubles a smaller table."""
WORD = 0xFFFFFFFF
"""The mask of 32 bits: Java's integers overflow."""
FIBONACCI = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: the factor of Knuth's multiplicative hashing."""
FIRST_SLOTS = 2
"""`BaseHashTable.MIN_CAPACITY`."""


def utf16_key(text: str) -> bytes:
    r"""A sort key that orders texts as `String.compareTo` of Java does, by UTF-16 code units.

    >>> sorted(["\uffee", "\U0001f600", "a"], key=utf16_key) == ["a", "\U0001f600", "\uffee"]
    True
    """
    return text.encode("utf-16-be", "surrogatepass")


def java_hash(text: str) -> int:
    """`String.hashCode` as an unsigned 32-bit integer.

    >>> java_hash("rackwise")
    4237146107
    """
    value = 0
    for unit in np.frombuffer(utf16_key(text), dtype=">u2").tolist():
        value = (31 * value + unit) & WORD
    return value


def member_order(instances: Mapping[str, str | None]) -> tuple[str, ...]:
    """Member ids: static members by instance id, then dynamic members by member id.

    `instances`: member id -> instance id, None for a dynamic member.
    """

    def key(member_id: str) -> tuple[bool, bytes, bytes]:
        instance = instances[member_id]
        static = b"" if instance is None else utf16_key(instance)
        return instance is None, static, utf16_key(member_id)

    return tuple(sorted(instances, key=key))


def bucket_order(hashes: Sequence[int], *, is_copied: bool = False) -> tuple[int, ...]:
    """The indices of keys in the order in which a hash map is walked after their insertion.

    `hashes`: the hash code of each key, all keys different, in order of insertion. `is_copied`: the
    keys are copied from a collection of known size.
    """
    spread = [(value ^ value >> 16) & WORD for value in hashes]
    size = _table_size(spread, _copied_size(len(spread)) if is_copied else FIRST_SIZE)
    return tuple(sorted(range(len(spread)), key=lambda place: spread[place] & (size - 1)))


def hash_order(member_ids: Iterable[str]) -> tuple[str, ...]:
    """Member ids as a Java leader visits them: inserted in join order, then copied to a new map."""
    ids = tuple(member_ids)
    hashes = {member_id: java_hash(member_id) for member_id in ids}
    for _ in range(2):
        ids = tuple(ids[place] for place in bucket_order([hashes[member_id] for member_id in ids]))
    return ids


def coordinator_order(member_ids: Iterable[str]) -> tuple[str, ...]:
    """Member ids as an assignor on the broker visits them.

    `member_ids`: in the order in which they joined; in any other order, members that share a slot
    and a bucket may change places.
    """
    ids = tuple(member_ids)
    hashes = {member_id: java_hash(member_id) for member_id in ids}
    capacity = FIRST_SLOTS
    for size in range(len(ids)):
        if 3 * (size + 1) > 4 * capacity:
            capacity *= 2
    # Signed, as Java multiplies; the highest bits of the product are the slot.
    slots = {
        member_id: ((value - (value >> 31 << 32)) * FIBONACCI & (WORD << 32 | WORD))
        >> (65 - capacity.bit_length())
        for member_id, value in hashes.items()
    }
    # Within a slot the last one comes first.
    walked = [*ids]
    walked.reverse()
    walked.sort(key=slots.__getitem__)
    return tuple(walked[place] for place in bucket_order([hashes[each] for each in walked]))


def topic_id_key(topic_id: str) -> tuple[int, int]:
    """A sort key that orders topic ids as Kafka's `Uuid.compareTo` does.

    >>> topic_id_key("AAAAAAAAAAAAAAAAAAAAAQ") < topic_id_key("_____________________w")
    False
    """
    raw = urlsafe_b64decode(topic_id + "==")
    return (
        int.from_bytes(raw[:8], "big", signed=True),
        int.from_bytes(raw[8:], "big", signed=True),
    )


def topic_id_hash(topic_id: str) -> int:
    """`Uuid.hashCode` as an unsigned 32-bit integer.

    >>> topic_id_hash("AAAAAAAAAAAAAAAAAAAAAQ")
    1
    """
    most, least = topic_id_key(topic_id)
    mixed = most ^ least
    return (mixed >> 32 ^ mixed) & WORD


def _copied_size(count: int) -> int:
    """The number of buckets of a set that is copied from so many keys."""
    room = max(count * 4 // 3 + 1, FIRST_SIZE)
    return 1 << (room - 1).bit_length()


def _table_size(spread: Sequence[int], size: int) -> int:
    """The number of buckets of a map after all keys are inserted; `size` is the first number."""
    # bucket -> number of its keys
    held: dict[int, int] = {}
    for count, value in enumerate(spread, start=1):
        bucket = value & (size - 1)
        held[bucket] = held.get(bucket, 0) + 1
        grown = size
        if held[bucket] > MOST_IN_BUCKET and size < TREES_FROM:
            grown *= 2
        if 4 * count > 3 * grown:
            grown *= 2
        if grown != size:
            size, held = grown, {}
            for earlier in spread[:count]:
                held[earlier & (size - 1)] = held.get(earlier & (size - 1), 0) + 1
    return size
