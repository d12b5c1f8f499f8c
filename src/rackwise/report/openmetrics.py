r"""Headline figures of a run, and counters of producers, as OpenMetrics text.

For what scrapes programs or reads their files, as a textfile collector does.

```
# HELP rackwise_producer_bytes Bytes given to partitions, by how far their leaders were.
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
# HELP rackwise_crossing_30d_usd What bytes that cross racks cost in 30 days.
rackwise_crossing_30d_usd 1101.728..
rackwise_partitions_unsafe{cluster="prod"} 385
..
# EOF
```

Figures of a run are gauges, the exact ones of `summary.json`. What is not known has no sample, and
a family without a sample is left out.

`ends`: local, cross, unknown. `steered`: whether the choice was ours; keyed records' was not.
`tier`: where a window's partition was found. `reason`: why a window ended, or went elsewhere.
Label values are texts from outside: `\`, `"` and line feeds are escaped, a lone surrogate too.

What this does not do: serve HTTP, or add up; the numbers are those of `PartitionerCounters` or of
the summary.
Source: OpenMetrics 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rackwise.report.shape import check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Samples = Iterable[tuple[Mapping[str, str], object]]

ENDS = ("local", "cross", "unknown")
NO_LABELS: Mapping[str, str] = {}

_PREFIX = "rackwise_producer_"
_HELP = {
    "bytes": "Bytes given to partitions, by how far their leaders were.",
    "windows": "Windows begun, by the tier of their partition.",
    "switches": "Windows ended, by why.",
    "fallbacks": "Windows that did not go where it was wished, by why.",
}
_LABEL = {"windows": "tier", "switches": "reason", "fallbacks": "reason"}


def producer_metrics(
    counters: Mapping[str, Mapping[str, Any]], *, labels: Mapping[str, str] = NO_LABELS
) -> str:
    """The text; `counters`: topic -> `PartitionerCounters.as_dict()`; `labels`: of every sample.

    >>> none = {"windows": {}, "switches": {}, "fallbacks": {}}
    >>> bytes_ = {"local_bytes": 7, "cross_bytes": 0, "unknown_bytes": 0}
    >>> text = producer_metrics({"t": {"steered": bytes_, "unsteered": bytes_, **none}})
    >>> text.splitlines()[3]
    'rackwise_producer_bytes_total{topic="t",ends="local",steered="true"} 7'
    """
    lines: list[str] = []
    for family, told in _HELP.items():
        name = _PREFIX + family
        lines += [f"# HELP {name} {told}", f"# TYPE {name} counter"]
        if family == "bytes":
            lines.append(f"# UNIT {name} bytes")
        for topic in sorted(counters):
            samples = _bytes if family == "bytes" else _named
            lines += [
                f"{name}_total{_braced({**labels, 'topic': topic, **own})} {value}"
                for own, value in samples(counters[topic], family)
            ]
    return "\n".join([*lines, "# EOF"]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """One figure: its name without prefix, the unit its name ends in, what it tells."""

    name: str
    told: str
    unit: str = ""


_RUN: Final = _Family(name="run", told="The run these figures are of.")


def run_metrics(summary: Mapping[str, Any]) -> str:
    """The headline figures of a summary document. Raises `InvalidSummary`."""
    check(summary)
    labels = {"run_id": summary["run_id"], "version": summary["version"]}
    lines = [
        f"# TYPE rackwise_{_RUN.name} info",
        f"# HELP rackwise_{_RUN.name} {_RUN.told}",
        f"rackwise_{_RUN.name}_info{_braced(labels)} 1",
    ]
    for family, samples in (*_bill(summary), *_safety(summary), *_repair(summary)):
        lines += _gauge(family, samples)
    return "\n".join([*lines, "# EOF"]) + "\n"


def _gauge(family: _Family, samples: Samples) -> Iterator[str]:
    name = f"rackwise_{family.name}"
    known = [(labels, value) for labels, value in samples if value is not None]
    if not known:
        return
    yield f"# TYPE {name} gauge"
    if family.unit:
        yield f"# UNIT {name} {family.unit}"
    yield f"# HELP {name} {family.told}"
    for labels, value in known:
        yield f"{name}{_braced(labels) if labels else ''} {value}"


def _bill(summary: Mapping[str, Any]) -> Iterator[tuple[_Family, Samples]]:
    totals, quality, savings = summary["verdict"], summary["quality"], summary["savings"]
    observed = summary["observed"]
    if observed is not None:
        seen = _Family(name="observed_seconds", unit="seconds", told="How long traffic was seen.")
        yield seen, [(NO_LABELS, observed["seconds"])]
    bytes_ = _Family(name="observed_bytes", unit="bytes", told="Bytes seen, by how far they went.")
    yield bytes_, [({"ends": ends}, totals[f"bytes_{ends}"]) for ends in ENDS]
    usd = _Family(
        name="crossing_usd", unit="usd", told="What the bytes seen that cross racks cost."
    )
    yield usd, [(NO_LABELS, totals["usd"])]
    month = _Family(
        name="crossing_30d_usd", unit="usd", told="What bytes that cross racks cost in 30 days."
    )
    yield month, [(NO_LABELS, totals["usd_30d"])]
    saved = _Family(
        name="savable_30d_usd",
        unit="usd",
        told="What each lever saves in 30 days at most, on top of the ones before.",
    )
    steps = savings["steps"] if savings else ()
    yield (
        saved,
        [
            ({"lever": step["lever"]}, step["usd_saved_30d"])
            for step in steps
            if step["view"] == "waterfall"
        ],
    )
    doubt = _Family(
        name="doubtful_bytes", unit="bytes", told="Bytes seen whose rack or price is not known."
    )
    yield (
        doubt,
        [
            ({"why": why}, quality[f"bytes_{why}"] if observed else None)
            for why in ("unknown_rack", "unpriced")
        ],
    )
    lost = _Family(name="quarantined_rows", told="Malformed rows, kept aside.")
    yield lost, [(NO_LABELS, quality["rows_quarantined"] if observed else None)]


def _safety(summary: Mapping[str, Any]) -> Iterator[tuple[_Family, Samples]]:
    clusters = summary["clusters"]
    for name, told in (
        ("partitions", "Partitions of the cluster."),
        ("partitions_unsafe", "Partitions with a finding of severity error."),
    ):
        family = _Family(name=name, told=told)
        yield family, [({"cluster": row["name"]}, row[name]) for row in clusters]
    found = _Family(name="findings", told="Findings of each rule that is broken.")
    rows = summary["findings"]["by_rule"]
    yield (
        found,
        [({"rule": row["rule"], "severity": row["severity"]}, row["count"]) for row in rows],
    )
    lost = _Family(
        name="rack_loss_offline_partitions",
        told="Partitions that are offline when all brokers of the rack are lost.",
    )
    yield (
        lost,
        [
            ({"cluster": row["cluster"], "rack": row["rack"]}, row["partitions_offline"])
            for row in summary["blast"]
        ],
    )
    taken = _Family(
        name="snapshot_timestamp_seconds", unit="seconds", told="When the last snapshot was taken."
    )
    yield taken, [({"cluster": row["name"]}, _epoch(row["taken_at"])) for row in clusters]


def _epoch(taken_at: str | None) -> int | None:
    """Seconds since 1970; None for what is no moment."""
    try:
        return None if taken_at is None else int(datetime.fromisoformat(taken_at).timestamp())
    except ValueError:
        return None


def _repair(summary: Mapping[str, Any]) -> Iterator[tuple[_Family, Samples]]:
    part = summary["plans"]
    if part is None:
        return
    rows = part["rows"]
    moves = _Family(name="plan_replicas", told="Replicas that the plan of the cluster moves.")
    yield moves, [({"cluster": row["cluster"]}, row["moves"]) for row in rows]
    proved = _Family(
        name="plan_proved", told="Whether it is proved that no plan costs less: 1 or 0."
    )
    yield (
        proved,
        [({"cluster": row["cluster"]}, int(row["verdict"] == "proved")) for row in rows],
    )


def _bytes(counters: Mapping[str, Any], _family: str) -> Iterator[tuple[Mapping[str, str], int]]:
    for part, steered in (("steered", "true"), ("unsteered", "false")):
        for ends in ENDS:
            yield {"ends": ends, "steered": steered}, counters[part][f"{ends}_bytes"]


def _named(counters: Mapping[str, Any], family: str) -> Iterator[tuple[Mapping[str, str], int]]:
    for name, value in sorted(counters[family].items()):
        yield {_LABEL[family]: name}, value


def _braced(labels: Mapping[str, str]) -> str:
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    sound = value.encode("utf-8", "backslashreplace").decode()
    return sound.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
