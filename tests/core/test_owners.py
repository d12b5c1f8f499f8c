"""Every row of the bill has exactly one owner."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.owners import SHOWN, UNOWNED, OwnerGlob, Owners


def table(*rows):
    """Owners from ("topic" or "group", glob, owner); the first row is on line 2."""
    globs = [
        (kind, OwnerGlob(glob=glob, owner=owner, line=line))
        for line, (kind, glob, owner) in enumerate(rows, start=2)
    ]
    return Owners(
        topics=tuple(glob for kind, glob in globs if kind == "topic"),
        groups=tuple(glob for kind, glob in globs if kind == "group"),
    )


EXAMPLE = table(
    ("topic", "orders.*", "shop"), ("topic", "*.audit", "security"), ("group", "batch", "data")
)


@pytest.mark.parametrize(
    ("topic", "group", "owner"),
    [
        ("orders.eu", "batch", "shop"),
        ("orders.audit", None, "shop"),
        ("clicks.audit", "batch", "security"),
        ("clicks", "batch", "data"),
        ("clicks", "Batch", UNOWNED),
        ("clicks", None, UNOWNED),
        (None, "batch", "data"),
        (None, None, UNOWNED),
    ],
)
def test_the_owner_of_a_row(topic, group, owner):
    assert EXAMPLE.of(topic, group) == owner


def test_a_glob_for_everything_does_not_match_what_is_unknown():
    everything = table(("topic", "*", "all"), ("group", "*", "readers"))
    assert everything.of("orders", "batch") == "all"
    assert everything.of(None, "batch") == "readers"
    assert everything.of(None, None) == UNOWNED


def test_no_table():
    assert not Owners()
    assert EXAMPLE
    assert Owners().of("orders", "batch") == UNOWNED
    assert Owners().notes(["orders"], ["batch"]) == []


NAMES = st.text("ab.", max_size=4)
GLOBS = st.text("ab.*?", min_size=1, max_size=4)
ROWS = st.lists(st.tuples(st.sampled_from(["topic", "group"]), GLOBS, st.sampled_from("xyz")))


@given(ROWS, st.none() | NAMES, st.none() | NAMES)
def test_the_first_matching_row_decides_topics_first(rows, topic, group):
    found = [
        owner
        for kind, name in (("topic", topic), ("group", group))
        for row, glob, owner in rows
        if row == kind and name is not None and fnmatchcase(name, glob)
    ]
    assert table(*rows).of(topic, group) == next(iter(found), UNOWNED)


@given(ROWS, st.sets(NAMES), st.sets(NAMES))
def test_owners_of_many_names_are_those_of_each(rows, topics, groups):
    owners = table(*rows)
    found = owners.of_topics(topics)
    assert {name: found.get(name, UNOWNED) for name in topics} == {
        name: owners.of(name, None) for name in topics
    }
    found = owners.of_groups(groups)
    assert {name: found.get(name, UNOWNED) for name in groups} == {
        name: owners.of(None, name) for name in groups
    }


class TestNotes:
    def test_globs_that_overlap_are_told(self):
        assert EXAMPLE.notes(["orders.audit", "orders.eu", "x.audit"], ["batch"]) == [
            (
                "owners: 1 topic of shop (line 2: orders.*) also matches line 3 (*.audit, "
                "security), "
                "such as orders.audit; the first line is used"
            )
        ]
        both = table(("group", "a*", "x"), ("group", "*b", "y"))
        assert both.notes([], ["ab", "aab"]) == [
            (
                "owners: 2 client groups of x (line 2: a*) also match line 3 (*b, y), such "
                "as aab; the "
                "first line is used"
            )
        ]

    def test_globs_of_one_owner_may_overlap(self):
        assert table(("topic", "a*", "x"), ("topic", "*", "x")).notes(["a"], []) == []

    def test_globs_without_a_match_are_told(self):
        assert EXAMPLE.notes(["orders.eu"], []) == [
            "owners: 1 line matches no topic of the run; the first is line 3: *.audit",
            "owners: 1 line matches no client group of the run; the first is line 4: batch",
        ]

    def test_only_the_first_overlaps_are_told_one_by_one(self):
        rows = [("topic", "*", f"o{number}") for number in range(SHOWN + 3)]
        notes = table(*rows).notes(["a"], [])
        assert len(notes) == SHOWN + 1
        assert notes[-1] == "owners: 2 more pairs of lines match one topic"
