"""Clearing throttles at the end of a run.

```
reading_to_clear -> clearing (set or delete what is still ours) -> over
     ^                   |
     +-- clear_backoff <-+   no answer: repeated 5 times; then the key stays in the journal
```

Goals, in order: restore what an operator had set; journal each key when nothing of ours is set
there any more, and not before; do not wait for a dead broker.

A key that could not be reached stays in the ledger, and so in the journal. The run ends with it,
and the next run, or one that only restores, clears it.

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
    journal_first,
    read_throttles,
    set_throttles,
    wait,
)
from rackwise.core.applying.throttle_configs import restore

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rackwise.core.applying.actions import Failed, ThrottlesRead, ThrottlesSet
    from rackwise.core.applying.model import ApplyState, Stop, ThrottleKey

MOST_TRIES = 5
"""Attempts to clear the throttles before the run ends with the rest in its journal."""
BACK_OFF_MS = 500
"""The least wait before another attempt."""


def wind_down(state: ApplyState, stop: Stop, text: str | None = None) -> Step:
    """End the run early. A throttle stays while a partition of the plan may move."""
    state = replace(state, stop=stop, text=text)
    if any(is_under_way(each) for each in state.partitions.values()):
        return finish(state)
    return begin_clearing(state)


def begin_clearing(state: ApplyState) -> Step:
    """Read the values of our keys; without any, end the run."""
    if not state.ledger:
        return finish(state)
    return read_throttles(replace(state, tries=0), "reading_to_clear", state.ledger)


def on_read(state: ApplyState, read: ThrottlesRead) -> Step:
    """Restore every key that still has our value."""
    # the keys that no longer have a value of this tool
    cleared: list[ThrottleKey] = []
    changes: dict[ThrottleKey, str | None] = {}
    changed = set(state.changed_throttles)
    for key, entry in sorted(state.ledger.items()):
        if not is_answered(key, read):
            continue
        result = restore(key, entry, value_of(key, read))
        if result.is_changed:
            changed.add(key)
        if result.act == "none":
            cleared.append(key)
        else:
            changes[key] = result.value
    state = replace(state, changed_throttles=frozenset(changed))
    lines, state = _without_keys(state, cleared)
    if changes:
        return journal_first(lines, set_throttles(state, "clearing", changes))
    return journal_first(lines, _retry(state))


def on_set(state: ApplyState, answer: ThrottlesSet) -> Step:
    """Forget the keys that were restored; read the others again."""
    done = [key for key in state.keys if answer.answers.get(key, "") is None]
    lines, state = _without_keys(state, done)
    return journal_first(lines, _retry(state))


def on_failure(state: ApplyState, failure: Failed) -> Step:
    """Repeat after an unanswered request."""
    return finish(state) if failure.is_fatal else _retry(state)


def read_again(state: ApplyState) -> Step:
    """Read the values again."""
    return read_throttles(state, "reading_to_clear", state.ledger)


def _retry(state: ApplyState) -> Step:
    """Wait and read the remaining keys again, a limited number of times; then end the run."""
    if not state.ledger or state.tries + 1 >= MOST_TRIES:
        return finish(state)
    tried = replace(state, tries=state.tries + 1, wait_ms=max(BACK_OFF_MS, state.wait_ms))
    return wait(tried, "clear_backoff")


def _without_keys(
    state: ApplyState, keys: Collection[ThrottleKey]
) -> tuple[tuple[ThrottleRestored, ...], ApplyState]:
    """The journal line about these keys, and the state without them."""
    if not keys:
        return (), state
    line = ThrottleRestored(
        keys=tuple(keys), changed=tuple(key for key in keys if key in state.changed_throttles)
    )
    restored = frozenset(keys)
    ledger = {key: entry for key, entry in state.ledger.items() if key not in restored}
    return (line,), replace(state, ledger=ledger)


def is_answered(key: ThrottleKey, read: ThrottlesRead) -> bool:
    """Whether the value of the key is known."""
    if key.kind == "broker":
        return int(key.name) in read.brokers
    return key.name in read.topics or key.name in read.gone


def value_of(key: ThrottleKey, read: ThrottlesRead) -> str | None:
    """The value of the key; None: absent, or not answered."""
    configs: Mapping[str, str] = (
        read.brokers.get(int(key.name), {})
        if key.kind == "broker"
        else read.topics.get(key.name, {})
    )
    return configs.get(key.key)
