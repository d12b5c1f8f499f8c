"""The second half of a start: the id is on the disks, and its broker boots under the claim.

```
seen                                      then
registered, later than our claim, ours    confirm: end the claim, note the owner -> release, succeed
registered by another broker              keep the claim until the child ends    -> IdInUse
child ended, never registered             release the claim                      -> its status
claim lost, mapping ours, id unclaimed    claim again
claim lost, mapping or id of another      stop the child, remove the files       -> ClaimLost
no child, no registration in time                                                -> NotRegistered
```

The first line that holds applies.

Source: KIP-426.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.identity.model import Owner, Registration
from rackwise.core.identity.nodes.nodes import format_owner
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    MISSING,
    OWNERS,
    Check,
    Create,
    Delete,
    Op,
    Put,
)
from rackwise.core.identity.refusals import ClaimLost, IdInUse, NotRegistered
from rackwise.core.identity.start.actions import (
    Action,
    ChildEnded,
    Commit,
    CommitEnded,
    Confirm,
    Fail,
    Held,
    Hold,
    Release,
    Signal,
    Spawn,
    Spawned,
    Starting,
    Wrote,
    require_take,
)
from rackwise.core.identity.start.operations import literal_operations

if TYPE_CHECKING:
    from rackwise.core.errors import RackwiseError

LOOK_AGAIN_MS = 5_000
STALE_CLAIM_MS = 500

Step: TypeAlias = tuple[Starting, Action]


def on_wrote(state: Starting, event: Wrote) -> Step:
    """Handle the written files, or the dirs that got none."""
    take, _ = require_take(state)
    state = replace(state, wrote=event.wrote, wrote_ms=event.at_ms, claim_czxid=event.claim_czxid)
    if event.claim_czxid is None and not state.rules.literal:
        return _fail(state, _claim_lost_error(take.id, None), unwrite=event.wrote)
    if event.error is not None:
        return _fail(state, event.error)
    if state.launch.command:
        return replace(state, phase="spawning"), Spawn(id=take.id)
    return _hold(state, most_ms=min(LOOK_AGAIN_MS, state.launch.hold_ms))


def on_spawned(state: Starting, _: Spawned) -> Step:
    """Handle the running child."""
    return _hold(state)


def _hold(state: Starting, most_ms: int = LOOK_AGAIN_MS) -> Step:
    take, _ = require_take(state)
    return replace(state, phase="holding"), Hold(id=take.id, most_ms=most_ms)


def _fail(state: Starting, error: RackwiseError, *, unwrite: tuple[str, ...] = ()) -> Step:
    return replace(state, phase="over"), Fail(error=error, unwrite=unwrite)


def on_held(state: Starting, event: Held) -> Step:
    """Handle the nodes of the id while its broker boots."""
    if event.registration is not None:
        if is_ours(state, event.registration):
            return _confirm_registration(state, event, event.registration)
        if not state.launch.command:
            return _fail(state, _in_use_error(event.registration))
        state = replace(state, foreign=event.registration)
    if event.child is not None:
        if state.foreign is not None:
            return _fail(state, _in_use_error(state.foreign))
        return replace(state, phase="releasing"), Release()
    is_claimed = event.claim is not None and event.claim.session == event.session
    if state.foreign is None and not is_claimed and not state.rules.literal:
        return _reclaim(state, event)
    if state.launch.command:
        return _hold(state)
    left_ms = state.launch.hold_ms - (event.at_ms - state.wrote_ms)
    if left_ms <= 0:
        return _fail(state, _not_registered_error(state))
    return _hold(state, most_ms=min(LOOK_AGAIN_MS, left_ms))


def is_ours(state: Starting, registration: Registration) -> bool:
    """Return whether this registration is that of the broker that was started here.

    It must be later than our claim, if the cluster has the order, and its endpoints must overlap
    ours, if both are known.
    """
    _, observation = require_take(state)
    incarnation, claim = registration.incarnation, state.claim_czxid
    if incarnation is not None and claim is not None and incarnation <= claim:
        return False
    known = observation.endpoints and registration.endpoints
    return not known or not observation.endpoints.isdisjoint(registration.endpoints)


def _confirm_registration(state: Starting, event: Held, registration: Registration) -> Step:
    take, observation = require_take(state)
    if state.rules.literal:
        known = replace(observation, mapping=event.mapping, mapping_problem=None)
        return _confirm(state, literal_operations(take, known))
    ops: list[Op] = [Put(FENCE, b"")]
    if event.claim is not None and event.claim.session == event.session:
        ops.append(Delete(f"{CLAIMS}/{take.id}"))
    if event.mapping is None or event.mapping.broker_id != take.id:
        return _confirm(state, tuple(ops))
    owner = Owner(
        broker_id=take.id,
        key=observation.key,
        incarnation=registration.incarnation,
        endpoints=registration.endpoints,
    )
    path = f"{OWNERS}/{take.id}"
    ops.append(Put(path, format_owner(owner)) if event.owner else Create(path, format_owner(owner)))
    if event.missing:
        ops.append(Delete(f"{MISSING}/{take.id}"))
    return _confirm(state, tuple(ops))


def _confirm(state: Starting, ops: tuple[Op, ...]) -> Step:
    take, _ = require_take(state)
    return replace(state, phase="confirming"), Confirm(id=take.id, ops=ops)


def on_confirmed(state: Starting, event: CommitEnded) -> Step:
    """Handle the end of the claim; after a failed commit, read again."""
    if event.outcome == "done":
        return replace(state, phase="releasing"), Release()
    return _hold(state, most_ms=0)


def _reclaim(state: Starting, event: Held) -> Step:
    """Handle a lost session, which ended the claim."""
    take, observation = require_take(state)
    claim, mapping = event.claim, event.mapping
    is_mapped = mapping is not None and mapping.broker_id == take.id
    if claim is not None and claim.nonce == observation.nonce:
        return _hold(state, most_ms=STALE_CLAIM_MS)
    if is_mapped and mapping is not None and claim is None:
        path = f"{HOSTS}/{observation.key}"
        ops = (
            Create(f"{CLAIMS}/{take.id}", state.claim, ephemeral=True),
            Check(path, mapping.node_version),
        )
        return replace(state, phase="reclaiming"), Commit(ops=ops)
    error = _claim_lost_error(take.id, None if claim is None else claim.key)
    unwrite = () if is_mapped else state.wrote
    if not state.launch.command:
        return _fail(state, error, unwrite=unwrite)
    return replace(state, phase="signalling", error=error, unwrite=unwrite), Signal()


def on_reclaimed(state: Starting, event: CommitEnded) -> Step:
    """Read again: the next read shows what became of the commit."""
    return _hold(state, most_ms=LOOK_AGAIN_MS if event.outcome == "done" else 0)


def on_child_ended(state: Starting, _: ChildEnded) -> Step:
    """Handle the end of the child that booted under a lost claim."""
    take, _observation = require_take(state)
    return _fail(state, state.error or _claim_lost_error(take.id, None), unwrite=state.unwrite)


def _claim_lost_error(id: int, by: str | None) -> ClaimLost:  # noqa: A002, the word
    had = "nobody" if by is None else by
    return ClaimLost(
        f"lost the claim on id {id} before its broker was registered: {had} holds it",
        wanted="ours",
        had=had,
        where=f"{CLAIMS}/{id}",
        hint="start again: the next start decides again",
    )


def _in_use_error(registration: Registration) -> IdInUse:
    at = ", ".join(sorted(registration.endpoints)) or f"session {registration.session or 0:#x}"
    return IdInUse(
        f"id {registration.broker_id} is registered by another broker: {at}",
        wanted="free",
        had=at,
        details={"id": registration.broker_id, "endpoints": sorted(registration.endpoints)},
        hint="stop that broker, or give this key another id with broker-id assign",
    )


def _not_registered_error(state: Starting) -> NotRegistered:
    take, _ = require_take(state)
    return NotRegistered(
        f"expected a registration of id {take.id} within {state.launch.hold_ms / 1000:g} s, "
        "got none",
        wanted=state.launch.hold_ms,
        had="no registration",
        hint="see the log of the broker",
    )
