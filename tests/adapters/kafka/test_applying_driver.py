"""The loop of a run: the wall clock is used only for the journal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from applied_plans import cluster, move, plan_of
from rackwise.adapters.files.journal import open_journal
from rackwise.adapters.kafka.applying.driver import drive
from rackwise.core.applying.model import Caps
from rackwise.core.applying.start import start

PLAN = plan_of(move("t-0", (1, 2), (1, 3), 50_000), move("t-1", (1, 2), (4, 2), 90_000))
SOME_TIME = datetime(2026, 3, 29, 1, 59, 58, tzinfo=UTC)
HOUR = timedelta(hours=1)


class ModelledWorld:
    """The model as the loop sees a cluster; its clock never goes back."""

    is_flagged = True
    error = None

    def __init__(self, kafka):
        self.kafka = kafka

    def clock_ms(self):
        return self.kafka.now_ms

    def answer(self, action):
        return self.kafka.execute(action)


class NoSignal:
    """Nobody asks the run to end; a wait is time that passes in the model."""

    is_asked = False

    def __init__(self, kafka):
        self.wait = kafka.pass_time

    def wrote(self):
        pass


def jumping(*jumps):
    """A wall clock that is wrong by one of these, in turn."""
    told = 0

    def at():
        nonlocal told
        told += 1
        return (SOME_TIME + told * jumps[told % len(jumps)]).isoformat()

    return at


def run(kafka, folder, at, caps):
    """The outcome, and the clock of the model at its end."""
    folder.mkdir()
    journal = open_journal(folder, PLAN.sha256)
    state = start(PLAN, caps, 1_000)
    outcome = drive(
        state, ModelledWorld(kafka), journal, stop=NoSignal(kafka), at=at, on_state=lambda _: None
    )
    journal.close()
    assert len(open_journal(folder, PLAN.sha256).entries) == len(journal.entries)
    return outcome, kafka.now_ms


@pytest.mark.parametrize("jumps", [(HOUR,), (-HOUR,), (HOUR, -HOUR)], ids=["on", "back", "both"])
@pytest.mark.parametrize("is_dead", [False, True])
def test_a_wall_clock_that_jumps_by_an_hour_changes_no_deadline(tmp_path, jumps, is_dead):
    """F19: nothing is given up too early or too late, and the journal is read again."""
    caps = Caps(down_ms=30_000, stall_ms=60_000)

    def world():
        kafka = cluster(PLAN, speed=1)
        if is_dead:
            kafka.brokers -= {3}
            kafka.live -= {3}
        return kafka

    steady = run(world(), tmp_path / "steady", SOME_TIME.isoformat, caps)
    jumped = run(world(), tmp_path / "jumping", jumping(*jumps), caps)
    assert jumped == steady
    outcome, ended_ms = jumped
    assert outcome.classes["t", 1] == "done"
    assert outcome.classes["t", 0] == ("not_started" if is_dead else "done")
    assert ended_ms >= caps.down_ms
