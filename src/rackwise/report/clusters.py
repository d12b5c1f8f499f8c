"""Each cluster of a fleet, packed for the choice of a cluster on the page.

The page shows the fleet. If a reader chooses a cluster, a script replaces what is of the fleet by
what is of that cluster, and keeps in each table the rows of that cluster:

```
                     no choice                       a cluster is chosen
tables with          all rows of the page            the rows of the cluster
  a column Cluster
heat tables          the most expensive clusters     the cluster
charts of topics,    the largest of the fleet        the largest of the cluster
  groups, pairs, ..
days                 sums over the fleet             the days of the cluster
totals, savings      the fleet                       the fleet, and the page says so
```

Every chart and table here comes from the same functions as those of the fleet, with a summary that
has the rows of one cluster.

What this does not do: compute totals of a cluster; the summary has them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rackwise.report import history, sections
from rackwise.report.formats import NOT_THERE, bytes_text, count_text, duration_text, name_text
from rackwise.report.heat import HeatMap, heat_maps
from rackwise.report.ranges import usd_range
from rackwise.report.safety import unchecked_clusters, unsafe_text
from rackwise.report.sentences import has_traffic, is_priced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.report.sections import Block
    from rackwise.report.sentences import Row, Summary

_LISTS: Final = ("matrix", "by_topic", "by_group", "by_owner", "by_pair", "blast")
"""Lists of the summary whose rows belong to one cluster each."""
_CHANGES: Final = ("usd_change", "cross_share_change", "partitions_unsafe_change")
"""Changes in seven days, which the summary has for the fleet only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCluster:
    """What the page shows of one cluster."""

    name: str
    facts: tuple[tuple[str, str], ...]
    """(label, text) pairs."""
    maps: tuple[HeatMap, ...]
    blocks: tuple[Block, ...]
    """Charts, and the tables that replace those of the fleet."""


def chosen_clusters(summary: Summary) -> Iterator[ChosenCluster]:
    """One view per cluster, in the order of their names."""
    parts = {key: _by_cluster(summary[key]) for key in _LISTS}
    days = _by_cluster(summary["history"]["clusters"])
    plans = {row["cluster"]: row for row in (summary["plans"] or {"rows": ()})["rows"]}
    unchecked = unchecked_clusters(summary)
    for row in sorted(summary["clusters"], key=lambda row: str(row["name"])):
        name = row["name"]
        own = {
            **summary,
            **{key: part.get(name, []) for key, part in parts.items()},
            "clusters": [row],
            "history": {
                **summary["history"],
                "days": [{**dict.fromkeys(_CHANGES), **day} for day in days.get(name, [])],
            },
        }
        past = history.section(own, least=0)
        blocks = sections.owned(own) if has_traffic(summary) else ()
        yield ChosenCluster(
            name=name,
            facts=tuple(_facts(summary, row, plans.get(name), unchecked.get(name))),
            maps=heat_maps(own["matrix"])[0],
            blocks=(*blocks, sections.blast(own), *([past] if past else [])),
        )


def _by_cluster(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["cluster"]].append(row)
    return found


def _facts(
    summary: Summary, row: Row, plan: Mapping[str, Any] | None, unchecked: str | None
) -> Iterator[tuple[str, str]]:
    """`unchecked`: why more partitions may be unsafe than were found; None if none may be."""
    if has_traffic(summary):
        observed = duration_text(summary["observed"]["seconds"])
        yield f"Crossing in {observed}", bytes_text(row["bytes_cross"])
        if is_priced(summary):
            yield f"Cost in {observed}", usd_range(row, "usd", "usd_high").phrase()
    yield "Not rack-safe", unsafe_text(row["partitions_unsafe"], unchecked)
    yield "Partitions", count_text(row["partitions"])
    if plan is not None:
        is_planned = plan["moves"] is not None
        yield "Replicas to move", count_text(plan["moves"]) if is_planned else plan["status"]
    yield "Topics", count_text(row["topics"])
    yield "Brokers", count_text(row["brokers"])
    yield "Racks", count_text(row["racks"])
    yield "Last snapshot", name_text(row["taken_at"]) if row["taken_at"] else NOT_THERE
    yield "Cluster id", name_text(row["cluster_id"])
