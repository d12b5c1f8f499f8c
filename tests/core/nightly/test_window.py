"""Which snapshots the bill of a night reads, and which can be removed."""

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.nightly.window import NightLook, Window, expired, window


def looks(*days):
    return [NightLook(f"2026-11-{day:02}", 2, f"{day}") for day in days]


def test_the_first_night_reads_its_own_looks():
    assert window({"a": looks(26)}, "2026-11-26") == Window("2026-11-26", ("26",))


def test_a_second_night_begins_at_the_day_of_the_first_one():
    assert window({"a": looks(25, 26)}, "2026-11-26") == Window("2026-11-25", ("25", "26"))


def test_after_nights_without_a_look_the_days_in_between_are_computed_again():
    found = window({"a": looks(20, 21, 26), "b": looks(20, 21, 24, 25, 26)}, "2026-11-26")
    assert found == Window("2026-11-21", ("20", "21", "26", "20", "21", "24", "25", "26"))


@given(
    nights=st.lists(st.integers(1, 28), min_size=1, unique=True).map(sorted),
    keep=st.integers(1, 28),
)
def test_what_is_removed_is_no_part_of_a_later_window(nights, keep):
    tonight = f"2026-11-{nights[-1]:02}"
    gone = expired(looks(*nights[:-1]), tonight, f"2026-11-{keep:02}")
    read = window({"a": looks(*nights)}, tonight).files
    assert {each.file for each in gone}.isdisjoint(read)
    assert all(each.day < f"2026-11-{keep:02}" for each in gone)
