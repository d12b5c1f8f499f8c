"""Metrics of runs, audits and producers, in the text format of Prometheus.

```
exposition   the format: metrics, samples, and the decorator that registers a metric
run          metrics of a summary (`report --metrics`) and of an audit (`audit --metrics`)
nightly      metrics of a run of `nightly`
producer     counters of a rack-aware producer
```

Nothing is imported here: a producer does not load the metrics of a run.
"""
