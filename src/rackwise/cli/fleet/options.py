"""`--cluster` and `--fleet`: a fleet file gives the options that the user did not give.

Every command with `--bootstrap-server` has both, because `with_fleet` adds them when the command
line is built; no command knows of a fleet file.

```
audit --cluster prod-eu            -> audit --bootstrap-server kafka-1:9092 --policy policy.toml
audit --cluster prod-eu --policy p -> the same with the given policy
audit --snapshot s --cluster x     -> audit --snapshot s --policy policy.toml
audit --fleet                      -> audit for every cluster (see `every_cluster`)
```
"""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.fleet.missing_values import missing_values
from rackwise.cli.shell import usage_error
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.cli.shell import Shell
    from rackwise.core.fleet_file import FleetFile

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Use this cluster of the fleet file: its brokers, and its settings where an option is "
        "not given.",
    ),
]
FleetOfCluster = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        metavar="FILE",
        help="Read --cluster from this fleet file. [default: rackwise.toml in the working folder "
        "or above it]",
    ),
]
FleetOfAll = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        metavar="[FILE]",
        help="Without --cluster, run for every cluster of this fleet file. [default: rackwise.toml "
        "in the working folder or above it]",
    ),
]
ClusterTimeout = Annotated[
    str | None,
    typer.Option(
        "--cluster-timeout",
        metavar="TIME",
        help="With --fleet, report a cluster without a result after this time as failed. "
        "[default: 15min]",
    ),
]
SnapshotFolder = Annotated[
    Path | None,
    typer.Option(
        "--snapshots",
        metavar="FOLDER",
        help="With --fleet, read the last snapshot of each cluster that snapshot --fleet wrote to "
        "this folder, instead of running brokers.",
    ),
]
ON_EVERY_CLUSTER = {
    "snapshot": {"cluster_timeout": ClusterTimeout},
    "audit": {"cluster_timeout": ClusterTimeout, "snapshots": SnapshotFolder},
    "plan": {"cluster_timeout": ClusterTimeout, "snapshots": SnapshotFolder},
}
"""Command that runs for a whole fleet -> its further options."""


def with_fleet_in_group(group: typer.Typer, name: str) -> typer.Typer:
    """A group of commands in which those with `--bootstrap-server` take `--cluster`, too."""
    other = copy(group)
    other.registered_commands = [copy(each) for each in group.registered_commands]
    for each in other.registered_commands:
        if each.callback is not None:
            verb = each.name or each.callback.__name__
            each.callback = with_fleet(each.callback, f"{name} {verb}")
    return other


def with_fleet(command: Callable[..., int], verb: str) -> Callable[..., int]:
    """The command with `--cluster` and `--fleet`; unchanged if it takes no `--bootstrap-server`."""
    own = signature(command, eval_str=True).parameters
    if "bootstrap_server" not in own:
        return command
    further = ON_EVERY_CLUSTER.get(verb, {})
    fleet = FleetOfAll if verb in ON_EVERY_CLUSTER else FleetOfCluster
    added = {"cluster": Cluster, "fleet": fleet, **further}
    is_required = own["bootstrap_server"].default is Parameter.empty
    shown: list[Parameter] = []
    for name, each in own.items():
        shown.append(each.replace(kind=Parameter.KEYWORD_ONLY))
        if name == "bootstrap_server":
            shown[-1] = shown[-1].replace(default=None, annotation=_or_none(each.annotation))
            shown += [
                Parameter(key, Parameter.KEYWORD_ONLY, default=None, annotation=option)
                for key, option in added.items()
            ]

    @wraps(command)
    def run(**values: Any) -> int:  # noqa: ANN401 (values of any option)
        given = {key: values.pop(key) for key in added}
        shell: Shell = values["context"].obj
        name, file = given["cluster"], given["fleet"]
        if name is None and file is not None and verb in ON_EVERY_CLUSTER:
            from rackwise.cli.fleet.every_cluster import run_for_every_cluster

            return run_for_every_cluster(command, verb, values, _read(shell, file), given)
        _check_one(name, given)
        if name is not None:
            if values.get("bootstrap_server") is None:  # other brokers may be another cluster
                values["context"].obj = replace(shell, cluster_name=name)
            values |= missing_values(verb, values, _read(shell, file, only=name).cluster(name))
        if is_required and values["bootstrap_server"] is None:
            raise usage_error("Missing option '--bootstrap-server'.")
        return command(**values)

    run.__annotations__ = {each.name: each.annotation for each in shown}
    vars(run)["__signature__"] = Signature(shown, return_annotation=int)
    return run


def _or_none(annotation: Any) -> Any:  # noqa: ANN401 (an annotation)
    """The annotation of an option that may be absent."""
    return Annotated[str | None, *annotation.__metadata__]


def _check_one(name: str | None, given: Mapping[str, Any]) -> None:
    """Reject options of a fleet file for a command on one cluster, or on none of a fleet."""
    wanted = "--cluster" if set(given) == {"cluster", "fleet"} else "--fleet"
    idle = [key for key, value in given.items() if value is not None and key != "cluster"]
    if name is not None:
        idle = [key for key in idle if key != "fleet"]
    if idle:
        option = f"--{idle[0].replace('_', '-')}"
        raise InvalidConfig(
            f"{option} requires {wanted}" + (" without --cluster" if name is not None else ""),
            wanted=wanted,
            had=option,
            hint=f"omit {option}, or give {wanted}",
        )


def _read(shell: Shell, file: str | None, *, only: str | None = None) -> FleetFile:
    from rackwise.adapters import files

    path = Path(file) if file else files.find_fleet_file(Path.cwd())
    if path is None:
        raise InvalidConfig(
            f"no rackwise.toml in {escaped(str(Path.cwd()))} or above it",
            wanted="rackwise.toml",
            had="none",
            hint="give the fleet file with --fleet FILE",
        )
    return files.read_fleet_file(path, environ=os.environ, only=only, max_bytes=shell.max_input)
