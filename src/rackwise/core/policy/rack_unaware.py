"""A policy that ignores the racks of the brokers, as Kafka's `--disable-rack-aware` does (KIP-36).

```
spread    off at every level        count, leader_racks    none
missing   unaware: a broker without a rack is no error
```

All that is not about racks stays: replication, pins, even loads, brokers to drain or to exclude.

Limits: this module does not make racks count again for a part of the topics; a policy file does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.policy.model import TopicBlock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.policy.model import Policy


def rack_unaware(policy: Policy, levels: Iterable[str]) -> Policy:
    """The policy without rules about racks; `levels`: the names of all rack levels."""
    last = TopicBlock(
        match=("*",),
        spread=dict.fromkeys(levels, "off"),
        count=(),
        count_others="any",
        leader_racks=(),
    )
    return replace(
        policy,
        racks=replace(policy.racks, missing="unaware"),
        topics=(*policy.topics, last),
    )
