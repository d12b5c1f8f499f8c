"""Checks the text options of `rackwise analyze` and turns them into values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.cli.analyze.options import SPARK_CONF
from rackwise.cli.source import parse_levels
from rackwise.cli.usage.key_values import parse_pairs
from rackwise.core.billed.zones import is_region
from rackwise.core.errors import InvalidConfig
from rackwise.core.savings import EPS
from rackwise.core.text import alternatives, escaped
from rackwise.pipeline.ingest.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.cli.analyze.options import (
        AnalyzeOptions,
        DedupeName,
        EngineName,
        GoalName,
        SideName,
        TableFormatName,
    )

TABLES = "tables"
KEPT = ("bronze", "facts")
"""Values of `--keep`; typer reads no list of a `Literal`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options that are not files, checked."""

    out: Path
    tables: str
    """Folder or URI of the tables."""
    table_format: TableFormatName
    """The format of the tables."""
    provider: str
    flow_format: str
    billed_region: str | None
    """The region of racks that do not name one, for the provider's own bill."""
    levels: tuple[str, ...]
    """Names of the rack levels, coarsest first."""
    first_day: date | None
    last_day: date | None
    side: SideName
    """Which of two logs of a flow counts."""
    dedupe: DedupeName
    """Whether equal rows count once."""
    max_quarantine: Decimal
    """Greatest share of malformed rows."""
    keep_days: int | None
    """Number of days to keep in the result; None keeps all."""
    keep: tuple[str, ...]
    eps: tuple[float, ...]
    """Bounds on a rack's load by its producers, ascending."""
    unkeyed: Mapping[str, float]
    """Topic -> share of its bytes whose records have no key."""
    extrapolate: bool
    """Whether less than one hour of traffic is extrapolated to 30 days."""
    engine: EngineName
    """What runs the tasks."""
    master: str | None
    remote: str | None
    conf: Mapping[str, str]
    goal: GoalName | None
    """The goal of the plans; None creates no plans."""


def parse_settings(options: AnalyzeOptions) -> Settings:
    """The checked values of the options. Raises `InvalidConfig`."""
    first, last = _day("--from", options.from_), _day("--to", options.to)
    if first and last and last < first:
        raise InvalidConfig(
            f"invalid --to: expected --from ({first}) or later, got {last}",
            wanted=str(first),
            had=str(last),
            hint="both days are included: use --from DAY --to DAY for one day",
        )
    for each in options.keep or ():
        _one_of("--keep", each, KEPT)
    tables = str(options.out / TABLES) if options.tables is None else options.tables
    if "://" not in tables:
        tables = str(Path(tables).absolute())  # Spark may have another working folder
    return Settings(
        out=options.out,
        tables=tables,
        table_format=options.table_format,
        provider=options.provider,
        flow_format=_one_of("--flow-format", options.flow_format, tuple(FORMATS)),
        billed_region=_region(options.billed_region, options.billed),
        levels=parse_levels(options.levels),
        first_day=first,
        last_day=last,
        side=options.side,
        dedupe=options.dedupe,
        max_quarantine=_share(options.max_quarantine),
        keep_days=options.keep_days,
        keep=tuple(sorted(set(options.keep or ()))),
        eps=tuple(sorted({_bound(text) for text in options.eps or ()})) or EPS,
        unkeyed=dict(_unkeyed(text) for text in options.unkeyed_share or ()),
        extrapolate=options.extrapolate,
        engine=_engine(options),
        master=options.master,
        remote=options.remote,
        conf=parse_pairs(options.conf, option="--conf", example=SPARK_CONF),
        goal=None if options.no_plans else options.goal,
    )


def _engine(options: AnalyzeOptions) -> EngineName:
    """The engine. Raises `InvalidConfig` for options of another one."""
    of_spark = {
        "--master": options.master,
        "--remote": options.remote,
        "--conf": options.conf,
        "--explain-plan": options.explain_plan,
    }
    if options.engine == "local" and (given := [name for name, had in of_spark.items() if had]):
        raise InvalidConfig(
            f"invalid {given[0]}: expected no option of Spark with --engine local, got one",
            wanted="--engine spark",
            had=given[0],
            hint=f"omit {given[0]} or --engine local",
        )
    return options.engine


def _one_of(option: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        wanted = alternatives(choices)
        raise InvalidConfig(
            f"invalid {option}: expected {wanted}, got {escaped(text)}",
            wanted=wanted,
            had=text,
            hint=f"choose one of these for {option}",
        )
    return text


def _region(text: str | None, billed: Sequence[str] | None) -> str | None:
    if text is None:
        return None
    if not is_region(text):
        raise InvalidConfig(
            f"invalid --billed-region: expected a region such as us-east-1, got {escaped(text)}",
            wanted="us-east-1",
            had=text,
            hint="give the region's code, not a zone or its long name",
        )
    if not billed:
        raise InvalidConfig(
            "--billed-region requires --billed",
            wanted="--billed PATH",
            had=text,
            hint="omit --billed-region, or give the provider's own bill with --billed",
        )
    return text


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"invalid {option}: expected a day such as 2026-11-01, got {escaped(text)}",
            wanted="2026-11-01",
            had=text,
            hint="write year, month and day with hyphens",
        ) from None


def _share(text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not (share.is_finite() and 0 <= share <= 1):
        raise InvalidConfig(
            f"invalid --max-quarantine: expected a share from 0 to 1, got {escaped(text)}",
            wanted="0..1",
            had=text,
            hint="write 0.01 for one row in a hundred",
        )
    return share


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _bound(text: str) -> float:
    bound = _number(text)
    if not bound >= 0:
        raise InvalidConfig(
            f"invalid --eps: expected a number from 0 to inf, got {escaped(text)}",
            wanted="0..inf",
            had=text,
            hint="write 0.1 for a tenth above the even share of a rack, or inf for no bound",
        )
    return bound


def _unkeyed(text: str) -> tuple[str, float]:
    topic, _, number = text.rpartition("=")
    share = _number(number)
    if not (topic and 0 <= share <= 1):
        raise InvalidConfig(
            f"invalid --unkeyed-share: expected TOPIC=SHARE, got {escaped(text)}",
            wanted="TOPIC=0..1",
            had=text,
            hint="for example --unkeyed-share orders=0.8",
        )
    return topic, share
