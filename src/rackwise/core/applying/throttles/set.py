"""Throttles are put on before anything moves: read, journalled, set, and read back.

```
reading -> setting -> verifying -> looking
   |          |          |
   +----------+----------+--> after 5 tries, or 30 s unseen: the run ends, nothing was moved
```

Goals, in order: the journal knows what stood there before we touch it; nothing moves unthrottled;
what an operator set holds, unless the caller says otherwise.

A broker that is dead has no throttle set, as nobody could reach it; it is put on when the broker is
back. All moves of the run are throttled
at once, so that a killed run leaves one set of keys.

Source: KIP-73; `ReassignPartitionsCommand.modifyReassignmentThrottle`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import Setting, ThrottleIntent, ThrottleSet
from rackwise.core.applying.model import FAILED
from rackwise.core.applying.requests import (
    Step,
    look,
    read_throttles,
    set_throttles,
    told,
    wait,
)
from rackwise.core.applying.throttle_configs import (
    FOLLOWER_RATE,
    LEADER_RATE,
    Flow,
    bytes_per_s,
    entry_of,
    flow_of,
    joined,
    throttles,
)
from rackwise.core.applying.throttles.clear import is_answered, value_of, wind_down
from rackwise.core.applying.window import adding_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.actions import ThrottlesRead, ThrottlesSet
    from rackwise.core.applying.model import ApplyState, Entry, ThrottleKey

MOST_TRIES = 5
VISIBLE_MS = 30_000
BACK_OFF_MS = 500
UNKNOWN = "UNKNOWN"
"""In a journal: no answer came."""

_AGAIN = {"REQUEST_TIMED_OUT", "NOT_CONTROLLER", "THROTTLING_QUOTA_EXCEEDED", UNKNOWN}
"""Answers after which it is tried again."""

_ENDED = FAILED | {"done", "cancelled", "dropped"}


def lacks_throttle(state: ApplyState) -> bool:
    """A rate is asked for, something is to be copied, and it was not put on yet, or not for all."""
    is_on = state.is_throttled and not state.unthrottled & state.live
    return state.rate is not None and not is_on and bool(_flows(state))


def put_on(state: ApplyState) -> Step:
    """Read what stands at the keys that are wanted."""
    wanted = throttles(_flows(state), state.rate or 0)
    return read_throttles(replace(state, wanted=wanted), "reading", wanted)


def _flows(state: ApplyState) -> list[Flow]:
    """Whom the moves concern that are not over."""
    flows = []
    for partition, progress in state.partitions.items():
        seen, move = progress.seen, state.moves[partition]
        if seen is None or progress.class_ in _ENDED or not adding_of(move, seen):
            continue
        flows.append(flow_of(partition, seen.replicas, seen.adding, move.after))
    return flows


def was_read(state: ApplyState, read: ThrottlesRead) -> Step:
    """Join ours with what stands there, and set what differs."""
    if state.is_stopping:
        return wind_down(state, "interrupted")
    silent = [key for key in state.wanted if not is_answered(key, read)]
    if any(_is_live(state, key) for key in silent):
        return again(state, "no answer about throttles")
    wanted = {
        key: ours
        for key, ours in state.wanted.items()
        if key not in silent and not (key.kind == "topic" and key.name in read.gone)
    }
    ledger = dict(state.ledger)
    settings: list[Setting] = []
    values: dict[ThrottleKey, str] = {}
    for key, ours in wanted.items():
        now, entry = value_of(key, read), ledger.get(key)
        values[key] = joined(key, ours, now, entry, state.caps.throttle_over)
        if values[key] != now:
            ledger[key] = entry_of(key, entry, now, values[key])
            settings.append(_setting(key, ledger[key]))
    dead = frozenset(int(key.name) for key in silent)
    state = with_rates(replace(state, wanted=values, unthrottled=dead), values)
    if not settings:
        return look(replace(state, is_throttled=True, wanted={}, tries=0), read.at_ms)
    line = ThrottleIntent(settings=tuple(settings))
    changes: dict[ThrottleKey, str | None] = {each.key: each.ours for each in settings}
    return told((line,), set_throttles(replace(state, ledger=ledger), "setting", changes))


def _setting(key: ThrottleKey, entry: Entry) -> Setting:
    return Setting(key=key, prior=entry.prior, ours=entry.ours[-1])


def _is_live(state: ApplyState, key: ThrottleKey) -> bool:
    return key.kind == "topic" or int(key.name) in state.live


def with_rates(state: ApplyState, values: Mapping[ThrottleKey, str]) -> ApplyState:
    """With the rates that hold from now on."""
    return replace(
        state,
        rates_in=_rates(values, FOLLOWER_RATE),
        rates_out=_rates(values, LEADER_RATE),
    )


def _rates(values: Mapping[ThrottleKey, str], key: str) -> dict[int, int]:
    return {int(each.name): bytes_per_s(value) for each, value in values.items() if each.key == key}


def was_set(state: ApplyState, answer: ThrottlesSet) -> Step:
    """Read back what was set; what was refused ends the run, what is unknown is read again."""
    answers = [(key, answer.answers.get(key, UNKNOWN)) for key in state.keys]
    failed = {key: code for key, code in answers if code is not None}
    line = ThrottleSet(
        done=tuple(key for key, code in answers if code is None), failed=tuple(failed.items())
    )
    refused = sorted(set(failed.values()) - _AGAIN)
    if refused:
        return told((line,), _give_up(state, f"Kafka refused a throttle: {refused[0]}"))
    if failed:
        return told((line,), again(state, "no answer to a throttle"))
    return told((line,), verify(replace(state, since_ms=answer.at_ms)))


def was_verified(state: ApplyState, read: ThrottlesRead) -> Step:
    """Go on once all that was set is visible."""
    unseen = [
        key
        for key, value in state.wanted.items()
        if value_of(key, read) != value and not (key.kind == "topic" and key.name in read.gone)
    ]
    if not unseen:
        return look(replace(state, is_throttled=True, wanted={}, tries=0), read.at_ms)
    if read.at_ms - (state.since_ms or 0) >= VISIBLE_MS:
        return again(state, "a throttle that was set cannot be seen")
    return wait(state, "verifying")


def verify(state: ApplyState) -> Step:
    """Read back again."""
    return read_throttles(state, "verifying", state.wanted)


def again(state: ApplyState, text: str) -> Step:
    """Look and begin anew, at most so often."""
    if state.tries + 1 >= MOST_TRIES:
        return _give_up(state, f"{text}, {MOST_TRIES} times")
    return wait(replace(state, tries=state.tries + 1, wait_ms=max(BACK_OFF_MS, state.wait_ms)))


def _give_up(state: ApplyState, text: str) -> Step:
    return wind_down(state, "throttle", text)
