"""Options that name the input of a command, and readers of a cluster: a snapshot or brokers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import Shell, installed
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.kafka import KafkaAdminClient
    from rackwise.core.model import Cluster
    from rackwise.core.secret import Secret
    from rackwise.core.traffic import Price

SnapshotFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read the cluster from this snapshot, FILE or FILE.gz."),
]
Server = Annotated[
    str | None,
    typer.Option(metavar="H:P", help="Read the cluster from these brokers, separated by commas."),
]
COMMAND_CONFIG = ("--command-config", "--client-config")
"""Kafka's name of the option, and an alias."""
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        *COMMAND_CONFIG,
        metavar="FILE",
        help="Read client properties for security, SASL and TLS from this file.",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="Use this policy, a TOML file. [default: built-in rules]"
    ),
]
PriceTable = Annotated[
    Path | None,
    typer.Option(
        "--prices", metavar="CSV", help="Use this price table. [default: the shipped table]"
    ),
]
Provider = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Use this provider's prices. Without it nothing is priced."),
]
LevelNames = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Name the rack levels, coarsest first: region,zone."),
]
Topics = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Include only these topics. May be repeated."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(metavar="G", help="Include only this consumer group. May be repeated."),
]


def read_provider_prices(shell: Shell, path: Path | None, provider: str) -> tuple[Price, ...]:
    """The provider's rows of a table, by default the shipped one. Raises `InvalidPrices`."""
    from rackwise.adapters import files
    from rackwise.core.traffic import prices_of

    if path is None:
        return prices_of(files.shipped_prices(), provider)
    return prices_of(files.read_prices(path, max_bytes=shell.max_input), provider)


def parse_levels(text: str | None) -> tuple[str, ...]:
    """The names of --levels, coarsest first. Raises `InvalidConfig`."""
    names = tuple(name.strip() for name in text.split(",")) if text is not None else ()
    if len(set(names)) != len(names) or not all(name.isprintable() and name for name in names):
        raise InvalidConfig(
            "invalid --levels: expected different names, coarsest first, got "
            f"{escaped(text or '')}",
            wanted="region,zone",
            had=text,
            hint="for example --levels region,zone",
        )
    return names


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """Where a command reads a cluster from: a snapshot file or running brokers.

    Raises `InvalidConfig` unless exactly one of them is given.
    """

    snapshot: SnapshotFile = None
    bootstrap_server: Server = None
    command_config: CommandConfig = None

    def __post_init__(self) -> None:
        """Check that exactly one source is given."""
        is_without = self.snapshot is None and self.bootstrap_server is None
        if self.command_config is not None and is_without:
            raise InvalidConfig(
                "expected --bootstrap-server with --command-config, got none",
                wanted="--bootstrap-server",
                had=None,
                hint="add --bootstrap-server H:P: bootstrap.servers of the file is not used, as in "
                "Kafka's own tools",
            )
        if (self.snapshot is None) == (self.bootstrap_server is None):
            raise InvalidConfig(
                "expected exactly one of --snapshot and --bootstrap-server, got "
                f"{'none' if self.snapshot is None else 'both'}",
                wanted=1,
                had=0 if self.snapshot is None else 2,
                hint="--snapshot FILE reads a file, --bootstrap-server H:P a running cluster, "
                "--cluster NAME one of the fleet file",
            )
        if self.command_config is not None and self.bootstrap_server is None:
            raise InvalidConfig(
                "--command-config requires --bootstrap-server",
                wanted="--bootstrap-server",
                had="--snapshot",
                hint="omit --command-config, or give --bootstrap-server instead of --snapshot",
            )

    def name_of(self, cluster: Cluster) -> str:
        """Name the cluster: its own name, the stem of its file without dates, or its id."""
        from rackwise.pipeline.fleet.cluster_names import stem, whole_stem

        file = "" if self.snapshot is None else self.snapshot.name
        names = (cluster.name, stem(file), cluster.cluster_id, whole_stem(file))
        return next(filter(None, names), "cluster")

    def read(self, shell: Shell, *, sizes: bool = True, groups: bool = False) -> Cluster:
        """Read the cluster.

        `sizes`, `groups`: whether to ask running brokers for them. A snapshot has what it has.
        """
        if self.snapshot is not None:
            from rackwise.adapters import files

            return files.read_snapshot(self.snapshot, max_bytes=shell.max_input)
        bootstrap = self.bootstrap_server or ""
        return read_running_cluster(
            shell, bootstrap, self.command_config, sizes=sizes, groups=groups
        )


def client_settings(command_config: Path | None) -> Mapping[str, str | Secret]:
    """The settings of `--command-config`; without a file, none. Raises `InvalidConfig`."""
    if command_config is None:
        return {}
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters.kafka import read_client_config

    return read_client_config(command_config)


@contextmanager
def connected(bootstrap: str, command_config: Path | None) -> Iterator[KafkaAdminClient]:
    """Open an admin client of a running cluster, and close it at the end.

    Raises `InvalidConfig`, `Unreachable` and the errors of a login.
    """
    settings = client_settings(command_config)
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters.kafka import connect

    with closing(connect(bootstrap, settings)) as admin:
        yield admin


def read_running_cluster(
    shell: Shell,
    bootstrap: str,
    command_config: Path | None,
    *,
    topics: Sequence[str] = ("*",),
    sizes: bool = True,
    groups: bool = False,
) -> Cluster:
    """Read a running cluster, with progress on stderr; offsets and addresses are not read."""
    options = {"sizes": sizes, "groups": groups, "offsets": False, "resolve": False}
    with running_cluster(shell, bootstrap, command_config, topics=topics, **options) as look:
        return look()


@contextmanager
def running_cluster(
    shell: Shell,
    bootstrap: str,
    command_config: Path | None,
    *,
    topics: Sequence[str],
    sizes: bool,
    groups: bool,
    offsets: bool,
    resolve: bool,
) -> Iterator[Callable[[], Cluster]]:
    """A connection to a running cluster: yields a function that reads it now, with progress."""
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters import kafka
    from rackwise.adapters.clock import epoch_clock, shift_s

    clock_ms = epoch_clock(ahead_s=shift_s(os.environ))
    with connected(bootstrap, command_config) as admin:

        def look() -> Cluster:
            with shell.progress("reading the cluster") as advance:
                return kafka.read_cluster(
                    admin,
                    taken_at=utc_now(),
                    topics=topics,
                    sizes=sizes,
                    groups=groups,
                    offsets=offsets,
                    resolve=kafka.resolved_addresses if resolve else None,
                    progress=advance,
                    clock_ms=clock_ms,
                )

        yield look


def select_topics(cluster: Cluster, globs: Sequence[str]) -> Cluster:
    """Keep only the topics that match a glob. A glob without a match becomes a note."""
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
    """Read the clock: UTC to the second, ISO 8601 with `Z`; a rehearsal is at another time."""
    from rackwise.adapters.clock import shift_s

    now = datetime.now(UTC)  # noqa: TID251 (the only place that reads it)
    return (now + timedelta(seconds=shift_s(os.environ))).strftime("%Y-%m-%dT%H:%M:%SZ")
