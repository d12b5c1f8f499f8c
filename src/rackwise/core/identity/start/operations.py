"""The commit of one decision: all of it, or nothing.

Goals, in order: an id is reserved before a byte of it is on a disk; no intermediate state is
visible or must be undone; a start conflicts only with what it depends on.

```
Put(id_alloc)           b1: at the version read; all others: at any
Absent(ids/7)           no broker is registered
Absent(retired_ids/7)   it was not retired meanwhile
Create(claims/7)        no start claims it; ends with our session
Create(id_owners/7)     unless it has an owner; gen: nobody has mapped it meanwhile
Put | Create(hosts/h7)  at the version read; always, even unchanged
Delete(hosts/g)         b1 of a mapped spare: at the version read
```

The fence (`id_alloc`): only b1 depends on the nodes of other hosts, so only b1 needs the version
that was read before all else. The others write it, so that b1 notices them. Otherwise host Y maps
the spare and its launcher dies, and X, which read earlier, takes the same spare. The mapping is
written even if it is unchanged: gc deletes it at a version, and that version must change when a
start relies on the mapping.

The owner: many hosts generate numbers at once, so `gen` does not check the fence. Two starts never
have the same number, but an operator may assign it between the reads and the commit of the start
that generated it. Each commit that maps an id without an owner creates the owner, so one of the two
fails.

Without ZooKeeper the registrations are not in the store, so `Absent` cannot check them. Then it
takes two commits: `claim_operations`, a second read of the registrations, `mapping_operations`.

What this does not do: write. A conflict means that the store has changed: read and decide again.

Source: KIP-426, "Persisting (Hostname, Broker Id) Mapping to ZooKeeper", which writes the mapping
after the registration; that is `literal_operations`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.identity.nodes.nodes import (
    delete_mappings,
    format_claim,
    reserve,
    write_mapping,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    IDS,
    RETIRED,
    Absent,
    Check,
    Create,
    Put,
)

if TYPE_CHECKING:
    from rackwise.core.identity.model import Observation, Take
    from rackwise.core.identity.nodes.store import Op

_FIRST_VERSION = 0


def operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """Build the one commit of a store with registrations; empty for `already`."""
    if take.how == "already":
        return ()
    return (
        _fence(take, observation),
        Absent(f"{IDS}/{take.id}"),
        _not_retired(take),
        _claim(take, observation),
        *_map(take, observation),
    )


def claim_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """Build the first of two commits, for a store without registrations; empty for `already`."""
    if take.how == "already":
        return ()
    return (_fence(take, observation), _not_retired(take), _claim(take, observation))


def mapping_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """Build the second of two commits: check the claim, write the mapping."""
    claim = Check(f"{CLAIMS}/{take.id}", _FIRST_VERSION)
    return (Put(FENCE, b""), claim, *_map(take, observation))


def literal_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """Build the literal commit of the KIP: the mapping only, at any version, after registration."""
    written = _mapping(take, observation)
    return (replace(written, version=None) if isinstance(written, Put) else written,)


def _fence(take: Take, observation: Observation) -> Put:
    return Put(FENCE, b"", observation.fence if take.how == "b1" else None)


def _not_retired(take: Take) -> Absent:
    return Absent(f"{RETIRED}/{take.id}")


def _claim(take: Take, observation: Observation) -> Create:
    data = format_claim(
        key=observation.key,
        host=observation.host,
        pid=observation.pid,
        nonce=observation.nonce,
        since_ms=observation.now_ms,
    )
    return Create(f"{CLAIMS}/{take.id}", data, ephemeral=True)


def _map(take: Take, observation: Observation) -> tuple[Op, ...]:
    """Reserve the id, map the key to it, and remove the mappings that lose it."""
    has_owner = take.id in observation.owned
    return (
        *(() if has_owner else (reserve(observation.key, take.id),)),
        _mapping(take, observation),
        *delete_mappings(take.takes_from),
    )


def _mapping(take: Take, observation: Observation) -> Put | Create:
    has_node = observation.mapping_problem is not None
    return write_mapping(observation.key, take.id, observation.mapping, has_node=has_node)
