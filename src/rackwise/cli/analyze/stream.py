"""`rackwise stream`: reads telemetry of Kafka clients into tables, and bills each day."""

from __future__ import annotations

import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from rackwise.cli.analyze.options import SPARK_CONF, CompactOptions, Conf, Master
from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell, installed
from rackwise.cli.source import COMMAND_CONFIG, utc_now
from rackwise.cli.usage.key_values import parse_pairs
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped
from rackwise.pipeline.ingest.formats import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from rackwise.pipeline.kafka.records import KafkaTopic
    from rackwise.pipeline.stream.counts import CompactCounts
    from rackwise.pipeline.stream.run import StreamOptions
    from rackwise.pipeline.stream.store import Batch

TOPIC = "rackwise.telemetry"
DAYS = "days"
ConnectorName: TypeAlias = Literal["jvm", "python"]
StartingName: TypeAlias = Literal["earliest", "latest"]
JVM: ConnectorName = "jvm"
PYTHON: ConnectorName = "python"
INTERVAL = re.compile(r"([1-9][0-9]{0,5})(s|m|h)")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}

app = typer.Typer(
    help="Read telemetry of Kafka clients into tables, each message once, and bill each day.",
    rich_markup_mode=None,
)

Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Write tables and the bills of days to this folder.")
]


@app.command()
def run(
    context: typer.Context,
    bootstrap_server: Annotated[
        str, typer.Option(metavar="H:P", help="Read from these brokers, separated by commas.")
    ],
    out: Out,
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Keep the progress of Spark in this folder; it belongs to --out."
        ),
    ],
    topic: Annotated[
        str, typer.Option(metavar="T", help="Read telemetry from this topic.")
    ] = TOPIC,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="60s",
            help="Keep running, with a batch this often. [default: stop at the end of the topic]",
        ),
    ] = None,
    starting: Annotated[
        StartingName,
        typer.Option(
            metavar="WHERE",
            help="Start a new checkpoint at the earliest or latest offsets; an existing checkpoint "
            "continues where it stopped.",
        ),
    ] = "earliest",
    connector: Annotated[
        ConnectorName,
        typer.Option(
            metavar="NAME",
            help="Read with jvm, Spark's own connector, or python: kafka-python, each executor in "
            "its own rack.",
        ),
    ] = JVM,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=V",
            help="Set an option of the jvm connector, such as kafka.security.protocol=SSL; "
            "repeatable.",
        ),
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option(
            *COMMAND_CONFIG,
            metavar="FILE",
            help="Read properties of the python connector from this file, on every host.",
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
) -> int:
    """Read telemetry into tables, each message exactly once, also after a kill.

    Without --interval it reads to the end of the topic and stops, for cron. Run it again with the
    same --checkpoint to continue. Exit codes: 0 done, 1 error, 4 the checkpoint does not belong to
    --out or to the topic.
    """
    shell: Shell = context.obj
    trigger = _interval(interval)
    _check_connector(connector, kafka_option, command_config)
    with installed("spark", "read telemetry"):
        from rackwise.pipeline.runtime.session import session
        from rackwise.pipeline.stream.run import StreamOptions, finish, start, usable_conf
        from rackwise.pipeline.stream.store import Store

        options = StreamOptions(
            bootstrap=bootstrap_server,
            topic=topic,
            out=str(out),
            checkpoint=str(checkpoint),
            starting=starting,
            interval=trigger,
            kafka=parse_pairs(
                kafka_option,
                option="--kafka-option",
                example="kafka.security.protocol=SSL",
            ),
        )
        store = Store(str(out))
        before = {(each.token, each.batch_id) for each in store.batches()}
        settings = parse_pairs(conf, option="--conf", example=SPARK_CONF)
        source = _python_topic(options, command_config) if connector == PYTHON else None
        usable = usable_conf(settings, master=master, is_jvm=source is None)
        with session(master=master, profile="small", conf=usable) as spark:
            finish(start(spark, options, source), options)
    new = [each for each in store.batches() if (each.token, each.batch_id) not in before]
    _show_run(shell, new)
    return 0


@app.command("compact")
@with_option_groups()
def compact_day(context: typer.Context, options: CompactOptions) -> int:
    """Publish the bill of one day from telemetry; repeated and replaced messages count once.

    Writes DIR/days/DATE, a folder like that of rackwise analyze; another run replaces it. Exit
    codes: 0 everything was written; 1 error, nothing was published; 2 only with --exit-code; 4 too
    many malformed rows, or bytes are missing.
    """
    from rackwise.cli.analyze.inputs import read_inputs
    from rackwise.cli.analyze.run import exit_code, run_analysis, show
    from rackwise.cli.analyze.settings import parse_settings

    shell: Shell = context.obj
    day, out = _day(options.date, is_yesterday=options.yesterday), options.out
    place = replace(options, out=out / DAYS / str(day))
    conf = parse_settings(place.of_flows("", str(day), CANONICAL)).conf
    with installed("spark", "compact"):
        from rackwise.pipeline.runtime.session import session
        from rackwise.pipeline.stream.compact import FEW_MESSAGES, compact
        from rackwise.pipeline.stream.store import STREAM, Store

        store = Store(str(out))
        is_small = sum(batch.messages for batch in store.batches()) < FEW_MESSAGES
        with (
            _compaction_lock(shell, Path(store.out, STREAM)),
            session(
                master=options.master, profile="small" if is_small else "batch", conf=conf
            ) as spark,
        ):
            counts, flows = compact(spark, str(out), day)
            try:
                of_day = place.of_flows(flows, str(day), CANONICAL)
                inputs = read_inputs(shell, of_day)
                # The active session is used: it must not be asked for a master again.
                settings = replace(parse_settings(of_day), master=None)
                analysis = run_analysis(shell, inputs, settings)
            finally:
                shutil.rmtree(flows)
    _show_day(shell, day, counts, analysis.summary)
    if not shell.is_json:
        show(shell, analysis, settings.out)
    return exit_code(analysis, inputs, is_requested=options.exit_code)


def _compaction_lock(shell: Shell, folder: Path) -> AbstractContextManager[None]:
    """Lock a stream's folder against other compactions; wait for one that runs."""
    from rackwise.adapters.files.publishing import locked

    if not folder.is_dir():
        return nullcontext()
    text = f"waiting for another compaction in {escaped(str(folder))}"
    return locked(folder, lambda: shell.warn(text))


def _check_connector(
    connector: ConnectorName, kafka_option: Sequence[str] | None, command_config: Path | None
) -> None:
    idle = "--kafka-option" if connector == PYTHON else "--command-config"
    if (kafka_option if connector == PYTHON else command_config) is not None:
        other = JVM if connector == PYTHON else PYTHON
        raise InvalidConfig(
            f"{idle} requires --connector {other}",
            wanted=f"--connector {other}",
            had=f"--connector {connector}",
            hint="use --command-config with python and --kafka-option with jvm",
        )


def _python_topic(options: StreamOptions, command_config: Path | None) -> KafkaTopic:
    """The topic as kafka-python reads it; executors get plain values only."""
    with installed("kafka", "read telemetry with --connector python"):
        from rackwise.adapters.clients.kafka_python.records import Reach, ends, records, topic_id
    from rackwise.pipeline.kafka.records import KafkaTopic

    config = None if command_config is None else str(command_config.absolute())
    reach = Reach(bootstrap=options.bootstrap, command_config=config)
    return KafkaTopic(
        name=options.topic,
        ends=partial(ends, reach, options.topic),
        records=partial(records, reach, options.topic),
        starting=options.starting,
        most=options.most_offsets,
        topic_id=partial(topic_id, reach, options.topic),
    )


def _interval(text: str | None) -> str | None:
    """`60s` in the notation of Spark, None for None. Raises `InvalidConfig`."""
    if text is None:
        return None
    found = INTERVAL.fullmatch(text)
    if found is None:
        raise InvalidConfig(
            f"invalid --interval: expected a time such as 60s, 5m or 1h, got {escaped(text)}",
            wanted="60s",
            had=text,
            hint="omit --interval to read what the topic has and stop",
        )
    return f"{found[1]} {UNITS[found[2]]}"


def _day(text: str | None, *, is_yesterday: bool) -> date:
    if (text is None) == (not is_yesterday):
        raise InvalidConfig(
            "expected exactly one of --date and --yesterday, got "
            f"{'both' if is_yesterday else 'none'}",
            wanted=1,
            had=2 if is_yesterday else 0,
            hint="give --date 2026-11-01, or --yesterday in a job that runs each night",
        )
    today = date.fromisoformat(utc_now()[:10])
    try:
        return today - timedelta(days=1) if text is None else date.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"invalid --date: expected a day such as 2026-11-01, got {escaped(text or '')}",
            wanted="2026-11-01",
            had=text,
            hint="write year, month and day with hyphens",
        ) from None


def _show_run(shell: Shell, batches: Sequence[Batch]) -> None:
    reasons: dict[str, int] = {}
    for batch in batches:
        for reason, number in batch.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + number
    kept = reasons.get("kept", 0)
    bytes_ = sum(batch.bytes for batch in batches)
    if shell.is_json:
        from rackwise.cli.analyze.documents import CODEC, StreamRunDocument

        document = StreamRunDocument(
            batches=len(batches),
            messages=sum(reasons.values()),
            kept=kept,
            reasons=dict(sorted(reasons.items())),
            bytes=bytes_,
        )
        shell.document(document, CODEC)
        return
    shell.text(
        f"{counted(sum(reasons.values()), 'message')} in {len(batches)} new "
        f"{'batch' if len(batches) == 1 else 'batches'}: {kept} kept, {bytes_} bytes"
    )
    _show_reasons(shell, reasons)


def _show_reasons(shell: Shell, reasons: Mapping[str, int]) -> None:
    for reason, number in sorted(reasons.items()):
        if reason != "kept":
            shell.text(f"  {escaped(reason)}: {number}")


def _show_day(shell: Shell, day: date, counts: CompactCounts, summary: Any) -> None:  # noqa: ANN401
    if shell.is_json:
        from rackwise.cli.analyze.documents import CODEC, CompactDocument

        document = CompactDocument(date=str(day), telemetry=counts, summary=summary)
        shell.document(document, CODEC)
        return
    shell.text(
        f"{day}: {counted(counts.messages, 'message')}: {counts.accepted} accepted, "
        f"{counts.superseded} superseded, {counts.duplicate} duplicate "
        f"({counts.conflicts} in conflict), {counts.quarantined} quarantined; {counts.late} "
        "arrived more than 2 hours late"
    )
    _show_reasons(shell, counts.reasons)
