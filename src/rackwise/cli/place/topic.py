"""`rackwise topic`: creates, expands or ensures topics with rack-aware rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.window import WindowOptions
from rackwise.cli.place.options import (
    DEFAULT_PLACER,
    PlacementOptions,
    PlacementSettings,
    check_rows_known,
    explain_rows,
    parse_partitions,
    parse_replication,
    place_topic,
    print_notes,
    read_rack_map,
    resolve,
)
from rackwise.cli.place.replication import ReplicationChange, ReplicationOptions
from rackwise.cli.place.topic_rows import (
    Outcome,
    TopicSize,
    check_increase,
    explain_refusal,
    parse_added_rows,
    place_added_rows,
    print_topic_notes,
    reject_other_options,
    reject_with_replication,
    show,
    warn_of_missing_racks,
)
from rackwise.cli.placer_options import create_placer, parse_placer_options, seeded_random
from rackwise.cli.shell import Shell, Terminated
from rackwise.cli.source import CommandConfig, connected, utc_now
from rackwise.cli.usage.key_values import parse_pairs
from rackwise.cli.usage.stdout import StdoutFailed, drop_stdout
from rackwise.core.errors import (
    InvalidConfig,
    PartialFailure,
    ServerRefused,
    TopicExists,
    WorldError,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.kafka import KafkaAdminClient, MissingTopic
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Draws, Placement, Placer

PATIENCE_S = 30.0
LOOK_EVERY_S = 0.2
WAITING = "waiting for the topic"

app = typer.Typer(
    help="Create, expand or ensure a topic with rack-aware placement.",
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicName:
    """The name of a topic: an argument, or `--topic` as in Kafka's tool. Exactly one is given."""

    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of the topic.", show_default=False),
    ] = None
    topic: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the topic, as for Kafka's kafka-topics."),
    ] = None

    def __post_init__(self) -> None:
        """Check that exactly one is given. Raises `InvalidConfig`."""
        if (self.name is None) == (self.topic is None):
            raise InvalidConfig(
                "expected the name of a topic once, got "
                + ("none" if self.name is None else "NAME and --topic"),
                wanted=1,
                had=0 if self.name is None else 2,
                hint="give NAME, or --topic NAME",
            )

    @property
    def text(self) -> str:
        """The name that is given."""
        return self.name or self.topic or ""


RequiredServer = Annotated[
    str, typer.Option(metavar="H:P", help="Connect to these brokers, separated by commas.")
]
RowsText = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Use exactly these replica lists: 5:4,3:2 puts partition 0 on brokers 5 and 4, and "
        "partition 1 on brokers 3 and 2.",
    ),
]
TOPIC_CONFIG = "retention.ms=86400000"
"""An example of `--config` in hints."""
Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="K=V", help="Set a topic configuration. May be repeated."),
]


@app.command()
@with_option_groups()
def create(
    context: typer.Context,
    named: TopicName,
    bootstrap_server: RequiredServer,
    command_config: CommandConfig = None,
    partitions: Annotated[
        str | None, typer.Option(metavar="P", help="Give the topic this many partitions.")
    ] = None,
    replication_factor: Annotated[
        str | None, typer.Option(metavar="R", help="Give each partition this many replicas.")
    ] = None,
    replica_assignment: RowsText = None,
    *,
    options: PlacementOptions,
    config: Configs = None,
    if_not_exists: Annotated[
        bool,
        typer.Option(
            "--if-not-exists", help="Exit with 2 if the topic exists with another size, not with 1."
        ),
    ] = False,
) -> int:
    """Create a topic with rack-aware replicas and wait until the cluster shows them.

    Exit codes: 0 created, or exists with this size; 1 error, nothing was written; 2 exists with
    another size, with --if-not-exists; 3 written, but the cluster does not show it; 4 missing
    authorization.
    """
    shell: Shell = context.obj
    name = named.text
    size = TopicSize(
        partitions=None if partitions is None else parse_partitions(partitions),
        replication=None if replication_factor is None else parse_replication(replication_factor),
        rows_text=replica_assignment,
    )
    size.check(options)
    configs = parse_pairs(config, option="--config", example=TOPIC_CONFIG)
    rack_map = read_rack_map(shell, options)
    with connected(bootstrap_server, command_config) as admin:
        cluster = read_cluster(shell, admin).mapped(rack_map)
        try:
            settings, rows = _create(shell, admin, name, cluster, size, options, configs)
        except TopicExists:
            rows = _wait_for_rows(shell, admin, name)
            if not (if_not_exists or size.matches(rows)):
                raise
            if configs:
                shell.warn(f"--config has no effect: topic {escaped(name)} exists")
            return 0 if _is_requested_size(shell, name, rows, size, otherwise="differs") else 2
    with report_result(name):
        show(shell, name, "created", rows, settings)
    return 0


def _create(
    shell: Shell,
    admin: KafkaAdminClient,
    name: str,
    cluster: Cluster,
    size: TopicSize,
    options: PlacementOptions,
    configs: Mapping[str, str],
) -> tuple[PlacementSettings | None, Placement]:
    """Create the topic; return the settings and its rows. Raises `TopicExists`."""
    from rackwise.adapters import kafka
    from rackwise.core.placement import parse_assignment

    if name in cluster.topics:
        raise kafka.topic_exists(name)
    settings: PlacementSettings | None = None
    if size.rows_text is not None:
        rows = parse_assignment(size.rows_text)
        check_rows_known(rows, cluster.brokers)
        report = explain_rows(rows, cluster.brokers)
        print_notes(shell, report, cluster.brokers, placer=None)
    else:
        settings = resolve(options, cluster)
        rows, _ = place_topic(shell, settings, size.partitions or 0, size.replication or 0)
    with report_interruption(name), shell.progress(WAITING, len(rows)) as advance:
        kafka.create_topic(admin, name, rows, configs=configs, progress=advance)
    return settings, rows


def _is_requested_size(
    shell: Shell, name: str, rows: Placement, size: TopicSize, *, otherwise: Outcome
) -> bool:
    """Print whether an existing topic has the requested size, else the outcome `otherwise`."""
    is_equal = size.matches(rows)
    if not is_equal:
        shell.warn(f"topic {escaped(name)} does not have the requested size: {size.as_text()}")
    show(shell, name, "exists" if is_equal else otherwise, rows, None)
    return is_equal


@app.command()
@with_option_groups()
def alter(
    context: typer.Context,
    named: TopicName,
    bootstrap_server: RequiredServer,
    partitions: Annotated[
        str | None, typer.Option(metavar="N", help="Expand the topic to this many partitions.")
    ] = None,
    command_config: CommandConfig = None,
    replica_assignment: RowsText = None,
    *,
    options: PlacementOptions,
    replication: ReplicationOptions,
    window: WindowOptions,
) -> int:
    """Expand a topic to N partitions, or change its replication factor.

    --partitions leaves existing partitions where they are. --replica-assignment has the replica
    lists of all N partitions; the lists of existing partitions are skipped. --replication-factor
    adds or removes replicas of all partitions; leaders and the other replicas stay. If such a run
    was interrupted, or its --window closed, the same command continues it with its rows. Outside
    the window nothing starts. Exit codes: 0 done, 1 error, nothing was written; 3 written, but the
    cluster does not show it, or moves are left; 4 missing authorization, or rejected before the
    first write.
    """
    shell: Shell = context.obj
    name = named.text
    replication.check(partitions, window)
    rack_map = read_rack_map(shell, options)
    if replication.replication_factor is not None:
        reject_with_replication(options, replica_assignment)
        change = ReplicationChange(
            topic=name,
            replication=parse_replication(replication.replication_factor),
            bootstrap_server=bootstrap_server,
            command_config=command_config,
            throttle=replication.throttle,
            window=window,
        )
        window.checked(shell, datetime.fromisoformat(utc_now()), is_check=False)
        with connected(bootstrap_server, command_config) as admin:
            cluster = read_cluster(shell, admin).mapped(rack_map)
        return change.run(context, cluster, options)
    if replica_assignment is not None:
        reject_other_options(options.names())
    count = parse_partitions(partitions or "")
    with connected(bootstrap_server, command_config) as admin:
        from rackwise.adapters import kafka
        from rackwise.core.placement.topics import topic_placement

        cluster = read_cluster(shell, admin).mapped(rack_map)
        if name not in cluster.topics:
            raise kafka.unknown_topic(name)
        existing = topic_placement(cluster, name)
        check_increase(name, existing, count)
        if replica_assignment is not None:
            settings = None
            new = parse_added_rows(replica_assignment, cluster, name, existing, count)
        else:
            settings = resolve(options, cluster, without=[name])
            new = place_added_rows(settings, name, existing, count)
        print_topic_notes(shell, cluster, existing, new, settings)
        with report_interruption(name), shell.progress(WAITING, len(new)) as advance:
            try:
                kafka.add_to_topic(admin, name, new, progress=advance)
            except ServerRefused as error:
                raise explain_refusal(error, name, cluster.brokers) from None
    with report_result(name):
        show(shell, name, "expanded", new, settings)
    return 0


@app.command()
@with_option_groups(without=("rack_mode", "disable_rack_aware", "broker_list", "no_load"))
def ensure(
    context: typer.Context,
    named: TopicName,
    bootstrap_server: RequiredServer,
    partitions: Annotated[
        str, typer.Option(metavar="P", help="Give the topic this many partitions.")
    ],
    replication_factor: Annotated[
        str, typer.Option(metavar="R", help="Give each partition this many replicas.")
    ],
    command_config: CommandConfig = None,
    *,
    options: PlacementOptions,
    config: Configs = None,
) -> int:
    """Create a topic unless it exists, as auto-creation does.

    Racks are used if all brokers have one, and ignored otherwise. Exit codes: 0 the topic exists,
    1 error, nothing was written; 3 written, but the cluster does not show it; 4 missing
    authorization.
    """
    shell: Shell = context.obj
    name = named.text
    configs = parse_pairs(config, option="--config", example=TOPIC_CONFIG)
    placer = options.placer or DEFAULT_PLACER
    placer_options = parse_placer_options(options.placer_option)
    chosen_placer = create_placer(placer, placer_options)
    size = TopicSize(
        partitions=parse_partitions(partitions),
        replication=parse_replication(replication_factor),
        rows_text=None,
    )
    used_seed, rng = seeded_random(options.seed)
    rack_map = read_rack_map(shell, options)
    with connected(bootstrap_server, command_config) as admin:
        missing = _create_if_missing(
            shell, admin, name, size, chosen_placer, configs, rack_map, rng
        )
        if missing is None:
            _is_requested_size(
                shell, name, _wait_for_rows(shell, admin, name), size, otherwise="exists"
            )
            return 0
    from rackwise.core.placement import RackMode

    settings = PlacementSettings(
        name=placer,
        options=placer_options,
        placer=chosen_placer,
        brokers=missing.brokers,
        racks=RackMode.SAFE,
        load=None,
        seed=used_seed,
        is_seed_generated=options.seed is None,
        rng=rng,
    )
    with report_result(name):
        warn_of_missing_racks(shell, settings)
        report = explain_rows(missing.rows, settings.brokers, settings)
        print_notes(
            shell,
            report,
            settings.brokers,
            placer=settings.name,
            generated_seed=settings.generated_seed,
        )
        show(shell, name, "created", missing.rows, settings)
    return 0


def _create_if_missing(
    shell: Shell,
    admin: KafkaAdminClient,
    name: str,
    size: TopicSize,
    placer: Placer,
    configs: Mapping[str, str],
    rack_map: Mapping[str, str],
    rng: Draws,
) -> MissingTopic | None:
    """Create a missing topic; None if it exists or another client creates it first."""
    from rackwise.adapters import kafka

    numbers = size.partitions or 0, size.replication or 0
    missing = kafka.missing_topic(admin, name, *numbers, placer=placer, rack_map=rack_map, rng=rng)
    if missing is None:
        return None
    with report_interruption(name), shell.progress(WAITING, len(missing.rows)) as advance:
        try:
            kafka.create_topic(admin, name, missing.rows, configs=configs, progress=advance)
        except TopicExists:
            return None
    return missing


def read_cluster(shell: Shell, admin: KafkaAdminClient) -> Cluster:
    """Read the current cluster, without sizes and configs."""
    from rackwise.adapters import kafka

    with shell.progress("reading the cluster") as advance:
        return kafka.read_cluster(
            admin, taken_at=utc_now(), sizes=False, configs=False, progress=advance
        )


def _wait_for_rows(shell: Shell, admin: KafkaAdminClient, name: str) -> Placement:
    """Wait for the rows of an existing topic, which brokers learn one after the other."""
    from rackwise.adapters import kafka

    deadline = time.monotonic() + PATIENCE_S
    with shell.progress(WAITING) as advance:
        while (rows := kafka.topic_rows(admin, name)) is None:
            advance(0)
            if time.monotonic() >= deadline:
                break
            time.sleep(LOOK_EVERY_S)
    if rows is None:
        raise WorldError(
            f"topic {escaped(name)} exists, but no broker shows it after {PATIENCE_S:.0f} s",
            wanted="shown",
            had="hidden",
            hint="check that the principal may describe it, or wait for the brokers",
        )
    return rows


@contextmanager
def report_interruption(name: str) -> Iterator[None]:
    """Raise `PartialFailure` for a signal in the block: the write may have happened."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        raise PartialFailure(
            f"interrupted before the cluster showed the rows of topic {escaped(name)}",
            skipped=[name],
            hint="they may still appear: check with rackwise audit before you send them again",
        ) from None


@contextmanager
def report_result(name: str) -> Iterator[None]:
    """After the write, ignore a closed stdout, and raise `PartialFailure` for a full disk."""
    try:
        yield
    except StdoutFailed as failed:
        drop_stdout()
        if failed.is_closed:
            return
        raise PartialFailure(
            f"topic {escaped(name)} was written, but the result cannot be written to stdout: "
            f"{failed.cause.strerror}",
            done=[name],
            hint="do not repeat the command; rackwise snapshot shows the rows",
        ) from None
