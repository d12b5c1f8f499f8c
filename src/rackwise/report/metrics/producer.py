"""Counters of a rack-aware producer as metrics.

```
# HELP rackwise_producer_bytes_total Bytes of records, by the distance of the partition's leader.
# TYPE rackwise_producer_bytes_total counter
rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 17000
..
rackwise_producer_fallbacks_total{topic="orders",reason="no-local-leader"} 3
```

Labels: `ends` is local, cross or unknown. `steered` is true if the partitioner chose the partition;
for records with a key it is false. `tier` is where the partitioner found the partition of a window.
`reason` is why a window ended, or why it used another partition.

What this does not do: count; the numbers come from `PartitionerCounters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rackwise.report.metrics.exposition import NO_LABELS, PRODUCER, exposition, metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.report.metrics.exposition import Samples

ENDS: Final = ("local", "cross", "unknown")


def producer_metrics(
    counters: Mapping[str, Mapping[str, Any]], *, labels: Mapping[str, str] = NO_LABELS
) -> str:
    """Producer metrics as text. `counters`: topic -> `as_dict()`; `labels`: added to each sample.

    >>> none = {"windows": {}, "switches": {}, "fallbacks": {}}
    >>> bytes_ = {"local_bytes": 7, "cross_bytes": 0, "unknown_bytes": 0}
    >>> text = producer_metrics({"t": {"steered": bytes_, "unsteered": bytes_, **none}})
    >>> text.splitlines()[2]
    'rackwise_producer_bytes_total{topic="t",ends="local",steered="true"} 7'
    """
    return exposition(
        PRODUCER, [({**labels, "topic": topic}, counters[topic]) for topic in sorted(counters)]
    )


@metric(
    "bytes_total",
    "Bytes of records, by the distance of the partition's leader.",
    labels=("ends", "steered"),
    to=(PRODUCER,),
)
def _bytes(counters: Mapping[str, Any]) -> Samples:
    for part, steered in (("steered", "true"), ("unsteered", "false")):
        for ends in ENDS:
            yield (ends, steered), counters[part][f"{ends}_bytes"]


@metric(
    "windows_total",
    "Windows started, by the tier of their partition.",
    labels=("tier",),
    to=(PRODUCER,),
)
def _windows(counters: Mapping[str, Any]) -> Samples:
    return _sorted(counters["windows"])


@metric("switches_total", "Windows ended, by reason.", labels=("reason",), to=(PRODUCER,))
def _switches(counters: Mapping[str, Any]) -> Samples:
    return _sorted(counters["switches"])


@metric(
    "fallbacks_total",
    "Windows outside the preferred rack, by reason.",
    labels=("reason",),
    to=(PRODUCER,),
)
def _fallbacks(counters: Mapping[str, Any]) -> Samples:
    return _sorted(counters["fallbacks"])


def _sorted(counts: Mapping[str, int]) -> Samples:
    for name, value in sorted(counts.items()):
        yield (name,), value
