"""Which mappings nobody needs: their id belongs to a live broker of another key.

KIP-426: "for each node /brokers/ids/N, read the hostname h. If there is a node /brokers/hosts/g
whose value is N, and g != h, then this is a garbage node." But that `host` is null on a cluster
with only TLS or SASL listeners, and elsewhere it is an advertised name. Taken literally, the rule
deletes live mappings. Here a mapping g -> N is garbage only if all of these hold:

```
1  N has been registered for a minute, by the clock of the store
2  no start claims N
3  there is a winner, g2 != g, whose own mapping g2 -> N is stored:
     the Owner of this very registration, or, if there is no such Owner,
     a key that is one of the broker's host names while g is none of them
```

Example: 7 is registered by the start of h9, which wrote `id_owners/7`. `hosts/h9` and `hosts/h7`
both map to 7. Then `hosts/h7` is garbage, whatever names the broker advertises.

Without ZooKeeper the age of a registration is not known. There a winner must be an Owner, whose
node is written only after the registration was seen.

A mapping whose id is not registered is never garbage: remembering it is the purpose of a mapping.

What this does not do: delete. `delete_operations` returns the commit. It fails if the mapping was
claimed meanwhile, because each claim raises the version of its mapping. A start without Rackwise is
not seen; its disk still has the id.

Source: KIP-426, "Garbage Collection of ZooKeeper Nodes".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwise.core.identity.decision.holders import owner_of
from rackwise.core.identity.nodes.store import FENCE, HOSTS, IDS, Check, Delete, Put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
    from rackwise.core.identity.nodes.store import Op

_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def garbage(
    mappings: Sequence[KeyMapping],
    registered: Mapping[int, Registration],
    claims: Mapping[int, Claim],
    owners: Mapping[int, Owner],
    *,
    now_ms: int,
    min_age_ms: int = 60_000,
) -> tuple[KeyMapping, ...]:
    """Return the garbage mappings, by id and key. Source: KIP-426, made safe as described above."""
    pairs = garbage_with_winners(
        mappings, registered, claims, owners, now_ms=now_ms, min_age_ms=min_age_ms
    )
    return tuple(loser for loser, _ in pairs)


def garbage_with_winners(
    mappings: Sequence[KeyMapping],
    registered: Mapping[int, Registration],
    claims: Mapping[int, Claim],
    owners: Mapping[int, Owner],
    *,
    now_ms: int,
    min_age_ms: int = 60_000,
) -> tuple[tuple[KeyMapping, KeyMapping], ...]:
    """Return each garbage mapping with the mapping of the winner."""
    found = []
    for mapping in sorted(mappings, key=lambda m: (m.broker_id, m.key)):
        registration = registered.get(mapping.broker_id)
        if registration is None or mapping.broker_id in claims:
            continue
        owner = owner_of(registration, owners)
        if not _is_old_enough(registration, owner, now_ms - min_age_ms):
            continue
        rivals = [m for m in mappings if m.broker_id == mapping.broker_id and m.key != mapping.key]
        winner = _winner(mapping, rivals, registration, owner)
        if winner is not None:
            found.append((mapping, winner))
    return tuple(found)


def delete_operations(
    loser: KeyMapping, winner: KeyMapping, *, registration_version: int | None
) -> tuple[Op, ...]:
    """Build the commit that deletes one mapping.

    `registration_version`: of the node `ids/N`; None = the store has no registrations.
    """
    is_registered = f"{IDS}/{loser.broker_id}"
    return (
        Put(FENCE, b""),
        *([] if registration_version is None else [Check(is_registered, registration_version)]),
        Check(f"{HOSTS}/{winner.key}", winner.node_version),
        Delete(f"{HOSTS}/{loser.key}", loser.node_version),
    )


def literal_garbage(
    mappings: Sequence[KeyMapping], hosts: Mapping[int, str | None]
) -> tuple[KeyMapping, ...]:
    """Apply the literal rule of the KIP, which deletes live mappings.

    `hosts`: the field `host` of each registered broker, by id.
    """
    ordered = sorted(mappings, key=lambda m: (m.broker_id, m.key))
    return tuple(m for m in ordered if m.broker_id in hosts and hosts[m.broker_id] != m.key)


def is_name_of(key: str, registration: Registration) -> bool:
    """Return whether a key is an advertised host name of this broker, or its first label."""
    hosts = [e.rpartition(":")[0].strip("[]").casefold() for e in registration.endpoints]
    labels = [h.partition(".")[0] for h in hosts if not (_IPV4.fullmatch(h) or ":" in h)]
    return key.casefold() in {*hosts, *labels}


def _is_old_enough(registration: Registration, owner: Owner | None, latest_ms: int) -> bool:
    if registration.registered_ms is None:
        return owner is not None
    return registration.registered_ms <= latest_ms


def _winner(
    mapping: KeyMapping,
    rivals: Sequence[KeyMapping],
    registration: Registration,
    owner: Owner | None,
) -> KeyMapping | None:
    if owner is not None:
        return next((m for m in rivals if m.key == owner.key), None)
    if is_name_of(mapping.key, registration):
        return None
    return next((m for m in sorted(rivals, key=_key) if is_name_of(m.key, registration)), None)


def _key(mapping: KeyMapping) -> str:
    return mapping.key
