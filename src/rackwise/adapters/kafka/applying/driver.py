"""The loop that carries a run out: it executes what the steps ask, in order, and decides nothing.

```
          observation                 actions
world ───────────────────> step ───────────────────> journal (on the disk), then world
  ^                                                              │
  └──────────────────────────────────────────────────────────────┘
```

A signal is told to the steps after the answer that is due; they begin nothing more. What they then
promise to put back, they put back; moves that Kafka has accepted go on in Kafka.

Where the journal cannot be written any more nothing more is done: before the first write that is a
refusal, after it a partial failure.

What this does not do: hold the lock, read the plan, or look whether it may run (`preflight`).
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
    Wait,
    Waited,
)
from rackwise.core.applying.journal.codec import fields_of
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.applying.step import step
from rackwise.core.errors import JournalUnwritable, PartialFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.adapters.kafka.applying.world import ClusterAction, World
    from rackwise.core.applying.actions import Action, Observation
    from rackwise.core.applying.model import ApplyState, Outcome
    from rackwise.core.json.canonical import Json

WRITES = (SetThrottles, Alter, Elect)
REPLICATION_FLAG = "keeps_replication"
"""In the line that begins a run: whether the cluster can be told not to change list lengths."""


class JournalWriter(Protocol):
    """Where lines go; back when the line is on the disk. Raises `JournalUnwritable`."""

    def append(self, type_: str, fields: Mapping[str, Json], *, at: str) -> object:
        """Add one line."""


class StopSignal(Protocol):
    """Whether somebody asked the run to end."""

    @property
    def is_asked(self) -> bool:
        """A signal arrived."""

    def wait(self, ms: int) -> None:
        """Wait so long at most; a signal ends it."""

    def wrote(self) -> None:
        """From here on something was written to the cluster."""


def drive(
    state: ApplyState,
    world: World,
    book: JournalWriter,
    *,
    stop: StopSignal,
    at: Callable[[], str],
    on_state: Callable[[ApplyState], None],
) -> Outcome:
    """Carry a run out to its end. `at`: the time, for the journal; `tell`: hears of each step.

    Raises `JournalUnwritable` where nothing was written to the cluster yet, else `PartialFailure`;
    and what the world raised where that ended the run before its first write.
    """
    run = _Driver(state, world, book, stop, at, on_state)
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
    ) -> None:
        self._state = state
        self._world = world
        self._book = book
        self._stop = stop
        self._at = at
        self._on_state = on_state
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
            if self._stop.is_asked and not self._has_passed_on_stop:
                self._has_passed_on_stop = True
                self._step(Interrupted(at_ms=self._world.clock_ms()))

    def _step(self, seen: Observation) -> Observation | Finish | None:
        """Carry out the actions of one step; the last one's answer."""
        self._state, actions = step(self._state, seen)
        self._on_state(self._state)
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
        """The world's answer. A write that was denied as a whole has written nothing."""
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
            done = [each for each, one in outcome.items() if one.class_ == "done"]
            raise PartialFailure(
                f"{error.message}; nothing more was done",
                done=[f"{topic}-{number}" for topic, number in done],
                skipped=[f"{t}-{n}" for t, n in outcome if (t, n) not in {*done}],
                hint=f"{error.hint}; then the same command again",
            ) from None
