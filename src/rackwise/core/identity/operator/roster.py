"""The roster: a row for each id, joined from all nodes that mention it.

```
hosts/h7 -> 7   ids/7 czxid 40   id_owners/7 h7, 40      7  h7      registered  owner h7
hosts/h9 -> 9   -                id_owners/9 h9, 12      9  h9      missing     owner h9
-               -                retired_ids/4           4  -       retired
```

Goals, in order: every id that a node mentions has a row; nothing is guessed if a node cannot be
read; rows are in order of ids.

An id is missing if replicas use it or it was seen once, and it is neither registered nor retired. A
mapping alone does not make an id missing: its host may never have started. Where nobody said which
ids are registered, it is not known which are missing. An owner that only reserves an id is left
out.

`disagreements` reports contradictions between mapping, claim, registration and owner of one id:

- more than one key has the id, or it is retired and still mapped or registered;
- a claim belongs to a key that has another id or none;
- the owner is of this very incarnation, and its key has another id or none;
- the owner is of an earlier incarnation: the broker was started without `acquire` since.

What this does not do: read the store; repair anything.

Source: KIP-426 for the mapping. The other nodes are Rackwise's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.errors import RackwiseError
    from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration

_NO_TIMES: Mapping[int, int] = MappingProxyType({})
_NO_PROBLEMS: Mapping[str, UnreadableNode] = MappingProxyType({})


class UnreadableNode(NamedTuple):
    """A node that cannot be read."""

    problem: str
    """Why."""
    hint: str
    """What to do about it."""

    @classmethod
    def of(cls, error: RackwiseError) -> UnreadableNode:
        """Keep the message and the hint of an error."""
        return cls(error.message, error.hint or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """All nodes about ids, parsed, by id."""

    mappings: tuple[KeyMapping, ...]
    registered: Mapping[int, Registration]
    claims: Mapping[int, Claim]
    owners: Mapping[int, Owner]
    retired: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    sees_cluster: bool = True
    """Whether somebody said which ids are registered; if not, `registered` is empty."""
    used: frozenset[int] | None = None
    """Ids in replica lists; None = not read."""
    missing_since_ms: Mapping[int, int] = field(default_factory=lambda: _NO_TIMES)
    """As the leading watcher recorded it."""
    problems: Mapping[str, UnreadableNode] = field(default_factory=lambda: _NO_PROBLEMS)
    """By path."""
    now_ms: int = 0
    """The time of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRow:
    """One id."""

    id: int
    keys: tuple[str, ...]
    """The hosts that have it, sorted."""
    registration: Registration | None
    claim: Claim | None
    owner: Owner | None
    has_replicas: bool | None
    """None = not read."""
    is_missing: bool | None
    """None = nobody said which ids are registered."""
    missing_ms: int | None
    """For how long it is missing; None = it is not, that is not known, or no watcher runs."""
    is_retired: bool


def roster(census: Census) -> tuple[IdRow, ...]:
    """Return a row for each id that a node mentions, in order of ids."""
    ids = {each.broker_id for each in census.mappings}
    ids.update(census.registered, census.claims, census.missing_since_ms)
    ids.update(id_ for id_, each in census.owners.items() if each.was_registered)
    ids |= census.retired | census.known | (census.used or frozenset())
    return tuple(row_of(census, each) for each in sorted(ids))


def row_of(census: Census, id: int) -> IdRow:  # noqa: A002, the word
    """Return the row of one id, empty if no node mentions it."""
    since_ms, owner = census.missing_since_ms.get(id), census.owners.get(id)
    is_missing = _is_missing(census, id)
    return IdRow(
        id=id,
        keys=tuple(sorted(each.key for each in census.mappings if each.broker_id == id)),
        registration=census.registered.get(id),
        claim=census.claims.get(id),
        owner=owner if owner is not None and owner.was_registered else None,
        has_replicas=None if census.used is None else id in census.used,
        is_missing=is_missing,
        missing_ms=None if since_ms is None or not is_missing else census.now_ms - since_ms,
        is_retired=id in census.retired,
    )


def _is_missing(census: Census, number: int) -> bool | None:
    if not census.sees_cluster:
        return None
    is_known = number in census.known or number in (census.used or frozenset())
    return is_known and number not in census.registered and number not in census.retired


def disagreements(row: IdRow) -> tuple[str, ...]:
    """Return the contradictions about one id, one sentence each."""
    found = []
    if len(row.keys) > 1:
        found.append(f"id {row.id} is mapped to {len(row.keys)} keys: {', '.join(row.keys)}")
    if row.is_retired and (row.keys or row.registration is not None):
        state = "registered" if row.registration is not None else f"mapped to {row.keys[0]}"
        found.append(f"id {row.id} is retired, and {state}")
    if row.claim is not None and row.claim.key not in row.keys:
        found.append(f"{row.claim.key} claims id {row.id}, which is not mapped to it")
    if row.owner is not None and row.registration is not None:
        found.extend(_of_owner(row, row.owner, row.registration))
    return tuple(found)


def _of_owner(row: IdRow, owner: Owner, registration: Registration) -> list[str]:
    if not _is_of(owner, registration):
        since = f"id {row.id} was registered without acquire since {owner.key} last had it"
        mapped = f" (mapped: {', '.join(row.keys)})" if row.keys else ""
        key = f"with the --key that its acquire uses{mapped}"
        return [f"{since}; if it is the same host, run: broker-id adopt {row.id}, {key}"]
    if owner.key in row.keys:
        return []
    return [f"{owner.key} registered id {row.id}, which is not mapped to it"]


def _is_of(owner: Owner, registration: Registration) -> bool:
    """Return whether the owner is of this incarnation; without incarnations compare endpoints."""
    if owner.incarnation is None or registration.incarnation is None:
        return not owner.endpoints.isdisjoint(registration.endpoints)
    return owner.incarnation == registration.incarnation
