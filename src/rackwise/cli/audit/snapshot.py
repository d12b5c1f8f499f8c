"""`rackwise snapshot`: writes a cluster, or a reassignment and its racks, to a snapshot file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import Shell, parse_duration_ms
from rackwise.cli.source import CommandConfig, Server, Topics, running_cluster, utc_now
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.cli.audit.documents import SnapshotSummaryDocument
    from rackwise.core.model import Cluster

LEAST_SPAN_MS = 1000
"""Least time between two looks: what a broker reports is a moment older than its answer."""


def snapshot(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the snapshot here; FILE.gz is compressed. With --fleet, a folder.",
        ),
    ],
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    reassignment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read Kafka's reassignment JSON instead of a cluster."),
    ] = None,
    racks: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Read racks for --reassignment: columns broker,rack."),
    ] = None,
    topics: Topics = None,
    no_sizes: Annotated[
        bool, typer.Option("--no-sizes", help="Do not read partition sizes.")
    ] = False,
    no_offsets: Annotated[
        bool,
        typer.Option(
            "--no-offsets",
            help="Do not read offsets, commits of groups, and ends of compacted logs. Without them "
            "two snapshots do not show how much was written and read in between.",
        ),
    ] = False,
    groups: Annotated[
        bool | None,
        typer.Option(
            "--groups/--no-groups",
            help="Include consumer groups, their members and what they have committed, or omit "
            "them. Without this option they are included.",
        ),
    ] = None,
    resolve: Annotated[
        bool, typer.Option("--resolve", help="Resolve broker hosts to IP addresses.")
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Read the cluster twice, this long apart, such as 60s, and write how many bytes "
            "per second each partition got in between.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write this name of the cluster into the snapshot, such as prod-eu.",
        ),
    ] = None,
) -> int:
    """Write a snapshot of a cluster: brokers, racks, topics, replicas, sizes, offsets, groups.

    Changes nothing on the cluster. Exit codes: 0 written, 1 error, 3 a cluster of --fleet failed,
    4 missing authorization.
    """
    shell: Shell = context.obj
    if (bootstrap_server is None) == (reassignment is None):
        raise InvalidConfig(
            "expected exactly one of --bootstrap-server and --reassignment, got "
            f"{'both' if bootstrap_server else 'none'}",
            wanted=1,
            had=2 if bootstrap_server else 0,
            hint="--bootstrap-server H:P reads a cluster, --reassignment FILE Kafka's own JSON",
        )
    if bootstrap_server is not None:
        _reject({"--racks": racks}, wanted="--reassignment")
        span_ms = _span_ms(measure, {"--no-sizes": no_sizes, "--no-offsets": no_offsets})
        with running_cluster(
            shell,
            bootstrap_server,
            command_config,
            topics=tuple(topics or ("*",)),
            sizes=not no_sizes,
            groups=groups is not False,
            offsets=not no_offsets,
            resolve=resolve,
        ) as look:
            cluster = look() if span_ms is None else _measured(shell, look, span_ms)
    else:
        idle: dict[str, object] = {"--topics": topics, "--no-sizes": no_sizes}
        idle |= {"--groups": groups, "--no-groups": groups is False}
        idle |= {"--no-offsets": no_offsets, "--resolve": resolve, "--measure": measure}
        idle |= {"--command-config": command_config}
        _reject(idle, wanted="--bootstrap-server")
        cluster = _cluster_of_files(shell, reassignment, racks)
    from rackwise.adapters import files

    if name is not None:
        cluster = replace(cluster, name=checked_name(name))
    files.write_snapshot(cluster, out)
    _show(shell, cluster, out)
    return 0


def _reject(options: Mapping[str, object], *, wanted: str) -> None:
    """Reject options that have no effect without `wanted`."""
    idle = [option for option, value in options.items() if value]
    if idle:
        raise InvalidConfig(
            f"{', '.join(idle)} {'requires' if len(idle) == 1 else 'require'} {wanted}",
            wanted=wanted,
            had=", ".join(idle),
            hint=f"omit {'it' if len(idle) == 1 else 'them'}, or give {wanted}",
        )


def _span_ms(text: str | None, missing: Mapping[str, bool]) -> int | None:
    """The time between two looks; None for one look. `missing`: option -> whether it is given."""
    if text is None:
        return None
    span_ms = int(parse_duration_ms("--measure", text))
    if span_ms < LEAST_SPAN_MS:
        raise InvalidConfig(
            f"invalid --measure: expected at least 1s, got {escaped(text)}",
            wanted="at least 1s",
            had=text,
            hint="60s is enough for topics that get records every second",
        )
    omitted = [option for option, is_given in missing.items() if is_given]
    if omitted:
        raise InvalidConfig(
            f"--measure requires sizes and offsets, got {' and '.join(omitted)}",
            wanted="sizes and offsets",
            had=", ".join(omitted),
            hint=f"omit {' and '.join(omitted)}",
        )
    return span_ms


def _measured(shell: Shell, look: Callable[[], Cluster], span_ms: int) -> Cluster:
    from rackwise.cli.audit.looks import measured

    return measured(shell, look, span_ms)


def checked_name(name: str) -> str:
    """The name of a cluster, from the option `--name`. Raises `InvalidConfig`."""
    if not name or not name.isprintable():
        raise InvalidConfig(
            f"invalid --name: expected a name without control characters, got {escaped(name)!r}",
            wanted="a name without control characters",
            had=name,
            hint="for example --name prod-eu",
        )
    return name


def _cluster_of_files(shell: Shell, reassignment: Path | None, racks: Path | None) -> Cluster:
    if reassignment is None or racks is None:
        raise InvalidConfig(
            "--reassignment requires --racks",
            wanted="--racks",
            hint="give a CSV with the columns broker,rack: reassignment JSON names no rack",
        )
    from rackwise.adapters import files

    return files.read_reassignment(
        reassignment, racks, taken_at=utc_now(), max_bytes=shell.max_input
    )


def _show(shell: Shell, cluster: Cluster, out: Path) -> None:
    for note in cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    document = _summary(cluster, out)
    if shell.is_json:
        shell.document(document)
        return
    counts = ", ".join(
        counted(getattr(document, f"{noun}s"), noun)
        for noun in ("broker", "rack", "topic", "partition", "group")
        if noun != "group" or cluster.groups
    )
    if document.brokers_cordoned:
        counts += f", {counted(document.brokers_cordoned, 'cordoned broker')}"
    if document.rates:
        counts += f", {counted(document.rates, 'rate')}"
    shell.text(f"{escaped(str(out))}: {counts}, {counted(len(cluster.notes), 'note')}")


def _summary(cluster: Cluster, out: Path) -> SnapshotSummaryDocument:
    from rackwise.cli.audit.documents import SnapshotSummaryDocument
    from rackwise.cli.documents import cluster_fields, note_rows

    racks = {broker.rack for broker in cluster.brokers if broker.rack is not None}
    return SnapshotSummaryDocument(
        **cluster_fields(cluster),
        file=str(out),
        brokers_live=sum(broker.is_live for broker in cluster.brokers),
        brokers_without_rack=sum(broker.rack is None for broker in cluster.brokers),
        brokers_cordoned=sum(broker.is_cordoned for broker in cluster.brokers),
        racks=len(racks),
        groups=len(cluster.groups),
        rates=int((cluster.partitions.bytes_in_per_s >= 0).sum()),
        notes=note_rows(cluster.notes),
    )
