"""`rackwise place`: prints a placement for a new topic and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.place.options import (
    PlacementOptions,
    PlacementSettings,
    parse_partitions,
    parse_replication,
    place_topic,
    resolve,
)
from rackwise.cli.place.served import (
    FromServer,
    PlacementServer,
    ServedApiKey,
    reject_local_options,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, ClusterSource, Server, SnapshotFile
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.cli.place.documents import PlacementDocument
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Placement, Report

Format = Literal["json", "cli", "reassignment"]


@with_option_groups()
def place(
    context: typer.Context,
    partitions: Annotated[
        str, typer.Option(metavar="P", help="Give the topic this many partitions.")
    ],
    replication_factor: Annotated[
        str, typer.Option(metavar="R", help="Give each partition this many replicas.")
    ],
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    from_server: FromServer = None,
    client_config: ClientConfig = None,
    *,
    options: PlacementOptions,
    api_key: ServedApiKey = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Print json, cli (5:4,3:2 for kafka-topics) or Kafka's reassignment JSON. "
            "[default: cli]"
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name the topic in the output, for --format reassignment or json."
        ),
    ] = None,
) -> int:
    """Print a placement for a new topic; equal seeds give equal placements.

    With --from-server, a running rackwise serve computes the placement from its own cluster, placer
    and seed. Reads only. Exit codes: 0 printed, 1 error.
    """
    shell: Shell = context.obj
    server = PlacementServer(
        from_server, client_config, api_key, options.broker_list, options.disable_rack_aware
    )
    source = None
    if from_server is None:
        server.check_absent()
        source = ClusterSource(snapshot, bootstrap_server, client_config)
    else:
        sources = {"--snapshot": snapshot, "--bootstrap-server": bootstrap_server}
        reject_local_options(
            [*(name for name, value in sources.items() if value), *options.names()]
        )
    output_format = _output_format(shell, format, topic)
    if source is not None:
        cluster = source.read(shell)
        settings = resolve(options, cluster)
        size = parse_partitions(partitions), parse_replication(replication_factor)
        rows, report = place_topic(shell, settings, *size)
        document = _document(cluster, settings, rows, report, topic)
    else:
        rows = server.ask(parse_partitions(partitions), parse_replication(replication_factor))
        document = server.document(rows, topic)
    if output_format == "json":
        shell.document(document)
    else:
        shell.text(_text(rows, topic if output_format == "reassignment" else None))
    return 0


def _output_format(shell: Shell, format: Format | None, topic: str | None) -> Format:
    """Choose the format from --format and --json. Raises `InvalidConfig`."""
    if shell.is_json and format not in {None, "json"}:
        raise InvalidConfig(
            f"expected one format, got --json and --format {format}",
            wanted=1,
            had=2,
            hint="omit one of them",
        )
    chosen: Format = "json" if shell.is_json else format or "cli"
    if chosen == "reassignment" and topic is None:
        raise InvalidConfig(
            "--format reassignment requires --topic",
            wanted="--topic",
            hint="give --topic NAME: Kafka's JSON names the topic of each partition",
        )
    if chosen == "cli" and topic is not None:
        raise InvalidConfig(
            "--topic requires --format reassignment or json",
            wanted="--format reassignment",
            had="--format cli",
            hint="omit --topic: the text for kafka-topics names no topic",
        )
    return chosen


def _text(rows: Placement, topic: str | None) -> str:
    """Format rows for kafka-topics, or with a topic for kafka-reassign-partitions."""
    if topic is None:
        return ",".join(":".join(map(str, row)) for row in rows.rows.tolist())
    from rackwise.adapters import files

    return files.reassignment_text({(topic, partition): rows[partition] for partition in rows})


def _document(
    cluster: Cluster,
    settings: PlacementSettings,
    rows: Placement,
    report: Report,
    topic: str | None,
) -> PlacementDocument:
    from rackwise.cli.place.documents import (
        BrokerShareDocument,
        PlacementDocument,
        RackShareDocument,
    )

    return PlacementDocument(
        cluster_id=cluster.cluster_id,
        taken_at=cluster.taken_at,
        topic=topic,
        placer=settings.name,
        placer_options=settings.options,
        rack_mode=str(settings.racks),
        seed=settings.seed,
        first_partition=rows.first,
        rows=tuple(map(tuple, rows.rows.tolist())),
        brokers=tuple(
            BrokerShareDocument(id=each.id, replicas=each.replicas, leaders=each.leaders)
            for each in report.brokers
        ),
        racks=tuple(
            RackShareDocument(
                rack=each.rack, brokers=each.brokers, replicas=each.replicas, leaders=each.leaders
            )
            for each in report.racks
        ),
        forced=tuple(each.text for each in report.forced),
    )
