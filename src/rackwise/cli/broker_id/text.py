"""The output of `rackwise broker-id`: tables for people, documents for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.cli.tables import columns_text
from rackwise.core.identity.model import Generate, ReadMore, Refuse, Take, WaitFor
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.adapters.launch.operator import Assigned, Garbage, Retired
    from rackwise.core.identity.model import Claim, Decision, KeyMapping, Owner, Registration
    from rackwise.core.identity.nodes.store import Parent
    from rackwise.core.identity.operator.roster import IdRow

IDS = "rackwise.broker-ids/1"
MISSING = "rackwise.missing-ids/1"
ONE = "rackwise.broker-id/1"
ASSIGNED = "rackwise.assigned-id/1"
RETIRED = "rackwise.retired-id/1"
GARBAGE = "rackwise.id-garbage/1"
PARENTS = "rackwise.id-store/1"
WATCHED = "rackwise.id-watch/1"

HEADER = ("id", "keys", "registered", "claimed", "owner", "replicas", "missing", "retired")
NONE = "-"
DECISIONS = {
    Take: "take",
    WaitFor: "wait",
    Generate: "generate",
    ReadMore: "look",
    Refuse: "refuse",
}


def rows_text(rows: Sequence[IdRow], *, empty: str) -> str:
    """Format one row per id. `empty`: the text for no rows."""
    if not rows:
        return empty
    return columns_text(HEADER, [_cells(row) for row in rows], numbers={0})


def rows_document(
    form: str, rows: Iterable[IdRow], problems: Mapping[str, str], now_ms: int
) -> dict[str, Any]:
    """Build the document of all rows. `problems`: path -> why that node cannot be read."""
    return {
        "format": form,
        "now_ms": now_ms,
        "ids": [row_document(row) for row in rows],
        "problems": _problems(problems),
    }


def row_document(row: IdRow) -> dict[str, Any]:
    """Build the document of one id; null means none or not known."""
    return {
        "id": row.id,
        "keys": list(row.keys),
        "registered": _registration(row.registration),
        "claimed": _claim(row.claim),
        "owner": _owner(row.owner),
        "replicas": row.has_replicas,
        "missing": row.is_missing,
        "missing_s": None if row.missing_ms is None else row.missing_ms / 1000,
        "retired": row.is_retired,
    }


def show_text(
    rows: Sequence[IdRow],
    conflicts: Sequence[str],
    mapping: KeyMapping | None,
    decision: Decision | None,
    *,
    key: str | None,
) -> str:
    """Format the nodes of one key or id, their conflicts and a preview of `acquire`."""
    lines = []
    if key is not None:
        to = "no id" if mapping is None else f"id {mapping.broker_id}"
        lines.append(f"key {escaped(key)}: {to}")
    lines.append(rows_text(rows, empty="no node mentions it"))
    lines += [f"disagree: {escaped(each)}" for each in conflicts]
    if decision is not None:
        lines.append(f"acquire would {decision_text(decision)}")
    return "\n".join(lines)


def show_document(
    rows: Sequence[IdRow],
    conflicts: Sequence[str],
    mapping: KeyMapping | None,
    decision: Decision | None,
    *,
    key: str | None,
    problems: Mapping[str, str],
) -> dict[str, Any]:
    """Build the same document. `preview` is null without server.properties."""
    return {
        "format": ONE,
        "key": key,
        "mapped_id": None if mapping is None else mapping.broker_id,
        "ids": [row_document(row) for row in rows],
        "disagreements": list(conflicts),
        "preview": None if decision is None else _decision(decision),
        "problems": _problems(problems),
    }


def decision_text(decision: Decision) -> str:
    """Say what the decision does, to follow `acquire would`.

    >>> decision_text(Generate(row="D36"))
    'generate a new number (D36)'
    """
    match decision:
        case Take():
            return f"take id {decision.id} ({decision.how}, {decision.row})"
        case WaitFor():
            return f"wait for {', '.join(map(escaped, decision.on))} ({decision.row})"
        case Generate():
            return f"generate a new number ({decision.row})"
        case ReadMore():
            return f"read {decision.at} ({decision.row})"
        case Refuse():
            return f"be rejected: {escaped(decision.error.message)}"


def assigned_document(done: Assigned) -> dict[str, Any]:
    """Build the document of `assign`."""
    return {
        "format": ASSIGNED,
        "key": done.key,
        "id": done.id,
        "before": done.before,
        "took_from": list(done.taken_from),
    }


def assigned_text(done: Assigned) -> str:
    """Format the old and the new id, and the keys that lost it."""
    before = "no id" if done.before is None else f"id {done.before}"
    line = f"{escaped(done.key)}: {before} before, id {done.id} now"
    if done.taken_from:
        line += f"; taken from {', '.join(map(escaped, done.taken_from))}"
    return line


def retired_document(done: Retired, *, is_retired: bool, is_unregistered: bool) -> dict[str, Any]:
    """Build the document of `retire`. `is_retired`: False after `--undo`."""
    return {
        "format": RETIRED,
        "id": done.id,
        "retired": is_retired,
        "changed": done.is_changed,
        "unmapped": list(done.keys),
        "unregistered": is_unregistered,
    }


def retired_text(done: Retired, *, is_retired: bool) -> str:
    """Format the state of the id."""
    state = "retired" if is_retired else "not retired"
    if not done.is_changed:
        return f"id {done.id} is {state} already"
    keys = f"; unmapped: {', '.join(map(escaped, done.keys))}" if done.keys else ""
    return f"id {done.id} is {state} now{keys}"


def garbage_document(
    found: Sequence[Garbage], *, is_applied: bool, is_literal: bool, problems: Mapping[str, str]
) -> dict[str, Any]:
    """Build the document of `gc`. `deleted` is false for a mapping that was claimed meanwhile."""
    return {
        "format": GARBAGE,
        "applied": is_applied,
        "literal": is_literal,
        "mappings": [
            {
                "key": each.mapping.key,
                "id": each.mapping.broker_id,
                "winner": each.winner,
                "deleted": each.is_deleted,
            }
            for each in found
        ],
        "problems": _problems(problems),
    }


def garbage_text(found: Sequence[Garbage], *, is_applied: bool) -> str:
    """Format one row per mapping, and how to delete them."""
    if not found:
        return "no garbage"
    rows = [
        (
            escaped(each.mapping.key),
            str(each.mapping.broker_id),
            NONE if each.winner is None else escaped(each.winner),
            "deleted" if each.is_deleted else "claimed meanwhile" if is_applied else "garbage",
        )
        for each in found
    ]
    text = columns_text(("key", "id", "id is of", "state"), rows, numbers={1})
    return text if is_applied else f"{text}\n--apply deletes {counted(len(rows), 'mapping')}"


def parents_document(parents: Sequence[Parent], *, is_checked: bool) -> dict[str, Any]:
    """Build the document of the required nodes."""
    return {
        "format": PARENTS,
        "checked": is_checked,
        "nodes": [
            {"path": each.path, "state": each.state, "wanted": each.wanted, "had": each.had}
            for each in parents
        ],
    }


def parents_text(parents: Sequence[Parent]) -> str:
    """Format one row per node, with both ACLs if they differ."""
    rows = [
        (
            each.path,
            each.state,
            f"expected {each.wanted}; got {each.had}" if each.state == "differs" else "",
        )
        for each in parents
    ]
    return columns_text(("node", "state", "ACL"), rows, numbers=())


def _cells(row: IdRow) -> tuple[str, ...]:
    registration, claim, owner = row.registration, row.claim, row.owner
    replicas = {None: "?", True: "yes", False: "no"}[row.has_replicas]
    missing = NONE
    if row.is_missing:
        missing = "yes" if row.missing_ms is None else f"{row.missing_ms / 1000:.0f} s"
    return (
        str(row.id),
        ", ".join(map(escaped, row.keys)) or NONE,
        NONE if registration is None else _endpoints(registration.endpoints),
        NONE if claim is None else escaped(claim.key),
        NONE if owner is None else escaped(owner.key),
        replicas,
        missing,
        "yes" if row.is_retired else NONE,
    )


def _endpoints(endpoints: Iterable[str]) -> str:
    return ", ".join(escaped(each) for each in sorted(endpoints)) or "yes"


def _registration(registration: Registration | None) -> dict[str, Any] | None:
    if registration is None:
        return None
    return {
        "endpoints": sorted(registration.endpoints),
        "incarnation": registration.incarnation,
        "registered_ms": registration.registered_ms,
    }


def _claim(claim: Claim | None) -> dict[str, Any] | None:
    return None if claim is None else {"key": claim.key, "session": f"{claim.session:#x}"}


def _owner(owner: Owner | None) -> dict[str, Any] | None:
    if owner is None:
        return None
    return {
        "key": owner.key,
        "incarnation": owner.incarnation,
        "endpoints": sorted(owner.endpoints),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    document = {
        "decision": DECISIONS[type(decision)],
        "row": decision.row,
        "id": decision.id if isinstance(decision, Take) else None,
        "how": decision.how if isinstance(decision, Take) else None,
        "error": None,
        "code": None,
    }
    if isinstance(decision, Refuse):
        document["error"] = decision.error.message
        document["code"] = getattr(decision.error, "code", None)
    return document


def _problems(problems: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"path": path, "problem": text} for path, text in sorted(problems.items())]
