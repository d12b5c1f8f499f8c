r"""Headline figures of a run, and counters of producers, as OpenMetrics text.

The reader is a scraper or a textfile collector.

```
# HELP rackwise_producer_bytes Bytes of records, by the distance of the partition's leader.
# TYPE rackwise_producer_bytes counter
# UNIT rackwise_producer_bytes bytes
rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 17000
..
rackwise_producer_fallbacks_total{topic="orders",reason="no-local-leader"} 3
# EOF
```

```
# TYPE rackwise_crossing_30d_usd gauge
# UNIT rackwise_crossing_30d_usd usd
# HELP rackwise_crossing_30d_usd Cost of bytes that cross racks, per 30 days.
rackwise_crossing_30d_usd 1101.728..
rackwise_partitions_unsafe{cluster="prod"} 385
..
# EOF
```

Figures of a run are gauges with the exact numbers of `summary.json`. An unknown figure has no
sample; a metric without a sample is left out.

Labels: `ends` is local, cross or unknown. `steered` is true if the partitioner chose the partition;
for records with a key it is false. `tier` is where the partitioner found the partition of a window.
`reason` is why a window ended, or why it used another partition. Label values come from outside the
product: `\`, `"`, line feeds and lone surrogates are escaped.

To add a metric of a run, write a function with `@metric` that yields its samples from the summary.

What this does not do: serve HTTP; add numbers. The numbers come from `PartitionerCounters` or from
the summary. Source: OpenMetrics 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.errors import InvalidConfig
from rackwise.report.shape import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Summary: TypeAlias = Mapping[str, Any]
    Counters: TypeAlias = Mapping[str, Any]
    Samples: TypeAlias = Iterable[tuple[tuple[str, ...], object]]

PREFIX = "rackwise_"
PRODUCER_PREFIX = "rackwise_producer_"
ENDS = ("local", "cross", "unknown")
NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric: its metadata, and the function that returns its samples."""

    name: str
    """Name without prefix; it ends in the unit, if the metric has one."""
    help: str
    unit: str
    labels: tuple[str, ...]
    """Names of the labels that each sample has."""
    samples: Callable[[Mapping[str, Any]], Samples]
    """Summary, or the counters of one topic -> (label values, value); the value None means
    unknown."""

    def braced(self, values: tuple[str, ...], more: Mapping[str, str] = NO_LABELS) -> str:
        """The labels of a sample as text, after the labels in `more`."""
        return _braced({**more, **dict(zip(self.labels, values, strict=True))})


RUN_METRICS: list[Metric] = []
"""Gauges of a run, in output order."""
PRODUCER_METRICS: list[Metric] = []
"""Counters of a producer, in output order."""


def metric(
    name: str,
    help: str,  # noqa: A002 (its name in OpenMetrics)
    *,
    unit: str = "",
    labels: tuple[str, ...] = (),
    to: list[Metric] = RUN_METRICS,
) -> Callable[[Callable[[Mapping[str, Any]], Samples]], Callable[[Mapping[str, Any]], Samples]]:
    """Register the decorated function as the samples of a metric.

    `name` has no prefix: `topics` is exported as `rackwise_topics`. Raises `InvalidConfig` for a
    name with the prefix.
    """
    if name.startswith(PREFIX):
        raise InvalidConfig(
            f"invalid metric name: expected a name without {PREFIX}, got {name}",
            wanted=f"a name without {PREFIX}",
            had=name,
            hint=f"use {name.removeprefix(PREFIX)}: the prefix is added",
        )

    def register(
        samples: Callable[[Mapping[str, Any]], Samples],
    ) -> Callable[[Mapping[str, Any]], Samples]:
        to.append(Metric(name=name, help=help, unit=unit, labels=labels, samples=samples))
        return samples

    return register


def producer_metrics(
    counters: Mapping[str, Counters], *, labels: Mapping[str, str] = NO_LABELS
) -> str:
    """Producer metrics as text. `counters`: topic -> `as_dict()`; `labels`: added to each sample.

    >>> none = {"windows": {}, "switches": {}, "fallbacks": {}}
    >>> bytes_ = {"local_bytes": 7, "cross_bytes": 0, "unknown_bytes": 0}
    >>> text = producer_metrics({"t": {"steered": bytes_, "unsteered": bytes_, **none}})
    >>> text.splitlines()[3]
    'rackwise_producer_bytes_total{topic="t",ends="local",steered="true"} 7'
    """
    lines: list[str] = []
    for each in PRODUCER_METRICS:
        name = PRODUCER_PREFIX + each.name
        lines += [f"# HELP {name} {each.help}", f"# TYPE {name} counter"]
        if each.unit:
            lines.append(f"# UNIT {name} {each.unit}")
        for topic in sorted(counters):
            lines += [
                f"{name}_total{each.braced(values, {**labels, 'topic': topic})} {value}"
                for values, value in each.samples(counters[topic])
            ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def run_metrics(summary: Summary) -> str:
    """The headline figures of a summary document as text. Raises `InvalidSummary`."""
    check(summary)
    labels = {"run_id": summary["run_id"], "version": summary["version"]}
    lines = [
        f"# TYPE {PREFIX}run info",
        f"# HELP {PREFIX}run The run that these figures belong to.",
        f"{PREFIX}run_info{_braced(labels)} 1",
    ]
    for each in RUN_METRICS:
        lines += _gauge(each, summary)
    return "\n".join([*lines, "# EOF"]) + "\n"


def _gauge(each: Metric, summary: Summary) -> Iterator[str]:
    name = PREFIX + each.name
    known = [(values, value) for values, value in each.samples(summary) if value is not None]
    if not known:
        return
    yield f"# TYPE {name} gauge"
    if each.unit:
        yield f"# UNIT {name} {each.unit}"
    yield f"# HELP {name} {each.help}"
    for values, value in known:
        yield f"{name}{each.braced(values)} {value}"


@metric("observed_seconds", "Time span of the observed traffic.", unit="seconds")
def _observed_seconds(summary: Summary) -> Samples:
    if summary["observed"] is not None:
        yield (), summary["observed"]["seconds"]


@metric(
    "observed_bytes",
    "Observed bytes, by whether they crossed racks.",
    unit="bytes",
    labels=("ends",),
)
def _observed_bytes(summary: Summary) -> Samples:
    for ends in ENDS:
        yield (ends,), summary["verdict"][f"bytes_{ends}"]


@metric("crossing_usd", "Cost of the observed bytes that cross racks.", unit="usd")
def _crossing_usd(summary: Summary) -> Samples:
    yield (), summary["verdict"]["usd"]


@metric("crossing_30d_usd", "Cost of bytes that cross racks, per 30 days.", unit="usd")
def _crossing_30d_usd(summary: Summary) -> Samples:
    yield (), summary["verdict"]["usd_30d"]


@metric(
    "savable_30d_usd",
    "Dollars per 30 days that each change saves at most, after the changes before it.",
    unit="usd",
    labels=("saving",),
)
def _savable_30d_usd(summary: Summary) -> Samples:
    part = summary["savings"]
    for step in part["steps"] if part else ():
        if step["view"] == "waterfall":
            yield (step["saving"],), step["usd_saved_30d"]


@metric(
    "doubtful_bytes",
    "Observed bytes whose rack or price is unknown.",
    unit="bytes",
    labels=("why",),
)
def _doubtful_bytes(summary: Summary) -> Samples:
    for why in ("unknown_rack", "unpriced"):
        is_known = summary["observed"] is not None
        yield (why,), summary["quality"][f"bytes_{why}"] if is_known else None


@metric("quarantined_rows", "Malformed rows in the quarantine.")
def _quarantined_rows(summary: Summary) -> Samples:
    if summary["observed"] is not None:
        yield (), summary["quality"]["rows_quarantined"]


@metric("partitions", "Partitions of the cluster.", labels=("cluster",))
def _partitions(summary: Summary) -> Samples:
    for row in summary["clusters"]:
        yield (row["name"],), row["partitions"]


@metric("partitions_unsafe", "Partitions with a finding of severity error.", labels=("cluster",))
def _partitions_unsafe(summary: Summary) -> Samples:
    for row in summary["clusters"]:
        yield (row["name"],), row["partitions_unsafe"]


@metric("findings", "Findings of each broken rule.", labels=("rule", "severity"))
def _findings(summary: Summary) -> Samples:
    for row in summary["findings"]["by_rule"]:
        yield (row["rule"], row["severity"]), row["count"]


@metric(
    "rack_loss_offline_partitions",
    "Partitions that go offline when all brokers of the rack are lost.",
    labels=("cluster", "rack"),
)
def _rack_loss_offline_partitions(summary: Summary) -> Samples:
    for row in summary["blast"]:
        yield (row["cluster"], row["rack"]), row["partitions_offline"]


@metric(
    "snapshot_timestamp_seconds", "Time of the last snapshot.", unit="seconds", labels=("cluster",)
)
def _snapshot_timestamp_seconds(summary: Summary) -> Samples:
    for row in summary["clusters"]:
        yield (row["name"],), _epoch(row["taken_at"])


@metric("plan_replicas", "Replicas that the plan of the cluster moves.", labels=("cluster",))
def _plan_replicas(summary: Summary) -> Samples:
    for row in summary["plans"]["rows"] if summary["plans"] else ():
        yield (row["cluster"],), row["moves"]


@metric("plan_proved", "Whether it is proved that no plan costs less: 1 or 0.", labels=("cluster",))
def _plan_proved(summary: Summary) -> Samples:
    for row in summary["plans"]["rows"] if summary["plans"] else ():
        yield (row["cluster"],), int(row["verdict"] == "proved")


@metric(
    "bytes",
    "Bytes of records, by the distance of the partition's leader.",
    unit="bytes",
    to=PRODUCER_METRICS,
    labels=("ends", "steered"),
)
def _producer_bytes(counters: Counters) -> Samples:
    for part, steered in (("steered", "true"), ("unsteered", "false")):
        for ends in ENDS:
            yield (ends, steered), counters[part][f"{ends}_bytes"]


@metric(
    "windows",
    "Windows started, by the tier of their partition.",
    to=PRODUCER_METRICS,
    labels=("tier",),
)
def _producer_windows(counters: Counters) -> Samples:
    return _sorted(counters["windows"])


@metric("switches", "Windows ended, by reason.", to=PRODUCER_METRICS, labels=("reason",))
def _producer_switches(counters: Counters) -> Samples:
    return _sorted(counters["switches"])


@metric(
    "fallbacks",
    "Windows outside the preferred rack, by reason.",
    to=PRODUCER_METRICS,
    labels=("reason",),
)
def _producer_fallbacks(counters: Counters) -> Samples:
    return _sorted(counters["fallbacks"])


def _sorted(counts: Mapping[str, int]) -> Samples:
    for name, value in sorted(counts.items()):
        yield (name,), value


def _epoch(taken_at: str | None) -> int | None:
    """Seconds since 1970; None if the text is not a time."""
    try:
        return None if taken_at is None else int(datetime.fromisoformat(taken_at).timestamp())
    except ValueError:
        return None


def _braced(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    sound = value.encode("utf-8", "backslashreplace").decode()
    return sound.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
