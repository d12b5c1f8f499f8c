"""What each change against crossing racks saves, alone and as a waterfall.

```
Flow, Layout     rows of the bill, and what savings need of the cluster
savings          computes follower-fetch, assignment, producing and leader-moves
Saving           one row: what a change saves of one topic and client group; Savings: all rows
```
"""

from __future__ import annotations

from rackwise.core.savings.layout import GroupReaders, Layout
from rackwise.core.savings.model import (
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    EPS,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCING,
    SAVINGS,
    STOCK,
    WATERFALL,
    Flow,
    Saving,
)
from rackwise.core.savings.waterfall import NOTHING, Savings, savings

__all__ = [
    "ALONE",
    "ASSIGNMENT",
    "CONDITIONS",
    "EPS",
    "FOLLOWER_FETCH",
    "LEADER_MOVES",
    "NOTHING",
    "PRODUCING",
    "SAVINGS",
    "STOCK",
    "WATERFALL",
    "Flow",
    "GroupReaders",
    "Layout",
    "Saving",
    "Savings",
    "savings",
]
