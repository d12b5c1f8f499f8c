"""What each change against crossing racks saves, alone and as a waterfall.

```
FlowColumns      rows of the bill; Layout: what savings need of the cluster
savings          computes follower-fetch, assignment, producing and leader-moves
Saving           one row: what a change saves of one topic and client group
```
"""

from __future__ import annotations

from rackwise.core.savings.layout import GroupReaders, Layout
from rackwise.core.savings.model import (
    ALL,
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    EPS,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCING,
    SAVINGS,
    STOCK,
    TOTAL,
    UNKNOWN_NAME,
    USUAL_EPS,
    WATERFALL,
    FlowColumns,
    Saving,
)
from rackwise.core.savings.potential import CAUSES
from rackwise.core.savings.waterfall import (
    NOTHING,
    SEPARATOR,
    ClusterSavings,
    savings,
    waterfall_eps,
)

__all__ = [
    "ALL",
    "ALONE",
    "ASSIGNMENT",
    "CAUSES",
    "CONDITIONS",
    "EPS",
    "FOLLOWER_FETCH",
    "LEADER_MOVES",
    "NOTHING",
    "PRODUCING",
    "SAVINGS",
    "SEPARATOR",
    "STOCK",
    "TOTAL",
    "UNKNOWN_NAME",
    "USUAL_EPS",
    "WATERFALL",
    "ClusterSavings",
    "FlowColumns",
    "GroupReaders",
    "Layout",
    "Saving",
    "savings",
    "waterfall_eps",
]
