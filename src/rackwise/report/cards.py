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
)
from rackwise.report.plans import outcome
from rackwise.report.ranges import cost, month, reasons, saved, usd_range
from rackwise.report.safety import unsafe, why_open
from rackwise.report.sentences import has_dollars, has_traffic, is_fleet, losses

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
    duration = duration_text(observed["seconds"])
    if not has_dollars(summary):
        return Card("Cost of crossing", "not priced", NOT_KNOWN, f"{duration} observed")
    end = month(summary)
    whole = usd_range(totals, "usd", "usd_high").phrase()
    return Card(
        f"Cost of crossing, {_days(summary)}",
        cost(summary).phrase(),
        _exact(totals[f"usd{end}"], totals[f"usd_high{end}"]),
        f"from {whole} in {duration} observed" if end else totals["reason_30d"],
        "accent",
    )


def _days(summary: Summary) -> str:
    return "30 days" if month(summary) else "as observed"


def _exact(low: str | None, high: str | None) -> str:
    """The dollars of a range before rounding."""
    known = dict.fromkeys(f"{usd} USD" for usd in (low, high) if usd is not None)
    return " to ".join(known) or NOT_KNOWN


def _savings_card(summary: Summary) -> tuple[Card, ...]:
    part = summary["savings"]
    if part is None or not has_dollars(summary):
        return ()
    total, end = part["total"], month(summary)
    low, high = total[f"usd_low{end}"], total[f"usd_high{end}"]
    whole = summary["verdict"][f"usd_high{end}"]
    share = ""
    if high is not None and whole is not None and Decimal(whole):
        share = f"up to {share_text(Decimal(high) / Decimal(whole))} of that cost, "
    why = reasons(total["reason"])
    return (
        Card(
            f"Can be saved, {_days(summary)}",
            saved(total, end).phrase(),
            _exact(low, high),
            f"{share}by the changes below" + (f"; {why[0]}" if why and low != high else ""),
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
    totals, found, why = summary["verdict"], unsafe(summary), why_open(summary)
    counts = f"of {count_text(totals['partitions'])}; {count_of(totals['findings'], 'finding')}"
    is_good = found.is_exact and not totals["partitions_unsafe"]
    return Card(
        "Partitions not rack-safe",
        found.phrase(),
        f"{count_of(totals['partitions_unsafe'], 'partition')} with a finding of severity error"
        if found.low is not None
        else why,
        f"{why}; {counts} in all" if why else f"{counts} in all",
        "good" if is_good else "" if found.low is None else "bad",
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
