r"""Generates a fleet of Kafka clusters, its network traffic, and the truth about both.

Goals, in order: the exact content of the files is known, to the byte and the nano-dollar; the same
options give the same files on every machine; a million flows take seconds.

Constraints. Each flow file is a function of (seed, file index), and each cluster a function of
(seed, cluster index), so files can be generated in any order, or alone. Random draws are raw PCG64
words with integer arithmetic on top (`draws`). The truth is the sum of what was drawn; it is never
read back from the files.

```
options -> clusters (placements, sizes, leaders) -> topology (endpoints, clients, partitions)
             |                                        |
             v                                        v      for each file index
          snapshots, violations per rule            flows -> rows -> faults -> columns
                                                      \______________ tally ______________/
                                                                       |
                                                     truth: outcomes, kinds, levels, racks, dollars
```

With several looks, flows are not independent of each other. What producers write to a partition is
copied by its followers and read by its groups, and snapshots have the offsets, members and commits
that belong to it (`looks`):

```
readers, logs -> batches for each file index -> flows of batches -> rows, as above
                              \_________________ snapshots at each look
```

What this does not do: write files (the pipeline writes Parquet, the adapters text and snapshots);
imitate the statistics of a real cluster.
"""

from __future__ import annotations

from rackwise.core.fleet.flows.columns import (
    FlowNumberColumn,
    FlowTextColumn,
    GeneratedFile,
    LineEdit,
    SpoiledLine,
)
from rackwise.core.fleet.flows.files import (
    GeneratedFleet,
    fleet_of_clusters,
    flow_file,
    generate_fleet,
    iter_looks,
    replace_addresses,
    truth,
)
from rackwise.core.fleet.flows.truth import level_names_of
from rackwise.core.fleet.world.options import FleetOptions, FlowFormat
from rackwise.core.fleet.world.placements import Shape

__all__ = [
    "FleetOptions",
    "FlowFormat",
    "FlowNumberColumn",
    "FlowTextColumn",
    "GeneratedFile",
    "GeneratedFleet",
    "LineEdit",
    "Shape",
    "SpoiledLine",
    "fleet_of_clusters",
    "flow_file",
    "generate_fleet",
    "iter_looks",
    "level_names_of",
    "replace_addresses",
    "truth",
]
