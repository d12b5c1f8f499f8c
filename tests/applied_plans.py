"""Plans to execute, and a driver that executes the actions of a run on the modelled cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from modelled_kafka import ModelledKafka
from rackwise.core.applying.actions import (
    Alter,
    AppendLine,
    Begun,
    Finish,
    Interrupted,
    ReadThrottles,
    ThrottleAsked,
    ThrottlesRead,
    Wait,
)
from rackwise.core.applying.journal.lines import PartitionLine, Pause
from rackwise.core.applying.step import step
from rackwise.core.planning.model import (
    Balance,
    Fair,
    MadeFrom,
    Move,
    Plan,
    Totals,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from modelled_kafka import RequestFate
    from rackwise.core.applying.actions import Action, Observation, ThrottleRequest
    from rackwise.core.applying.model import ApplyState, Outcome

MOST_STEPS = 20_000

Intervene: TypeAlias = "Callable[[ApplyState, Action], RequestFate | Observation]"


def _goes_well(_state: ApplyState, _action: Action) -> RequestFate:
    return "done"


def _never(_state: ApplyState, _action: Action) -> bool:
    return False


def move(
    name: str,
    before: tuple[int, ...],
    after: tuple[int, ...],
    size: int | None = 1_000,
    topic_id: str | None = None,
) -> Move:
    """`move("t-0", (1, 2), (1, 3))`."""
    topic, number = name.rsplit("-", 1)
    return Move(
        topic=topic,
        partition=int(number),
        topic_id=f"id-{topic}" if topic_id is None else topic_id,
        before=before,
        after=after,
        bytes=size,
    )


def plan_of(*moves: Move, sha256: str = "5" * 64) -> Plan:
    """A plan with these moves; a run reads no other field of it."""
    return Plan(
        cluster_id="c",
        made_from=MadeFrom(snapshot_sha256="", brokers={}, policy="", policy_sha256=""),
        goal=Balance(),
        minimise="moves",
        solver="none",
        moves=moves,
        totals=Totals(),
        fair=Fair(),
        certificates=(),
        verdict=Verdict(cost=0, lower_bound=0, gap=0, is_legal=True, is_fair=True),
        sha256=sha256,
    )


def run(
    state: ApplyState,
    world: ModelledKafka,
    intervene: Intervene = _goes_well,
    *,
    signal: Callable[[ApplyState, Action], bool] = _never,
    ask: Callable[[ApplyState, Action], ThrottleRequest | None] = lambda _state, _action: None,
) -> Outcome:
    """Execute a run to its end.

    `intervene` is called before each action. It may change the cluster, and returns the outcome of
    the action, or an observation that the run gets in place of the outcome. `signal`: a signal
    arrives before this action. `ask`: another throttle is requested before this action.
    """
    state, due = step(state, Begun(at_ms=world.now_ms))
    for _ in range(MOST_STEPS):
        seen: Observation | None = None
        assert all(isinstance(each, AppendLine) for each in due[:-1]), "one question, the last"
        for action in due:
            if signal(state, action):
                state, nothing = step(state, Interrupted(at_ms=world.now_ms))
                assert nothing == ()
            request = ask(state, action)
            if request is not None:
                asked = ThrottleAsked(at_ms=world.now_ms, asked=request)
                state, lines = step(state, asked)
                for each in lines:
                    assert isinstance(each, AppendLine), "a request for a throttle asks nothing"
                    world.execute(each)
            fate = intervene(state, action)
            seen = world.execute(action, fate) if isinstance(fate, str) else fate
            if isinstance(action, Finish):
                return action.outcome
        assert seen is not None, "a step ends with a question, or the run does"
        state, due = step(state, seen)
    raise AssertionError(f"a run ends within {MOST_STEPS} steps")


def run_until_wait(state: ApplyState, world: ModelledKafka) -> ApplyState:
    """Execute a run that is killed when it waits for the first time; its state then."""
    state, due = step(state, Begun(at_ms=world.now_ms))
    while not any(isinstance(action, Wait) for action in due):
        seen = None
        for action in due:
            seen = world.execute(action)
        assert seen is not None, "a step ends with a question"
        state, due = step(state, seen)
    return state


def kinds(world: ModelledKafka) -> list[str]:
    """The types of the journal's lines."""
    return [line.type for line in world.journal]


def journalled_classes(world: ModelledKafka) -> list[tuple[str, str]]:
    """The journalled partitions with their class: `("t-0", "done")`."""
    return [
        (f"{line.partition[0]}-{line.partition[1]}", line.class_)
        for line in world.journal
        if isinstance(line, PartitionLine)
    ]


def cluster(plan: Plan, **options: Any) -> ModelledKafka:
    """Five brokers, all partitions as before the run, 10 bytes per ms."""
    return ModelledKafka.before(plan.moves, range(1, 6), **{"speed": 10, **options})


def alters(world: ModelledKafka) -> list[Alter]:
    """The requests of that kind that arrived."""
    return [each for each in world.requests if isinstance(each, Alter)]


def pauses(world: ModelledKafka) -> list[tuple[str, ...]]:
    """The reasons of the journalled pauses."""
    return [line.reasons for line in world.journal if isinstance(line, Pause)]


def before(kind: type[Action]) -> Callable[[ApplyState, Action], bool]:
    """Send a signal before every action of this kind."""
    return lambda _state, action: isinstance(action, kind)


def blind(world: ModelledKafka) -> Intervene:
    """Hide the throttles that the run sets while it sets them."""

    def intervene(state: ApplyState, action: Action) -> RequestFate | Observation:
        if isinstance(action, ReadThrottles) and state.phase in {"reading", "verifying"}:
            return ThrottlesRead(
                at_ms=world.now_ms,
                brokers={broker: {} for broker in action.brokers},
                topics={topic: {} for topic in action.topics},
            )
        return "done"

    return intervene
