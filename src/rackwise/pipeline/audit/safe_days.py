"""How safe the placement of each cluster was on each day, by the last snapshot up to the day.

A day before the first snapshot is not known: the placement may have been any. Days are those of the
traffic and those on which a snapshot was taken:

```
day            1    2    3    4
traffic             x    x
snapshot                 S    T
unsafe         -    -    S    T        2 November is not known
```

What this does not do: audit (`core.audit`); decide which days stand (`core.history`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.audit import audit, unsafe_partitions
from rackwise.core.history import StandingDay, merge_days

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from rackwise.core.policy import Policy
    from rackwise.pipeline.audit.findings import ClusterFindings
    from rackwise.pipeline.fleet.snapshots import Snapshot


def snapshot_days(snapshots: Iterable[Snapshot]) -> list[StandingDay]:
    """The days on which snapshots were taken, by cluster; nothing else is known of them yet."""
    places = {(one.name, one.taken_at.date(), one.cluster.cluster_id) for one in snapshots}
    return [
        StandingDay(cluster=name, day=day, cluster_id=cluster_id)
        for name, day, cluster_id in sorted(places, key=lambda place: place[:2])
    ]


def safe_days(
    places: Iterable[tuple[str, date]],
    snapshots: Sequence[Snapshot],
    audits: Iterable[ClusterFindings],
    policy: Policy,
) -> list[StandingDay]:
    """The safety of days that have a snapshot on them or before them.

    `places`: cluster name and day; `audits`: those of the last snapshot of each cluster.
    """
    by_cluster: dict[str, list[Snapshot]] = {}
    for one in sorted(snapshots, key=lambda each: (each.taken_at, each.fingerprint)):
        by_cluster.setdefault(one.name, []).append(one)
    unsafe = {
        by_cluster[one.cluster][-1].fingerprint: unsafe_partitions(one.findings) for one in audits
    }
    found = []
    for name, day in sorted(set(places)):
        taken = [each for each in by_cluster.get(name, ()) if each.taken_at.date() <= day]
        if not taken:
            continue
        one = taken[-1]
        if one.fingerprint not in unsafe:
            unsafe[one.fingerprint] = unsafe_partitions(audit(one.cluster, policy))
        found.append(
            StandingDay(
                cluster=name,
                day=day,
                cluster_id=one.cluster.cluster_id,
                partitions=len(one.cluster.partitions),
                partitions_unsafe=unsafe[one.fingerprint],
            )
        )
    return found


def with_safety(
    days: tuple[StandingDay, ...],
    snapshots: Sequence[Snapshot],
    audits: Iterable[ClusterFindings],
    policy: Policy,
    folder: str,
) -> tuple[StandingDay, ...]:
    """The days, with the safety of those of this run: its traffic's and its snapshots'.

    `folder`: of the tables of this run.
    """
    taken = {each.place for each in snapshot_days(snapshots)}
    own = {each.place for each in days if each.tables == folder or each.place in taken}
    return merge_days(days, safe_days(own, snapshots, audits, policy))
