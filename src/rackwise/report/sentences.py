"""The sentences of a summary: the verdict, the trust in its numbers, the worst loss.

The page and the terminal show the same sentences. Every cluster name in the text here is escaped
and safe to show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import (
    NOT_KNOWN,
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
from rackwise.report.ranges import (
    SEPARATOR,
    Range,
    cost,
    is_nothing,
    month,
    period,
    reasons,
    saved_amount,
    usd_range,
)
from rackwise.report.safety import unsafe, why_open

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Summary = Mapping[str, Any]
    Row = Mapping[str, Any]

REPLICATION: Final = (
    "With RF 3 in 3 racks, replication always crosses racks for 2 x ingress; "
    "only client traffic can be saved"
)
UNATTRIBUTED: Final = "not attributed"
"""The name of bytes without a known topic, or read by an unknown group."""
NO_TRAFFIC: Final = (
    "The run has no traffic, so crossing bytes and their cost are not known. "
    "Take a second snapshot an hour later and give rackwise analyze both, each with sizes and "
    "offsets; or add --flows PATH (flow logs) or --rates FILE (bytes per second of each topic)"
)
ADD_TRAFFIC: Final = "Add a second snapshot taken an hour later, --flows PATH or --rates FILE"
"""The start of a sentence that says what a section would show."""
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


def is_range(summary: Summary) -> bool:
    """Whether the least and the greatest cost differ, or one is not known."""
    return bool(summary["verdict"]["usd"] != summary["verdict"]["usd_high"])


def has_dollars(summary: Summary) -> bool:
    """Whether the least or the greatest cost is known."""
    return has_traffic(summary) and any(
        summary["verdict"][key] is not None for key in ("usd", "usd_high")
    )


def verdict(summary: Summary) -> tuple[Phrase, ...]:
    """The verdict: the crossing cost, what can be saved, the unsafe partitions and the repair."""
    return (*_cost(summary), *_saving(summary), *_safety(summary), *_repair(summary))


def _cost(summary: Summary) -> tuple[Phrase, ...]:
    """What the bytes that cross cost: an amount, a range, or why it is not known."""
    totals = summary["verdict"]
    if not has_traffic(summary):
        return ()
    if not has_dollars(summary):
        return (
            Phrase(bytes_text(totals["bytes_cross"]), is_strong=True),
            Phrase(
                f" crossed racks in {duration_text(summary['observed']['seconds'])}, not priced. "
            ),
        )
    amount = cost(summary).phrase(between="between {} and {}", at_most="at most {}")
    verb = "costs" if month(summary) else "cost"
    short = _short(totals["reason_30d"])
    return (
        Phrase(f"Cross-rack traffic {verb} "),
        Phrase(f"{amount} {period(summary)}", is_strong=True),
        Phrase(f"{short}. "),
    )


def _saving(summary: Summary) -> tuple[Phrase, ...]:
    """What can be saved, and how much of the cost is not attributed."""
    if summary["savings"] is None or not has_traffic(summary):
        return ()
    total = summary["savings"]["total"]
    if is_nothing(total):
        return (Phrase("No change saves anything"), *_unattributed(summary), Phrase(". "))
    amount, _ = saved_amount(summary)
    if amount.low is not None and amount.high is not None:
        return (
            *(() if amount.is_exact else (Phrase("Between "),)),
            Phrase(amount.phrase(between="{} and {}"), is_strong=True),
            Phrase(" can be saved"),
            *_unattributed(summary),
            Phrase(". "),
        )
    bound, other = ("At most ", "least") if amount.low is None else ("At least ", "most")
    why = _short((reasons(total["reason"]) or (None,))[0])
    return (
        Phrase(bound),
        Phrase(amount.low or amount.high or NOT_KNOWN, is_strong=True),
        Phrase(f" can be saved; the {other} that can be saved is not known{why}"),
        *_unattributed(summary),
        Phrase(". "),
    )


def _unattributed(summary: Summary) -> tuple[Phrase, ...]:
    """How much of the cost belongs to no known topic or group, and why."""
    part = summary["unattributed"]
    if part is None or not part["bytes"]:
        return ()
    end = month(summary)
    amount = usd_range(part, f"usd{end}", f"usd_high{end}")
    if amount.low is None and amount.high is None:
        amount = Range(*[bytes_text(part["bytes_cross"] or part["bytes"])] * 2)
    why = _short(" and ".join(one["reason"].partition(": ")[0] for one in part["causes"]))
    return (
        Phrase("; "),
        Phrase(amount.phrase(), is_strong=True),
        Phrase(f" of it is not attributed{why}"),
    )


def _short(reason: str | None) -> str:
    """A reason in parentheses, after a space; empty without one."""
    return f" ({reason})" if reason else ""


def _safety(summary: Summary) -> tuple[Phrase, ...]:
    """How many partitions are not rack-safe, or why that is not known."""
    totals, found, why = summary["verdict"], unsafe(summary), why_open(summary)
    partitions = count_of(totals["partitions"], "partition")
    if found.low is None:
        return (
            Phrase("Whether all "),
            Phrase(partitions, is_strong=True),
            Phrase(f" are rack-safe is {NOT_KNOWN}: {why}"),
        )
    if not totals["partitions_unsafe"]:
        return (Phrase(f"All {partitions}", is_strong=True), Phrase(" are rack-safe"))
    verb = "is" if totals["partitions_unsafe"] == 1 else "are"
    more = f"; whether all others are rack-safe is {NOT_KNOWN}: {why}" if why else ""
    return (
        *([Phrase("At least ")] if why else []),
        Phrase(f"{found.low} of {partitions}", is_strong=True),
        Phrase(f" {verb} not rack-safe{more}"),
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
        rows += _unattributed_bytes(summary)
        rows.append(_quarantined(quality))
        if quality["rows_skipdata"]:
            rows.append(_undercount(quality["rows_skipdata"]))
    if summary["failed"]:
        rows.append(_unread(len(summary["failed"])))
    return tuple(rows)


_BYTES: Final = (
    ("bytes_measured", "measured", "bytes that a flow log or a client counted"),
    ("bytes_metered", "metered", "bytes by offsets, sizes and commits of two snapshots"),
    ("bytes_apportioned", "apportioned", "bytes counted without a topic, spread by weight"),
    (
        "bytes_estimated",
        "estimated",
        "bytes from rates, of sampled logs, from a later snapshot, or between differing snapshots",
    ),
    (
        "bytes_unknown_rack",
        "unknown rack",
        "the rack of one end is unknown; they cost nothing or up to the highest price",
    ),
    ("bytes_unpriced", "unpriced", "no price row covers the level; they may cost any amount"),
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
        "good" if count and label in {"measured", "metered"} else state,
        meaning,
    )


def _unattributed_bytes(summary: Summary) -> list[Trust]:
    part, total = summary["unattributed"], summary["verdict"]["bytes_total"]
    if part is None:
        return []
    meaning = SEPARATOR.join(one["reason"] for one in part["causes"]) or "all topics are known"
    return [_of_bytes(UNATTRIBUTED, part["bytes"], total, meaning)]


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
    """Broken rules, worst consequence first, as the summary has them."""
    return tuple(summary["findings"]["by_rule"])


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
