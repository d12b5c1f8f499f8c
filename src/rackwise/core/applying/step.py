"""The state machine of a run: throttle, move, elect, restore throttles; resumable after a kill.

Goals, in order:

1. Nothing moves that is not in the plan, and no change by others is overwritten.
2. Every effect is in the journal before it is requested, so that the next run can continue a killed
   one from any line.
3. No throttle of this tool outlives the run, or the run reports which ones do.
4. The cluster is never worse off than the limits allow: no new move starts while the cluster has a
   problem.
5. As much as the limits allow is in motion.

Algorithm, a state machine; the driver executes its actions and returns the observations:

```
 new -> looking --+--> reading -> setting -> verifying --+     set throttles
          ^  ^    |                                      |
          |  +----|--------------------------------------+
          |       +--> altering --+                            reassign, or cancel
          |       +--> electing --+
          |       +--> waiting ---+
          |                       |
          +-----------------------+
                  |
                  +--> reading_to_clear -> clearing -> over    clear throttles
                           ^                  |
                           +- clear_backoff <-+
```

1. After each request it reads the cluster, and decides on what it sees. Nothing is sent twice
   because an answer was lost: the next readings show the result of the request.
2. A reading is accepted at once if it is certain. Otherwise it is accepted when the next readings
   show the same.
3. A run ends when nothing is open: done, failed, or not to be started any more.
4. Another throttle may be requested at any time. It is set before the next move is started.
5. After a signal no new move is started. Kafka continues the moves that it has accepted; the
   throttle then stays, and `resume` finishes.

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
cluster); undo: a rollback is a cancel followed by the reverse plan.

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
    ThrottleAsked,
    ThrottlesRead,
    ThrottlesSet,
    Waited,
)
from rackwise.core.applying.decide import after_look
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.applying.requests import Step, journal_first, look, wait
from rackwise.core.applying.responses import on_altered, on_elected
from rackwise.core.applying.throttles import clear as clearing
from rackwise.core.applying.throttles import set as setting
from rackwise.core.applying.throttles.clear import begin_clearing, wind_down
from rackwise.core.errors import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.applying.actions import Observation
    from rackwise.core.applying.model import ApplyState, Phase


def step(state: ApplyState, seen: Observation) -> Step:
    """The next state, and the actions to execute in this order.

    The last action, unless it is `AppendLine`, has an observation. `Finish` is the last action of a
    run. Raises `LocalProtocolError` for an observation that answers no action.
    """
    if isinstance(seen, Interrupted):
        return replace(state, is_stopping=True), ()
    if isinstance(seen, ThrottleAsked):
        return setting.change_rate(state, seen.asked)
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
    line = Begin(
        plan=state.plan,
        mode=state.mode,
        throttle=state.rate,
        dropped=dropped,
        next_moves=state.budget.moves,
        most_bytes=state.budget.bytes,
        until=state.budget.until,
        lasts_ms=state.budget.lasts_ms,
        window=state.budget.window,
    )
    state = replace(state, progress_ms=seen.at_ms)
    return journal_first(
        (line,), begin_clearing(state) if state.mode == "restore" else look(state, seen.at_ms)
    )


def _waited(state: ApplyState, seen: Waited) -> Step:
    return wind_down(state, "interrupted") if state.is_stopping else look(state, seen.at_ms)


def _look_failed(state: ApplyState, seen: Failed) -> Step:
    """Read again, until readings have failed for as long as a stall may last."""
    since = seen.at_ms if state.looks_fail_since_ms is None else state.looks_fail_since_ms
    if seen.is_fatal:
        return wind_down(state, "fatal", seen.text)
    if state.is_stopping:
        return wind_down(state, "interrupted", seen.text)
    if seen.at_ms - since >= state.caps.stall_ms:
        return wind_down(state, "unreachable", seen.text)
    return wait(replace(state, looks_fail_since_ms=since))


def _throttles_failed(state: ApplyState, seen: Failed) -> Step:
    if seen.is_fatal:
        return setting.give_up(state, seen.text, "fatal")
    return setting.retry(state, seen.text)


def _set_failed(state: ApplyState, seen: Failed) -> Step:
    """The result is unknown; the ledger has every key."""
    if not seen.is_fatal:
        return setting.on_set(state, ThrottlesSet(at_ms=seen.at_ms, answers={}))
    return setting.give_up(state, seen.text, "fatal")


def _alter_failed(state: ApplyState, seen: Failed) -> Step:
    noted = on_altered(state, Altered(at_ms=seen.at_ms, answers={}))
    return _noted_failure(noted, seen)


def _elect_failed(state: ApplyState, seen: Failed) -> Step:
    return _noted_failure(on_elected(state, Elected(at_ms=seen.at_ms, answers={})), seen)


def _noted_failure(noted: Step, seen: Failed) -> Step:
    """The step that records an unknown result; a fatal failure then ends the run."""
    if not seen.is_fatal:
        return noted
    state, actions = noted
    state, ending = wind_down(state, "fatal", seen.text)
    return state, (*actions[:-1], *ending)


def _verified(state: ApplyState, _: Waited) -> Step:
    if state.is_stopping:
        return wind_down(state, "interrupted")
    return setting.read_back(state)


def _read_again(state: ApplyState, _: Waited) -> Step:
    return clearing.read_again(state)


_ROWS: Mapping[tuple[Phase, type[object]], Callable[[ApplyState, Any], Step]] = {
    ("new", Begun): _begun,
    ("looking", Looked): after_look,
    ("looking", Failed): _look_failed,
    ("reading", ThrottlesRead): setting.on_read,
    ("reading", Failed): _throttles_failed,
    ("setting", ThrottlesSet): setting.on_set,
    ("setting", Failed): _set_failed,
    ("verifying", ThrottlesRead): setting.on_verified,
    ("verifying", Waited): _verified,
    ("verifying", Failed): _throttles_failed,
    ("altering", Altered): on_altered,
    ("altering", Failed): _alter_failed,
    ("electing", Elected): on_elected,
    ("electing", Failed): _elect_failed,
    ("waiting", Waited): _waited,
    ("reading_to_clear", ThrottlesRead): clearing.on_read,
    ("reading_to_clear", Failed): clearing.on_failure,
    ("clearing", ThrottlesSet): clearing.on_set,
    ("clearing", Failed): clearing.on_failure,
    ("clear_backoff", Waited): _read_again,
}
