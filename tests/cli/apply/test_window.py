"""`apply --window`, and `window` of a cluster in the fleet file: when a run starts moves."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from daily_windows import fleet_with_window, hours
from hand_made_plans import lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import create
from rackwise.cli.apply.budget import BudgetOptions, CommandStart, utc_text
from rackwise.cli.apply.run import budget_of
from rackwise.cli.apply.window import WindowOptions, next_limits, without_window
from rackwise.cli.fleet.missing_values import missing_values
from rackwise.cli.main import run
from rackwise.cli.shell import Shell
from rackwise.cli.source import utc_now
from rackwise.core.applying.budget import Budget
from rackwise.core.applying.journal.lines import Begin
from rackwise.core.daily_hours import DailyHours
from rackwise.core.errors import InvalidConfig, OutsideWindow
from rackwise.core.fleet_file import FleetCluster
from refusals import called

NIGHT = "22:00-05:00"
EVENING = datetime(2026, 11, 26, 23, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
MS = timedelta(milliseconds=1)
TESTS = Path(__file__).parents[2]


def cut(now, *, window=NIGHT, **options):
    """The budget of a run with these options, at 7 ms of the monotonic clock."""
    start = CommandStart(now=now, clock_ms=7)
    budget = BudgetOptions(**options).budget(now, 7, zone=UTC)
    return WindowOptions(window=window).opening(now).cut(budget, start)


class TestOptions:
    @pytest.mark.parametrize("window", ["22:00", "", "22:00-22:00", "22:00-05:00 CEST CET"])
    def test_another_text_is_rejected(self, window):
        with pytest.raises(InvalidConfig, match="invalid --window: expected HH:MM-HH:MM") as raised:
            WindowOptions(window=window)
        assert "22:00-05:00 Europe/Berlin" in raised.value.hint

    @pytest.mark.parametrize("zone", ["Europe/Atlantis", "Europe", "Etc"])
    def test_an_unknown_time_zone_is_rejected(self, zone):
        with pytest.raises(InvalidConfig, match="expected hours in a known time zone"):
            WindowOptions(window=f"{NIGHT} {zone}")

    def test_a_run_has_no_window_without_one_and_where_it_is_ignored(self):
        assert WindowOptions().opening(MORNING) is None
        assert WindowOptions(window=NIGHT, ignore_window=True).opening(MORNING) is None

    @pytest.mark.parametrize(
        ("options", "until"),
        [
            ({}, "2026-11-27T05:00:00Z"),
            ({"next_": 5}, "2026-11-27T05:00:00Z"),
            ({"until": "04:00"}, "2026-11-27T04:00:00Z"),
            ({"until": "05:00"}, "2026-11-27T05:00:00Z"),
            ({"until": "06:00"}, "2026-11-27T05:00:00Z"),
            ({"until": "2026-11-28T04:00Z"}, "2026-11-27T05:00:00Z"),
            ({"for_": "1h"}, "2026-11-27T00:00:00Z"),
            ({"for_": "9h"}, "2026-11-27T05:00:00Z"),
        ],
    )
    def test_inside_the_earlier_end_wins(self, options, until):
        found = cut(EVENING, **options)
        assert found.until == until
        assert found.end_ms == 7 + (datetime.fromisoformat(until) - EVENING) // MS
        assert found.moves == options.get("next_")

    def test_the_window_is_that_of_its_zone(self):
        assert cut(EVENING, window=f"{NIGHT} Europe/Berlin").until == "2026-11-27T04:00:00Z"
        early = EVENING - timedelta(hours=2, minutes=1)
        assert WindowOptions(window=f"{NIGHT} Europe/Berlin").opening(early).is_open is False
        assert (
            WindowOptions(window=f"{NIGHT} Europe/Berlin")
            .opening(early + timedelta(minutes=1))
            .is_open
        )

    def test_outside_a_budget_is_over(self):
        found = cut(MORNING)
        assert (found.until, found.end_ms) == ("2026-11-27T05:00:00Z", 7 - 4 * 3_600_000)
        assert cut(MORNING, until="23:00") == found

    @pytest.mark.parametrize("window", [NIGHT, f"{NIGHT} Europe/Berlin"])
    def test_a_budget_without_the_window_is_that_of_the_options(self, window):
        found = cut(EVENING, window=window, next_=5)
        assert without_window(found) == Budget(moves=5)
        assert found.window == str(WindowOptions(window=window).opening(EVENING).hours)
        early = cut(EVENING, window=window, until="03:00")
        assert without_window(early) == replace(early, window=None)
        assert early.until == "2026-11-27T03:00:00Z"

    def test_the_end_of_a_window_in_an_unknown_time_zone_stays(self):
        found = Budget(until="2026-11-27T05:00:00Z", window=f"{NIGHT} Europe/Atlantis")
        assert without_window(found) == Budget(until="2026-11-27T05:00:00Z")
        assert without_window(Budget(moves=1)) == Budget(moves=1)

    def test_the_next_run_repeats_the_window_instead_of_its_end(self):
        again, window = next_limits(BudgetOptions(), cut(EVENING, next_=5), ())
        assert (again, window.window) == (BudgetOptions(next_=5), f"{NIGHT} UTC")
        again, window = next_limits(BudgetOptions(), cut(EVENING, for_="9h"), ())
        assert (again, window.window) == (BudgetOptions(for_="9h"), f"{NIGHT} UTC")
        assert next_limits(BudgetOptions(), Budget(moves=5), ())[1] == WindowOptions()

    def test_resume_without_options_keeps_the_window_of_the_killed_run(self):
        killed = Begin(plan="p", mode="apply", throttle=None, dropped=(), window=f"{NIGHT} UTC")
        kept = WindowOptions(window=f"{NIGHT} UTC")
        assert WindowOptions().inheriting(killed) == kept
        assert WindowOptions().inheriting(replace(killed, window=None)) == WindowOptions()
        for own in (WindowOptions(window="01:00-02:00"), WindowOptions(ignore_window=True)):
            assert own.inheriting(killed) == own
        assert kept.inheriting(None) == kept

    @pytest.mark.parametrize(
        ("killed", "options", "ignored", "limits"),
        [
            ({}, {}, False, (None, None, "2026-11-28T05:00:00Z")),
            ({"next_moves": 5}, {}, False, (5, None, "2026-11-28T05:00:00Z")),
            ({"next_moves": 5}, {}, True, (5, None, None)),
            ({}, {"next_": 2}, False, (2, None, "2026-11-28T05:00:00Z")),
            ({"until": "2026-11-27T03:00:00Z"}, {}, False, (None, None, "2026-11-27T03:00:00Z")),
            ({"lasts_ms": 9 * 3_600_000}, {}, True, (None, None, "2026-11-27T05:00:00Z")),
        ],
    )
    def test_a_run_killed_last_night_is_continued_until_the_end_of_this_one(
        self, killed, options, ignored, limits
    ):
        begin = Begin(plan="p", mode="apply", throttle=None, dropped=(), window=f"{NIGHT} UTC")
        begin = replace(begin, **({"until": "2026-11-27T05:00:00Z"} | killed))
        start = CommandStart(now=EVENING + timedelta(days=1), clock_ms=7)
        window = WindowOptions(ignore_window=ignored).inheriting(begin)
        found = budget_of(
            SimpleNamespace(lines=(begin,)),
            BudgetOptions(**options),
            start,
            inherits=True,
            opening=window.opening(start.now),
        )
        assert found.limits == limits

    def test_outside_a_run_is_refused_and_a_check_is_not(self):
        options = WindowOptions(window=NIGHT)
        with pytest.raises(OutsideWindow) as raised:
            options.checked(Shell(), MORNING, is_check=False)
        assert raised.value.exit_code == 4
        assert raised.value.message == (
            "outside the window 22:00-05:00 UTC, which begins at 2026-11-27T22:00:00Z: "
            "nothing was started"
        )
        assert "--ignore-window" in raised.value.hint
        assert options.checked(Shell(), MORNING, is_check=True) is None
        assert options.checked(Shell(), EVENING, is_check=False).is_open


def test_a_cluster_gives_its_window_to_commands_that_move_replicas_except_rollback():
    cluster = FleetCluster(name="eu", servers=("k:1",), window=DailyHours.of(f"{NIGHT} UTC"))
    absent = {"window": None}
    for verb in ("apply", "resume"):
        assert missing_values(verb, absent, cluster) == {"window": "22:00-05:00 UTC"}
        assert missing_values(verb, {"window": "01:00-02:00"}, cluster) == {}
    for factor, given in (("3", {"window": "22:00-05:00 UTC"}), (None, {})):
        values = absent | {"replication_factor": factor}
        assert missing_values("topic alter", values, cluster) == given
    assert missing_values("topic create", absent | {"replication_factor": "3"}, cluster) == {}
    assert missing_values("rollback", absent, cluster) == {}
    assert missing_values("apply", absent, FleetCluster(name="us", servers=("k:1",))) == {}


def test_outside_nothing_is_read_not_even_the_plan(tmp_path, capsys):
    words = ["apply", str(tmp_path / "no.json"), "--bootstrap-server", "127.0.0.1:1"]
    assert run([*words, "--window", hours(2, 3)]) == 4
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 2)
    assert err.startswith("error: outside the window ")
    assert run([*words, "--window", hours(-1, 1)]) == 1
    assert "no.json cannot be read" in capsys.readouterr().err


BEFORE = [[0, 1], [1, 2]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0)}
DONE = {0: [2, 1], 1: [1, 0]}


@pytest.mark.kafka
class TestRuns:
    @pytest.fixture
    def cluster(self, kraft_cluster):
        return kraft_cluster

    @pytest.fixture
    def path(self, admin, tmp_path, state):  # noqa: ARG002 (where its journal is)
        create(admin, NAME, BEFORE)
        return plan_file(tmp_path / "p.json", admin, AFTER)

    @pytest.fixture
    def fleet(self, cluster, tmp_path):
        """Write the fleet file with a window; return the options that name the cluster."""

        return partial(fleet_with_window, tmp_path / "rackwise.toml", cluster)

    @staticmethod
    def begins(state):
        """The lines that begin a run, of all journals."""
        texts = [each.read_text() for each in sorted(state.rglob("*.journal"))]
        lines = [document(line) for text in texts for line in text.splitlines()]
        return [line for line in lines if line["type"] == "begin"]

    def test_outside_nothing_starts_and_the_option_overrides_it(self, admin, fleet, path, state):
        outside = fleet(hours(2, 3))
        code, out, err = called("apply", path, *outside)
        assert (code, out) == (4, "")
        assert "error: outside the window " in err
        assert not state.exists()
        assert lists(admin, NAME) == dict(enumerate(BEFORE))

        code, out, err = called("apply", path, *outside, "--check")
        assert (code, out.splitlines()[0]) == (0, "2 moves: may run")
        assert "outside the window " in err

        code, out, err = called("apply", path, *outside, "--ignore-window", "--next", "1")
        assert code == 3, err
        assert "window" not in out + err
        code, out, err = called("apply", path, *outside, "--ignore-window")
        assert code == 0, err
        assert [line.get("until") for line in self.begins(state)] == [None, None]
        shown(admin, NAME, DONE)
        assert called("rollback", path, *outside)[0] == 0
        shown(admin, NAME, dict(enumerate(BEFORE)))

    def test_inside_the_run_has_the_end_of_the_window_or_an_earlier_one(
        self, cluster, fleet, path, state
    ):
        window = hours(-1, 1)
        inside = fleet(window)
        now = datetime.fromisoformat(utc_now())
        end = DailyHours.of(window).end_at(now, UTC)
        code, out, err = called("apply", path, *inside, "--next", "1")
        assert code == 3, err
        assert f"; window {window} UTC\n" in err
        words = f"rackwise apply {path} --bootstrap-server {cluster.bootstrap} --next 1"
        assert out.splitlines()[-1] == f"next    {words} --window '{window} UTC'"
        every = f"{words.removesuffix(' --next 1')} --window '{window} UTC'"
        every, one = (each.replace(" apply ", " resume ") for each in (every, out.splitlines()[-1]))
        one = one.removeprefix("next    ")
        code, out, err = called("status", path, *inside)
        assert code == 2
        assert f"to continue: {one}; all the rest: {every}\n" in err

        soon, late = (utc_text(end + timedelta(minutes=each)) for each in (-10, 10))
        assert called("apply", path, *inside, "--next", "1", "--until", soon)[0] == 0
        self.undo_in(window, cluster, path)
        assert called("apply", path, *inside, "--until", late)[0] == 0
        ends = [line["until"] for line in self.begins(state) if line.get("until")]
        assert sorted(ends) == [soon, *[utc_text(end)] * 4]

    @staticmethod
    def undo_in(window, cluster, path):
        """Law: a rollback has the window that is given, and its next commands repeat it."""
        words = ["rollback", path, "--bootstrap-server", cluster.bootstrap]
        code, out, err = called(*words, "--window", hours(2, 3))
        assert (code, out) == (4, "")
        assert "hint: start it again in the window; without --window it starts at once\n" in err
        own = ["--next", "1", "--window", window]
        code, out, err = called(*words, *own)
        again = f"rackwise {' '.join(words)} --next 1 --window '{window} UTC'"
        assert (code, out.splitlines()[-1]) == (3, f"next    {again}"), err
        assert f"; window {window} UTC\n" in err
        code, out, err = called("status", *words[1:])
        assert f"to continue: {again}; all the rest: " in err
        code, out, err = called(*words, "--window", window)
        assert code == 0, err

    def test_a_killed_run_is_finished_outside_but_starts_nothing_there(
        self, admin, cluster, fleet, path, state
    ):
        words = ["apply", path, *map(str, fleet(hours(-1, 1))), "--at-once", "1"]
        command = [sys.executable, str(TESTS / "killed_command.py"), "5", "SIGKILL", *words]
        subprocess.run(command, check=False, capture_output=True)
        assert len(self.begins(state)) == 1

        closed = hours(2, 3)
        outside = fleet(closed)
        assert called("apply", path, *outside)[0] == 4
        code, out, err = called("resume", path, *outside, "--json")
        found = document(out)
        assert (code, found["stop"], found["done"], found["skipped"]) == (3, "budget", 1, 1), err
        assert "which is past" in err
        shown(admin, NAME, {0: [2, 1], 1: [1, 2]})
        again = f"rackwise resume {path} --bootstrap-server {cluster.bootstrap} --window "
        again += shlex.quote(f"{closed} UTC")
        assert found["next_command"] == again
        code, out, err = called("status", path, *outside)
        assert code == 2
        assert out.splitlines()[0] == f"prod ({found['cluster_id']})"
        assert out.splitlines()[3] == "no process is running it: the last run has used its budget"
        assert err == f"warning: to continue: {again}\n"

        code, out, err = called("resume", path, *fleet(hours(-1, 1)))
        assert (code, out.splitlines()[0]) == (
            0,
            "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped",
        ), err
        shown(admin, NAME, DONE)
