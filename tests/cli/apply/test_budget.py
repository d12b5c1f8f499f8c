"""`apply --next`, `--most-bytes`, `--until` and `--for`: one window after another."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from kafka.structs import TopicPartition

from applied_plans import move
from hand_made_plans import lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import create, produce, until
from rackwise.adapters.files import read_plan
from rackwise.adapters.kafka.applying import preflight
from rackwise.cli.apply import rollback
from rackwise.cli.apply.budget import (
    BudgetOptions,
    budget_text,
    end_of,
    next_run,
    options_of,
    time_text,
)
from rackwise.cli.source import utc_now
from rackwise.core.applying.budget import Budget
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.errors import InvalidConfig, Unreachable
from refusals import rejected_preflight

BERLIN = ZoneInfo("Europe/Berlin")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
EVENING = datetime(2026, 11, 26, 22, 0, tzinfo=UTC)
TESTS = Path(__file__).parents[2]


class TestEnd:
    @pytest.mark.parametrize(
        ("text", "now", "zone", "end"),
        [
            ("05:00", "2026-11-26T22:00:00Z", BERLIN, "2026-11-27T04:00:00Z"),
            ("05:00", "2026-11-27T03:59:59Z", BERLIN, "2026-11-27T04:00:00Z"),
            ("05:00", "2026-11-27T04:00:00Z", BERLIN, "2026-11-28T04:00:00Z"),
            ("23:30:15", "2026-11-26T22:00:00Z", BERLIN, "2026-11-26T22:30:15Z"),
            ("05:00", "2026-11-26T22:00:00Z", KATHMANDU, "2026-11-26T23:15:00Z"),
            # the day that begins summer time has no 02:30, the one that ends it has two
            ("02:30", "2026-03-28T22:00:00Z", BERLIN, "2026-03-29T01:30:00Z"),
            ("02:30", "2026-10-24T22:00:00Z", BERLIN, "2026-10-25T00:30:00Z"),
            ("05:00", "2026-03-28T22:00:00Z", BERLIN, "2026-03-29T03:00:00Z"),
            ("2026-12-01T05:00", "2026-11-26T22:00:00Z", BERLIN, "2026-12-01T04:00:00Z"),
            ("2026-12-01T05:00+02:00", "2026-11-26T22:00:00Z", BERLIN, "2026-12-01T03:00:00Z"),
        ],
    )
    def test_a_clock_time_is_the_next_one_in_the_zone(self, text, now, zone, end):
        assert end_of(text, datetime.fromisoformat(now), zone) == datetime.fromisoformat(end)

    def test_without_a_zone_it_is_that_of_the_machine(self):
        local = EVENING.astimezone()
        text = f"{local + timedelta(minutes=1):%H:%M}"
        assert end_of(text, EVENING) == EVENING + timedelta(minutes=1)

    def test_a_date_that_is_past_is_rejected(self):
        with pytest.raises(InvalidConfig, match=r"expected a time after 2026-11-26 23:00:00 CET"):
            end_of("2026-11-26T05:00", EVENING, BERLIN)

    @pytest.mark.parametrize(
        "text", ["5", "25:00", "", "soon", "2026-11-27", "05:00+01:00", "0500"]
    )
    def test_another_text_is_rejected(self, text):
        with pytest.raises(InvalidConfig, match=r"invalid --until: expected a time such as 05:00"):
            BudgetOptions(until=text)

    def test_the_zone_is_printed(self):
        assert time_text(EVENING, BERLIN) == "2026-11-26 23:00:00 CET (UTC+01:00)"


class TestBudget:
    @pytest.mark.parametrize(
        ("options", "budget"),
        [
            ({}, Budget()),
            ({"next_": 5}, Budget(moves=5)),
            ({"most_bytes": "2TB"}, Budget(bytes=2 * 10**12)),
            (
                {"until": "05:00"},
                Budget(until="2026-11-27T04:00:00Z", end_ms=7 + 5 * 3_600_000 + 3_600_000),
            ),
            (
                {"for_": "4h"},
                Budget(until="2026-11-27T02:00:00Z", lasts_ms=4 * 3_600_000, end_ms=14_400_007),
            ),
        ],
    )
    def test_options_become_a_budget(self, options, budget):
        assert BudgetOptions(**options).budget(EVENING, 7, zone=BERLIN) == budget

    @pytest.mark.parametrize(
        "options",
        [
            {"for_": "4 h"},
            {"for_": ""},
            {"for_": "0s"},
            {"for_": "0.4ms"},
            {"most_bytes": "0"},
            {"until": "05:00", "for_": "4h"},
        ],
    )
    def test_what_is_no_budget_is_rejected(self, options):
        with pytest.raises(InvalidConfig):
            BudgetOptions(**options)

    def killed(self, **fields):
        return Begin(plan="5" * 64, mode="apply", throttle=None, dropped=(), **fields)

    def test_a_killed_run_of_four_hours_keeps_its_end(self):
        made = BudgetOptions(for_="4h")
        end = made.budget(EVENING, 0).until
        killed = self.killed(until=end, lasts_ms=4 * 3_600_000)
        later = made.budget(EVENING + timedelta(hours=1), 0, killed=killed)
        assert (later.until, later.end_ms) == (end, 3 * 3_600_000)
        next_night = made.budget(EVENING + timedelta(days=1), 0, killed=killed)
        assert next_night.until == "2026-11-28T02:00:00Z"
        other = BudgetOptions(for_="5h").budget(EVENING, 0, killed=killed)
        assert other.until == "2026-11-27T03:00:00Z"

    def test_resume_without_options_takes_the_budget_of_a_killed_run(self):
        killed = self.killed(next_moves=5, most_bytes=9, until="2026-11-27T04:00:00Z")
        made = BudgetOptions().budget(EVENING, 0, killed=killed, inherits=True)
        assert made.limits == (5, 9, "2026-11-27T04:00:00Z")
        assert BudgetOptions().budget(EVENING, 0, killed=killed) == Budget()
        assert BudgetOptions().budget(EVENING, 0, killed=self.killed(), inherits=True) == Budget()
        past = EVENING + timedelta(days=1)
        late = BudgetOptions().budget(past, 0, killed=killed, inherits=True)
        assert late.limits == made.limits
        assert late.end_ms is not None
        assert late.end_ms < 0, "it starts nothing"
        own = BudgetOptions(next_=7).budget(EVENING, 0, killed=killed, inherits=True)
        assert own == Budget(moves=7)

    @pytest.mark.parametrize(
        ("budget", "options"),
        [
            (Budget(moves=5, bytes=9), {"next_": 5, "most_bytes": "9"}),
            (Budget(until="2026-11-27T04:00:00Z"), {"until": "2026-11-27T04:00:00Z"}),
            (Budget(until="2026-11-26T21:30:00Z"), {"until": "22:30:00"}),
            (Budget(until="2026-11-27T04:00:00Z", lasts_ms=14_400_000), {"for_": "4h"}),
            (Budget(until="2026-11-26T21:30:00Z", lasts_ms=90_000), {"for_": "90s"}),
            (Budget(until="2026-11-26T21:30:00Z", lasts_ms=1), {"for_": "1s"}),
        ],
    )
    def test_a_budget_becomes_options_of_the_next_run(self, budget, options):
        made = options_of(budget, EVENING, BERLIN)
        assert made == BudgetOptions(**options)
        again = made.budget(EVENING, 0, zone=BERLIN)
        assert (again.moves, again.bytes) == (budget.moves, budget.bytes)
        assert (again.until is None) == (budget.until is None)

    def test_a_budget_is_told_with_its_zone(self):
        made = BudgetOptions(next_=1, most_bytes="1TiB", until="05:00")
        assert budget_text(made.budget(EVENING, 0, zone=BERLIN), EVENING, 1, BERLIN) == (
            "budget: at most 1 move; at most 1.00 TiB of copies; no new move after "
            "2026-11-27 05:00:00 CET (UTC+01:00), in 6 hours; 1 move of the killed run counts"
        )
        late = EVENING + timedelta(days=1)
        assert budget_text(Budget(until="2026-11-27T04:00:00Z"), late, 2, BERLIN) == (
            "budget: no new move after 2026-11-27 05:00:00 CET (UTC+01:00), which is past; "
            "2 moves of the killed run count"
        )

    @pytest.mark.parametrize(
        ("given", "until", "next_"),
        [
            ({"until": "2026-11-26T22:30:00+01:00"}, "2026-11-26T21:30:00Z", {"until": "22:30:00"}),
            (
                {"until": "2026-11-27T05:00"},
                "2026-11-27T04:00:00Z",
                {"until": "2026-11-27T05:00"},
            ),
            ({"until": "22:30"}, "2026-11-26T21:30:00Z", {"until": "22:30"}),
            ({}, "2026-11-26T21:30:00Z", {"until": "22:30:00"}),
        ],
    )
    def test_the_next_command_names_no_time_that_is_past(self, given, until, next_):
        """It repeated a date that was past, and ended with exit code 1."""
        made = next_run(BudgetOptions(**given), Budget(until=until), [], EVENING, BERLIN)
        assert made == BudgetOptions(**next_)
        assert made.budget(EVENING, 0, zone=BERLIN).until > until or "27T" in until

    @pytest.mark.parametrize(
        ("sizes", "most"),
        [((3_000, 2_000), "2000"), ((3_000, 1_000), "1kB"), ((None,), None), ((), "1kB")],
    )
    def test_the_next_command_has_room_for_the_smallest_move(self, sizes, most):
        """The same command was printed for ever, and began nothing."""
        left = [move(f"t-{n}", (1,), (2,), size) for n, size in enumerate(sizes)]
        limits = BudgetOptions(most_bytes="1kB", next_=3)
        made = next_run(limits, Budget(bytes=1_000, moves=3), left, EVENING)
        assert made == BudgetOptions(most_bytes=most, next_=3)


BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}
FIRST = {0: [2, 1], 1: [1, 2], 2: [2, 0], 3: [0, 1]}
DONE = {0: [2, 1], 1: [1, 0], 2: [2, 0], 3: [1, 0]}
ONE_OF_THREE = [
    "3 moves: 1 done, 0 failed, 2 skipped, 0 dropped",
    "bytes   0 bytes copied, 0 bytes left",
    "budget  spent: 1 move was begun",
]
"""What a run with `--next 1` prints."""


@pytest.mark.kafka
class TestRuns:
    @pytest.fixture
    def cluster(self, kraft_cluster):
        return kraft_cluster

    @pytest.fixture
    def path(self, admin, tmp_path):
        create(admin, NAME, BEFORE)
        return plan_file(tmp_path / "p.json", admin, AFTER)

    def test_the_same_command_goes_on_the_next_night(self, admin, cluster, called, path):
        """It began with exit code 0, and did nothing when it was called again."""
        words = ("apply", path, "--next", "1")
        code, out, err = called(*words)
        command = f"rackwise apply {path} --bootstrap-server {cluster.bootstrap} --next 1"
        assert (code, out.splitlines()) == (3, [*ONE_OF_THREE, f"next    {command}"]), err
        assert "budget: at most 1 move\n" in err
        shown(admin, NAME, FIRST)
        code, out, err = called("status", path)
        assert (code, out.splitlines()[2]) == (
            2,
            "no process is running it: the last run has used its budget",
        )
        onward = command.replace(" apply ", " resume ")
        assert f"to continue: {onward}; all the rest: {onward[: -len(' --next 1')]}\n" in err
        printed = document(called("status", path, "--json")[1])
        assert (printed["is_budget_spent"], printed["next_command"]) == (True, onward)
        code, out, err = called(*words, "--json")
        printed = document(out)
        assert (code, printed["done"], printed["begun"], printed["stop"]) == (3, 2, 1, "budget"), (
            err
        )
        assert printed["next_command"] == command
        code, out, err = called(*words)
        assert (code, out.splitlines()[0]) == (
            0,
            "3 moves: 3 done, 0 failed, 0 skipped, 0 dropped",
        ), err
        shown(admin, NAME, DONE)
        assert called(*words)[:2] == (0, "3 moves: nothing to do\n")

    @pytest.mark.long
    def test_killed_in_its_window_it_goes_on_within_the_same_budget(
        self, admin, cluster, called, path
    ):
        words = ["apply", path, "--next", "2", "--at-once", "1", "--for", "1h"]
        command = [sys.executable, str(TESTS / "killed_command.py"), "6", "SIGKILL", *words]
        subprocess.run(
            [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
        )
        code, out, err = called(*words, "--json")
        printed = document(out)
        assert (code, printed["begun"], printed["done"]) == (3, 2, 2), err
        assert " of the killed run count" in err
        assert called(*words)[0] == 0
        shown(admin, NAME, DONE)

    def test_a_resumed_run_names_the_limits_of_the_killed_one(self, cluster, called, path):
        """The next command had no limits, so the next run would have begun all the rest."""
        words = ["apply", path, "--next", "1", "--for", "90min"]
        command = [sys.executable, str(TESTS / "killed_command.py"), "4", "SIGKILL", *words]
        subprocess.run(
            [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
        )
        code, out, err = called("resume", path)
        next_ = f"rackwise resume {path} --bootstrap-server {cluster.bootstrap} --next 1"
        assert (code, out.splitlines()[-1]) == (3, f"next    {next_} --for 90min"), err
        code, out, err = called("resume", path, "--next", "1", "--for", "90min", "--json")
        printed = document(out)
        assert (code, printed["done"], printed["begun"]) == (3, 2, 1), err

    @pytest.mark.long
    def test_a_move_that_others_changed_does_not_hold_up_the_rest(self, admin, called, path):
        """The next night ended with exit code 4, and moved nothing."""
        assert called("apply", path, "--next", "1")[0] == 3
        admin.alter_partition_reassignments({TopicPartition(NAME, 1): [2, 0]})
        until(lambda: lists(admin, NAME)[1] == [2, 0], "a list that somebody else changed")
        code, out, err = called("apply", path)
        assert code == 3, err
        assert out.splitlines() == [
            "3 moves: 2 done, 1 failed, 0 skipped, 0 dropped",
            f"! {NAME}-1  diverged  others changed its replicas",
        ]
        shown(admin, NAME, {0: [2, 1], 1: [2, 0], 2: [2, 0], 3: [1, 0]})

    def test_a_move_that_is_larger_than_the_budget_is_never_begun(
        self, admin, cluster, called, path, tmp_path
    ):
        produce(cluster.bootstrap, {(NAME, 0): 5})
        path = plan_file(tmp_path / "sized.json", admin, AFTER)
        for done in (2, 2):
            code, out, err = called("apply", path, "--most-bytes", "1kB", "--json")
            printed = document(out)
            assert (code, printed["done"], printed["skipped"]) == (3, done, 1), err
            assert printed["text"].startswith(
                "no move that is left fits in 1000 bytes: the smallest copies "
            )
            assert printed["bytes_done"] == 0
            assert printed["bytes_left"] > 5_000
        assert not printed["has_written"]
        shown(admin, NAME, {0: [0, 1], 1: [1, 0], 2: [2, 0], 3: [1, 0]})
        assert printed["next_command"].endswith(f" --most-bytes {printed['bytes_left']}")
        for most, is_told in (("1kB", False), ("1GB", True)):
            words = ("--most-bytes", most, "--throttle", "50MB", "--check")
            assert ("throttle: " in called("apply", path, *words)[2]) is is_told
        for length, is_told in (("1h", True), ("10h", False)):
            words = ("--for", length, "--throttle", "1", "--check")
            assert (", in several runs" in called("apply", path, *words)[2]) is is_told
        assert called("apply", path, "--most-bytes", str(printed["bytes_left"]))[0] == 0

    def test_a_time_that_passes_during_the_preflight_is_not_that_of_tomorrow(
        self, admin, called, path, monkeypatch
    ):
        """The run then moved all day."""
        read = preflight.read_facts

        def read_slowly(*told, **more):
            time.sleep(3)
            return read(*told, **more)

        monkeypatch.setattr(preflight, "read_facts", read_slowly)
        soon = datetime.fromisoformat(utc_now()).astimezone() + timedelta(seconds=2)
        until_ = f"{soon:%H:%M:%S}"
        code, out, err = called("apply", path, "--until", until_)
        assert (code, out.splitlines()[0]) == (
            3,
            "3 moves: 0 done, 0 failed, 3 skipped, 0 dropped",
        ), err
        assert "which is past" in err
        shown(admin, NAME, dict(enumerate(BEFORE)))

    def test_an_interrupted_run_goes_on_within_its_budget(self, cluster, called, path):
        """The next command had no limits, and moved all the rest."""
        words = ["apply", path, "--at-once", "1", "--for", "1h", "--json"]
        command = [sys.executable, str(TESTS / "killed_command.py"), "3", "SIGHUP", *words]
        ended = subprocess.run(
            [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
        )
        printed = document(ended.stdout.decode())
        assert (ended.returncode, printed["stop"]) == (3, "interrupted")
        start = f"rackwise apply {path} --bootstrap-server {cluster.bootstrap}"
        assert printed["next_command"] == f"{start} --at-once 1 --for 1h"
        assert f"to continue: {printed['next_command']}\n" in ended.stderr.decode()
        resumed = f"{start.replace(' apply ', ' resume ')} --for 1h"
        assert f"to continue: {resumed}; all the rest: " in called("status", path)[2]
        printed = document(called("status", path, "--json")[1])
        assert (printed["is_budget_spent"], printed["next_command"]) == (False, resumed)

    def test_a_rollback_interrupted_while_it_cancels_goes_on_within_its_budget(
        self, cluster, called, path
    ):
        assert called("apply", path)[0] == 0
        words = ["rollback", path, "--next", "1"]
        command = [sys.executable, str(TESTS / "killed_command.py"), "1", "SIGTERM", *words]
        ended = subprocess.run(
            [*command, "--bootstrap-server", cluster.bootstrap], check=False, capture_output=True
        )
        assert ended.returncode == 3
        next_ = f"rackwise rollback {path} --bootstrap-server {cluster.bootstrap} --next 1"
        assert ended.stderr.decode().endswith(f"to continue: {next_}\n")
        assert ended.stdout.decode().splitlines()[-1] == "ended early, interrupted"

    def test_a_new_run_has_no_throttle_of_an_old_one(self, called, path, state):
        """After a rollback, apply without --throttle kept the rate of the run before it."""
        assert called("apply", path, "--throttle", "300kB")[0] == 0
        assert called("rollback", path)[0] == 0
        assert called("apply", path, "--next", "1")[0] == 3
        plan = read_plan(path)
        (journal,) = state.glob(f"*/{plan.sha256}.journal")
        begins = [line for line in journal.read_text().splitlines() if '"type":"begin"' in line]
        assert '"throttle":300000' in begins[0]
        assert '"throttle":null' in begins[-1]

    def test_a_rollback_goes_on_the_next_night(self, admin, cluster, called, path):
        """It had no budget, and moved everything back in one run."""
        assert called("apply", path)[0] == 0
        words = ("rollback", path, "--next", "1")
        code, out, err = called(*words)
        command = f"rackwise rollback {path} --bootstrap-server {cluster.bootstrap} --next 1"
        assert (code, out.splitlines()) == (3, [*ONE_OF_THREE, f"next    {command}"]), err
        shown(admin, NAME, {**DONE, 3: [0, 1]})
        code, out, err = called("status", path)
        assert (code, out.splitlines()[0], out.splitlines()[2]) == (
            2,
            "rollback: 1 done, 2 not_started",
            "no process is running it: the last run has used its budget",
        )
        assert f"to continue: {command}; all the rest: {command[: -len(' --next 1')]}\n" in err
        code, out, err = called(*words, "--json")
        printed = document(out)
        assert (code, printed["done"], printed["begun"], printed["stop"]) == (3, 2, 1, "budget"), (
            err
        )
        assert printed["next_command"] == command
        code, out, err = called(*words)
        assert (code, out.splitlines()[0]) == (
            0,
            "3 moves: 3 done, 0 failed, 0 skipped, 0 dropped",
        ), err
        shown(admin, NAME, dict(enumerate(BEFORE)))
        assert called(*words)[:2] == (0, "0 moves: nothing to undo\n")

    def rolled_back_in_part_and_applied_again(self, called, path):
        assert called("apply", path, "--next", "2")[0] == 3
        assert called("rollback", path, "--next", "1")[0] == 3
        assert called("apply", path)[0] == 0
        code, out, _ = called("status", path)
        assert (code, "rollback" in out) == (0, False)

    @pytest.mark.long
    def test_what_later_runs_did_is_left_to_the_next_rollback(self, admin, cluster, called, path):
        """With --json it was reported as complete."""
        self.rolled_back_in_part_and_applied_again(called, path)
        code, out, err = called("rollback", path, "--next", "3", "--json")
        printed = document(out)
        command = f"rackwise rollback {path} --bootstrap-server {cluster.bootstrap} --next 3"
        assert (code, printed["stop"], printed["next_command"]) == (3, "budget", command), err
        assert printed["text"] == ("it covers one rollback; 1 move of later runs is left to undo")
        assert (printed["done"], printed["skipped"], printed["is_reached"]) == (2, 1, False)
        assert called("rollback", path, "--next", "3")[0] == 0
        shown(admin, NAME, dict(enumerate(BEFORE)))

    def test_two_rollbacks_in_one_run_are_one_document(self, admin, called, path):
        """It printed two JSON documents."""
        self.rolled_back_in_part_and_applied_again(called, path)
        code, out, err = called("rollback", path, "--json")
        printed = document(out)
        assert (code, printed["done"], printed["moves"], printed["is_reached"]) == (
            0,
            3,
            3,
            True,
        ), err
        assert {each["partition"] for each in printed["partitions"]} == {0, 1, 3}
        shown(admin, NAME, dict(enumerate(BEFORE)))
        assert called("rollback", path)[:2] == (0, "0 moves: nothing to undo\n")

    def test_a_second_rollback_that_is_rejected_is_left(self, admin, cluster, called, path):
        """The exit code was 4, as if nothing had been written."""
        self.rolled_back_in_part_and_applied_again(called, path)
        with rejected_preflight(2):
            code, out, err = called("rollback", path, "--json")
        printed = document(out)
        assert (code, printed["done"], printed["skipped"], printed["is_reached"]) == (
            3,
            2,
            1,
            False,
        ), err
        assert (printed["stop"], printed["text"]) == ("fatal", "another tool moves t-0")
        command = f"rackwise rollback {path} --bootstrap-server {cluster.bootstrap}"
        assert printed["next_command"] == command
        assert "hint: wait for its end" in err
        assert err.endswith(f"to continue: {command}\n")
        assert called("rollback", path)[0] == 0
        shown(admin, NAME, dict(enumerate(BEFORE)))

    def test_a_cluster_that_cannot_be_read_after_a_rollback_ends_it(
        self, called, path, monkeypatch
    ):
        """The exit code was 1, as if nothing had been written."""
        self.rolled_back_in_part_and_applied_again(called, path)

        def unreachable(*_):
            raise Unreachable("no broker answers")

        with monkeypatch.context() as patch:
            patch.setattr(rollback, "_reverse", unreachable)
            code, out, err = called("rollback", path)
        assert (code, out.splitlines()) == (
            3,
            [
                "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped",
                "ended early, fatal: no broker answers",
            ],
        ), err
        assert f"to continue: rackwise rollback {path} " in err
