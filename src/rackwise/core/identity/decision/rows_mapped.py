"""Rows D18 to D27: no id is configured and none is on the disks, the KIP's a.

"If the hostname has been assigned a broker id previously, try registering with the id. If succeeds,
use it; otherwise ..."

Not in the KIP: a disk that cannot be read, or that holds partitions without an id, may carry
another id; a start waits for a stale registration of this host; a second broker of this host is
reported; a mapped id that another broker holds needs a person's decision, so it is no reason for a
new id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.identity.decision.rows_known import refuse_retired
from rackwise.core.identity.decision.verdicts import (
    DecisionRow,
    SkipTo,
    check_at_risk,
    refuse,
    take,
    take_if_ours,
    wait_if_stale,
)
from rackwise.core.identity.nodes.store import HOSTS, IDS
from rackwise.core.identity.refusals import (
    DataWithoutMeta,
    HostHasLiveBroker,
    MappedIdHeld,
    MappingCorrupt,
    MetaUnreadable,
)
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.core.identity.decision.situation import Situation
    from rackwise.core.identity.decision.verdicts import Verdict

_SECOND = 1000


def _unreadable(situation: Situation, row: str) -> Verdict:
    bad = [each for each in situation.seen.log_dirs if each.problem is not None]
    if not bad or situation.rules.ignore_unreadable or situation.rules.literal:
        return None
    had = "; ".join(f"{escaped(each.path)}: {escaped(each.problem or '')}" for each in bad)
    return refuse(
        row,
        MetaUnreadable,
        f"cannot read {counted(len(bad), 'meta.properties file')}, which may hold the id: {had}",
        wanted="a readable file",
        had=had,
        where=bad[0].path,
        paths=[each.path for each in bad],
    )


def _orphaned(situation: Situation, row: str) -> Verdict:
    bad = [each for each in situation.empty_dirs if each.partitions]
    if not bad or situation.rules.adopt_data or situation.rules.literal:
        return None
    number = len(bad[0].partitions)
    data = f"{number} partition director{'y' if number == 1 else 'ies'}"
    return refuse(
        row,
        DataWithoutMeta,
        f"expected a meta.properties with an id beside {data} in {escaped(bad[0].path)}, got none",
        wanted=f"a file beside {data}",
        had="none",
        where=bad[0].path,
        paths=[each.path for each in bad],
    )


def _corrupt(situation: Situation, row: str) -> Verdict:
    problem, key = situation.seen.mapping_problem, situation.seen.key
    if problem is None:
        return None
    return refuse(
        row,
        MappingCorrupt,
        f"cannot read the mapping of key {escaped(key)}: {escaped(problem)}",
        wanted='{"version":0,"broker.id":int}',
        had=problem,
        hint=situation.seen.mapping_hint,
        where=f"{HOSTS}/{escaped(key)}",
        key=key,
    )


def _retired(situation: Situation, row: str) -> Verdict:
    return refuse_retired(situation, situation.mapped, row)


def _already(situation: Situation, row: str) -> Verdict:
    return take_if_ours(situation, situation.mapped, row)


def _stale(situation: Situation, row: str) -> Verdict:
    return wait_if_stale(situation, situation.mapped, row)


def _second(situation: Situation, row: str) -> Verdict:
    h = situation.mapped
    if situation.rules.literal or h is None or not situation.is_held(h):
        return None
    if not situation.looks_like_me(h):
        return None
    waited = f"{situation.seen.waited_ms / _SECOND:g} s"
    holder = situation.holder(h)
    return refuse(
        row,
        HostHasLiveBroker,
        f"id {h} of key {escaped(situation.seen.key)} is still held by {holder} after {waited}",
        wanted=f"id {h} free after {waited}",
        had=f"still held by {holder}",
        where=f"{IDS}/{h}",
        id=h,
        holder=holder,
        waited_ms=situation.seen.waited_ms,
    )


def _held(situation: Situation, row: str) -> Verdict:
    h = situation.mapped
    if h is None or not situation.is_held(h):
        return None
    if situation.rules.literal:
        return SkipTo("D28")
    holder, key = situation.holder(h), escaped(situation.seen.key)
    return refuse(
        row,
        MappedIdHeld,
        f"id {h} of key {key} is held by {holder}",
        wanted=f"id {h} free",
        had=f"held by {holder}",
        hint=f"stop that broker, or assign another id: broker-id assign {key} ID",
        where=f"{IDS}/{h}",
        id=h,
        holder=holder,
        waited_ms=situation.seen.waited_ms,
    )


def _guarded(situation: Situation, row: str) -> Verdict:
    h = situation.mapped
    return None if h is None else check_at_risk(situation, h, row)


def _remembered(situation: Situation, row: str) -> Verdict:
    h = situation.mapped
    return None if h is None else take(situation, h, "a", row)


ROWS = (
    DecisionRow(
        name="D18",
        when="a dir is unreadable (the KIP is silent: the id may be on it; Kafka burns a new one)",
        outcome="META_UNREADABLE",
        literal="ignored",
        judge=_unreadable,
    ),
    DecisionRow(
        name="D19",
        when="partition directories but no file (the KIP is silent), no `--adopt-data`",
        outcome="DATA_WITHOUT_META",
        literal="ignored",
        judge=_orphaned,
    ),
    DecisionRow(
        name="D20",
        when="H unreadable, not JSON, or broker.id no int >= 0 (the KIP is silent)",
        outcome="MAPPING_CORRUPT",
        literal="same",
        judge=_corrupt,
    ),
    DecisionRow(
        name="D21",
        when="h in Z (the KIP is silent)",
        outcome="ID_RETIRED",
        literal="not checked",
        judge=_retired,
    ),
    DecisionRow(
        name="D22",
        when="K[h] is of my session",
        outcome="TAKE h `already`",
        literal="-",
        judge=_already,
    ),
    DecisionRow(
        name="D23",
        when="held(h), looks like me, waited < W (the KIP is silent)",
        outcome="WAIT for deletion",
        literal="as D25",
        judge=_stale,
    ),
    DecisionRow(
        name="D24",
        when="held(h), looks like me, waited >= W: a second broker on this host",
        outcome="HOST_HAS_LIVE_BROKER",
        literal="as D25",
        judge=_second,
    ),
    DecisionRow(
        name="D25",
        when="held(h) by another (the KIP is silent)",
        outcome="MAPPED_ID_HELD",
        literal='on at D28 ("otherwise ...")',
        judge=_held,
    ),
    DecisionRow(
        name="D26",
        when="h free; as D13, D14",
        outcome="LOOK at_risk, LAST_IN_SYNC",
        literal="-",
        judge=_guarded,
    ),
    DecisionRow(
        name="D27",
        when="h free (KIP a); a mapping of a newer version: same, its other keys are kept",
        outcome="TAKE h `a`",
        literal="same",
        judge=_remembered,
    ),
)
