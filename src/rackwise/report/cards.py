"""The one to six cards with large numbers at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from rackwise.report.formats import (
    NOT_KNOWN,
    bytes_text,
    count_of,
    count_text,
    duration_text,
    name_text,
    share_of,
    share_text,
    usd_text,
)
from rackwise.report.plans import outcome
from rackwise.report.sentences import has_traffic, is_fleet, is_floor, is_priced, losses

if TYPE_CHECKING:
    from rackwise.report.sentences import Row, Summary


@dataclass(frozen=True, slots=True)
class Card:
    """One card: a label, a number, and a note below the number."""

    label: str
    number: str
    exact: str
    """The number before rounding, for the tooltip."""
    below: str
    """The note."""
    tone: str = ""
    """`accent`, `good`, `bad`, or empty."""


def cards(summary: Summary) -> tuple[Card, ...]:
    """Cards for cost, savings, crossing share, safety, worst rack loss and repair."""
    cost = (
        (_cost_card(summary), *_savings_card(summary), _crossing_card(summary))
        if has_traffic(summary)
        else ()
    )
    return (*cost, _safety_card(summary), *_loss_card(summary), *_plans_card(summary))


def _cost_card(summary: Summary) -> Card:
    totals, observed = summary["verdict"], summary["observed"]
    period = duration_text(observed["seconds"])
    if not is_priced(summary):
        return Card("Cost of crossing", "not priced", NOT_KNOWN, f"{period} observed")
    at_least = "at least, " if is_floor(summary) else ""
    return Card(
        "Cost of crossing, 30 days",
        usd_text(totals["usd_30d"]),
        f"{totals['usd_30d']} USD",
        f"{at_least}from {usd_text(totals['usd'])} in {period} observed",
        "accent",
    )


def _savings_card(summary: Summary) -> tuple[Card, ...]:
    part = summary["savings"]
    if part is None or not is_priced(summary):
        return ()
    saved = Decimal(part["total"]["usd_saved_30d"] or 0)
    whole = Decimal(summary["verdict"]["usd_30d"])
    share = share_text(saved / whole if whole else Decimal(0))
    return (
        Card(
            "Can be saved, 30 days",
            usd_text(saved),
            f"{saved} USD",
            f"up to {share} of that cost, by the changes below",
            "good",
        ),
    )


def _crossing_card(summary: Summary) -> Card:
    totals = summary["verdict"]
    share = share_of(totals["bytes_cross"], totals["bytes_total"])
    crossing, every = bytes_text(totals["bytes_cross"]), bytes_text(totals["bytes_total"])
    return Card(
        "Bytes that cross racks",
        share_text(share),
        f"{count_of(totals['bytes_cross'], 'byte')} of {count_of(totals['bytes_total'], 'byte')}",
        f"{crossing} of {every}",
    )


def _safety_card(summary: Summary) -> Card:
    totals = summary["verdict"]
    unsafe, partitions = totals["partitions_unsafe"], totals["partitions"]
    return Card(
        "Partitions not rack-safe",
        count_text(unsafe),
        f"{count_of(unsafe, 'partition')} with a finding of severity error",
        f"of {count_text(partitions)}; {count_of(totals['findings'], 'finding')} in all",
        "bad" if unsafe else "good",
    )


def _loss_card(summary: Summary) -> tuple[Card, ...]:
    worst = losses(summary)[:1]
    return tuple(
        Card(
            "Offline if one rack is lost",
            count_text(row["partitions_offline"]),
            f"{count_of(row['partitions_offline'], 'partition')} offline",
            f"worst: {_place(row, is_fleet(summary))}; "
            f"{count_text(row['partitions_below_min_isr'])} below min ISR",
            "bad" if row["partitions_offline"] else "good",
        )
        for row in worst
    )


def _plans_card(summary: Summary) -> tuple[Card, ...]:
    part = summary["plans"]
    if part is None or not part["planned"]:
        return ()
    is_proved = part["proved"] == part["clusters"]
    return (
        Card(
            f"Replicas to move, {part['goal']}",
            count_text(part["moves"]),
            count_of(part["moves"], "replica"),
            outcome(summary).partition("; ")[2],
            "good" if is_proved else "bad",
        ),
    )


def _place(row: Row, with_cluster: bool) -> str:  # noqa: FBT001 (one question)
    rack = name_text(row["rack"])
    return f"{rack} of {name_text(row['cluster'])}" if with_cluster else rack
