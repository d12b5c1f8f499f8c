"""The loop of a run: executes the actions of the steps, in order, and decides nothing.

```
          observation                 actions
world ───────────────────> step ───────────────────> journal (on disk), then world
  ^                                                              │
  └──────────────────────────────────────────────────────────────┘
```

The steps see a signal after the observation that is due. They then start no new move, but still
restore what they have to restore. Kafka continues the moves that it has accepted.

A request for another throttle reaches the steps in the same way.

If the journal cannot be written nothing more is done: an error before the first write to the
cluster, a partial failure after it. Then throttles stay set: Kafka continues the moves that it has
accepted, and a throttle is cleared only after a line says so. The error names their brokers and
topics.

What this does not do: hold the lock, read the plan, or check whether it may run (`preflight`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rackwise.core.applying.actions import (
    Alter,
    AppendLine,
    Begun,
    Elect,
    Failed,
    Finish,
    Interrupted,
    SetThrottles,
    ThrottleAsked,
    Wait,
    Waited,
)
from rackwise.core.applying.journal.codec import fields_of
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.applying.step import step
from rackwise.core.errors import JournalUnwritable, PartialFailure
from rackwise.core.text import names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rackwise.adapters.kafka.applying.world import ClusterAction, World
    from rackwise.core.applying.actions import Action, Observation, ThrottleRequest
    from rackwise.core.applying.model import ApplyState, Outcome, ThrottleKey
    from rackwise.core.json.canonical import Json

WRITES = (SetThrottles, Alter, Elect)
REPLICATION_FLAG = "keeps_replication"
"""Key of the first line of a run: whether the cluster has the flag that keeps list lengths."""


class JournalWriter(Protocol):
    """The journal. Raises `JournalUnwritable`."""

    def append(self, type_: str, fields: Mapping[str, Json], *, at: str) -> object:
        """Add one line; return when it is on disk."""


class StopSignal(Protocol):
    """The request of a user to end the run."""

    @property
    def is_asked(self) -> bool:
        """Whether a signal arrived."""

    def wait(self, ms: int) -> None:
        """Wait for at most this long; a signal ends the wait."""

    def wrote(self) -> None:
        """Called before the first write to the cluster."""


def drive(
    state: ApplyState,
    world: World,
    book: JournalWriter,
    *,
    stop: StopSignal,
    at: Callable[[], str],
    on_state: Callable[[ApplyState], None],
    throttle_request: Callable[[], ThrottleRequest | None] = lambda: None,
) -> Outcome:
    """Drive a run to its end.

    `at` gives the time for the journal; `on_state` is called after each step; `throttle_request`
    gives the last request for another throttle. Raises
    `JournalUnwritable` where nothing was written to the cluster, otherwise `PartialFailure`; and
    the error of the cluster that ended the run before its first write.
    """
    run = _Driver(state, world, book, stop, at, on_state, throttle_request)
    outcome = run.go()
    if world.error is not None and not run.has_written:
        raise world.error
    return outcome


class _Driver:
    def __init__(
        self,
        state: ApplyState,
        world: World,
        book: JournalWriter,
        stop: StopSignal,
        at: Callable[[], str],
        on_state: Callable[[ApplyState], None],
        throttle_request: Callable[[], ThrottleRequest | None],
    ) -> None:
        self._state = state
        self._world = world
        self._book = book
        self._stop = stop
        self._at = at
        self._on_state = on_state
        self._throttle_request = throttle_request
        self._asked: ThrottleRequest | None = None
        self._has_passed_on_stop = False
        self.has_written = False

    def go(self) -> Outcome:
        seen: Observation = Begun(at_ms=self._world.clock_ms())
        while True:
            answer = self._step(seen)
            if isinstance(answer, Finish):
                return answer.outcome
            if answer is None:
                raise RuntimeError("the steps ask for nothing and do not end")
            seen = answer
            asked = self._throttle_request()
            if asked is not None and asked != self._asked:
                self._asked = asked
                self._step(ThrottleAsked(at_ms=self._world.clock_ms(), asked=asked))
            if self._stop.is_asked and not self._has_passed_on_stop:
                self._has_passed_on_stop = True
                self._step(Interrupted(at_ms=self._world.clock_ms()))

    def _step(self, seen: Observation) -> Observation | Finish | None:
        """Execute the actions of one step; return the observation of the last one."""
        self._state, actions = step(self._state, seen)
        self._on_state(self._state)
        if isinstance(seen, Failed) and self._state.stop is None and self._state.phase != "over":
            # The run goes on, so this error is not the one that ends it.
            self._world.error = None
        answer: Observation | Finish | None = None
        for action in actions:
            answer = self._execute(action)
        return answer

    def _execute(self, action: Action) -> Observation | Finish | None:
        match action:
            case AppendLine(line=line):
                self._write(fields_of(line))
                return None
            case Wait(most_ms=most_ms):
                self._stop.wait(most_ms)
                return Waited(at_ms=self._world.clock_ms())
            case Finish():
                return action
            case _:
                return self._ask(action)

    def _ask(self, action: ClusterAction) -> Observation:
        """The answer of the cluster. A write that was rejected as a whole has written nothing."""
        is_write = isinstance(action, WRITES)
        if is_write:
            self._stop.wrote()
        answer = self._world.answer(action)
        is_denied = isinstance(answer, Failed) and answer.is_fatal
        self.has_written |= is_write and not is_denied
        return answer

    def _write(self, fields: dict[str, Json]) -> None:
        type_ = str(fields.pop("type"))
        if type_ == Begin.type:
            fields[REPLICATION_FLAG] = self._world.is_flagged
        try:
            self._book.append(type_, fields, at=self._at())
        except JournalUnwritable as error:
            if not self.has_written:
                raise
            outcome = self._state.partitions
            done = {each: None for each, one in outcome.items() if one.class_ == "done"}
            again = "rackwise resume" if self._state.mode == "apply" else "the same command again"
            raise PartialFailure(
                f"{error.message}; nothing more was done{_throttled(self._state.ledger)}",
                done=[f"{topic}-{number}" for topic, number in done],
                skipped=[f"{t}-{n}" for t, n in outcome if (t, n) not in done],
                hint=f"{error.hint}; then {again}",
            ) from None


def _throttled(keys: Collection[ThrottleKey]) -> str:
    """`; throttles stay set: broker 1, broker 2; topic orders`; empty without throttles."""
    brokers = sorted({int(each.name) for each in keys if each.kind == "broker"})
    topics = sorted({each.name for each in keys if each.kind == "topic"})
    named = [
        names_text([f"{kind} {name}" for name in names])
        for kind, names in (("broker", brokers), ("topic", topics))
        if names
    ]
    return f"; throttles stay set: {'; '.join(named)}" if named else ""
