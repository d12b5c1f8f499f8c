"""The provider's own bill: the share that Kafka explains, as a sentence and a table of days.

A share that is not known is `not known`, and the reason beside it says why and what to do.

What this does not do: compare; the summary has the shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.report.formats import NOT_KNOWN, bytes_text, count_of, share_text, usd_text
from rackwise.report.tables import (
    Column,
    Table,
    bytes_column,
    count_column,
    name_column,
    share_cell,
    table,
    usd_cell,
)

if TYPE_CHECKING:
    from rackwise.report.sentences import Row, Summary

FILE: Final = "csv/billed.csv"


def sentence(summary: Summary) -> str | None:
    """How much of the billed transfer Kafka explains; None if no bill is given."""
    part = summary["billed"]
    if part is None:
        return None
    if part["share"] is None:
        return (
            "How much Kafka explains of the transfer between zones that AWS billed is "
            f"{NOT_KNOWN}: {part['reason']}"
        )
    text = (
        f"Kafka explains {_shares(part)} of the transfer between zones that AWS billed: "
        f"{_amounts(part)} in {count_of(part['days'], 'day')}"
    )
    if part["reason"] is not None:
        text += f" ({part['reason']})"
    return f"{text}; {part['finding']}" if part["finding"] is not None else text


def _shares(part: Row) -> str:
    low, high = share_text(part["share"]), share_text(part["share_high"])
    return low if low == high else f"{low} to {high}"


def _amounts(part: Row) -> str:
    if part["kafka_usd"] is not None and part["billed_usd"] is not None:
        return f"{usd_text(part['kafka_usd'])} of {usd_text(part['billed_usd'])}"
    return f"{bytes_text(part['kafka_bytes'])} of {bytes_text(part['billed_bytes'])}"


def days(summary: Summary) -> Table | None:
    """The days of each region, newest first; None if no bill is given."""
    part = summary["billed"]
    if part is None:
        return None
    columns = (
        name_column("day", "Day (UTC)"),
        name_column("region", "Region"),
        bytes_column("billed_bytes", "Billed"),
        Column("billed_usd", "Billed USD", "number", usd_cell),
        bytes_column("kafka_bytes", "Kafka"),
        Column("kafka_usd", "Kafka USD", "number", usd_cell),
        Column("share", "Share", "number", share_cell),
        Column("share_high", "At most", "number", share_cell),
        name_column("reason", "Why not known"),
    )
    return table(
        "billed",
        "Transfer between zones that AWS billed, both ends counted",
        columns,
        part["rows"],
        count=part["count"],
        file=FILE if FILE in summary["csv"] else "summary.json",
    )


def left_out(summary: Summary) -> Table | None:
    """The lines of the bill that are not compared; None if no bill is given."""
    part = summary["billed"]
    if part is None:
        return None
    columns = (
        name_column("reason", "Why lines are left out"),
        count_column("lines", "Lines"),
        Column("usd", "USD", "number", usd_cell),
    )
    return table("billed-left-out", "Lines of the bill left out", columns, part["left_out"])
