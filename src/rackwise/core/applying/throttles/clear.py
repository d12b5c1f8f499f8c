"""Throttles are taken off, and the run ends.

```
taking_off (read) -> unsetting (set or delete what is still ours) -> over
     ^                    |
     +----- resting <-----+   no answer: again, 5 times; then the key stays in the journal
```

Goals, in order: what an operator had set stands as it stood; the journal tells of each key when
nothing of ours stands there any more, and not before; a broker that is dead keeps no run waiting.

A key that could not be reached stays in the ledger, and so in the journal; the run ends with it,
and the next one, or one that only restores, takes it off.

Source: KIP-73; unlike `kafka-reassign-partitions --verify`, which clears all throttles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import ThrottleRestored
from rackwise.core.applying.requests import (
    Step,
    finish,
    is_under_way,
    read_throttles,
    set_throttles,
    told,
    wait,
)
from rackwise.core.applying.throttle_configs import restored

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rackwise.core.applying.actions import Failed, ThrottlesRead, ThrottlesSet
    from rackwise.core.applying.model import ApplyState, Stop, ThrottleKey

MOST_TRIES = 5
BACK_OFF_MS = 500


def wind_down(state: ApplyState, stop: Stop, text: str | None = None) -> Step:
    """End early. A throttle stays while something of ours may move."""
    state = replace(state, stop=stop, text=text)
    if any(is_under_way(each) for each in state.partitions.values()):
        return finish(state)
    return take_off(state)


def take_off(state: ApplyState) -> Step:
    """Read what stands at the keys that are ours; without any, end."""
    if not state.ledger:
        return finish(state)
    return read_throttles(replace(state, tries=0), "taking_off", state.ledger)


def was_read(state: ApplyState, read: ThrottlesRead) -> Step:
    """Put back what is still ours."""
    gone: list[ThrottleKey] = []
    changes: dict[ThrottleKey, str | None] = {}
    changed = set(state.changed)
    for key, entry in sorted(state.ledger.items()):
        if not is_answered(key, read):
            continue
        result = restored(key, entry, value_of(key, read))
        if result.is_changed:
            changed.add(key)
        if result.act == "none":
            gone.append(key)
        else:
            changes[key] = result.value
    state = replace(state, changed=frozenset(changed))
    lines, state = _forgotten(state, gone)
    if changes:
        return told(lines, set_throttles(state, "unsetting", changes))
    return told(lines, _again(state))


def was_set(state: ApplyState, answer: ThrottlesSet) -> Step:
    """What was put back is ours no more; what was not is read again."""
    done = [key for key in state.keys if answer.answers.get(key, "") is None]
    lines, state = _forgotten(state, done)
    return told(lines, _again(state))


def failed(state: ApplyState, failure: Failed) -> Step:
    """No answer at all."""
    return finish(state) if failure.is_fatal else _again(state)


def rested(state: ApplyState) -> Step:
    """Read again."""
    return read_throttles(state, "taking_off", state.ledger)


def _again(state: ApplyState) -> Step:
    if not state.ledger or state.tries + 1 >= MOST_TRIES:
        return finish(state)
    tried = replace(state, tries=state.tries + 1, wait_ms=max(BACK_OFF_MS, state.wait_ms))
    return wait(tried, "resting")


def _forgotten(
    state: ApplyState, keys: Collection[ThrottleKey]
) -> tuple[tuple[ThrottleRestored, ...], ApplyState]:
    """Without these keys, and the line that tells it."""
    if not keys:
        return (), state
    line = ThrottleRestored(
        keys=tuple(keys), changed=tuple(key for key in keys if key in state.changed)
    )
    ledger = {key: entry for key, entry in state.ledger.items() if key not in set(keys)}
    return (line,), replace(state, ledger=ledger)


def is_answered(key: ThrottleKey, read: ThrottlesRead) -> bool:
    """Whether it is known what stands at the key."""
    if key.kind == "broker":
        return int(key.name) in read.brokers
    return key.name in read.topics or key.name in read.gone


def value_of(key: ThrottleKey, read: ThrottlesRead) -> str | None:
    """What stands at the key; None = absent, or not answered."""
    configs: Mapping[str, str] = (
        read.brokers.get(int(key.name), {})
        if key.kind == "broker"
        else read.topics.get(key.name, {})
    )
    return configs.get(key.key)
