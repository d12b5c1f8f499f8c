"""Computes the bill from facts. Each step is checked against the previous step.

Everything but the shares of the run is about one cluster, so a task bills whole clusters, one after
another, with Arrow tables and numpy. Spark moves the rows of a cluster to one task:

```
metered      snapshots -> flows of the meter                                        stored
sources      facts, meter, rates -> first look -> traffic       a pass over the facts
days         traffic, snapshots, earlier runs -> days of the result
cross_rack   traffic -> sums, weights                           in the tasks that read
  by cluster sums -> billed, rest       precedence of sources; the rest gives the weights
             billed -> cross_rack       topics, names, levels, dollars         written by day
results
  by cluster cross_rack -> results      standings, by_topic .. by_kind, matrix, charges, savings
tables       results -> bill            checked, joined, ordered, with shares
```

`observed` has the first two, and `result_bill` all of them, in this order. `inputs` has what they
depend on.

A task has the rows of one cluster in memory.

What this does not do: write CSV files or the summary.
"""
