r"""A fleet of Kafka clusters that never existed, its network traffic, and the truth about both.

Goals, in order: whoever reads the files can be told exactly what they hold, to the byte and the
nano-dollar; the same options give the same files on every machine; a million flows take seconds.

Constraints. Each file of flows is a function of (seed, file index), and each cluster of (seed,
cluster index): files may be made in any order, or alone. Draws are raw PCG64 words with integer
arithmetic on top (`draws`). The truth is added up from what was drawn, never read back from what
was written.

```
options -> clusters (placements, sizes, leaders) -> topology (endpoints, clients, partitions)
             |                                        |
             v                                        v      for each file index
          snapshots, violations per rule            flows -> rows -> faults -> columns
                                                      \______________ tally ______________/
                                                                       |
                                                     truth: fates, kinds, levels, racks, dollars
```

What this does not do: write files (the pipeline writes Parquet, the adapters text and snapshots);
imitate the statistics of anybody's cluster.
"""

from __future__ import annotations

from rackwise.core.fleet.flows.columns import Edit, FlowFile, Numbers, Spoiled, Words
from rackwise.core.fleet.flows.files import (
    Fleet,
    flow_file,
    generated_fleet,
    observed_fleet,
    readdressed,
    truth,
)
from rackwise.core.fleet.flows.truth import level_names_of
from rackwise.core.fleet.world.options import FleetOptions, FlowFormat
from rackwise.core.fleet.world.placements import Shape

__all__ = [
    "Edit",
    "Fleet",
    "FleetOptions",
    "FlowFile",
    "FlowFormat",
    "Numbers",
    "Shape",
    "Spoiled",
    "Words",
    "flow_file",
    "generated_fleet",
    "level_names_of",
    "observed_fleet",
    "readdressed",
    "truth",
]
