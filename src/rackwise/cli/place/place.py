"""`rackwise place`: prints a placement for a new topic or existing ones, and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.place.options import (
    TOPICS_NOTED,
    PlacementOptions,
    PlacementSettings,
    explain_rows,
    parse_partitions,
    parse_replication,
    place_topic,
    print_notes_of_topics,
    read_rack_map,
    resolve,
)
from rackwise.cli.place.served import (
    FromServer,
    PlacementServer,
    ServedApiKey,
    Timeout,
    reject_local_options,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClusterSource, CommandConfig, Server, SnapshotFile
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig, PlacementFailures
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from rackwise.cli.place.documents import PlacementDocument, PlacementsDocument
    from rackwise.core.errors import InputError
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Placement, Report
    from rackwise.core.placement.topics import PlacedTopics

Format = Literal["json", "cli", "reassignment"]


@with_option_groups()
def place(
    context: typer.Context,
    partitions: Annotated[
        str | None, typer.Option(metavar="P", help="Give the topic this many partitions.")
    ] = None,
    replication_factor: Annotated[
        str | None, typer.Option(metavar="R", help="Give each partition this many replicas.")
    ] = None,
    all_topics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Place the matching topics of the cluster anew, each with the partitions and "
            "replicas that it has. May be repeated.",
        ),
    ] = None,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    from_server: FromServer = None,
    command_config: CommandConfig = None,
    *,
    options: PlacementOptions,
    api_key: ServedApiKey = None,
    timeout: Timeout = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Print json, cli (5:4,3:2 for kafka-topics) or Kafka's reassignment JSON, one for "
            "all topics. [default: cli, or reassignment with --all-topics]"
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name the topic in the output, for --format reassignment or json. Its replicas do "
            "not count as load.",
        ),
    ] = None,
) -> int:
    """Print a placement for a new topic, or for existing ones; equal seeds give equal placements.

    With --all-topics, rackwise apply and Kafka's kafka-reassign-partitions take the output. A topic
    that cannot be placed is named, and the others are printed. With --from-server, a running
    rackwise serve computes the placement from its own cluster, placer and seed. Reads only. Exit
    codes: 0 printed, 1 error, or a topic is missing.
    """
    shell: Shell = context.obj
    server = PlacementServer(
        from_server,
        command_config,
        api_key,
        timeout,
        options.broker_list,
        options.disable_rack_aware,
    )
    if all_topics:
        sizes = {"--partitions": partitions, "--replication-factor": replication_factor}
        _check_alone({**sizes, "--topic": topic, "--from-server": from_server})
        output_format = _output_format(shell, format, topic, has_several=True)
        server.check_absent()
        existing = ClusterSource(snapshot, bootstrap_server, command_config)
        return _place_all(shell, existing, options, all_topics, output_format)
    source = None
    if from_server is None:
        server.check_absent()
        source = ClusterSource(snapshot, bootstrap_server, command_config)
    else:
        sources = {"--snapshot": snapshot, "--bootstrap-server": bootstrap_server}
        reject_local_options(
            [*(name for name, value in sources.items() if value), *options.names()]
        )
    output_format = _output_format(shell, format, topic)
    size = _size(partitions, replication_factor)
    if source is not None:
        cluster = source.read(shell).mapped(read_rack_map(shell, options))
        settings = resolve(options, cluster, without=[topic] if topic else ())
        rows, report = place_topic(shell, settings, *size)
        document = _document(cluster, settings, rows, report, topic)
    else:
        rows = server.ask(*size)
        document = server.document(rows, topic)
    if output_format == "json":
        shell.document(document)
    else:
        shell.data(_text(rows, topic if output_format == "reassignment" else None))
    return 0


def _place_all(
    shell: Shell,
    source: ClusterSource,
    options: PlacementOptions,
    globs: Sequence[str],
    output_format: Format,
) -> int:
    """Place existing topics anew. Raises the errors of `place_anew`, and `PlacementFailures`."""
    from rackwise.adapters import files
    from rackwise.cli.plan.goals import check_globs, note_empty_topics
    from rackwise.core.placement.topics import place_anew

    cluster = source.read(shell).mapped(read_rack_map(shell, options))
    check_globs("--all-topics", globs, cluster)
    names = [
        name for name in sorted(cluster.topics) if any(fnmatchcase(name, glob) for glob in globs)
    ]
    settings = resolve(options, cluster, without=names)
    found = place_anew(
        cluster,
        names,
        settings.brokers,
        placer=settings.placer,
        racks=settings.racks,
        load=settings.load,
        rng=settings.rng,
    )
    left_out = [name for name in names if name not in found.rows and name not in found.failed]
    note_empty_topics(shell, left_out)
    reports = {
        name: explain_rows(rows, settings.brokers, settings) for name, rows in found.rows.items()
    }
    print_notes_of_topics(shell, reports, settings)
    if output_format == "json":
        documents = [
            _document(cluster, settings, rows, reports[name], name)
            for name, rows in found.rows.items()
        ]
        shell.document(_placements(documents, found.failed, left_out))
    elif found.rows or not found.failed:
        lists = {(name, each): rows[each] for name, rows in found.rows.items() for each in rows}
        shell.data(files.reassignment_text(lists))
    _check_placed(shell, found)
    return 0


def _placements(
    documents: Sequence[PlacementDocument],
    failed: Mapping[str, InputError],
    left_out: Sequence[str],
) -> PlacementsDocument:
    from rackwise.cli.place.documents import FailedTopicDocument, PlacementsDocument

    return PlacementsDocument(
        topics=tuple(documents),
        failed=tuple(
            FailedTopicDocument(
                topic=name, error=type(error).__name__, message=error.message, hint=error.hint
            )
            for name, error in failed.items()
        ),
        left_out=tuple(left_out),
    )


def _check_placed(shell: Shell, found: PlacedTopics) -> None:
    """Warn of the first topics that cannot be placed; raise `PlacementFailures` if there is one."""
    if not found.failed:
        return
    for name, error in islice(found.failed.items(), TOPICS_NOTED):
        advice = f"; {error.hint}" if error.hint else ""
        shell.warn(f"topic {escaped(name)} has no new rows: {error.message}{advice}")
    more = len(found.failed) - TOPICS_NOTED
    if more > 0:
        verb = "has" if more == 1 else "have"
        shell.warn(
            f"{counted(more, 'more topic')} {verb} no new rows: --json prints the reason of each"
        )
    failed, total = len(found.failed), len(found.failed) + len(found.rows)
    raise PlacementFailures(
        f"{failed} of {counted(total, 'topic')} cannot be placed: " + names_text([*found.failed]),
        done=[*found.rows],
        failed=[*found.failed.values()],
        hint="the rows of all others are printed; to place only these, give --all-topics patterns "
        "that do not match the topics named here"
        if found.rows
        else "see the warning of each topic",
    )


def _check_alone(others: Mapping[str, str | None]) -> None:
    """Reject options beside --all-topics. `others`: option -> value. Raises `InvalidConfig`."""
    reject_combined(
        "--all-topics",
        [name for name, value in others.items() if value is not None],
        hint="omit them: existing topics have a name, partitions and replicas",
    )


def _size(partitions: str | None, replication_factor: str | None) -> tuple[int, int]:
    """Parse the size of one topic. Raises `InvalidConfig` if a part of it is missing."""
    if partitions is None or replication_factor is None:
        sizes = {"--partitions": partitions, "--replication-factor": replication_factor}
        missing = " and ".join(name for name, value in sizes.items() if value is None)
        raise InvalidConfig(
            f"expected --partitions and --replication-factor, got no {missing}",
            wanted="--partitions and --replication-factor",
            had=f"no {missing}",
            hint="give both, or place existing topics anew: --all-topics GLOB",
        )
    return parse_partitions(partitions), parse_replication(replication_factor)


def _output_format(
    shell: Shell, format: Format | None, topic: str | None, *, has_several: bool = False
) -> Format:
    """Choose the format from --format and --json. Raises `InvalidConfig`.

    `has_several`: whether topics of the cluster are placed, which have names.
    """
    if shell.is_json and format not in {None, "json"}:
        raise InvalidConfig(
            f"expected one format, got --json and --format {format}",
            wanted=1,
            had=2,
            hint="omit one of them",
        )
    default: Format = "reassignment" if has_several else "cli"
    chosen: Format = "json" if shell.is_json else format or default
    if has_several:
        if chosen == "cli":
            raise InvalidConfig(
                "--all-topics requires --format reassignment or json",
                wanted="--format reassignment",
                had="--format cli",
                hint="the text for kafka-topics has one topic, without its name",
            )
        return chosen
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
