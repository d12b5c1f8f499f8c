"""The leader rack of the next window."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_split import check_schedule
from rack_splits import split_vectors
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.choice.schedule import SplitSchedule

S = 16384


def windows(schedule, count, size=S):
    found = []
    for _ in range(count):
        found.append(schedule.next_rack())
        schedule.window_done(found[-1], size)
    return found


@pytest.mark.parametrize("case", split_vectors("schedule"))
def test_vectors(case):
    schedule = SplitSchedule({str(i): share for i, share in enumerate(case["shares"])}, S)
    assert [int(rack) for rack in windows(schedule, len(case["windows"]))] == case["windows"]


def test_next_rack_changes_nothing():
    schedule = SplitSchedule({"a": 0.5, "b": 0.5}, S)
    assert {schedule.next_rack() for _ in range(9)} == {"a"}


def test_a_phase_skips_windows():
    shares = {"a": 11 / 15, "b": 0, "c": 4 / 15}
    late = SplitSchedule(shares, S, phase=5)
    assert windows(late, 10) == windows(SplitSchedule(shares, S), 15)[5:]


def test_the_rack_that_got_the_window_is_charged():
    schedule = SplitSchedule({"a": 0.5, "b": 0.5}, S)
    schedule.window_done("b", 3 * S)
    assert windows(schedule, 4) == ["a", "a", "a", "a"]


def test_a_window_for_a_rack_without_share_keeps_the_other_shares():
    schedule = SplitSchedule({"a": 0.5, "b": 0.5}, S)
    schedule.window_done("elsewhere", 2 * S)
    assert windows(schedule, 4) == ["a", "b", "a", "b"]


def test_a_rack_that_was_unavailable_for_long_gets_at_most_eight_windows_back():
    shares = {"a": 0.6, "b": 0.2, "c": 0.2}
    schedule = SplitSchedule(shares, S)
    for _ in range(1000):
        schedule.window_done("a", S)
    windows(schedule, 32)
    after = windows(schedule, 100)
    assert {rack: after.count(rack) for rack in shares} == {"a": 60, "b": 20, "c": 20}


def test_the_order_of_the_shares_changes_nothing():
    shares = {"c": 0.25, "a": 0.25, "b": 0.5}
    same = dict(sorted(shares.items()))
    assert windows(SplitSchedule(shares, S), 40) == windows(SplitSchedule(same, S), 40)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({}, "invalid shares: expected a sum of 1, got 0"),
        ({"a": 0.5, "b": 0.4}, "invalid shares: expected a sum of 1, got 0.9"),
        ({"a\x1b": -0.5, "b": 1.5}, "invalid share of a\\x1b: expected 0 or more, got -0.5"),
        ({"a": math.nan}, "invalid share of a: expected 0 or more, got nan"),
        ({"a": math.inf}, "invalid share of a: expected 0 or more, got inf"),
    ],
)
def test_invalid_shares_are_rejected(shares, message):
    with pytest.raises(SplitError) as raised:
        SplitSchedule(shares, S)
    assert raised.value.message == message
    assert raised.value.hint == "compute the split again: rackwise producer split"


@pytest.mark.parametrize(
    ("sizes", "message", "hint"),
    [
        (
            (0, 0),
            "invalid sticky_bytes: expected 1 or more, got 0",
            "use the producer's batch.size",
        ),
        ((S, -1), "invalid phase: expected 0 or more, got -1", "adapters draw one of 0 to 15"),
    ],
)
def test_invalid_sizes_are_rejected(sizes, message, hint):
    with pytest.raises(SplitError) as raised:
        SplitSchedule({"a": 1}, sizes[0], phase=sizes[1])
    assert (raised.value.message, raised.value.hint) == (message, hint)


SHARES = st.lists(st.integers(0, 100), min_size=1, max_size=20).filter(any)


@given(SHARES, st.data())
def test_shares_are_kept(parts, data):
    shares = {f"rack-{i:02}": part / sum(parts) for i, part in enumerate(parts)}
    is_even = data.draw(st.booleans())
    sizes = data.draw(st.lists(st.integers(S, S if is_even else 2 * S), min_size=1, max_size=300))
    schedule, got = SplitSchedule(shares, S), dict.fromkeys(shares, 0)
    for size in sizes:
        rack = schedule.next_rack()
        got[rack] += size
        schedule.window_done(rack, size)
        check_schedule(got, shares, sticky_bytes=S, is_even=is_even)
