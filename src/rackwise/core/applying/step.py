"""One run of a plan on a cluster: throttle, move, elect, put throttles back; killed, it is resumed.

Goals, in order:

1. Nothing moves that is not in the plan, and nothing that others did is overwritten.
2. Every effect is in the journal before it is asked for, so that a killed run can be taken up by
   the next one, from any line.
3. No throttle of ours outlives the run, or the run tells which ones do.
4. The cluster is never worse off than the limits allow: new work stops when it gets into trouble.
5. As much is under way as the limits allow.

Algorithm, a state machine; the driver does what it asks and tells what came of it:

```
 new -> looking --+--> reading -> setting -> verifying --+     throttles on
          ^  ^    |                                      |
          |  +----|--------------------------------------+
          |       +--> altering --+                            reassign, or cancel
          |       +--> electing --+
          |       +--> waiting ---+
          |                       |
          +-----------------------+
                  |
                  +--> taking_off -> unsetting -> over         throttles off
                           ^             |
                           +-- resting <-+
```

1. After each request it looks, and decides on what it sees. Nothing is sent twice because an answer
   was lost: the next looks tell what became of the request.
2. What one look shows is believed where it is certain, else when it stays the same.
3. A run ends when nothing is open: done, failed, or not to be begun any more.
4. A signal begins nothing new. What Kafka has accepted goes on there; the throttle then stays, and
   `resume` finishes.

Example, one move t-0 1,2 -> 1,3 with a throttle of 1 MB/s, the journal in the right column:

```
Look                                              begin
ReadThrottles 1 2 3, t                            throttle_intent
SetThrottles, ReadThrottles                       throttle_set
Look, Alter t-0                                   batch_intent  batch_result
Look, Wait, Look: done                            partition t-0 done
ReadThrottles, SetThrottles                       throttle_restored
Finish                                            end
```

What this does not do: input and output, clocks; checks before the run (that the plan still fits the
cluster); undo: a rollback is a cancel, and then the reverse plan.

Source: KIP-455 (reassignments that are listed and cancelled), KIP-73 (throttles), KIP-460
(elections), KIP-860 (the flag that keeps the number of replicas).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rackwise.core.applying.actions import (
    Altered,
    Begun,
    Elected,
    Failed,
    Interrupted,
    Looked,
    ThrottlesRead,
    ThrottlesSet,
    Waited,
)
from rackwise.core.applying.decide import after_look
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.applying.requests import Step, look, told, wait
from rackwise.core.applying.responses import altered, elected
from rackwise.core.applying.throttles import clear as taking_off
from rackwise.core.applying.throttles import set as putting_on
from rackwise.core.applying.throttles.clear import take_off, wind_down
from rackwise.core.errors import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.applying.actions import Observation
    from rackwise.core.applying.model import ApplyState, Phase


def step(state: ApplyState, seen: Observation) -> Step:
    """What to do next, in this order; the last action but `Journal` wants an answer.

    `Finish` is the last action of a run. Raises `LocalProtocolError` for an observation that
    answers nothing that was asked.
    """
    if isinstance(seen, Interrupted):
        return replace(state, is_stopping=True), ()
    row = _ROWS.get((state.phase, type(seen)))
    if row is None:
        raise LocalProtocolError(
            f"{type(seen).__name__} answers nothing that a run asks while it is {state.phase}",
            had=type(seen).__name__,
        )
    return row(state, seen)


def _begun(state: ApplyState, seen: Begun) -> Step:
    dropped = tuple(
        partition for partition, each in state.partitions.items() if each.class_ == "dropped"
    )
    line = Begin(plan=state.plan, mode=state.mode, throttle=state.rate, dropped=dropped)
    state = replace(state, moved_ms=seen.at_ms)
    return told((line,), take_off(state) if state.mode == "restore" else look(state, seen.at_ms))


def _waited(state: ApplyState, seen: Waited) -> Step:
    return wind_down(state, "interrupted") if state.is_stopping else look(state, seen.at_ms)


def _look_failed(state: ApplyState, seen: Failed) -> Step:
    """Look again, until it has failed for as long as a run bears with a stall."""
    since = seen.at_ms if state.failed_ms is None else state.failed_ms
    if seen.is_fatal:
        return wind_down(state, "fatal", seen.text)
    if state.is_stopping:
        return wind_down(state, "interrupted", seen.text)
    if seen.at_ms - since >= state.caps.stall_ms:
        return wind_down(state, "unreachable", seen.text)
    return wait(replace(state, failed_ms=since))


def _throttles_failed(state: ApplyState, seen: Failed) -> Step:
    if seen.is_fatal:
        return wind_down(state, "fatal", seen.text)
    return putting_on.again(state, seen.text)


def _set_failed(state: ApplyState, seen: Failed) -> Step:
    """Nobody knows what was set; the ledger has all of it."""
    if not seen.is_fatal:
        return putting_on.was_set(state, ThrottlesSet(at_ms=seen.at_ms, answers={}))
    return wind_down(state, "fatal", seen.text)


def _alter_failed(state: ApplyState, seen: Failed) -> Step:
    noted = altered(state, Altered(at_ms=seen.at_ms, answers={}))
    return _noted_failure(noted, seen)


def _elect_failed(state: ApplyState, seen: Failed) -> Step:
    return _noted_failure(elected(state, Elected(at_ms=seen.at_ms, answers={})), seen)


def _noted_failure(noted: Step, seen: Failed) -> Step:
    """The step that noted that nothing is known; a fatal failure ends the run after it."""
    if not seen.is_fatal:
        return noted
    state, actions = noted
    state, ending = wind_down(state, "fatal", seen.text)
    return state, (*actions[:-1], *ending)


def _verified(state: ApplyState, _: Waited) -> Step:
    if state.is_stopping:
        return wind_down(state, "interrupted")
    return putting_on.verify(state)


def _rested(state: ApplyState, _: Waited) -> Step:
    return taking_off.rested(state)


_ROWS: Mapping[tuple[Phase, type[object]], Callable[[ApplyState, Any], Step]] = {
    ("new", Begun): _begun,
    ("looking", Looked): after_look,
    ("looking", Failed): _look_failed,
    ("reading", ThrottlesRead): putting_on.was_read,
    ("reading", Failed): _throttles_failed,
    ("setting", ThrottlesSet): putting_on.was_set,
    ("setting", Failed): _set_failed,
    ("verifying", ThrottlesRead): putting_on.was_verified,
    ("verifying", Waited): _verified,
    ("verifying", Failed): _throttles_failed,
    ("altering", Altered): altered,
    ("altering", Failed): _alter_failed,
    ("electing", Elected): elected,
    ("electing", Failed): _elect_failed,
    ("waiting", Waited): _waited,
    ("taking_off", ThrottlesRead): taking_off.was_read,
    ("taking_off", Failed): taking_off.failed,
    ("unsetting", ThrottlesSet): taking_off.was_set,
    ("unsetting", Failed): taking_off.failed,
    ("resting", Waited): _rested,
}
