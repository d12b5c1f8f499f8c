"""What one decision writes: all of it in one commit, or nothing.

Goals, in order: an id is reserved before a byte of it is on a disk; no half state can be seen or
must be undone; a start conflicts only with what it rests on.

```
Put(id_alloc)           b1: at the version read; all others: at any
Absent(ids/7)           nobody is registered
Create(claims/7)        nobody claims; goes with our session
Put | Create(hosts/h7)  at the version read; always, even unchanged
Delete(hosts/g)         b1 of a mapped spare: at the version read
```

The fence (`id_alloc`): b1 alone rests on other hosts' nodes, so it alone needs the version that was
read before all else. The others touch it, so that b1 sees them: host Y maps the spare and its
launcher dies, X, which looked before, would take it as well. The mapping is written though it says
the same already: gc deletes it at a version, and that version must move when a start relies on it.

Without ZooKeeper the registrations are not in the store and `Absent` cannot be said of them. Then
it takes two commits: `claim_operations`, reading the registrations again, `mapping_operations`.

What this does not do: write. A conflict means that the world has moved: look and decide again.

Source: KIP-426, "Persisting (Hostname, Broker Id) Mapping to ZooKeeper", which writes the mapping
after the registration; that is `literal_operations`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.identity.model import KeyMapping
from rackwise.core.identity.nodes.nodes import format_claim, format_mapping
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    Absent,
    Check,
    Create,
    Delete,
    Put,
)

if TYPE_CHECKING:
    from rackwise.core.identity.model import Observation, Take
    from rackwise.core.identity.nodes.store import Op

_FIRST_VERSION = 0


def operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """The one commit of a store that has the registrations; nothing for `already`."""
    if take.how == "already":
        return ()
    return (
        _fence(take, observation),
        Absent(f"{IDS}/{take.id}"),
        _claim(take, observation),
        _mapping(take, observation),
        *_taken(take),
    )


def claim_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """The first of two commits, where the store has no registrations; nothing for `already`."""
    if take.how == "already":
        return ()
    return (_fence(take, observation), _claim(take, observation))


def mapping_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """The second of two commits: the claim is still there, and the mapping is written."""
    claim = Check(f"{CLAIMS}/{take.id}", _FIRST_VERSION)
    return (Put(FENCE, b""), claim, _mapping(take, observation), *_taken(take))


def literal_operations(take: Take, observation: Observation) -> tuple[Op, ...]:
    """The KIP to the letter: the mapping alone, at any version, written after registration."""
    written = _mapping(take, observation)
    return (replace(written, version=None) if isinstance(written, Put) else written,)


def _fence(take: Take, observation: Observation) -> Put:
    return Put(FENCE, b"", observation.fence if take.how == "b1" else None)


def _claim(take: Take, observation: Observation) -> Create:
    data = format_claim(
        key=observation.key,
        host=observation.host,
        pid=observation.pid,
        nonce=observation.nonce,
        since_ms=observation.now_ms,
    )
    return Create(f"{CLAIMS}/{take.id}", data, ephemeral=True)


def _mapping(take: Take, observation: Observation) -> Put | Create:
    """A mapping of a newer format keeps what else stands in it; one that is corrupt goes."""
    path, before = f"{HOSTS}/{observation.key}", observation.mapping
    if before is not None:
        return Put(path, format_mapping(replace(before, broker_id=take.id)), before.node_version)
    data = format_mapping(KeyMapping(key=observation.key, broker_id=take.id))
    return Create(path, data) if observation.mapping_problem is None else Put(path, data)


def _taken(take: Take) -> tuple[Delete, ...]:
    return tuple(Delete(f"{HOSTS}/{m.key}", m.node_version) for m in take.takes_from)
