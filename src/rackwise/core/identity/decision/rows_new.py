"""Rows D28 to D38: this key was never here: a spare id, the KIP's b, or a new one.

"Otherwise look for broker ids that were used previously but are not currently registered: if there
is exactly one, use it; if there are more than one, throw error; if there are none, fallback to
generating a new broker id."

Whether a newcomer replaces a broker or joins the cluster cannot be known. So a spare is taken only
if the operator permits it, only after it was missing without a break for the time of grace, and
under `unmapped` only if no other key is mapped to it. The grace applies to unmapped ids, too: in a
fleet that has just adopted mappings, brokers in a rolling restart would look like spares.

A generated number is compared with all known ids: if the sequence was recreated, it starts again,
and its numbers match old replicas. Nor is an id with an owner given again: its replicas may be gone
while its number is still on a disk, or it is assigned to a host that has not started yet.

A mapping of another host that cannot be read may have every used id that no readable mapping has,
so none of these spares is unmapped, and `any` takes none of them, because the mapping could not be
removed. If another tool wrote it, it may also have an id that was never used. If no owner has its
key, nothing tells which, so no number is generated until it can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.constants import GREATEST_ID
from rackwise.core.identity.decision.verdicts import (
    DecisionRow,
    SkipTo,
    check_at_risk,
    refuse,
    take,
)
from rackwise.core.identity.model import Generate, ReadMore, WaitFor
from rackwise.core.identity.nodes.store import HOSTS, IDS, MISSING_LEADER
from rackwise.core.identity.refusals import (
    AmbiguousSpare,
    MappingCorrupt,
    NoId,
    NoIdLeft,
    SpareReserved,
    WatcherAbsent,
)
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from rackwise.core.identity.decision.situation import Situation
    from rackwise.core.identity.decision.verdicts import Verdict

MOST_SKIPS = 10_000
"""How many generated numbers may be in use before the start gives up."""

_SECOND = 1000
_LISTED = 20
_LOOK_AGAIN_MS = 60_000


def _never(situation: Situation, row: str) -> Verdict:  # noqa: ARG001, every row gets its name
    rules = situation.rules
    is_off = not rules.literal_step_b if rules.literal else rules.spare == "never"
    return SkipTo("D35") if is_off else None


def _not_looked(situation: Situation, row: str) -> Verdict:
    seen, is_literal = situation.seen, situation.rules.literal
    if seen.used is None or (not is_literal and seen.missing_since_ms is None):
        return ReadMore(at="missing", row=row)
    if is_literal or seen.watch != "leaderless":
        return None
    return refuse(
        row,
        WatcherAbsent,
        "expected a watcher that leads, got none",
        wanted="a leader",
        had="none",
        where=MISSING_LEADER,
    )


def _no_spare(situation: Situation, row: str) -> Verdict:  # noqa: ARG001, every row gets its name
    return None if situation.spares else SkipTo("D35")


def _ambiguous(situation: Situation, row: str) -> Verdict:
    several = situation.candidates
    if len(several) <= 1:
        return None
    had, key = _listed(situation, several), escaped(situation.seen.key)
    return refuse(
        row,
        AmbiguousSpare,
        f"expected one spare id, got {len(several)}: {had}",
        wanted="one spare id",
        had=had,
        hint=f"start the other brokers first, or run: broker-id assign {key} ID",
        ids=list(several),
    )


def _blocked(situation: Situation, row: str) -> Verdict:
    if situation.candidates:
        return None
    rules, seen = situation.rules, situation.seen
    if rules.on_blocked == "generate":
        return SkipTo("D35")
    ends = any(situation.is_allowed(each) for each in situation.spares)
    if rules.on_blocked == "wait" or (rules.on_blocked == "grace" and ends):
        return _wait(situation, row)
    had = _listed(situation, situation.spares)
    doubtful = [key for each in situation.spares for key in situation.doubtful_keys(each)]
    remedy = seen.unreadable[doubtful[0]].hint if doubtful else "use --on-blocked wait"
    return refuse(
        row,
        SpareReserved,
        f"expected a spare id that may be taken, got none: {had}",
        wanted="a free id",
        had=had,
        hint=f"{remedy}, or run: broker-id assign {escaped(seen.key)} ID",
        ids=list(situation.spares),
        grace_left_ms={str(each): situation.grace_left_ms(each) for each in situation.spares},
    )


def _wait(situation: Situation, row: str) -> WaitFor:
    """Wait until a spare returns, its mapping is deleted or its grace ends; then decide again."""
    on = [f"{IDS}/{each}" for each in situation.spares]
    for each in situation.spares:
        keys = (m.key for m in situation.seen.reserved.get(each, ()))
        on += [f"{HOSTS}/{key}" for key in (*keys, *situation.doubtful_keys(each))]
    graces = [situation.grace_left_ms(s) for s in situation.spares if situation.is_allowed(s)]
    most = situation.rules.wait_ms + situation.rules.grace_ms
    until = situation.seen.now_ms + min([most or _LOOK_AGAIN_MS, *graces])
    return WaitFor(on=tuple(on), until_ms=until, row=row)


def _listed(situation: Situation, ids: tuple[int, ...]) -> str:
    """Format ids, such as `7 (h7, missing for 40 s), 9 (unmapped, 212 s of grace left)`."""
    shown = [f"{each} ({_state(situation, each)})" for each in ids[:_LISTED]]
    return names_text(shown, most=_LISTED, of=len(ids))


def _state(situation: Situation, broker_id: int) -> str:
    seen = situation.seen
    keys = ", ".join(escaped(m.key) for m in seen.reserved.get(broker_id, ()))
    doubtful = ", ".join(map(escaped, situation.doubtful_keys(broker_id)))
    parts = [f"mapped to {keys}" if keys else "unmapped"]
    if doubtful:
        parts[0] = f"perhaps mapped to {doubtful}, which cannot be read"
    since = (seen.missing_since_ms or {}).get(broker_id)
    if since is not None:
        parts.append(f"missing for {(seen.now_ms - since) / _SECOND:.0f} s")
    if left := situation.grace_left_ms(broker_id):
        parts.append(f"{left / _SECOND:.0f} s of grace left")
    return ", ".join(parts)


def _guarded(situation: Situation, row: str) -> Verdict:
    return check_at_risk(situation, situation.candidates[0], row)


def _spare(situation: Situation, row: str) -> Verdict:
    spare = situation.candidates[0]
    takes = () if situation.rules.literal else situation.seen.reserved.get(spare, ())
    return take(situation, spare, "b1", row, takes_from=takes)


def _no_source(situation: Situation, row: str) -> Verdict:
    if situation.rules.generation:
        return None
    key = escaped(situation.seen.key)
    return refuse(
        row,
        NoId,
        f"no source gives key {key} an id: it is not configured, not on a disk and not mapped, and "
        "broker.id.generation.enable is off",
        wanted="a source of ids",
        had="generation off",
        hint=f"set broker.id, turn generation on, or run: broker-id assign {key} ID",
        upstream=(
            "java.lang.IllegalArgumentException",
            "requirement failed: broker.id must be greater than or equal to 0",
        ),
        key=situation.seen.key,
    )


def _draw(situation: Situation, row: str) -> Verdict:
    seen = situation.seen
    if seen.used is None and not situation.rules.literal:
        return ReadMore(at="used", row=row)
    unknown = sorted(key for key, each in seen.unreadable.items() if not each.owned)
    if unknown and not situation.rules.literal:
        named = names_text(unknown, most=_LISTED)
        return refuse(
            row,
            MappingCorrupt,
            "cannot generate an id, which may be mapped already: expected a readable mapping or an "
            f"owner of each other key, got neither for {named}",
            wanted="a readable mapping or an owner of each other key",
            had=f"neither for {named}",
            hint=seen.unreadable[unknown[0]].hint,
            where=f"{HOSTS}/{escaped(unknown[0])}",
            keys=unknown[:_LISTED],
        )
    return Generate(row=row) if seen.generated is None else None


def _taken(situation: Situation, row: str) -> Verdict:
    seen, number = situation.seen, situation.seen.generated
    if situation.rules.literal or number is None:
        return None
    known = (seen.used, seen.reserved, seen.registered, seen.claims, seen.retired, seen.owned)
    is_taken = any(number in ids for ids in known if ids is not None)
    if not is_taken and number <= GREATEST_ID:
        return None
    if number <= GREATEST_ID and seen.skipped < MOST_SKIPS:
        return Generate(row=row)
    return refuse(
        row,
        NoIdLeft,
        f"expected a free number within {MOST_SKIPS} tries, got {seen.skipped} in use, last "
        f"{number}",
        wanted="a free number",
        had=f"{seen.skipped} skips",
        skipped=seen.skipped,
        last=number,
    )


def _number(situation: Situation, row: str) -> Verdict:
    number = situation.seen.generated
    return None if number is None else take(situation, number, "gen", row)


ROWS = (
    DecisionRow(
        name="D28",
        when='spare = never (KIP: "optional")',
        outcome="on at D35",
        literal="step b on",
        judge=_never,
    ),
    DecisionRow(
        name="D29",
        when="T or missing times not read; `--missing watch` and no leader",
        outcome="LOOK missing; WATCHER_ABSENT",
        literal="LOOK",
        judge=_not_looked,
    ),
    DecisionRow(
        name="D30",
        when="S empty (KIP b.3)",
        outcome="on at D35",
        literal="same",
        judge=_no_spare,
    ),
    DecisionRow(
        name="D31",
        when="more than one cand (KIP b.2)",
        outcome="AMBIGUOUS_SPARE",
        literal="same, over S",
        judge=_ambiguous,
    ),
    DecisionRow(
        name="D32",
        when="no cand, S not empty (the KIP is silent); on_blocked = error, wait, generate; "
        "grace (default): wait if --spare permits one of S, else error",
        outcome="SPARE_RESERVED; WAIT; on at D35",
        literal="-",
        judge=_blocked,
    ),
    DecisionRow(
        name="D33",
        when="one cand; as D13, D14",
        outcome="LOOK at_risk, LAST_IN_SYNC",
        literal="-",
        judge=_guarded,
    ),
    DecisionRow(
        name="D34",
        when="one cand s (KIP b.1)",
        outcome="TAKE s `b1`, takes_from R[s]",
        literal="same, the old mapping stays",
        judge=_spare,
    ),
    DecisionRow(
        name="D35",
        when="generation off",
        outcome="NO_ID",
        literal="same",
        judge=_no_source,
    ),
    DecisionRow(
        name="D36",
        when="T not read; a key of U has no owner; or no number drawn",
        outcome="LOOK used; MAPPING_CORRUPT; GENERATE",
        literal="GENERATE",
        judge=_draw,
    ),
    DecisionRow(
        name="D37",
        when="number in T, R, L, K, Z or O (the KIP is silent: seqid was recreated); after 10 000 "
        "skips",
        outcome="GENERATE; NO_ID_LEFT",
        literal="not checked",
        judge=_taken,
    ),
    DecisionRow(
        name="D38",
        when="number free",
        outcome="TAKE it `gen`",
        literal="same",
        judge=_number,
    ),
)
