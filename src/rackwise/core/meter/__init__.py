"""Two snapshots of one cluster as a meter of its traffic.

```
looks.py      pairs two snapshots: the same partitions, the time between them
reasons.py    why a number is exact, estimated or not known
growth.py     records and bytes that producers wrote to each partition
reads.py      records and bytes that each group read of each partition
flows.py      from which broker to which broker or client the bytes went
days.py       bytes by day
rates.py      bytes per second of each partition, for planners
```
"""

from __future__ import annotations

from rackwise.core.meter.days import DayPart, day_parts
from rackwise.core.meter.flows import MeteredFlows, Unmetered, metered_flows
from rackwise.core.meter.growth import Growth, growth
from rackwise.core.meter.looks import LookPair, look_pair
from rackwise.core.meter.rates import with_rates
from rackwise.core.meter.reads import GroupReads, reads
from rackwise.core.meter.reasons import REASONS, Reason

__all__ = [
    "REASONS",
    "DayPart",
    "GroupReads",
    "Growth",
    "LookPair",
    "MeteredFlows",
    "Reason",
    "Unmetered",
    "day_parts",
    "growth",
    "look_pair",
    "metered_flows",
    "reads",
    "with_rates",
]
