"""Options of `analyze`, `stream compact` and `generate`, each declared once as a field.

A command takes one object of such a class; `with_option_groups` makes the command line of its
fields.
To add an option: add a field here, and read it in `settings` or `inputs`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from rackwise.cli.source import LevelNames
from rackwise.core.constants import DEFAULT_PROVIDER
from rackwise.pipeline.ingest.formats import DEFAULT, FORMATS

SideName: TypeAlias = Literal["auto", "egress", "broker"]
DedupeName: TypeAlias = Literal["side", "exact"]
EngineName: TypeAlias = Literal["spark", "local"]
TableFormatName: TypeAlias = Literal["parquet", "delta", "iceberg"]
GoalName: TypeAlias = Literal["repair", "balance"]
ShapeName: TypeAlias = Literal["even", "random", "messy", "grown", "lost", "uneven"]
GeneratedFormat: TypeAlias = Literal["vpc", "vpc-text", "canonical", "gcp", "azure", "tgw", "obi"]

Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Run Spark on this master. [default: local[*]]"),
]
Remote = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Use the Spark Connect server at sc://HOST instead of a master."
    ),
]
SPARK_CONF = "spark.driver.memory=2g"
"""An example of `--conf` in hints."""
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="K=V", help="Set a Spark configuration property; repeatable."),
]
Provider = Annotated[
    str,
    typer.Option(metavar="NAME", help="Use the rows of this provider in the price table."),
]
PriceTable = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="Read prices from this table. [default: the shipped table]"),
]


@dataclass(frozen=True, kw_only=True)
class BillOptions:
    """Options of every command that publishes a bill."""

    snapshots: Annotated[
        list[str],
        typer.Argument(
            metavar="SNAPSHOT...",
            help="Snapshot files, folders or globs; several snapshots of one cluster form "
            "its history.",
        ),
    ]
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write the report and its files to this folder.")
    ]
    subnets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read the racks of subnets from this file: lines cidr,rack, or one line "
            "rack@cidr<>rack@cidr.",
        ),
    ] = None
    addresses: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="CSV",
            help="Read the racks of single addresses from this CSV file, with the times from which "
            "and to which they apply; rackwise racks writes it. Repeatable.",
        ),
    ] = None
    clients: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Read the racks of clients from this CSV file, by client_id, client_group or "
            "principal.",
        ),
    ] = None
    owners: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Charge the bill to the owners in this CSV file, by globs of topics or of client "
            "groups.",
        ),
    ] = None
    prices: PriceTable = None
    provider: Provider = DEFAULT_PROVIDER
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Audit and plan by the rules of this TOML file."),
    ] = None
    levels: LevelNames = None
    max_quarantine: Annotated[
        str,
        typer.Option(metavar="SHARE", help="Allow at most this share of malformed rows."),
    ] = "0.01"
    extrapolate: Annotated[
        bool,
        typer.Option(
            "--extrapolate",
            help="State dollars per 30 days even if less than one hour of traffic was observed.",
        ),
    ] = False
    master: Master = None
    conf: Conf = None
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Exit with 2 if a plan has moves or if the audit has findings that fail "
            "the policy.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class AnalyzeOptions(BillOptions):
    """Options of `rackwise analyze`."""

    flows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="Read flow files: paths, folders, globs or URIs; repeatable."
        ),
    ] = None
    flow_format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="Read flow files in this format: "
            + ", ".join(f"{each.name} ({each.files})" for each in FORMATS.values())
            + ".",
        ),
    ] = DEFAULT
    rates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Estimate traffic from the bytes per second of each topic in this file, CSV or "
            "Parquet.",
        ),
    ] = None
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="Ignore traffic before this day, UTC."),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Ignore traffic after this day, UTC."),
    ] = None
    side: Annotated[
        SideName,
        typer.Option(
            metavar="SIDE",
            help="If both ends log a flow, count one log: that of the sender (egress), that of the "
            "broker, or auto to choose by the logged addresses.",
        ),
    ] = "auto"
    dedupe: Annotated[
        DedupeName,
        typer.Option(
            metavar="HOW",
            help="Remove duplicates: side counts a flow once that both ends log; exact also counts "
            "equal rows once.",
        ),
    ] = "side"
    billed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Compare the traffic between zones with the provider's own bill, an AWS Cost and "
            "Usage Report as CSV or Parquet: paths, folders, globs or URIs; repeatable.",
        ),
    ] = None
    billed_region: Annotated[
        str | None,
        typer.Option(
            metavar="REGION",
            help="Compare clusters whose racks name no zone of AWS with this region of the "
            "provider's own bill, such as us-east-1.",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Also keep this table: bronze, the rows as they were read, or facts, the rows "
            "that count, with racks and brokers; repeatable.",
        ),
    ] = None
    eps: Annotated[
        list[str] | None,
        typer.Option(
            metavar="F",
            help="Let a rack receive up to 1 + F times its even share of the produced bytes, "
            "inf for no bound; repeatable. The total of the savings has the bound 0.1 if it is one "
            "of them, otherwise the largest that is not inf. [default: 0, 0.05, 0.1, 0.2, inf]",
        ),
    ] = None
    unkeyed_share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC=F",
            help="Set the share of a topic's bytes whose records have no key; repeatable. Without "
            "it, the saving of rack-aware producers is only known to be at most its value.",
        ),
    ] = None
    keep_days: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Remove days of the result before the last N days. [default: keep all days]",
        ),
    ] = None
    tables: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Write Parquet tables here. [default: DIR/tables]"),
    ] = None
    table_format: Annotated[
        TableFormatName,
        typer.Option(
            metavar="FORMAT",
            help="Write the tables in this format: parquet, or parquet with the log of delta "
            "(Delta Lake) or iceberg (Apache Iceberg), whose jars are fetched.",
        ),
    ] = "parquet"
    remote: Remote = None
    engine: Annotated[
        EngineName,
        typer.Option(
            metavar="ENGINE",
            help="Run the tasks on this engine: spark, or local, this process without Java, for "
            "VPC flow logs and Parquet files of canonical flows on this machine.",
        ),
    ] = "spark"
    goal: Annotated[
        GoalName,
        typer.Option(metavar="GOAL", help="Plan each cluster for this goal: repair or balance."),
    ] = "repair"
    no_plans: Annotated[bool, typer.Option("--no-plans", help="Create no plans.")] = False
    explain_plan: Annotated[
        bool,
        typer.Option(
            "--explain-plan",
            help="Only print what the run would read, how, on which Spark, and the expected time; "
            "read no rows and write nothing.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class CompactOptions(BillOptions):
    """Options of `rackwise stream compact`."""

    date: Annotated[
        str | None, typer.Option(metavar="DATE", help="Compact the messages of this day, UTC.")
    ] = None
    yesterday: Annotated[
        bool, typer.Option("--yesterday", help="Compact the messages of the day before today.")
    ] = False

    def of_flows(self, flows: str, day: str, flow_format: str) -> AnalyzeOptions:
        """The options that analyze one day of flows in the same way."""
        shared = {each.name: getattr(self, each.name) for each in fields(BillOptions)}
        return AnalyzeOptions(**shared, flows=[flows], flow_format=flow_format, from_=day, to=day)


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Options of `rackwise generate`; None where the generator's default applies."""

    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write all files to this new or empty folder.")
    ]
    seed: Annotated[
        int, typer.Option(help="Generate from this seed; equal seeds give equal files.")
    ] = 7
    clusters: Annotated[
        int | None, typer.Option(help="Generate this number of clusters. [default: 1]")
    ] = None
    brokers: Annotated[
        int | None,
        typer.Option(help="Give each cluster this number of brokers. [default: 60]"),
    ] = None
    topics: Annotated[
        int | None,
        typer.Option(help="Give each cluster this number of topics. [default: 2000]"),
    ] = None
    racks: Annotated[
        str | None,
        typer.Option(
            metavar="RACKS",
            help="Spread brokers over these racks, separated by commas. "
            "[default: /eu/a,/eu/b,/eu/c]",
        ),
    ] = None
    rf: Annotated[
        int | None,
        typer.Option(help="Give each partition this number of replicas. [default: 3]"),
    ] = None
    shape: Annotated[
        ShapeName | None,
        typer.Option(
            metavar="SHAPE",
            help="Place replicas evenly over racks (even), without racks (random), with one in "
            "five partitions without racks (messy), on all but some new brokers (grown), with a "
            "dead broker (lost), or over racks of different size (uneven). [default: even]",
        ),
    ] = None
    violations: Annotated[
        float | None,
        typer.Option(help="Put this share of partitions into one rack on purpose. [default: 0.02]"),
    ] = None
    snapshot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Generate flows of this existing cluster instead of a new one; repeatable.",
        ),
    ] = None
    addresses: Annotated[
        bool,
        typer.Option("--addresses", help="Generate addresses for the brokers of --snapshot."),
    ] = False
    first_day: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Start the flows on this day. "
            "[default: 2026-11-21, or the day after the last --snapshot]",
        ),
    ] = None
    days: Annotated[int, typer.Option(help="Generate flows of this number of days.")] = 1
    flows: Annotated[int, typer.Option(help="Generate this number of flows in all files.")] = (
        1_000_000
    )
    flow_format: Annotated[
        GeneratedFormat,
        typer.Option(
            metavar="FORMAT",
            help="Write flows in this format: vpc (Parquet), vpc-text, canonical (Parquet), gcp "
            "(JSON lines), azure (JSON), tgw (text) or obi (JSON lines).",
        ),
    ] = "vpc"
    log_version: Annotated[
        int,
        typer.Option(help="Write VPC flow logs of this version: 5, or 2, which has no direction."),
    ] = 5
    bad_rows: Annotated[
        float, typer.Option(help="Write this share of flows as malformed rows.")
    ] = 0.001
    duplicates: Annotated[float, typer.Option(help="Log this share of flows twice.")] = 0.05
    ipv6: Annotated[float, typer.Option(help="Give this share of clients an IPv6 address.")] = 0.02
    looks: Annotated[
        int,
        typer.Option(
            help="Write this number of snapshots of each cluster, evenly spaced over the days. "
            "From 2 on, snapshots have offsets, groups and commits, and meter the flows exactly."
        ),
    ] = 1
    retention: Annotated[
        float,
        typer.Option(
            help="Delete the oldest records of this share of topics between snapshots; requires "
            "`--looks`."
        ),
    ] = 0.0
    prices: PriceTable = None
    provider: Provider = DEFAULT_PROVIDER
