"""What a run did not compute stays; the time that a bill covers is exact; weeks compare days."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.history import (
    DayTotals,
    StandingDay,
    WeekChange,
    change,
    covered_time,
    first_kept_day,
    merge_days,
    rename_clusters,
    sum_days,
    week_change,
)

FIRST = date(2026, 11, 1)
MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def day(number, cluster="prod", *, run="a", hours=None, unsafe=None, **more):
    """Day `number` of November; `hours`: what its run observed, from the start of November."""
    since, until = hours or (24 * (number - 1), 24 * number)
    traffic = {
        "tables": run,
        "name_in_tables": cluster,
        "since": MIDNIGHT + since * HOUR,
        "until": MIDNIGHT + until * HOUR,
    }
    safety = {} if unsafe is None else {"partitions": 9, "partitions_unsafe": unsafe}
    return StandingDay(
        cluster=cluster,
        day=FIRST + timedelta(days=number - 1),
        **(traffic if run else {}),
        **safety,
        **more,
    )


class TestMerge:
    def test_a_run_replaces_the_days_that_it_computed_and_keeps_the_others(self):
        old = [day(1), day(2), day(2, "test")]
        assert merge_days(old, [day(2, run="b")]) == (day(1), day(2, run="b"), day(2, "test"))

    def test_traffic_and_safety_are_replaced_apart(self):
        old = [day(1, unsafe=0), day(2, unsafe=3)]
        new = [day(1, run=None, unsafe=5), day(2, run="b"), day(3, run=None, unsafe=1)]
        assert merge_days(old, new) == (
            day(1, unsafe=5),
            day(2, run="b", unsafe=3),
            day(3, run=None, unsafe=1),
        )

    def test_an_id_that_was_known_stays_known(self):
        (found,) = merge_days([day(1, cluster_id="x")], [day(1, run="b")])
        assert found.cluster_id == "x"

    def test_only_the_last_days_are_kept(self):
        old = [day(number) for number in range(1, 6)]
        new = [day(6, "test")]
        kept = [each.day.day for each in merge_days(old, new, keep=3)]
        assert kept == [4, 5, 6]
        assert len(merge_days(old, new, keep=99)) == 6
        assert first_kept_day([], 3) == date.min
        assert first_kept_day([replace(day(1), day=date(1, 1, 2))], 3) == date.min

    @given(
        st.lists(st.tuples(st.integers(1, 9), st.sampled_from("xy"), st.sampled_from("ab"))),
        st.lists(st.tuples(st.integers(1, 9), st.sampled_from("xy"))),
    )
    def test_nothing_is_deleted_that_was_not_computed(self, old, new):
        before = merge_days([day(n, c, run=r) for n, c, r in old], [])
        after = merge_days(before, [day(n, c, run="new") for n, c in new])
        computed = {day(n, c).place for n, c in new}
        assert [each for each in after if each.place not in computed] == [
            each for each in before if each.place not in computed
        ]
        assert {each.place for each in after if each.tables == "new"} == computed

    def test_a_day_that_could_not_be_checked_does_not_keep_the_zero_of_an_earlier_run(self):
        before = day(1, unsafe=0)
        after = replace(before, partitions=9, partitions_unsafe=None)
        (found,) = merge_days([before], [after])
        assert (found.partitions, found.partitions_unsafe) == (9, None)


def test_days_follow_the_name_of_their_cluster():
    days = [day(1, "x", cluster_id="x"), day(1, "other", cluster_id=None)]
    found = rename_clusters(days, {"x": "prod"})
    assert [each.cluster for each in found] == ["prod", "other"]
    assert found[0].name_in_tables == "x"


class TestCovered:
    def test_nothing_is_covered_without_traffic(self):
        assert covered_time([]) is None
        assert covered_time([day(1, run=None, unsafe=1)]) is None

    @pytest.mark.parametrize(
        ("days", "start", "end", "hours"),
        [
            ([day(1)], 0, 24, 24),
            ([day(1), day(1, "test", run="b", hours=(6, 30))], 0, 24, 24),
            ([day(1, hours=(6, 18))], 6, 18, 12),
            ([day(1), day(5)], 0, 120, 48),
            ([day(1, hours=(0, 72)), day(3, hours=(0, 72))], 0, 72, 72),
            ([day(1, hours=(0, 72)), day(3, run="b", hours=(48, 60))], 0, 60, 60),
            ([day(1, hours=(2, 4)), day(1, "test", run="b", hours=(6, 8))], 2, 8, 4),
        ],
    )
    def test_the_time_of_the_days(self, days, start, end, hours):
        assert covered_time(days) == (
            MIDNIGHT + start * HOUR,
            MIDNIGHT + end * HOUR,
            hours * 3600,
        )

    def test_a_moment_is_a_second(self):
        assert covered_time([day(1, hours=(5, 5))]) == (
            MIDNIGHT + 5 * HOUR,
            MIDNIGHT + 5 * HOUR,
            1,
        )

    @given(st.integers(0, 100), st.integers(1, 200), st.sets(st.integers(0, 12), min_size=1))
    def test_one_run_covers_what_it_observed(self, start, length, numbers):
        """Law: days without rows inside the time of a run do not shorten it."""
        hours = (start, start + length)
        first, last = start // 24 + 1, (start + length - 1) // 24 + 1
        inside = {first, last} | {n for n in numbers if first <= n <= last}
        days = [day(number, hours=hours) for number in inside]
        since, until, seconds = covered_time(days)
        assert (since, until) == (MIDNIGHT + start * HOUR, MIDNIGHT + (start + length) * HOUR)
        assert seconds == length * 3600


def totals(number, usd=None, *, cross=None, local=None, unsafe=None, partitions=None):
    return DayTotals(
        day=FIRST + timedelta(days=number - 1),
        bytes_local=local,
        bytes_cross=cross,
        bytes_unknown=None if cross is None else 0,
        usd_nano=usd,
        partitions=partitions,
        partitions_unsafe=unsafe,
    )


class TestDays:
    def test_rows_are_summed_by_day(self):
        rows = [totals(2, 5, cross=1, local=3), totals(1, 7, cross=2, local=0), totals(2, cross=4)]
        first, second = sum_days(rows)
        assert (first.usd_nano, first.bytes_cross, first.cross_share) == (7, 2, 1.0)
        assert (second.usd_nano, second.bytes_cross, second.bytes_local) == (5, 5, 3)
        assert second.cross_share == 0.625

    def test_what_one_cluster_does_not_know_is_not_known(self):
        (row,) = sum_days([totals(1, unsafe=0, partitions=3), totals(1, 5, cross=1)])
        assert (row.partitions_unsafe, row.partitions, row.usd_nano) == (None, None, 5)
        (row,) = sum_days([totals(1, unsafe=0, partitions=3), totals(1, unsafe=2, partitions=4)])
        assert (row.partitions_unsafe, row.partitions, row.usd_nano) == (2, 7, None)
        assert (row.bytes_cross, row.cross_share) == (None, None)


class TestWeek:
    def test_days_are_compared_with_those_seven_days_before(self):
        days = [totals(number, number, cross=number, local=number) for number in (1, 2, 3, 8, 9)]
        found = week_change([*days, totals(14, 100, cross=50, local=50, unsafe=3)])
        assert found == WeekChange(
            days=2,
            first_day=date(2026, 11, 8),
            last_day=date(2026, 11, 9),
            usd_nano=17,
            usd_nano_before=3,
            cross_share=0.5,
            cross_share_before=0.5,
        )

    def test_safety_is_that_of_the_last_compared_day(self):
        days = [totals(1, 1, cross=1, unsafe=4), totals(8, 2, cross=1, unsafe=1)]
        found = week_change(days)
        assert (found.partitions_unsafe, found.partitions_unsafe_before) == (1, 4)

    def test_dollars_are_not_known_if_a_day_has_none(self):
        days = [totals(1, 1, cross=1), totals(2, cross=1), totals(8, 2, cross=1)]
        found = week_change([*days, totals(9, 2, cross=1)])
        assert (found.days, found.usd_nano, found.usd_nano_before) == (2, None, None)

    @pytest.mark.parametrize(
        ("days", "reason"),
        [
            ([], "no day has traffic"),
            ([totals(1, unsafe=2)], "no day has traffic"),
            ([totals(1, 1, cross=1), totals(3, 1, cross=1)], "no day of the last week"),
            ([totals(1, 1, cross=1), totals(20, 1, cross=1)], "no day of the last week"),
        ],
    )
    def test_nothing_to_compare_has_a_reason(self, days, reason):
        found = week_change(days)
        assert found.reason.startswith(reason)
        assert replace(found, reason=None) == WeekChange()


def test_changes():
    assert change(0, 4) == -1.0
    assert change(1, None) is None
