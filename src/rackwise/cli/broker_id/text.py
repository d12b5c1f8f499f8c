"""The output of `rackwise broker-id` for people: lines and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.tables import columns_text
from rackwise.core.identity.model import Generate, ReadMore, Refuse, Take, WaitFor
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.launch.operator import Assigned, Garbage, Retired
    from rackwise.core.identity.model import Decision, KeyMapping
    from rackwise.core.identity.nodes.store import Parent
    from rackwise.core.identity.operator.adopt import Adoption
    from rackwise.core.identity.operator.roster import IdRow

HEADER = ("id", "keys", "registered", "claimed", "owner", "replicas", "missing", "retired")
NONE = "-"
UNKNOWN = "unknown"


def rows_text(rows: Sequence[IdRow], *, empty: str) -> str:
    """Format one row per id. `empty`: the text for no rows."""
    if not rows:
        return empty
    return columns_text(HEADER, [_cells(row) for row in rows], numbers={0})


def show_text(
    rows: Sequence[IdRow],
    conflicts: Sequence[str],
    mapping: KeyMapping | None,
    decision: Decision | None,
    *,
    key: str | None,
    writers: Sequence[str] | None,
) -> str:
    """Format the nodes of one key or id, their conflicts and a preview of `acquire`."""
    lines = []
    if key is not None:
        to = "no id" if mapping is None else f"id {mapping.broker_id}"
        lines.append(f"key {escaped(key)}: {to}")
    lines.append(rows_text(rows, empty="no node mentions it"))
    if writers is not None:
        any_client = " (any client that reaches ZooKeeper)" if "world:anyone" in writers else ""
        names = ", ".join(map(escaped, writers)) or "nobody"
        lines.append(f"the mapping may be changed by {names}{any_client}")
    lines += [f"disagree: {escaped(each)}" for each in conflicts]
    if decision is not None:
        lines.append(f"acquire would {decision_text(decision)}")
    return "\n".join(lines)


def decision_text(decision: Decision) -> str:
    """Say what the decision does, to follow `acquire would`.

    >>> decision_text(Generate(row="D36"))
    'generate a new number (D36)'
    """
    match decision:
        case Take():
            return f"take id {decision.id} ({decision.how}, {decision.row})"
        case WaitFor():
            return f"wait until {' or '.join(map(escaped, decision.on))} changes ({decision.row})"
        case Generate():
            return f"generate a new number ({decision.row})"
        case ReadMore():
            return f"read {decision.at} ({decision.row})"
        case Refuse():
            return f"be rejected: {escaped(decision.error.message)}"


def assigned_text(done: Assigned) -> str:
    """Format the old and the new id, and the keys that lost it."""
    before = "no id" if done.before is None else f"id {done.before}"
    line = f"{escaped(done.key)}: {before} before, id {done.id} now"
    if done.taken_from:
        line += f"; taken from {', '.join(map(escaped, done.taken_from))}"
    return line


def adopted_text(found: Sequence[Adoption]) -> str:
    """Format one row per broker; after a rejection, why and what to do."""
    if not found:
        return "no broker is registered"
    rows = [
        (
            str(each.id),
            NONE if each.key is None else escaped(each.key),
            each.state,
            f"{each.reason}; {each.hint}" if each.reason else "",
        )
        for each in found
    ]
    return columns_text(("id", "key", "state", ""), rows, numbers={0})


def retired_text(done: Retired, *, is_retired: bool) -> str:
    """Format the state of the id."""
    state = "retired" if is_retired else "not retired"
    if not done.is_changed:
        return f"id {done.id} is {state} already"
    keys = f"; unmapped: {', '.join(map(escaped, done.keys))}" if done.keys else ""
    return f"id {done.id} is {state} now{keys}"


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
    claim, owner = row.claim, row.owner
    replicas = {None: UNKNOWN, True: "yes", False: "no"}[row.has_replicas]
    missing = UNKNOWN if row.is_missing is None else NONE
    if row.is_missing:
        missing = "yes" if row.missing_ms is None else f"{row.missing_ms / 1000:.0f} s"
    return (
        str(row.id),
        ", ".join(map(escaped, row.keys)) or NONE,
        _registered(row),
        NONE if claim is None else escaped(claim.key),
        NONE if owner is None else escaped(owner.key),
        replicas,
        missing,
        "yes" if row.is_retired else NONE,
    )


def _registered(row: IdRow) -> str:
    if row.registration is None:
        return UNKNOWN if row.is_missing is None else NONE
    return ", ".join(escaped(each) for each in sorted(row.registration.endpoints)) or "yes"
