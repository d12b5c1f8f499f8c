"""`rackwise spark-check`: whether each executor of a Spark job reads Kafka in its own rack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.analyze.options import SPARK_CONF, Conf, Master, Remote
from rackwise.cli.shell import Shell, installed
from rackwise.cli.source import (
    ClusterSource,
    CommandConfig,
    Server,
    SnapshotFile,
    read_running_cluster,
)
from rackwise.cli.usage.key_values import parse_pairs
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.cli.analyze.documents import SparkCheckDocument
    from rackwise.core.findings import FindingList
    from rackwise.core.model import Cluster
    from rackwise.pipeline.spark_racks.check import Answers, Jvm

SHOWN = 10


def spark_check(
    context: typer.Context,
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    snapshot: SnapshotFile = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="T", help="Check only this topic; repeatable.")
    ] = None,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=V",
            help="Check this option of the job's Kafka reader, such as kafka.client.rack=...; "
            "repeatable. [default: the four options of the recipe]",
        ),
    ] = None,
    variable: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Read an executor's rack from this environment variable."
        ),
    ] = "CLIENT_RACK",
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
) -> int:
    """Check which rack the JVM of each executor sends to Kafka, and the options of a job.

    Reads no topic. Start it with the master and the configuration of the job. Exit codes: 0 no
    findings, 2 findings, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    options = parse_pairs(
        kafka_option,
        option="--kafka-option",
        example="kafka.client.rack=${env:CLIENT_RACK}",
        prefix="kafka.",
    )
    settings = parse_pairs(conf, option="--conf", example=SPARK_CONF)
    _check_variable(variable)
    cluster = _cluster(shell, snapshot, bootstrap_server, command_config, topic)
    with installed("spark", "ask executors"):
        from rackwise.pipeline.runtime.session import session
        from rackwise.pipeline.spark_racks.check import allow_list, diagnose_spark, variable_of
        from rackwise.pipeline.spark_racks.probe import ask
        from rackwise.pipeline.spark_racks.recipes import client_rack_options

        options = options or client_rack_options(variable)
        asked = variable_of(options, variable)
        with (
            session(master=master, remote=remote, profile="tiny", conf=settings) as spark,
            shell.progress("asking executors"),
        ):
            answers = ask(spark, asked, allow_list(options))
    found = diagnose_spark(options, asked, answers, cluster)
    if shell.is_json:
        from rackwise.cli.analyze.documents import CODEC

        shell.document(_document(options, asked, answers, found), CODEC)
    else:
        shell.text(_text(asked, answers, found, has_color=shell.has_color()))
    return 2 if found else 0


def _check_variable(name: str) -> None:
    if not name or set(name) & set("=:}\0"):
        raise InvalidConfig(
            "invalid --variable: expected the name of an environment variable, got "
            f"{escaped(name)!r}",
            wanted="CLIENT_RACK",
            had=name,
            hint="use letters, digits and _",
        )


def _cluster(
    shell: Shell,
    snapshot: Any,  # noqa: ANN401 (a path of typer's)
    bootstrap_server: str | None,
    command_config: Any,  # noqa: ANN401
    topics: Sequence[str] | None,
) -> Cluster | None:
    """The cluster that is read, with the topics that are; None where none is named."""
    if snapshot is None and bootstrap_server is None and command_config is None:
        if topics:
            raise InvalidConfig(
                "--topic requires --bootstrap-server or --snapshot",
                wanted="--bootstrap-server",
                had="--topic",
                hint="omit --topic, or name the cluster that the job reads",
            )
        return None
    ClusterSource(snapshot, bootstrap_server, command_config)
    wanted = tuple(topics or ("*",))
    if bootstrap_server is not None:
        return read_running_cluster(
            shell, bootstrap_server, command_config, topics=wanted, sizes=False
        )
    from rackwise.adapters import files
    from rackwise.cli.source import select_topics

    return select_topics(files.read_snapshot(snapshot, max_bytes=shell.max_input), wanted)


def _document(
    options: Mapping[str, str], variable: str, answers: Answers, found: FindingList
) -> SparkCheckDocument:
    from rackwise.cli.analyze.documents import (
        ExecutorDocument,
        JvmDocument,
        SparkCheckDocument,
        SparkFindingDocument,
    )

    return SparkCheckDocument(
        variable=variable,
        options=options,
        asked=answers.asked,
        executors=tuple(
            ExecutorDocument(**_jvm(each), answers=number)
            for each, number in answers.executors.items()
        ),
        driver=None if answers.driver is None else JvmDocument(**_jvm(answers.driver)),
        racks=dict(sorted(answers.racks.items())),
        counts=found.counts,
        findings=tuple(
            SparkFindingDocument(**each.as_dict("where", "group", "client_rack", "hint"))
            for each in found
        ),
        not_checked=found.not_checked,
    )


def _jvm(jvm: Jvm) -> dict[str, str | None]:
    """The fields of `JvmDocument`."""
    return {
        "host": jvm.host,
        "pid": jvm.pid,
        "rack": jvm.value,
        "automatic_config_providers": jvm.providers,
        "kafka_clients": jvm.clients,
    }


def _text(variable: str, answers: Answers, found: FindingList, *, has_color: bool) -> str:
    from rackwise.cli.tables import skipped_text, summary_text
    from rackwise.pipeline.spark_racks.check import RULES

    number = counted(len(answers.executors), "executor")
    head = f"{number} answered, in {counted(answers.asked, 'partition')} asked"
    rows = [f"  {_rack(each.value):20} {escaped(each.name)}" for each in answers.executors]
    if len(rows) > SHOWN:
        rows[SHOWN:] = [f"  and {len(rows) - SHOWN} more; --json has all"]
    if answers.driver is not None:
        rows.append(f"  {_rack(answers.driver.value):20} {escaped(answers.driver.name)} (driver)")
    parts = [
        f"{escaped(variable)}: {head}",
        "\n".join(rows),
        summary_text(found.counts, RULES),
        _listed(found, has_color=has_color),
        skipped_text(found.not_checked),
    ]
    return "\n\n".join(filter(None, parts))


def _rack(value: str | None) -> str:
    return escaped(value) if value else "-"


def _listed(found: FindingList, *, has_color: bool) -> str:
    from rackwise.cli.tables import severity_text

    lines: list[str] = []
    for hint, those in groupby(found, key=lambda each: each.hint):
        for each in those:
            severity = severity_text(each.severity, has_color=has_color)
            lines.append(f"{severity} {escaped(each.message)}")
        lines.append(f"  hint: {escaped(hint)}")
    return "\n".join(lines)
