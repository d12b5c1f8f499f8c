"""Which steps of a night can start: a pure function of what has run.

The driver asks, starts what is due, records how it ended, and asks again. Nothing else decides.

```
             of each cluster                          of the fleet
 first-look ──> second-look ──> audit ─────────┐
              (measure later) ├─> plan ────────┼──────────────┐
                              └─> price ──> (next price) ──> metrics ──> notify
```

1. A step is *done* if its last run succeeded, with the command that it would have now, and no step
   that it needs has ended since. So a night that was killed continues where it was, a second run of
   a complete night does nothing, and a look that is repeated repeats what was made from it.
2. A step is *settled* if it is done, or failed in this start of `nightly`. What follows waits until
   everything before it is settled, and does without what failed.
3. A cluster whose first look failed has no further step. The others go on.
4. Two steps that write to one result (`price`) follow one another.
5. A night that is refreshed takes its second looks again. Where one fails, what was made from the
   look before stays: a first look from before the refresh is no substitute.

What this does not do: read a clock, a folder or a process. Each is in the `NightSituation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.nightly import commands
from rackwise.core.nightly.night import LOOKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.nightly.commands import NightCluster, NightLayout, NightOptions
    from rackwise.core.nightly.night import Night, StepName, StepRun
    from rackwise.core.nightly.window import NightLook


class Job(NamedTuple):
    """A step that can start."""

    step: StepName
    clusters: tuple[str, ...]
    """Empty for the whole fleet."""
    command: tuple[str, ...]
    """Words of the command line."""
    stdout: str | None = None
    """The file that takes what the command prints; None keeps it nowhere."""
    not_before_ms: int | None = None
    """Earliest start, milliseconds since 1970; None is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSituation:
    """What the decision depends on."""

    night: Night
    clusters: Sequence[NightCluster]
    layout: NightLayout
    options: NightOptions
    looks: Mapping[str, Sequence[NightLook]]
    """Cluster -> looks of earlier nights in the folder, oldest first."""
    has_result: bool
    """Whether an earlier night has published a result."""


def due(situation: NightSituation) -> tuple[Job, ...]:
    """The steps that can start; those that run already are among them. Empty: the night is over."""
    jobs: list[Job] = []
    for cluster in situation.clusters:
        jobs += _of_cluster(situation, cluster)
    looks_settled = not any(job.step in LOOKS for job in jobs)
    priced = _prices(situation) if looks_settled else []
    jobs += priced
    if jobs:
        return tuple(jobs)
    return tuple(_of_fleet(situation))


def last_look(situation: NightSituation, cluster: str) -> StepName | None:
    """The last look at the cluster in this night; None if no look of its last refresh succeeded."""
    night = situation.night
    since = night.refreshed or 0
    ended = {step: night.run_of(step, cluster) for step in LOOKS}
    found = [
        step for step, run in ended.items() if run is not None and run.is_ok and run.start >= since
    ]
    return found[-1] if found else None


def _of_cluster(situation: NightSituation, cluster: NightCluster) -> Iterable[Job]:
    first = _look(situation, cluster, "first-look")
    if not _is_settled(situation, first):
        return [first]
    looked = situation.night.run_of("first-look", cluster.name)
    if looked is None or not looked.is_ok:
        return []
    second = _look(situation, cluster, "second-look")
    if not _is_settled(situation, second):
        return [
            second._replace(
                not_before_ms=_seen_ms(situation.night, looked) + situation.options.measure_ms
            )
        ]
    look = last_look(situation, cluster.name)
    if look is None:
        return []
    day, layout = situation.night.day, situation.layout
    audit = Job(
        "audit",
        (cluster.name,),
        commands.audit(layout, cluster, day, look),
        stdout=layout.audit(cluster.name, day),
    )
    plan = Job("plan", (cluster.name,), commands.plan(layout, cluster, day, look))
    return [job for job in (audit, plan) if not _is_settled(situation, job)]


def _seen_ms(night: Night, look: StepRun) -> int:
    """When a look ended, milliseconds since 1970.

    A look of an earlier start ended before this start, also if the clock was set back in between.
    """
    ended = _ms(look.began) + look.took_ms
    if look.start < night.starts and night.began is not None:
        return min(ended, _ms(night.began))
    return ended


def _ms(text: str) -> int:
    """Milliseconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(text).timestamp()) * 1000


def _look(situation: NightSituation, cluster: NightCluster, step: StepName) -> Job:
    words = commands.look(situation.layout, cluster, situation.night.day, step)
    return Job(step, (cluster.name,), words)


def _prices(situation: NightSituation) -> list[Job]:
    """The next price that is not settled."""
    for clusters in commands.groups(situation.clusters):
        seen = [each for each in clusters if last_look(situation, each.name)]
        if not seen:
            continue
        names = tuple(each.name for each in seen)
        looks = {
            name: [*situation.looks.get(name, ()), *_tonight(situation, name)] for name in names
        }
        words = commands.price(
            situation.layout, seen, situation.night.day, looks, situation.options
        )
        job = Job("price", names, words)
        if not _is_settled(situation, job):
            return [job]
    return []


def _tonight(situation: NightSituation, cluster: str) -> list[NightLook]:
    night = situation.night
    ended = [(step, night.run_of(step, cluster)) for step in LOOKS]
    return [
        situation.layout.look(cluster, night.day, step)
        for step, run in ended
        if run is not None and run.is_ok
    ]


def _of_fleet(situation: NightSituation) -> Iterable[Job]:
    """The metrics, then the notices."""
    is_priced = any(run.step == "price" and run.is_ok for run in situation.night.runs)
    metrics = Job("metrics", (), commands.metrics(situation.layout))
    if (is_priced or situation.has_result) and not _is_settled(situation, metrics):
        return [metrics]
    notify = Job("notify", (), situation.options.command)
    return [] if _is_settled(situation, notify) else [notify]


def _is_done(situation: NightSituation, job: Job) -> bool:
    runs = situation.night.runs
    for index, run in enumerate(runs):
        if run.key == (job.step, job.clusters):
            is_fresh = not any(_needs(job, each.step, each.clusters) for each in runs[index + 1 :])
            return run.is_ok and run.command == job.command and is_fresh
    return False


def _is_settled(situation: NightSituation, job: Job) -> bool:
    run = situation.night.run_of(job.step, *job.clusters)
    if run is not None and not run.is_ok:
        return run.start == situation.night.starts
    return _is_done(situation, job)


def _needs(job: Job, step: StepName, clusters: Sequence[str]) -> bool:
    """Whether the job is made from what that step wrote."""
    if job.step == "notify":
        return step != "notify"
    if job.step == "metrics":
        return step == "price"
    is_about_same = not set(clusters).isdisjoint(job.clusters)
    if job.step in {"audit", "plan", "price"}:
        return step in LOOKS and is_about_same
    return job.step == "second-look" and step == "first-look" and is_about_same
