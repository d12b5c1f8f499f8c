"""The days of a result: those that this run computes, and those of earlier runs.

```
of earlier runs    1 Nov  2 Nov
of this run               2 Nov  3 Nov    traffic or a snapshot
of the result      1 Nov  2 Nov  3 Nov    2 Nov as this run computes it
```

What this does not do: decide which of two runs a day is taken from (`core.history`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.history import StandingDay, merge_days, rename_clusters
from rackwise.pipeline.audit.safe_days import snapshot_days
from rackwise.pipeline.bill.gold.sources import source_names
from rackwise.pipeline.fleet.cluster_names import names_by_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.pipeline.bill.gold.sources import Traffic
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot


def result_days(
    found: Traffic | None,
    fleet: Fleet,
    snapshots: Sequence[Snapshot],
    folder: str,
    *,
    standing: Sequence[StandingDay],
    keep: int | None,
) -> tuple[StandingDay, ...]:
    """The days of the result; the safety of those of this run is not known yet.

    `folder`: of the tables of this run; `standing`: the days of earlier runs; `keep`: number of
    days to keep, None keeps all.
    """
    ids = {one.name: one.cluster.cluster_id for one in fleet.latest}
    places = {source_names(fleet, one)[:2] for one in found.billed} if found else set()
    computed = [
        StandingDay(
            cluster=cluster,
            day=day,
            cluster_id=ids[cluster],
            tables=folder,
            name_in_tables=cluster,
            since=found.since,
            until=found.until,
        )
        for cluster, day in sorted(places)
        if found
    ]
    return merge_days(
        rename_clusters(standing, names_by_text(snapshots)),
        [*computed, *snapshot_days(snapshots)],
        keep=keep,
    )
