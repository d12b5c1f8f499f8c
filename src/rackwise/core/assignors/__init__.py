"""Who reads which partition: the assignors of consumer groups, and what an assignment costs.

```
assignor      racks                                    goal
range         preferred, co-partitioned topics         a run of each topic for each member; loads
              together                                 differ by at most one in a topic
roundrobin    not looked at                            one partition after the other
sticky        preferred                                even loads, then what members had
cooperative   preferred                                the same, given up before it is given away
```

`evaluate` measures any assignment, whoever made it; `read_replica` says which replica is read;
`rack_watch_step` says when the leader of a group should ask for a new assignment.
"""

from __future__ import annotations

from rackwise.core.assignors.cooperative import assign_cooperative, withhold
from rackwise.core.assignors.evaluate import (
    AssignmentReport,
    LevelCrossing,
    RackReads,
    Reads,
    Skipped,
    evaluate,
)
from rackwise.core.assignors.follow import read_replica
from rackwise.core.assignors.members import (
    Assignment,
    Member,
    Members,
    ReplicaRacks,
    Target,
    TopicPartition,
    replica_racks,
)
from rackwise.core.assignors.range import assign_range
from rackwise.core.assignors.roundrobin import assign_roundrobin
from rackwise.core.assignors.sticky import assign_sticky
from rackwise.core.assignors.watch import RackView, RackWatch, Rejoin, Stay, rack_watch_step

__all__ = [
    "Assignment",
    "AssignmentReport",
    "LevelCrossing",
    "Member",
    "Members",
    "RackReads",
    "RackView",
    "RackWatch",
    "Reads",
    "Rejoin",
    "ReplicaRacks",
    "Skipped",
    "Stay",
    "Target",
    "TopicPartition",
    "assign_cooperative",
    "assign_range",
    "assign_roundrobin",
    "assign_sticky",
    "evaluate",
    "rack_watch_step",
    "read_replica",
    "replica_racks",
    "withhold",
]
