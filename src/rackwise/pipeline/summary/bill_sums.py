"""Sums of a bill: the totals of a run, of each cluster, what is not attributed, and the quality.

Bytes are summed by level: below 0 the rack is unknown, 0 is local, above 0 crosses. Dollars are
texts with nine digits, at least `usd` and at most `usd_high`; None is unknown.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rackwise.core.savings import SEPARATOR
from rackwise.core.savings.potential import GROUP, PRICE, RACK, TOPIC
from rackwise.core.traffic import exact_usd_text, known_sum, nano_of, per_month
from rackwise.pipeline.bill.savings import TOO_SHORT, month_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.pipeline.bill.model import Bill, Standing
    from rackwise.pipeline.ingest.row_outcomes import RowOutcomes

BYTES_TOTALS = ("bytes_total", "bytes_local", "bytes_cross", "bytes_unknown")
USD_TOTALS = ("usd", "usd_high", "usd_30d", "usd_high_30d")
LOST = (
    "the flow log reports that it lost traffic (SKIPDATA): bill these days from request logs or "
    "rates"
)


def totals_part(bill: Bill | None, outcomes: RowOutcomes, *, extrapolate: bool) -> dict[str, Any]:
    """Bytes and dollars of the run; dollars are at least `usd` and at most `usd_high`.

    `reason` says why these two differ or are not known, and `reason_30d` why 30 days have none.
    """
    if bill is None:
        return dict.fromkeys((*BYTES_TOTALS, *USD_TOTALS, "reason", "reason_30d"))
    bytes_ = Counter[str]()
    for one in bill.standings:
        bytes_["unknown" if one.level < 0 else "cross" if one.level else "local"] += one.bytes
    observed = month_seconds(bill.seconds, extrapolate=extrapolate)
    low, high = _dollars(bill.standings)
    lost = outcomes.rows_of("skipdata")
    reasons = [
        *([RACK] if bytes_["unknown"] else []),
        *([PRICE] if any(one.bytes and one.usd_high is None for one in bill.standings) else []),
        *([LOST] if lost else []),
    ]
    low_nano, high_nano = nano_of(low), None if lost else nano_of(high)
    return {
        "bytes_total": bytes_.total(),
        **{f"bytes_{name}": bytes_[name] for name in ("local", "cross", "unknown")},
        "usd": _usd_text(low_nano),
        "usd_high": _usd_text(high_nano),
        "usd_30d": _usd_text(_monthly(low_nano, observed)),
        "usd_high_30d": _usd_text(_monthly(high_nano, observed)),
        "reason": SEPARATOR.join(reasons) or None,
        "reason_30d": TOO_SHORT if observed is None else None,
    }


def cross_by_cluster(bill: Bill | None) -> dict[str, dict[str, Any]]:
    """Of each cluster with traffic: crossing bytes, those not attributed, and the dollars."""
    standings: dict[str, list[Standing]] = {}
    for one in bill.standings if bill else ():
        standings.setdefault(one.cluster, []).append(one)
    found = {}
    for name, part in standings.items():
        low, high = _dollars(part)
        crossing = [one for one in part if one.level > 0]
        found[name] = {
            "bytes_cross": sum(one.bytes for one in crossing),
            "bytes_cross_unattributed": sum(
                one.bytes for one in crossing if not _is_attributed(one)
            ),
            "usd": _usd_text(nano_of(low)),
            "usd_high": _usd_text(nano_of(high)),
        }
    return found


def unattributed_part(bill: Bill, *, extrapolate: bool) -> dict[str, Any]:
    """The bytes and dollars without a topic, or read by an unknown group, in all and by cause.

    Each byte has one cause: the topic, else the group.
    """
    by_cause: dict[str, list[Standing]] = {}
    for one in bill.standings:
        if not _is_attributed(one) and one.bytes:
            by_cause.setdefault(GROUP if one.is_topic_known else TOPIC, []).append(one)
    observed = month_seconds(bill.seconds, extrapolate=extrapolate)
    every = [one for part in by_cause.values() for one in part]
    return {
        **_unattributed_sums(every, observed),
        "causes": [
            {"reason": reason, **_unattributed_sums(by_cause[reason], observed)}
            for reason in (TOPIC, GROUP)
            if reason in by_cause
        ],
    }


def quality_part(bill: Bill | None) -> dict[str, int]:
    """Bytes by how they were measured, and those whose rack or price is doubtful or unknown."""
    bytes_ = Counter[str]()
    by_row = {price.row: price for price in bill.prices} if bill else {}
    for one in bill.standings if bill else ():
        bytes_[f"bytes_{one.quality}"] += one.bytes
        price = by_row.get(one.price_row or "")
        if one.level < 0:
            bytes_["bytes_unknown_rack"] += one.bytes
        elif one.level and price is None:
            bytes_["bytes_unpriced"] += one.bytes
        elif price is not None:
            is_early = one.day < price.valid_from
            bytes_["bytes_extrapolated_price"] += one.bytes if is_early else 0
            bytes_["bytes_unchecked_price"] += 0 if price.is_checked else one.bytes
    names = ("measured", "metered", "apportioned", "estimated", "unknown_rack", "unpriced")
    others = ("extrapolated_price", "unchecked_price")
    return {f"bytes_{name}": bytes_[f"bytes_{name}"] for name in (*names, *others)}


def _is_attributed(one: Standing) -> bool:
    """Whether the bytes have a topic and, if clients read them, a client group."""
    return one.is_topic_known and one.is_group_known


def _dollars(standings: Sequence[Standing]) -> tuple[Decimal | None, Decimal | None]:
    """The least and the greatest dollars of a part of the bill; None where not known."""
    highs = [one.usd_high for one in standings if one.bytes]
    known = [high for high in highs if high is not None]
    return (
        known_sum(one.usd for one in standings if one.bytes),
        sum(known, Decimal(0)) if len(known) == len(highs) else None,
    )


def _unattributed_sums(part: Sequence[Standing], observed: int | None) -> dict[str, Any]:
    low, high = (nano_of(usd) for usd in _dollars(part)) if part else (0, 0)
    return {
        "bytes": sum(one.bytes for one in part),
        "bytes_cross": sum(one.bytes for one in part if one.level > 0),
        "usd": _usd_text(low),
        "usd_high": _usd_text(high),
        "usd_30d": _usd_text(_monthly(low, observed)),
        "usd_high_30d": _usd_text(_monthly(high, observed)),
    }


def _usd_text(nano: int | None) -> str | None:
    return None if nano is None else exact_usd_text(nano)


def _monthly(nano: int | None, observed: int | None) -> int | None:
    return None if nano is None or observed is None else per_month(nano, observed)
