"""One start of a broker: the id is decided, reserved in the store, written to the disks, then used.

Goals, in order:

1. No id on the disks of two hosts, and no two live brokers of one id.
2. The mapping is stored before the broker registers, so no crash loses it.
3. A start completes: after a lost race it reads and decides again.

Constraints: Kafka writes `meta.properties` long before it registers, and a wrong id there is
permanent. So the order is always *reserve* (store), *persist* (file), *register* (Kafka itself).

Algorithm: a state machine. The driver performs its actions and returns the events:

```
 new -> gathering -> committing -> writing -> spawning -> holding -> confirming -> releasing -> over
          ^  |  ^        |                                 ^   |
          |  v  |        | conflict, answer lost           |   | the session, and the claim with it,
        sleeping <-------+                                 +---+ was lost: reclaiming
```

1. After a conflict, a lost answer or a wait, all facts are dropped, gathered and decided again. A
   commit that took effect though its answer was lost is recognized by its claim.
2. After a conflict the start sleeps a random part of min(0.5 s, 10 ms x tries). It gives up with
   Contention after the waiting time and the grace together, without the time that it slept.
3. The wait for a stale registration lasts for the waiting time, counted per id.
4. If the claim is lost while the broker boots, the start claims again if the mapping is still ours.
   Otherwise it stops the child and removes the files of this run: ClaimLost.
5. The claim is held until the broker is registered: its incarnation is later than the claim, and
   its endpoints overlap ours, if ours are known. One commit then ends the claim and notes the
   owner.

Example, two hosts and the spare 7, both without a mapping:

```
x: gather, fence 4 -> b1 7, Put(fence, 4) -> done          -> write 7 -> spawn -> hold -> confirm
y: gather, fence 4 -> b1 7, Put(fence, 4) -> conflict, sleep -> gather -> generates 1001 -> ...
```

In KRaft mode the store has no registrations. There the claim is committed first, the registrations
are read again, and the mapping is committed under the claim.

What this does not do: input and output, clocks, randomness. Between the last check of a claim and
the rename of a file, or the start of the broker, a session may end unnoticed. Then Kafka's own
rejection of a second registration is the last guard.

Source: KIP-426; `KafkaServer.scala` (3.9) for the order of files and registration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.errors import LocalProtocolError
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import (
    Decision,
    Generate,
    Mode,
    Observation,
    Refuse,
    Take,
    WaitFor,
)
from rackwise.core.identity.nodes.store import CLAIMS, Create, Delete
from rackwise.core.identity.refusals import Contention, NoCarrier
from rackwise.core.identity.start.actions import (
    Action,
    ChildEnded,
    Commit,
    CommitEnded,
    Event,
    Fail,
    Gather,
    Gathered,
    Held,
    Phase,
    Released,
    Sightings,
    Sleep,
    Slept,
    Spawned,
    Started,
    Starting,
    Succeed,
    WriteMeta,
    Wrote,
    require_take,
)
from rackwise.core.identity.start.hold import (
    on_child_ended,
    on_confirmed,
    on_held,
    on_reclaimed,
    on_spawned,
    on_wrote,
)
from rackwise.core.identity.start.missing import forget_changed
from rackwise.core.identity.start.operations import (
    claim_operations,
    mapping_operations,
    operations,
)
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_BACK_OFF_MS = 500
BACK_OFF_MS = 10

Step: TypeAlias = tuple[Starting, Action]


def step(state: Starting, event: Event) -> Step:
    """Return what to do next.

    `Succeed` and `Fail` are the last actions. Raises `LocalProtocolError` for an event that does
    not answer the last action.

    Source: KIP-426.
    """
    row = _ROWS.get((state.phase, type(event)))
    if row is None:
        raise LocalProtocolError(
            f"unexpected event while {state.phase}: got {type(event).__name__}",
            had=type(event).__name__,
        )
    return row(state, event)


def _on_started(state: Starting, event: Started) -> Step:
    return replace(state, begun_ms=event.at_ms, phase="gathering"), Gather()


def _gather_again(state: Starting) -> Step:
    """Drop all facts and gather again."""
    state = replace(state, phase="gathering", observation=None, take=None)
    return state, Gather(seen=state.seen)


def _on_gathered(state: Starting, event: Gathered) -> Step:
    seen = state.seen
    if event.observation.missing_since_ms is not None and event.observation.watch == "scan":
        since = event.observation.missing_since_ms
        seen = Sightings(session=event.observation.session, since_ms=since)
    observation = replace(event.observation, skipped=state.skipped)
    state, decision = _decide(replace(state, seen=seen), observation, event.at_ms)
    match decision:
        case Take():
            return _proceed(replace(state, take=decision))
        case Refuse(error=error):
            return replace(state, phase="over"), Fail(error=error)
        case WaitFor(on=on, until_ms=until_ms):
            asleep = replace(state, phase="sleeping", asleep_since_ms=event.at_ms)
            return asleep, Sleep(on=on, most_ms=max(0, until_ms - observation.now_ms))
        case Generate():
            skipped = state.skipped + (observation.generated is not None)
            state = replace(state, skipped=skipped)
            return state, Gather(base=observation, more=decision, seen=seen)
        case _:
            return state, Gather(base=observation, more=decision, seen=seen)


def _decide(state: Starting, observation: Observation, at_ms: int) -> tuple[Starting, Decision]:
    """Decide. The time waited counts only for the ids that were waited for."""
    decision = decide(replace(observation, waited_ms=0), state.rules)
    state = replace(state, observation=observation)
    if not isinstance(decision, WaitFor):
        return replace(state, held=frozenset()), decision
    held = frozenset(path.rsplit("/", 1)[1] for path in decision.on)
    if held != state.held:
        return replace(state, held=held, held_since_ms=at_ms), decision
    waited = replace(observation, waited_ms=at_ms - state.held_since_ms)
    return replace(state, observation=waited), decide(waited, state.rules)


def _on_slept(state: Starting, event: Slept) -> Step:
    slept = state.slept_ms
    if state.asleep_since_ms is not None:
        slept += event.at_ms - state.asleep_since_ms
    seen = forget_changed(state.seen, event.changed)
    return _gather_again(replace(state, seen=seen, slept_ms=slept, asleep_since_ms=None))


def _proceed(state: Starting) -> Step:
    take, observation = require_take(state)
    if state.rules.literal:
        return _write(state)
    configured = observation.configured not in {None, -1}
    wanted = observation.mode is Mode.KRAFT or not state.rules.generation
    if wanted and state.launch.command and not configured and not state.launch.carries_id:
        error = NoCarrier(
            "expected {broker.id} in the command, because this broker needs its id configured",
            row=take.row,
            wanted="{broker.id} in the command",
            had="none",
        )
        return replace(state, phase="over"), Fail(error=error)
    state = replace(state, claim=_claim_data(take, observation))
    if observation.mode is Mode.KRAFT:
        return _claim(state)
    if take.how == "already":
        return _write(state)
    return replace(state, phase="committing"), Commit(ops=operations(take, observation))


def _claim_data(take: Take, observation: Observation) -> bytes:
    """Return the content of the claim, in case it must be created again."""
    ops = claim_operations(replace(take, how="meta"), observation)
    return b"".join(op.data for op in ops if isinstance(op, Create))


def _on_committed(state: Starting, event: CommitEnded) -> Step:
    return _write(state) if event.outcome == "done" else _back_off(state, event)


def _back_off(state: Starting, event: CommitEnded) -> Step:
    tries = state.tries + 1
    bound = state.rules.wait_ms + state.rules.grace_ms
    if event.at_ms - state.begun_ms - state.slept_ms > bound:
        error = Contention(
            f"took no id within {bound / 1000:g} s: {counted(tries, 'commit')} failed",
            wanted=bound,
            had=tries,
        )
        return replace(state, phase="over"), Fail(error=error)
    most_ms = min(MOST_BACK_OFF_MS, BACK_OFF_MS * tries)
    return replace(state, phase="sleeping", tries=tries), Sleep(most_ms=most_ms)


def _claim(state: Starting) -> Step:
    """KRaft mode, first: commit the claim, unless it is ours already."""
    take, observation = require_take(state)
    if take.how == "already":
        return _map(state)
    return replace(state, phase="claiming"), Commit(ops=claim_operations(take, observation))


def _on_claimed(state: Starting, event: CommitEnded) -> Step:
    if event.outcome != "done":
        return _back_off(state, event)
    return replace(state, phase="looking"), Gather()


def _on_gathered_again(state: Starting, event: Gathered) -> Step:
    """KRaft mode, second: check that no broker registered before the claim existed."""
    take, _ = require_take(state)
    return _unclaim(state) if take.id in event.observation.registered else _map(state)


def _map(state: Starting) -> Step:
    """KRaft mode, third: commit the mapping under the claim."""
    take, observation = require_take(state)
    mapping = observation.mapping
    if take.how == "already" and mapping is not None and mapping.broker_id == take.id:
        return _write(state)
    return replace(state, phase="mapping"), Commit(ops=mapping_operations(take, observation))


def _on_mapped(state: Starting, event: CommitEnded) -> Step:
    if event.outcome == "conflict":
        return _unclaim(state)
    return _on_committed(state, event)


def _unclaim(state: Starting) -> Step:
    take, _ = require_take(state)
    return replace(state, phase="unclaiming"), Commit(ops=(Delete(f"{CLAIMS}/{take.id}"),))


def _write(state: Starting) -> Step:
    take, observation = require_take(state)
    mode = observation.mode
    dirs = tuple(each.path for each in observation.log_dirs if each.lacks_id(mode))
    action = WriteMeta(
        id=take.id,
        mode=mode,
        cluster_id=observation.cluster_id,
        dirs=dirs,
        claimed=not state.rules.literal,
    )
    return replace(state, phase="writing"), action


def _on_released(state: Starting, _: Released) -> Step:
    take, _observation = require_take(state)
    return replace(state, phase="over"), Succeed(id=take.id)


_ROWS: Mapping[tuple[Phase, type[object]], Callable[[Starting, Any], Step]] = {
    ("new", Started): _on_started,
    ("gathering", Gathered): _on_gathered,
    ("sleeping", Slept): _on_slept,
    ("committing", CommitEnded): _on_committed,
    ("claiming", CommitEnded): _on_claimed,
    ("looking", Gathered): _on_gathered_again,
    ("mapping", CommitEnded): _on_mapped,
    ("unclaiming", CommitEnded): _back_off,
    ("writing", Wrote): on_wrote,
    ("spawning", Spawned): on_spawned,
    ("holding", Held): on_held,
    ("reclaiming", CommitEnded): on_reclaimed,
    ("confirming", CommitEnded): on_confirmed,
    ("signalling", ChildEnded): on_child_ended,
    ("releasing", Released): _on_released,
}
