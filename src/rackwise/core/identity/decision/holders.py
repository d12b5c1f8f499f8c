"""The holder of an id: the registered broker or the claiming start, and which key it has.

A registration does not say under which key it was started. Three sources tell, the best first:

```
the Owner of this very incarnation   written by Rackwise when that broker registered: its key
endpoints                            host:port, if both sides are known
nothing                              then it may be this broker itself, a moment ago
```

An incarnation is one registration (the czxid of `/brokers/ids/N`). An Owner of an earlier one says
nothing about this one. Without ZooKeeper a registration has no incarnation: there the Owner with
the same endpoints counts.

What this does not do: decide. A stale registration of this host and a second broker on it look the
same; only waiting distinguishes them.

Source: KIP-426 says "if the broker fails to register itself". The rest is Rackwise's own.
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
"""The end of the year 9999, the last year that `datetime` has."""


def owner_of(registration: Registration, owners: Mapping[int, Owner]) -> Owner | None:
    """Return the owner of this very registration; None = not started by us, or long ago."""
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
    """Return whether the holder of an id may be the broker of this key, a moment ago."""
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
    """Describe the holder: `the broker of key h9 at h9:9092, session 0x1f, for 40 s`."""
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
    """Say why an id is waited for: `held by session 0x1f, same key`, `reserved for h9`."""
    registration, claim = seen.registered.get(broker_id), seen.claims.get(broker_id)
    holder = registration or claim
    if holder is None:
        keys = [each.key for each in seen.reserved.get(broker_id, ())] or sorted(seen.unreadable)
        named = ", ".join(map(escaped, keys))
        return f"reserved for {named}" if keys else "not missing long enough"
    by = ["held" if holder.session is None else f"held by session {holder.session:#x}"]
    owner = None if registration is None else owner_of(registration, seen.owners)
    known = claim or owner
    if known is not None:
        by.append("same key" if known.key == seen.key else f"key {escaped(known.key)}")
    elif registration is not None and not registration.endpoints.isdisjoint(seen.endpoints):
        by.append("same endpoints")
    return ", ".join(by)


def _age(registered_ms: int | None, now_ms: int) -> list[str]:
    """Say for how long it is registered, or since when if the time of the store is not known."""
    if registered_ms is None:
        return []
    if now_ms >= registered_ms:
        return [f"for {(now_ms - registered_ms) / _SECOND:.0f} s"]
    since = datetime.fromtimestamp(min(registered_ms, _LAST_MS) // _SECOND, UTC)
    return [f"since {since:%Y-%m-%dT%H:%M:%SZ}"]


def _session(session: int | None) -> list[str]:
    return [] if session is None else [f"session {session:#x}"]
