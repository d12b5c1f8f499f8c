"""Runs against a modelled cluster with every kind of fault; each run keeps the promises."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from applied_plans import move, plan_of
from laws_applying import (
    check_announced,
    check_budget,
    check_caps,
    check_final,
    check_lists,
    check_restored,
    check_throttled,
)
from modelled_kafka import ModelledKafka
from rackwise.core.applying.actions import (
    Begun,
    Finish,
    Interrupted,
    Looked,
    ThrottleAsked,
    ThrottleRequest,
)
from rackwise.core.applying.budget import Budget
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.model import Caps, ThrottleKey
from rackwise.core.applying.start import resume
from rackwise.core.applying.step import step
from rackwise.core.applying.throttle_configs import LISTS, RATES

BROKERS = range(1, 6)
MOST_RUNS = 6

lists = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True).map(tuple)
pairs = st.tuples(lists, lists).filter(lambda pair: pair[0] != pair[1])
rates = st.none() | st.sampled_from(["7", "5000"])
throttled = st.none() | st.sampled_from(["", "7:9", "*", "10:1,2:1"])
all_caps = st.builds(
    Caps,
    at_once=st.integers(1, 4),
    per_broker=st.integers(1, 3),
    per_leader=st.integers(1, 3),
    bytes_in_flight=st.none() | st.integers(500, 3_000),
    per_request=st.integers(1, 4),
    elect_at_once=st.integers(1, 3),
    throttle_over=st.sampled_from(["keep", "max", "ours"]),
)


class AnyRun(RuleBasedStateMachine):
    """One plan on one cluster, with as many runs as are needed."""

    @initialize(
        changes=st.lists(pairs, min_size=1, max_size=5),
        caps=all_caps,
        rate=st.none() | st.just(1_000),
        lag_ms=st.sampled_from([0, 2_500]),
        broker_priors=st.tuples(rates, rates),
        topic_priors=st.tuples(throttled, throttled),
        most_moves=st.none() | st.integers(1, 3),
    )
    def begin(self, changes, caps, rate, lag_ms, broker_priors, topic_priors, most_moves) -> None:
        """A cluster with an operator's throttles, and a first run."""
        self.plan = plan_of(
            *(
                move(f"{'tu'[i % 2]}-{i}", before, after, 1_000 * (1 + i % 2))
                for i, (before, after) in enumerate(changes)
            )
        )
        self.moves = {(each.topic, each.partition): each for each in self.plan.moves}
        self.world = ModelledKafka.before(self.plan.moves, BROKERS, lag_ms=lag_ms)
        self.caps, self.rate = caps, rate
        for key, value in zip(RATES, broker_priors, strict=True):
            if value is not None:
                self.world.broker_configs.setdefault(2, {})[key] = value
        for key, value in zip(LISTS, topic_priors, strict=True):
            if value is not None:
                self.world.topic_configs.setdefault("t", {})[key] = value
        self.prior = self.world.copy().configs()
        self.added: dict[ThrottleKey, str] = {}
        self.outcome = None
        self.budget = Budget(moves=most_moves)
        self.leaders = {}
        self.start_run()

    def start_run(self, mode="apply") -> None:
        """Start the first run, or one that knows only the journal of its file."""
        lines = [line_of(fields_of(line)) for line in self.world.journal]
        state = resume(self.plan, lines, self.caps, self.rate, mode=mode, budget=self.budget)
        self.state, due = step(state, Begun(at_ms=self.world.now_ms))
        self.due = list(due)
        self.is_between_steps = True
        self.outcome = None

    def act(self, fate) -> None:
        """Execute the next action of the run."""
        if not self.due:
            self.start_run()
        action = self.due.pop(0)
        check_announced(self.moves, self.world, action)
        check_caps(self.moves, self.world, self.caps, action, self.leaders)
        if self.rate is not None:
            check_throttled(self.world, action)
        seen = self.world.execute(action, fate)
        self.is_between_steps = seen is not None
        if isinstance(seen, Looked):
            self.leaders.update({which: each.leader for which, each in seen.partitions.items()})
        if isinstance(action, Finish):
            self.outcome = action.outcome
            counted = (
                action.outcome.done,
                action.outcome.failed,
                action.outcome.skipped,
                action.outcome.dropped,
            )
            assert sum(map(len, counted)) == len(self.plan.moves), "nothing is dropped silently"
        if seen is not None:
            self.state, due = step(self.state, seen)
            self.due = list(due)

    @rule(fate=st.sampled_from(["done", "done", "lost", "unanswered", "partly"]))
    def acts(self, fate) -> None:
        """One action, with any outcome of the network."""
        self.act(fate)

    @rule(times=st.integers(1, 12))
    def acts_well(self, times) -> None:
        """Some actions in a row succeed."""
        for _ in range(times):
            self.act("done")

    @rule(ms=st.sampled_from([10, 1_000, 4_000, 70_000, 700_000]))
    def time_passes(self, ms) -> None:
        """Only time passes."""
        self.world.pass_time(ms)

    @rule(data=st.data(), share=st.sampled_from([0.5, 1.0]))
    def bytes_arrive(self, data, share) -> None:
        """One partition receives a part of its bytes, or all."""
        held = self.world.partitions[data.draw(st.sampled_from(sorted(self.world.partitions)))]
        for broker in held.adding:
            if broker in self.world.live:
                held.arrived[broker] = max(held.arrived[broker], int(held.bytes * share))
        self.world.pass_time(1)

    @rule(mode=st.sampled_from(["apply", "apply", "cancel"]))
    def the_run_is_killed(self, mode) -> None:
        """The run is killed; the next one starts from its journal."""
        self.start_run(mode)

    @rule()
    def a_signal_comes(self) -> None:
        """A signal arrives once or twice."""
        self.state, due = step(self.state, Interrupted(at_ms=self.world.now_ms))
        assert due == ()

    @precondition(lambda self: self.rate is not None and self.is_between_steps)
    @rule(rate=st.sampled_from([500, 4_000]))
    def another_throttle_is_requested(self, rate) -> None:
        """Another rate is requested while the run goes on."""
        asked = ThrottleRequest(rate=rate, request=str(self.world.now_ms))
        self.state, due = step(self.state, ThrottleAsked(at_ms=self.world.now_ms, asked=asked))
        for action in due:
            self.world.execute(action)
            self.rate = rate

    @rule(broker=st.sampled_from(BROKERS))
    def a_broker_dies(self, broker) -> None:
        """A broker dies, or is already dead."""
        self.world.kill(broker)

    @rule(broker=st.sampled_from(BROKERS))
    def a_broker_returns(self, broker) -> None:
        """A broker returns, or was never dead."""
        self.world.start(broker)

    @rule(data=st.data())
    def another_tool_cancels(self, data) -> None:
        """Another tool cancels a reassignment of this run."""
        which = data.draw(st.sampled_from(sorted(self.world.partitions)))
        self.world.cancel_from_outside(which)

    @rule(
        data=st.data(),
        code=st.sampled_from(["NOT_CONTROLLER", "POLICY_VIOLATION", "REQUEST_TIMED_OUT"]),
    )
    def kafka_will_refuse(self, data, code) -> None:
        """Kafka rejects the next request for one partition."""
        which = data.draw(st.sampled_from(sorted(self.world.partitions)))
        self.world.refusals[which] = code

    @precondition(lambda self: self.world.topic_configs.get("u", {}).get(LISTS[0]))
    @rule()
    def an_operator_adds_an_entry(self) -> None:
        """An operator adds an entry to a list that this run set."""
        key = ThrottleKey("topic", "u", LISTS[0])
        if key not in self.added:
            self.world.topic_configs["u"][LISTS[0]] += ",88:8"
            self.added[key] = "88:8"

    @invariant()
    def lists_are_of_the_plan(self) -> None:
        """At every moment each list is one that the plan allows."""
        check_lists(self.moves, self.world)
        check_budget(self.world)

    def teardown(self) -> None:
        """Without further faults, the runs complete the plan and leave nothing of this tool."""
        if not hasattr(self, "world"):
            return
        for broker in BROKERS:
            self.world.start(broker)
        self.world.refusals.clear()
        self.world.speed = 10
        self.budget = Budget()
        self.finish_run()
        for _ in range(MOST_RUNS):
            if self.outcome.is_reached and self.outcome.mode == "apply":
                break
            self.start_run()
            self.finish_run()
        assert self.outcome.is_reached, self.outcome
        assert self.outcome.mode == "apply"
        check_final(self.plan.moves, self.world)
        check_restored(self.prior, self.world, self.added)

    def finish_run(self) -> None:
        """Execute the current run to its end."""
        for _ in range(5_000):
            if self.outcome is not None:
                return
            self.act("done")
        raise AssertionError("a run ends")


TestAnyRun = AnyRun.TestCase
