"""Rackwise: rack awareness for Apache Kafka.

The front door: every public name, resolved when it is first asked for, so that `import rackwise`
loads neither numpy nor a Kafka client nor Spark. `from rackwise import pipeline` is the Spark room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from rackwise.core.policy import Policy as Policy
    from rackwise.core.racks import Rack as Rack
    from rackwise.core.traffic import Price as Price

_HOMES = {
    "Broker": "rackwise.core.model",
    "Cluster": "rackwise.core.model",
    "Finding": "rackwise.core.audit",
    "Findings": "rackwise.core.audit",
    "Partition": "rackwise.core.model",
    "PartitionTable": "rackwise.core.model",
    "Policy": "rackwise.core.policy",
    "Price": "rackwise.core.traffic",
    "Rack": "rackwise.core.racks",
    "RackLoss": "rackwise.core.blast",
    "RackwiseError": "rackwise.core.errors",
    "Topic": "rackwise.core.model",
    "audit": "rackwise.core.audit",
    "blast_radius": "rackwise.core.blast",
}

__all__ = [
    "Broker",
    "Cluster",
    "Finding",
    "Findings",
    "Partition",
    "PartitionTable",
    "Policy",
    "Price",
    "Rack",
    "RackLoss",
    "RackwiseError",
    "Topic",
    "audit",
    "blast_radius",
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
