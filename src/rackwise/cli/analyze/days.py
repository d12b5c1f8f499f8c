"""The result that a run continues, between its files and the pipeline.

A manifest has texts, and paths relative to the result folder; the pipeline has days, times and
whole paths.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters import files
from rackwise.adapters.files import PublishedDay
from rackwise.core.errors import InvalidConfig, InvalidSummary
from rackwise.core.history import StandingDay
from rackwise.core.text import escaped
from rackwise.report.shape import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.cli.shell import Shell
    from rackwise.pipeline.plans.earlier import EarlierResult


def tables_place(tables: str, out: Path) -> str:
    """The place of tables for the manifest: relative to `out` if below it, else absolute."""
    if "://" in tables:
        return tables
    whole, home = Path(tables).resolve(), out.resolve()
    return str(whole.relative_to(home) if whole.is_relative_to(home) else whole)


def published_days(days: Iterable[StandingDay], out: Path) -> tuple[PublishedDay, ...]:
    """The days as they are in the manifest."""
    return tuple(
        PublishedDay(
            cluster=each.cluster,
            day=each.day.isoformat(),
            cluster_id=each.cluster_id,
            tables=None if each.tables is None else tables_place(each.tables, out),
            name_in_tables=each.name_in_tables,
            since=_text(each.since),
            until=_text(each.until),
            partitions=each.partitions,
            partitions_unsafe=each.partitions_unsafe,
        )
        for each in days
    )


def standing_days(days: Iterable[PublishedDay], out: Path) -> tuple[StandingDay, ...]:
    """The days of a manifest for the pipeline. Raises `InvalidConfig` for a day that is none."""
    return tuple(
        StandingDay(
            cluster=each.cluster,
            day=_day(each.day, out),
            cluster_id=each.cluster_id,
            tables=None if each.tables is None else _whole_place(each.tables, out),
            name_in_tables=each.name_in_tables,
            since=_time(each.since, out),
            until=_time(each.until, out),
            partitions=each.partitions,
            partitions_unsafe=each.partitions_unsafe,
        )
        for each in days
    )


def earlier_result(shell: Shell, out: Path) -> EarlierResult | None:
    """The result that a run continues; None, with a warning, if its summary was edited."""
    from rackwise.pipeline.plans.earlier import EarlierResult

    try:
        found = files.read_published(out, max_bytes=shell.max_input)
        check(found.summary)
    except InvalidSummary as error:
        shell.warn(f"findings of earlier clusters are not kept: {escaped(error.message)}")
        return None
    return EarlierResult(
        summary=found.summary,
        tables=_whole_place(found.tables, out),
        read=lambda path: files.read_bytes(
            found.folder / path, error=InvalidConfig, max_bytes=shell.max_input
        ),
    )


def _whole_place(tables: str, out: Path) -> str:
    return tables if "://" in tables else str(out.resolve() / tables)


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _day(text: str, out: Path) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _edited(text, "a day such as 2026-11-01", out) from None


def _time(text: str | None, out: Path) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise _edited(text, "a time such as 2026-11-01T00:00:00Z", out) from None


def _edited(had: str, wanted: str, out: Path) -> InvalidConfig:
    place = out / "manifest.json"
    return InvalidConfig(
        f"invalid {escaped(str(place))}: expected {wanted}, got {escaped(had)}",
        wanted=wanted,
        had=had,
        hint="the manifest was edited; give another --out",
        where=str(place),
    )
