"""What each lever against crossing racks saves, alone and as a waterfall.

```
Flow, Layout     the bill's rows, and what is needed of the cluster
savings          follower-fetch, assignment, producing, leader-moves
Saving           what one of them saves of one topic and client group; Savings: all of them
```
"""

from __future__ import annotations

from rackwise.core.savings.layout import Layout, Readers
from rackwise.core.savings.model import (
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    EPS,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    LEVERS,
    PRODUCING,
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
    "LEVERS",
    "NOTHING",
    "PRODUCING",
    "STOCK",
    "WATERFALL",
    "Flow",
    "Layout",
    "Readers",
    "Saving",
    "Savings",
    "savings",
]
