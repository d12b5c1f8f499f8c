"""Where a command reads a cluster from: a snapshot, or running brokers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.installed import installed
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.core.model import Cluster

SnapshotFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file of rackwise snapshot, or FILE.gz.")
]
Server = Annotated[
    str | None, typer.Option(metavar="H:P", help="Brokers to ask instead, comma between.")
]
ClientConfig = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Client properties: security, SASL, TLS.")
]


def check_source(
    snapshot: Path | None, bootstrap_server: str | None, client_config: Path | None
) -> None:
    """Refuse all but `--snapshot` or `--bootstrap-server [--client-config]`: `InvalidConfig`."""
    if (snapshot is None) == (bootstrap_server is None):
        raise InvalidConfig(
            "expected exactly one of --snapshot and --bootstrap-server, got "
            f"{'none' if snapshot is None else 'both'}",
            wanted=1,
            had=0 if snapshot is None else 2,
            hint="--snapshot FILE reads a file, --bootstrap-server H:P a running cluster",
        )
    if client_config is not None and bootstrap_server is None:
        raise InvalidConfig(
            "--client-config requires --bootstrap-server",
            wanted="--bootstrap-server",
            had="--snapshot",
            hint="omit --client-config, or give --bootstrap-server instead of --snapshot",
        )


def cluster_of(
    shell: Shell,
    snapshot: Path | None,
    bootstrap_server: str | None,
    client_config: Path | None,
    *,
    sizes: bool = True,
    groups: bool = False,
) -> Cluster:
    """The cluster of a source that `check_source` let through.

    `sizes`, `groups`: whether running brokers are asked for them; a snapshot has what it has.
    """
    if snapshot is not None:
        from rackwise.adapters import files

        return files.read_snapshot(snapshot, max_bytes=shell.max_input)
    bootstrap = bootstrap_server or ""
    return cluster_of_brokers(shell, bootstrap, client_config, sizes=sizes, groups=groups)


def cluster_of_brokers(
    shell: Shell,
    bootstrap: str,
    client_config: Path | None,
    *,
    topics: Sequence[str] = ("*",),
    sizes: bool = True,
    groups: bool = False,
    resolve: bool = False,
) -> Cluster:
    """A running cluster as it is now, with progress on stderr."""
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters import kafka

    settings = kafka.read_client_config(client_config) if client_config is not None else {}
    with (
        closing(kafka.connect(bootstrap, settings)) as admin,
        shell.progress("reading the cluster") as advance,
    ):
        return kafka.read_cluster(
            admin,
            taken_at=utc_now(),
            topics=topics,
            sizes=sizes,
            groups=groups,
            resolve=kafka.resolved_addresses if resolve else None,
            progress=advance,
        )


def only_topics(cluster: Cluster, globs: Sequence[str]) -> Cluster:
    """The cluster with the topics that match alone; a note of each glob that matches none."""
    if "*" in globs:
        return cluster
    from rackwise.core.model import Note, PartitionTable

    kept = {name for name in cluster.topics if any(fnmatchcase(name, glob) for glob in globs)}
    notes = [
        Note(kind="not-visible", text=f"no topic that matches {glob} is in the snapshot")
        for glob in globs
        if not any(fnmatchcase(name, glob) for name in cluster.topics)
    ]
    return replace(
        cluster,
        notes=(*cluster.notes, *notes),
        topics={name: topic for name, topic in cluster.topics.items() if name in kept},
        partitions=PartitionTable.of(each for each in cluster.partitions if each.topic in kept),
    )


def utc_now() -> str:
    """The clock: UTC to the second, ISO 8601 with `Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 (the one reading of it)
