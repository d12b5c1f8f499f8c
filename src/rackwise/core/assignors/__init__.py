"""Assignors of consumer groups, and measures of what an assignment costs.

```
assignor      racks                          goal
range         preferred; co-partitioned      consecutive partitions of each topic for each member;
              topics stay together           loads differ by at most one in a topic
roundrobin    ignored                        one partition after the other
sticky        preferred                      even loads, then few moves
cooperative   preferred                      the same; partitions are revoked before they move
optimal       levels, weights, proven best   even loads, then least crossing, then fewest moves;
                                             needs ortools
uniform       ignored; on the broker         even loads, then few moves (KIP-848)
server range  ignored; on the broker         consecutive partitions of each topic (KIP-848)
```

`assign_on_server` and `assign_sticky_on_server` are optimal and sticky as the server-side assignors
make them, for groups of the consumer protocol.

`evaluate` measures any assignment, `server_outcomes` what a group loses on the broker. `best_local`
and `explain` compute how local one can be, and which racks limit it. `read_replica` returns the
replica that a consumer reads, `reads_by_broker` the load of each broker. `rack_watch_step` decides
when the leader of a group requests a new assignment, `settle_step` when racks are ignored so that a
group settles. `simulate_rounds` runs the rounds of a group.
"""

from __future__ import annotations

from rackwise.core.assignors.described import (
    CONSUMER,
    SHARE,
    STREAMS,
    WITHOUT_CHOICE,
    DescribedGroup,
    check_group,
    describe_group,
    find_group,
    target_of,
)
from rackwise.core.assignors.kafka.cooperative import assign_cooperative, withhold
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.kafka.sticky_on_server import assign_sticky_on_server
from rackwise.core.assignors.measure.brokers import BrokerReads, reads_by_broker
from rackwise.core.assignors.measure.compare import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    SimulatedAssignor,
    change_members,
    simulate_assignor,
)
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
from rackwise.core.assignors.measure.migration import (
    LikelyReaders,
    ServerOutcome,
    present_readers,
    server_outcomes,
)
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
from rackwise.core.assignors.optimal.assign import BalanceScope, assign_optimal
from rackwise.core.assignors.optimal.on_server import assign_on_server
from rackwise.core.assignors.server.range import assign_server_range
from rackwise.core.assignors.server.uniform import assign_uniform
from rackwise.core.assignors.settle import Settling, settle_step, without_racks
from rackwise.core.assignors.watch import RackView, RackWatch, Rejoin, Stay, rack_watch_step

__all__ = [
    "ASSIGNORS",
    "CONSUMER",
    "SERVER_ASSIGNORS",
    "SHARE",
    "STREAMS",
    "WITHOUT_CHOICE",
    "Assignment",
    "AssignmentReport",
    "BalanceScope",
    "BrokerReads",
    "DescribedGroup",
    "Explanation",
    "LevelCrossing",
    "LikelyReaders",
    "Member",
    "Members",
    "RackReads",
    "RackView",
    "RackWatch",
    "Reads",
    "Rejoin",
    "ReplicaRacks",
    "Review",
    "ServerOutcome",
    "Settling",
    "SimulatedAssignor",
    "Skipped",
    "Stay",
    "Target",
    "TopicPartition",
    "assign_cooperative",
    "assign_on_server",
    "assign_optimal",
    "assign_range",
    "assign_roundrobin",
    "assign_server_range",
    "assign_sticky",
    "assign_sticky_on_server",
    "assign_uniform",
    "best_local",
    "change_members",
    "check_group",
    "describe_group",
    "evaluate",
    "explain",
    "find_group",
    "present_readers",
    "rack_watch_step",
    "read_replica",
    "reads_by_broker",
    "replica_racks",
    "review",
    "server_outcomes",
    "settle_step",
    "simulate_assignor",
    "simulate_rounds",
    "target_of",
    "withhold",
    "without_racks",
]
