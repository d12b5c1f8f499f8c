"""The partition of a record without a key: near the producer, with no rack overloaded.

```
choice      TopicPartitioner: windows of KIP-794, candidates and weights of KIP-1123
load        WindowLedger: windows that are not acknowledged, nodes that answer too late
keys        partition_for_key: Kafka's murmur2 over all partitions
bounded     split_by_balance: as much local as a bound on the racks' load lets; SplitSchedule
            gives a producer's windows to racks by share; prices where rates are not known
```
"""

from __future__ import annotations

from rackwise.core.partitioner.choice.config import PRODUCER, PRODUCER_RULES, PartitionerConfig
from rackwise.core.partitioner.choice.counters import Bytes, PartitionerCounters
from rackwise.core.partitioner.choice.keys import murmur2, partition_for_key, record_bytes
from rackwise.core.partitioner.choice.kip1123 import Candidates
from rackwise.core.partitioner.choice.ledger import WindowLedger
from rackwise.core.partitioner.choice.rack_penalties import penalty_step, shares_from_penalties
from rackwise.core.partitioner.choice.schedule import SplitSchedule
from rackwise.core.partitioner.choice.sticky import TopicPartitioner
from rackwise.core.partitioner.choice.view import (
    PartitionLoad,
    QueueEntry,
    TopicView,
    UpstreamLoad,
    upstream_load,
)
from rackwise.core.partitioner.simulate.replay import (
    MODES,
    BrokerFault,
    Mode,
    ProducerScenario,
    SimulationResult,
    simulate_producers,
)
from rackwise.core.partitioner.simulate.topic_racks import (
    WeightBasis,
    leaders_without_rack,
    rack_weights,
    topic_view,
)
from rackwise.core.partitioner.split.advice import (
    BOUNDS,
    BoundPrice,
    SplitAdvice,
    advised_leaders,
    split_advice,
)
from rackwise.core.partitioner.split.cost import (
    CrossCost,
    EvenCross,
    cross_cost,
    even_cross,
    produce_cost,
)
from rackwise.core.partitioner.split.rates import RackRates
from rackwise.core.partitioner.split.split import (
    RENEWED,
    Split,
    full_locality_eps,
    kip_load_factor,
    largest_change,
    least_eps,
    split_by_balance,
    uniform_local_weight,
    uniform_shares,
)

__all__ = [
    "BOUNDS",
    "MODES",
    "PRODUCER",
    "PRODUCER_RULES",
    "RENEWED",
    "BoundPrice",
    "BrokerFault",
    "Bytes",
    "Candidates",
    "CrossCost",
    "EvenCross",
    "Mode",
    "PartitionLoad",
    "PartitionerConfig",
    "PartitionerCounters",
    "ProducerScenario",
    "QueueEntry",
    "RackRates",
    "SimulationResult",
    "Split",
    "SplitAdvice",
    "SplitSchedule",
    "TopicPartitioner",
    "TopicView",
    "UpstreamLoad",
    "WeightBasis",
    "WindowLedger",
    "advised_leaders",
    "cross_cost",
    "even_cross",
    "full_locality_eps",
    "kip_load_factor",
    "largest_change",
    "leaders_without_rack",
    "least_eps",
    "murmur2",
    "partition_for_key",
    "penalty_step",
    "produce_cost",
    "rack_weights",
    "record_bytes",
    "shares_from_penalties",
    "simulate_producers",
    "split_advice",
    "split_by_balance",
    "topic_view",
    "uniform_local_weight",
    "uniform_shares",
    "upstream_load",
]
