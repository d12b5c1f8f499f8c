"""Kafka's bytes, read and written: pure, bytes in, values out, and the other way round.

```
consumer   what members of a group and their leader send each other through the coordinator
reader     fields of Kafka's protocol off bytes
writer     and onto them
```
"""

from __future__ import annotations

from rackwise.core.wire.consumer import (
    Blob,
    MemberAssignment,
    Subscription,
    decode_assignment,
    decode_blob,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_blob,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
)

__all__ = [
    "Blob",
    "MemberAssignment",
    "Subscription",
    "decode_assignment",
    "decode_blob",
    "decode_cooperative_user_data",
    "decode_sticky_user_data",
    "decode_subscription",
    "encode_assignment",
    "encode_blob",
    "encode_cooperative_user_data",
    "encode_sticky_user_data",
    "encode_subscription",
]
