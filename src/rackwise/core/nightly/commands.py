"""The command line of each step: the commands that people run by hand.

```
DATA/
  snapshots/CLUSTER/DAY-1.json.gz  DAY-2.json.gz     the two looks of a night
  audits/CLUSTER/DAY.json                            what `audit --json` printed
  plans/CLUSTER/DAY.json                             the plan of that night
  result/                                            what `analyze` publishes: the bill of all days
  report.html                                        its report, at one place
  metrics/rackwise.prom  nightly.prom                for the textfile collector of node_exporter
  nightly.json                                       the state of the last night
```

Paths are texts: core knows no folder. A step that needs more than its words, such as a secret of
the fleet file, reads it itself, so no secret is on a command line.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.nightly.window import NightLook, window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.nightly.night import StepName


@dataclass(frozen=True, slots=True, kw_only=True)
class NightCluster:
    """What the steps of a cluster need from the fleet file."""

    name: str
    source: tuple[str, ...]
    """Options that name it in the fleet file, which has its brokers, security and policy."""
    bill: tuple[str, ...] = ()
    """Options of `analyze`. Clusters with equal options are priced in one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightOptions:
    """What the options of `nightly` say about the steps."""

    measure_ms: int
    """Time between the two looks."""
    engine: str = "local"
    """Engine of `analyze`."""
    keep_days: int | None = None
    command: tuple[str, ...] = ("nightly",)
    """The command line of `nightly` itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightLayout:
    """The paths below the folder of `--out`."""

    root: str

    def look(self, cluster: str, day: str, step: StepName) -> NightLook:
        """A snapshot of a night."""
        number = 1 if step == "first-look" else 2
        return NightLook(day, number, f"{self.looks(cluster)}/{day}-{number}.json.gz")

    def looks(self, cluster: str) -> str:
        """The folder of the snapshots of a cluster."""
        return f"{self.root}/snapshots/{cluster}"

    def audit(self, cluster: str, day: str) -> str:
        """The document of an audit."""
        return f"{self.root}/audits/{cluster}/{day}.json"

    def plan(self, cluster: str, day: str) -> str:
        """The plan of a night."""
        return f"{self.root}/plans/{cluster}/{day}.json"

    @property
    def result(self) -> str:
        """The folder that `analyze` publishes."""
        return f"{self.root}/result"

    @property
    def report(self) -> str:
        """The report of the last night."""
        return f"{self.root}/report.html"

    @property
    def run_metrics(self) -> str:
        """The metrics of the bill and of the placement."""
        return f"{self.root}/metrics/rackwise.prom"

    @property
    def night_metrics(self) -> str:
        """The metrics of the night itself."""
        return f"{self.root}/metrics/nightly.prom"

    @property
    def state(self) -> str:
        """The state of the last night."""
        return f"{self.root}/nightly.json"


def look(layout: NightLayout, cluster: NightCluster, day: str, step: StepName) -> tuple[str, ...]:
    """The command that takes a snapshot, and prints the id of the cluster."""
    out = layout.look(cluster.name, day, step).file
    return ("--json", "snapshot", *cluster.source, "--resolve", "--out", out)


def audit(layout: NightLayout, cluster: NightCluster, day: str, step: StepName) -> tuple[str, ...]:
    """The command that audits the look of a step."""
    file = layout.look(cluster.name, day, step).file
    return ("--json", "audit", *cluster.source, "--snapshot", file)


def plan(layout: NightLayout, cluster: NightCluster, day: str, step: StepName) -> tuple[str, ...]:
    """The command that plans the repair of the cluster in the look of a step."""
    file = layout.look(cluster.name, day, step).file
    out = layout.plan(cluster.name, day)
    return ("plan", "repair", *cluster.source, "--snapshot", file, "--out", out)


def price(
    layout: NightLayout,
    clusters: Sequence[NightCluster],
    day: str,
    looks: Mapping[str, Sequence[NightLook]],
    options: NightOptions,
) -> tuple[str, ...]:
    """The command that prices the days since the night before; `looks`: with those of tonight."""
    read = window(looks, day)
    days = () if options.keep_days is None else ("--keep-days", str(options.keep_days))
    return (
        "analyze",
        *read.files,
        *clusters[0].bill,
        "--from",
        read.first_day,
        "--engine",
        options.engine,
        *days,
        "--out",
        layout.result,
    )


def metrics(layout: NightLayout) -> tuple[str, ...]:
    """The command that writes the report and the metrics of the result."""
    return ("report", layout.result, "--out", layout.report, "--metrics", layout.run_metrics)


def command_text(words: Sequence[str]) -> str:
    """A command line that a shell takes.

    >>> command_text(("audit", "--snapshot", "/data/a b.json"))
    "rackwise audit --snapshot '/data/a b.json'"
    """
    return shlex.join(("rackwise", *words))


def groups(clusters: Sequence[NightCluster]) -> list[tuple[NightCluster, ...]]:
    """The clusters that one run of `analyze` prices, in the order of the fleet file."""
    found: dict[tuple[str, ...], list[NightCluster]] = {}
    for each in clusters:
        found.setdefault(each.bill, []).append(each)
    return [tuple(each) for each in found.values()]
