"""The sentences of a summary: the verdict, the trust in its numbers, the worst loss.

The page and the terminal show the same sentences. Every cluster name in the text here is escaped
and safe to show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import (
    bytes_text,
    change_text,
    count_of,
    count_text,
    duration_text,
    name_text,
    share_of,
    share_text,
    usd_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Summary = Mapping[str, Any]
    Row = Mapping[str, Any]

REPLICATION: Final = (
    "With RF 3 in 3 racks, replication always crosses racks for 2 x ingress; "
    "only client traffic can be saved"
)
SEVERITIES: Final = ("error", "warning", "info")
NO_TRAFFIC: Final = (
    "The run has no traffic, so crossing bytes and their cost are not known. "
    "Run rackwise analyze with --flows PATH (flow logs) or with --rates FILE (bytes per second "
    "of each topic)"
)
NO_PRICE: Final = (
    "No price row covers the levels crossed, so bytes are shown without dollars. "
    "Run rackwise analyze with --prices FILE or with --provider NAME"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of a sentence."""

    text: str
    is_strong: bool = False
    """Whether the part is bold; numbers are."""


@dataclass(frozen=True, slots=True)
class Trust:
    """One reason to trust the numbers or to doubt them."""

    label: str
    text: str
    """A share or a count."""
    exact: str
    """The number before rounding."""
    state: Literal["good", "nothing", "note"]
    """`nothing` if no byte or row is affected."""
    meaning: str


def is_fleet(summary: Summary) -> bool:
    """Whether names need their cluster name beside them."""
    return len(summary["clusters"]) > 1


def has_traffic(summary: Summary) -> bool:
    """Whether the input includes flows or rates."""
    return summary["observed"] is not None and summary["verdict"]["bytes_total"] is not None


def is_priced(summary: Summary) -> bool:
    """Whether the crossing bytes have a price."""
    return has_traffic(summary) and summary["verdict"]["usd"] is not None


def is_floor(summary: Summary) -> bool:
    """Whether the true cost is known to be higher: bytes lack a price or rack, or rows are lost."""
    quality = summary["quality"]
    return any(quality[name] for name in ("bytes_unpriced", "bytes_unknown_rack", "rows_skipdata"))


def verdict(summary: Summary) -> tuple[Phrase, ...]:
    """The verdict line: the crossing cost, the savings, the unsafe partitions and the repair."""
    return (*_cost(summary), *_safety(summary["verdict"]), *_repair(summary))


def _cost(summary: Summary) -> tuple[Phrase, ...]:
    totals = summary["verdict"]
    if not has_traffic(summary):
        return ()
    if is_priced(summary):
        at_least = "at least " if is_floor(summary) else ""
        return (
            Phrase(f"Crossing racks costs {at_least}"),
            Phrase(f"{usd_text(totals['usd_30d'])} per 30 days", is_strong=True),
            *_saving(summary),
            Phrase("; "),
        )
    return (
        Phrase(bytes_text(totals["bytes_cross"]), is_strong=True),
        Phrase(f" crossed racks in {duration_text(summary['observed']['seconds'])}, not priced"),
        *_saving(summary),
        Phrase("; "),
    )


def _saving(summary: Summary) -> tuple[Phrase, ...]:
    if summary["savings"] is None:
        return ()
    total = summary["savings"]["total"]
    if not total["bytes_saved"]:
        return (Phrase(", of which no change saves anything"),)
    amount = usd_text(total["usd_saved_30d"]) if is_priced(summary) else None
    return (
        Phrase(", of which up to "),
        Phrase(amount or bytes_text(total["bytes_saved"]), is_strong=True),
        Phrase(" can be saved"),
    )


def _safety(totals: Row) -> tuple[Phrase, ...]:
    partitions, unsafe = totals["partitions"], totals["partitions_unsafe"]
    if not unsafe:
        return (
            Phrase(f"all {count_of(partitions, 'partition')}", is_strong=True),
            Phrase(" are rack-safe"),
        )
    verb = "is" if unsafe == 1 else "are"
    return (
        Phrase(f"{count_text(unsafe)} of {count_of(partitions, 'partition')}", is_strong=True),
        Phrase(f" {verb} not rack-safe"),
    )


def _repair(summary: Summary) -> tuple[Phrase, ...]:
    """What the plans move; empty if no plan was requested or no repair is necessary."""
    part = summary["plans"]
    if part is None or not (part["moves"] or summary["verdict"]["partitions_unsafe"]):
        return ()
    if not part["moves"]:
        return (Phrase("; no plan repairs that"),)
    is_whole = part["planned"] == part["clusters"]
    where = f" in {count_text(part['planned'])} of {count_of(part['clusters'], 'cluster')}"
    return (
        Phrase(f"; {name_text(part['goal'])} moves "),
        Phrase(count_of(part["moves"], "replica"), is_strong=True),
        *(() if is_whole else (Phrase(where),)),
        *_repair_price(part),
    )


def _repair_price(part: Row) -> tuple[Phrase, ...]:
    """The one-time price of the repair and the change of the monthly bill, as far as known."""
    if part["usd"] is None and part["monthly"]["usd_known"] is None:
        return ()
    once = f"{usd_text(part['usd'])} once" if part["usd"] is not None else "once: not known"
    return (Phrase(f" ({once}, {monthly_change(part)})"),)


def monthly_change(part: Row) -> str:
    """The change of replication in 30 days: `+$12.30 per 30 days`, or what is known of it."""
    monthly = part["monthly"]
    if monthly["usd"] is not None:
        return f"{change_text(monthly['usd'])} per 30 days"
    if monthly["usd_known"] is None:
        return "change per 30 days not known"
    plans = count_of(monthly["unknown"], "plan")
    return f"{change_text(monthly['usd_known'])} per 30 days without {plans} of unknown change"


def plain(phrases: Sequence[Phrase]) -> str:
    """The sentence as text that starts with a capital letter."""
    text = "".join(phrase.text for phrase in phrases)
    return text[:1].upper() + text[1:]


def trust(summary: Summary) -> tuple[Trust, ...]:
    """The quality banner: how the byte counts are known, and which bytes are missing."""
    quality, total = summary["quality"], summary["verdict"]["bytes_total"]
    rows = []
    if has_traffic(summary):
        rows = [
            _of_bytes(label, quality[key], total, meaning)
            for key, label, meaning in _BYTES
            if quality[key] or key in _ALWAYS
        ]
        rows.append(_quarantined(quality))
        if quality["rows_skipdata"]:
            rows.append(_undercount(quality["rows_skipdata"]))
    if summary["failed"]:
        rows.append(_unread(len(summary["failed"])))
    return tuple(rows)


_BYTES: Final = (
    ("bytes_measured", "measured", "bytes that a flow log or a client counted"),
    ("bytes_apportioned", "apportioned", "bytes counted without a topic, spread by weight"),
    ("bytes_estimated", "estimated", "bytes from rates or from a later snapshot"),
    ("bytes_unknown_rack", "unknown rack", "the rack of one end is unknown; not in the dollars"),
    ("bytes_unpriced", "unpriced", "no price row covers the level; not in the dollars"),
    ("bytes_unchecked_price", "unchecked price", "the price row was not checked at its source"),
    ("bytes_extrapolated_price", "extrapolated price", "days before the oldest price row"),
)
_ALWAYS: Final = ("bytes_measured", "bytes_apportioned", "bytes_estimated", "bytes_unknown_rack")


def _of_bytes(label: str, count: int | None, total: int | None, meaning: str) -> Trust:
    state: Literal["good", "nothing", "note"] = "note" if count else "nothing"
    return Trust(
        label,
        share_text(share_of(count, total)),
        f"{count_text(count)} of {count_of(total, 'byte')}",
        "good" if count and label == "measured" else state,
        meaning,
    )


def _quarantined(quality: Row) -> Trust:
    rows = quality["rows_quarantined"]
    return Trust(
        "quarantined",
        count_of(rows, "row"),
        f"{quality['share_quarantined']} of all rows",
        "note" if rows else "nothing",
        "malformed rows; the table quarantine has them with their reasons",
    )


def _undercount(rows: int) -> Trust:
    return Trust(
        "known undercount",
        count_of(rows, "row"),
        count_of(rows, "SKIPDATA row"),
        "note",
        "the flow log reports that it lost traffic (SKIPDATA)",
    )


def _unread(snapshots: int) -> Trust:
    return Trust(
        "not read",
        count_of(snapshots, "snapshot"),
        count_of(snapshots, "snapshot"),
        "note",
        "not part of this report; see the method section",
    )


def rules(summary: Summary) -> tuple[Row, ...]:
    """Broken rules, most severe first, then in the order of the summary."""
    return tuple(
        sorted(
            summary["findings"]["by_rule"],
            key=lambda row: (
                SEVERITIES.index(row["severity"])
                if row["severity"] in SEVERITIES
                else len(SEVERITIES)
            ),
        )
    )


def losses(summary: Summary) -> tuple[Row, ...]:
    """Blast radius rows of racks with another rack on the same level, worst first.

    The only rack of a level holds the whole cluster, so the loss of that rack is not informative.
    """
    siblings = Counter((row["cluster"], row["level"]) for row in summary["blast"])
    rows = [row for row in summary["blast"] if siblings[row["cluster"], row["level"]] > 1]
    return tuple(sorted(rows or summary["blast"], key=_badness))


def _badness(row: Row) -> tuple[Any, ...]:
    return (
        -row["partitions_offline"],
        -row["partitions_below_min_isr"],
        -row["leaders_lost"],
        row["cluster"],
        row["rack"],
    )


def loss(row: Row, *, with_cluster: bool) -> str:
    """A sentence about the effect of losing this rack."""
    rack = name_text(row["rack"])
    if with_cluster:
        rack += f" of {name_text(row['cluster'])}"
    return (
        f"losing rack {rack} takes {count_of(row['partitions_offline'], 'partition')} offline, "
        f"leaves {count_text(row['partitions_below_min_isr'])} below min ISR "
        f"and moves {count_of(row['leaders_lost'], 'leader')}"
    )
