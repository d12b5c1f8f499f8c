"""What each change saves: alone, and on top of the changes before it.

Goals, in order: no byte is counted twice; every sum is exact to the nano-dollar; no step costs.

```
demo: orders 0 [1 2], 1 [2 3], 2 [3 1]; all produced in a; read in b, a, c; 3 GiB each; 0.02 per GiB

                  alone            waterfall        left
today                                               21 GiB  0.42
follower-fetch    3 GiB  0.06      3 GiB  0.06      18      0.36
assignment        6      0.12      3      0.06      15      0.30
producing, 0.1    0.3    0.006     0.3    0.006     14.7    0.294
  without bound   6      0.12
leader-moves      0      0         0      0         14.7    0.294   replication: cannot be saved
```

The algorithm. `spread` attributes the flows of the bill to partitions. A change is a function from
such traffic to other traffic. It saves the difference of the two costs, by the rule of the bill. In
the view `alone` every change starts from today's traffic. In the waterfall it starts from the
traffic that the changes before it left, so the steps add up to the first cost minus the last one.

Some changes apply to units: one client group, one topic. A unit is left out where the change would
cost money, or would move bytes to where no price is known. Its row then saves 0 and says why.

Ranges. Each row has the least and the greatest saving, in bytes and dollars. The least saving is
what bytes with known partitions and readers save, minus what all other bytes of the unit could lose
by the same change. The greatest saving adds the bound of these other bytes. See `potential`, which
also says when a saving is known to be 0. If nothing but 0 is proved and the bound is above 0, the
least saving is None. The row of the view `total` counts each byte once, although several changes
could save it. `producing` is proved only for topics whose share of records without a key is given;
for other topics it is between nothing and its value.

```
fetch a -> b  3 GiB of orders    3 GiB saved        low 3 GiB   high 3 GiB
fetch a -> b  2 GiB of unknown   up to 2 GiB        low None    high 2 GiB    the topic is not known
total                                               low 3 GiB   high 5 GiB
```

The bound of `producing` in the waterfall is `USUAL_EPS` if it is one of the bounds, otherwise the
largest finite one. Alone, every bound has its row, and so has the saving without a bound.

Modules: `steps` applies a change, `rows` computes the rows of a step, `cluster` orders the steps.

Columns. Traffic is in chunks of lanes (see `traffic.chunks`), and a change is applied chunk by
chunk. What it costs is added up by place, the topic and client group of a lane. A unit is a set of
places, so the sums of places decide which units are left out. Rows are computed from these sums
too, so the traffic of a step is dropped as soon as its rows and the next step are computed.

What this does not do: change how much is read or copied of a partition when producers choose other
partitions; look for the best order of changes; plan moves of replicas; compute later steps again
for records with keys: they start from the traffic that `producing` leaves at its greatest saving.
"""

from rackwise.core.savings.waterfall.cluster import ClusterSavings, savings, waterfall_eps
from rackwise.core.savings.waterfall.rows import NOTHING
from rackwise.core.savings.waterfall.steps import SEPARATOR

__all__ = ["NOTHING", "SEPARATOR", "ClusterSavings", "savings", "waterfall_eps"]
