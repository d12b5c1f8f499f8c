"""Two names of one cluster in a night: both fail, whichever looked first.

```
first-look eu     cluster x, ok          first-look eu     failed: eu and old are one cluster, x
audit eu          ok                ->   first-look old    failed: eu and old are one cluster, x
first-look old    cluster x, ok
```

What came after the first look at one of them is dropped, its second look too: which steps had run
when the second name answered is a matter of time, and a night that is killed has to end as one that
is not, with as many failed steps. A look of an earlier start of `nightly` is only taken again: the
name may have been corrected since.

What this does not do: compare with other nights. A name whose cluster does not answer is no twin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.nightly.night import LOOKS
from rackwise.core.twins import TWINS_HINT, twins, twins_text

if TYPE_CHECKING:
    from rackwise.core.nightly.night import Night, StepRun


def with_failed_twins(night: Night) -> Night:
    """The night in which the first look at a cluster with several names is a failed one."""
    why: dict[str, str] = {}
    again: set[str] = set()
    for cluster_id, names in twins(_ids(night)).items():
        earlier = {name for name in names if not _is_of_this_start(night, name)}
        again |= earlier
        if not earlier:
            text = f"{twins_text(cluster_id, names)}; {TWINS_HINT}"
            why.update(dict.fromkeys(names, text))
    runs: list[StepRun] = []
    for run in night.runs:
        if run.step in LOOKS and run.clusters[0] in again:
            continue
        if why.keys().isdisjoint(run.clusters):
            runs.append(run)
        elif run.step == LOOKS[0]:
            runs.append(replace(run, exit=1, reason=why[run.clusters[0]], hint=None))
    return replace(night, runs=tuple(runs))


def _is_of_this_start(night: Night, name: str) -> bool:
    looks = [run for run in night.runs if run.step in LOOKS and run.clusters == (name,)]
    return all(run.start == night.starts for run in looks)


def _ids(night: Night) -> dict[str, str | None]:
    """Name -> cluster id, of looks that succeeded or ended in this start of `nightly`, by name.

    A look that failed in an earlier start may be about another cluster, whose name was corrected.
    """
    found = {
        run.clusters[0]: run.cluster_id
        for run in night.runs
        if run.step in LOOKS and (run.is_ok or run.start == night.starts) and run.cluster_id
    }
    return dict(sorted(found.items()))
