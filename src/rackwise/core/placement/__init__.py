"""Replica placement: the placers and the functions that call them.

```
placer    racks                     rows
kip36     one level, by name        Kafka's, 0.10 to 3.9 (KIP-36)
unaware   ignored                   Kafka's without racks
striped   one level, none is one    KRaft's
ring      paths of any depth        KIP-879's text, for reference
levels    paths of any depth        as spread and as even as the racks allow; the default
```

`place`, `add_partitions` and `change_replication` call a placer. `explain` reports the shares that
the racks force. A custom placer is any object with a `name` and a method `place`.
"""

from __future__ import annotations

from rackwise.core.placement.explain import Report, explain
from rackwise.core.placement.manual import parse_assignment
from rackwise.core.placement.model import (
    Draws,
    Load,
    Placement,
    Placer,
    ReplicationChanger,
    Request,
)
from rackwise.core.placement.place import (
    PLACERS,
    add_partitions,
    change_replication,
    has_levels,
    place,
)
from rackwise.core.placement.placers.java_random import JavaRandom, MockRandom
from rackwise.core.placement.placers.kip36 import Kip36, Unaware, alternated
from rackwise.core.placement.placers.levels import Levels
from rackwise.core.placement.placers.ring import Ring
from rackwise.core.placement.placers.striped import Striped
from rackwise.core.placement.rack_modes import RackMode, apply_mode, brokers_without_rack

__all__ = [
    "PLACERS",
    "Draws",
    "JavaRandom",
    "Kip36",
    "Levels",
    "Load",
    "MockRandom",
    "Placement",
    "Placer",
    "RackMode",
    "ReplicationChanger",
    "Report",
    "Request",
    "Ring",
    "Striped",
    "Unaware",
    "add_partitions",
    "alternated",
    "apply_mode",
    "brokers_without_rack",
    "change_replication",
    "explain",
    "has_levels",
    "parse_assignment",
    "place",
]
