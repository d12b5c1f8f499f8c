"""`snapshot`, `audit` and `plan` for every cluster of a fleet file, side by side.

Each cluster runs the command that people run by hand, with the values of its table. `--out` is a
folder for all clusters:

```
snapshot   FOLDER/prod-eu-2026-11-26T220000Z.json.gz     one moment for all, so runs sort by time
plan       FOLDER/prod-eu.plan.json.gz                   the last plan of each cluster
```

A cluster that fails stops no other. Two names with one cluster id fail both: their snapshots would
be one history.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rackwise.cli.fleet.missing_values import missing_values
from rackwise.cli.fleet.rows import show_audits, show_plans, show_snapshots
from rackwise.cli.fleet.side_by_side import run_side_by_side
from rackwise.cli.shell import parse_duration_ms
from rackwise.cli.source import utc_now
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig, InvalidSnapshot
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rackwise.cli.fleet.side_by_side import ClusterOutcome, ClusterShell
    from rackwise.cli.shell import Shell
    from rackwise.core.fleet_file import FleetCluster, FleetFile

AT_ONCE = {"snapshot": 8, "audit": 4, "plan": 2}
"""Clusters at the same time: a snapshot waits for brokers, a plan computes."""
LIMIT_S = 900.0
"""Default of `--cluster-timeout`."""
LEAST_LIMIT_S = 1.0
SOME_FAILED = 3
"""Exit code if the command failed for a cluster."""

_OF_ONE = ("bootstrap_server", "snapshot", "reassignment", "racks", "name")
_FILES_OF_ONE = ("metrics", "kafka_json", "rollback_json")
_OUTPUTS_OF_ONE = ("format", "price_rules")
"""Options whose output a fleet has no place for."""
_NEEDS_OUT = ("snapshot", "plan")
_MOMENT = r"-\d{4}-\d\d-\d\dT\d{6}Z\.json\.gz"


def run_for_every_cluster(
    command: Callable[..., int],
    verb: str,
    values: Mapping[str, Any],
    fleet: FleetFile,
    given: Mapping[str, Any],
) -> int:
    """Run a command for every cluster and show a row for each; the exit code of the whole.

    `values`: parameters of the command; `given`: options of the fleet. 3 if the command failed for
    a cluster, else 2 if it found a difference for one, else 0.
    """
    shell: Shell = values["context"].obj
    limit_s = _limit_s(given["cluster_timeout"])
    _check_given(verb, values)
    folder = _out_folder(verb, values["out"]) if verb in _NEEDS_OUT else None
    stamp = utc_now().replace(":", "")

    def work(cluster: FleetCluster, own: ClusterShell) -> int:
        own_values = dict(values)
        if given.get("snapshots") is not None:
            own_values["snapshot"] = last_snapshot(given["snapshots"], cluster.name)
        own_values |= missing_values(verb, own_values, cluster)
        if folder is not None:
            own_values["out"] = _out_file(verb, folder, cluster.name, stamp)
        own_values["context"] = typer.Context(values["context"].command, obj=own)
        return command(**own_values)

    outcomes = run_side_by_side(
        shell,
        {each.name: partial(work, each) for each in fleet.clusters},
        label=f"{verb} of clusters",
        at_once=AT_ONCE[verb],
        limit_s=limit_s,
    )
    if verb == "snapshot":
        outcomes = show_snapshots(shell, fleet, outcomes)
    elif verb == "audit":
        outcomes = show_audits(shell, fleet, outcomes)
    else:
        files = {each: _out_file(verb, Path(values["out"]), each, stamp) for each in outcomes}
        outcomes = show_plans(shell, fleet, outcomes, files)
    return exit_of(outcomes.values())


def exit_of(outcomes: Collection[ClusterOutcome]) -> int:
    """The exit code of a run over clusters."""
    if any(each.error is not None for each in outcomes):
        return SOME_FAILED
    return max((each.exit for each in outcomes), default=0)


def last_snapshot(folder: Path, name: str) -> Path:
    """The last snapshot of a cluster that a run wrote to a folder. Raises `InvalidSnapshot`."""
    pattern = re.compile(re.escape(name) + _MOMENT)
    try:
        found = [each for each in folder.iterdir() if pattern.fullmatch(each.name)]
    except OSError as error:
        raise InvalidConfig(
            f"{escaped(str(folder))} cannot be read: {error.strerror}",
            wanted="a folder",
            had=error.strerror,
            hint="give the folder that rackwise snapshot --fleet --out wrote to",
        ) from None
    if not found:
        raise InvalidSnapshot(
            f"expected a snapshot of {escaped(name)} in {escaped(str(folder))}, got none",
            wanted=f"{name}-DATE.json.gz",
            had="none",
            hint=f"run rackwise snapshot --fleet --out {escaped(str(folder))}",
        )
    return max(found, key=lambda each: each.name)


def _limit_s(text: str | None) -> float:
    limit_s = LIMIT_S if text is None else parse_duration_ms("--cluster-timeout", text) / 1000
    if limit_s < LEAST_LIMIT_S:
        raise InvalidConfig(
            f"invalid --cluster-timeout: expected at least 1s, got {escaped(text or '')}",
            wanted="at least 1s",
            had=text,
            hint="for example --cluster-timeout 5min",
        )
    return limit_s


def _check_given(verb: str, values: Mapping[str, Any]) -> None:
    """Reject options that name one cluster or one file, or ask for output of one cluster."""
    of_one = (*_OF_ONE, *_FILES_OF_ONE, *_OUTPUTS_OF_ONE)
    given = [key for key in of_one if values.get(key) not in {None, False}]
    reject_combined(
        "--fleet",
        [f"--{key.replace('_', '-')}" for key in given],
        hint=f"run rackwise {verb} with --cluster NAME for one cluster",
    )


def _out_folder(verb: str, out: Path | None) -> Path:
    if out is None:
        raise InvalidConfig(
            "--fleet requires --out",
            wanted="--out FOLDER",
            had="none",
            hint=f"give a folder: rackwise {verb} writes a file for each cluster",
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidConfig(
            f"invalid --out: expected a folder, got {escaped(str(out))}: {error.strerror}",
            wanted="a folder",
            had=str(out),
            hint="with --fleet, --out is a folder: a file for each cluster is written to it",
        ) from None
    return out


def _out_file(verb: str, folder: Path, name: str, stamp: str) -> Path:
    return folder / (f"{name}-{stamp}.json.gz" if verb == "snapshot" else f"{name}.plan.json.gz")
