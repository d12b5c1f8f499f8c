"""Setting throttles before anything moves: read, journal, set, and read back.

```
reading -> setting -> verifying -> looking
   |          |          |
   +----------+----------+--> after 5 attempts, 30 s invisible, or where Kafka rejects a value:
                              the run ends, and starts no move without its throttle;
                              a cancel goes on, with the throttle that was set before
```

Goals, in order: the journal has the old value before we change it; nothing moves without its
throttle; an operator's value holds, unless the caller decides otherwise.

A dead broker gets no throttle, because it cannot be reached; the throttle is set when the broker is
back. Another rate may be requested while moves are running: it replaces our values, and the values
from before the run stay those to restore. All moves of the run are throttled at once, so that a
killed run leaves one set of keys.

Source: KIP-73; `ReassignPartitionsCommand.modifyReassignmentThrottle`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import (
    Setting,
    ThrottleChange,
    ThrottleIntent,
    ThrottleSet,
)
from rackwise.core.applying.model import FAILED
from rackwise.core.applying.requests import (
    Step,
    journal_first,
    look,
    read_throttles,
    set_throttles,
    wait,
)
from rackwise.core.applying.throttle_configs import (
    FOLLOWER_RATE,
    LEADER_RATE,
    ThrottledMove,
    bytes_per_s,
    merge_value,
    throttle_values,
    throttled_move,
    update_entry,
)
from rackwise.core.applying.throttles.clear import is_answered, value_of, wind_down
from rackwise.core.applying.window import brokers_to_add

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.actions import ThrottleRequest, ThrottlesRead, ThrottlesSet
    from rackwise.core.applying.model import ApplyState, Entry, Phase, Stop, ThrottleKey

MOST_TRIES = 5
"""Attempts to set the throttles before the run ends."""
VISIBLE_MS = 30_000
"""How long a throttle that was set may be invisible."""
BACK_OFF_MS = 500
"""The least wait before another attempt."""
UNKNOWN = "UNKNOWN"
"""In a journal: the request was not answered."""

_AGAIN = {"REQUEST_TIMED_OUT", "NOT_CONTROLLER", "THROTTLING_QUOTA_EXCEEDED", UNKNOWN}
"""Errors after which the request is repeated."""

# The phases of a run that clears its throttles.
_LAST_PHASES: frozenset[Phase] = frozenset(
    {"reading_to_clear", "clearing", "clear_backoff", "over"}
)

# The classes of partitions that copy nothing any more.
_ENDED = FAILED | {"done", "cancelled", "dropped"}


def lacks_throttle(state: ApplyState) -> bool:
    """Whether a rate is requested, something is to be copied, and a throttle is missing."""
    is_set = state.is_throttled and state.throttled_rate == state.rate
    has_throttle = is_set and not state.unthrottled_brokers & state.live
    return state.rate is not None and not has_throttle and bool(_throttled_moves(state))


def begin_setting(state: ApplyState) -> Step:
    """Read the current values of the keys to set."""
    targets = throttle_values(_throttled_moves(state), state.rate or 0)
    state = replace(state, target_throttles=targets, throttled_rate=state.rate, is_throttled=False)
    return read_throttles(state, "reading", targets)


def change_rate(state: ApplyState, asked: ThrottleRequest) -> Step:
    """Journal another rate; it is set after the next reading. A run that ends takes none."""
    if state.mode not in {"apply", "cancel"} or state.is_stopping or state.phase in _LAST_PHASES:
        return state, ()
    line = ThrottleChange(rate=asked.rate, request=asked.request, is_set=False)
    changed = replace(state, rate=asked.rate, rate_request=asked.request, rate_rejected=None)
    return journal_first((line,), (changed, ()))


def end_change(state: ApplyState) -> tuple[ApplyState, ThrottleChange]:
    """The state without the request for another rate, which is set, and its journal line."""
    line = ThrottleChange(rate=state.rate or 0, request=state.rate_request or "", is_set=True)
    return replace(state, rate_request=None), line


def _throttled_moves(state: ApplyState) -> list[ThrottledMove]:
    """Sources and destinations of the moves that are not over; of a cancel, of those that go on."""
    flows = []
    for partition, progress in state.partitions.items():
        goes_on = progress.class_ == "moving" and progress.is_certain
        if state.mode == "cancel" and not goes_on:
            continue
        seen, move = progress.seen, state.moves[partition]
        if seen is None or progress.class_ in _ENDED or not brokers_to_add(move, seen):
            continue
        flows.append(throttled_move(partition, seen.replicas, seen.adding, move.after))
    return flows


def on_read(state: ApplyState, read: ThrottlesRead) -> Step:
    """Merge our values with the current ones, and set those that differ."""
    if state.is_stopping:
        return wind_down(state, "interrupted")
    unanswered = [key for key in state.target_throttles if not is_answered(key, read)]
    if any(_is_live(state, key) for key in unanswered):
        return retry(state, "no answer about throttles")
    targets = {
        key: ours
        for key, ours in state.target_throttles.items()
        if key not in unanswered and not (key.kind == "topic" and key.name in read.gone)
    }
    ledger = dict(state.ledger)
    settings: list[Setting] = []
    values: dict[ThrottleKey, str] = {}
    for key, ours in targets.items():
        now, entry = value_of(key, read), ledger.get(key)
        values[key] = merge_value(key, ours, now, entry, state.caps.throttle_over)
        if values[key] != now:
            ledger[key] = update_entry(key, entry, now, values[key])
            settings.append(_setting(key, ledger[key]))
    dead = frozenset(int(key.name) for key in unanswered)
    state = with_rates(replace(state, target_throttles=values, unthrottled_brokers=dead), values)
    if not settings:
        return look(replace(state, is_throttled=True, target_throttles={}, tries=0), read.at_ms)
    line = ThrottleIntent(settings=tuple(settings))
    changes: dict[ThrottleKey, str | None] = {each.key: each.ours for each in settings}
    return journal_first((line,), set_throttles(replace(state, ledger=ledger), "setting", changes))


def _setting(key: ThrottleKey, entry: Entry) -> Setting:
    return Setting(key=key, prior=entry.prior, ours=entry.ours[-1])


def _is_live(state: ApplyState, key: ThrottleKey) -> bool:
    return key.kind == "topic" or int(key.name) in state.live


def with_rates(state: ApplyState, values: Mapping[ThrottleKey, str]) -> ApplyState:
    """The state with the rates that limit brokers from now on."""
    return replace(
        state,
        rates_in=_rates(values, FOLLOWER_RATE),
        rates_out=_rates(values, LEADER_RATE),
    )


def _rates(values: Mapping[ThrottleKey, str], key: str) -> dict[int, int]:
    """Broker -> bytes per second, from the values of one rate key."""
    return {int(each.name): bytes_per_s(value) for each, value in values.items() if each.key == key}


def on_set(state: ApplyState, answer: ThrottlesSet) -> Step:
    """Read the values that were set. A rejected key ends the run; an unknown one is repeated."""
    answers = [(key, answer.answers.get(key, UNKNOWN)) for key in state.keys]
    failed = {key: code for key, code in answers if code is not None}
    line = ThrottleSet(
        done=tuple(key for key, code in answers if code is None), failed=tuple(failed.items())
    )
    refused = sorted(set(failed.values()) - _AGAIN)
    if refused:
        return journal_first((line,), give_up(state, f"Kafka rejected a throttle: {refused[0]}"))
    if failed:
        return journal_first((line,), retry(state, "no answer to a throttle"))
    return journal_first((line,), read_back(replace(state, throttles_set_ms=answer.at_ms)))


def on_verified(state: ApplyState, read: ThrottlesRead) -> Step:
    """Continue when all new values are visible."""
    unseen = [
        key
        for key, value in state.target_throttles.items()
        if value_of(key, read) != value and not (key.kind == "topic" and key.name in read.gone)
    ]
    if not unseen:
        return look(replace(state, is_throttled=True, target_throttles={}, tries=0), read.at_ms)
    if read.at_ms - (state.throttles_set_ms or 0) >= VISIBLE_MS:
        return retry(state, "a throttle that was set is not visible")
    return wait(state, "verifying")


def read_back(state: ApplyState) -> Step:
    """Read the values back."""
    return read_throttles(state, "verifying", state.target_throttles)


def retry(state: ApplyState, text: str) -> Step:
    """Read the cluster and start again, a limited number of times."""
    if state.tries + 1 >= MOST_TRIES:
        return give_up(state, f"{text}, {MOST_TRIES} times")
    return wait(replace(state, tries=state.tries + 1, wait_ms=max(BACK_OFF_MS, state.wait_ms)))


def give_up(state: ApplyState, text: str, stop: Stop = "throttle") -> Step:
    """End the run early; a cancel goes on without the rate that was requested."""
    if state.mode != "cancel":
        return wind_down(state, stop, text)
    line = ThrottleChange(
        rate=state.rate or 0, request=state.rate_request or "", is_set=False, error=text
    )
    without = replace(
        state, rate_request=None, rate_rejected=text, target_throttles={}, tries=0, wait_ms=0
    )
    return journal_first((line,), wait(without))
