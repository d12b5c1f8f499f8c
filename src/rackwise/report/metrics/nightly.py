"""Metrics of `rackwise nightly`: whether it ran, how long, and what failed.

```
# HELP rackwise_nightly_steps_failed Steps of the cluster that failed in the last night.
# TYPE rackwise_nightly_steps_failed gauge
rackwise_nightly_steps_failed{cluster="prod"} 0
```

They are in a file of their own, which is written when the run ends, also if steps failed. An alert
on the age of `rackwise_nightly_last_end_timestamp_seconds` finds a run that did not take place.

A time that never was has no sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.report.metrics.exposition import NIGHTLY, NO_LABELS, exposition, metric
from rackwise.report.metrics.run import epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.report.metrics.exposition import Samples


def nightly_metrics(figures: Mapping[str, Any]) -> str:
    """The metrics of a night as text.

    `figures`: `began`, `ended`, `last_success` (ISO 8601 or None), `seconds`, `exit`,
    `fleet_failed`, `unsent` and `clusters`, each with `name`, `failed`, `last_success` and `moves`.
    """
    return exposition(NIGHTLY, [(NO_LABELS, figures)])


@metric("last_start_timestamp_seconds", "Start of the last run.", to=(NIGHTLY,))
def _last_start(figures: Mapping[str, Any]) -> Samples:
    yield (), epoch(figures["began"])


@metric("last_end_timestamp_seconds", "End of the last run.", to=(NIGHTLY,))
def _last_end(figures: Mapping[str, Any]) -> Samples:
    yield (), epoch(figures["ended"])


@metric(
    "last_success_timestamp_seconds",
    "End of the last run without a failed step.",
    to=(NIGHTLY,),
)
def _last_success(figures: Mapping[str, Any]) -> Samples:
    yield (), epoch(figures["last_success"])


@metric("duration_seconds", "Duration of the last run.", to=(NIGHTLY,))
def _duration(figures: Mapping[str, Any]) -> Samples:
    yield (), figures["seconds"]


@metric(
    "exit_code",
    "Exit code of the last run: 0 done, 2 differences found, 3 a step failed.",
    to=(NIGHTLY,),
)
def _exit_code(figures: Mapping[str, Any]) -> Samples:
    yield (), figures["exit"]


@metric(
    "steps_failed",
    "Steps of the cluster that failed in the last night.",
    labels=("cluster",),
    to=(NIGHTLY,),
)
def _steps_failed(figures: Mapping[str, Any]) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), row["failed"]


@metric(
    "fleet_steps_failed",
    "Steps of several or all clusters that failed in the last night: price, metrics, notify.",
    to=(NIGHTLY,),
)
def _fleet_steps_failed(figures: Mapping[str, Any]) -> Samples:
    yield (), figures["fleet_failed"]


@metric(
    "cluster_last_success_timestamp_seconds",
    "End of the last run in which no step of the cluster failed.",
    labels=("cluster",),
    to=(NIGHTLY,),
)
def _cluster_last_success(figures: Mapping[str, Any]) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), epoch(row["last_success"])


@metric(
    "plan_moves",
    "Partitions that the plan of the last night moves.",
    labels=("cluster",),
    to=(NIGHTLY,),
)
def _plan_moves(figures: Mapping[str, Any]) -> Samples:
    for row in figures["clusters"]:
        yield (row["name"],), row["moves"]


@metric("notices_unsent", "Notices that the webhook has not taken yet.", to=(NIGHTLY,))
def _notices_unsent(figures: Mapping[str, Any]) -> Samples:
    yield (), figures["unsent"]
