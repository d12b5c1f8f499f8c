"""Rackwise: rack awareness for Apache Kafka.

The front door: every public name, resolved when it is first asked for, so that `import rackwise`
loads neither numpy nor a Kafka client nor Spark. `from rackwise import pipeline` is the Spark room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.core.assignors import Member as Member
    from rackwise.core.assignors import assign_optimal as assign_optimal
    from rackwise.core.assignors import evaluate, explain
    from rackwise.core.audit import Finding as Finding
    from rackwise.core.audit import Findings as Findings
    from rackwise.core.audit import audit as audit
    from rackwise.core.blast import RackLoss as RackLoss
    from rackwise.core.blast import blast_radius as blast_radius
    from rackwise.core.errors import RackwiseError as RackwiseError
    from rackwise.core.model import Broker as Broker
    from rackwise.core.model import Cluster as Cluster
    from rackwise.core.model import Partition as Partition
    from rackwise.core.model import PartitionTable as PartitionTable
    from rackwise.core.model import Topic as Topic
    from rackwise.core.partitioner import PartitionerConfig as PartitionerConfig
    from rackwise.core.partitioner import TopicPartitioner as TopicPartitioner
    from rackwise.core.partitioner import split_by_balance as split_by_balance
    from rackwise.core.placement import Kip36 as Kip36
    from rackwise.core.placement import Levels as Levels
    from rackwise.core.placement import Placement as Placement
    from rackwise.core.placement import RackMode as RackMode
    from rackwise.core.placement import add_partitions as add_partitions
    from rackwise.core.placement import change_replication as change_replication
    from rackwise.core.placement import place as place
    from rackwise.core.planning.model import Add as Add
    from rackwise.core.planning.model import Balance as Balance
    from rackwise.core.planning.model import Drain as Drain
    from rackwise.core.planning.model import Leaders as Leaders
    from rackwise.core.planning.model import Plan as Plan
    from rackwise.core.planning.model import Repair as Repair
    from rackwise.core.planning.model import Replace as Replace
    from rackwise.core.planning.model import SetReplication as SetReplication
    from rackwise.core.planning.plan import plan as plan
    from rackwise.core.planning.what_if import suppose as suppose
    from rackwise.core.policy import Policy as Policy
    from rackwise.core.racks import Rack as Rack
    from rackwise.core.traffic import Price as Price

_HOMES = {
    "Add": "rackwise.core.planning.model",
    "Balance": "rackwise.core.planning.model",
    "Broker": "rackwise.core.model",
    "Cluster": "rackwise.core.model",
    "Drain": "rackwise.core.planning.model",
    "Finding": "rackwise.core.audit",
    "Findings": "rackwise.core.audit",
    "Kip36": "rackwise.core.placement",
    "Leaders": "rackwise.core.planning.model",
    "Levels": "rackwise.core.placement",
    "Member": "rackwise.core.assignors",
    "Partition": "rackwise.core.model",
    "PartitionTable": "rackwise.core.model",
    "PartitionerConfig": "rackwise.core.partitioner",
    "Placement": "rackwise.core.placement",
    "Plan": "rackwise.core.planning.model",
    "Policy": "rackwise.core.policy",
    "Price": "rackwise.core.traffic",
    "Rack": "rackwise.core.racks",
    "RackLoss": "rackwise.core.blast",
    "RackMode": "rackwise.core.placement",
    "RackwiseError": "rackwise.core.errors",
    "Repair": "rackwise.core.planning.model",
    "Replace": "rackwise.core.planning.model",
    "SetReplication": "rackwise.core.planning.model",
    "Topic": "rackwise.core.model",
    "TopicPartitioner": "rackwise.core.partitioner",
    "add_partitions": "rackwise.core.placement",
    "assign_optimal": "rackwise.core.assignors",
    "audit": "rackwise.core.audit",
    "blast_radius": "rackwise.core.blast",
    "change_replication": "rackwise.core.placement",
    "evaluate": "rackwise.core.assignors",
    "explain": "rackwise.core.assignors",
    "place": "rackwise.core.placement",
    "plan": "rackwise.core.planning.plan",
    "split_by_balance": "rackwise.core.partitioner",
    "suppose": "rackwise.core.planning.what_if",
}

__all__ = [
    "Add",
    "Balance",
    "Broker",
    "Cluster",
    "Drain",
    "Finding",
    "Findings",
    "Kip36",
    "Leaders",
    "Levels",
    "Member",
    "Partition",
    "PartitionTable",
    "PartitionerConfig",
    "Placement",
    "Plan",
    "Policy",
    "Price",
    "Rack",
    "RackLoss",
    "RackMode",
    "RackwiseError",
    "Repair",
    "Replace",
    "SetReplication",
    "Topic",
    "TopicPartitioner",
    "add_partitions",
    "assign_optimal",
    "audit",
    "blast_radius",
    "change_replication",
    "evaluate",
    "explain",
    "place",
    "plan",
    "split_by_balance",
    "suppose",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    if isinstance(value, type):
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
