"""The status of a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of, run
from modelled_kafka import ModelledKafka
from rackwise.core.applying.actions import Look, Looked, Wait
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    End,
    PartitionLine,
    Setting,
    ThrottleIntent,
)
from rackwise.core.applying.model import Caps, Entry, ObservedPartition, ThrottleKey
from rackwise.core.applying.start import start
from rackwise.core.applying.status import status_of, status_of_run
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE, LEADER_RATE

PLAN = plan_of(
    move("t-0", (1, 2), (1, 3), 100),
    move("t-1", (1, 2), (1, 4), 300),
    move("t-2", (1, 2), (2, 1), 500),
    move("t-3", (1, 2), (1, 5), None),
)
IDS = [(each.topic, each.partition) for each in PLAN.moves]
KEY = ThrottleKey("broker", "1", LEADER_RATE)
LOOK = Looked(
    at_ms=0,
    live=frozenset(range(1, 6)),
    partitions={
        IDS[0]: ObservedPartition(topic_id="id-t", replicas=(1, 3)),
        IDS[1]: ObservedPartition(
            topic_id="id-t",
            replicas=(1, 4, 2),
            adding=(4,),
            removing=(2,),
            leader=1,
            adding_bytes={4: 60},
        ),
        IDS[2]: ObservedPartition(topic_id="id-t", replicas=(1, 2)),
        IDS[3]: ObservedPartition(topic_id="id-t", replicas=(1, 2)),
    },
)
JOURNAL = [
    ThrottleIntent(settings=(Setting(key=KEY, prior=None, ours="5"),)),
    BatchIntent(batch=1, act="move", partitions=(IDS[0], IDS[1])),
    BatchResult(batch=1, act="move", accepted=(IDS[0], IDS[1]), refused=(), unknown=()),
]


def test_status_from_a_journal_and_one_reading():
    status = status_of(PLAN, JOURNAL, LOOK)
    assert list(status.classes.values()) == ["done", "moving", "not_started", "not_started"]
    assert status.counts == {"done": 1, "moving": 1, "not_started": 2}
    assert (status.bytes, status.left.total, status.left.unknown) == (400, 240, 1)
    assert (status.bytes_per_s, status.is_done) == (None, False)
    assert status.throttles == {KEY: Entry(prior=None, ours=("5",))}


def test_remaining_time_by_the_current_throttles():
    holds = {KEY: "6", KEY._replace(name="4", key=FOLLOWER_RATE): "10"}
    status = status_of(PLAN, JOURNAL, LOOK, throttles=holds)
    assert (status.eta.seconds, status.eta.bound_by) == (40, "outgoing of broker 1")
    assert status_of(PLAN, JOURNAL, LOOK).eta.seconds is None, "into broker 4 nothing is known"


def test_a_rate_that_cannot_be_read_is_taken_from_the_journal():
    other = KEY._replace(name="4", key=FOLLOWER_RATE)
    journal = [ThrottleIntent(settings=(Setting(key=other, prior=None, ours="24"),)), *JOURNAL]
    status = status_of(PLAN, journal, LOOK)
    assert (status.eta.seconds, status.eta.bound_by) == (48, "outgoing of broker 1")


def test_remaining_time_by_the_bytes_between_two_readings():
    moving = replace(LOOK.partitions[IDS[1]], adding_bytes={4: 30})
    earlier = replace(
        LOOK, at_ms=-2_000, has_sizes=True, partitions={**LOOK.partitions, IDS[1]: moving}
    )
    look = replace(LOOK, has_sizes=True)
    status = status_of(PLAN, JOURNAL[1:], look, earlier=earlier)
    assert (status.bytes_per_s, status.left.total) == (15, 240)
    assert (status.eta.seconds, status.eta.bound_by) == (16, "incoming of broker 4")


def test_running_moves_are_foreign_without_a_journal():
    status = status_of(PLAN, (), LOOK)
    assert status.classes[IDS[1]] == "foreign_moving"
    assert status.throttles == {}


def test_deleted_topics_and_dropped_partitions():
    status = status_of(
        PLAN, JOURNAL, Looked(at_ms=0, partitions={}, live=frozenset()), dropped=IDS[1:]
    )
    assert status.counts == {"topic_gone": 1, "dropped": 3}
    assert status.bytes == 100


def test_a_plan_that_is_done():
    done = {
        which: ObservedPartition(topic_id=None, replicas=each.after)
        for which, each in zip(IDS, PLAN.moves, strict=True)
    }
    status = status_of(PLAN, (), Looked(at_ms=0, partitions=done, live=frozenset()))
    assert (status.is_done, status.left.total, status.eta.seconds) == (True, 0, 0)


def test_status_of_a_running_run():
    plan = plan_of(move("t-0", (1, 2), (1, 3), 200_000))
    world = ModelledKafka.before(plan.moves, range(1, 4), speed=10)
    seen = []

    def intervene(state, action):
        if isinstance(action, Wait) and world.now_ms > 12_000:
            seen.append(status_of_run(state))
        return "done"

    assert run(start(plan), world, intervene).is_reached
    assert seen[0].bytes_per_s == 10_000
    assert 0 < seen[0].left.total < 200_000
    assert seen[0].eta.seconds == -(-seen[0].left.total // 10_000)
    assert seen[0].eta.bound_by == "incoming of broker 3"


def test_no_rate_before_the_first_reading():
    status = status_of_run(start(PLAN))
    assert (status.bytes_per_s, status.eta.seconds) == (None, None)


class TestWhileARunGoesOn:
    """The run goes on between the readings of the journal and of the cluster."""

    def observed(self, lag_ms):
        """A run, and what `status` could see before each of its actions."""
        plan = plan_of(*(move(f"t-{n}", (1, 2), (1, 3), 5_000) for n in range(2)))
        world = ModelledKafka.before(plan.moves, range(1, 4), speed=10, lag_ms=lag_ms)
        which = tuple((each.topic, each.partition) for each in plan.moves)
        seen = []

        def intervene(*_):
            look = world.execute(Look(partitions=which))
            seen.append((len(world.journal), look))
            return "done"

        assert run(start(plan, Caps(at_once=1), 9_000), world, intervene).is_reached
        return plan, world.journal, seen

    @pytest.mark.parametrize(("is_running", "lag_ms"), [(True, 0), (False, 0), (True, 2_500)])
    def test_our_moves_are_never_those_of_others(self, is_running, lag_ms):
        """In 6 of 12 readings of a real cluster, a move that was just requested was foreign."""
        plan, journal, seen = self.observed(lag_ms)
        found = set()
        for at, (_, look) in enumerate(seen):
            lengths = [length for length, _ in seen[max(0, at - 5) : at + 6]]
            for before in {each for each in lengths if each <= seen[at][0]}:
                for after in {each for each in lengths if each >= seen[at][0]}:
                    status = status_of(
                        plan,
                        journal[:after],
                        look,
                        lines_before=journal[:before],
                        is_running=is_running,
                    )
                    found.update(status.classes.values())
        assert found == {"not_started", "moving", "done"}


def test_a_move_that_ended_with_its_run_after_the_reading_is_ours():
    begin = Begin(plan=PLAN.sha256, mode="apply", throttle=None, dropped=())
    before = [begin, *JOURNAL[1:]]
    after = [
        *before,
        PartitionLine(partition=IDS[1], class_="done"),
        End(done=2, failed=0, skipped=2, dropped=0, stop=None),
    ]
    assert status_of(PLAN, after, LOOK).classes[IDS[1]] == "foreign_moving"
    assert status_of(PLAN, after, LOOK, lines_before=before).classes[IDS[1]] == "moving"
    assert status_of(PLAN, after, LOOK, lines_before=[begin]).classes[IDS[1]] == "moving"


def test_a_list_with_old_and_new_replicas_is_that_of_a_move_that_a_broker_has_not_seen_end():
    seen = ObservedPartition(topic_id="id-t", replicas=(1, 4, 2))
    look = replace(LOOK, partitions={**LOOK.partitions, IDS[1]: seen})
    assert status_of(PLAN, JOURNAL, look).classes[IDS[1]] == "moving"
    assert status_of(PLAN, (), look).classes[IDS[1]] == "diverged"
    other = replace(look, partitions={IDS[1]: replace(seen, replicas=(1, 5))})
    assert status_of(PLAN, JOURNAL, other).classes[IDS[1]] == "diverged"


class TestCancelledOutside:
    sent = (BatchIntent(batch=1, act="move", partitions=(IDS[2],)),)
    accepted = (
        *sent,
        BatchResult(batch=1, act="move", accepted=(IDS[2],), refused=(), unknown=()),
    )
    told = (*accepted, PartitionLine(partition=IDS[2], class_="cancelled_externally"))
    ended = (
        Begin(plan=PLAN.sha256, mode="apply", throttle=None, dropped=()),
        *told,
        End(done=1, failed=1, skipped=0, dropped=0, stop=None),
    )

    def class_of(self, lines, **options):
        return status_of(PLAN, lines, LOOK, **options).classes[IDS[2]]

    def test_it_says_so_also_after_the_run_has_ended(self):
        assert self.class_of(self.ended) == "cancelled_externally"
        assert self.class_of((*self.ended, *self.sent)) == "not_started"

    def test_while_a_process_runs_the_plan_its_journal_decides(self):
        assert self.class_of(self.accepted, is_running=True) == "moving"
        assert self.class_of(self.told, is_running=True) == "cancelled_externally"
        assert self.class_of(self.accepted) == "cancelled_externally"


def test_a_leader_that_is_down_is_named():
    seen = ObservedPartition(topic_id="id-t", replicas=(2, 1), leader=1, isr=(1,))
    look = replace(LOOK, partitions={IDS[2]: seen}, live=frozenset({1, 3, 4, 5}))
    assert status_of(PLAN, (), look).leaders_down == {IDS[2]: 2}
    assert status_of(PLAN, (), replace(look, live=LOOK.live)).leaders_down == {}
    led = replace(seen, leader=2)
    assert status_of(PLAN, (), replace(look, partitions={IDS[2]: led})).leaders_down == {}
