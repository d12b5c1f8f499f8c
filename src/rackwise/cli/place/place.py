"""`rackwise place`: rows for a new topic, printed; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rackwise.cli.place.options import (
    BrokerList,
    IgnoreRacks,
    NoLoad,
    PlacerName,
    PlacerOptions,
    RackModeName,
    Seed,
    Terms,
    Wishes,
    partition_count,
    placed,
    replica_count,
    terms,
)
from rackwise.cli.place.served import FromServer, Served, ServedApiKey, check_alone
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, Server, SnapshotFile, check_source, cluster_of
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Placement, Report

FORMAT = "rackwise.placement/1"
Format = Literal["json", "cli", "reassignment"]


def place(
    context: typer.Context,
    partitions: Annotated[str, typer.Option(metavar="P", help="How many partitions.")],
    replication_factor: Annotated[str, typer.Option(metavar="R", help="Replicas of each.")],
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    from_server: FromServer = None,
    client_config: ClientConfig = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    rack_mode: RackModeName = None,
    disable_rack_aware: IgnoreRacks = False,
    broker_list: BrokerList = None,
    seed: Seed = None,
    no_load: NoLoad = False,
    api_key: ServedApiKey = None,
    format: Annotated[
        Format | None,
        typer.Option(help="json, kafka-topics' 5:4,3:2 or Kafka's JSON. [default: cli]"),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic that the rows are for.")
    ] = None,
) -> int:
    """Print where the replicas of a new topic would go; equal seeds give equal rows.

    --from-server asks a rackwise serve, which has the cluster, the placer and the seed. Reads only.
    Exit: 0 printed, 1 error.
    """
    shell: Shell = context.obj
    wishes = Wishes(
        placer, placer_option or (), rack_mode, disable_rack_aware, broker_list, seed, no_load
    )
    served = Served(from_server, client_config, api_key, broker_list, disable_rack_aware)
    if from_server is None:
        served.check_absent()
        check_source(snapshot, bootstrap_server, client_config)
    else:
        sources = {"--snapshot": snapshot, "--bootstrap-server": bootstrap_server}
        check_alone([*(name for name, value in sources.items() if value), *wishes.given()])
    form = _form(shell, format, topic)
    if from_server is None:
        cluster = cluster_of(shell, snapshot, bootstrap_server, client_config)
        agreed = terms(wishes, cluster)
        size = partition_count(partitions), replica_count(replication_factor)
        rows, report = placed(shell, agreed, *size)
        document = _document(cluster, agreed, rows, report, topic)
    else:
        rows = served.asked(partition_count(partitions), replica_count(replication_factor))
        document = served.document(FORMAT, rows, topic)
    if form == "json":
        shell.document(document)
    else:
        shell.text(_text(rows, topic if form == "reassignment" else None))
    return 0


def _form(shell: Shell, form: Format | None, topic: str | None) -> Format:
    """The one form that was asked for. Raises `InvalidConfig`."""
    if shell.is_json and form not in {None, "json"}:
        raise InvalidConfig(
            f"expected one format, got --json and --format {form}",
            wanted=1,
            had=2,
            hint="omit one of them",
        )
    wanted: Format = "json" if shell.is_json else form or "cli"
    if wanted == "reassignment" and topic is None:
        raise InvalidConfig(
            "--format reassignment requires --topic",
            wanted="--topic",
            hint="give --topic NAME: Kafka's JSON names the topic of each partition",
        )
    if wanted == "cli" and topic is not None:
        raise InvalidConfig(
            "--topic requires --format reassignment or json",
            wanted="--format reassignment",
            had="--format cli",
            hint="omit --topic: the text for kafka-topics names no topic",
        )
    return wanted


def _text(rows: Placement, topic: str | None) -> str:
    """The rows as kafka-topics takes them, or of a topic as kafka-reassign-partitions does."""
    if topic is None:
        return ",".join(":".join(map(str, row)) for row in rows.rows.tolist())
    from rackwise.adapters import files

    return files.reassignment_text({(topic, partition): rows[partition] for partition in rows})


def _document(
    cluster: Cluster, agreed: Terms, rows: Placement, report: Report, topic: str | None
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "topic": topic,
        **agreed.as_dict(),
        "first_partition": rows.first,
        "rows": rows.rows.tolist(),
        **shares(report),
    }


def shares(report: Report) -> dict[str, Any]:
    """What each broker and rack gets, and what is forced, for documents."""
    return {
        "brokers": [
            {"id": each.id, "replicas": each.replicas, "leaders": each.leaders}
            for each in report.brokers
        ],
        "racks": [
            {
                "rack": each.rack,
                "brokers": each.brokers,
                "replicas": each.replicas,
                "leaders": each.leaders,
            }
            for each in report.racks
        ],
        "forced": [each.text for each in report.forced],
    }
