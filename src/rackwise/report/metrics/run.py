"""Metrics of a run and of an audit.

```
# HELP rackwise_cross_rack_usd_30d Cost of bytes that cross racks, at least, per 30 days, by topic.
# TYPE rackwise_cross_rack_usd_30d gauge
rackwise_cross_rack_usd_30d{cluster="prod",topic="orders"} 800.000000000
rackwise_cross_rack_usd_30d{cluster="prod",topic="other"} 301.728000000
```

To add a metric, write a function with `@metric` that yields its samples. Its argument is the
summary of the run. With `to=(RUN, AUDIT)` it is also a metric of an audit, and may read only
`clusters`, `blast` and `findings`. Both have `now`, the time of the command.

Sums. `rackwise_cross_rack_usd_30d` has a sample for each of the `TOP` dearest topics, and one per
cluster for the others. Its sum over a cluster, or over all, is the bill to the nano-dollar. The
same holds for the metrics by group and by owner, which are metrics of their own: one metric with
all three views would count each dollar three times. The dollars of a row are those of 30 days: the
total of 30 days, divided in proportion to the observed dollars.

At least, at most. The bill and each saving are ranges where something is not known. The plain name
is what they are at least, the name that ends in `_at_most` what they are at most.

Not known. A dollar figure without a price, a saving of which nothing is proved, a total that is not
extrapolated and a share of no bytes have no sample. Neither has a cluster in which no partition was
found unsafe while a rule of severity error could not be checked. The others of a cluster have no
sample if no dollar is left for them: they may be free, or without a price.

What this does not do: read the clock; find a figure that the summary lacks.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rackwise.core.traffic import apportion, exact_usd_text, nano_of
from rackwise.report.metrics.exposition import AUDIT, NO_LABELS, RUN, exposition, metric
from rackwise.report.shape import check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from rackwise.report.metrics.exposition import Samples

    Figures: TypeAlias = Mapping[str, Any]

ENDS: Final = ("local", "cross", "unknown")
TOP: Final = 50
"""Maximum samples by name, without the others."""
OTHER: Final = "other"
"""Label value of all names that have no sample of their own."""


def run_metrics(summary: Figures, *, now: str) -> str:
    """The metrics of a summary document as text; `now`: ISO 8601. Raises `InvalidSummary`."""
    check(summary)
    return exposition(RUN, [(NO_LABELS, {**summary, "now": now})])


def audit_metrics(figures: Figures, *, now: str) -> str:
    """The metrics of the audit of one cluster as text; `now`: ISO 8601.

    `figures`: `clusters`, `blast` and `findings` with the keys of a summary. Each row of
    `findings.by_rule` also has `cluster`. `partitions_unsafe` is that of `core.audit`, and None
    if not every rule was selected.
    """
    return exposition(AUDIT, [(NO_LABELS, {**figures, "now": now})])


@metric("run_info", "The run that these figures belong to.", labels=("run_id", "version"))
def _run_info(summary: Figures) -> Samples:
    yield (summary["run_id"], summary["version"]), 1


@metric("observed_seconds", "Time span of the observed traffic.")
def _observed_seconds(summary: Figures) -> Samples:
    if summary["observed"] is not None:
        yield (), summary["observed"]["seconds"]


@metric("observed_bytes", "Observed bytes, by whether they crossed racks.", labels=("ends",))
def _observed_bytes(summary: Figures) -> Samples:
    for ends in ENDS:
        yield (ends,), summary["verdict"][f"bytes_{ends}"]


@metric("cross_rack_usd", "Cost of the observed bytes that cross racks, at least.")
def _cross_rack_usd(summary: Figures) -> Samples:
    yield (), summary["verdict"]["usd"]


@metric(
    "cross_rack_usd_30d",
    "Cost of bytes that cross racks, at least, per 30 days, by topic.",
    labels=("cluster", "topic"),
)
def _cross_rack_usd_30d(summary: Figures) -> Samples:
    return _per_month(summary, "by_topic", "topic")


@metric(
    "cross_rack_usd_30d_by_group",
    "Cost of bytes that cross racks, at least, per 30 days, by client group.",
    labels=("cluster", "group"),
)
def _cross_rack_usd_30d_by_group(summary: Figures) -> Samples:
    return _per_month(summary, "by_group", "client_group")


@metric(
    "cross_rack_usd_30d_by_owner",
    "Cost of bytes that cross racks, at least, per 30 days, by owner.",
    labels=("cluster", "owner"),
)
def _cross_rack_usd_30d_by_owner(summary: Figures) -> Samples:
    return _per_month(summary, "by_owner", "owner")


@metric("cross_rack_usd_30d_at_most", "Cost of bytes that cross racks, at most, per 30 days.")
def _cross_rack_usd_30d_at_most(summary: Figures) -> Samples:
    yield (), summary["verdict"]["usd_high_30d"]


@metric(
    "savable_usd_30d",
    "Dollars per 30 days that each change saves at least, after the changes before it.",
    labels=("saving",),
)
def _savable_usd_30d(summary: Figures) -> Samples:
    return _savable(summary, "usd_low_30d")


@metric(
    "savable_usd_30d_at_most",
    "Dollars per 30 days that each change saves at most, after the changes before it.",
    labels=("saving",),
)
def _savable_usd_30d_at_most(summary: Figures) -> Samples:
    return _savable(summary, "usd_high_30d")


def _savable(summary: Figures, key: str) -> Samples:
    part = summary["savings"]
    for step in part["steps"] if part else ():
        if step["view"] == "waterfall":
            yield (step["saving"],), step[key]


@metric(
    "unattributed_bytes_ratio",
    "Share of the bytes that cross racks whose topic, or client group if read, is not known.",
    labels=("cluster",),
)
def _unattributed_bytes_ratio(summary: Figures) -> Samples:
    for row in summary["clusters"]:
        part, whole = row["bytes_cross_unattributed"], row["bytes_cross"]
        yield (row["name"],), part / whole if whole and part is not None else None


@metric("doubtful_bytes", "Observed bytes whose rack or price is unknown.", labels=("why",))
def _doubtful_bytes(summary: Figures) -> Samples:
    for why in ("unknown_rack", "unpriced"):
        is_known = summary["observed"] is not None
        yield (why,), summary["quality"][f"bytes_{why}"] if is_known else None


@metric("quarantined_rows", "Malformed rows in the quarantine.")
def _quarantined_rows(summary: Figures) -> Samples:
    if summary["observed"] is not None:
        yield (), summary["quality"]["rows_quarantined"]


@metric("partitions", "Partitions of the cluster.", labels=("cluster",), to=(RUN, AUDIT))
def _partitions(figures: Figures) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), row["partitions"]


@metric(
    "partitions_unsafe",
    "Partitions with a finding of severity error.",
    labels=("cluster",),
    to=(RUN, AUDIT),
)
def _partitions_unsafe(figures: Figures) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), row["partitions_unsafe"]


@metric("findings", "Findings of each broken rule.", labels=("rule", "severity"))
def _findings(summary: Figures) -> Samples:
    for row in summary["findings"]["by_rule"]:
        yield (row["rule"], row["severity"]), row["count"]


@metric(
    "findings",
    "Findings of each broken rule.",
    labels=("cluster", "rule", "severity"),
    to=(AUDIT,),
)
def _findings_of_cluster(figures: Figures) -> Samples:
    for row in figures["findings"]["by_rule"]:
        yield (row["cluster"], row["rule"], row["severity"]), row["count"]


@metric(
    "partitions_offline_on_rack_loss",
    "Partitions that go offline when all brokers of the rack are lost.",
    labels=("cluster", "rack"),
    to=(RUN, AUDIT),
)
def _partitions_offline_on_rack_loss(figures: Figures) -> Samples:
    for row in figures["blast"]:
        yield (row["cluster"], row["rack"]), row["partitions_offline"]


@metric(
    "snapshot_timestamp_seconds", "Time of the last snapshot.", labels=("cluster",), to=(RUN, AUDIT)
)
def _snapshot_timestamp_seconds(figures: Figures) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), epoch(row["taken_at"])


@metric(
    "snapshot_age_seconds",
    "Age of the last snapshot when these figures were written.",
    labels=("cluster",),
    to=(RUN, AUDIT),
)
def _snapshot_age_seconds(figures: Figures) -> Samples:
    now = epoch(figures["now"])
    for row in figures["clusters"]:
        taken = epoch(row["taken_at"])
        yield (row["name"],), None if taken is None or now is None else now - taken


@metric("plan_replicas", "Replicas that the plan of the cluster moves.", labels=("cluster",))
def _plan_replicas(summary: Figures) -> Samples:
    for row in summary["plans"]["rows"] if summary["plans"] else ():
        yield (row["cluster"],), row["moves"]


@metric("plan_proved", "Whether it is proved that no plan costs less: 1 or 0.", labels=("cluster",))
def _plan_proved(summary: Figures) -> Samples:
    for row in summary["plans"]["rows"] if summary["plans"] else ():
        yield (row["cluster"],), _proved(row["verdict"])


def _proved(verdict: str | None) -> int | None:
    """Whether the verdict is a proof; None if there is no plan."""
    return None if verdict is None else int(verdict == "proved")


def _per_month(summary: Figures, roll_up: str, key: str) -> Samples:
    """Dollars per 30 days of the dearest rows of a roll-up, and of the others of each cluster."""
    whole = nano_of(summary["verdict"]["usd_30d"])
    if whole is None:
        return
    parts = Counter[tuple[str, str]]()
    rows = [row for row in summary[roll_up][:TOP] if row["usd"] is not None]
    for row in rows:
        parts[row["cluster"], row[key]] += nano_of(row["usd"]) or 0
    has_others = summary["rows"].get(roll_up, 0) > TOP
    for cluster in summary["clusters"]:
        name, total = cluster["name"], nano_of(cluster["usd"])
        listed = sum(nano for (of, _), nano in parts.items() if of == name)
        if has_others and total is not None and total > listed:
            # A name may be `other` itself: then both are one sample, and the sum still holds.
            parts[name, OTHER] += total - listed
    shares = apportion(whole, list(parts.values())) if sum(parts.values()) else (0,) * len(parts)
    for place, nano in zip(parts, shares, strict=True):
        yield place, exact_usd_text(nano)


def epoch(at: str | None) -> int | None:
    """Seconds since 1970; None if the text is not a time."""
    try:
        return None if at is None else int(datetime.fromisoformat(at).timestamp())
    except ValueError:
        return None
