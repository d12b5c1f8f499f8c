"""The first state of a run, from a plan and a journal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    ElectIntent,
    ElectResult,
    End,
    Go,
    PartitionLine,
    Setting,
    ThrottleIntent,
    ThrottleRestored,
)
from rackwise.core.applying.model import Caps, Entry, ThrottleKey
from rackwise.core.applying.start import MOST_RATE, history_of, resume, start, start_restore
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE, LEADER_RATE
from rackwise.core.errors import InvalidConfig, InvalidPlan

PLAN = plan_of(move("t-0", (1,), (2,)), move("t-1", (1,), (2,)), move("t-2", (1,), (2,)))
A, B, C = ("t", 0), ("t", 1), ("t", 2)
KEY = ThrottleKey("broker", "1", LEADER_RATE)
OTHER = ThrottleKey("broker", "2", FOLLOWER_RATE)


def begin(**fields):
    values = {"plan": PLAN.sha256, "mode": "apply", "throttle": None, "dropped": ()}
    return Begin(**{**values, **fields})


def intent(*partitions, act="move", batch=1):
    return BatchIntent(batch=batch, act=act, partitions=partitions)


def result(act="move", **fields):
    values = {"batch": 1, "accepted": (), "refused": (), "unknown": ()}
    return BatchResult(act=act, **{**values, **fields})


def end():
    return End(done=0, failed=0, skipped=0, dropped=0, stop=None)


class TestRequestStatus:
    @pytest.mark.parametrize(
        ("lines", "sent"),
        [
            ([], "none"),
            ([intent(A)], "intent"),
            ([intent(A), result(accepted=(A,))], "sent"),
            ([intent(A), result(refused=((A, "POLICY_VIOLATION"),))], "intent"),
            ([intent(A), result(unknown=(A,))], "intent"),
            ([intent(A), PartitionLine(partition=A, class_="moving")], "sent"),
            ([intent(A), PartitionLine(partition=A, class_="not_started")], "intent"),
            ([intent(A), intent(A, act="cancel")], "cancelling"),
            ([intent(A, act="cancel"), result("cancel", accepted=(A,))], "cancelling"),
            ([intent(A, act="cancel"), result("cancel", refused=((A, "X"),))], "sent"),
            ([intent(A, act="cancel"), intent(A, act="reorder")], "cancelling"),
            ([intent(A, act="reorder"), result("reorder", refused=((A, "X"),))], "cancelling"),
            ([intent(A), PartitionLine(partition=A, class_="cancelled")], "none"),
            ([intent(A), PartitionLine(partition=A, class_="target_dead")], "none"),
            ([intent(A), PartitionLine(partition=A, class_="cancelled", code="X")], "cancelling"),
        ],
    )
    def test_the_last_line_decides(self, lines, sent):
        assert resume(PLAN, lines).partitions[A].sent == sent

    def test_after_a_run_ends_moves_cancelled_by_others_may_be_requested_again(self):
        lines = [
            intent(A),
            result(accepted=(A,)),
            PartitionLine(partition=A, class_="cancelled_externally"),
        ]
        assert resume(PLAN, lines).partitions[A].sent == "sent"
        assert resume(PLAN, [*lines, end()]).partitions[A].sent == "intent"
        again = [*lines, end(), intent(A), result(accepted=(A,)), end()]
        assert resume(PLAN, again).partitions[A].sent == "sent"

    def test_a_leader_that_was_elected_is_not_elected_again_until_it_moves_again(self):
        elected = ElectResult(batch=2, elected=(A,), refused=((B, "X"),), unknown=(C,))
        partitions = resume(PLAN, [intent(A, B, C), elected]).partitions
        assert [partitions[each].is_elected for each in (A, B, C)] == [True, False, False]
        assert not resume(PLAN, [elected, intent(A)]).partitions[A].is_elected

    def test_done_moves_may_be_undone_after_the_run_ended(self):
        asked = ElectIntent(batch=2, partitions=(B, C))
        elected = ElectResult(batch=2, elected=(B,), refused=((C, "X"),), unknown=())
        done = [PartitionLine(partition=each, class_="done") for each in (A, B, C)]
        lines = [intent(A, B, C), result(accepted=(A, B, C)), *done, asked, elected]

        def sent(lines):
            return [resume(PLAN, lines).partitions[each].sent for each in (A, B, C)]

        assert sent(lines) == ["sent", "sent", "sent"]
        assert sent([*lines, end()]) == ["none", "none", "sent"]
        assert sent([*lines, end(), intent(A), end()]) == ["intent", "none", "sent"]

    @pytest.mark.parametrize("mode", ["restore", "throttle"])
    def test_the_end_of_a_run_for_throttles_says_nothing_about_moves(self, mode):
        """A leader was not elected after a kill and `throttles --restore`."""
        external = PartitionLine(partition=B, class_="cancelled_externally")
        killed = [begin(), intent(A, B), PartitionLine(partition=A, class_="done"), external]
        settled = resume(PLAN, [*killed, begin(mode=mode), end()])
        assert settled.partitions == resume(PLAN, killed).partitions

    def test_batch_numbers_continue(self):
        assert resume(PLAN, [intent(A, batch=4), Go()]).batch == 4


class TestThrottles:
    def test_the_first_prior_value_and_every_own_value_are_kept(self):
        lines = [
            ThrottleIntent(settings=(Setting(key=KEY, prior="7", ours="5"),)),
            ThrottleIntent(settings=(Setting(key=KEY, prior="7", ours="6"),)),
            ThrottleIntent(settings=(Setting(key=KEY, prior="7", ours="5"),)),
        ]
        assert history_of(lines).ledger == {KEY: Entry(prior="7", ours=("6", "5"))}

    def test_restored_keys_leave_the_ledger(self):
        settings = tuple(Setting(key=key, prior=None, ours="5") for key in (KEY, OTHER))
        lines = [
            begin(),
            ThrottleIntent(settings=settings),
            ThrottleRestored(keys=(KEY,), changed=()),
        ]
        state = start_restore(lines)
        assert state.ledger == {OTHER: Entry(prior=None, ours=("5",))}
        assert (state.mode, state.plan, state.moves) == ("restore", PLAN.sha256, {})

    def test_an_empty_journal_has_nothing_to_restore(self):
        assert start_restore([]).ledger == {}

    def test_a_run_without_throttle_uses_the_last_one(self):
        lines = [begin(throttle=70), begin(throttle=80), begin(mode="cancel")]
        assert resume(PLAN, lines).rate == 80
        assert resume(PLAN, lines, throttle=90).rate == 90
        assert resume(PLAN, lines, mode="cancel").rate is None

    def test_a_new_run_keeps_only_a_throttle_that_is_still_set(self):
        setting = ThrottleIntent(settings=(Setting(key=KEY, prior=None, ours="70"),))
        restored = ThrottleRestored(keys=(KEY,), changed=())
        killed = [begin(throttle=70), setting]
        assert resume(PLAN, killed, is_new=True).rate == 70
        assert resume(PLAN, [*killed, restored, end()], is_new=True).rate is None
        assert resume(PLAN, [*killed, restored, end()]).rate == 70

    @pytest.mark.parametrize("rate", [0, -1, MOST_RATE + 1])
    def test_a_rate_that_kafka_does_not_accept_is_rejected(self, rate):
        with pytest.raises(InvalidConfig, match=f"bytes per second, got {rate}"):
            start(PLAN, throttle=rate)

    def test_the_largest_rate_is_accepted(self):
        assert start(PLAN, throttle=MOST_RATE).rate == MOST_RATE


class TestScope:
    def test_dropped_partitions_are_left_out(self):
        state = start(PLAN, dropped={A})
        classes = [state.partitions[each].class_ for each in (A, B, C)]
        assert classes == ["dropped", "not_started", "not_started"]

    def test_without_elections_every_leader_counts_as_elected(self):
        assert start(PLAN, Caps(elect=False)).partitions[A].is_elected

    def test_a_journal_of_another_plan_is_rejected(self):
        with pytest.raises(
            InvalidPlan, match=r"invalid journal: expected one of plan .*, got one of plan other"
        ):
            resume(PLAN, [begin(plan="other")])


class TestCaps:
    @pytest.mark.parametrize("name", ["at_once", "per_broker", "bytes_in_flight", "down_ms"])
    def test_a_limit_of_0_is_rejected(self, name):
        with pytest.raises(
            InvalidConfig, match=f"invalid {name}: expected a number of 1 or more, got 0"
        ):
            Caps(**{name: 0})

    def test_no_limit_and_no_elections_are_accepted(self):
        assert Caps(bytes_in_flight=None, elect=False).elect is False


class TestLastRun:
    @pytest.mark.parametrize(
        ("lines", "taken_back", "finished"),
        [
            ([], False, False),
            ([begin()], False, False),
            ([begin(), end()], False, True),
            ([begin(), end(), begin()], False, False),
            ([begin(), end(), begin(mode="cancel")], True, False),
            ([begin(), end(), begin(mode="cancel"), end()], True, False),
            ([begin(mode="cancel"), end(), begin(mode="restore"), end()], True, False),
            ([begin(mode="cancel"), end(), begin(), end()], False, True),
            ([begin(), begin(mode="restore"), end()], False, False),
            ([begin(), end(), begin(mode="restore"), end()], False, True),
            ([end()], False, False),
        ],
    )
    def test_runs_that_only_restore_throttles_are_ignored(self, lines, taken_back, finished):
        history = history_of(lines)
        assert (history.was_cancelled, history.is_finished) == (taken_back, finished)

    @pytest.mark.parametrize(
        ("lines", "closed"),
        [
            ([], True),
            ([begin()], False),
            ([begin(), end()], True),
            ([begin(mode="cancel"), end()], True),
            ([begin(), replace(end(), stop="budget")], False),
            ([begin(), end(), begin()], False),
        ],
    )
    def test_a_run_for_throttles_closes_no_other(self, lines, closed):
        """After `throttles --restore` a killed run counted as one that has ended."""
        assert history_of(lines).is_closed is closed
        restored = [*lines, begin(mode="restore"), end()]
        assert history_of(restored).is_closed is (closed and bool(lines))

    def test_while_a_throttle_is_left_a_run_is_open(self):
        setting = ThrottleIntent(settings=(Setting(key=KEY, prior=None, ours="70"),))
        lines = [begin(), setting, end()]
        assert not history_of(lines).is_closed
        restored = [begin(mode="restore"), ThrottleRestored(keys=(KEY,), changed=())]
        assert not history_of([*lines, *restored]).is_closed
        assert history_of([*lines, *restored, end()]).is_closed

    @pytest.mark.parametrize("left", ["failed", "skipped", "dropped", "stop", "throttle", "leader"])
    def test_a_run_with_missing_moves_is_not_finished(self, left):
        numbers = {left: 1} if left in {"failed", "skipped", "dropped"} else {}
        ended = replace(end(), **numbers, stop="paused" if left == "stop" else None)
        before = {
            "throttle": ThrottleIntent(settings=(Setting(key=KEY, prior=None, ours="1"),)),
            "leader": ElectIntent(batch=1, partitions=(A,)),
        }
        lines = [begin(), *([before[left]] if left in before else []), ended]
        assert not history_of(lines).is_finished
