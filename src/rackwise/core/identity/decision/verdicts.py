"""The verdicts of a row, and the checks and sentences that rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.identity.model import Decision, ReadMore, Refuse, Take, WaitFor
from rackwise.core.identity.nodes.store import CLAIMS, IDS
from rackwise.core.identity.refusals import LastInSync
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.errors import IdentityRefused
    from rackwise.core.identity.decision.situation import Situation
    from rackwise.core.identity.model import How, KeyMapping

LISTED = 20
"""How many partitions a rejection names; it counts the others."""


@dataclass(frozen=True, slots=True)
class SkipTo:
    """Continue with this row."""

    row: str


Verdict: TypeAlias = Decision | SkipTo | None
"""None: the row does not hold; the next row is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One row: its text for the reference page, and its function."""

    name: str
    when: str
    outcome: str
    literal: str
    judge: Callable[[Situation, str], Verdict]


def refuse(
    row: str,
    error: type[IdentityRefused],
    message: str,
    *,
    wanted: object,
    had: object,
    hint: str | None = None,
    where: str | None = None,
    upstream: tuple[str, str] | None = None,
    **details: object,
) -> Refuse:
    """Build a rejection whose sentence ends with the row and the code."""
    built = error(
        f"{message} ({row}, {error.code})",
        wanted=wanted,
        had=had,
        hint=hint,
        where=where,
        upstream=upstream,
        row=row,
        details=details,
    )
    return Refuse(error=built, row=row)


def wait_for(situation: Situation, broker_id: int, row: str) -> WaitFor:
    """Wait until the holder of the id is gone, for the rest of the waiting time."""
    seen = situation.seen
    on = [f"{IDS}/{broker_id}"] if broker_id in seen.registered else []
    on += [f"{CLAIMS}/{broker_id}"] if broker_id in situation.claims else []
    left = situation.rules.wait_ms - seen.waited_ms
    return WaitFor(on=tuple(on), until_ms=seen.now_ms + left, row=row)


def wait_if_stale(situation: Situation, broker_id: int | None, row: str) -> Verdict:
    """Wait for a registration that looks like this very broker, until the waiting time is over."""
    if situation.rules.literal or broker_id is None or not situation.is_held(broker_id):
        return None
    has_waited = situation.seen.waited_ms >= situation.rules.wait_ms
    if has_waited or not situation.looks_like_me(broker_id):
        return None
    return wait_for(situation, broker_id, row)


def take_if_ours(situation: Situation, broker_id: int | None, row: str) -> Verdict:
    """Take the id that an earlier commit of this start has claimed already."""
    if broker_id is None or not situation.is_ours(broker_id):
        return None
    return take(situation, broker_id, "already", row)


def look_at_risk(situation: Situation, broker_id: int, row: str) -> Verdict:
    """Read which partitions an empty disk would lose, if that is not read yet.

    Nothing is read if every dir has its file.
    """
    if not situation.is_guarded or situation.seen.at_risk is not None:
        return None
    return ReadMore(at="at_risk", row=row, id=broker_id)


def refuse_last_in_sync(situation: Situation, broker_id: int, row: str) -> Verdict:
    """Reject an empty disk that would return as the last in-sync replica of a partition."""
    lost = (situation.seen.at_risk or {}).get(broker_id, ())
    if not lost or not situation.is_guarded or situation.rules.accept_loss:
        return None
    number = counted(len(lost), "partition")
    return refuse(
        row,
        LastInSync,
        f"id {broker_id} cannot return with an empty disk: expected another live in-sync copy of "
        f"every partition, got none of {number}: {names_text(lost, most=LISTED)}",
        wanted="another in-sync copy",
        had=f"none for {number}",
        id=broker_id,
        count=len(lost),
        partitions=list(lost[:LISTED]),
    )


def check_at_risk(situation: Situation, broker_id: int, row: str) -> Verdict:
    """Apply both checks as one row."""
    return look_at_risk(situation, broker_id, row) or refuse_last_in_sync(situation, broker_id, row)


def take(
    situation: Situation,
    broker_id: int,
    how: How,
    row: str,
    *,
    takes_from: tuple[KeyMapping, ...] = (),
) -> Take:
    """Take the id, with warnings for the operator."""
    return Take(
        id=broker_id,
        how=how,
        row=row,
        takes_from=takes_from,
        warnings=tuple(_warnings(situation, broker_id, how, takes_from)),
    )


def _warnings(
    situation: Situation, broker_id: int, how: How, takes_from: tuple[KeyMapping, ...]
) -> list[str]:
    seen = situation.seen
    key = escaped(seen.key)
    warnings = []
    if how in {"configured", "meta"} and seen.mapping_problem is not None:
        warnings.append(f"MAPPING_OVERWRITTEN: the mapping of key {key} could not be read")
    elif how in {"configured", "meta"} and situation.mapped not in {None, broker_id}:
        warnings.append(f"MAPPING_OVERWRITTEN: key {key} was mapped to {situation.mapped}")
        if situation.mapped in seen.registered:
            warnings[-1] += (
                f"; broker {situation.mapped} runs and has lost its mapping: if both brokers are "
                "on this host, start each with its own --instance"
            )
    warnings += [
        f"MAPPING_UNREADABLE: key {escaped(each)}: {seen.unreadable[each].hint}"
        for each in sorted(seen.unreadable)
    ]
    others = [m for m in seen.reserved.get(broker_id, ()) if m not in takes_from]
    if how != "already" and others:
        names = ", ".join(escaped(each.key) for each in others)
        warnings.append(f"MAPPED_TWICE: id {broker_id} is mapped to {names} too; run broker-id gc")
    if how in {"already", "gen"} or not situation.is_guarded:
        return warnings
    at_risk = (seen.at_risk or {}).get(broker_id, ())
    if at_risk:
        warnings.append(f"LOSS_ACCEPTED: {counted(len(at_risk), 'partition')} may lose records")
    if alone := seen.lost.get(broker_id, ()):
        warnings.append(
            f"DATA_GONE: {counted(len(alone), 'partition')} had this replica only, and it is lost"
        )
    return warnings
