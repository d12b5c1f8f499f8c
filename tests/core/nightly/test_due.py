"""Which steps of a night can start, by what has run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.nightly.commands import NightCluster, NightLayout, NightOptions
from rackwise.core.nightly.due import Job, NightSituation, due, last_look
from rackwise.core.nightly.night import STATE, Night, NightlyState, StepRun
from rackwise.core.nightly.outcome import exit_code, failure_text, of_cluster, of_fleet, subject
from rackwise.core.nightly.twins import with_failed_twins
from rackwise.core.nightly.window import NightLook
from rackwise.core.notices.changes import ClusterMemory, Notice

DAY = "2026-11-26"
BEGAN = "2026-11-26T02:00:00Z"
BEGAN_MS = 1_795_658_400_000
A = NightCluster(name="a", source=("--cluster", "a"), bill=("--x", "1"))
B = NightCluster(name="b", source=("--cluster", "b"), bill=("--x", "2"))
C = NightCluster(name="c", source=("--cluster", "c"), bill=("--x", "2"))
LAYOUT = NightLayout(root="/data")


def situation(*clusters, runs=(), starts=1, **changed):
    return NightSituation(
        night=Night(day=DAY, starts=starts, runs=tuple(runs)),
        clusters=clusters,
        layout=LAYOUT,
        options=NightOptions(measure_ms=60_000),
        looks={},
        has_result=False,
        **changed,
    )


def ended(job: Job, code=0, start=1, took_ms=1000):
    return StepRun(
        step=job.step,
        clusters=job.clusters,
        command=job.command,
        exit=code,
        reason=None if code in {0, 2} else "error: no broker answers",
        began=BEGAN,
        took_ms=took_ms,
        start=start,
    )


def keys(jobs):
    return [(job.step, *job.clusters) for job in jobs]


def after(here, *jobs, **how):
    night = here.night
    for job in jobs:
        night = night.with_run(ended(job, start=night.starts, **how))
    return replace(here, night=night)


def run_night(here, codes=None, most=60):
    """All steps to the end, each with its exit code; returns the situation and the order."""
    order = []
    while jobs := due(here):
        job = jobs[0]
        order.append((job.step, *job.clusters))
        assert len(order) < most
        here = after(here, job, code=(codes or {}).get((job.step, *job.clusters), 0))
    return here, order


class TestOrder:
    def test_first_looks_at_all_clusters_can_start_at_once(self):
        assert keys(due(situation(A, B))) == [("first-look", "a"), ("first-look", "b")]

    def test_a_second_look_waits_for_the_measured_time_after_the_first(self):
        here = after(situation(A), *due(situation(A)))
        (job,) = due(here)
        assert (job.step, job.not_before_ms) == ("second-look", BEGAN_MS + 1000 + 60_000)

    def test_a_second_look_of_a_start_with_an_earlier_clock_waits_no_longer_than_measured(self):
        here = after(situation(A), *due(situation(A)))
        hour_before = "2026-11-26T01:00:00Z"
        again = replace(here, night=here.night.started(DAY, hour_before))
        (job,) = due(again)
        assert job.not_before_ms == BEGAN_MS - 3_600_000 + 60_000
        later = replace(here, night=here.night.started(DAY, "2026-11-26T05:00:00Z"))
        assert due(later)[0].not_before_ms == BEGAN_MS + 1000 + 60_000

    def test_audit_and_plan_read_the_second_look(self):
        here = situation(A)
        for _ in range(2):
            here = after(here, *due(here))
        audit, plan, price = due(here)
        assert audit.command == (
            "--json",
            "audit",
            "--cluster",
            "a",
            "--snapshot",
            "/data/snapshots/a/2026-11-26-2.json.gz",
        )
        assert audit.stdout == "/data/audits/a/2026-11-26.json"
        assert plan.command[-2:] == ("--out", "/data/plans/a/2026-11-26.json")
        assert price.step == "price"

    def test_clusters_of_equal_options_are_priced_in_one_run_and_runs_follow_one_another(self):
        _, order = run_night(situation(A, B, C))
        assert [each for each in order if each[0] == "price"] == [
            ("price", "a"),
            ("price", "b", "c"),
        ]
        assert order[-2:] == [("metrics",), ("notify",)]

    def test_the_bill_is_computed_from_the_day_of_the_look_before(self):
        here = situation(A)
        looks = {"a": [NightLook("2026-11-24", 1, "24"), NightLook("2026-11-25", 2, "25")]}
        here = replace(here, looks=looks, options=NightOptions(measure_ms=1, keep_days=9))
        for _ in range(2):
            here = after(here, *due(here))
        *_, price = due(here)
        assert price.command == (
            "analyze",
            "24",
            "25",
            "/data/snapshots/a/2026-11-26-1.json.gz",
            "/data/snapshots/a/2026-11-26-2.json.gz",
            *("--x", "1", "--from", "2026-11-25", "--engine", "local"),
            *("--keep-days", "9", "--out", "/data/result"),
        )


class TestFailures:
    def test_a_cluster_whose_first_look_fails_stops_no_other(self):
        here, order = run_night(situation(A, B), {("first-look", "a"): 1})
        assert ("audit", "a") not in order
        assert {("audit", "b"), ("plan", "b"), ("price", "b"), ("notify",)} <= {*order}
        assert exit_code(here.night) == 3
        assert last_look(here, "a") is None

    def test_without_a_second_look_the_first_one_is_audited(self):
        here, _ = run_night(situation(A), {("second-look", "a"): 1})
        run = here.night.run_of("audit", "a")
        assert run is not None
        assert run.command[5] == "/data/snapshots/a/2026-11-26-1.json.gz"

    def test_no_metrics_are_written_without_any_result(self):
        _, order = run_night(situation(A), {("first-look", "a"): 1})
        assert order == [("first-look", "a"), ("notify",)]
        here = replace(situation(A), has_result=True)
        _, order = run_night(here, {("first-look", "a"): 1})
        assert order[-2:] == [("metrics",), ("notify",)]

    def test_a_failed_step_is_repeated_by_the_next_start_and_not_by_this_one(self):
        here, _ = run_night(situation(A), {("first-look", "a"): 1})
        assert due(here) == ()
        again = replace(here, night=replace(here.night, starts=2))
        assert keys(due(again)) == [("first-look", "a")]
        done, order = run_night(again)
        assert [each[0] for each in order] == [
            *("first-look", "second-look", "audit", "plan", "price", "metrics", "notify")
        ]
        assert exit_code(done.night) == 0

    def test_a_failed_look_that_succeeds_later_repeats_what_was_made_without_it(self):
        here, _ = run_night(situation(A, B), {("second-look", "a"): 1})
        _, order = run_night(replace(here, night=replace(here.night, starts=2)))
        assert order == [
            *(("second-look", "a"), ("audit", "a"), ("plan", "a"), ("price", "a")),
            *(("metrics",), ("notify",)),
        ]

    def test_a_price_of_more_clusters_replaces_a_failed_price_of_some_of_them(self):
        here, _ = run_night(situation(B, C), {("first-look", "c"): 1, ("price", "b"): 1})
        assert here.night.run_of("price", "b") is not None
        here, _ = run_night(replace(here, night=replace(here.night, starts=2)))
        assert [run.clusters for run in here.night.runs if run.step == "price"] == [("b", "c")]
        assert exit_code(here.night) == 0
        assert due(replace(here, night=replace(here.night, starts=3))) == ()


class TestStartedAgain:
    def test_a_complete_night_has_nothing_to_do(self):
        here, _ = run_night(situation(A, B, C))
        assert due(replace(here, night=replace(here.night, starts=2))) == ()

    @given(
        kills=st.lists(st.integers(0, 12), max_size=6),
        codes=st.dictionaries(
            st.sampled_from(
                [("first-look", "a"), ("second-look", "b"), ("audit", "b"), ("price", "b", "c")]
            ),
            st.just(1),
            max_size=2,
        ),
    )
    def test_a_night_killed_anywhere_ends_with_the_same_steps(self, kills, codes):
        whole, _ = run_night(situation(A, B, C), codes)
        here = situation(A, B, C)
        for steps in kills:
            for _ in range(steps):
                if jobs := due(here):
                    job = jobs[-1]
                    here = after(here, job, code=codes.get((job.step, *job.clusters), 0))
            here = replace(here, night=replace(here.night, starts=here.night.starts + 1))
        here, _ = run_night(here, codes)
        assert {(run.key, run.exit, run.command) for run in here.night.runs} == {
            (run.key, run.exit, run.command) for run in whole.night.runs
        }

    def test_another_command_repeats_the_step_and_what_needs_it(self):
        here, _ = run_night(situation(A))
        moved = replace(A, source=("--bootstrap-server", "other:1"))
        _, order = run_night(replace(here, clusters=(moved,)))
        assert [each[0] for each in order] == [
            *("first-look", "second-look", "audit", "plan", "price", "metrics", "notify")
        ]

    def test_a_start_on_another_day_begins_a_new_night(self):
        night = Night(day=DAY, starts=3, exit=3, runs=(ended(due(situation(A))[0]),))
        assert night.started(DAY, BEGAN) == replace(night, starts=4, began=BEGAN, exit=None)
        assert night.started("2026-11-27", BEGAN) == Night(day="2026-11-27", starts=1, began=BEGAN)


class TestRefreshed:
    """A night whose second looks are taken again on request."""

    LATER = "2026-11-26T09:00:00Z"

    def refreshed(self, here):
        night = here.night.to_refresh(DAY).started(DAY, self.LATER)
        return replace(here, night=night)

    def test_second_looks_and_what_is_made_from_them_are_repeated(self):
        here, _ = run_night(situation(A, B))
        again, order = run_night(self.refreshed(here))
        assert sorted(order[:-2]) == sorted(
            (step, name)
            for step in ("second-look", "audit", "plan", "price")
            for name in ("a", "b")
        )
        assert order[-2:] == [("metrics",), ("notify",)]
        assert {run.key for run in again.night.runs} == {run.key for run in here.night.runs}
        kept = {run.step for run in again.night.runs if run.start == 1}
        assert (kept, again.night.refreshed) == ({"first-look"}, 2)

    def test_a_killed_refresh_is_continued_without_the_option(self):
        here = self.refreshed(run_night(situation(A))[0])
        here = after(here, due(here)[0])
        here = replace(here, night=here.night.started(DAY, self.LATER))
        _, order = run_night(here)
        assert [each[0] for each in order] == ["audit", "plan", "price", "metrics", "notify"]
        assert due(replace(here, night=run_night(here)[0].night)) == ()

    def test_a_second_look_that_fails_leaves_what_was_made_before(self):
        """An audit of the first look would report what a repair had ended."""
        whole, _ = run_night(situation(A, B))
        here, order = run_night(self.refreshed(whole), {("second-look", "a"): 1})
        assert {each for each in order if "a" in each[1:]} == {("second-look", "a")}
        assert here.night.run_of("audit", "a") == whole.night.run_of("audit", "a")
        assert here.night.run_of("price", "a") == whole.night.run_of("price", "a")
        assert exit_code(here.night) == 3
        again = replace(here, night=here.night.started(DAY, self.LATER))
        done, order = run_night(again)
        assert ("audit", "a") in order
        assert exit_code(done.night) == 0

    def test_a_cluster_that_answers_again_is_looked_at_twice(self):
        here, _ = run_night(situation(A), {("first-look", "a"): 1})
        here, _ = run_night(self.refreshed(here), {("second-look", "a"): 1})
        assert last_look(here, "a") == "first-look"
        assert here.night.run_of("audit", "a").is_ok

    def test_another_day_is_a_night_as_usual(self):
        here, _ = run_night(situation(A))
        assert here.night.to_refresh("2026-11-27") == here.night
        assert Night(day=DAY).to_refresh(DAY) == Night(day=DAY)


def test_a_cluster_that_left_the_fleet_is_no_part_of_the_night():
    here, _ = run_night(situation(A, B, C), {("first-look", "b"): 1})
    assert exit_code(here.night) == 3
    left = here.night.of(["a", "c"])
    assert exit_code(left) == 0
    assert due(replace(here, night=left, clusters=(A, C))) == ()


class TestOutcome:
    @pytest.mark.parametrize(("step", "code", "wanted"), [("audit", 2, 2), ("plan", 2, 2)])
    def test_findings_and_moves_are_differences(self, step, code, wanted):
        here, _ = run_night(situation(A), {(step, "a"): code})
        assert exit_code(here.night) == wanted

    def test_differences_of_another_step_are_a_failure(self):
        here, _ = run_night(situation(A), {("price", "a"): 2})
        assert exit_code(here.night) == 3

    def test_a_price_of_one_cluster_belongs_to_the_fleet(self):
        here, _ = run_night(situation(A))
        assert {run.step for run in of_fleet(here.night.runs)} == {"price", "metrics", "notify"}
        assert len(of_cluster(here.night.runs, "a")) == 4

    def test_a_failure_without_words_has_its_exit_code(self):
        run = replace(ended(due(situation(A))[0], code=124), reason=None)
        assert failure_text(run) == "the step first-look failed with exit code 124"
        assert subject(("a\n",)) == "a\\x0a"
        assert subject(()) == "the fleet"


def test_the_state_is_read_back_as_it_was_written():
    notice = Notice(kind="plan-waits", cluster="a", day=DAY, text="a: a plan waits")
    night, _ = run_night(situation(A), {("audit", "a"): 2})
    state = NightlyState(
        night=night.night.to_refresh(DAY),
        last_success=BEGAN,
        clusters={
            "a": ClusterMemory(unsafe=("orders",), plan="5f" * 32),
            "b": ClusterMemory(unchecked=("pin",), unknown_since=DAY),
        },
        outbox=(notice,),
    )
    faults = Faults("nightly.json", InvalidConfig)
    assert STATE.read(JsonNode(STATE.write(state), faults)) == state
    faults.raise_if_any()


def test_a_state_of_a_version_that_kept_no_unchecked_rules_is_read():
    state = NightlyState(night=Night(day=DAY), clusters={"a": ClusterMemory(unsafe=("orders",))})
    written = STATE.write(state)
    for key in ("not_checked", "unchecked", "unknown_since"):
        del written["clusters"]["a"][key]
    faults = Faults("nightly.json", InvalidConfig)
    assert STATE.read(JsonNode(written, faults)) == state
    faults.raise_if_any()


def test_the_paths_of_a_night_are_below_its_folder():
    paths = (LAYOUT.report, LAYOUT.run_metrics, LAYOUT.night_metrics, LAYOUT.state, LAYOUT.result)
    assert {each.rpartition("/")[0] for each in paths} == {"/data", "/data/metrics"}


class TestTwins:
    """Two names of one cluster, by the id that their looks found."""

    def looked(self, here, name, cluster_id, code=0, step="first-look"):
        job = Job(step, (name,), ())
        run = replace(ended(job, code=code, start=here.night.starts), cluster_id=cluster_id)
        return replace(here, night=with_failed_twins(here.night.with_run(run)))

    def test_both_names_fail_and_the_others_go_on(self):
        here = situation(A, B, C)
        for name, cluster_id in (("c", "x"), ("b", "y"), ("a", "x")):
            here = self.looked(here, name, cluster_id)
        reasons = {run.clusters[0]: run.reason for run in here.night.runs}
        assert reasons["b"] is None
        assert reasons["a"] == reasons["c"]
        assert reasons["a"].startswith("a and c are one cluster, x; keep one of the names")
        assert {job.clusters for job in due(here)} == {("b",)}
        assert exit_code(here.night) == 3

    def test_what_was_made_before_the_second_name_answered_is_dropped(self):
        here = self.looked(situation(A, C), "a", "x")
        here = after(here, Job("audit", ("a",), ()))
        here = self.looked(here, "a", "x", step="second-look")
        here = self.looked(here, "c", "x")
        for step in ("second-look", "plan"):
            late = here.night.with_run(ended(Job(step, ("a",), ())))
            assert with_failed_twins(late) == here.night
        assert [(run.step, *run.clusters) for run in here.night.runs] == [
            ("first-look", "a"),
            ("first-look", "c"),
        ]
        assert not any(run.is_ok for run in here.night.runs)

    def test_a_name_that_is_corrected_is_no_twin_of_its_earlier_look(self):
        here = self.looked(self.looked(situation(A, C), "a", "x"), "c", "x")
        here = replace(here, night=here.night.started(DAY, BEGAN))
        here = self.looked(here, "a", "x")
        assert here.night.run_of("first-look", "a").is_ok
        assert self.looked(here, "c", "y").night.run_of("first-look", "c").is_ok

    def test_a_look_of_an_earlier_start_is_taken_again_before_anything_fails(self):
        here = self.looked(situation(A, C), "a", "x")
        here = replace(here, night=here.night.started(DAY, BEGAN))
        here = self.looked(here, "c", "x")
        assert here.night.run_of("first-look", "c").is_ok
        assert ("first-look", "a") in keys(due(here))
        assert all(run.is_ok for run in self.looked(here, "a", "y").night.runs)
        twins = self.looked(here, "a", "x").night.runs
        assert [run.is_ok for run in twins] == [False, False]

    def test_names_without_a_known_id_are_no_twins(self):
        here = self.looked(self.looked(situation(A, C), "a", None), "c", None)
        assert all(run.is_ok for run in here.night.runs)
