r"""The text format of Prometheus: metrics with their samples, and how a metric is registered.

Goals, in order: a collector accepts the file, because it rejects the file, or every metric of the
host, for one bad line; a number is the exact number of its source; what is not known has no sample.

```
# HELP rackwise_partitions_unsafe Partitions with a finding of severity error.
# TYPE rackwise_partitions_unsafe gauge
rackwise_partitions_unsafe{cluster="prod"} 385
```

Rules of the format that this file keeps:

1. All lines of a metric are together: HELP, TYPE, then the samples.
2. A counter ends in `_total`, also in HELP and TYPE. No other metric does. There is no UNIT and no
   `# EOF`, which belong to OpenMetrics.
3. Two samples of a metric differ in a label. A second sample with the same labels is an error here,
   because it would be an error of the whole collector.
4. In label values `\`, `"` and line feeds are escaped. Label values come from outside the product:
   a lone surrogate has no UTF-8 and is written as its code.

A gauge without a sample is left out. A counter without a sample keeps HELP and TYPE.

What this does not do: add numbers, write files, serve HTTP. Source: Prometheus, exposition formats,
text format 0.0.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rackwise.core.errors import InvalidConfig, InvalidSummary
from rackwise.core.text import escaped

Samples: TypeAlias = Iterable[tuple[tuple[str, ...], object]]
"""(label values, value) of each sample; the value None means unknown."""
SamplesOf: TypeAlias = Callable[[Mapping[str, Any]], Samples]

PREFIX: Final = "rackwise_"
NO_LABELS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric: its metadata, and the function that returns its samples."""

    name: str
    """Name without the prefix of its set."""
    help: str
    labels: tuple[str, ...]
    """Names of the labels that each sample has."""
    samples: SamplesOf
    """Returns the samples from the figures of the set."""


@dataclass(frozen=True, slots=True)
class MetricSet:
    """Metrics that are written together, in output order."""

    prefix: str
    """What each name begins with."""
    type: str
    """gauge or counter."""
    metrics: list[Metric] = field(default_factory=list)


RUN: Final = MetricSet(PREFIX, "gauge")
"""Metrics of a summary."""
AUDIT: Final = MetricSet(PREFIX, "gauge")
"""Metrics of the audit of one cluster."""
NIGHTLY: Final = MetricSet(f"{PREFIX}nightly_", "gauge")
"""Metrics of a run of `nightly`."""
PRODUCER: Final = MetricSet(f"{PREFIX}producer_", "counter")
"""Metrics of the counters of one topic."""


def metric(
    name: str,
    help: str,  # noqa: A002 (its name in the format)
    *,
    labels: tuple[str, ...] = (),
    to: tuple[MetricSet, ...] = (RUN,),
) -> Callable[[SamplesOf], SamplesOf]:
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

    def register(samples: SamplesOf) -> SamplesOf:
        for each in to:
            each.metrics.append(Metric(name=name, help=help, labels=labels, samples=samples))
        return samples

    return register


def exposition(
    metrics: MetricSet, parts: Iterable[tuple[Mapping[str, str], Mapping[str, Any]]]
) -> str:
    """The metrics of a set as text.

    `parts`: figures, each with labels that its samples have in front of their own.

    Raises `InvalidSummary` for two samples with the same labels.
    """
    held = list(parts)
    lines: list[str] = []
    for each in metrics.metrics:
        name = f"{metrics.prefix}{each.name}"
        samples: dict[str, object] = {}
        for labels, figures in held:
            for values, value in each.samples(figures):
                if value is None:
                    continue
                own = dict(zip(each.labels, values, strict=True))
                place = f"{name}{_braced({**labels, **own})}"
                if place in samples:
                    raise _twice(place)
                samples[place] = value
        if samples or metrics.type == "counter":
            lines += [f"# HELP {name} {each.help}", f"# TYPE {name} {metrics.type}"]
            lines += [f"{place} {value}" for place, value in samples.items()]
    return "".join(f"{line}\n" for line in lines)


def _braced(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    sound = value.encode("utf-8", "backslashreplace").decode()
    return sound.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _twice(place: str) -> InvalidSummary:
    return InvalidSummary(
        f"invalid metrics: expected each sample once, got {escaped(place)} twice",
        wanted="different labels",
        had=place,
        hint="give each cluster, topic and rack one name, then run the command again",
    )
