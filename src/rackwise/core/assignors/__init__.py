"""Who reads which partition: the assignors of consumer groups, and what an assignment costs.

```
assignor      racks                                    goal
range         preferred, co-partitioned topics         a run of each topic for each member; loads
              together                                 differ by at most one in a topic
roundrobin    not looked at                            one partition after the other
sticky        preferred                                even loads, then what members had
cooperative   preferred                                the same, given up before it is given away
optimal       levels, weights, proven best             even loads, then least crossing, then
                                                       fewest moves; wants ortools
```

`evaluate` measures any assignment, whoever made it; `best_local` and `explain` say how local one
can be and which racks limit it; `read_replica` says which replica is read, `reads_by_broker` how
much each broker has to give. `rack_watch_step` says when the leader of a group should ask for a new
assignment, `settle_step` when racks are left out so that a group comes to rest, `simulate_rounds`
what becomes of a group.
"""

from __future__ import annotations

from rackwise.core.assignors.described import Described, check_group, described, named_group
from rackwise.core.assignors.kafka.cooperative import assign_cooperative, withhold
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.measure.brokers import BrokerReads, reads_by_broker
from rackwise.core.assignors.measure.compare import ASSIGNORS, Simulated, changed, simulated
from rackwise.core.assignors.measure.evaluate import (
    AssignmentReport,
    LevelCrossing,
    RackReads,
    Reads,
    Skipped,
    evaluate,
)
from rackwise.core.assignors.measure.explain import Explanation, explain
from rackwise.core.assignors.measure.local_bound import best_local
from rackwise.core.assignors.measure.replica_read import read_replica
from rackwise.core.assignors.measure.review import Review, review
from rackwise.core.assignors.measure.simulate import simulate_rounds
from rackwise.core.assignors.members import (
    Assignment,
    Member,
    Members,
    ReplicaRacks,
    Target,
    TopicPartition,
    replica_racks,
)
from rackwise.core.assignors.optimal.assign import Balance, assign_optimal
from rackwise.core.assignors.settle import Settling, settle_step, without_racks
from rackwise.core.assignors.watch import RackView, RackWatch, Rejoin, Stay, rack_watch_step

__all__ = [
    "ASSIGNORS",
    "Assignment",
    "AssignmentReport",
    "Balance",
    "BrokerReads",
    "Described",
    "Explanation",
    "LevelCrossing",
    "Member",
    "Members",
    "RackReads",
    "RackView",
    "RackWatch",
    "Reads",
    "Rejoin",
    "ReplicaRacks",
    "Review",
    "Settling",
    "Simulated",
    "Skipped",
    "Stay",
    "Target",
    "TopicPartition",
    "assign_cooperative",
    "assign_optimal",
    "assign_range",
    "assign_roundrobin",
    "assign_sticky",
    "best_local",
    "changed",
    "check_group",
    "described",
    "evaluate",
    "explain",
    "named_group",
    "rack_watch_step",
    "read_replica",
    "reads_by_broker",
    "replica_racks",
    "review",
    "settle_step",
    "simulate_rounds",
    "simulated",
    "withhold",
    "without_racks",
]
