"""Who holds an id: the broker that is registered, the start that claims it, and who they are.

A registration does not say which key it was started under. Three things tell, best first:

```
the Owner of this very incarnation   written by us when that broker registered: its key
endpoints                            host:port, where both sides are known
nothing                              then it may as well be ourselves, a moment ago
```

An incarnation is one registration (the czxid of `/brokers/ids/N`). An Owner of an earlier one says
nothing of this one. Without ZooKeeper a registration has no incarnation: there the Owner is taken
whose endpoints are the same.

What this does not do: decide. A stale registration of this host and a second broker on it look
alike; only waiting tells them apart.

Source: KIP-426 says "if the broker fails to register itself"; the rest is Rackwise's.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from rackwise.core.identity.model import Claim, Observation, Owner, Registration

_SECOND = 1000
_LAST_MS = 253_402_300_799_000
"""The end of the year 9999, the last that has a name."""


def owner_of(registration: Registration, owners: Mapping[int, Owner]) -> Owner | None:
    """Whom we saw starting this very registration; None = it was not us, or long ago."""
    owner = owners.get(registration.broker_id)
    if owner is None:
        return None
    if registration.incarnation is not None:
        return owner if owner.incarnation == registration.incarnation else None
    same = bool(owner.endpoints) and owner.endpoints == registration.endpoints
    return owner if same else None


def looks_like(
    key: str,
    endpoints: AbstractSet[str],
    *,
    registration: Registration | None,
    claim: Claim | None,
    owners: Mapping[int, Owner],
) -> bool:
    """Whether who holds an id may be the broker of this key, a moment ago."""
    if claim is not None and claim.key == key:
        return True
    if registration is None:
        return False
    owner = owner_of(registration, owners)
    if owner is not None and owner.key == key:
        return True
    if endpoints and registration.endpoints:
        return not registration.endpoints.isdisjoint(endpoints)
    return owner is None and claim is None


def describe_holder(
    *,
    registration: Registration | None,
    claim: Claim | None,
    owners: Mapping[int, Owner],
    now_ms: int,
) -> str:
    """The holder for people: `the broker of key h9 at h9:9092, session 0x1f, for 40 s`."""
    if registration is not None:
        owner = owner_of(registration, owners)
        name = f"the broker of key {escaped(owner.key)}" if owner else "a broker"
        if registration.endpoints:
            name += f" at {escaped(' '.join(sorted(registration.endpoints)))}"
        parts = [name, *_session(registration.session)]
        return ", ".join([*parts, *_age(registration.registered_ms, now_ms)])
    if claim is not None:
        return ", ".join([f"a start of key {escaped(claim.key)}", *_session(claim.session)])
    return "nobody"


def wait_reason(seen: Observation, broker_id: int) -> str:
    """Why an id is waited for: `held by session 0x1f, same key`, `reserved for h9`."""
    registration, claim = seen.registered.get(broker_id), seen.claims.get(broker_id)
    holder = registration or claim
    if holder is None:
        keys = [escaped(each.key) for each in seen.reserved.get(broker_id, ())]
        return f"reserved for {', '.join(keys)}" if keys else "not missing long enough"
    by = ["held" if holder.session is None else f"held by session {holder.session:#x}"]
    owner = None if registration is None else owner_of(registration, seen.owners)
    known = claim or owner
    if known is not None:
        by.append("same key" if known.key == seen.key else f"key {escaped(known.key)}")
    elif registration is not None and not registration.endpoints.isdisjoint(seen.endpoints):
        by.append("same endpoints")
    return ", ".join(by)


def _age(registered_ms: int | None, now_ms: int) -> list[str]:
    """How long it has been there, or since when, where the store's clock was not read."""
    if registered_ms is None:
        return []
    if now_ms >= registered_ms:
        return [f"for {(now_ms - registered_ms) / _SECOND:.0f} s"]
    since = datetime.fromtimestamp(min(registered_ms, _LAST_MS) // _SECOND, UTC)
    return [f"since {since:%Y-%m-%dT%H:%M:%SZ}"]


def _session(session: int | None) -> list[str]:
    return [] if session is None else [f"session {session:#x}"]
